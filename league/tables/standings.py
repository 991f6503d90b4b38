"""Who scores what against whom, and how the learners came on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from league.standings.crossplay import CrossPlay
from league.standings.curves import YARDSTICK, CurvePoint
from league.standings.ladder import Standing
from league.tables.blocks import (
    Cell,
    Curves,
    Figure,
    Section,
    Table,
    TableRow,
    align_columns,
    number_cell,
)
from league.tasks.answers import cause_phrases
from league.tasks.values import Member

ANSWERED = "answered"  # the heading
SAMPLED = (
    "Learners and their snapshots sample their acts in these games, as in practice; others play as their spec says. "
    "The held-out evaluation has them play their likeliest acts (greedy)."
)


def ladder(
    cross: CrossPlay,
    standings: Sequence[Standing],
    members: Sequence[Member],
    confidence: float,
    responses: int,
    models: Collection[str] = (),
    *,
    learns: bool = False,
) -> Section:
    """Everybody's points against everybody else, best first.

    ``members`` give the roles; ``responses`` is the number of members to whom a best response is known exactly;
    ``models`` are members that cost something to ask: how often they answered is shown even where they always did.
    ``learns``: somebody learns in the league, so that it is said how networks play.
    """
    others = "all other members" if len(standings) > 1 else "itself, its only opponent,"
    more: dict[str, dict[str, Cell]] = {member.name: {"role": member.role.replace("_", " ")} for member in members}
    for row in standings:
        itself = cross.cell(row.member, row.member, confidence)
        more[row.member] = {"against itself": Figure(itself), **more.get(row.member, {})}
    most = max((row.points.n for row in standings), default=0)
    notes: tuple[str, ...] = (
        f"Own points of ten, tenths of what the whole pool is worth to the seat, over {others} in both seats; "
        f"no deal is 0. Intervals are {confidence:.0%}, over scenarios. What learners played before they last changed "
        f"counts for less, so n, at most {most:,}, falls short of the games that they played.",
        f"Of response: own points as a share of the exact best response's, against the members to whom that is known "
        f"({responses} of {len(standings)}). Of Nash: as a share of the points at the Nash points of the same "
        f"scenarios. Figures without an interval are plain means.",
    )
    wrong = [row.member for row in standings if row.impossible]
    if wrong:
        notes += (f"Joint scores above what there is to share, a bug: {', '.join(wrong)}.",)
    notes += tuple(
        f"{row.member} has no rank: {row.unranked_because}." for row in standings if row.failed and not row.ranked
    )
    if learns:
        notes += (SAMPLED,)
    table = ladder_table(standings, more, models)
    if ANSWERED in table.heads:
        notes += (
            "Answered: a member's own decisions, of all that it was asked for in matches; a stated fallback made the "
            "others. A game in which a member was not reached counts for nobody, and a match with too many of them "
            "(league.unreached) fails.",
        )
    return Section("ladder", "Ladder", notes, (table,))


def ladder_table(
    standings: Sequence[Standing],
    more: Mapping[str, Mapping[str, Cell]] = MappingProxyType({}),
    models: Collection[str] = (),
) -> Table:
    """The columns that follow from standings alone; ``more``: further cells, by member and heading.

    ``models``: as in :func:`ladder`.
    """
    failed = any(row.failed for row in standings)
    rows: list[dict[str, Cell]] = [
        {
            "points of ten": Figure(row.points),
            "of response": Figure(row.of_response, "share"),
            "of Nash": Figure(row.of_nash, "share"),
            "as seat_0": Figure(row.as_seat[0]),
            "as seat_1": Figure(row.as_seat[1]),
            "left to partner": number_cell(row.left, n=row.points.n),
            "deals": number_cell(row.deals, "share", row.points.n),
            "own where agreed": number_cell(row.agreed, n=round(row.points.n * row.deals) if row.points.n else 0),
            "acts per game": number_cell(row.turns, "acts", row.points.n),
            "against itself": number_cell(row.self_play),
            ANSWERED: answered(row, models),
            "failed matches": number_cell(row.failed, "count") if failed else None,
            **more.get(row.member, {}),
        }
        for row in standings
    ]
    return Table("Best own points first", *align_columns(rows, [row.member for row in standings]), kind="ladder")


def answered(row: Standing, models: Collection[str]) -> str | None:
    """``30 of 34 (not reached 4)``; ``None`` of a member that costs nothing to ask and always answered itself."""
    answers = row.answers
    if not answers.fallbacks and row.member not in models:
        return None
    causes = ", ".join(cause_phrases(answers))
    return f"{answers.own_decisions:,} of {answers.decisions:,}" + (f" ({causes})" if causes else "")


def crossplay(cross: CrossPlay, standings: Sequence[Standing], confidence: float) -> Section:
    """What each member scores against each other, in the ladder's order."""
    names = tuple(row.member for row in standings)
    rows = tuple(TableRow(row, tuple(Figure(cross.cell(row, column, confidence)) for column in names)) for row in names)
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
        f"Points of ten against {YARDSTICK}, mean of both seats, over own decisions so far, with the learner as it was "
        f"when a round began; bands are {confidence:.0%} intervals over scenarios. A line that starts again shows a "
        f"learner that was restarted."
    )
    return Section("learning", "Learning curves", (note,), (Curves(tuple(curves), YARDSTICK, confidence),))
