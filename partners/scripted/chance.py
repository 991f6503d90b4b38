"""Partners that gamble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Doubles, Int8s, Traits, Turns, constant
from dond_marl.splits import grid
from partners.scripted.offers import answer, on_the_table


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


def random_split(turns: Turns) -> Int8s:
    """Each item type kept in any number with equal probability, ``[B, 3]``, from noise 1 to 3."""
    return (turns.noise[:, 1:4] * (turns.counts + 1)).astype(np.int8)


def _any_split(turns: Turns, max_count: int) -> Doubles:
    """The probability of each row of the grid under :func:`random_split`, ``[B, K]``."""
    within = (grid(max_count) <= turns.counts[:, None]).all(axis=2)
    chance: Doubles = within / (turns.counts + 1.0).prod(axis=1)[:, None]
    return chance
