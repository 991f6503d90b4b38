"""The best response to another partner, as a partner, and the regret of other acts compared with its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.envs.turn import turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import MAX_COUNT, MAX_VALUE, Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import SpecLike, seat_occupant
from dond_marl.seats import Decisions, Doubles, History, Int8s, Partner, Traits, Turns, decide, partner_name
from dond_marl.solvers.adaptive import Adaptive, Belief, is_enumerable
from dond_marl.solvers.best_response import SHORT, Moves, Solver, States, check_exact, exact_by_answers
from dond_marl.solvers.contexts import Contexts, Index, Views, contexts_of
from dond_marl.solvers.odds import (
    EXACT_TURNS,
    NumberedHistories,
    Odds,
    bayes_update,
    best_by_value,
    check_stochastic,
    look_ahead,
)
from dond_marl.solvers.recognition import Guess, recognize
from dond_marl.solvers.replies import Replies
from dond_marl.statistics import TEN
from partners.mixture import Mixture

Solved = TypeVar("Solved")
CACHED_CONTEXTS = 4096  # beyond that the cache is emptied
BASE = max(MAX_COUNT, MAX_VALUE) + 1  # of the number of a view, whose digits are counts and values


class BestResponse:
    """The best response to ``to``: exact if ``to`` can be solved.

    Source: expectimax over belief states (Kaelbling, Littman, Cassandra 1998, section 3; see
    :mod:`dond_marl.solvers.best_response` and, for partners with memory or drawn for each game,
    :mod:`dond_marl.solvers.adaptive`). It knows the policy of ``to`` but not its values: its belief starts from the
    scenario prior and is updated by every answer. Against a partner without memory that is random with known
    probabilities, or is drawn for each game from such and deterministic ones, it is exact in games of at most four
    turns; in longer ones it acts as if it knew the partner and its values until three turns are left
    (:mod:`dond_marl.solvers.odds`). If its partner plays an act that ``to`` would play under no values, it restarts
    from the prior; where ``to`` is several partners without memory, from the latest answers that one of them would
    give. ``contexts``: a prior instead of the one that the game names. The uniform prior is out of reach and raises
    :class:`~dond_marl.solvers.best_response.OutOfReach`.

    - ``to``: an occupant without memory, or with a declared one (``summary``).
    - ``contexts``: scenarios of the prior, or None.
    """

    traits = Traits(deterministic=True)

    def __init__(self, to: SpecLike | Partner, contexts: Contexts | None = None) -> None:
        self.to = seat_occupant(to)
        self._name, self._contexts = to if isinstance(to, str) else partner_name(to), contexts
        if not exact_by_answers(self.to, Rules()) and not is_enumerable(self.to, Rules()):
            check_stochastic(self.to, Rules())
        self._solvers: dict[tuple[Rules, str, bool], SolvedViews[_ResponseSolver]] = {}

    def __repr__(self) -> str:
        return f"BestResponse(to={self._name!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solvers": {}}  # solved again on demand

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        revealed_rows = turns.partner_utilities.any(axis=1)
        for revealed in np.unique(revealed_rows).tolist():
            rows = np.flatnonzero(revealed_rows == revealed)
            part = turns.rows(rows)
            for solver, part_rows, context in self._solvers_of(part.rules, part.prior, revealed).by_solver(part):
                act[rows[part_rows]], oA[rows[part_rows]] = solver.best_acts_of(part.rows(part_rows), context)
        return decide(act, oA)

    def worths(self, turns: Turns) -> Doubles:
        """The value of every offer, ``[R, 2N]`` points of ten, for the N splits of the rows' one pool.

        PROPOSE of each, counted up with the last item type fastest, then INSIST of each; under ``disagree="rejects"`` a
        last column for the refusal. Values are expectations, with the best response played from its next turn on; so
        not for the last turn of a game. Raises ``NotComputable`` where they are not exact: ``to`` is random, or has
        too much memory.
        """
        parts: list[tuple[Index, Doubles]] = []
        revealed = bool(turns.partner_utilities.any())
        for solver, rows, context in self._solvers_of(turns.rules, turns.prior, revealed).by_solver(turns):
            if isinstance(solver, _Stochastic):
                raise NotComputable(f"{self._name} is random: the values of acts against it are not exact")
            parts.append((rows, solver.worths(turns.rows(rows), context)))
        worths = np.empty((turns.size, parts[0][1].shape[1]))
        for rows, values in parts:
            worths[rows] = values
        return worths

    def worth_of_acts(self, state: State, prior: str) -> dict[Action, float]:
        """The value of every legal act of ``state`` to the seat to move, in points, 0..its whole pool.

        Expectations as of :meth:`worths`; an act that ends the game has its payoff. ``prior``: the name of the
        distribution of scenarios that both seats know. Raises as :meth:`worths` does.
        """
        seat, scenario = state.mover, state.scenario
        legal = legal_actions(state)
        ended = {action: after.outcome for action in legal if (after := apply(state, action)).outcome is not None}
        values = {action: float(outcome.scores[seat]) for action, outcome in ended.items() if outcome is not None}
        if len(values) < len(legal):
            worths = self.worths(turn_of(state, prior=prior))[0] * (scenario.pool_value(seat) / TEN)
            _, second, third = (count + 1 for count in scenario.counts)
            n = len(worths) // 2  # the splits; a refusal stands behind both kinds of offer
            for action in legal:
                if action not in values:
                    split = int(np.dot((second * third, third, 1), action.oA))
                    values[action] = float(worths[split + action.act_type * n if action.act_type.is_offer else 2 * n])
        return values

    def beliefs(self, turns: Turns) -> Guess:
        """The exact posterior of the partner's values and, if ``to`` is a mixture, of the member.

        The prior is the game's, not ``contexts``. Raises ``NotComputable`` if ``to`` contains random partners without
        known probabilities.
        """
        if not isinstance(self.to, Mixture):
            return Guess(recognize([self.to], turns).values, (self._name,), np.ones((turns.size, 1)))
        recognition = recognize(self.to.partners, turns, [chance for chance, _ in self.to.personas()])
        return Guess(recognition.values, self.to.names, recognition.identity)

    def value(self, seat: int, rules: Rules, prior: str) -> float:
        """The expected points of ten of the best response in ``seat`` over its ``contexts``.

        Raises ``NotComputable`` without contexts, or if ``to`` contains partners that are not deterministic; ``nan`` if
        they are too many for an exact value.
        """
        if not is_enumerable(self.to, rules):
            check_exact(self.to, rules)
        if self._contexts is None:
            raise NotComputable(f"{self!r} has no contexts: its value depends on a distribution of scenarios")
        solver = self._solvers_of(rules, prior, revealed=False).first
        assert not isinstance(solver, _Stochastic)
        return solver.value(seat)

    def _solvers_of(self, rules: Rules, prior: str, revealed: bool) -> SolvedViews[_ResponseSolver]:
        key = rules, prior, revealed
        if key not in self._solvers or self._solvers[key].size > CACHED_CONTEXTS:
            kind: type[_Deterministic | _Adaptive | _Stochastic] = _Stochastic
            if exact_by_answers(self.to, rules):
                kind = _Deterministic
            elif not revealed and is_enumerable(self.to, rules):
                kind = _Adaptive
            contexts = None if revealed else self._contexts
            self._solvers[key] = SolvedViews(partial(kind, self.to, rules, prior=prior), prior, revealed, contexts)
        return self._solvers[key]


class ActValues:
    """Values of acts against ``partner``, followed by its :class:`BestResponse`; cached by position.

    Raises ``NotComputable`` for a partner whose policy cannot be enumerated, here or at the first value.
    """

    def __init__(self, partner: Partner, rules: Rules, prior: str) -> None:
        self._best, self._rules, self._prior = BestResponse(partner), rules, prior
        self._values: dict[State, dict[Action, float]] = {}

    def position(self, scenario: Scenario, acts: Int8s, oA: Int8s) -> State:
        """The game over ``scenario`` after the acts ``[t]`` and claims ``[t, 3]``."""
        state = State(scenario, self._rules)
        for act, (a, b, c) in zip(acts.tolist(), oA.tolist(), strict=True):
            state = apply(state, Action(Act(act), (a, b, c)))
        return state

    def at_state(self, state: State) -> dict[Action, float]:
        """Expected points of every legal act, 0..the value of the mover's whole pool.

        Only the part of the scenario that the mover sees matters, besides the final pay.
        """
        if state not in self._values:
            self._values[state] = self._best.worth_of_acts(state, self._prior)
        return self._values[state]

    def regret_between(self, before: State, after: State) -> float:
        """The :meth:`regret` of the first act from ``before`` to ``after``; a forfeit without an act pays 0."""
        acts = after.history[len(before.history) :]
        return self.regret(before, acts[0]) if acts else max(self.at_state(before).values()) * TEN / _pool_value(before)

    def regret(self, state: State, action: Action) -> float:
        """The value of the best act minus that of ``action``, in points of ten."""
        values = self.at_state(state)
        key = action if action.act_type.is_offer else Action(action.act_type)
        return (max(values.values()) - values[key]) * TEN / _pool_value(state)


def act_values_against(partner: Partner, rules: Rules, prior: str, example: Scenario) -> ActValues | None:
    """:class:`ActValues` against ``partner``; ``None`` if its policy cannot be enumerated, tested on ``example``."""
    try:
        values = ActValues(partner, rules, prior)
        values.at_state(State(example, rules))
    except NotComputable:
        return None
    return values


def _pool_value(state: State) -> int:
    """The value of the whole pool to the seat to move, at least 1."""
    return max(state.scenario.pool_value(state.mover), 1)


class SolvedViews(Generic[Solved]):
    """The solvers of all private views so far, each made by ``solve`` from the contexts of several views.

    ``contexts``: known beforehand, without revealed values.
    """

    def __init__(
        self, solve: Callable[[Contexts], Solved], prior: str, revealed: bool, contexts: Contexts | None = None
    ) -> None:
        self._solve, self._prior, self._revealed = solve, prior, revealed
        self._by_contexts: list[Solved] = []
        # Of each view, by its number (ascending): the index of its solver, and of its context there.
        self._views, self._places = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
        if contexts is not None:
            self._add(contexts, np.hstack([contexts.own_views.counts, contexts.own_views.utilities]))

    @property
    def size(self) -> int:
        """Number of views so far."""
        return len(self._views)

    @property
    def first(self) -> Solved:
        """The solver of the contexts that were known beforehand."""
        return self._by_contexts[0]

    def by_solver(self, turns: Turns) -> list[tuple[Solved, Index, Index]]:
        """The rows of each solver, and their contexts there."""
        columns = [turns.counts, turns.my_utilities] + [turns.partner_utilities] * self._revealed
        views = np.hstack(columns)
        numbers = _view_numbers(views)
        _, first = np.unique(numbers, return_index=True)
        missing = views[first[~np.isin(numbers[first], self._views, assume_unique=True)]]
        if len(missing):
            self._add(contexts_of_views(self._prior, missing, self._revealed), missing)
        index = self._places[np.searchsorted(self._views, numbers)]
        return [
            (self._by_contexts[number], rows := np.flatnonzero(index[:, 0] == number), index[rows, 1])
            for number in np.unique(index[:, 0])
        ]

    def _add(self, contexts: Contexts, views: Int8s) -> None:
        index = np.stack([np.full(len(views), len(self._by_contexts)), np.arange(len(views))], axis=1)
        numbers = np.concatenate([self._views, _view_numbers(views)])
        order = np.argsort(numbers)
        self._views, self._places = numbers[order], np.concatenate([self._places, index])[order]
        self._by_contexts.append(self._solve(contexts))


def contexts_of_views(prior: str, views: Int8s, revealed: bool) -> Contexts:
    """The contexts of private views ``[C, 6]``: pool and own values; ``revealed``: also the partner's, ``[C, 9]``."""
    counts, own_values = np.ascontiguousarray(views[:, :3]), np.ascontiguousarray(views[:, 3:6])
    if not revealed:
        return contexts_of(prior, counts, own_values)
    rows = np.arange(len(views))  # with revealed values the partner sees this seat's too
    partner_views = Views(counts, np.ascontiguousarray(views[:, 6:]), own_values)
    certain = np.ones((len(views), 1))
    return Contexts(Views(counts, own_values), partner_views, rows[:, None], certain, certain[:, 0] / len(views))


