"""The modified game of restricted Nash responses: the opponent is one of a fixed set of partners, or a free player.

With probability p the opponent of the *player* is drawn from the set, for each game and unseen; otherwise it is a free
player that maximises its own points. An equilibrium of this game is a restricted Nash response (Johanson, Zinkevich,
Bowling 2007, *Computing robust counter-strategies*, section 4): p = 0 is an equilibrium of the game, p = 1 a best
response to the set. In a zero-sum game no policy gets more from the set at the same exploitability. This game is
general-sum: there it is a reference, not a bound.

The player's two seats are two separate modified games. Members of the set are memoryless, with known probabilities, and
some react to the label of a claim. So claims may have two labels: with N splits of a pool there are 2N claims, PROPOSE
of each split, then INSIST of each. With one label the player never says INSIST, and takes it for PROPOSE. Below, N is
the number of claims. A type is a member together with its view. K types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import lewis_space
from dond_marl.seats import Doubles, Partner
from dond_marl.solvers.contexts import Index, Views
from dond_marl.solvers.equilibria import Policy, Pool, make_pool
from dond_marl.solvers.odds import check_odds
from dond_marl.solvers.replies import Replies
from experiments.equilibrium_solver.exploitability import Gains, memory_gains, nash_conv
from experiments.equilibrium_solver.make_tables import TREMBLE
from experiments.equilibrium_solver.mirror_descent import settle
from experiments.equilibrium_solver.tree import Choose, Tree, Worth, view_beliefs
from partners.equilibrium import EquilibriumPartner

PRIOR = "lewis"


@dataclass(frozen=True, eq=False)
class OrderedPool(Pool):
    """A pool with its items in one order, and claims of one or two labels: PROPOSE of each split, then INSIST of each.

    Partners may treat the items differently, so no renaming leaves it the same.
    """

    @property
    def renamings(self) -> list[tuple[Index, Index]]:
        """The identity alone."""
        return [(np.arange(len(self.values)), np.arange(self.width))]


def with_labels(pool: Pool, labels: int) -> OrderedPool:
    """``pool`` with one or two labels of claims."""
    return OrderedPool(pool.counts, pool.values, pool.prior, np.tile(pool.points, labels))


def ordered_pools(labels: int, seed: int | None = None) -> list[OrderedPool]:
    """The pools of ``lewis`` with their items in every order: 28; probabilities sum to 1.

    With a ``seed``: one order, drawn at random, for each of the 8 pools up to the items' names, with the probability of
    all of its orders.
    """
    space = lewis_space()
    kinds, which = np.unique(space.counts, axis=0, return_inverse=True)
    groups = dict[tuple[int, ...], list[OrderedPool]]()
    for number, counts in enumerate(kinds):
        rows = np.flatnonzero(which.reshape(-1) == number)
        first, second = space.utilities[rows].swapaxes(0, 1)
        pool = make_pool(counts, first, second, np.full(len(rows), 1 / space.size))
        groups.setdefault(tuple(np.sort(counts).tolist()), []).append(with_labels(pool, labels))
    if seed is None:
        return [pool for group in groups.values() for pool in group]
    rng = generator(seed, "orders of pools")
    drawn = [(group[rng.integers(len(group))], len(group)) for group in groups.values()]
    return [replace(pool, prior=pool.prior * orders) for pool, orders in drawn]


class FixedSet(NamedTuple):
    """The types of a set of partners against a player in one seat; types with the same answers are one."""

    joint: Doubles  # [V, K] probability of the player's view and each type; sums to the pool's probability
    answers: dict[int, Doubles]  # by turn, [K, N, N + 3]: claims, AGREE, DISAGREE, END; of turn 0 [K, 1, N + 3]


def fixed_set(partners: Sequence[Partner], pool: OrderedPool, turns: int, seat: int) -> FixedSet:
    """The equally likely ``partners``, memoryless and with known probabilities, against a player in ``seat``."""
    rules, views, own = Rules(max_turns=turns), len(pool.values), range(1 - seat, turns, 2)
    found = []
    for partner in partners:
        check_odds(partner, rules)
        replies = Replies(partner, rules, Views(np.tile(pool.counts, (views, 1)), pool.values), PRIOR)
        answers = {}
        for turn in own:
            probs, silent = replies.probs(turns - turn, np.arange(views)), 2 * replies.width
            probs = probs[:, : pool.width] if turn else probs[:, silent:]  # the last query is that before any act
            claims = probs[..., :silent].reshape(*probs.shape[:2], -1, pool.width).sum(axis=2)
            answers[turn] = np.concatenate([claims, probs[..., silent:]], axis=2)
        found.append(answers)
    every = {turn: np.concatenate([answers[turn] for answers in found]) for turn in own}
    flat = np.concatenate([answers.reshape(len(answers), -1) for answers in every.values()], axis=1)
    _, first, which = np.unique(flat.round(12), axis=0, return_index=True, return_inverse=True)
    prior = np.tile(pool.prior if seat == 0 else pool.prior.T, len(partners)) / len(partners)
    joint = prior @ (which.reshape(-1)[:, None] == np.arange(len(first)))
    return FixedSet(joint, {turn: answers[first] for turn, answers in every.items()})


@dataclass(frozen=True, eq=False)
class RestrictedTree(Tree):
    """The modified game of the player in ``seat``: policies hold the player's turns and the free opponent's.

    At the player's turns the second axis of all arrays has the views of the free opponent, then the K types. Reach
    probabilities of the free opponent's turns are those of games in which it is free.
    """

    seat: int = 0
    chance: float = 0.0  # p, of a member of the set
    fixed: FixedSet = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.memory == "perfect" and self.turns > 4:
            raise InputError(f"perfect recall is for at most 4 turns; got {self.turns}: take memory='last offer'")

    @property
    def _prior(self) -> Doubles:
        return self.pool.prior if self.seat == 0 else self.pool.prior.T

    def reach(self, policy: Policy) -> list[Doubles]:
        """As :meth:`Tree.reach`, with the types at the player's turns: ``[V, V + K, H]``."""
        every, n = super().reach(policy), self.width
        fixed = self.fixed.joint[:, :, None] * (self.fixed.answers[0][:, 0, :n] if self.seat else 1)
        for turn in range(self.seat, self.turns, 2):
            every[turn] = np.concatenate([(1 - self.chance) * every[turn], self.chance * fixed], axis=1)
            if turn + 2 < self.turns:
                claimed, answers = fixed @ policy[turn][..., :n], self.fixed.answers[turn + 1][..., :n]
                if self.memories(turn + 2) > n:  # its own claim too
                    fixed = (claimed[..., None] * answers).reshape(*fixed.shape[:2], -1)
                else:
                    fixed = (claimed.swapaxes(0, 1) @ answers).swapaxes(0, 1)
        return every

    def _root_values(self, first: Worth) -> tuple[float, float]:
        player, opponent = first if self.seat == 0 else (first.other.swapaxes(0, 1), first.mover.swapaxes(0, 1))
        free, fixed = np.split(player[..., 0], [len(self.pool.values)], axis=1)
        own = float((1 - self.chance) * (free * self._prior).sum() + self.chance * (fixed * self.fixed.joint).sum())
        theirs = float((opponent[:, : free.shape[1], 0] * self._prior).sum())
        return (own, theirs) if self.seat == 0 else (theirs, own)

    def _back(self, turn: int, reach: Doubles, after: Worth | None, choose: Choose) -> tuple[Worth, Doubles]:
        views = len(self.pool.values)
        if turn % 2 == self.seat:
            return self._player_back(turn, reach, after, choose)
        free = None if after is None else Worth(after.mover[:, :views], after.other[:, :views])
        worth, chances = super()._back(turn, reach, free, choose)
        fixed = self._points_after_claims(turn, None if after is None else after.mover[:, views:])
        fixed = np.tile(fixed.swapaxes(0, 1), worth.other.shape[2] // fixed.shape[2])  # the last claim comes last
        both = np.concatenate([worth.other, fixed])
        return Worth(np.concatenate([worth.mover, np.zeros_like(fixed)]), both), chances

    def _points_after_claims(self, turn: int, after: Doubles | None) -> Doubles:
        """The player's points against each type at a turn of the opponent, after each claim: ``[V, K, 2N or 1]``.

        ``after``: those at the player's next turn. Without END, which counts after one other offer only.
        """
        n, answers = self.width, self.fixed.answers[turn]
        sure = answers[:, :, n]
        if turn == self.turns - 1 and turn > 0:  # a last claim of the rest is a deal too
            claims = np.arange(n)
            sure = sure + sum(answers[:, claims, rest] for rest in self._rests(claims))
        points = sure * (self.pool.points[:, None] if turn else 0)
        if after is None:
            return points
        if self.memories(turn + 1) > n:
            later = np.einsum("vksa,ksa->vks", after.reshape(*after.shape[:2], n, n), answers[..., :n])
        else:
            later = (after.swapaxes(0, 1) @ answers[..., :n].swapaxes(1, 2)).swapaxes(0, 1)
        worth: Doubles = points + later
        return worth

    def _rests(self, claims: Index) -> list[Index]:
        """The claims that leave exactly what ``claims`` keep, of each label."""
        n, splits = self.width, len(self.pool.splits)
        return [(n - 1 - claims + first) % n for first in range(0, n, splits)]

    def _player_back(self, turn: int, reach: Doubles, after: Worth | None, choose: Choose) -> tuple[Worth, Doubles]:
        """The player's turn, with the deals by END: where it claims what the type's offer leaves."""
        n, views, memories = self.width, len(self.pool.values), np.arange(reach.shape[2])
        ends = self.fixed.answers[turn + 1][:, :, n + 2] if 0 < turn < self.turns - 1 else np.zeros((1, 1))
        some = np.flatnonzero(ends.any(axis=1))  # types that ever say END
        if not some.size:
            return super()._back(turn, reach, after, choose)
        beliefs = view_beliefs(reach)[:, views + some]
        deals = [  # claims [H], and their points by END against those types [V, some, H]
            (claims, ends[some[:, None], claims] * self.pool.points[:, None, claims])
            for claims in self._rests(memories % n)
        ]

        def choose_with_deals(turn: int, worths: Doubles) -> Doubles:
            for claims, points in deals:
                worths[:, memories, claims] += (beliefs * points).sum(axis=1)
            return choose(turn, worths)

        worth, chances = super()._back(turn, reach, after, choose_with_deals)
        mover = np.array(worth.mover)
        for claims, points in deals:
            mover[:, views + some] += chances[:, None, memories, claims] * points
        return Worth(mover, worth.other), chances

    def _after_answer(self, turn: int, memories: int) -> Worth:
        mover, other = super()._after_answer(turn, memories)
        if turn % 2 == self.seat and other.shape[1] > 1:
            other = np.pad(other, ((0, 0), (0, self.fixed.joint.shape[1]), (0, 0)))  # the types' points do not count
        return Worth(mover, other)


def shipped_policy(tree: Tree) -> list[Doubles]:
    """The shipped equilibrium as a policy of both seats of ``tree``."""
    assert isinstance(tree.pool, OrderedPool)
    whole = replace(tree.pool, prior=np.eye(len(tree.pool.values)))
    policy: list[Doubles] = []
    for turn in range(tree.turns):
        joint, answers = fixed_set([EquilibriumPartner()], whole, tree.turns, 1 - turn % 2)
        chances = answers[turn][joint.argmax(axis=1)][..., : tree.width + 2]
        policy.append(chances[:, np.arange(tree.memories(turn)) % chances.shape[1]])
    return policy


Stages = Sequence[tuple[float, float, int]]  # of mirror descent: temperature, step and most sweeps


def respond(game: RestrictedTree, policy: Policy, stages: Stages, averaged: int = 0) -> tuple[Policy, Gains]:
    """The least exploitable policy found from ``policy`` on, and both gains by leaving it in the modified game.

    The gains are exact with perfect recall, else of the best responses found within the memory. ``averaged``: so many
    policies, 25 sweeps apart, are averaged; the mean is tried too, since descent may cycle.
    """
    if stages:
        policy = [(1 - TREMBLE) * own + TREMBLE * rare for own, rare in zip(policy, game.uniform(), strict=True)]
    for temperature, step, sweeps in stages:
        policy = settle(game, policy, temperature, sweeps=sweeps, step=step).policy
    found, later = [policy], [policy]
    for _ in range(averaged):
        later.append(settle(game, later[-1], temperature, sweeps=25, step=step).policy)
    if averaged:
        found.append([np.mean(chances, axis=0) for chances in zip(*later, strict=True)])
    measure = nash_conv if game.memory == "perfect" else memory_gains
    return min(((each, measure(game, each)) for each in found), key=lambda pair: pair[1].nash_conv)
