"""What secret proposals come to: deals, points, welfare and Pareto, over tables of any number of item types.

A deal stands if both proposals fit the pool together; what nobody asked for is lost. That is our END rule, but that
ours wants claims that add up to exactly the pool. Welfare is the joint points over the most there is, no deal being 0.
A deal is Pareto-optimal if no division of the pool gives one side more and the other no less; the sides are compared by
enumeration, so that a lost item counts against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from dond_marl.statistics import TEN, Estimate, mean_of, share_of_trials
from experiments.field.frontier.public import Counts, Instance, PublicGame, worth

CONFIDENCE = 0.95


class Outcome(NamedTuple):
    """One game, scored."""

    deal: bool
    points: tuple[int, int]  # 0/0 without a deal
    welfare: float  # 0..1
    pareto: bool  # False without a deal


class Summary(NamedTuple):
    """Several games: shares with Wilson's intervals, means with Student's over games."""

    deals: Estimate
    welfare: Estimate
    pareto: Estimate  # of deals
    points: tuple[Estimate, Estimate]  # points of ten, of who speaks first and of the other


def outcome(instance: Instance, proposals: tuple[Counts | None, Counts | None], aborted: bool = False) -> Outcome:
    """One game, from what both sides proposed."""
    first, second = proposals
    if aborted or first is None or second is None or not fits(instance.counts, first, second):
        return Outcome(False, (0, 0), 0.0, False)
    points = worth(first, instance.values[0]), worth(second, instance.values[1])
    most = sum(n * max(pair) for n, pair in zip(instance.counts, zip(*instance.values, strict=True), strict=True))
    return Outcome(True, points, sum(points) / most if most else 0.0, not _improved(instance, points))


def fits(counts: Counts, first: Counts, second: Counts) -> bool:
    """Whether there are enough items for both proposals."""
    return all(a + b <= n for n, a, b in zip(counts, first, second, strict=True))


def rescored(game: PublicGame) -> Outcome:
    """A public game by our own count."""
    return outcome(game.instance, game.proposals, game.aborted)


def summary(instances: Sequence[Instance], outcomes: Sequence[Outcome]) -> Summary:
    """The figures of several games, each on its table."""
    deals = [each for each in outcomes if each.deal]
    points = (
        mean_of(
            [
                TEN * each.points[side] / max(table.whole[side], 1)
                for table, each in zip(instances, outcomes, strict=True)
            ],
            CONFIDENCE,
        )
        for side in (0, 1)
    )
    first, second = points
    return Summary(
        share_of_trials(len(deals), len(outcomes)),
        _within(mean_of([each.welfare for each in outcomes], CONFIDENCE)),
        share_of_trials(sum(each.pareto for each in deals), len(deals)),
        (first, second),
    )


def _within(share: Estimate) -> Estimate:
    """A mean of shares, its interval cut at what a share can be."""
    return share._replace(low=max(share.low, 0.0), high=min(share.high, 1.0))


def _improved(instance: Instance, points: tuple[int, int]) -> bool:
    """Whether some division gives one side more and the other no less."""
    for share in product(*(range(n + 1) for n in instance.counts)):
        others = tuple(n - k for n, k in zip(instance.counts, share, strict=True))
        got = worth(share, instance.values[0]), worth(others, instance.values[1])
        if got != points and got[0] >= points[0] and got[1] >= points[1]:
            return True
    return False
