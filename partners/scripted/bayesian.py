"""Bayesian partners, selfish or with social preferences: they infer the other seat's values from its claims.

The prior is the exact one of the scenarios (:mod:`dond_marl.solvers.contexts`). The likelihood of
claims: a partner with values v is assumed to claim each split with probability proportional to ``exp(rationality *
share)``, share being what the split keeps of its whole value, independently each time (Boltzmann-rational claims).
Expectations are rounded to ``1 / 2**20`` before they are compared, so that the last bit of a sum never decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import cos, radians, sin
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Act
from dond_marl.scenarios.sources import numbers_of
from dond_marl.seats import Decisions, Doubles, Int8s, Turns
from dond_marl.solvers.contexts import (
    LEWIS_PRIORS,
    Beliefs,
    lewis_beliefs,
    lewis_places,
    lewis_pools,
    partner_beliefs,
)
from dond_marl.splits import grid
from partners.parameters import Range, Rationality, Share
from partners.scripted.base import MemorylessPartner, ScriptedPartner
from partners.scripted.menu import (
    NEVER,
    WHOLE,
    Menu,
    distinct_games,
    expected_share_left,
    favourite,
    menu,
    own_share_of_offer,
    own_shares,
    share_of_offer,
    shares_left,
)
from partners.scripted.offers import (
    Claims,
    Points,
    answer,
    claim_worth,
    offer_worth,
    own_turn,
    partner_claims,
    points_needed,
    pool_worth,
    progress,
    worst_at_least,
    worth_left,
)

_MOST = 511  # upper bound of an item's total claims and of the number of claims: 10 on each of 50 turns
_FEW = 128  # with fewer games, searching for equal ones takes longer than it saves
_ROWS = 1 << 19  # types times games computed at once; bounds memory where any values are possible


class PriorKnowledge(NamedTuple):
    """Prior knowledge of U different private views; ``view[B]`` is the view of each game."""

    types: Int8s  # [3, K, U] the partner's possible values
    weights: Doubles  # [K, U] their probabilities
    wholes: NDArray[np.int32]  # [K, U] worth of the pool to it, at least 1
    counts: Int8s  # [U, 3] the pool
    view: NDArray[np.int64]  # [B]


def prior_knowledge(turns: Turns) -> PriorKnowledge:
    """The prior knowledge of each game's seat to move, by its pool and the values that it sees."""
    if turns.prior in LEWIS_PRIORS and not turns.partner_utilities.any():
        view, outside = lewis_places(turns.counts, turns.my_utilities)
        if not outside.any():
            return _lewis_knowledge()._replace(view=view)
    first, view = _different_views(turns)
    games = turns.rows(first)
    return _prior_knowledge_of(partner_beliefs(games), games.counts, view)


@lru_cache(maxsize=1)
def _lewis_knowledge() -> PriorKnowledge:
    """The prior knowledge of every view of the Lewis space, computed once per process."""
    return _prior_knowledge_of(lewis_beliefs(), lewis_pools(), np.arange(0))


def _prior_knowledge_of(belief: Beliefs, counts: Int8s, view: NDArray[np.int64]) -> PriorKnowledge:
    types = np.ascontiguousarray(belief.types.transpose(2, 1, 0))
    wholes = (types * counts.T[:, None]).sum(axis=0, dtype=np.int32)  # at most 100 each: fits int8
    return PriorKnowledge(types, np.ascontiguousarray(belief.weights.T), np.maximum(wholes, 1), counts, view)


def posterior(turns: Turns, rationality: float) -> Beliefs:
    """The partner's possible values and their probabilities after its claims."""
    return Beliefs(partner_beliefs(turns).types, _weights(turns, prior_knowledge(turns), rationality).T)


