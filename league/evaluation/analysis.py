"""Analysis of a finished game, act by act: the value of each act and of better ones.

The value of an act is the expected points of the seat with the best response from there on, against the same partner
and with the information that the seat had: the values of the exact best response
(:meth:`partners.best_response.BestResponse.worths`). Where no distribution of the partner's values is
tractable, the best response uses the true ones, which the game's end has revealed. Where the partner is stochastic or a
person, no act has an exact value, and the acts of an expert are shown next to those played.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, State, Triple, apply, worth
from dond_marl.records.record import GameRecord
from dond_marl.seats import Partner
from dond_marl.solvers.adaptive import is_enumerable
from dond_marl.solvers.best_response import OutOfReach, exact_by_answers
from dond_marl.solvers.contexts import Contexts, Views
from league.play.occupant_kinds import is_free
from partners.best_response import BestResponse
from partners.scripted.generated import nickname

ALTERNATIVES = 3
LONGEST = 12  # turns of a game against a partner with memory; with more the search takes minutes
BEST = 0.05  # points; an act that costs less is a best one
GOOD = 0.5  # points; an act that costs no more is a good one


class ValuedAct(NamedTuple):
    """An act and its expected points, 0..whole pool; ``nan`` where unknown."""

    action: Action
    points: float


class JudgedAct(NamedTuple):
    """One act of the seat; ``best`` are the best acts other than it, the best first, none where nothing is known.

    After an act that is as good as any, the last of them is the best one that is worse.
    """

    state: State  # before the act
    played: ValuedAct
    best: tuple[ValuedAct, ...]
    expert: ValuedAct | None  # the expert's act
    # After an act that was not good: how this game would have gone on after the best one, with the best response.
    line: tuple[Action, ...] = ()

    @property
    def cost(self) -> float:
        """The points given away, ``nan`` where unknown."""
        return max(self.gain(self.best[0]), 0.0) if self.best else math.nan

    def gain(self, other: ValuedAct) -> float:
        """The points that ``other`` would gain: a difference of tenths, in which both values are shown."""
        return round(round(other.points, 1) - round(self.played.points, 1), 1)


class Analysis(NamedTuple):
    """A seat's acts, a sentence on the comparison, and whether every value is ``exact``."""

    acts: tuple[JudgedAct, ...]
    compared: str
    exact: bool


def analyse_acts(record: GameRecord, seat: int, partner: Partner | None, expert: Partner | None) -> Analysis:
    """The analysed acts of ``seat`` in a game against ``partner``, ``None`` for one that cannot be queried.

    ``expert``: gives its own act at every state. Takes seconds against partners with memory.
    """
    prior, other = (record.source or "").split(",")[0], record.occupants[1 - seat]
    name = nickname(other) or other
    states = _states_of_seat(record, seat)
    values: list[dict[Action, float]] = []
    compared, acts = "", []
    if states:
        try:
            best, compared = _best_response(partner, states[0], name, prior)
            values = [best.worth_of_acts(state, prior) for state in states]
        except (NotComputable, OutOfReach) as reason:
            compared = f"No act has an exact value here: {reason}. The expert's acts are shown next to yours."
    for number, state in enumerate(states):
        played, act_values = record.actions[len(state.history)], values[number] if values else {}
        advised = None if expert is None else only_action(expert.act(turn_of(state, prior=prior)))
        judged = JudgedAct(
            state,
            ValuedAct(played, act_values.get(_plain(played), math.nan)),
            _alternatives(act_values, _plain(played), state),
            None if advised is None else ValuedAct(advised, act_values.get(_plain(advised), math.nan)),
        )
        if judged.cost > GOOD and partner is not None:
            judged = judged._replace(line=_line(best, partner, state, judged.best[0].action, prior))
        acts.append(judged)
    return Analysis(tuple(acts), compared, bool(values))


def _line(best: BestResponse, partner: Partner, state: State, action: Action, prior: str) -> tuple[Action, ...]:
    """The acts that follow ``action`` in this game, of the partner and of the best response in the seat."""
    seat, acts = state.mover, list[Action]()
    state = apply(state, action)
    while not state.is_over:
        acts.append(only_action((best if state.mover == seat else partner).act(turn_of(state, prior=prior))))
        state = apply(state, acts[-1])
    return tuple(acts)


