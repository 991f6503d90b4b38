"""Random partners: their decisions are drawn anew on each turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dond_marl.game import Act
from dond_marl.seats import Bools, Cause, Decisions, Doubles, Int8s, Turns, constant
from dond_marl.splits import action_count, action_index, grid, grid_size, one_hot_probabilities
from partners.parameters import Range, Share, check_order
from partners.scripted.base import RandomPartner
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
    """Plays any legal act with equal probability, and if it is an offer, any number of each item type.

    Source: the random-legal player that every game library has (OpenSpiel ``UniformRandomPolicy``), drawn act first,
    so that AGREE, DISAGREE and END are as likely as the many offers together.
    """

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; its confidence is the probability of the decision."""
        may = np.cumsum(turns.act_mask.T, axis=0)  # [5, B] legal acts up to each
        chosen = (turns.noise[:, 0] * may[-1]).astype(np.int64)
        act_type = (may <= chosen).sum(axis=0)
        offers = act_type <= Act.INSIST
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
    """Asks for everything, and settles at a random moment, more likely near the deadline.

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
