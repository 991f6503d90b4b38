"""The exact best response to a deterministic memoryless partner: expectimax over belief states, backwards in time.

The seat does not know the partner's values, only their distribution; every answer is evidence. The partner's
answers are a table (:mod:`dond_marl.solvers.replies`), so evidence selects the set of values that fits them, and
the reachable states are few enough to be enumerated. With the partner as a part of the environment the game is a
partially observed Markov decision process whose beliefs are its states (Kaelbling, Littman, Cassandra 1998, *Artificial
Intelligence* 101, section 3). Ties go to AGREE, then to the claim worth most to the seat, PROPOSE before INSIST.

A belief state is all that matters to the seat to move: its context (:mod:`dond_marl.solvers.contexts`), which of the
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
from dond_marl.seats import Bools, Doubles, Partner, partner_name
from dond_marl.solvers.contexts import Contexts, Index, split_points
from dond_marl.solvers.replies import Replies

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
    own_claim: Index  # [S] split of the seat's own latest claim; N where it does not matter

    @property
    def size(self) -> int:
        return len(self.context)

    def rows(self, index: Index | slice) -> States:
        return States(
            self.context[index], self.fits[index], self.claim[index], self.offered[index], self.own_claim[index]
        )


class Steps(NamedTuple):
    """The results of acts in J states of one context: certain points, and the states after the partner's answer."""

    paid: Doubles  # [J, A] expected points of ten of the games that end; minus infinity for illegal claims
    origin: Index  # [E] the index among the J * A from which each following state comes
    following: NDArray[np.int64]  # [E] numbers of states, see :meth:`Moves.pack`


