"""Outcome of a game among all possible splits: score pairs, Pareto frontier, Nash point, and a verdict in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.game import State, Triple, rest
from dond_marl.records.record import GameRecord
from dond_marl.records.transcript import describe_items
from dond_marl.scenarios.sources import pack
from dond_marl.solvers.solve import solve, split_scores
from dond_marl.splits import grid


class Spot(NamedTuple):
    """A pair of scores that some split gives."""

    own_score: int
    partner_score: int
    items: Triple  # of the viewer, in one such split
    best: bool  # Pareto-efficient: no split gives one side more and the other no less
    nash: bool


class Plane(NamedTuple):
    """All score pairs of a finished game, from the side of one seat (the viewer)."""

    spots: tuple[Spot, ...]  # worst for the viewer first
    wholes: tuple[int, int]  # the viewer's, then the partner's
    landed: tuple[int, int]  # scores, in the same order
    deal: bool
    names: tuple[str, str] = ("you", "them")

    @property
    def frontier(self) -> tuple[Spot, ...]:
        """The best spots, most for the viewer first."""
        return tuple(spot for spot in reversed(self.spots) if spot.best)

    @property
    def better(self) -> tuple[Spot, ...]:
        """Frontier spots that dominate the outcome."""
        least, partner_least = self.landed
        return tuple(
            spot
            for spot in self.frontier
            if spot.own_score >= least and spot.partner_score >= partner_least and spot[:2] != self.landed
        )


def plane_of(game: GameRecord | State, seat: int, names: tuple[str, str] = ("you", "them")) -> Plane:
    """The plane of a finished game for the viewer in ``seat``; ``names``: of the viewer and of the partner."""
    scenario, outcome = game.scenario, game.outcome
    assert outcome is not None
    solved = solve(pack([scenario]))
    scores, splits = split_scores(solved.scenarios, solved.max_count)
    spots: dict[tuple[int, int], Spot] = {}
    for row in np.flatnonzero(splits[0]).tolist():
        first: Triple = tuple(grid(solved.max_count)[row].tolist())
        pair = int(scores[seat, 0, row]), int(scores[1 - seat, 0, row])
        items = first if seat == 0 else rest(scenario.counts, first)
        best, nash = bool(solved.pareto.splits[0, row]), bool(solved.nash.splits[0, row])
        spots.setdefault(pair, Spot(*pair, items, best, nash))
    landed = outcome.scores[seat], outcome.scores[1 - seat]
    wholes = scenario.pool_value(seat), scenario.pool_value(1 - seat)
    return Plane(tuple(sorted(spots.values())), wholes, landed, outcome.deal, names)


def verdict(plane: Plane) -> str:
    """The quality of the outcome in a sentence: efficient, improvable, one-sided, or no deal."""
    you, other = plane.names
    nash = next(spot for spot in plane.spots if spot.nash)
    if not plane.deal:
        return (
            f"Both get nothing. A fair deal was there: {describe_items(nash.items)} for {you}, "
            f"{nash.own_score} points to {nash.partner_score}."
        )
    if not min(plane.landed):
        return _one_sided(plane, nash)
    if not plane.better:
        fair = (
            " It is also a fair one: the product of both sides' points is the largest possible (Nash bargaining)."
            if (nash.own_score, nash.partner_score) == plane.landed
            else ""
        )
        return f"An efficient deal: neither side could have had more without the other having less.{fair}"
    more = max(plane.better, key=lambda spot: (spot.own_score, spot.partner_score))
    return (
        f"Points were left on the table: {more.own_score} for {you} and {more.partner_score} for {other} was possible."
    )


def subject(name: str) -> str:
    """A side's name at the beginning of a sentence."""
    return {"you": "You", "them": "They"}.get(name, name)


def _one_sided(plane: Plane, nash: Spot) -> str:
    """The verdict on a deal that gives one side nothing; it may be efficient and is still not praised."""
    losers = [subject(name) for name, score in zip(plane.names, plane.landed, strict=True) if not score]
    text = f"{' and '.join(losers)} got nothing from this deal."
    if not min(nash.own_score, nash.partner_score):
        return f"{text} No split would have given both sides something."
    fair = f"{describe_items(nash.items)} for {plane.names[0]}, {nash.own_score} points to {nash.partner_score}"
    return f"{text} A fair one was there: {fair}."
