"""Learning curves: what each learner scored against one yardstick, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from league.ledger.ledger import Ledger
from league.standings.history import points_of

YARDSTICK = "heuristic"  # whom the learners are measured against, where it takes part


class CurvePoint(NamedTuple):
    """What a learner scored against the yardstick in one round, as it was when the round began."""

    round: int  # from 0: as many rounds of practice as were over
    member: str
    decisions: int  # own, made before the round
    points: Estimate  # of ten, mean of both seats


def learning_curves(ledger: Ledger, confidence: float) -> list[CurvePoint]:
    """Every learner's score against the yardstick, round by round; rounds without a meeting are left out."""
    learners = [member.name for member in ledger.members() if member.live]
    rounds = range(ledger.next_round) if learners else ()
    return [point for number in rounds for point in round_curves(ledger, number, learners, confidence)]


def round_curves(ledger: Ledger, number: int, learners: Sequence[str], confidence: float) -> list[CurvePoint]:
    """The points of one committed round, for the learners that met the yardstick in it."""
    scenarios = ledger.scenarios(number)
    groups, before = scenario_groups(scenarios), ledger.states(number - 1)
    met = points_of(scenarios, (leg for leg in ledger.legs(number) if YARDSTICK in leg.seats))
    curves = []
    for name in learners:
        pairs = ((name, YARDSTICK), (YARDSTICK, name)) if name != YARDSTICK else ()
        own = [met[pair][:, seat] for seat, pair in enumerate(pairs) if pair in met]
        if own:
            cells = np.stack(own)
            points = mean_over_scenarios(cells, groups, confidence, ~np.isnan(cells))
            curves.append(CurvePoint(number, name, before[name].decisions, points))
    return curves
