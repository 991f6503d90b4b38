"""Partners that reason about what their partner may value.

They start from the exact beliefs that the scenario prior leaves them (:mod:`dond_marl.yardsticks.beliefs`) and learn
from claims: a partner with values v is taken to claim each split with probability proportional to ``exp(rationality *
share)``, share being what it would keep of its whole value, independently each time (Boltzmann-rational claims).
Expectations are rounded to ``1 / 2**20`` before they are compared, so that the last bit of a sum never decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Act
from dond_marl.seats import Decisions, Doubles, Int8s, Traits, Turns
from dond_marl.splits import grid
from dond_marl.yardsticks.beliefs import LEWIS_PRIORS, Beliefs, numbers_of, partner_beliefs
from partners.parameters import check_number
from partners.scripted.claims import Claims, partner_claims, worth_left
from partners.scripted.offers import (
    Points,
    answer,
    best_by,
    kept,
    needed,
    offered,
    on_the_table,
    outer_sum,
    own_points,
    own_turn,
    own_worth,
    progress,
    whole,
    worst_at_least,
)

ONE = 1 << 20  # the whole of a rounded expectation
_ROWS = 1 << 19  # types times games looked at in one go; bounds memory where any values are possible


def posterior(turns: Turns, rationality: float) -> Beliefs:
    """The partner's possible values and their probabilities after its claims."""
    prior = partner_beliefs(turns)
    claims = partner_claims(turns)
    if not len(claims.made):
        return prior
    total = (claims.oA * claims.made[:, None]).sum(axis=0, dtype=np.int32)  # [3, B]
    types = prior.types.transpose(2, 1, 0)  # [3, K, B]
    scale = rationality / np.maximum(_wholes(turns, prior), 1)
    kept_in_all = sum(types[item].astype(np.float64) * total[item] for item in range(3))
    log = kept_in_all * scale - claims.number * _log_normalizers(turns, types, rationality)
    log = np.where(prior.weights.T > 0, log, -np.inf)
    weights = prior.weights.T * np.exp(log - log.max(axis=0))
    return Beliefs(prior.types, (weights / weights.sum(axis=0)).T)


def claimed_in_all(turns: Turns) -> NDArray[np.int64]:
    """How often the partner has claimed before its last act, and how many of each item in all, ``[B, 4]``.

    All that :func:`posterior` looks at, besides what is on the table.
    """
    claims = partner_claims(turns).before_the_last()
    total = (claims.oA * claims.made[:, None]).sum(axis=0, dtype=np.int64)
    return np.column_stack([claims.number, total.T])