def claimed_in_all(turns: Turns) -> NDArray[np.int64]:
    """The number of the partner's claims before its last act, and the total of each item in them, ``[B, 4]``.

    With the offer on the table, a sufficient statistic for :func:`posterior`.
    """
    claims = partner_claims(turns).before_the_last()
    return np.column_stack([claims.number, claims.totals().T])


def expected_values(turns: Turns, rationality: float) -> NDArray[np.int64]:
    """The partner's expected value of each item, ``[3, B]`` in 1 / 2**20 of its whole value."""
    if turns.size <= _FEW:
        return _expected_values(turns, rationality)
    claims = partner_claims(turns)
    keys = _different_views(turns)[1]
    for column in (claims.number, *claims.totals()):
        keys = keys * (_MOST + 1) + column
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return _in_blocks(turns.rows(first), lambda block: _expected_values(block, rationality))[:, inverse.reshape(-1)]


def prior_values(turns: Turns) -> NDArray[np.int64]:
    """The expected values under the prior, ``[3, B]`` as :func:`expected_values` gives them.

    They are a function of the pool and the visible values.
    """
    if turns.size <= _FEW:
        return _prior_values(turns)
    first, view = _different_views(turns)
    return _in_blocks(turns.rows(first), _prior_values)[:, view]


def nash_split(turns: Turns, splits: Menu, values: NDArray[np.int64]) -> Int8s:
    """The split of the largest expected Nash product: own points times expected partner share, ``[B, 3]``."""
    return favourite(splits, splits.points * expected_share_left(turns, splits, values))[0]


class Believer(ScriptedPartner):
    """Infers the partner's values from its claims; see the module."""

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Memory: the number of the partner's claims, and the total of each item in them, ``[B, 4]``."""
        return claimed_in_all(turns)


@dataclass(frozen=True)
class NashSeeker(Believer):
    """Proposes the largest expected Nash product, accepts any offer as good.

    Source: the Nash bargaining solution (Nash 1950) under exact Bayesian beliefs; claims are read as
    Boltzmann-rational, as the module states.

    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    rationality: Rationality = 8.0

    def act(self, turns: Turns) -> Decisions:
        claim = nash_split(turns, menu(turns), expected_values(turns, self.rationality))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)


@dataclass(frozen=True)
class Prosocial(Believer):
    """Seeks the largest expected sum of both shares.

    Source: the prosocial agents of Cao et al. 2018 (arXiv 1804.03980), here under exact beliefs with
    Boltzmann-rational claims, see the module.

    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    rationality: Rationality = 8.0

    def act(self, turns: Turns) -> Decisions:
        values, wholes = expected_values(turns, self.rationality), np.maximum(pool_worth(turns), 1)
        splits, gift = menu(turns), offer_worth(turns)
        claim, best = favourite(splits, own_shares(splits, wholes) + expected_share_left(turns, splits, values))
        partner_share = (values * (turns.counts - turns.last_partner_offer_for_me).T).sum(axis=0)
        as_good = own_share_of_offer(turns) + partner_share >= best
        return answer(turns, as_good | (gift >= claim_worth(turns, claim)), claim)


