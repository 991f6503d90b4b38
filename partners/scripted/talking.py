"""Talking partners: they claim values in messages, or believe such claims.

There is one sentence, ``My values: book 4, hat 1, ball 2.`` A message is parsed as a claim about values if it contains
the word *value*, *values* or *worth* and, in this order, *book*, *hat* and *ball* (or their plurals), each followed by
its number, 0..10. Anything else claims nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import ITEMS, MAX_VALUE, Triple
from dond_marl.occupants import SpecLike
from dond_marl.scenarios.sources import value_vectors
from dond_marl.seats import Bools, Decisions, Doubles, Int8s, Partner, Texts, Turns
from dond_marl.solvers.contexts import beliefs, splits_of
from partners.parameters import Share, check_number
from partners.scripted.base import ScriptedPartner, Wrapper
from partners.scripted.offers import answer, offer_worth, own_turn

_ABOUT = re.compile(r"\b(?:values?|worth)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"\D{0,20}".join(rf"\b{item}s?\b[^\d,;.]{{0,20}}(\d{{1,2}})\b" for item in ITEMS), re.IGNORECASE)


def values_sentence(values: Triple) -> str:
    """The sentence that claims ``values``."""
    return f"My values: {', '.join(f'{item} {value}' for item, value in zip(ITEMS, values, strict=True))}."


def sentences(turns: Turns, values: Int8s) -> Texts | None:
    """The sentence of each row of ``values[B, 3]``, ``[B]``, empty if too long; ``None`` in games without messages."""
    if not turns.rules.message_length:
        return None
    texts = np.empty(len(values), dtype=np.object_)
    for row, (a, b, c) in enumerate(values.tolist()):
        sentence = values_sentence((a, b, c))
        texts[row] = sentence if len(sentence) <= turns.rules.message_length else ""
    return texts


@lru_cache(maxsize=4096)
def parse_values(message: str) -> Triple | None:
    """The values that ``message`` claims, ``None`` if it claims none."""
    match = _NUMBERS.search(message) if _ABOUT.search(message) else None
    if match is None:
        return None
    a, b, c = map(int, match.groups())
    return (a, b, c) if max(a, b, c) <= MAX_VALUE else None


def claimed_values(turns: Turns) -> tuple[Int8s, Bools]:
    """The values of each partner's latest claim in messages, ``[B, 3]``, and whether it made one with any value."""
    values, has_claim = np.zeros((turns.size, 3), dtype=np.int8), np.zeros(turns.size, dtype=bool)
    if turns.history.has_messages:
        partner_messages = turns.history.messages[:, 1 - turns.seat :: 2]
        for row, messages in enumerate(partner_messages.tolist()):
            for message in reversed(messages):
                claim = parse_values(message) if message else None
                if claim is not None:
                    values[row], has_claim[row] = claim, bool(np.dot(claim, turns.counts[row].astype(np.int64)))
                    break
    return values, has_claim


class Announcer(Wrapper):
    """Plays as another partner and states its true values with every act.

    Source: this project; truthful revelation, as in direct mechanisms (Myerson 1979).

    - ``of``: an occupant, which chooses the acts.
    """

    def __init__(self, of: SpecLike | Partner = "heuristic") -> None:
        super().__init__(of)  # no further parameters

    def act(self, turns: Turns) -> Decisions:
        return self.of.act(turns)._replace(messages=sentences(turns, turns.my_utilities))


LEAVE = 0.55  # the least share that a partner is taken to accept: the heuristic's accept_ratio
_EXACT = 1 << 20  # expectations are rounded to this, so that the last bit of a sum never decides
_NEEDED = 1e-9  # points; 0.55 * 100 is 55.00000000000001 in floating point


@dataclass(frozen=True)
class Listener(ScriptedPartner):
    """Believes the values that its partner claims in messages.

    Source: this project; a best response to beliefs, with weight ``trust`` on the claimed values and the rest on the
    scenario prior. A partner with values v is assumed to accept a split that leaves it ``leave`` of its whole
    value. It claims the split with the most own points times the probability that the partner agrees. It agrees
    to an offer worth that expectation, and on its last turn to any that is worth something. Messages are parsed as in
    the module; it sends none itself.

    - ``trust``: 0..1, the weight of the values that the partner claims; 0: claims are ignored.
    - ``leave``: 0..1, the share of its whole value that a partner is assumed to accept.
    """

    trust: Share = 1.0
    leave: Share = LEAVE

    def act(self, turns: Turns) -> Decisions:
        values, has_claim = claimed_values(turns)
        if not self.trust:
            has_claim = np.zeros_like(has_claim)
        positions = np.concatenate(
            [
                turns.counts,
                turns.my_utilities,
                turns.partner_utilities,
                values * has_claim[:, None],
                has_claim[:, None],
            ],
            axis=1,
        )
        different, position = np.unique(positions, axis=0, return_inverse=True)
        results = [
            _claim(tuple(row[:3]), tuple(row[3:6]), tuple(row[6:9]), tuple(row[9:12]) if row[12] else None,
                   turns.prior, self.trust, self.leave)
            for row in different.tolist()
        ]  # fmt: skip
        claims = np.array([claim for claim, _ in results], dtype=np.int8).reshape(-1, 3)
        worths = np.array([worth for _, worth in results])
        position = position.reshape(-1)  # NumPy 2.0 gives it another shape
        last = own_turn(turns) == (turns.rules.max_turns - turns.seat + 1) // 2 - 1
        least = np.full(turns.size, 1.0) if last else np.maximum(worths[position], 1 / _EXACT)
        return answer(turns, offer_worth(turns) >= least, claims[position])

    def summary(self, turns: Turns) -> NDArray[np.int8]:
        """The memory: the values that the partner claimed last, and whether it claimed any, ``[B, 4]``."""
        values, has_claim = claimed_values(turns)
        return np.concatenate([values * has_claim[:, None], has_claim[:, None]], axis=1)