class Moves:
    """The transitions of one seat's game against one partner: its acts and the partner's answers."""

    def __init__(self, contexts: Contexts, replies: Replies) -> None:
        self.contexts, self.replies = contexts, replies
        self.rejects = replies.rules.disagree == "rejects"
        self.width = replies.width
        splits = contexts.splits
        assert splits.oA.shape[1] == self.width, "the partner's views are of the contexts' pools"
        self.points = split_points(contexts.own_views, splits)
        self.complement = splits.complement
        self.splits = splits.number
        types = contexts.types.shape[1]
        self._bits = np.int64(1) << np.arange(types, dtype=np.int64)
        self._own_claims = self.width + 1 if self.rejects else 1
        room = contexts.size * (self.width + 1) * 2 * self._own_claims
        if types + int(room).bit_length() > KEY_BITS:
            raise OutOfReach(
                f"{types} possible partner values and {self.width} splits are too many for an exact best response: "
                f"scenarios of 'lewis', 'self_play' or 'dialogues' are within reach"
            )
        self.all_fit: Index = (self._bits * (contexts.weights > 0)).sum(axis=1)

    def pack(self, states: States) -> NDArray[np.int64]:
        """One number per state, ascending with the context."""
        belief = (states.context << len(self._bits)) | states.fits
        public = (belief * (self.width + 1) + states.claim) * 2 + states.offered
        return public * self._own_claims + states.own_claim if self.rejects else public

    def unpack(self, numbers: NDArray[np.int64]) -> States:
        code, own_claim = (
            np.divmod(numbers, self._own_claims) if self.rejects else (numbers, np.full(len(numbers), self.width))
        )
        code, offered = np.divmod(code, 2)
        belief, claim = np.divmod(code, self.width + 1)
        return States(belief >> len(self._bits), belief & (self._bits.sum()), claim, offered.astype(bool), own_claim)

    def types_answering(self, context: Index, query: Index, answer: Index, turns_left: int) -> Index:
        """The types of each context that give ``answer[R]`` to ``query[R]``, ``[R]`` as bits."""
        fits = self.replies.codes(turns_left)[self.contexts.types[context], query[:, None]] == answer[:, None]
        bits: Index = (fits * self._bits).sum(axis=1)
        return bits

    def weights(self, states: States) -> Doubles:
        """The prior probability of each type that a state holds possible, ``[S, K]``; 0 for the others."""
        possible = (states.fits[:, None] & self._bits) != 0
        weights: Doubles = possible * self.contexts.weights[states.context]
        return weights

    def opening(self, context: int, seat: int) -> Steps:
        """The states at the seat's first turn: the results of one act, waiting."""
        contexts, none = np.array([context]), np.array([self.width])
        start = States(contexts, self.all_fit[contexts], none, np.zeros(1, dtype=bool), none)
        if seat == 0:
            return Steps(np.zeros((1, 1)), np.zeros(1, dtype=np.int64), self.pack(start))
        return self._answers(start, np.array([2 * self.width]), none, self.replies.rules.max_turns)

    # `steps` plays every act of every state of one context. What counts of a state is the set of types that fit, except
    # under "rejects". The types that give one answer to a query form a group, so the next sets are intersections. For
    # three types with the bits 001, 010, 100, and two queries:
    #
    #   query  answers by type     groups: answer, fits     state with fits 011     following
    #     0       5   5   7          5   011                   011                   type 0 or 1 after answer 5
    #                                7   100                   000                   -
    #     1       5   6   5          5   101                   001                   type 0 after answer 5
    #                                6   010                   010                   type 1 after answer 6

    def steps(self, states: States, turns_left: int) -> Steps:
        """The results of every answered act in states of one context, with ``turns_left`` turns left, at least 2."""
        n, size = self.width, states.size
        claims = np.flatnonzero(np.tile(np.arange(n) < self.splits[states.context[0]], 2))
        paid = np.full((size, 2 * n + self.rejects), -np.inf)
        parts = [(np.arange(size), claims, self._answers(states, claims, claims % n, turns_left - 1))]
        for claim in np.unique(states.own_claim) if self.rejects else ():  # a refusal leaves the seat's own claim
            rows = np.flatnonzero(states.own_claim == claim)
            query, own_claims = np.array([2 * n + 1 + claim]), np.array([claim])
            steps = self._answers(states.rows(rows), query, own_claims, turns_left - 1)
            parts.append((rows, np.array([2 * n]), steps))
        origins = []
        for rows, acts, steps in parts:
            paid[rows[:, None], acts] = steps.paid
            row, act = np.divmod(steps.origin, len(acts))
            origins.append(rows[row] * paid.shape[1] + acts[act])
        return Steps(paid, np.concatenate(origins), np.concatenate([steps.following for _, _, steps in parts]))

    def add_end_points(self, worth: Doubles, states: States, turns_left: int) -> None:
        """Add the points of the partner's END to ``worth[S, A]``: a deal where the claim is the rest of the partner's.

        A refusal on the last turn of the game is an END too.
        """
        n, codes = self.width, self.replies.codes(turns_left - 1)
        rows = np.flatnonzero(states.claim < n)
        claimed = states.rows(rows)
        types, complement = self.contexts.types[claimed.context], self.complement[claimed.context, claimed.claim]
        # Acts of the seat, and the queries to the partner.
        acts = [(complement, complement), (complement + n, complement + n)]
        if self.rejects:
            acts.append((np.full(len(rows), 2 * n), 2 * n + 1 + claimed.own_claim))
        for act, query in acts:
            answer = codes[types, query[:, None]]
            stops = (answer == 2 * n + 2) | ((answer == 2 * n + 1) & self.rejects & (turns_left == 2))
            if stops.any():
                paid = self.points[claimed.context, complement] * (self.weights(claimed) * stops).sum(axis=1)
                worth[rows, act] += paid if act[0] < 2 * n else paid * (claimed.own_claim == complement)

    def _answers(self, states: States, queries: Index, own_claims: Index, turns_left: int) -> Steps:
        """The partner's answers with ``turns_left`` turns left to it, except END.

        ``own_claims[Q]`` are the seat's claims at that time.
        """
        n, context = self.width, int(states.context[0])
        answer = self.replies.codes(turns_left)[self.contexts.types[context]][:, queries]  # [K, Q]
        offer, safe = answer < 2 * n, np.minimum(own_claims, n - 1)
        deal = answer == 2 * n
        if turns_left == 1:
            deal |= offer & (answer % n == self.complement[context, safe]) & (own_claims < n)
        paid = (self.weights(states) @ deal) * self.points[context, safe] * (own_claims < n)
        if turns_left == 1:
            return Steps(paid, *(np.zeros((2, 0), dtype=np.int64)))
        goes_on = offer | (answer == 2 * n + 1) if self.rejects else offer
        query, kind = np.nonzero(goes_on.T & (self.contexts.weights[context] > 0))
        group, of_group = np.unique(query * (2 * n + 2) + answer[kind, query], return_inverse=True)
        fits = np.zeros(len(group), dtype=np.int64)
        np.add.at(fits, of_group, self._bits[kind])
        query, code = np.divmod(group, 2 * n + 2)
        following = states.fits[:, None] & fits
        row, column = np.nonzero(following)
        offered = code[column] < 2 * n
        after = States(
            states.context[row],
            following[row, column],
            np.where(offered, code[column] % n, states.claim[row]),
            offered,
            own_claims[query[column]] if self.rejects else np.full(len(row), n),
        )
        return Steps(paid, row * len(queries) + query[column], self.pack(after))