@dataclass(frozen=True)
class NiceTitForTat(Believer):
    """Answers the partner's concessions towards the Nash point in kind.

    Source: Baarslag, Hindriks, Jonker 2013 ("A Tit for Tat Negotiation Strategy for Real-Time Bilateral Negotiations"),
    shares of its whole value throughout. With n its own share at the expected Nash split (beliefs as in the
    module) times 1.4 - .6 gap, gap = 1 - the first offer to it, n within .5..1, it mirrors f = (best offer - first) /
    (n - first): its target is 1 - f (1 - n), lowered by a bonus of max(.1, 20 (t - .91)) of the way to n. Among its
    splits of the least sufficient worth it claims the one best for the modeled partner, or the partner's best offer if
    that is as good. It accepts what is as good as its claim, and on its last turn anything worth a point.

    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    rationality: Rationality = 8.0

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Memory: the claims, the worth of the first offer, and the best offer with its worth, ``[B, 9]``."""
        first, best, split = _first_and_best(turns, partner_claims(turns).before_the_last())
        return np.column_stack([claimed_in_all(turns), first, best, split.T]).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        t, gift, values = progress(turns), offer_worth(turns), expected_values(turns, self.rationality)
        claims = partner_claims(turns)
        first, best, best_split = _first_and_best(turns, claims)
        splits = menu(turns)
        target = self._target(turns, nash_split(turns, splits, values), first, best, t)
        target = np.where(claims.number > 0, target, pool_worth(turns))
        band = splits.points == claim_worth(turns, worst_at_least(turns, target))
        claim, _ = favourite(splits, np.where(band, expected_share_left(turns, splits, values), -1))
        claim = np.where((claims.number > 0) & (best >= claim_worth(turns, claim)), best_split, claim.T).T
        enough = gift >= claim_worth(turns, claim)
        if t >= 0.98:
            enough |= gift > 0
        return answer(turns, enough, claim)

    def _target(self, turns: Turns, nash: Int8s, first: Points, best: Points, t: float) -> Points:
        wholes = np.maximum(pool_worth(turns), 1)
        opening, reached = first / wholes, best / wholes
        fair = np.clip(claim_worth(turns, nash) / wholes * (1.4 - 0.6 * (1 - opening)), 0.5, 1.0)
        gap = fair - opening
        factor = np.where(gap > 0, np.clip((reached - opening) / np.where(gap > 0, gap, 1), 0, 1), 1.0)
        target = 1 - factor * (1 - fair)
        bonus = min(max(0.1, 20 * (t - 0.91)), 1.0)
        return points_needed(target - bonus * (target - fair), pool_worth(turns))


@dataclass(frozen=True)
class Ultimatum(MemorylessPartner):
    """Makes one claim, the most that its partner probably accepts, and holds it.

    Source: the subgame-perfect proposer of the ultimatum game (Rubinstein 1982 with a last round) under exact beliefs:
    the claim maximizes its own points times the probability that the rest is worth at least a point to the partner. It
    accepts what is worth that expectation, and anything worth a point on the last turn of all, when no reply can come.
    """

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; from its second turn on it INSISTs."""
        distinct, inverse = distinct_games(turns)
        splits = menu(distinct)
        claims, expected = favourite(splits, splits.points * _chance_left(distinct, splits))
        claim, gift = claims[inverse], offer_worth(turns)
        enough = gift.astype(np.int64) * WHOLE >= expected[inverse]
        if turns.rules.max_turns - turns.turns_taken == 1:
            enough |= gift > 0
        return answer(turns, enough, claim, Act.INSIST if own_turn(turns) else Act.PROPOSE)


def _different_views(turns: Turns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first game of each view with different beliefs, ``[U]``, and the view of each game, ``[B]``."""
    own_values = turns.my_utilities if turns.prior.startswith(LEWIS_PRIORS) else np.zeros_like(turns.my_utilities)
    keys = numbers_of(turns.counts, np.hstack([own_values, turns.partner_utilities]))
    _, first, view = np.unique(keys, return_index=True, return_inverse=True)
    return first, view.reshape(-1)


