"""A partner that claims the values that would pay it best if it were believed."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dond_marl.game import MAX_VALUE, Triple
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.scenarios.sources import value_vectors
from dond_marl.seats import Decisions, Int8s, Partner, Traits, Turns
from partners.parameters import check_share
from partners.scripted.talking.believing import LEAVE, believed_payoffs
from partners.scripted.talking.grammar import sentences


class Liar:
    """Plays as another partner and claims, beside every act, the values that would pay it best if believed.

    Source: this project; strategic misrepresentation (Crawford, Sobel 1982, *Strategic information transmission*). It
    thinks of a :class:`~partners.scripted.talking.believing.Listener` that leaves it ``leave`` of the value that it
    claims the pool to have, and has the values that the scenario prior makes probable. Of all values that make the pool
    worth what it is worth to it, it claims those after which it gets the most on average; of equal ones its true ones,
    or the first.

    - ``of``: an occupant, who chooses the acts.
    - ``leave``: 0..1, the share of its whole value that it takes the listener to leave a partner.
    """

    def __init__(self, of: Spec | Partner = "heuristic", leave: float = LEAVE) -> None:
        check_share("leave", leave)
        self.of, self.leave = seat_occupant(of), leave
        self._name = of if isinstance(of, str) else repr(of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(of={self._name!r}, leave={self.leave!r})"

    @property
    def traits(self) -> Traits:
        return self.of.traits

    def act(self, turns: Turns) -> Decisions:
        decisions = self.of.act(turns)
        if not turns.rules.message_length:
            return decisions._replace(messages=None)
        views = zip(turns.counts.tolist(), turns.my_utilities.tolist(), strict=True)
        claims = [best_claim(tuple(pool), tuple(mine), turns.prior, self.leave) for pool, mine in views]
        told: Int8s = np.array(claims, dtype=np.int8).reshape(-1, 3)
        return decisions._replace(messages=sentences(turns, told))


@lru_cache(maxsize=8192)
def best_claim(counts: Triple, mine: Triple, prior: str, leave: float = LEAVE) -> Triple:
    """The values that pay ``mine`` best if believed, over the pool ``counts``."""
    whole = int(np.dot(counts, mine))
    if not whole:
        return mine
    vectors = value_vectors(counts, whole)
    vectors = vectors[(vectors * (np.array(counts) == 0)).sum(axis=1) == 0]  # nothing of what the pool does not hold
    claims = np.concatenate([np.array([mine], dtype=np.int8), vectors])
    assert claims.max() <= MAX_VALUE
    payoffs = believed_payoffs(np.array(counts, dtype=np.int8), claims[0], prior, claims, leave)
    a, b, c = claims[int(payoffs.argmax())].tolist()
    return a, b, c
