"""Random partners: they draw their decisions anew on each turn, or err (quantal response, level-k, trembling hand).

Those of bounded rationality assume that the partner accepts what a split leaves it with a probability equal to its
expected share of that under the scenario prior; they infer nothing from its acts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.occupants import SpecLike
from dond_marl.seats import Bools, Cause, Decisions, Doubles, Int8s, Partner, Traits, Turns, are_offers, constant
from dond_marl.splits import action_count, action_index, grid, grid_size, one_hot_probabilities
from partners.parameters import Range, Rationality, Share, check_number, check_order
from partners.scripted.base import MemorylessPartner, RandomPartner, Wrapper
from partners.scripted.bayesian import prior_values
from partners.scripted.menu import (
    WHOLE,
    Menu,
    distinct_games,
    favourite,
    menu,
    own_share_of_offer,
    own_shares,
    probabilities_by_number,
    shares_left,
)
from partners.scripted.offers import (
    answer,
    has_offer,
    keep_valued,
    offer_worth,
    points_needed,
    pool_worth,
    progress,
    worst_at_least,
)

_LEVELS = 8  # equally likely thresholds and demands of a mixed strategy


@dataclass(frozen=True)
class Random(RandomPartner):
    """Plays any legal act with equal probability, then any number of items.

    Source: the random-legal player that every game library has (OpenSpiel ``UniformRandomPolicy``), drawn act first,
    so that AGREE, DISAGREE and END are as likely as the many offers together.
    """

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; its confidence is the probability of the decision."""
        may = np.cumsum(turns.act_mask.T, axis=0)  # [5, B] legal acts up to each
        chosen = (turns.noise[:, 0] * may[-1]).astype(np.int64)
        act_type = (may <= chosen).sum(axis=0)
        offers = are_offers(act_type)
        chance = np.where(offers, 1 / (turns.counts + 1.0).prod(axis=1), 1.0) / may[-1]
        return Decisions(
            act_type.astype(np.int8),
            (random_split(turns).T * offers).T,
            chance.astype(np.float32),
            constant(Cause.FREE, np.int8, turns.size),
        )

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        split, may = _any_split(turns, max_count), turns.act_mask
        offers = np.concatenate([split, split], axis=1)
        chance: Doubles = np.concatenate([offers, may[:, Act.AGREE :]], axis=1) / may.sum(axis=1, keepdims=True)
        return chance


@dataclass(frozen=True)
class Nice(RandomPartner):
    """Agrees to any offer, and otherwise proposes any split at random.

    Source: ``NiceNegotiator`` of NegMAS (Mohammad et al. 2020).
    """

    def act(self, turns: Turns) -> Decisions:
        return answer(turns, has_offer(turns), random_split(turns))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        agree = has_offer(turns)[:, None]
        split = _any_split(turns, max_count) * ~agree
        return np.concatenate([split, np.zeros_like(split), agree, np.zeros((turns.size, 2))], axis=1)


