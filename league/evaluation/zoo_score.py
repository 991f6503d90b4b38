"""What a member scores against every scripted occupant: each scenario twice, once in either seat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Partner
from dond_marl.yardsticks.metrics import GROUPS, Estimate, mean_of_cells, points_of_ten, scenario_groups
from league.settings.rosters import zoo

CONFIDENCE = 0.95  # two-sided, of every interval


class ZooScore(NamedTuple):
    """Own points of ten, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # by opponent


def zoo_score(
    member: Partner,
    scenarios: Scenarios,
    rules: Rules,
    *,
    prior: str,
    seed: int = 0,
    opponents: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> ZooScore:
    """Against ``opponents``, by default the zoo. ``tell`` hears whom it plays."""
    names = zoo() if opponents is None else list(opponents)
    sums, played = np.zeros((len(names), 2, GROUPS)), np.zeros((len(names), 2, GROUPS))
    groups, deals = scenario_groups(scenarios), []
    for place, name in enumerate(names):
        tell(name)
        against = seat_occupant(name)
        for seat in (0, 1):
            pair = (member, against) if seat == 0 else (against, member)
            games = rollout(pair, scenarios, rules, seed=seed, index=(seat,), prior=prior)
            points = points_of_ten(games.scores, scenarios.wholes)[:, seat]
            sums[place, seat] = np.bincount(groups, weights=points, minlength=GROUPS)
            played[place, seat] = np.bincount(groups, minlength=GROUPS)
            deals.append(games.deal.mean())
    every = {name: mean_of_cells(sums[i], played[i], CONFIDENCE) for i, name in enumerate(names)}
    overall = mean_of_cells(sums.reshape(-1, GROUPS), played.reshape(-1, GROUPS), CONFIDENCE)
    return ZooScore(overall, float(np.mean(deals)), every)