class Level(NamedTuple):
    """States of one turn, by number."""

    numbers: NDArray[np.int64]  # [S] ascending
    values: Doubles  # [S] points of ten, times the prior probability of the state's types
    act: Index  # [S] the best act, in the numbering of :mod:`dond_marl.solvers.replies`

    def contains(self, numbers: NDArray[np.int64]) -> Bools:
        """Mask of the ``numbers[R]`` that are in this table, ``[R]``."""
        if not len(self.numbers):
            return np.zeros(len(numbers), dtype=bool)
        index = np.searchsorted(self.numbers, numbers)
        contained: Bools = self.numbers[np.minimum(index, len(self.numbers) - 1)] == numbers
        return contained


_NO_STATES = Level(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0, dtype=np.int64))


ALL = -1  # in place of a context: states of all contexts


class Solver:
    """Solves the requested states, and those following states that decide their values, each once.

    Under ``disagree="ends"`` it is a branch and bound over all contexts at once, by the bound of a seat to which the
    partner's type is revealed after its act (QMDP: Littman, Cassandra, Kaelbling 1995, section 3): acts are played out
    only while their bounds reach the best value. Under ``"rejects"`` every act is, context by context.
    """

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        self._levels: dict[tuple[int, int], Level] = {}  # by context, or ALL, and turns left
        self._revealed: dict[int, Doubles] = {}  # by turns left

    def solve(self, numbers: NDArray[np.int64], turns_left: int) -> Level:
        """The states ``numbers[R]`` of the turn with ``turns_left`` turns left, in their order."""
        if not self.moves.rejects:
            return self._solve_level(ALL, numbers, turns_left)
        values, act = np.empty(len(numbers)), np.empty(len(numbers), dtype=np.int64)
        for context, rows in self._by_context(numbers):
            level = self._solve_level(context, numbers[rows], turns_left)
            values[rows], act[rows] = level.values, level.act
        return Level(numbers, values, act)

    def values(self, seat: int) -> Doubles:
        """The value of the best response in each context before the first act, ``[C]`` points of ten."""
        moves, turns_left = self.moves, self.moves.replies.rules.max_turns - seat
        openings = [moves.opening(context, seat) for context in range(moves.contexts.size)]
        reached = self.solve(np.concatenate([opening.following for opening in openings]), turns_left).values
        context = np.repeat(np.arange(len(openings)), [len(opening.following) for opening in openings])
        paid = np.array([opening.paid[0, 0] for opening in openings])
        values: Doubles = paid + np.bincount(context, reached, len(openings))
        return values

    def act_values(self, numbers: NDArray[np.int64], turns_left: int) -> Doubles:
        """The value of every act that is answered, in states with ``turns_left`` turns left, at least 2.

        ``[S, A]`` points of ten times the states' probability: PROPOSE of each split, INSIST of each, and where a
        refusal ends nothing, that. Minus infinity for illegal claims.
        """
        worth = np.empty((len(numbers), 2 * self.moves.width + self.moves.rejects))
        for _, rows in self._by_context(numbers):
            worth[rows] = self._act_values(self.moves.unpack(numbers[rows]), turns_left)
        return worth

    def _by_context(self, numbers: NDArray[np.int64]) -> Iterator[tuple[int, Index]]:
        contexts = self.moves.unpack(numbers).context
        for context in np.unique(contexts).tolist():
            yield context, np.flatnonzero(contexts == context)

    def _solve_level(self, context: int, numbers: NDArray[np.int64], turns_left: int) -> Level:
        """The states ``numbers[R]`` of one context, or of any (``ALL``), in their order."""
        cached = self._levels.get((context, turns_left), _NO_STATES)
        missing = np.sort(numbers[~cached.contains(numbers)])
        if len(missing):
            solved = self._solve(missing[np.append(True, np.diff(missing) > 0)], turns_left)
            index = np.searchsorted(cached.numbers, solved.numbers)
            merged = (np.insert(column, index, added) for column, added in zip(cached, solved, strict=True))
            cached = self._levels[context, turns_left] = Level(*merged)
        index = np.searchsorted(cached.numbers, numbers)
        return Level(numbers, cached.values[index], cached.act[index])

    def _solve(self, numbers: NDArray[np.int64], turns_left: int) -> Level:
        """Expectimax: the values of states, given those of the seat's next turn."""
        moves, n = self.moves, self.moves.width
        states = moves.unpack(numbers)
        values, act = _ending_values(moves, states, turns_left)
        if turns_left == 1:
            return Level(numbers, values, act)
        claims = moves.points[states.context]
        taste = np.hstack([claims, claims, np.full((states.size, int(moves.rejects)), -1.0)])
        if moves.rejects:
            worth = self._act_values(states, turns_left)
            best, chosen = _best_acts(worth, taste)
        else:
            best, chosen = self._search(states, values, taste, turns_left)
        better = best > values + SAME
        act = np.where(better, np.where(chosen < 2 * n, chosen, 2 * n + 1), act)
        return Level(numbers, np.where(better, best, values), act)

    def _act_values(self, states: States, turns_left: int) -> Doubles:
        """The values of :meth:`act_values` in states of one context."""
        moves = self.moves
        key = moves.pack(states) if moves.rejects else states.fits
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        steps = moves.steps(states.rows(first), turns_left)
        reached = self.solve(steps.following, turns_left - 2).values if len(steps.following) else None
        worth = steps.paid + np.bincount(steps.origin, reached, steps.paid.size).reshape(steps.paid.shape)
        worth = worth[inverse]
        moves.add_end_points(worth, states, turns_left)
        return worth

    # `_search` keeps a value for every act of every belief (a context and a set of types; which claim is on the table
    # matters only to END): first its bound, which is replaced by the value once the act is played out. Each round plays
    # out, in every state that is still open, the act that would be chosen if all bounds were values, and with it the
    # next best ones, twice as many in each round. A state is closed once the act that would be chosen is played out, or
    # once ending the game is worth as much as the best bound.

    def _search(self, states: States, ending: Doubles, taste: Doubles, turns_left: int) -> tuple[Doubles, Index]:
        """The best value ``[S]`` of an act that is answered, and the act; a bound where ``ending[S]`` is as good."""
        belief = (states.context << len(self.moves._bits)) | states.fits
        _, first, inverse = np.unique(belief, return_index=True, return_inverse=True)
        beliefs = states.rows(first)
        worth, played = self._bounds(beliefs, turns_left), np.zeros((len(first), 2 * self.moves.width), dtype=bool)
        bonus = np.zeros((states.size, worth.shape[1]))
        self.moves.add_end_points(bonus, states, turns_left)
        best, chosen = np.zeros(states.size), np.zeros(states.size, dtype=np.int64)
        rows, many = np.arange(states.size), 1
        while True:
            total = worth[inverse[rows]] + bonus[rows]
            best[rows], chosen[rows] = _best_acts(total, taste[rows])
            closed = played[inverse[rows], chosen[rows]] | (best[rows] <= ending[rows] + SAME)
            rows, total = rows[~closed], total[~closed]
            if not len(rows):
                return best, chosen
            to_play = np.zeros_like(played)
            to_play[inverse[rows], chosen[rows]] = True
            if many > 1:
                likely = np.argpartition(-total, min(many, total.shape[1]) - 1, axis=1)[:, :many]
                to_play[inverse[rows][:, None], likely] = True
            belief, act = np.nonzero(to_play & ~played & np.isfinite(worth))
            worth[belief, act] = self._values_of(beliefs.rows(belief), act, turns_left)
            played |= to_play
            many *= 2

    def _bounds(self, beliefs: States, turns_left: int) -> Doubles:
        """Upper bounds of the values of all acts in different beliefs, ``[U, 2N]``; minus infinity for illegal ones."""
        belief, kind = np.nonzero(self.moves.weights(beliefs))
        context = beliefs.context[belief]
        weights = self.moves.contexts.weights[context, kind]
        worth = self._revealed_acts(context, kind, turns_left) * weights[:, None]
        bounds: Doubles = np.add.reduceat(worth, np.searchsorted(belief, np.arange(beliefs.size)), axis=0)
        return bounds

    def _revealed_acts(self, context: Index, kind: Index, turns_left: int) -> Doubles:
        """The value of each act against one known type, ``[R, 2N]``, with ``turns_left`` turns left, at least 2."""
        moves, n = self.moves, self.moves.width
        types = moves.contexts.types[context, kind]
        answers = moves.replies.codes(turns_left - 1)[types, : 2 * n]  # -1: no legal claim
        claims, complement = np.tile(moves.points[context], 2), np.tile(moves.complement[context], 2)
        agreed = answers == 2 * n
        if turns_left == 2:  # the last turn of the game: a claim of the rest is a deal
            worth = np.where(agreed | (answers == complement) | (answers == complement + n), claims, 0.0)
        else:
            agreeing = np.take_along_axis(claims, complement[:, :n], axis=1)  # to each claim of the partner
            after = np.maximum(agreeing, self._revealed_values(turns_left - 2)[context, kind][:, None])
            ended = np.zeros((len(context), 3))
            worth = np.where(agreed, claims, np.take_along_axis(np.hstack([after, after, ended]), answers, axis=1))
        worth[answers < 0] = -np.inf
        return worth

    def _revealed_values(self, turns_left: int) -> Doubles:
        """The value of the best answered act against each known type, ``[C, K]``."""
        if turns_left not in self._revealed:
            values = np.zeros(self.moves.contexts.weights.shape)
            if turns_left > 1:
                context, kind = np.nonzero(self.moves.contexts.weights)
                values[context, kind] = self._revealed_acts(context, kind, turns_left).max(axis=1)
            self._revealed[turns_left] = values
        return self._revealed[turns_left]

    def _values_of(self, states: States, act: Index, turns_left: int) -> Doubles:
        """The value of ``act[S]`` in each of the states, without END."""
        moves, n = self.moves, self.moves.width
        row, kind = np.nonzero(moves.weights(states))
        context, own_claim = states.context[row], act[row] % n
        answer = moves.replies.codes(turns_left - 1)[moves.contexts.types[context, kind], act[row]].astype(np.int64)
        offer, deal = answer < 2 * n, answer == 2 * n
        if turns_left == 2:
            deal |= offer & (answer % n == moves.complement[context, own_claim])
        weights = moves.contexts.weights[context, kind] * deal
        values: Doubles = np.bincount(row, weights, states.size) * moves.points[states.context, act % n]
        if turns_left > 2:
            row, kind, answer = row[offer], kind[offer], answer[offer]
            group, of_group = np.unique(row * 2 * n + answer, return_inverse=True)
            fits = np.zeros(len(group), dtype=np.int64)
            np.add.at(fits, of_group, moves._bits[kind])
            row, answer = np.divmod(group, 2 * n)
            none, offered = np.full(len(group), n), np.ones(len(group), dtype=bool)
            after = moves.pack(States(states.context[row], fits, answer % n, offered, none))
            values += np.bincount(row, self.solve(after, turns_left - 2).values, states.size)
        return values


