"""Ladder: every member's points against all others, with intervals.

Points are points of ten; every opponent and seat has the same weight, however many games were played.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import SEATS
from dond_marl.statistics import UNKNOWN, Estimate
from league.figures.rows import wide_row, write_csv
from league.play.values import CAUSES, Answers
from league.standings.crossplay import CrossPlay, share
from league.standings.ratings import elo

Responses = Mapping[str, tuple[float, float]]  # by member: points of ten of a best response to it, in each seat
ROUNDING = 1e-6  # points of ten


class Standing(NamedTuple):
    """One member's row of the ladder, over all others in both seats; figures are ``nan`` without games."""

    member: str
    points: Estimate  # own points of ten
    of_nash: Estimate  # points as a share of those at the Nash points of the same scenarios
    of_response: Estimate  # points as a share of a best response's, against the members to which that is known
    as_seat: tuple[Estimate, Estimate]
    left: float  # points of ten of its partners
    deals: float  # share of games with a deal
    agreed: float  # own points of ten in games with a deal
    turns: float  # acts of both seats per game
    self_play: Estimate  # own points of ten against itself
    answers: Answers  # own decisions and fallbacks, failed matches included
    failed: int  # failed matches by its fault
    impossible: bool  # its games are recorded as paying more than is possible: a bug
    elo: Estimate = UNKNOWN  # by games won against the others, see :func:`league.standings.ratings.elo`

    @property
    def has_rank(self) -> bool:
        """Whether any of its games counts; members without a rank come last."""
        return not math.isnan(self.points.mean)

    @property
    def unranked_because(self) -> str:
        """The reason why it has no rank; empty if it has one."""
        if self.has_rank:
            return ""
        if not self.failed:
            return "it has not played"
        failed = f"all its matches failed ({self.failed:,})"
        return f"{failed}: it {self.answers}" if self.answers.left_out else failed


def ladder_of(cross: CrossPlay, confidence: float, responses: Responses | None = None) -> list[Standing]:
    """Every member's standing against all others, best own points first, equal ones by name; without best responses.

    ``confidence`` is two-sided, in (0, 1). ``responses``: points of best responses to some of the members.
    """
    rated, width = elo(cross.payoffs()), NormalDist().inv_cdf((1 + confidence) / 2)
    ranked, standings = set(cross.ranked), []
    for member, rating, error in zip(cross.members, *map(np.ndarray.tolist, rated), strict=True):
        if member not in ranked:
            continue
        row = _standing(cross, member, confidence, responses or {})
        interval = Estimate(rating, row.points.n, rating - width * error, rating + width * error)
        standings.append(row._replace(elo=interval))
    return sorted(standings, key=lambda row: (math.isnan(row.points.mean), -row.points.mean, row.member))


def _standing(cross: CrossPlay, member: str, confidence: float, responses: Responses) -> Standing:
    opponents = None if len(cross.ranked) > 1 else [member]
    rows, seats = cross.cells_of(member, opponents)
    totals, cells = cross.totals[rows], np.arange(len(rows))

    def mean(sums: NDArray[np.float64]) -> float:
        """The mean over cells with equal weights, as for the points."""
        return float((sums / totals["games"]).mean()) if len(rows) else math.nan

    estimate, first, second = (cross.tally("points", member, opponents, seat).mean(confidence) for seat in (None, 0, 1))
    points, partners = mean(totals["points"][cells, seats]), mean(totals["points"][cells, 1 - seats])
    deals = mean(totals["deals"])
    return Standing(
        member=member,
        points=estimate,
        of_nash=share(estimate, mean(totals["nash"][cells, seats])),
        of_response=_share_of_response(cross, member, confidence, responses),
        as_seat=(first, second),
        left=partners,
        deals=deals,
        agreed=points / deals if deals else math.nan,
        turns=mean(totals["turns"]),
        self_play=cross.cell(member, member, confidence),
        answers=cross.answers.get(member, Answers()),
        failed=cross.failed[member],
        impossible=points + partners > mean(totals["most"]) + ROUNDING,
    )


def _share_of_response(cross: CrossPlay, member: str, confidence: float, responses: Responses) -> Estimate:
    """Points as a share of the best response's, over the opponents in ``responses``."""
    opponents = [name for name in responses if name in cross.place and name != member]
    values = [responses[name][seat] for name in opponents for seat in cross.cells_of(member, [name])[1]]
    points = cross.tally("points", member, opponents).mean(confidence)
    return share(points, float(np.mean(values)) if values else math.nan)


def write_ladder(path: Path, standings: Sequence[Standing]) -> None:
    """Write the ladder, a row per member; members without games that count have no rank but a reason."""
    rows = [
        wide_row(
            {
                "rank": rank if row.has_rank else "",
                "member": row.member,
                "games": row.points.n,
                "points": row.points,
                **dict(zip(SEATS, row.as_seat, strict=True)),
                "of_nash": row.of_nash,
                "of_response": row.of_response,
                "elo": row.elo,
                "of_response_games": row.of_response.n,
                "left_to_partner": row.left,
                "deal_rate": row.deals,
                "points_agreed": row.agreed,
                "turns": row.turns,
                "self_play": row.self_play.mean,
                "asked": row.answers.decisions,
                "answered": row.answers.own_decisions,
                "fallbacks": row.answers.fallbacks,
                **{cause.name.lower(): number for cause, number in zip(CAUSES, row.answers.causes, strict=True)},
                "games_left_out": row.answers.left_out,
                "failed_matches": row.failed,
                "unranked_because": row.unranked_because,
            }
        )
        for rank, row in enumerate(standings, start=1)
    ]
    write_csv(path, rows[0], (row.values() for row in rows))
