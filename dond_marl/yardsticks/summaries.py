"""Whether a partner remembers no more than it says: its declared summary, put to the test.

Exact best responses to partners with memory merge histories that the partner's summary calls equal
(:mod:`dond_marl.yardsticks.automata`). If it left something out, what is called exact would be wrong. So random talk is
followed twice: by the merged states, each asked after one history of many, and by asking the partner after what was
really said. Both must agree, move for move.
"""

from __future__ import annotations

import numpy as np

from dond_marl.game import Rules
from dond_marl.randomness import generator
from dond_marl.scenarios.space import Scenarios, lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.automata import Automaton, Persona, Remembers, personas_of
from dond_marl.yardsticks.contexts import Index, Views

FEW = 3  # claims that random talk draws from, half of the time: so that histories come back


def check_summary(
    partner: Partner,
    *,
    rules: Rules = Rules(7),
    prior: str = "lewis",
    scenarios: Scenarios | None = None,
    talks: int = 40,
    seed: int = 0,
) -> int:
    """Check that ``partner`` answers as its summary says, in both seats; how many answers were compared.

    ``talks``: random talks for each pool and view of ``scenarios``, by default every 331st of the legal ones. Raises
    :class:`AssertionError` where histories with equal summaries are answered differently, where a summary reads what
    was heard last, or where INSIST is answered otherwise than PROPOSE by a partner that says it is not.
    """
    table = Scenarios(*(array[::331] for array in lewis_space())) if scenarios is None else scenarios
    compared = 0
    for number, persona in enumerate(personas_of(partner) or ()):
        if not persona.partner.traits.memoryless and not isinstance(persona.partner, Remembers):
            raise AssertionError(f"{persona.partner!r} remembers and declares no summary(turns)")
        for pool in np.unique(table.counts, axis=0):
            views = np.unique(table.utilities[(table.counts == pool).all(axis=1)].reshape(-1, 3), axis=0)
            theirs = Views(np.repeat(pool[None], len(views), axis=0), views)
            for seat in (0, 1):
                rng = generator(seed, "talk", number, seat, *pool.tolist())
                compared += _followed(persona, theirs, seat, rules, prior, talks, rng)
    return compared


def _followed(
    persona: Persona, views: Views, seat: int, rules: Rules, prior: str, talks: int, rng: np.random.Generator
) -> int:
    merged = Automaton([persona], views, seat, rules, prior)
    n, compared = merged.width, 0
    mind = np.tile(np.arange(views.size), talks)
    state, mind = (each[merged.first[mind] >= 0] for each in (merged.first[mind], mind))
    acts, offers = np.zeros((0, len(mind)), dtype=np.int8), np.zeros((0, 3, len(mind)), dtype=np.int8)
    if seat:
        acts, offers = merged.said(acts, offers, merged.opening[mind])
    left = rules.max_turns - seat
    while left > 1 and len(mind):
        level, claim = merged.levels[left], _claims(rng, n, len(mind))
        acts, offers = merged.said(acts, offers, claim)
        answer = merged.number(merged.asked(mind, acts, offers))
        foretold = level.answer[state, claim % merged.claims]
        wrong = np.flatnonzero(answer != foretold)
        if len(wrong):
            raise AssertionError(
                f"{persona.partner!r} remembers more than its summary says: with {left - 1} turns left it answers "
                f"{answer[wrong[0]]} where a history with the same summary is answered {foretold[wrong[0]]}"
            )
        compared += len(mind)
        on = np.flatnonzero(level.following[state, claim % merged.claims] >= 0)
        state, mind = level.following[state[on], claim[on] % merged.claims].astype(np.int64), mind[on]
        acts, offers = merged.said(acts[:, on], offers[..., on], answer[on].astype(np.int64))
        left -= 2
    return compared


def _claims(rng: np.random.Generator, n: int, size: int) -> Index:
    """Random claims by number, ``[size]`` in 0..2n - 1: half of them from a few splits."""
    few = rng.integers(0, n, FEW)[rng.integers(0, FEW, size)]
    split = np.where(rng.random(size) < 0.5, few, rng.integers(0, n, size))
    claims: Index = split + n * rng.integers(0, 2, size)
    return claims