def _best_acts(worth: Doubles, taste: Doubles) -> tuple[Doubles, Index]:
    """The largest value ``[S]`` of ``worth[S, A]``, and of the acts with it the one of most ``taste[S, A]``."""
    best = worth.max(axis=1)
    return best, np.where(worth >= best[:, None] - SAME, taste, -2.0).argmax(axis=1)


def best_response_value(
    partner: Partner, contexts: Contexts, seat: int, rules: Rules = Rules(), *, prior: str = "lewis"
) -> float:
    """The value of the best response of ``seat`` to ``partner``, expected points of ten over the contexts.

    Exact for deterministic memoryless partners under any rules, and for deterministic ones that use the history in
    games of at most three turns. Raises :class:`NotComputable` for others, and :class:`OutOfReach`.
    """
    check_exact(partner, rules)
    solver = Solver(Moves(contexts, Replies(partner, rules, contexts.partner_views, prior)))
    return float(solver.values(seat) @ contexts.shares)


def exact_by_answers(partner: Partner, rules: Rules) -> bool:
    """Whether the best response to ``partner`` can be computed exactly from its answers.

    Where messages pass, a partner with memory may react to them, so it does not qualify.
    """
    traits = partner.traits
    short = rules.max_turns <= SHORT and not rules.message_length
    return traits.deterministic and (traits.memoryless or short)


def check_exact(partner: Partner, rules: Rules) -> None:
    """Raise :class:`NotComputable` where the best response to ``partner`` cannot be computed from its answers."""
    if not exact_by_answers(partner, rules):
        raise NotComputable(
            f"an exact best response needs a deterministic partner without memory (or games of at most {SHORT} turns "
            f"without messages), and acts that bind; got {partner_name(partner)} under {rules}"
        )


def _ending_values(moves: Moves, states: States, turns_left: int) -> tuple[Doubles, Index]:
    """The value of ending the game, ``[S]``, and the act that does: AGREE, END, or a claim on the last turn."""
    n = moves.width
    claimed = states.claim < n
    complement = moves.complement[states.context, np.minimum(states.claim, n - 1)]
    worth = moves.points[states.context, complement] * moves.weights(states).sum(axis=1) * claimed
    act = np.where(states.offered, 2 * n, 2 * n + 2)
    if turns_left == 1:  # claiming what the partner leaves is a deal too
        return worth, np.where(claimed & ~states.offered, complement, act)
    selected = claimed & (states.own_claim == complement)
    return worth * (states.offered | selected), act
