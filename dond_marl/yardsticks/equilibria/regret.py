"""Counterfactual regret minimisation with regret matching+, exact: coarse correlated equilibria, and Nash of spite.

Every place of the game keeps the regret of each act, never below zero, and acts in proportion to it (Tammelin 2014,
*Solving large imperfect information games using CFR+*, section 3; Zinkevich et al. 2007, *Regret minimization in games
with incomplete information*, theorems 2 to 4). Later iterations weigh more, in proportion to their number; the seats
take turns to learn.

In the game of own points what is played over the iterations, drawn by their weights, is a coarse correlated
equilibrium: nobody gains by settling on a policy beforehand, up to :attr:`Regrets.gaps`. In a game of zero sum, such as
spite, the averages of both seats are a Nash equilibrium, up to what :func:`.exploitability.nash_conv` finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError, shown
from dond_marl.seats import Doubles
from dond_marl.yardsticks.equilibria.exploitability import best_response
from dond_marl.yardsticks.equilibria.tree import Tree


class Regrets(NamedTuple):
    """What was played, weighed: each seat's average, and what the joint play paid."""

    average: list[Doubles]  # a policy: each seat's own, as a mixture over the iterations
    values: tuple[float, float]  # of the joint play, seat_0 and seat_1, expected points over the pool's share
    gaps: tuple[float, float]  # what each seat would gain by a fixed policy instead, at most; negative: it would lose


def regret_matching(tree: Tree, iterations: int) -> Regrets:
    """CFR+ for so many iterations; ``tree`` must remember everything: ``memory="perfect"``, or at most three turns.

    Raises :class:`~dond_marl.errors.InputError` otherwise.
    """
    if iterations < 1:
        raise InputError(f"iterations must be at least 1; got {shown(iterations)}")
    regrets = [np.zeros_like(chances) for chances in tree.uniform()]
    policy, sums = tree.uniform(), [np.zeros_like(chances) for chances in regrets]
    paid, weight = np.zeros(2), 0.0
    for number in range(1, iterations + 1):
        for learner in (0, 1):
            _learn(tree, policy, regrets, learner)
        values = tree.values(policy)
        paid, weight = paid + number * np.array(values), weight + number
        for turn, own in enumerate(_own_reach(tree, policy)):
            sums[turn] += number * own[..., None] * policy[turn]
    average = [
        np.where(total.sum(axis=-1, keepdims=True) > 0, total, start)
        for total, start in zip(sums, tree.uniform(), strict=True)
    ]
    average = [chances / chances.sum(axis=-1, keepdims=True) for chances in average]
    first, second = (paid / weight).tolist()
    gaps = [tree.values(best_response(tree, average, seat))[seat] - (first, second)[seat] for seat in (0, 1)]
    return Regrets(average, (first, second), (gaps[0], gaps[1]))


def _learn(tree: Tree, policy: list[Doubles], regrets: list[Doubles], learner: int) -> None:
    """One seat's regrets and policy after playing against the other's policy as it is."""
    anywhere = [np.ones_like(chances) if turn % 2 == learner else chances for turn, chances in enumerate(policy)]
    reach, new = tree.reach(anywhere), list(policy)  # by chance and the other seat alone

    def match(turn: int, worths: Doubles) -> Doubles:
        if turn % 2 == learner:
            legal = tree.legal(turn)
            worths = np.where(legal, worths, 0)
            better = worths - (policy[turn] * worths).sum(axis=-1, keepdims=True)
            gained = regrets[turn] + reach[turn].sum(axis=1)[..., None] * better
            regrets[turn] = np.where(legal, np.maximum(gained, 0), 0)
            total = regrets[turn].sum(axis=-1, keepdims=True)
            new[turn] = np.where(total > 0, regrets[turn], legal) / np.where(total > 0, total, legal.sum())
        return policy[turn]

    tree.sweep(reach, match)
    policy[:] = new


def _own_reach(tree: Tree, policy: list[Doubles]) -> list[Doubles]:
    """The part of each mover's own earlier acts in how it came to a memory, ``[V, H]``; 1 where it has forgotten."""
    views, every = len(tree.pool.values), []
    reach = [np.ones((views, 1)), np.ones((views, 1))]  # of both seats
    for turn, chances in enumerate(policy):
        mover = turn % 2
        every.append(reach[mover])
        if tree.keeps(turn) or turn == 0:
            claimed = reach[mover][..., None] * chances[..., : tree.width]
            reach[mover] = claimed.reshape(views, -1)
            reach[1 - mover] = np.repeat(reach[1 - mover], tree.width, axis=1)
        else:
            reach = [np.ones((views, tree.width)), np.ones((views, tree.width))]
    return every
