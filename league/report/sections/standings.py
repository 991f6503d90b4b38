"""Who scores what against whom, and how the learners came on: sections that are folds over the ledger."""

from __future__ import annotations

import math
from collections.abc import Sequence

from league.report.blocks import Curves, Figure, Row, Section, Table, figure, in_columns
from league.standings.crossplay import CrossPlay, Standing
from league.standings.curves import YARDSTICK, CurvePoint
from league.tasks.values import Member


def ladder(
    cross: CrossPlay, standings: Sequence[Standing], members: Sequence[Member], confidence: float, responses: int
) -> Section:
    """Everybody's points against everybody else, best first."""
    roles = {member.name: member.role.replace("_", " ") for member in members}
    rows = [
        {
            "points of ten": figure(row.points),
            "of response": figure(row.of_response, "share"),
            "of Nash": figure(row.of_nash, "share"),
            "as seat_0": figure(row.as_seat[0]),
            "as seat_1": figure(row.as_seat[1]),
            "left to partner": _bare(row.left, row.points.n),
            "deals": _bare(row.deals, row.points.n)._replace(unit="share"),
            "own where agreed": _bare(row.agreed, round(row.points.n * row.deals) if row.points.n else 0),
            "acts per game": _bare(row.turns, row.points.n)._replace(unit="acts"),
            "against itself": figure(cross.cell(row.member, row.member, confidence)),
            "fallbacks": Figure(row.fallbacks, unit="count") if any(r.fallbacks for r in standings) else None,
            "failed matches": Figure(row.failed, unit="count") if any(r.failed for r in standings) else None,
            "role": roles.get(row.member, ""),
        }
        for row in standings
    ]
    heads, found = in_columns(rows, [row.member for row in standings])
    notes: tuple[str, ...] = (
        f"Own points of ten, tenths of what the whole pool is worth to the seat, over all other members in both seats; "
        f"no deal is 0. Intervals are {confidence:.0%}, over scenarios. What learners played before they last changed "
        f"counts for less, so n falls short of the games that they played.",
        f"Of response: own points as a share of the exact best response's, against the members to whom that is known "
        f"({responses} of {len(standings)}). Of Nash: as a share of the points at the Nash points of the same "
        f"scenarios. Figures without an interval are plain means.",
    )
    wrong = [row.member for row in standings if row.impossible]
    if wrong:
        notes += (f"Joint scores above what there is to share, a bug: {', '.join(wrong)}.",)
    return Section("ladder", "Ladder", notes, (Table("Best own points first", heads, found, kind="ladder"),))


def crossplay(cross: CrossPlay, standings: Sequence[Standing], confidence: float) -> Section:
    """What each member scores against each other, in the ladder's order."""
    names = tuple(row.member for row in standings)
    rows = tuple(Row(row, tuple(figure(cross.cell(row, column, confidence)) for column in names)) for row in names)
    empty = sum(not cell.known for row in rows for cell in row.cells if isinstance(cell, Figure))
    notes = (
        "Points of ten of the row against the column, mean of both seats; rows and columns in the ladder's order. "
        f"Intervals are {confidence:.0%}, over scenarios.",
        *((f"{empty:,} of {len(names) ** 2:,} cells were not played.",) if empty else ()),
    )
    return Section("crossplay", "Cross-play", notes, (Table("Points of ten", names, rows, kind="heat"),))


def learning(curves: Sequence[CurvePoint], learners: Sequence[str], confidence: float) -> Section:
    """Every learner's score against the yardstick, round by round."""
    if not curves:
        why = f"nobody has met {YARDSTICK} yet, against whom curves are drawn" if learners else "nobody learns in it"
        return Section("learning", "Learning curves", (f"None: {why}.",))
    note = (
        f"Points of ten against {YARDSTICK}, mean of both seats, by own decisions so far, as each learner was when a "
        f"round began; bands are {confidence:.0%} intervals over scenarios. A line that starts again is a learner that "
        f"did."
    )
    return Section("learning", "Learning curves", (note,), (Curves(tuple(curves), YARDSTICK, confidence),))


def _bare(value: float, n: int) -> Figure:
    return Figure(value, n=None if math.isnan(value) else n)