def _in_blocks(turns: Turns, compute: Callable[[Turns], NDArray[np.int64]]) -> NDArray[np.int64]:
    """``compute(turns)``, ``[3, B]``, in blocks of games."""
    width = partner_beliefs(turns.rows(np.arange(min(turns.size, 1)))).weights.shape[1]
    step = max(1, _ROWS // width)
    if turns.size <= step:
        return compute(turns)
    blocks = (turns.rows(np.arange(start, min(start + step, turns.size))) for start in range(0, turns.size, step))
    return np.concatenate([compute(block) for block in blocks], axis=1)


def _weights(turns: Turns, views: PriorKnowledge, rationality: float) -> Doubles:
    """The posterior of each type after the partner's claims, ``[K, B]``."""
    prior = views.weights[:, views.view]
    claims = partner_claims(turns)
    if not len(claims.has_claim):
        return prior
    total = claims.totals()
    types = views.types[:, :, views.view].astype(np.float64)
    claimed_worth = types[0] * total[0] + types[1] * total[1] + types[2] * total[2]
    whole_of_lewis = views.types is _lewis_knowledge().types
    normalizers = _log_normalizers_of_lewis(rationality) if whole_of_lewis else _log_normalizers(views, rationality)
    log = claimed_worth * (rationality / views.wholes[:, views.view]) - claims.number * normalizers[:, views.view]
    log = np.where(prior > 0, log, -np.inf)
    weights = prior * np.exp(log - log.max(axis=0))
    chances: Doubles = weights / weights.sum(axis=0)
    return chances


def _log_normalizers(views: PriorKnowledge, rationality: float) -> Doubles:
    """The logarithm of the sum of ``exp(rationality * share)`` over all splits, for each view's types, ``[K, U]``."""
    pools, pool_index = np.unique(views.counts, axis=0, return_inverse=True)
    tables = np.stack([_log_normalizers_of(tuple(pool.tolist()), rationality) for pool in pools])
    base, types = MAX_VALUE + 1, views.types
    codes = (types[0].astype(np.int32) * base + types[1]) * base + types[2]
    codes += pool_index.reshape(-1).astype(np.int32) * tables.shape[1]
    logs: Doubles = tables.ravel().take(codes)
    return logs


@lru_cache(maxsize=16)
def _log_normalizers_of_lewis(rationality: float) -> Doubles:
    logs = _log_normalizers(_lewis_knowledge(), rationality)
    logs.flags.writeable = False
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
    views = prior_knowledge(turns)
    return _mean_values(views, _weights(turns, views, rationality))


def _prior_values(turns: Turns) -> NDArray[np.int64]:
    views = prior_knowledge(turns)
    return _mean_values(views, views.weights[:, views.view])


def _mean_values(views: PriorKnowledge, weights: Doubles) -> NDArray[np.int64]:
    shares = views.types[:, :, views.view] / views.wholes[:, views.view]
    means: NDArray[np.int64] = np.rint((shares * weights).sum(axis=1) * WHOLE).astype(np.int64)
    return means


def _first_and_best(turns: Turns, claims: Claims) -> tuple[Points, Points, Int8s]:
    """The seat's points in the first and the best of these offers, ``[B]``, 0 before any; the best split ``[3, B]``."""
    points = worth_left(turns, claims)
    first, best = np.full(turns.size, -1, dtype=np.int32), np.zeros(turns.size, dtype=np.int32)
    split = np.zeros((3, turns.size), dtype=np.int8)
    for oA, has_claim, point in zip(claims.oA, claims.has_claim, points, strict=True):
        better = has_claim & ((first < 0) | (point > best))
        first = np.where(has_claim & (first < 0), point, first)
        best = np.where(better, point, best)
        np.copyto(split, turns.counts.T - oA, where=better)
    return np.maximum(first, 0), best, split


def _chance_left(turns: Turns, splits: Menu) -> NDArray[np.int64]:
    """The probability that what each split leaves has a value for the partner, ``[N, B]`` in 1 / 2**20."""
    belief = partner_beliefs(turns)
    valued = (belief.types > 0) @ np.array([4, 2, 1])  # [B, K] bit pattern of the item types with a value
    by_pattern = np.zeros((8, turns.size))
    for pattern in range(1, 8):
        chance = (belief.weights * (valued == pattern)).sum(axis=1)
        for items_left in range(8):
            if items_left & pattern:
                by_pattern[items_left] += chance
    chances = np.rint(by_pattern * WHOLE).astype(np.int64)
    pattern_left = sum(weight * (turns.counts[:, item] > splits.items[item]) for item, weight in enumerate((4, 2, 1)))
    return np.take_along_axis(chances, np.asarray(pattern_left), axis=0)


_UNIT = 1 << 10  # the whole of a weight
_ROUNDED = 16 * _UNIT  # sums of shares that differ by less than this are equal: each was rounded

Shares = NDArray[np.int64]


@dataclass(frozen=True)
class SocialValue(Believer):
    """Weighs the partner's share against its own, competitor to altruist.

    Source: social value orientation as an angle (Griesinger, Livingston 1973; Murphy, Ackermann, Handgraaf 2011,
    *Measuring social value orientation*, section 2: competitors below -12.04 degrees, individualists to 22.45,
    prosocials to 57.15, altruists above). It claims the split with the largest cos(``angle``) own share +
    sin(``angle``) expected partner share, and agrees to an offer worth ``accept_ratio`` of that.

    - ``angle``: -90..90 degrees.
    - ``accept_ratio``: 0..1, share of the value of its claim that an offer must reach.
    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    angle: Annotated[float, Range(-90, 90)] = 30.0
    accept_ratio: Share = 0.8
    rationality: Rationality = 8.0

    def act(self, turns: Turns) -> Decisions:
        wholes, splits, values = pool_worth(turns), menu(turns), expected_values(turns, self.rationality)
        claim, best = favourite(splits, self._worth(own_shares(splits, wholes), shares_left(turns, splits, values)))
        gift = self._worth(own_share_of_offer(turns), share_of_offer(turns, values))
        return answer(turns, gift + _ROUNDED >= self.accept_ratio * best, claim)

    def _worth(self, own_share: Shares, partner_share: Shares) -> Shares:
        own_weight, partner_weight = cos(radians(self.angle)), sin(radians(self.angle))
        return round(own_weight * _UNIT) * own_share + round(partner_weight * _UNIT) * partner_share


@dataclass(frozen=True)
class InequityAverse(Believer):
    """Dislikes having less than the partner, and a little also having more.

    Source: Fehr, Schmidt 1999, *A theory of fairness, competition, and cooperation*, section II, equation 2, on shares
    of each seat's whole value: own - ``alpha`` max(theirs - own, 0) - ``beta`` max(own - theirs, 0). As in their
    ultimatum game (section III) it claims what is best for it among the splits that a partner like itself would rather
    have than nothing. It agrees to an offer worth (1 - t) times that, t running from 0 on its first turn to 1 on its
    last, where it still refuses what is worse for it than nothing.

    - ``alpha``: at least ``beta``, at most 10: envy.
    - ``beta``: 0..1, less than 1: guilt.
    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    alpha: Annotated[float, Range(0, 10)] = 1.0
    beta: Share = 0.25
    rationality: Rationality = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta == 1 or self.beta > self.alpha:
            raise ValueError(f"beta must be less than 1 and at most alpha, {self.alpha:g}; got {self.beta:g}")

    def act(self, turns: Turns) -> Decisions:
        wholes, splits, values = pool_worth(turns), menu(turns), expected_values(turns, self.rationality)
        own_share, partner_share = own_shares(splits, wholes), shares_left(turns, splits, values)
        acceptable = self._worth(partner_share, own_share) >= 0
        claim, best = favourite(splits, np.where(acceptable, self._worth(own_share, partner_share), NEVER))
        gift = self._worth(own_share_of_offer(turns), share_of_offer(turns, values))
        return answer(turns, gift + _ROUNDED >= (1 - progress(turns)) * np.maximum(best, 0), claim)

    def _worth(self, own_share: Shares, partner_share: Shares) -> Shares:
        envy, guilt = round(self.alpha * _UNIT), round(self.beta * _UNIT)
        lead = own_share - partner_share
        worth: Shares = own_share * _UNIT - envy * np.maximum(-lead, 0) - guilt * np.maximum(lead, 0)
        return worth
