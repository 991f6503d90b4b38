"""How the learners of a league came on: a fold over the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.yardsticks.metrics import GROUPS, Estimate, mean_of_cells, points_of_ten, scenario_groups
from league.ledger.ledger import Ledger

YARDSTICK = "heuristic"  # whom the learners are measured against, where it takes part


class CurvePoint(NamedTuple):
    """What a learner scored against the yardstick in one round, as it was when the round began."""

    round: int
    member: str
    decisions: int  # own, made before the round
    points: Estimate  # of ten, mean of both seats


def learning_curves(ledger: Ledger, confidence: float, against: str = YARDSTICK) -> list[CurvePoint]:
    """Every learner's score against ``against``, round by round; empty where one of them does not take part."""
    learners = [member.name for member in ledger.members() if member.live]
    rounds = range(ledger.next_round) if learners else ()
    return [point for number in rounds for point in round_curves(ledger, number, learners, confidence, against)]


def round_curves(
    ledger: Ledger, number: int, learners: Sequence[str], confidence: float, against: str = YARDSTICK
) -> list[CurvePoint]:
    """The points of one committed round, for the learners that met ``against`` in it."""
    scenarios = ledger.scenarios(number)
    groups, wholes = scenario_groups(scenarios), scenarios.wholes
    legs = [leg for leg in ledger.legs(number) if against in leg.seats]
    before = ledger.states(number - 1)
    points = []
    for name in learners:
        sums, games = np.zeros((2, GROUPS)), np.zeros((2, GROUPS))
        for leg in legs:
            if {name, against} == set(leg.seats) and name != against:
                seat = leg.seats.index(name)
                earned = points_of_ten(leg.facts["scores"], wholes)[:, seat]
                sums[seat] += np.bincount(groups, weights=earned, minlength=GROUPS)
                games[seat] += np.bincount(groups, minlength=GROUPS)
        if games.any():
            points.append(CurvePoint(number, name, before[name].decisions, mean_of_cells(sums, games, confidence)))
    return points