def expected_values(turns: Turns, rationality: float) -> NDArray[np.int64]:
    """The share of its whole value that each item is expected to be worth to the partner, ``[3, B]`` in 1 / 2**20."""
    width = partner_beliefs(turns.rows(np.arange(min(turns.size, 1)))).weights.shape[1]
    step = max(1, _ROWS // width)
    if turns.size <= step:
        return _expected_values(turns, rationality)
    blocks = (turns.rows(np.arange(start, min(start + step, turns.size))) for start in range(0, turns.size, step))
    return np.concatenate([_expected_values(block, rationality) for block in blocks], axis=1)


def prior_values(turns: Turns) -> NDArray[np.int64]:
    """The same before anything was claimed, ``[3, B]``: a function of the pool and of what the seat sees of values."""
    own = turns.my_utilities if turns.prior.startswith(LEWIS_PRIORS) else np.zeros_like(turns.my_utilities)
    keys = numbers_of(turns.counts, np.hstack([own, turns.partner_utilities]))
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    some = turns.rows(first)
    step = max(1, _ROWS // len(partner_beliefs(some.rows(np.arange(1))).weights.T)) if len(first) else 1
    blocks = [some.rows(np.arange(start, min(start + step, some.size))) for start in range(0, some.size, step)]
    values = [_mean_values(block, partner_beliefs(block)) for block in blocks or [some]]
    return np.concatenate(values, axis=1)[:, which.reshape(-1)]


def expected_share_left(turns: Turns, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """What the partner is expected to make of the rest, for each split, ``[G, B]`` in 1 / 2**20 of its whole value."""
    return outer_sum([values[item] * (turns.counts[:, item] - kept(turns)) for item in range(3)])


def nash_split(turns: Turns, values: NDArray[np.int64]) -> Int8s:
    """The split of the largest expected Nash product: own points times expected partner share, ``[B, 3]``."""
    points = own_points(turns).astype(np.int64)
    return best_by(turns, np.where(points < 0, -1, points * expected_share_left(turns, values)))


@dataclass(frozen=True)
class _Believer:
    """Learns from claims with this ``rationality``, 0 for not at all, up to 100; see the module."""

    rationality: float = 8.0
    traits: ClassVar[Traits] = Traits(deterministic=True)

    def __post_init__(self) -> None:
        check_number("rationality", self.rationality, 0, 100)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """What it remembers: how often the partner has claimed, and how many of each item in all, ``[B, 4]``."""
        return claimed_in_all(turns)


class NashSeeker(_Believer):
    """Proposes the split with the largest expected Nash product and accepts whatever is as good for it.

    Source: the Nash bargaining solution (Nash 1950) under exact Bayesian beliefs; claims are read as
    Boltzmann-rational, as the module states.

    - ``rationality``: 0..100, how surely the partner is taken to claim what is best for it; 0: by chance.
    """

    def act(self, turns: Turns) -> Decisions:
        claim = nash_split(turns, expected_values(turns, self.rationality))
        return answer(on_the_table(turns) & (offered(turns) >= own_worth(turns, claim)), claim)


class Prosocial(_Believer):
    """Seeks the largest expected sum of both shares, and accepts what is as good for the sum or for itself.

    Source: the prosocial agents of Cao et al. 2018 (arXiv 1804.03980), here under exact beliefs with
    Boltzmann-rational claims, see the module.

    - ``rationality``: 0..100, how surely the partner is taken to claim what is best for it; 0: by chance.
    """

    def act(self, turns: Turns) -> Decisions:
        values, wholes = expected_values(turns, self.rationality), np.maximum(whole(turns), 1)
        points = own_points(turns).astype(np.int64)
        welfare = np.where(points < 0, -1, points * ONE // wholes + expected_share_left(turns, values))
        claim, gift = best_by(turns, welfare), offered(turns)
        theirs = (values * (turns.counts - turns.last_partner_offer_for_me).T).sum(axis=0)
        as_good = gift.astype(np.int64) * ONE // wholes + theirs >= welfare.max(axis=0)
        return answer(on_the_table(turns) & (as_good | (gift >= own_worth(turns, claim))), claim)


class NiceTitForTat(_Believer):
    """Answers the partner's concessions toward the Nash point in kind, and takes what is left at the deadline.

    Source: Baarslag, Hindriks, Jonker 2013 ("A Tit for Tat Negotiation Strategy for Real-Time Bilateral Negotiations"),
    shares of its whole value throughout. With n its own share at the expected Nash split (beliefs as in the
    module) times 1.4 - .6 gap, gap = 1 - the first offer to it, n within .5..1, it mirrors f = (best offer - first) /
    (n - first): its target is 1 - f (1 - n), lowered by a bonus of max(.1, 20 (t - .91)) of the way to n. Among its
    splits of the least sufficient worth it claims the one best for the modeled partner, or the partner's best offer if
    that is as good. It accepts what is as good as its claim, and on its last turn anything worth a point.

    - ``rationality``: 0..100, how surely the partner is taken to claim what is best for it; 0: by chance.
    """

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """What it remembers: besides the claims, the worth of the first offer and the best one, ``[B, 9]``."""
        first, best, split = _first_and_best(turns, partner_claims(turns).before_the_last())
        return np.column_stack([claimed_in_all(turns), first, best, split.T]).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        t, gift, values = progress(turns), offered(turns), expected_values(turns, self.rationality)
        claims = partner_claims(turns)
        first, best, best_split = _first_and_best(turns, claims)
        target = self._target(turns, nash_split(turns, values), first, best, t)
        target = np.where(claims.number > 0, target, whole(turns))
        points = own_points(turns)
        band = points == own_worth(turns, worst_at_least(turns, target))
        claim = best_by(turns, np.where(band, expected_share_left(turns, values), -1))
        claim = np.where((claims.number > 0) & (best >= own_worth(turns, claim)), best_split, claim.T).T
        enough = gift >= own_worth(turns, claim)
        if t >= 0.98:
            enough |= gift > 0
        return answer(on_the_table(turns) & enough, claim)

    def _target(self, turns: Turns, nash: Int8s, first: Points, best: Points, t: float) -> Points:
        wholes = np.maximum(whole(turns), 1)
        opening, reached = first / wholes, best / wholes
        fair = np.clip(own_worth(turns, nash) / wholes * (1.4 - 0.6 * (1 - opening)), 0.5, 1.0)
        gap = fair - opening
        factor = np.where(gap > 0, np.clip((reached - opening) / np.where(gap > 0, gap, 1), 0, 1), 1.0)
        target = 1 - factor * (1 - fair)
        bonus = min(max(0.1, 20 * (t - 0.91)), 1.0)
        return needed(target - bonus * (target - fair), whole(turns))


@dataclass(frozen=True)
class Ultimatum:
    """Makes one claim and holds it: as much as it can ask while the partner probably still gets something.

    Source: the subgame-perfect proposer of the ultimatum game (Rubinstein 1982 with a last round) under exact beliefs:
    the claim maximizes its own points times the probability that the rest is worth at least a point to the partner. It
    accepts what is worth that expectation, and anything worth a point on the last turn of all, when no reply can come.
    """

    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; from its second turn on it INSISTs."""
        points = own_points(turns).astype(np.int64)
        expected = np.where(points < 0, -1, points * _chance_left(turns))
        claim, gift = best_by(turns, expected), offered(turns)
        enough = gift.astype(np.int64) * ONE >= expected.max(axis=0)
        if turns.rules.max_turns - turns.taken == 1:
            enough |= gift > 0
        return answer(on_the_table(turns) & enough, claim, Act.INSIST if own_turn(turns) else Act.PROPOSE)


def _wholes(turns: Turns, beliefs: Beliefs) -> NDArray[np.int32]:
    """What the pool is worth under each type, ``[K, B]`` points."""
    worths = beliefs.types.transpose(2, 1, 0) * turns.counts.T[:, None]  # at most 100 each: fits int8
    total: NDArray[np.int32] = worths.sum(axis=0, dtype=np.int32)
    return total


def _log_normalizers(turns: Turns, types: Int8s, rationality: float) -> Doubles:
    """The logarithm of the sum of ``exp(rationality * share)`` over all splits, for ``types[3, K, B]``, ``[K, B]``."""
    pools, which = np.unique(turns.counts, axis=0, return_inverse=True)
    tables = np.stack([_log_normalizers_of(tuple(pool.tolist()), rationality) for pool in pools])
    base = MAX_VALUE + 1
    codes = (types[0].astype(np.int32) * base + types[1]) * base + types[2]
    codes += which.reshape(-1).astype(np.int32) * tables.shape[1]
    logs: Doubles = tables.ravel().take(codes)
    return logs


@lru_cache(maxsize=2048)
def _log_normalizers_of(pool: tuple[int, ...], rationality: float) -> Doubles:
    """The same for one pool and all values in 0..10, counting up, ``[1331]``: a product over the item types."""
    values = grid(MAX_VALUE).astype(np.float64)
    slope = rationality * values / np.maximum(values @ np.array(pool), 1)[:, None]
    total = np.zeros(len(values))
    for item, count in enumerate(pool):
        total += np.log(np.exp(slope[:, item, None] * np.arange(count + 1)).sum(axis=1))
    total.flags.writeable = False
    return total


def _expected_values(turns: Turns, rationality: float) -> NDArray[np.int64]:
    return _mean_values(turns, posterior(turns, rationality))


def _mean_values(turns: Turns, belief: Beliefs) -> NDArray[np.int64]:
    per_point = belief.weights.T / np.maximum(_wholes(turns, belief), 1)
    types = belief.types.transpose(2, 1, 0)
    return np.stack([np.rint((types[item] * per_point).sum(axis=0) * ONE).astype(np.int64) for item in range(3)])


def _first_and_best(turns: Turns, claims: Claims) -> tuple[Points, Points, Int8s]:
    """What the first and the best of these claims leave, ``[B]``, 0 before any, and the best one's split ``[3, B]``."""
    points = worth_left(turns, claims)
    first, best = np.full(turns.size, -1, dtype=np.int32), np.zeros(turns.size, dtype=np.int32)
    split = np.zeros((3, turns.size), dtype=np.int8)
    for oA, made, point in zip(claims.oA, claims.made, points, strict=True):
        better = made & ((first < 0) | (point > best))
        first = np.where(made & (first < 0), point, first)
        best = np.where(better, point, best)
        np.copyto(split, turns.counts.T - oA, where=better)
    return np.maximum(first, 0), best, split


def _chance_left(turns: Turns) -> NDArray[np.int64]:
    """How probably what each split leaves is worth something to the partner, ``[G, B]`` in 1 / 2**20."""
    belief = partner_beliefs(turns)
    valued = (belief.types > 0) @ np.array([4, 2, 1])  # [B, K] which item types are worth something
    by_pattern = np.zeros((8, turns.size))
    for pattern in range(1, 8):
        some = (belief.weights * (valued == pattern)).sum(axis=1)
        for left in range(8):
            if left & pattern:
                by_pattern[left] += some
    chances = np.rint(by_pattern * ONE).astype(np.int64)
    rest = [weight * (turns.counts[:, item] > kept(turns)) for item, weight in enumerate((4, 2, 1))]
    return np.take_along_axis(chances, outer_sum(rest), axis=0)
