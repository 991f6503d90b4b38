"""The exact best response to a deterministic memoryless partner: expectimax over belief states, backwards in time.

The seat does not know the partner's values, only their distribution; every answer is evidence. The partner's
answers are a table (:mod:`dond_marl.yardsticks.replies`), so evidence selects the set of values that fits them, and
the reachable states are few enough to be enumerated. With the partner as a part of the environment the game is a
partially observed Markov decision process whose beliefs are its states (Kaelbling, Littman, Cassandra 1998, *Artificial
Intelligence* 101, section 3). Ties go to AGREE, then to the claim worth most to the seat, PROPOSE before INSIST.

A belief state is all that matters to the seat to move: its context (:mod:`dond_marl.yardsticks.contexts`), which of the
partner's possible values fit all of its answers (a set, as the bits of an integer), the claims on the table and the
seat that made the last. Under ``disagree="ends"`` its own claim is dropped: END pays only what AGREE pays too.
Histories that agree in this are one state, which makes the search exact and short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError, NotComputable
from dond_marl.game import Rules
from dond_marl.seats import Bools, Doubles, Partner
from dond_marl.yardsticks.contexts import Contexts, Index
from dond_marl.yardsticks.replies import Replies

BLOCK = 1 << 21  # answers that are computed in one call
KEY_BITS = 62  # of a state's number
SAME = 1e-9  # points of ten; sums that differ by less are equal
SHORT = 3  # turns: games so short that a partner's history follows from its last query and its own opening


class OutOfReach(InputError):
    """A distribution of scenarios too rich to be exact about."""


class States(NamedTuple):
    """S states; N stands for "no claim"."""

    context: Index  # [S]
    fits: Index  # [S] bit k: whether the context's type k is still possible
    claim: Index  # [S] split that the partner's latest claim keeps for it
    offered: Bools  # [S] whether its last act was that offer, so that AGREE is legal
    own: Index  # [S] split of the seat's own latest claim; N where it does not matter

    @property
    def size(self) -> int:
        return len(self.context)

    def rows(self, index: Index | slice) -> States:
        return States(self.context[index], self.fits[index], self.claim[index], self.offered[index], self.own[index])


class Steps(NamedTuple):
    """The results of A acts in each of S states: immediate points, and the states after the partner's answer."""

    paid: Doubles  # [S, A] expected points of ten of the games that end; minus infinity for illegal claims
    origin: Index  # [E] which of the S * A each following state comes from
    following: NDArray[np.int64]  # [E] numbers of states, see :meth:`Moves.pack`


