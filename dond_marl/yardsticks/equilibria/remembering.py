"""A best response that remembers everything, to a policy that remembers the last offer: an interval for its value.

The responder does not know the partner's view, which never changes, and what the partner says depends on nothing but
that view, the turn and the responder's last claim. So what a responder may expect is a convex function of what it
believes, and it is held between two others, each better the more beliefs are looked at (Smith, Simmons 2004, *Heuristic
search value iteration for POMDPs*, sections 3 and 4). Below: plans, each with what it pays against every view; the
value of a response that can be followed. Above: what would be had against each view by who is told it, less what was
found to be missing at the beliefs looked at, as far as a belief contains them. With three turns left or fewer, and at
every belief looked at with four or five, both are the same and exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.seats import Doubles
from dond_marl.yardsticks.contexts import Index
from dond_marl.yardsticks.equilibria.tree import Policy, Tree, beliefs

ROUNDS = 1  # of looking for beliefs where the bounds are far apart
ADDED = 10  # beliefs a round, turn and view


class Interval(NamedTuple):
    """A value that lies between two numbers, expected points of ten over the pool's share."""

    low: float
    high: float


def remembering_response(
    tree: Tree, policy: Policy, seat: int, *, rounds: int = ROUNDS, added: int = ADDED
) -> Interval:
    """What the best response of ``seat`` is worth that remembers everything; ``tree`` remembers the last offer.

    Raises :class:`~dond_marl.errors.InputError` for another memory or a game of spite.
    """
    if tree.memory != "last offer" or tree.spite:
        raise InputError(
            f"the interval is for policies with the memory 'last offer' in the game of own points; got the memory "
            f"{tree.memory!r}{' and spite' if tree.spite else ''}: best_response() of exploitability.py is exact there"
        )
    if tree.turns <= 1:
        return Interval(0.0, 0.0)
    reached = [beliefs(reach) for reach in tree.reach(policy)]
    views = [_Responder(tree, policy, seat, view, reached) for view in range(len(tree.pool.values))]
    found = [view.interval(rounds, added) for view in views if view.weights.size]
    return Interval(sum(each.low for each in found), sum(each.high for each in found))


class _Looked(NamedTuple):
    """What is known of a responder's turn, once an offer was not taken, against K views.

    Where there is no belief looked at the plans hold the best of all: the turn is exact.
    """

    plans: Doubles  # [P, K] what each pays against each view
    told: Doubles  # [K] what is had by who is told the view
    beliefs: Doubles  # [R, K]
    missing: Doubles  # [R] by how much less can be had there than by who is told
    acts: Index  # [R] the claim that seems best there

    def low(self, weights: Doubles) -> tuple[Doubles, Index]:
        """Of beliefs ``[B, K]`` that need not sum to 1: what the best plan pays ``[B]``, and which that is."""
        paid = weights @ self.plans.T
        return paid.max(axis=1), paid.argmax(axis=1)

    def high(self, weights: Doubles) -> Doubles:
        if not len(self.beliefs):
            return self.low(weights)[0]
        less = np.zeros(len(weights))
        for belief, missing in zip(self.beliefs, self.missing, strict=True):
            some = belief > 0
            np.maximum(less, (weights[:, some] / belief[some]).min(axis=1) * missing, out=less)
        bound: Doubles = weights @ self.told - less
        return bound


