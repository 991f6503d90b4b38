"""The game tree over one pool: reach probabilities and values of two policies, exact.

The tree holds the acts that can matter under ``disagree="ends"``. INSIST pays what PROPOSE pays. END is a deal only
where AGREE is the same deal, and otherwise pays what DISAGREE pays. A claim on the last turn never pays more than
AGREE. So an act is a claim, AGREE, or walking away; on the first turn there is no AGREE, on the last no
claim. An equilibrium of this game is one of the whole game, with any answer to acts off its path: INSIST may be
answered as PROPOSE.

A node is a turn, the mover's memory of the history, and both seats' views. With the memory ``"last offer"`` the
mover knows the partner's last claim; with ``"perfect"`` every claim. Arrays of a turn have the mover's view first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from dond_marl.seats import Bools, Doubles
from dond_marl.solvers.contexts import Index
from dond_marl.solvers.equilibria import Policy, Pool

Memory = Literal["last offer", "perfect"]
Choose = Callable[[int, Doubles], Doubles]  # from a turn and act values [V, H, N + 2] to probabilities


class Worth(NamedTuple):
    """Expected points of the mover and of the other seat, ``[V, V, H]``, the mover's view first."""

    mover: Doubles
    other: Doubles


class Swept(NamedTuple):
    """The chosen policy, and the expected points of seat_0 and seat_1 over the pool's share."""

    policy: list[Doubles]
    values: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Tree:
    """The game over one pool, with the memory of both seats."""

    pool: Pool
    turns: int
    memory: Memory = "last offer"

    @property
    def width(self) -> int:
        """N, the number of splits."""
        return self.pool.width

    def extends_memory(self, turn: int) -> bool:
        """Whether a claim of ``turn`` extends the next mover's memory, rather than replacing it.

        No memory is needed on the last turn: the offer is all that matters.
        """
        return self.memory == "perfect" and turn > 0 and turn < self.turns - 2

    def memories(self, turn: int) -> int:
        """H, the number of memories at ``turn``."""
        if turn == 0:
            return 1
        return (self.memories(turn - 1) if self.extends_memory(turn - 1) else 1) * self.width

    def legal(self, turn: int) -> Bools:
        """Whether each act is legal on a turn, ``[N + 2]``."""
        last = turn == self.turns - 1
        return np.array([not last] * self.width + [turn > 0, True])

    @cached_property
    def answer_points(self) -> Worth:
        """The points of AGREE to each claim of the other seat: ``[V, 1 or V, N]`` and ``[1 or V, V, N]``."""
        taken, own_share = self.pool.points[:, None, ::-1], self.pool.points[None]
        return Worth(taken, own_share)

    def uniform(self) -> list[Doubles]:
        """The uniform policy over legal acts."""
        views = len(self.pool.values)
        chances = [self.legal(turn) / self.legal(turn).sum() for turn in range(self.turns)]
        return [np.tile(chance, (views, self.memories(turn), 1)) for turn, chance in enumerate(chances)]

    def reach(self, policy: Policy) -> list[Doubles]:
        """The reach probability of each node, ``[V, V, H]``, by turn."""
        reach = self.pool.prior[:, :, None]
        every = [reach]
        for turn in range(self.turns - 1):
            claims = policy[turn][:, :, : self.width]
            if self.extends_memory(turn):
                after = (reach[..., None] * claims[:, None]).reshape(*reach.shape[:2], -1)
            else:
                after = reach @ claims
            reach = after.swapaxes(0, 1)
            every.append(reach)
        return every

    def sweep(self, reach: Sequence[Doubles], choose: Choose) -> Swept:
        """Backward induction: choose acts by their values, from the last turn to the first.

        ``reach``: reach probabilities that fix the mover's beliefs; where a memory is never reached, all views of the
        other seat are equally likely.
        """
        after, policy = None, []
        for turn in reversed(range(self.turns)):
            after, chances = self._back(turn, reach[turn], after, choose)
            policy.append(chances)
        assert after is not None
        return Swept(policy[::-1], self._root_values(after))

    def values(self, policy: Policy) -> tuple[float, float]:
        """The expected points of a policy in seat_0 and seat_1 over the pool's share."""
        return self.sweep(self.reach(policy), lambda turn, _: policy[turn]).values

    def deals(self, policy: Policy) -> float:
        """The probability that a policy closes a deal, over the pool's share."""
        reached = zip(self.reach(policy), policy, strict=True)
        return float(sum((reach.sum(axis=1) * chances[..., self.width]).sum() for reach, chances in reached))

    def _root_values(self, first: Worth) -> tuple[float, float]:
        """The points of seat_0 and seat_1 from the value of the first turn."""
        own, theirs = (float((part[..., 0] * self.pool.prior).sum()) for part in first)
        return own, theirs

    def _back(self, turn: int, reach: Doubles, after: Worth | None, choose: Choose) -> tuple[Worth, Doubles]:
        """The value of a turn, as ``reach``, and the chosen probabilities, from the value of the next turn."""
        n, (views, _, memories) = self.width, reach.shape
        beliefs = view_beliefs(reach)
        agreed, left = self._after_answer(turn, memories)
        worths = np.full((views, memories, n + 2), -np.inf)
        worths[..., n + 1] = 0.0
        if turn > 0:
            worths[..., n] = (beliefs * agreed).sum(axis=1)
        if after is not None:
            own, theirs = after.other.swapaxes(0, 1), after.mover.swapaxes(0, 1)  # [V, V, N or H * N]
            if self.extends_memory(turn):
                own, theirs = own.reshape(*reach.shape, n), theirs.reshape(*reach.shape, n)
                worths[..., :n] = np.einsum("moh,mohs->mhs", beliefs, own, optimize=True)
            else:
                worths[..., :n] = beliefs.swapaxes(1, 2) @ own
        chances = choose(turn, worths)
        agrees = chances[:, None, :, n]
        mover, other = agrees * agreed, agrees * left
        if after is not None:
            claims = chances[..., :n]
            if self.extends_memory(turn):
                mover = mover + np.einsum("mohs,mhs->moh", own, claims)
                other = other + np.einsum("mohs,mhs->moh", theirs, claims)
            else:
                mover = mover + own @ claims.swapaxes(1, 2)
                other = other + theirs @ claims.swapaxes(1, 2)
        return Worth(np.broadcast_to(mover, reach.shape), np.broadcast_to(other, reach.shape)), chances

    def _after_answer(self, turn: int, memories: int) -> Worth:
        """The points of AGREE in each memory, whose last digit is the last claim; 0 before any."""
        if turn == 0:
            return Worth(np.zeros((1, 1, 1)), np.zeros((1, 1, 1)))
        last = np.arange(memories) % self.width
        return Worth(self.answer_points.mover[..., last], self.answer_points.other[..., last])


