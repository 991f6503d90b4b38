"""A partner that believes, as far as it trusts, what it is told of the other's values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Triple
from dond_marl.seats import Bools, Decisions, Doubles, Int8s, Traits, Turns
from dond_marl.yardsticks.beliefs import beliefs
from partners.parameters import check_share
from partners.scripted.offers import answer, offered, on_the_table, own_turn
from partners.scripted.talking.grammar import told

LEAVE = 0.55  # the least share that a partner is taken to accept: the heuristic's accept_ratio
_EXACT = 1 << 20  # expectations are rounded to this, so that the last bit of a sum never decides
_NEEDED = 1e-9  # points; 0.55 * 100 is 55.00000000000001 in floating point


@dataclass(frozen=True)
class Listener:
    """Asks for as much as a partner with the values that it was told would still grant, and expects no lies.

    Source: this project; a best response to beliefs, of which ``trust`` is the weight of the other's word and the rest
    the scenario prior. A partner with values v is taken to agree to a split that leaves it ``leave`` of its whole
    value. Of all splits it claims the one with the most own points times the chance that the partner agrees. It agrees
    to an offer worth that expectation, and on its last turn to any that is worth something. What is told is read in one
    grammar (:mod:`partners.scripted.talking.grammar`); it says nothing itself.

    - ``trust``: 0..1, the weight of what the partner says of its values; 0: it does not listen.
    - ``leave``: 0..1, the share of its whole value that a partner is taken to agree to.
    """

    trust: float = 1.0
    leave: float = LEAVE
    traits: ClassVar[Traits] = Traits(deterministic=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_share("trust", self.trust)
        check_share("leave", self.leave)

    def act(self, turns: Turns) -> Decisions:
        values, known = told(turns)
        if not self.trust:
            known = np.zeros_like(known)
        seen = np.concatenate(
            [turns.counts, turns.my_utilities, turns.partner_utilities, values * known[:, None], known[:, None]], axis=1
        )
        different, which = np.unique(seen, axis=0, return_inverse=True)
        found = [
            _claim(tuple(row[:3]), tuple(row[3:6]), tuple(row[6:9]), tuple(row[9:12]) if row[12] else None,
                   turns.prior, self.trust, self.leave)
            for row in different.tolist()
        ]  # fmt: skip
        claims = np.array([claim for claim, _ in found], dtype=np.int8).reshape(-1, 3)
        worths = np.array([worth for _, worth in found])
        which = which.reshape(-1)  # NumPy 2.0 gives it another shape
        last = own_turn(turns) == (turns.rules.max_turns - turns.seat + 1) // 2 - 1
        least = np.full(turns.size, 1.0) if last else np.maximum(worths[which], 1 / _EXACT)
        return answer(on_the_table(turns) & (offered(turns) >= least), claims[which])

    def summary(self, turns: Turns) -> NDArray[np.int8]:
        """What it remembers: the values that it was told last, and whether it was told any, ``[B, 4]``."""
        values, known = told(turns)
        return np.concatenate([values * known[:, None], known[:, None]], axis=1)


@lru_cache(maxsize=1 << 14)
def _claim(
    counts: Triple, mine: Triple, shown: Triple, word: Triple | None, prior: str, trust: float, leave: float
) -> tuple[Triple, float]:
    """The claim of a listener and its worth: ``shown`` are revealed values, zeros if none, ``word`` what was told."""
    pool, own = np.array(counts, dtype=np.int8), np.array(mine, dtype=np.int8)
    if any(shown):
        types, weights = np.array([shown], dtype=np.int8), np.ones(1)
    else:
        prior_types = beliefs(prior, pool[None], own[None])
        types, weights = prior_types.types[0], prior_types.weights[0]
    if word is not None:
        types = np.concatenate([types, np.array([word], dtype=np.int8)])
        weights = np.append(weights * (1 - trust), trust)
    return claim_against(pool, own, types, weights, leave)


def claim_against(
    counts: Int8s, mine: Int8s, types: Int8s, weights: Doubles, leave: float = LEAVE
) -> tuple[Triple, float]:
    """The split to claim against partners of ``types[K, 3]`` with ``weights[K]``, and what it is worth, points.

    Of equal ones the partner gets the most items, then the first in lexicographic order.
    """
    splits = _splits(tuple(counts.tolist()))
    own = splits.astype(np.int64) @ mine.astype(np.int64)
    chance = granted(counts, types, leave).astype(np.float64) @ weights
    worth = np.rint(own * chance * _EXACT)
    best = np.lexsort((splits.sum(axis=1), -worth))[0]
    a, b, c = splits[best].tolist()
    return (a, b, c), float(worth[best]) / _EXACT


def granted(counts: Int8s, types: Int8s, leave: float) -> Bools:
    """Which claims (in lexicographic order) a partner of each of ``types[K, 3]`` grants, ``[G, K]``."""
    splits = _splits(tuple(counts.tolist())).astype(np.int64)
    values = types.astype(np.int64)
    left = (counts.astype(np.int64) - splits) @ values.T
    enough: Bools = left >= leave * (values @ counts.astype(np.int64)) - _NEEDED
    return enough


@lru_cache(maxsize=2048)
def _splits(counts: tuple[int, ...]) -> Int8s:
    """Every split of a pool, ``[G, 3]``, in lexicographic order."""
    splits = np.indices(tuple(count + 1 for count in counts), dtype=np.int8).reshape(3, -1).T
    splits.flags.writeable = False
    return splits


def believed_payoffs(counts: Int8s, mine: Int8s, prior: str, claims: Int8s, leave: float) -> Doubles:
    """What ``mine[3]`` would get, on average in points, of a listener that believes each of ``claims[V, 3]``, ``[V]``.

    The listener's own values are as ``prior`` makes them probable to the one who speaks.
    """
    theirs = beliefs(prior, counts[None], mine[None])
    types, weights = theirs.types[0], theirs.weights[0]
    splits = _splits(tuple(counts.tolist())).astype(np.int64)
    own = splits @ types.T.astype(np.int64)  # [G, K] what each split is worth to each listener
    order = np.argsort(splits.sum(axis=1), kind="stable")  # of equal splits the first, as claim_against has it
    left = (counts.astype(np.int64) - splits) @ mine.astype(np.int64)
    fine = granted(counts, claims, leave)  # [G, V]
    payoffs = np.zeros(len(claims))
    for place in range(len(claims)):
        worths = np.where(fine[order, place, None], own[order], 0)
        payoffs[place] = weights @ left[order][worths.argmax(axis=0)]
    return np.rint(payoffs * _EXACT) / _EXACT
