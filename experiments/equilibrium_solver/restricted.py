"""The modified game of restricted Nash responses: the opponent is one of a fixed set of partners, or a free player.

With probability p the opponent of the *player* is drawn from the set, for each game and unseen; otherwise it is a free
player that maximises its own points. An equilibrium of this game is a restricted Nash response (Johanson, Zinkevich,
Bowling 2007, *Computing robust counter-strategies*, section 4): p = 0 is an equilibrium of the game, p = 1 a best
response to the set. In a zero-sum game no policy gets more from the set at the same exploitability. This game is
general-sum: there it is a reference, not a bound.

The player's two seats are two separate modified games. Members of the set are memoryless, with known probabilities, and
some react to the label of a claim. So claims are labelled: with N splits of a pool there are 2N claims, PROPOSE of each
split, then INSIST of each. A type is a member together with its view. K types.
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
from dond_marl.yardsticks.contexts import Index, Views
from dond_marl.yardsticks.equilibria import Policy, Pool, make_pool
from dond_marl.yardsticks.odds import check_odds
from dond_marl.yardsticks.replies import Replies
from experiments.equilibrium_solver.tree import Choose, Tree, Worth, view_beliefs

PRIOR = "lewis"


@dataclass(frozen=True, eq=False)
class LabelledPool(Pool):
    """A pool with 2N labelled claims. Partners may treat the items differently, so no renaming leaves it the same."""

    @property
    def renamings(self) -> list[tuple[Index, Index]]:
        """The identity alone."""
        return [(np.arange(len(self.values)), np.arange(self.width))]


def labelled_pool(pool: Pool) -> LabelledPool:
    """``pool`` with labelled claims."""
    return LabelledPool(pool.counts, pool.values, pool.prior, np.tile(pool.points, 2))


def ordered_pools(seed: int | None = None) -> list[LabelledPool]:
    """The pools of ``lewis`` with their items in every order: 28; probabilities sum to 1.

    With a ``seed``: one order, drawn at random, for each of the 8 pools up to the items' names, with the probability of
    all of its orders.
    """
    space = lewis_space()
    kinds, which = np.unique(space.counts, axis=0, return_inverse=True)
    pools = []
    for number, counts in enumerate(kinds):
        rows = np.flatnonzero(which.reshape(-1) == number)
        first, second = space.utilities[rows].swapaxes(0, 1)
        pools.append(labelled_pool(make_pool(counts, first, second, np.full(len(rows), 1 / space.size))))
    if seed is None:
        return pools
    rng, groups = generator(seed, "orders of pools"), dict[tuple[int, ...], list[LabelledPool]]()
    for pool in pools:
        groups.setdefault(tuple(sorted(pool.counts.tolist())), []).append(pool)
    drawn = [(group[int(rng.integers(len(group)))], len(group)) for group in groups.values()]
    return [replace(pool, prior=pool.prior * orders) for pool, orders in drawn]


class FixedSet(NamedTuple):
    """The types of a set of partners against a player in one seat; types with the same answers are one."""

    joint: Doubles  # [V, K] probability of the player's view and each type; sums to the pool's probability
    answers: dict[int, Doubles]  # by turn, [K, 2N, 2N + 3], of turn 0 [K, 1, 2N + 3]; numbered as in yardsticks.replies


def fixed_set(partners: Sequence[Partner], pool: Pool, turns: int, seat: int) -> FixedSet:
    """The equally likely ``partners``, memoryless and with known probabilities, against a player in ``seat``."""
    rules, views, own = Rules(max_turns=turns), len(pool.values), range(1 - seat, turns, 2)
    found = []
    for partner in partners:
        check_odds(partner, rules)
        replies = Replies(partner, rules, Views(np.tile(pool.counts, (views, 1)), pool.values), PRIOR)
        silent = 2 * replies.width  # the query before any act
        asked = {turn: slice(silent) if turn else slice(silent, silent + 1) for turn in own}
        found.append({turn: replies.probs(turns - turn, np.arange(views))[:, asked[turn]] for turn in own})
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
                if self._remembers_own_claim(turn + 2):
                    fixed = (claimed[..., None] * answers).reshape(*fixed.shape[:2], -1)
                else:
                    fixed = (claimed.swapaxes(0, 1) @ answers).swapaxes(0, 1)
        return every

    def _remembers_own_claim(self, turn: int) -> bool:
        return turn > 0 and self.memories(turn) > self.width

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
        if self._remembers_own_claim(turn + 1):
            later = np.einsum("vksa,ksa->vks", after.reshape(*after.shape[:2], n, n), answers[..., :n])
        else:
            later = (after.swapaxes(0, 1) @ answers[..., :n].swapaxes(1, 2)).swapaxes(0, 1)
        return points + later

    def _rests(self, claims: Index) -> tuple[Index, Index]:
        """The claims of both labels that leave exactly what ``claims`` keep."""
        n = self.width
        return (n - 1 - claims) % n, (n - 1 - claims + n // 2) % n

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
