"""A finished game act by act, as chess sites do it: what each act was worth, and what would have been worth more.

An act is worth the points that the seat can expect from it if it plays on as well as can be, against the partner that
it met and knowing no more than it could know then: the values of the exact best response
(:meth:`partners.best_response.BestResponse.worths`). Where no distribution of the partner's values is within reach of
that, the best response is told them, which the game's end has revealed. Where the partner gambles, or is a person, no
act has an exact value, and the acts of an expert stand beside those that were played.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, Rules, State, Triple, apply, worth
from dond_marl.records.record import GameRecord
from dond_marl.seats import Partner
from dond_marl.yardsticks.adaptive import is_enumerable
from dond_marl.yardsticks.best_response import OutOfReach, exact_by_answers
from dond_marl.yardsticks.contexts import Contexts, Views
from partners.best_response import BestResponse

ALTERNATIVES = 3
LONGEST = 12  # turns of a game against a partner that remembers; with more the search takes minutes
BEST = 0.05  # points; an act that costs less is a best one
GOOD = 0.5  # points; an act that costs no more is a good one


class ValuedAct(NamedTuple):
    """An act, and the points to be expected from it, 0..whole pool; ``nan`` where that is not known."""

    action: Action
    points: float


class JudgedAct(NamedTuple):
    """One act of the seat; ``best`` are the best acts other than it, the best first, none where nothing is known.

    After an act that is as good as any, the last of them is the best one that is worse.
    """

    state: State  # before the act
    played: ValuedAct
    best: tuple[ValuedAct, ...]
    expert: ValuedAct | None  # what the expert would have said

    @property
    def cost(self) -> float:
        """The points that it gave away, ``nan`` where that is not known."""
        return max(self.best[0].points - self.played.points, 0.0) if self.best else math.nan


class Analysis(NamedTuple):
    """A seat's acts, and what they are compared with, in a sentence; ``exact``: every value is."""

    acts: tuple[JudgedAct, ...]
    compared: str
    exact: bool

    @property
    def given_away(self) -> float:
        """The points of all acts together, ``nan`` where they are not known."""
        return sum(act.cost for act in self.acts)


def analyse_acts(record: GameRecord, seat: int, partner: Partner | None, expert: Partner | None) -> Analysis:
    """The acts of ``seat`` in a game against ``partner``, ``None`` for somebody who cannot be asked.

    ``expert``, ``None`` for nobody, says what it would have said. Takes seconds against partners that remember.
    """
    prior, name = (record.source or "").split(",")[0], record.occupants[1 - seat]
    states = _states_of_seat(record, seat)
    best, compared = _best_response(partner, states[0], name, prior) if states else (None, "")
    values: list[dict[Action, float]] = []
    if best is not None:
        try:
            values = [best.worth_of_acts(state, prior) for state in states]
        except (ValueError, OutOfReach) as error:
            compared = f"No act has an exact value here: {error}. {_BESIDE}"
    acts = []
    for number, state in enumerate(states):
        played, known = record.actions[len(state.history)], values[number] if values else {}
        asked = None if expert is None else only_action(expert.act(turn_of(state, prior=prior)))
        acts.append(
            JudgedAct(
                state,
                ValuedAct(played, known.get(_plain(played), math.nan)),
                _alternatives(known, _plain(played), state),
                None if asked is None else ValuedAct(asked, known.get(_plain(asked), math.nan)),
            )
        )
    return Analysis(tuple(acts), compared, bool(values))


def judgement(judged: JudgedAct) -> str:
    """The judgement of an act: ``best``, ``good`` or ``gave away 2 points``; empty where nothing is known."""
    if math.isnan(judged.cost):
        return ""
    if judged.cost < BEST:
        return "best"
    if judged.cost <= GOOD:
        return "good"
    told = f"{judged.cost:.1f}".removesuffix(".0")
    return f"gave away {told} point{'' if told == '1' else 's'}"


_BESIDE = "Beside your acts stand those of the expert."


def _best_response(partner: Partner | None, state: State, name: str, prior: str) -> tuple[BestResponse | None, str]:
    """Who is compared with, told in a sentence."""
    if partner is None:
        return None, f"No act has an exact value here: nobody knows how {name} would have answered. {_BESIDE}"
    if state.rules.secret_claims:
        return None, f"No act has an exact value here: nothing binds before the secret claims. {_BESIDE}"
    if (why := _why_unknown(partner, state.rules)) is not None:
        return None, f"No act has an exact value here: {name} {why}. {_BESIDE}"
    told = f"Expected is what the best response to {name} gets on average from that act on, knowing how {name} answers"
    if prior != "uniform":
        try:
            response = BestResponse(partner)
            response.act(turn_of(state, prior=prior))
        except (ValueError, OutOfReach):
            pass
        else:
            return response, f"{told}, but not what it values. One game may end with more or less."
    if not exact_by_answers(partner, state.rules):  # with so many splits it takes minutes
        return None, f"No act has an exact value here: {name} remembers, and there are too many splits. {_BESIDE}"
    return BestResponse(partner, _certain(state)), f"{told} and, as the game is over, what it values."


def _why_unknown(partner: Partner, rules: Rules) -> str | None:
    """Why the best response to ``partner`` is not looked for, ``None`` if it is."""
    if partner.traits.costly or partner.traits.remote:
        return "takes long to ask"
    if exact_by_answers(partner, rules):
        return None
    if not (partner.traits.deterministic and is_enumerable(partner, rules)):
        if partner.traits.deterministic and rules.message_length:
            return "may be moved by what is said"
        return "gambles, or remembers more than can be followed"
    return f"remembers, and games of more than {LONGEST} acts are too long" if rules.max_turns > LONGEST else None


def _certain(state: State) -> Contexts:
    """The one scenario, known for certain."""
    scenario, seat = state.scenario, state.mover
    counts = np.array([scenario.counts], dtype=np.int8)
    mine, theirs = (np.array([scenario.utilities[each]], dtype=np.int8) for each in (seat, 1 - seat))
    one = np.ones((1, 1))
    return Contexts(Views(counts, mine), Views(counts, theirs), np.zeros((1, 1), dtype=np.int64), one, one[0])


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
    """The best other acts, one a split; of equal ones those that ask for more, and beside a good act a worse one."""
    mine = state.scenario.utilities[state.mover]

    def rank(action: Action) -> tuple[float, float, int]:
        return -round(values[action], 6), -worth(mine, action.oA), action.act_type

    found: dict[Triple | Act, Action] = {}
    for action in sorted((each for each in values if each != played), key=rank):
        kind: Triple | Act = action.oA if action.act_type.is_offer else action.act_type
        found.setdefault(kind, action)
    others = list(found.values())
    shown = others[:ALTERNATIVES]
    if played in values and shown and values[shown[0]] - values[played] <= GOOD:
        worse = [action for action in others if values[action] < values[played] - BEST]
        if worse and worse[0] not in shown:
            shown[-1] = worse[0]
    return tuple(ValuedAct(action, values[action]) for action in shown)
