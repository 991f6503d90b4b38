"""The exact best response to a deterministic memoryless partner: expectimax over belief states, backwards in time.

The seat does not know the partner's values, only their distribution; it learns from every answer. The partner's
answers are a table (:mod:`dond_marl.yardsticks.replies`), so what a seat can learn is which set of values fits them,
and the states that can come up (:mod:`dond_marl.yardsticks.belief_states`) are few enough to be enumerated. The partner
is a part of the world, and the world a partially observed Markov decision process whose beliefs are its states
(Kaelbling, Littman, Cassandra 1998, *Artificial Intelligence* 101, section 3). Ties go to AGREE, then to the claim
worth most to the seat, PROPOSE before INSIST.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Rules
from dond_marl.seats import Doubles, Partner
from dond_marl.yardsticks.belief_states import Moves, States
from dond_marl.yardsticks.contexts import Contexts, Index
from dond_marl.yardsticks.replies import Replies

SAME = 1e-9  # points of ten; sums that differ by less are equal


class Level(NamedTuple):
    """States of one turn, by number."""

    numbers: NDArray[np.int64]  # [S] ascending
    values: Doubles  # [S] points of ten, times the prior probability of the state's types
    say: NDArray[np.int16]  # [S] the best act, in the numbering of :mod:`dond_marl.yardsticks.replies`


class Solver:
    """Solves the states that it is asked for, and whatever can follow them, once."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        self._levels: dict[int, Level] = {}  # by turns left

    @property
    def states(self) -> int:
        return sum(len(level.numbers) for level in self._levels.values())

    def solved(self, numbers: NDArray[np.int64], left: int) -> Level:
        """The states of that turn, ``left`` turns left, among them every one of ``numbers``."""
        numbers = np.unique(numbers)
        known = self._levels.get(left)
        missing = numbers if known is None else numbers[~_held(known, numbers)]
        if known is None or len(missing):
            level = self._solve(missing, left)
            if known is not None:
                order = np.argsort(np.concatenate([known.numbers, level.numbers]))
                level = Level(
                    np.concatenate([known.numbers, level.numbers])[order],
                    np.concatenate([known.values, level.values])[order],
                    np.concatenate([known.say, level.say])[order],
                )
            self._levels[left] = level
        return self._levels[left]

    def values(self, seat: int) -> Doubles:
        """What the best response is worth in each context before anything is said, ``[C]`` points of ten."""
        opening = self.moves.opening(seat)
        values = opening.paid[:, 0].copy()
        if len(opening.following):
            first = self.solved(opening.following, self.moves.replies.rules.max_turns - seat)
            values += np.bincount(opening.origin, first.values[_places(first, opening.following)], len(values))
        return values

    def _solve(self, numbers: NDArray[np.int64], left: int) -> Level:
        """Expectimax: the values of states, given those of the seat's next turn, which are solved block by block."""
        moves, n = self.moves, self.moves.width
        states = moves.unpack(numbers)
        values, say = _talk_stops(moves, states, left)
        for block, steps in moves.steps(states, left) if left > 1 else ():
            worth = steps.paid
            if len(steps.following):
                following = self.solved(steps.following, left - 2)
                reached = following.values[_places(following, steps.following)]
                worth = worth + np.bincount(steps.origin, reached, worth.size).reshape(worth.shape)
            best = worth.max(axis=1)
            claims = moves.points[states.context[block]]
            taste = np.hstack([claims, claims, np.full((len(claims), worth.shape[1] - 2 * n), -1.0)])
            chosen = np.where(worth >= best[:, None] - SAME, taste, -2.0).argmax(axis=1)
            better = best > values[block] + SAME
            values[block] = np.where(better, best, values[block])
            say[block] = np.where(better, np.where(chosen < 2 * n, chosen, 2 * n + 1), say[block])
        return Level(numbers, values, say.astype(np.int16))


def best_response_value(
    partner: Partner, contexts: Contexts, seat: int, rules: Rules = Rules(), *, prior: str = "lewis"
) -> float:
    """What the best response of ``seat`` to ``partner`` is worth, expected points of ten over the contexts.

    Exact for deterministic memoryless partners under any rules, and for deterministic ones that use the history in
    games of at most three turns. Raises ``ValueError`` for others and
    :class:`~dond_marl.yardsticks.belief_states.OutOfReach`.
    """
    check_exact(partner, rules)
    solver = Solver(Moves(contexts, Replies(partner, rules, contexts.theirs, prior)))
    return float(solver.values(seat) @ contexts.shares)


def exact_by_answers(partner: Partner, rules: Rules) -> bool:
    """Whether the best response to ``partner`` can be computed exactly this way."""
    traits = partner.traits
    return traits.deterministic and (traits.memoryless or rules.max_turns <= SHORT)


def check_exact(partner: Partner, rules: Rules) -> None:
    """Raises ``ValueError`` where the best response to ``partner`` cannot be computed exactly this way."""
    traits = partner.traits
    if not exact_by_answers(partner, rules):
        raise ValueError(
            f"an exact best response needs a deterministic partner that forgets (or games of at most {SHORT} turns); "
            f"{partner!r} has {traits}"
        )


SHORT = 3  # turns: so short that a partner's history is known from what it hears and its own opening


def _talk_stops(moves: Moves, states: States, left: int) -> tuple[Doubles, Index]:
    """What AGREE and END are worth, or on the last turn of all whatever still makes a deal, and which of them it is."""
    n = moves.width
    claimed = states.claim < n
    mine = moves.rest[states.context, np.minimum(states.claim, n - 1)]
    worth = moves.points[states.context, mine] * moves.weight(states) * claimed
    say = np.where(states.offered, 2 * n, 2 * n + 2)
    if left == 1:  # claiming what the partner leaves is a deal too
        say = np.where(claimed & ~states.offered, mine, say)
        return worth, say
    selected = claimed & (states.own == mine)
    return worth * (states.offered | selected), say


def _held(level: Level, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(level.numbers, numbers), max(len(level.numbers) - 1, 0))
    held: NDArray[np.bool_] = level.numbers[places] == numbers if len(level.numbers) else np.zeros(len(numbers), bool)
    return held


def _places(level: Level, numbers: NDArray[np.int64]) -> Index:
    places = np.searchsorted(level.numbers, numbers)
    assert (level.numbers[places] == numbers).all()
    return places