@lru_cache(maxsize=1 << 14)
def _claim(
    counts: Triple, my_values: Triple, shown: Triple, word: Triple | None, prior: str, trust: float, leave: float
) -> tuple[Triple, float]:
    """The claim of a listener and its worth.

    ``shown``: revealed partner values, zeros if none; ``word``: values claimed in messages, or None.
    """
    pool, values = np.array(counts, dtype=np.int8), np.array(my_values, dtype=np.int8)
    if any(shown):
        types, weights = np.array([shown], dtype=np.int8), np.ones(1)
    else:
        prior_types = beliefs(prior, pool[None], values[None])
        types, weights = prior_types.types[0], prior_types.weights[0]
    if word is not None:
        types = np.concatenate([types, np.array([word], dtype=np.int8)])
        weights = np.append(weights * (1 - trust), trust)
    return claim_against(pool, values, types, weights, leave)


def claim_against(
    counts: Int8s, my_values: Int8s, types: Int8s, weights: Doubles, leave: float = LEAVE
) -> tuple[Triple, float]:
    """The split to claim against partners of ``types[K, 3]`` with ``weights[K]``, and its expected points.

    Of equal ones the partner gets the most items, then the first in lexicographic order.
    """
    splits = splits_of(counts[None]).oA[0]
    points = splits.astype(np.int64) @ my_values.astype(np.int64)
    chance = accepted_splits(counts, types, leave).astype(np.float64) @ weights
    worth = np.rint(points * chance * _EXACT)
    best = np.lexsort((splits.sum(axis=1), -worth))[0]
    a, b, c = splits[best].tolist()
    return (a, b, c), float(worth[best]) / _EXACT


def accepted_splits(counts: Int8s, types: Int8s, leave: float) -> Bools:
    """The claims, in lexicographic order, that a partner of each of ``types[K, 3]`` accepts, ``[G, K]`` bool."""
    splits = splits_of(counts[None]).oA[0].astype(np.int64)
    values = types.astype(np.int64)
    remaining = (counts.astype(np.int64) - splits) @ values.T
    accepted: Bools = remaining >= leave * (values @ counts.astype(np.int64)) - _NEEDED
    return accepted


def believed_payoffs(counts: Int8s, my_values: Int8s, prior: str, claims: Int8s, leave: float) -> Doubles:
    """Expected points of values ``my_values[3]`` against a listener that believes each of ``claims[V, 3]``, ``[V]``.

    The listener's own values follow ``prior``, given the speaker's view.
    """
    listeners = beliefs(prior, counts[None], my_values[None])
    types, weights = listeners.types[0], listeners.weights[0]
    splits = splits_of(counts[None]).oA[0].astype(np.int64)
    listener_points = splits @ types.T.astype(np.int64)  # [G, K] what each split is worth to each listener
    order = np.argsort(splits.sum(axis=1), kind="stable")  # of equal splits the first, as claim_against has it
    points = (counts.astype(np.int64) - splits) @ my_values.astype(np.int64)
    fine = accepted_splits(counts, claims, leave)  # [G, V]
    payoffs = np.zeros(len(claims))
    for claim in range(len(claims)):
        worths = np.where(fine[order, claim, None], listener_points[order], 0)
        payoffs[claim] = weights @ points[order][worths.argmax(axis=0)]
    return np.rint(payoffs * _EXACT) / _EXACT


class Liar(Wrapper):
    """Plays as another partner and claims the values that would pay it best.

    Source: this project; strategic misrepresentation (Crawford, Sobel 1982, *Strategic information transmission*). It
    assumes a :class:`~partners.scripted.talking.Listener` that leaves it ``leave`` of the value that it
    claims the pool to have, and has the values that the scenario prior makes probable. Of all values that make the pool
    worth what it is worth to it, it claims those after which it gets the most on average; of equal ones its true ones,
    or the first.

    - ``of``: an occupant, which chooses the acts.
    - ``leave``: 0..1, the share of its whole value that it assumes the listener to leave.
    """

    def __init__(self, of: SpecLike | Partner = "heuristic", leave: float = LEAVE) -> None:
        check_number("leave", leave, 0, 1)
        super().__init__(of, leave=leave)
        self.leave = leave

    def act(self, turns: Turns) -> Decisions:
        decisions = self.of.act(turns)
        if not turns.rules.message_length:
            return decisions._replace(messages=None)
        views = zip(turns.counts.tolist(), turns.my_utilities.tolist(), strict=True)
        claims = [best_claim(tuple(pool), tuple(my_values), turns.prior, self.leave) for pool, my_values in views]
        values: Int8s = np.array(claims, dtype=np.int8).reshape(-1, 3)
        return decisions._replace(messages=sentences(turns, values))


@lru_cache(maxsize=8192)
def best_claim(counts: Triple, my_values: Triple, prior: str, leave: float = LEAVE) -> Triple:
    """The values that pay ``my_values`` best if believed, over the pool ``counts``."""
    pool_value = int(np.dot(counts, my_values))
    if not pool_value:
        return my_values
    vectors = value_vectors(counts, pool_value)
    vectors = vectors[(vectors * (np.array(counts) == 0)).sum(axis=1) == 0]  # only items in the pool
    claims = np.concatenate([np.array([my_values], dtype=np.int8), vectors])
    assert claims.max() <= MAX_VALUE
    payoffs = believed_payoffs(np.array(counts, dtype=np.int8), claims[0], prior, claims, leave)
    a, b, c = claims[int(payoffs.argmax())].tolist()
    return a, b, c