def _view_numbers(views: Int8s) -> Index:
    """One number per row of counts and values, ``[R, 6 or 9]``, in the lexicographic order of the rows."""
    numbers: Index = views.astype(np.int64) @ (BASE ** np.arange(views.shape[1] - 1, -1, -1, dtype=np.int64))
    return numbers


class _Deterministic:
    """The best response to a deterministic partner without memory."""

    def __init__(self, to: Partner, rules: Rules, contexts: Contexts, prior: str) -> None:
        self._moves = Moves(contexts, Replies(to, rules, contexts.partner_views, prior))
        self._solver = Solver(self._moves)

    def value(self, seat: int) -> float:
        return float(self._solver.values(seat) @ self._moves.contexts.shares)

    def best_acts_of(self, turns: Turns, context: Index) -> tuple[Int8s, Int8s]:
        """The best acts ``[R]`` and claims ``[R, 3]`` in the rows' contexts."""
        numbers, moves = self._states(turns, context), self._moves
        solved = self._solver.solve(numbers, turns.rules.max_turns - turns.turns_taken)
        return _acts_of_numbers(solved.act, moves.contexts, context, moves.width)

    def worths(self, turns: Turns, context: Index) -> Doubles:
        """See :meth:`BestResponse.worths`."""
        numbers = self._states(turns, context)
        likely = self._moves.weights(self._moves.unpack(numbers)).sum(axis=1, keepdims=True)
        worths: Doubles = self._solver.act_values(numbers, turns.rules.max_turns - turns.turns_taken) / likely
        return worths[:, np.isfinite(worths).all(axis=0)]  # columns of splits that only larger pools have are infinite

    def _states(self, turns: Turns, context: Index) -> NDArray[np.int64]:
        """The rows' belief states, by number."""
        moves, numbered = self._moves, NumberedHistories(turns)
        fits = moves.all_fit[context]
        for question, answer, turns_left in numbered.answers(moves.width):
            fits = fits & moves.types_answering(context, question, answer, turns_left)
        fits = np.where(fits == 0, moves.all_fit[context], fits)
        offered, nothing = turns.last_partner_act <= Act.INSIST, np.full(turns.size, moves.width)
        own_claim = numbered.claim(turns.seat, moves.width) if moves.rejects else nothing
        return moves.pack(States(context, fits, numbered.claim(1 - turns.seat, moves.width), offered, own_claim))


