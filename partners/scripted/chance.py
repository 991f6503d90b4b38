"""Partners that gamble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dond_marl.game import Act
from dond_marl.seats import Bools, Cause, Decisions, Doubles, Int8s, Traits, Turns, constant
from dond_marl.splits import action_count, action_index, grid, grid_size, one_hot_probabilities
from partners.parameters import check_number, check_share
from partners.scripted.offers import (
    answer,
    keep_valued,
    needed,
    offered,
    on_the_table,
    progress,
    whole,
    worst_at_least,
)

_LEVELS = 8  # equally likely thresholds and demands of a mixed strategy


@dataclass(frozen=True)
class Random:
    """Says any legal act with equal probability, and if it is an offer, any part of each item type.

    Source: the random-legal player that every game library has (OpenSpiel ``UniformRandomPolicy``), drawn act first,
    so that AGREE, DISAGREE and END are as likely as the many offers together.
    """

    traits: ClassVar[Traits] = Traits(memoryless=True)

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
class Nice:
    """Agrees to any offer, and otherwise proposes any split at random.

    Source: ``NiceNegotiator`` of NegMAS (Mohammad et al. 2020).
    """

    traits: ClassVar[Traits] = Traits(memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        return answer(on_the_table(turns), random_split(turns))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        agree = on_the_table(turns)[:, None]
        split = _any_split(turns, max_count) * ~agree
        return np.concatenate([split, np.zeros_like(split), agree, np.zeros((turns.size, 2))], axis=1)


@dataclass(frozen=True)
class MixedThresholds:
    """Draws anew each turn what it takes and what it asks for.

    Source: a mixed strategy over the thresholds of an ultimatum game (Nash 1951; mixed acceptance thresholds as people
    have them: Camerer 2003, *Behavioral game theory*, section 2.1). The threshold is one of eight equal steps from
    ``low`` to ``high``, the demand one of eight from ``ask`` to 1, as shares of its whole value. It agrees to an offer
    that reaches the threshold, otherwise it claims its worst split that reaches the demand.

    - ``low``: 0..1, the least share that it ever takes.
    - ``high``: 0..1, at least ``low``: the most that it ever holds out for.
    - ``ask``: 0..1, the least share that it ever asks for.
    """

    low: float = 0.3
    high: float = 0.8
    ask: float = 0.5
    traits: ClassVar[Traits] = Traits(memoryless=True)

    def __post_init__(self) -> None:
        for name in ("low", "high", "ask"):
            check_share(name, getattr(self, name))
        if self.low > self.high:
            raise ValueError(f"low must be at most high, {self.high:g}; got {self.low:g}")

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the threshold is drawn from noise 0, the demand from noise 1."""
        thresholds, demands = self._levels()
        wholes, draws = whole(turns), (turns.noise[:, :2] * _LEVELS).astype(np.int64)
        enough = offered(turns) >= needed(thresholds[draws[:, 0]], wholes)
        return answer(on_the_table(turns) & enough, worst_at_least(turns, needed(demands[draws[:, 1]], wholes)))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        thresholds, demands = self._levels()
        wholes, gift, rows = whole(turns), offered(turns), np.arange(turns.size)
        agree = np.mean([gift >= needed(share, wholes) for share in thresholds], axis=0) * on_the_table(turns)
        chances: Doubles = np.zeros((turns.size, action_count(max_count)))
        chances[:, 2 * grid_size(max_count)] = agree
        for share in demands:
            claim = worst_at_least(turns, needed(share, wholes))
            number = action_index(np.full(turns.size, Act.PROPOSE, dtype=np.int8), claim, max_count)
            chances[rows, number] += (1 - agree) / _LEVELS
        return chances

    def _levels(self) -> tuple[Doubles, Doubles]:
        return np.linspace(self.low, self.high, _LEVELS), np.linspace(self.ask, 1, _LEVELS)


@dataclass(frozen=True)
class Sniper:
    """Asks for everything, and comes to terms at a moment that is the likelier the nearer the deadline.

    Source: the deadline effect (Roth, Murnighan, Schoumaker 1988, *The deadline effect in bargaining*, section II: most
    agreements fall into the last moments). On each turn it is ready with a chance of t**``patience``, t running from 0
    on its first turn to 1 on its last. Ready, it takes ``fair`` of its whole value or proposes its worst split worth
    that; otherwise it proposes to keep all that it values and takes nothing less.

    - ``patience``: more than 0, at most 20; the larger, the later it is ready.
    - ``fair``: 0..1, share of its whole value that it then wants.
    """

    patience: float = 3.0
    fair: float = 0.5
    traits: ClassVar[Traits] = Traits(memoryless=True)

    def __post_init__(self) -> None:
        check_number("patience", self.patience, 0, 20, above=True)
        check_share("fair", self.fair)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; whether it is ready is drawn from noise 0."""
        ready = turns.noise[:, 0] < progress(turns) ** self.patience
        return answer(*self._answer(turns, ready))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        ready, waits = (
            one_hot_probabilities(said.act_type, said.oA, max_count)
            for said in (answer(*self._answer(turns, np.full(turns.size, is_ready))) for is_ready in (True, False))
        )
        chance = progress(turns) ** self.patience
        chances: Doubles = chance * ready + (1 - chance) * waits
        return chances

    def _answer(self, turns: Turns, ready: Bools) -> tuple[Bools, Int8s]:
        wholes = whole(turns)
        enough = needed(self.fair, wholes)
        claim = np.where(ready, worst_at_least(turns, enough).T, keep_valued(turns).T).T
        return on_the_table(turns) & (offered(turns) >= np.where(ready, enough, wholes)), claim


def random_split(turns: Turns) -> Int8s:
    """Each item type kept in any number with equal probability, ``[B, 3]``, from noise 1 to 3."""
    return (turns.noise[:, 1:4] * (turns.counts + 1)).astype(np.int8)


def _any_split(turns: Turns, max_count: int) -> Doubles:
    """The probability of each row of the grid under :func:`random_split`, ``[B, K]``."""
    within = (grid(max_count) <= turns.counts[:, None]).all(axis=2)
    chance: Doubles = within / (turns.counts + 1.0).prod(axis=1)[:, None]
    return chance
