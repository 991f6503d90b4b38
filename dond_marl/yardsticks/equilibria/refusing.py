"""The same equilibria where DISAGREE only refuses (``disagree="rejects"``): how they are played, and what that changes.

A policy of :mod:`.tree` needs no refusal. Under this rule it is played as follows.

==============================  =====================================================================================
It walks away                   END; on the last turn a claim that does not add up with the partner's.
It hears DISAGREE               It answers as if the partner had claimed everything, and says END where it would agree
                                or walk away.
It hears DISAGREE on its last   It answers as if the partner had made its latest claim again; to agree is to claim
turn                            what that leaves.
==============================  =====================================================================================

Against who plays so, DISAGREE pays nobody more than a claim of everything, or on the turn before the last than the own
latest claim made again. END pays no more than AGREE. So no act of this rule pays more than one that
``disagree="ends"`` has as well, but for one corner: END is a deal where both latest claims add up, that is where the
policy said what its partner had left or leaves now. :func:`added` counts that: exactly for the policy against itself,
and by a bound for any response, whatever that remembers. Tests compare all of it with every act of
``dond_marl/game.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.yardsticks.equilibria.tree import Policy, Tree

Pair = tuple[float, float]  # of seat_0 and seat_1


class Added(NamedTuple):
    """What END closes under ``disagree="rejects"``, over the pool's share of the games."""

    paid: Pair  # what each seat gets more, where both play the policy; expected points of ten, exact
    most: Pair  # no response of a seat gets more than the best one under "ends" and this
    closes: tuple[float, ...]  # how often games close so on each turn, where both play the policy


def added(tree: Tree, policy: Policy) -> Added:
    """What a policy that remembers the last offer pays and leaves more where DISAGREE only refuses.

    Raises :class:`~dond_marl.errors.InputError` for another memory or a game of spite.
    """
    if tree.memory != "last offer" or tree.spite:
        raise InputError(
            f"only a policy with the memory 'last offer' in the game of own points is known to be one where DISAGREE "
            f"refuses; got the memory {tree.memory!r}{' and spite' if tree.spite else ''}"
        )
    n, points, reach = tree.width, tree.pool.points, tree.reach(policy)
    every = np.arange(n)
    rest = n - 1 - every
    paid, most, closes = [0.0, 0.0], [0.0, 0.0], [0.0] * tree.turns
    for turn in range(2, tree.turns - 1):  # on which END may close what the mover claimed two turns before
        mover, other = turn % 2, 1 - turn % 2
        said, answered = policy[turn - 2][..., :n], policy[turn - 1][:, every, rest]
        walks = policy[turn][:, rest, n + 1]  # [V, N] after what the mover claimed was left to it
        claimed = np.einsum("moh,mhs->mos", reach[turn - 2], said, optimize=True)
        closed = claimed * answered[None] * walks[:, None]  # [V, V, N]
        closes[turn] = float(closed.sum())
        paid[mover] += float((closed * points[:, None]).sum())
        paid[other] += float((closed * points[None, :, ::-1]).sum())
        prior = tree.pool.prior if other == 0 else tree.pool.prior.T  # [V, V] the responder's view first
        left = np.einsum("khs,ks,vs->vkh", said, walks, points[:, ::-1], optimize=True).max(axis=2)
        if turn > 2:  # it claimed what the responder's claim leaves, and is refused
            ends = policy[turn][:, n - 1, n] + policy[turn][:, n - 1, n + 1]
            back = np.maximum(said[:, every, rest], said[:, n - 1, rest])
            left = left + np.einsum("ks,k,vs->vks", back, ends, points, optimize=True).max(axis=2)
        most[other] += float((prior * left).sum())
    return Added((paid[0], paid[1]), (most[0], most[1]), tuple(closes))