class _Responder:
    """The responder with one view, against the K views that its partner may have."""

    def __init__(self, tree: Tree, policy: Policy, seat: int, view: int, reached: Sequence[Doubles]) -> None:
        prior = (tree.pool.prior if seat == 0 else tree.pool.prior.T)[view]
        kinds = np.flatnonzero(prior)
        self.n, self.turns, self.seat = tree.width, tree.turns, seat
        self.weights: Doubles = prior[kinds]
        self.kept, self.taken = tree.pool.points[view], tree.pool.points[view, ::-1]
        self.says = {turn: policy[turn][kinds] for turn in range(1 - seat, tree.turns, 2)}  # [K, H, N + 2]
        self.own = list(range(seat, tree.turns - 1, 2))  # where it may claim
        self.seeds = {
            turn: np.vstack([self.weights / max(self.weights.sum(), 1e-300), reached[turn][view][kinds].T])
            for turn in self.own
        }

    def interval(self, rounds: int, added: int) -> Interval:
        looked = self._from_the_end()
        for _ in range(rounds):
            self._look_further(looked, added)
            looked = self._from_the_end()
        if self.seat == 0:
            return Interval(float(looked[0].low(self.weights[None])[0][0]), float(self._high(looked[0], self.weights)))
        heard = self.weights * self.says[0][:, 0, : self.n].T  # [N, K]
        sure = self.taken * heard.sum(axis=1)
        if 1 not in looked:
            return Interval(float(sure.sum()), float(sure.sum()))
        return Interval(
            float(np.maximum(sure, looked[1].low(heard)[0]).sum()), float(np.maximum(sure, looked[1].high(heard)).sum())
        )

    @staticmethod
    def _high(looked: _Looked, weights: Doubles) -> Doubles:
        high: Doubles = looked.high(weights[None])[0]
        return high

    def _from_the_end(self) -> dict[int, _Looked]:
        known: dict[int, _Looked] = {}
        for turn in reversed(self.own):
            known[turn] = self._back(turn, known.get(turn + 2))
        return known

    def _back(self, turn: int, after: _Looked | None) -> _Looked:
        """What is known of a turn from what is known of the responder's next."""
        answers = self.says[turn + 1]
        claims, sure = answers[..., : self.n], answers[..., self.n] * self.kept  # [K, N, N] and [K, N]
        none = np.zeros((0, len(sure)))
        if after is None:  # its own last turn is the next, or there is none: an offer is taken then
            worth = (sure + claims @ self.taken * (turn + 2 < self.turns)).T
            best = np.vstack([worth, np.zeros(len(sure))])
            return _Looked(best, best.max(axis=0), none, np.zeros(0), np.zeros(0, dtype=np.int64))
        informed = sure + (claims * np.maximum(self.taken, after.told[:, None, None])).sum(axis=2)  # [K, N]
        told = np.maximum(informed.max(axis=1), 0.0)
        plans, missing, acts = [np.zeros(len(sure))], [], []
        for belief in self.seeds[turn]:
            plan, high, act = self._backup(belief, sure, claims, informed, after)
            plans.append(plan)
            missing.append(belief @ told - high)
            acts.append(act)
        return _Looked(np.array(plans), told, self.seeds[turn], np.maximum(missing, 0.0), np.array(acts))

    def _backup(
        self, belief: Doubles, sure: Doubles, claims: Doubles, informed: Doubles, after: _Looked
    ) -> tuple[Doubles, float, int]:
        """At one belief: the plan that pays most, what nobody exceeds, and the claim that may pay that."""
        k, n = sure.shape
        weights = (belief[:, None, None] * claims).transpose(1, 2, 0)  # [N said, N heard, K]
        takes = weights.sum(axis=2) * self.taken
        low, which = (part.reshape(n, n) for part in after.low(weights.reshape(-1, k)))
        paid = belief @ sure + np.maximum(takes, low).sum(axis=1)
        best = int(paid.argmax())
        taken = (takes[best] >= low[best])[:, None]
        plan = sure[:, best] + (claims[:, best].T * np.where(taken, self.taken[:, None], after.plans[which[best]])).sum(
            axis=0
        )
        above = np.minimum(belief @ informed, np.inf)
        some = np.flatnonzero(above > paid[best] + 1e-12)
        if len(some):
            high = after.high(weights[some].reshape(-1, k)).reshape(-1, n)
            above[some] = np.minimum(above[some], belief @ sure[:, some] + np.maximum(takes[some], high).sum(axis=1))
        act = int(above.argmax())
        return plan, max(float(above[act]), float(paid[best]), 0.0), act

    def _look_further(self, known: dict[int, _Looked], added: int) -> None:
        """Add beliefs, from the first turn on, where the bounds are apart after the claims that seem best."""
        for turn in self.own:
            after = known.get(turn + 2)
            if after is None or not len(after.beliefs):
                continue
            now = known[turn]
            claims = self.says[turn + 1][..., : self.n]
            weights = (
                (now.beliefs[:, :, None] * claims[:, now.acts].swapaxes(0, 1)).swapaxes(1, 2).reshape(-1, len(now.told))
            )
            takes = (weights.sum(axis=1).reshape(-1, self.n) * self.taken).reshape(-1)
            apart = np.maximum(after.high(weights), takes) - np.maximum(after.low(weights)[0], takes)
            chosen = np.argsort(-apart, kind="stable")[:added]
            chosen = chosen[apart[chosen] > 1e-9]
            new = weights[chosen] / weights[chosen].sum(axis=1, keepdims=True)
            self.seeds[turn + 2] = np.vstack([self.seeds[turn + 2], new])