@dataclass(frozen=True)
class MixedThresholds(RandomPartner):
    """Draws its acceptance threshold and its demand anew on each turn.

    Source: a mixed strategy over the thresholds of an ultimatum game (Nash 1951; mixed acceptance thresholds as people
    have them: Camerer 2003, *Behavioral game theory*, section 2.1). The threshold is one of eight equal steps from
    ``low`` to ``high``, the demand one of eight from ``ask`` to 1, as shares of its whole value. It agrees to an offer
    that reaches the threshold, otherwise it claims its worst split that reaches the demand.

    - ``low``: 0..1, the least share that it ever takes.
    - ``high``: 0..1, at least ``low``: the most that it ever holds out for.
    - ``ask``: 0..1, the least share that it ever asks for.
    """

    low: Share = 0.3
    high: Share = 0.8
    ask: Share = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self, "low", "high")

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the threshold is drawn from noise 0, the demand from noise 1."""
        thresholds, demands = self._levels()
        wholes, draws = pool_worth(turns), (turns.noise[:, :2] * _LEVELS).astype(np.int64)
        enough = offer_worth(turns) >= points_needed(thresholds[draws[:, 0]], wholes)
        return answer(turns, enough, worst_at_least(turns, points_needed(demands[draws[:, 1]], wholes)))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        thresholds, demands = self._levels()
        wholes, gift, rows = pool_worth(turns), offer_worth(turns), np.arange(turns.size)
        agree = np.mean([gift >= points_needed(share, wholes) for share in thresholds], axis=0) * has_offer(turns)
        chances: Doubles = np.zeros((turns.size, action_count(max_count)))
        chances[:, 2 * grid_size(max_count)] = agree
        for share in demands:
            claim = worst_at_least(turns, points_needed(share, wholes))
            number = action_index(np.full(turns.size, Act.PROPOSE, dtype=np.int8), claim, max_count)
            chances[rows, number] += (1 - agree) / _LEVELS
        return chances

    def _levels(self) -> tuple[Doubles, Doubles]:
        return np.linspace(self.low, self.high, _LEVELS), np.linspace(self.ask, 1, _LEVELS)


@dataclass(frozen=True)
class Sniper(RandomPartner):
    """Asks for everything, and settles at a random moment near the deadline.

    Source: the deadline effect (Roth, Murnighan, Schoumaker 1988, *The deadline effect in bargaining*, section II: most
    agreements fall into the last moments). On each turn it is ready with a chance of t**``patience``, t running from 0
    on its first turn to 1 on its last. Ready, it takes ``fair`` of its whole value or proposes its worst split worth
    that; otherwise it proposes to keep all that it values and takes nothing less.

    - ``patience``: more than 0, at most 20; the larger, the later it is ready.
    - ``fair``: 0..1, share of its whole value that it then wants.
    """

    patience: Annotated[float, Range(0, 20, above=True)] = 3.0
    fair: Share = 0.5

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; whether it is ready is drawn from noise 0."""
        ready = turns.noise[:, 0] < progress(turns) ** self.patience
        return self._decide(turns, ready)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        ready, waits = (
            one_hot_probabilities(decisions.act_type, decisions.oA, max_count)
            for decisions in (self._decide(turns, np.full(turns.size, is_ready)) for is_ready in (True, False))
        )
        chance = progress(turns) ** self.patience
        chances: Doubles = chance * ready + (1 - chance) * waits
        return chances

    def _decide(self, turns: Turns, ready: Bools) -> Decisions:
        wholes = pool_worth(turns)
        enough = points_needed(self.fair, wholes)
        claim = np.where(ready, worst_at_least(turns, enough).T, keep_valued(turns).T).T
        return answer(turns, offer_worth(turns) >= np.where(ready, enough, wholes), claim)


def random_split(turns: Turns) -> Int8s:
    """Each item type kept in any number with equal probability, ``[B, 3]``, from noise 1 to 3."""
    return (turns.noise[:, 1:4] * (turns.counts + 1)).astype(np.int8)


def _any_split(turns: Turns, max_count: int) -> Doubles:
    """The probability of each row of the grid under :func:`random_split`, ``[B, K]``."""
    within = (grid(max_count) <= turns.counts[:, None]).all(axis=2)
    chance: Doubles = within / (turns.counts + 1.0).prod(axis=1)[:, None]
    return chance


_STEPS = 1 << 10  # resolution of utilities, and of the weights of a mixture of levels