class _Adaptive:
    """The best response to deterministic partners with memory, or to a draw of several."""

    def __init__(self, to: Partner, rules: Rules, contexts: Contexts, prior: str) -> None:
        self._seats = [Adaptive(to, contexts, seat, rules, prior) for seat in (0, 1)]
        self._forget = all(persona.partner.traits.memoryless for persona in self._seats[0].personas)

    def value(self, seat: int) -> float:
        value, exact = self._seats[seat].value()
        return value if exact else math.nan

    def best_acts_of(self, turns: Turns, context: Index) -> tuple[Int8s, Int8s]:
        """The best acts ``[R]`` and claims ``[R, 3]``; AGREE where no member plays the history."""
        game = self._seats[turns.seat]
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        for number in np.unique(game.pool_of[context]):
            rows = np.flatnonzero(game.pool_of[context] == number)
            pool, history = game.pool(int(number)), turns.history.rows(rows)
            first, inverse = _unique_histories(game.index_in_pool[context[rows]], history)
            explain = pool.beliefs_after_latest if self._forget else pool.beliefs_after
            belief = explain(game.index_in_pool[context[rows[first]]], history.act[first], history.oA[first])
            filled = np.flatnonzero(np.diff(belief.start))
            n, best = pool.automaton.width, np.full(len(first), 2 * pool.automaton.width)
            beliefs = Belief(belief.context[filled], np.append(belief.start[filled], belief.start[-1]), belief.member)
            if beliefs.size:
                best[filled] = pool.best_acts(beliefs, turns.rules.max_turns - turns.turns_taken)
            choice = best[inverse]
            agree = (choice == 2 * n) & turns.act_mask[rows, Act.AGREE]
            claim = np.where(choice == 2 * n, 0, choice)
            act[rows] = np.where(agree, Act.AGREE, claim // n)
            oA[rows] = pool.automaton.splits.oA[0][claim % n] * ~agree[:, None]
        return act, oA

    def worths(self, turns: Turns, context: Index) -> Doubles:
        """See :meth:`BestResponse.worths`."""
        game, turns_left = self._seats[turns.seat], turns.rules.max_turns - turns.turns_taken
        number = int(game.pool_of[context[0]])  # the rows are of one pool
        pool = game.pool(number)
        belief = pool.beliefs_after(game.index_in_pool[context], turns.history.act, turns.history.oA)
        if not pool.exact or not np.diff(belief.start).all():
            raise NotComputable("the value of an act here is only known within bounds")
        likely = np.bincount(belief.row, pool.probabilities(belief, turns_left), belief.size)
        worths = pool.act_values(belief, turns_left)[1] / likely[:, None]
        return worths if worths.shape[1] == 2 * pool.automaton.width else np.tile(worths, 2)


class _Stochastic:
    """The best response to a random partner with known probabilities."""

    def __init__(self, to: Partner, rules: Rules, contexts: Contexts, prior: str) -> None:
        self._odds = Odds(to, contexts, rules, prior)

    def best_acts_of(self, turns: Turns, context: Index) -> tuple[Int8s, Int8s]:
        """The best acts ``[R]`` and claims ``[R, 3]``; in long games the best if the partner's type were known."""
        odds, numbered = self._odds, NumberedHistories(turns)
        types, prior = odds.contexts.types[context], odds.contexts.weights[context]
        answers = numbered.answers(odds.width)
        likely = (
            odds.answers(turns_left)[types, question[:, None], answer[:, None]]
            for question, answer, turns_left in answers
        )
        weights = bayes_update(prior, likely)
        claim, turns_left = numbered.claim(1 - turns.seat, odds.width), turns.rules.max_turns - turns.turns_taken
        if turns_left > SHORT and turns.rules.max_turns > EXACT_TURNS:
            best = best_by_value(odds, context, weights, claim, turns_left)[1]
        else:
            best = np.zeros(turns.size, dtype=np.int64)
            for number in np.unique(context):
                rows = np.flatnonzero(context == number)
                best[rows] = look_ahead(odds, number, weights[rows], claim[rows], turns_left)[1]
        return _acts_of_numbers(best, odds.contexts, context, odds.width)


_ResponseSolver = _Deterministic | _Adaptive | _Stochastic


def _unique_histories(context: Index, history: History) -> tuple[Index, Index]:
    """One row of each different context and history, and the index of each row among them, ``[R]``."""
    columns = np.column_stack([context, history.act, history.oA.reshape(len(context), -1)])
    _, first, inverse = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def _acts_of_numbers(choice: Index, contexts: Contexts, context: Index, n: int) -> tuple[Int8s, Int8s]:
    """Numbered acts as act types ``[R]`` and claims ``[R, 3]``."""
    offer = choice < 2 * n
    act = np.where(offer, choice // n, choice - 2 * n + Act.AGREE).astype(np.int8)
    return act, contexts.splits.oA[context, np.where(offer, choice % n, 0)] * offer[:, None]