class Moves:
    """The transitions of one seat's game against one partner: its acts and the partner's answers."""

    def __init__(self, contexts: Contexts, replies: Replies) -> None:
        self.contexts, self.replies = contexts, replies
        self.rejects = replies.rules.disagree == "rejects"
        self.width = replies.width
        splits = contexts.splits
        assert splits.oA.shape[1] == self.width, "the partner's views are of the contexts' pools"
        self.points = contexts.points(splits)
        self.rest = splits.rest
        self._fits = np.arange(self.width) < splits.number[:, None]
        types = contexts.types.shape[1]
        self._bits = np.int64(1) << np.arange(types, dtype=np.int64)
        self._owns = self.width + 1 if self.rejects else 1
        room = contexts.size * (self.width + 1) * 2 * self._owns
        if types + int(room).bit_length() > KEY_BITS:
            raise OutOfReach(
                f"{types} possible partner values and {self.width} splits are too many for an exact best response: "
                f"scenarios of 'lewis', 'self_play' or 'dialogues' are within reach"
            )
        self._codes_cache: dict[int, _Codes] = {}
        self.all_fit: Index = (self._bits * (contexts.weights > 0)).sum(axis=1)

    def pack(self, states: States) -> NDArray[np.int64]:
        """One number per state, ascending with the context."""
        belief = (states.context << len(self._bits)) | states.fits
        public = (belief * (self.width + 1) + states.claim) * 2 + states.offered
        return public * self._owns + states.own if self.rejects else public

    def unpack(self, numbers: NDArray[np.int64]) -> States:
        rest, own = np.divmod(numbers, self._owns) if self.rejects else (numbers, np.full(len(numbers), self.width))
        rest, offered = np.divmod(rest, 2)
        belief, claim = np.divmod(rest, self.width + 1)
        return States(belief >> len(self._bits), belief & (self._bits.sum()), claim, offered.astype(bool), own)

    def types_answering(self, context: Index, query: Index, answer: Index, left: int) -> Index:
        """The types of each context that give ``answer[R]`` to ``query[R]``, ``[R]`` as bits."""
        fits = self.replies.codes(left)[self.contexts.types[context], query[:, None]] == answer[:, None]
        bits: Index = (fits * self._bits).sum(axis=1)
        return bits

    def weight(self, states: States) -> Doubles:
        """The prior probability of the types that each state holds possible, ``[S]``."""
        weight: Doubles = (self._possible(states) * self.contexts.weights[states.context]).sum(axis=1)
        return weight

    def opening(self, seat: int) -> Steps:
        """The states at the seat's first turn: the results of one act, waiting, in one state per context."""
        none = np.full(self.contexts.size, self.width)
        every = np.arange(self.contexts.size)
        start = States(every, self.all_fit, none, np.zeros(len(every), dtype=bool), none)
        if seat == 0:
            return Steps(np.zeros((len(every), 1)), every, self.pack(start))
        if self.replies.rules.max_turns == 1:  # the partner acts, and the game is over
            return Steps(np.zeros((len(every), 1)), every[:0], every[:0])
        codes = self._codes(self.replies.rules.max_turns, np.array([2 * self.width]))
        return self._after_answer(start, codes, none[:, None], left=self.replies.rules.max_turns)

    def steps(self, states: States, left: int) -> Iterator[tuple[slice, Steps]]:
        """The results of every act that is answered, block by block, with ``left`` turns left, at least 2."""
        offers = np.arange(2 * self.width)
        if left not in self._codes_cache:
            self._codes_cache[left] = self._codes(left - 1, np.arange(self.replies.query_count))
        codes = self._codes_cache[left]
        size = max(BLOCK // (len(offers) * len(self._bits)), 1)
        for start in range(0, states.size, size):
            block = slice(start, start + size)
            part = states.rows(block)
            query = np.broadcast_to(offers, (part.size, len(offers)))
            if self.rejects:
                query = np.hstack([query, 2 * self.width + 1 + part.own[:, None]])
            own = np.where(query < 2 * self.width, query % self.width, part.own[:, None])
            chosen = _Codes(codes.answer[part.context[:, None], query], codes.alike[part.context[:, None], query])
            steps = self._after_answer(part, chosen, own, left - 1)
            fits = np.tile(self._fits[part.context], 2)
            steps.paid[:, : 2 * self.width][~fits] = -np.inf
            legal = np.hstack([fits, np.ones((part.size, 1), dtype=bool)])[:, : own.shape[1]].ravel()[steps.origin]
            yield block, Steps(steps.paid, steps.origin[legal], steps.following[legal])

    def _codes(self, left: int, queries: Index) -> _Codes:
        """The answers of each type of each context to each query, and the types that give the same answer."""
        by_type = self.replies.codes(left)[:, queries][self.contexts.types]  # [C, K, H]
        answer = np.ascontiguousarray(by_type.transpose(0, 2, 1))  # [C, H, K]
        bits = np.broadcast_to((self._bits * (self.contexts.weights > 0))[:, None], answer.shape)
        order = np.argsort(answer, axis=2, kind="stable")  # sorts types of one answer next to each other
        ranked = np.take_along_axis(answer, order, axis=2)
        first = np.ones(answer.shape, dtype=bool)
        first[:, :, 1:] = ranked[:, :, 1:] != ranked[:, :, :-1]
        together = np.add.reduceat(np.take_along_axis(bits, order, axis=2).ravel(), np.flatnonzero(first))
        alike = np.empty(answer.shape, dtype=np.int64)
        np.put_along_axis(alike, order, together[np.cumsum(first).reshape(first.shape) - 1], axis=2)
        return _Codes(answer, alike)

    def _after_answer(self, states: States, codes: _Codes, own: Index, left: int) -> Steps:
        """The partner's answers on its turn, ``left`` turns left to it; ``own[S, A]`` is the seat's claim by then."""
        n, answer = self.width, codes.answer
        possible = self._possible(states)[:, None]  # [S, 1, K]
        last = left == 1
        claimed, offer = own < n, answer < 2 * n
        safe = np.minimum(own, n - 1)
        worth = np.take_along_axis(self.points[states.context], safe, axis=1) * claimed  # [S, A]
        left_over = np.take_along_axis(self.rest[states.context], safe, axis=1)
        # After END the partner's claim is its earlier one, on the last turn its answer.
        stops = answer == 2 * n + 2
        if last and self.rejects:
            stops |= answer == 2 * n + 1
        deal = (answer == 2 * n) | (stops & (claimed & (states.claim[:, None] == left_over))[:, :, None])
        if last:
            deal |= offer & (answer % n == left_over[:, :, None]) & claimed[:, :, None]
        weights = self.contexts.weights[states.context][:, None] * possible
        paid = worth * (deal * weights).sum(axis=2)
        if last:
            return Steps(paid, *(np.zeros((2, 0), dtype=np.int64)))
        goes_on = offer | (answer == 2 * n + 1) if self.rejects else offer
        # One following state for each answer, found at the first type that gives it.
        before = states.fits[:, None] & (self._bits - 1)  # [S, K] the possible types that come earlier
        row, act, kind = np.nonzero(possible.astype(bool) & goes_on & ((codes.alike & before[:, None]) == 0))
        code = answer[row, act, kind].astype(np.int64)
        offered = code < 2 * n
        following = States(
            states.context[row],
            codes.alike[row, act, kind] & states.fits[row],
            np.where(offered, code % n, states.claim[row]),
            offered,
            own[row, act] if self.rejects else np.full(len(row), n),
        )
        return Steps(paid, row * own.shape[1] + act, self.pack(following))

    def _possible(self, states: States) -> Index:
        """Whether each type is possible, ``[S, K]``, 0 or 1."""
        return (states.fits[:, None] & self._bits) >> np.arange(len(self._bits))


class _Codes(NamedTuple):
    """Answers ``[C, H, K]`` or, chosen for states, ``[S, A, K]``."""

    answer: NDArray[np.int16]  # in the numbering of :mod:`dond_marl.yardsticks.replies`
    alike: NDArray[np.int64]  # the types that give the same answer, as bits


class Level(NamedTuple):
    """States of one turn, by number."""

    numbers: NDArray[np.int64]  # [S] ascending
    values: Doubles  # [S] points of ten, times the prior probability of the state's types
    act: NDArray[np.int16]  # [S] the best act, in the numbering of :mod:`dond_marl.yardsticks.replies`


class Solver:
    """Solves requested states and all that can follow them, each once."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        self._levels: dict[int, Level] = {}  # by turns left

    def solve(self, numbers: NDArray[np.int64], left: int) -> Level:
        """The solved states of the turn with ``left`` turns left, every one of ``numbers`` among them."""
        numbers = np.unique(numbers)
        known = self._levels.get(left)
        missing = numbers if known is None else numbers[~_contains(known, numbers)]
        if known is None or len(missing):
            level = self._solve(missing, left)
            if known is not None:
                order = np.argsort(np.concatenate([known.numbers, level.numbers]))
                level = Level(
                    *(np.concatenate([getattr(known, name), getattr(level, name)])[order] for name in Level._fields)
                )
            self._levels[left] = level
        return self._levels[left]

    def values(self, seat: int) -> Doubles:
        """The value of the best response in each context before the first act, ``[C]`` points of ten."""
        opening = self.moves.opening(seat)
        values = opening.paid[:, 0].copy()
        if len(opening.following):
            first = self.solve(opening.following, self.moves.replies.rules.max_turns - seat)
            values += np.bincount(opening.origin, first.values[_places(first, opening.following)], len(values))
        return values

    def act_values(self, numbers: NDArray[np.int64], left: int) -> Doubles:
        """The value of every act that is answered, in states with ``left`` turns left, at least 2.

        ``[S, A]`` points of ten times the states' probability: PROPOSE of each split, INSIST of each, and where a
        refusal ends nothing, that. Minus infinity for illegal claims.
        """
        return np.concatenate(
            [self._worth(steps, left) for _, steps in self.moves.steps(self.moves.unpack(numbers), left)]
        )

    def _worth(self, steps: Steps, left: int) -> Doubles:
        """The values of the acts of ``steps``, the best response being played from the seat's next turn on."""
        if not len(steps.following):
            return steps.paid
        following = self.solve(steps.following, left - 2)
        reached = following.values[_places(following, steps.following)]
        return steps.paid + np.bincount(steps.origin, reached, steps.paid.size).reshape(steps.paid.shape)

    def _solve(self, numbers: NDArray[np.int64], left: int) -> Level:
        """Expectimax: the values of states, given those of the seat's next turn, which are solved block by block."""
        moves, n = self.moves, self.moves.width
        states = moves.unpack(numbers)
        values, act = _ending_values(moves, states, left)
        for block, steps in moves.steps(states, left) if left > 1 else ():
            worth = self._worth(steps, left)
            best = worth.max(axis=1)
            claims = moves.points[states.context[block]]
            taste = np.hstack([claims, claims, np.full((len(claims), worth.shape[1] - 2 * n), -1.0)])
            chosen = np.where(worth >= best[:, None] - SAME, taste, -2.0).argmax(axis=1)
            better = best > values[block] + SAME
            values[block] = np.where(better, best, values[block])
            act[block] = np.where(better, np.where(chosen < 2 * n, chosen, 2 * n + 1), act[block])
        return Level(numbers, values, act.astype(np.int16))


def best_response_value(
    partner: Partner, contexts: Contexts, seat: int, rules: Rules = Rules(), *, prior: str = "lewis"
) -> float:
    """The value of the best response of ``seat`` to ``partner``, expected points of ten over the contexts.

    Exact for deterministic memoryless partners under any rules, and for deterministic ones that use the history in
    games of at most three turns. Raises :class:`NotComputable` for others, and :class:`OutOfReach`.
    """
    check_exact(partner, rules)
    solver = Solver(Moves(contexts, Replies(partner, rules, contexts.theirs, prior)))
    return float(solver.values(seat) @ contexts.shares)


def exact_by_answers(partner: Partner, rules: Rules) -> bool:
    """Whether the best response to ``partner`` can be computed exactly from its answers.

    Where messages pass, a partner with memory may react to them, so it does not qualify.
    """
    traits = partner.traits
    short = rules.max_turns <= SHORT and not rules.message_length
    return traits.deterministic and (traits.memoryless or short) and not rules.secret_claims


def check_exact(partner: Partner, rules: Rules) -> None:
    """Raise :class:`NotComputable` where the best response to ``partner`` cannot be computed from its answers."""
    if not exact_by_answers(partner, rules):
        raise NotComputable(
            f"an exact best response needs a deterministic partner without memory (or games of at most {SHORT} turns "
            f"without messages), and acts that bind; {partner!r} has {partner.traits} under {rules}"
        )


def _ending_values(moves: Moves, states: States, left: int) -> tuple[Doubles, Index]:
    """The value of ending the game, ``[S]``, and the act that does: AGREE, END, or a claim on the last turn."""
    n = moves.width
    claimed = states.claim < n
    mine = moves.rest[states.context, np.minimum(states.claim, n - 1)]
    worth = moves.points[states.context, mine] * moves.weight(states) * claimed
    act = np.where(states.offered, 2 * n, 2 * n + 2)
    if left == 1:  # claiming what the partner leaves is a deal too
        return worth, np.where(claimed & ~states.offered, mine, act)
    selected = claimed & (states.own == mine)
    return worth * (states.offered | selected), act


def _contains(level: Level, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(level.numbers, numbers), max(len(level.numbers) - 1, 0))
    return level.numbers[places] == numbers if len(level.numbers) else np.zeros(len(numbers), bool)


def _places(level: Level, numbers: NDArray[np.int64]) -> Index:
    places = np.searchsorted(level.numbers, numbers)
    assert (level.numbers[places] == numbers).all()
    return places