def view_beliefs(reach: Doubles) -> Doubles:
    """Each mover's belief about the other seat's view, ``[V, V, H]`` summing to 1 over the second axis."""
    total = reach.sum(axis=1, keepdims=True)
    beliefs: Doubles = np.where(total > 0, reach, 1.0) / np.where(total > 0, total, reach.shape[1])
    return beliefs


def greedy(worths: Doubles) -> Doubles:
    """The best act for certain, ``[..., A]``; AGREE before a claim where both are as good, then the first claim."""
    agree = worths[..., -2] >= worths.max(axis=-1) - 1e-12
    best = np.where(agree, worths.shape[-1] - 2, worths.argmax(axis=-1))
    chances: Doubles = (np.arange(worths.shape[-1]) == best[..., None]).astype(np.float64)
    return chances


def average_renamings(pool: Pool, policy: Policy) -> list[Doubles]:
    """The mean of a policy over all renamings that map the pool to itself, so that it is invariant to names."""
    return [np.mean([_rename_items(chances, *names) for names in pool.renamings], axis=0) for chances in policy]


def _rename_items(chances: Doubles, views: Index, splits: Index) -> Doubles:
    """The policy ``chances[V, H, N + 2]`` under renamed items."""
    n, memories = len(splits), np.zeros(1, dtype=np.int64)
    while len(memories) < chances.shape[1]:
        memories = (memories[:, None] * n + splits).reshape(-1)
    acts = np.concatenate([splits, n + np.arange(2)])
    renamed: Doubles = chances[views[:, None, None], memories[:, None], acts]
    return renamed
