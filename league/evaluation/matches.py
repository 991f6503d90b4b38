"""What a member scores against another: paired, seat-swapped games on given scenarios."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Partner, Whisper
from dond_marl.yardsticks.metrics import GROUPS, Estimate, mean_of_cells, points_of_ten, scenario_groups


class Result(NamedTuple):
    """Points of ten of the member scored, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # both seats
    as_seat: tuple[Estimate, Estimate]
    deals: float
    turns: float  # acts of both seats per game


def score(
    member: Partner,
    against: Partner,
    scenarios: Scenarios,
    rules: Rules,
    *,
    seed: int,
    prior: str,
    reveal_partner_utilities: bool = False,
    whisper: Whisper | None = None,
    confidence: float = 0.95,
) -> Result:
    """Play every scenario once in each seat; ``whisper`` advises ``member``."""
    sums, played = np.zeros((2, GROUPS)), np.zeros((2, GROUPS))
    groups, deals, turns = scenario_groups(scenarios), [], []
    for seat in (0, 1):
        games = rollout(
            (member, against) if seat == 0 else (against, member),
            scenarios,
            rules,
            seed=seed,
            index=(seat,),
            prior=prior,
            reveal_partner_utilities=reveal_partner_utilities,
            whispers=(whisper, None) if seat == 0 else (None, whisper),
        )
        points = points_of_ten(games.scores, scenarios.wholes)[:, seat]
        sums[seat] = np.bincount(groups, weights=points, minlength=GROUPS)
        played[seat] = np.bincount(groups, minlength=GROUPS)
        deals.append(games.deal.mean())
        turns.append(games.turns.mean())
    return Result(
        points=mean_of_cells(sums, played, confidence),
        as_seat=(
            mean_of_cells(sums[:1], played[:1], confidence),
            mean_of_cells(sums[1:], played[1:], confidence),
        ),
        deals=float(np.mean(deals)),
        turns=float(np.mean(turns)),
    )