@dataclass(frozen=True)
class QuantalResponse(RandomPartner):
    """Plays better acts more often: probabilities logistic in expected worth.

    Source: quantal response (McKelvey, Palfrey 1995, *Quantal response equilibria for normal form games*, section 2;
    1998 for games in turns). AGREE is worth the share of its whole value in the offer. PROPOSE of a split is
    worth that share with the chance that the partner takes the rest, which is the share that the partner is expected to
    make of it, and ``hope`` otherwise, nothing where it has no further turn; an unanswerable offer is worth nothing.
    The probability of an act is proportional to exp(``rationality`` * worth). It never plays INSIST, DISAGREE or END.

    - ``rationality``: 0..100; 0: all acts equally often.
    - ``hope``: 0..1, share of its whole value that it expects after a refusal.
    """

    rationality: Rationality = 15.0
    hope: Share = 0.3

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; its confidence is the probability of the decision."""
        distinct, inverse = distinct_games(turns)
        splits = menu(distinct)
        claims, agrees = self._weights(turns, distinct, inverse, splits)
        ends = claims.cumsum(axis=0)[:, inverse]
        draw = turns.noise[:, 0] * (ends[-1] + agrees)
        agree = (draw >= ends[-1]) & (agrees > 0)
        split = np.minimum((ends <= draw).sum(axis=0), len(ends) - 1)
        chance = np.where(agree, agrees, claims[split, inverse]) / (ends[-1] + agrees)
        return Decisions(
            np.where(agree, np.int8(Act.AGREE), np.int8(Act.PROPOSE)),
            splits.items[:, split, inverse].T * ~agree[:, None],
            chance.astype(np.float32),
            constant(Cause.FREE, np.int8, turns.size),
        )

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        distinct, inverse = distinct_games(turns)
        splits = menu(distinct)
        claims, agrees = self._weights(turns, distinct, inverse, splits)
        total = claims.sum(axis=0)[inverse] + agrees
        proposed = probabilities_by_number(splits, claims, max_count)[inverse] / total[:, None]
        return np.hstack([proposed, np.zeros_like(proposed), (agrees / total)[:, None], np.zeros((turns.size, 2))])

    def _weights(
        self, turns: Turns, distinct: Turns, inverse: NDArray[np.int64], splits: Menu
    ) -> tuple[Doubles, Doubles]:
        """Unnormalised probabilities of claiming each split, ``[N, U]``, and of AGREE, ``[B]``."""
        table = np.exp(self.rationality * np.arange(-_STEPS, _STEPS + 1) / _STEPS)
        worths = np.where(splits.fits, self._worths(distinct, splits), -1)
        best = worths.max(axis=0)
        claims = table[_STEPS - (best - worths) * _STEPS // WHOLE] * splits.fits
        agreeing = own_share_of_offer(turns)
        agrees = table[_STEPS + (agreeing - best[inverse]) * _STEPS // WHOLE] * has_offer(turns)
        return claims, agrees

    def _worths(self, turns: Turns, splits: Menu) -> NDArray[np.int64]:
        """The expected worth of claiming each split, ``[N, U]`` in 1 / 2**20 of its whole value."""
        turns_left = turns.rules.max_turns - turns.turns_taken
        if turns_left == 1:
            return np.zeros(splits.fits.shape, dtype=np.int64)
        taken_up = shares_left(turns, splits, prior_values(turns))
        hope = round(self.hope * WHOLE) if turns_left > 2 else 0
        worths: NDArray[np.int64] = own_shares(splits, pool_worth(turns)) * taken_up + hope * (WHOLE - taken_up)
        return worths // WHOLE


@dataclass(frozen=True)
class LevelK(MemorylessPartner):
    """Reasons a few steps ahead, assuming that the partner reasons fewer.

    Source: levels of reasoning (Stahl, Wilson 1995, *On players' models of other players*, section 2), mixed as in the
    cognitive hierarchy (Camerer, Ho, Chong 2004, section II): a player of level k assumes others of levels 0 to
    k - 1 in proportion to tau**h / h!. Level 0 accepts an offer with a probability equal to its share of it. A
    higher level claims the split with the largest product of its own share and the probability that the lower levels
    accept the rest, and accepts nothing below that product. It assumes that lower levels ask for as much as it would
    itself at their level. On the last turn of all it takes anything worth a point.

    - ``level``: 1..5, the steps of reasoning.
    - ``tau``: more than 0, at most 100; the larger, the higher the levels that it assumes.
    """

    level: Annotated[int, Range(1, 5)] = 2
    tau: Annotated[float, Range(0, 100, above=True)] = 1.5

    def act(self, turns: Turns) -> Decisions:
        distinct, inverse = distinct_games(turns)
        splits = menu(distinct)
        own_share = own_shares(splits, pool_worth(distinct))
        partner_share = shares_left(distinct, splits, prior_values(distinct))
        taken_up = [partner_share]  # in 1 / 2**20, by each level
        for level in range(1, self.level + 1):
            claim, value = favourite(splits, own_share * self._chance(taken_up))
            worth = value // (WHOLE * _STEPS)
            if level < self.level:
                taken_up.append(np.where(partner_share >= worth, WHOLE, 0))
        enough = own_share_of_offer(turns) >= worth[inverse]
        if turns.rules.max_turns - turns.turns_taken == 1:
            enough |= offer_worth(turns) > 0
        return answer(turns, enough, claim[inverse])

    def _chance(self, taken_up: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The probability that the lower levels accept what each split leaves, ``[N, B]`` in 1 / 2**30."""
        weights = np.array([self.tau**level / factorial(level) for level in range(len(taken_up))])
        shares = np.maximum(np.rint(weights / weights.sum() * _STEPS).astype(np.int64), 1)
        total = shares[0] * taken_up[0]
        for share, chance in zip(shares[1:], taken_up[1:], strict=True):
            total = total + share * chance
        chances: NDArray[np.int64] = total
        return chances


_TREMBLE_DRAW = -2  # the second but last uniform of a turn decides whether it trembles
_BELOW_ONE = np.nextafter(1.0, 0.0)


class Trembling(Wrapper):
    """Plays as another partner, but now and then any legal act by mistake.

    Source: the trembling hand (Selten 1975, *Reexamination of the perfectness concept for equilibrium points in
    extensive games*, section 7): every act has a chance. A mistake is an act of ``random``, so that AGREE, DISAGREE and
    END are as likely as all offers of one kind together. It has probabilities (``probs``) if ``of`` is deterministic or
    has them, and the memory of ``of``. Its confidence is that of the intended act, so that mistakes do not show in a
    hint.

    - ``of``: an occupant.
    - ``rate``: 0..1, the probability of a mistake.
    """

    def __init__(self, of: SpecLike | Partner = "heuristic", rate: float = 0.1) -> None:
        check_number("rate", rate, 0, 1)
        super().__init__(of, rate=rate)
        self.rate = rate
        if self.of.traits.deterministic or hasattr(self.of, "probs"):
            self.probs = self._probs
        if hasattr(self.of, "summary"):
            self.summary = self.of.summary

    @property
    def traits(self) -> Traits:
        return replace(self.of.traits, deterministic=False)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; it trembles by noise 6, of which the rest is passed on."""
        draw = turns.noise[:, _TREMBLE_DRAW]
        trembles = draw < self.rate
        remainder = np.where(trembles, 0.0, (draw - self.rate) / (1 - self.rate) if self.rate < 1 else 0.0)
        noise = turns.noise.copy()
        noise[:, _TREMBLE_DRAW] = np.clip(remainder, 0.0, _BELOW_ONE)
        intended, slip = self.of.act(turns._replace(noise=noise)), Random().act(turns)
        return Decisions(
            np.where(trembles, slip.act_type, intended.act_type),
            np.where(trembles, slip.oA.T, intended.oA.T).T,
            intended.confidence,
            np.where(trembles, slip.cause, intended.cause),
        )

    def _probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        if self.of.traits.deterministic:
            intended = self.of.act(turns)
            chances = one_hot_probabilities(intended.act_type, intended.oA, max_count)
        else:
            chances = self.of.probs(turns, max_count)  # type: ignore[attr-defined]
        slips = Random().probs(turns, max_count)
        return self.rate * slips + (1 - self.rate) * chances
