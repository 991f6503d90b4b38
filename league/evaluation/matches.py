"""What a member scores against others: every scenario played once in each seat, with the same noise whoever plays.

K = scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import Doubles, Partner, Whisper
from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups

CONFIDENCE = 0.95  # two-sided


class Result(NamedTuple):
    """Points of ten of the member scored, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # both seats
    as_seat: tuple[Estimate, Estimate]
    deals: float
    turns: float  # acts of both seats per game


class Scores(NamedTuple):
    """The same over several opponents."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # points by opponent


def heldout_scenarios() -> tuple[ScenarioSource, Scenarios]:
    """The source, and the scenarios of its game space, on which nobody learns."""
    source = open_source("lewis", split="heldout")
    assert source.table is not None
    return source, source.table


def both_seats(
    players: tuple[Partner, Partner],
    against: Partner,
    scenarios: Scenarios,
    rules: Rules,
    *,
    seed: int,
    prior: str,
    reveal_partner_utilities: bool = False,
    whisper: Whisper | None = None,
    index: tuple[int, ...] = (),
) -> Iterator[Games]:
    """The games of ``players[0]`` in seat_0, then those of ``players[1]`` in seat_1, on all ``scenarios``.

    ``whisper`` advises the players. Raises :class:`~dond_marl.rollout.OccupantError`.
    """
    for seat, player in enumerate(players):
        yield rollout(
            (player, against) if seat == 0 else (against, player),
            scenarios,
            rules,
            seed=seed,
            index=(*index, seat),
            prior=prior,
            reveal_partner_utilities=reveal_partner_utilities,
            whispers=(whisper, None) if seat == 0 else (None, whisper),
        )


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
) -> Result:
    """Play ``member`` against one partner; ``whisper`` advises ``member``."""
    games = list(
        both_seats(
            (member, member),
            against,
            scenarios,
            rules,
            seed=seed,
            prior=prior,
            reveal_partner_utilities=reveal_partner_utilities,
            whisper=whisper,
        )
    )
    groups, points = scenario_groups(scenarios), _own_points(games, scenarios)
    return Result(
        points=mean_over_scenarios(points, groups, CONFIDENCE),
        as_seat=(
            mean_over_scenarios(points[0], groups, CONFIDENCE),
            mean_over_scenarios(points[1], groups, CONFIDENCE),
        ),
        deals=float(np.mean([each.deal.mean() for each in games])),
        turns=float(np.mean([each.turns.mean() for each in games])),
    )


def scores(
    member: Partner,
    opponents: Sequence[str],
    scenarios: Scenarios,
    rules: Rules,
    *,
    seed: int,
    prior: str,
    tell: Callable[[str], None] = lambda _: None,
) -> Scores:
    """Play ``member`` against each of ``opponents``, named as in the catalogue; ``tell`` hears whom it plays."""
    groups, deals, points = scenario_groups(scenarios), [], []
    for name in opponents:
        tell(name)
        games = list(both_seats((member, member), seat_occupant(name), scenarios, rules, seed=seed, prior=prior))
        points.append(_own_points(games, scenarios))
        deals += [each.deal.mean() for each in games]
    return Scores(
        mean_over_scenarios(np.concatenate(points), groups, CONFIDENCE),
        float(np.mean(deals)),
        {name: mean_over_scenarios(own, groups, CONFIDENCE) for name, own in zip(opponents, points, strict=True)},
    )


def _own_points(games: Sequence[Games], scenarios: Scenarios) -> Doubles:
    """Points of ten of the player who sat in seat_0 of the first games and in seat_1 of the second, ``[2, K]``."""
    return np.stack([points_of_ten(each.scores, scenarios.wholes)[:, seat] for seat, each in enumerate(games)])