def judgement(judged: JudgedAct) -> str:
    """The judgement of an act: ``best``, ``good`` or ``gave away 2 points``; empty where nothing is known."""
    if math.isnan(judged.cost):
        return ""
    if judged.cost < BEST:
        return "best"
    if judged.cost <= GOOD:
        return "good"
    points = f"{judged.cost:.1f}".removesuffix(".0")
    return f"gave away {points} point{'' if points == '1' else 's'}"


def _best_response(partner: Partner | None, state: State, name: str, prior: str) -> tuple[BestResponse, str]:
    """The best response that acts are compared with, and a sentence on it. Raises ``NotComputable`` with a reason."""
    if partner is None:
        raise NotComputable(f"the answers of {name} cannot be computed")
    rules, traits, by_answers = state.rules, partner.traits, exact_by_answers(partner, state.rules)
    if not is_free(partner):
        raise NotComputable(f"{name} is not the project's own, or slow to query, so it is queried in its games alone")
    if not by_answers and not (traits.deterministic and is_enumerable(partner, rules)):
        talks = traits.deterministic and rules.message_length
        raise NotComputable(f"{name} {'may react to messages' if talks else 'is stochastic, or has too much memory'}")
    if not by_answers and rules.max_turns > LONGEST:
        raise NotComputable(f"{name} has memory, and games of more than {LONGEST} acts are too long")
    basis = f"Expected is what the best response to {name} gets on average from that act on, knowing how {name} answers"
    if prior != "uniform":
        try:
            response = BestResponse(partner)
            response.act(turn_of(state, prior=prior))
        except (NotComputable, OutOfReach):
            pass
        else:
            return response, f"{basis}, but not what it values. One game may end with more or less."
    if not by_answers:  # with so many splits it takes minutes
        raise NotComputable(f"{name} has memory, and there are too many splits")
    return BestResponse(partner, _certain(state)), f"{basis} and, as the game is over, what it values."


def _certain(state: State) -> Contexts:
    """The one scenario, known for certain."""
    scenario, seat = state.scenario, state.mover
    counts = np.array([scenario.counts], dtype=np.int8)
    seat_views, partner_views = (
        Views(counts, np.array([scenario.utilities[holder]], dtype=np.int8)) for holder in (seat, 1 - seat)
    )
    unit = np.ones((1, 1))
    return Contexts(seat_views, partner_views, np.zeros((1, 1), dtype=np.int64), unit, unit[0])


def _states_of_seat(record: GameRecord, seat: int) -> list[State]:
    """The states in which the seat was to move."""
    state, states = State(record.scenario, record.rules), []
    for turn, action in enumerate(record.actions):
        if turn % 2 == seat:
            states.append(state)
        if turn + 1 < len(record.actions):  # the last may be an illegal one
            state = apply(state, action, record.messages[turn] if record.messages else "")
    return states


def _plain(action: Action) -> Action:
    """The act as legal acts are written: those that make no offer keep nothing."""
    return action if action.act_type.is_offer else Action(action.act_type)


def _alternatives(values: dict[Action, float], played: Action, state: State) -> tuple[ValuedAct, ...]:
    """The best other acts, one a split; of equal ones those that claim more, and after a good act a worse one."""
    seat_values = state.scenario.utilities[state.mover]

    def rank(action: Action) -> tuple[float, float, int]:
        return -round(values[action], 6), -worth(seat_values, action.oA), action.act_type

    by_kind: dict[Triple | Act, Action] = {}
    for action in sorted((other for other in values if other != played), key=rank):
        kind: Triple | Act = action.oA if action.act_type.is_offer else action.act_type
        by_kind.setdefault(kind, action)
    ranked = list(by_kind.values())
    shown = ranked[:ALTERNATIVES]
    if played in values and shown and values[shown[0]] - values[played] <= GOOD:
        worse = [action for action in ranked if values[action] < values[played] - BEST]
        if worse and worse[0] not in shown:
            shown[-1] = worse[0]
    return tuple(ValuedAct(action, values[action]) for action in shown)
