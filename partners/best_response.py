"""The partner that does best against a given other one, and knows it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dond_marl.belief_states import Moves, States
from dond_marl.best_response import Solver, check_exact
from dond_marl.contexts import Contexts, Index, Views, contexts_of
from dond_marl.game import Act, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.replies import Replies
from dond_marl.seats import Decisions, Int8s, Partner, Traits, Turns, decide

REMEMBERED = 4096  # contexts; beyond that it begins again with an empty memory


class BestResponse:
    """The exact best response to ``to``, a deterministic partner without memory.

    Source: expectimax over belief states (Kaelbling, Littman, Cassandra 1998, section 3; see
    :mod:`dond_marl.best_response`). It knows how ``to`` answers, but not its values: it believes the scenario prior
    and learns from every answer. Solved when it is first asked, for the views that come up. If its partner says
    what ``to`` would say under no values, it begins again with the prior. ``contexts``: the distribution to believe in
    instead of the one that the game names. It is exact or nothing: the uniform prior, with its 1,330 possible partner
    values, raises :class:`~dond_marl.belief_states.OutOfReach`.
    """

    traits = Traits(deterministic=True)

    def __init__(self, to: Spec | Partner, contexts: Contexts | None = None) -> None:
        self.to = seat_occupant(to)
        self._name, self._given = to if isinstance(to, str) else repr(to), contexts
        check_exact(self.to, Rules())
        self._memory: dict[tuple[Rules, str, bool], _Memory] = {}

    def __repr__(self) -> str:
        return f"BestResponse(to={self._name!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_memory": {}}  # solved again where it is needed

    def act(self, turns: Turns) -> Decisions:
        """One decision per row."""
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        shown = turns.partner_utilities.any(axis=1)
        for revealed in np.unique(shown).tolist():
            rows = np.flatnonzero(shown == revealed)
            part = turns.rows(rows)
            for solver, some, context in self._remembered(part, revealed).solvers(part):
                act[rows[some]], oA[rows[some]] = _said(solver, part.rows(some), context)
        return decide(act, oA)

    def _remembered(self, turns: Turns, revealed: bool) -> _Memory:
        key = turns.rules, turns.prior, revealed
        if key not in self._memory or self._memory[key].size > REMEMBERED:
            self._memory[key] = _Memory(self.to, turns, self._given, revealed)
        return self._memory[key]


class _Memory:
    """The solvers of the views met so far, under one set of rules and one prior."""

    def __init__(self, to: Partner, turns: Turns, given: Contexts | None, revealed: bool) -> None:
        self._to, self._rules, self._prior, self._revealed = to, turns.rules, turns.prior, revealed
        self._solvers: list[Solver] = []
        self._places: dict[bytes, tuple[int, int]] = {}  # of a view: which solver, which of its contexts
        if given is not None and not revealed:
            self._learn(given, np.hstack([given.own.counts, given.own.utilities]))

    @property
    def size(self) -> int:
        return len(self._places)

    def solvers(self, turns: Turns) -> list[tuple[Solver, Index, Index]]:
        """Which solver knows which rows, and their contexts there."""
        columns = [turns.counts, turns.my_utilities] + [turns.partner_utilities] * self._revealed
        views, which = np.unique(np.hstack(columns), axis=0, return_inverse=True)
        new = views[[view.tobytes() not in self._places for view in views]]
        if len(new):
            self._learn(self._contexts(new), new)
        places = np.array([self._places[view.tobytes()] for view in views])[which.reshape(-1)]
        return [
            (self._solvers[number], rows := np.flatnonzero(places[:, 0] == number), places[rows, 1])
            for number in np.unique(places[:, 0])
        ]

    def _learn(self, contexts: Contexts, views: Int8s) -> None:
        replies = Replies(self._to, self._rules, contexts.theirs, self._prior)
        for place, view in enumerate(views):
            self._places[view.tobytes()] = len(self._solvers), place
        self._solvers.append(Solver(Moves(contexts, replies)))

    def _contexts(self, views: Int8s) -> Contexts:
        counts, own = np.ascontiguousarray(views[:, :3]), np.ascontiguousarray(views[:, 3:6])
        if not self._revealed:
            return contexts_of(self._prior, counts, own)
        each = np.arange(len(views))  # where values are revealed, the partner sees this seat's too
        theirs = Views(counts, np.ascontiguousarray(views[:, 6:]), own)
        certain = np.ones((len(views), 1))
        return Contexts(Views(counts, own), theirs, each[:, None], certain, certain[:, 0] / len(views))


def _said(solver: Solver, turns: Turns, context: Index) -> tuple[Int8s, Int8s]:
    """The best acts ``[R]`` and claims ``[R, 3]`` in the rows' contexts."""
    moves, left = solver.moves, turns.rules.max_turns - turns.taken
    numbers = moves.pack(_state(moves, turns, context))
    level = solver.solved(numbers, left)
    say = level.say[np.searchsorted(level.numbers, numbers)].astype(np.int64)
    offer = say < 2 * moves.width
    act = np.where(offer, say // moves.width, say - 2 * moves.width + Act.AGREE).astype(np.int8)
    oA = moves.contexts.splits.oA[context, np.where(offer, say % moves.width, 0)] * offer[:, None]
    return act, oA


class _Said(NamedTuple):
    """One act of each row: its kind and, for an offer, the number of its split."""

    act: Int8s
    split: Index


def _state(moves: Moves, turns: Turns, context: Index) -> States:
    """What the rows' histories come to."""
    rows, n, seat = np.arange(turns.size), moves.width, turns.seat
    acts, claims = turns.history.act, turns.history.oA
    own = claim = np.full(turns.size, n)
    heard, fits = np.full(turns.size, 2 * n), moves.all_fit[context]
    for turn in range(turns.taken):
        act, split = acts[:, turn], _split_number(turns.counts, claims[:, turn])
        offer = act <= Act.INSIST
        if turn % 2 == seat:
            own = np.where(offer, split, own)
            heard = np.where(offer, act * n + split, 2 * n + 1 + own)
        else:
            said = np.where(offer, act * n + split, 2 * n + act - Act.AGREE)
            fits = fits & moves.saying(context, heard, said, turns.rules.max_turns - turn)
            claim = np.where(offer, split, claim)
    fits = np.where(fits == 0, moves.all_fit[context], fits)
    offered = turns.last_partner_act <= Act.INSIST
    return States(context[rows], fits, claim, offered, own if moves.rejects else np.full(turns.size, n))


def _split_number(counts: Int8s, oA: Int8s) -> Index:
    """Which of its pool's splits each claim is, ``[R]``, in lexicographic order."""
    second, third = counts[:, 1].astype(np.int64) + 1, counts[:, 2].astype(np.int64) + 1
    return (oA[:, 0] * second + oA[:, 1]) * third + oA[:, 2]
