"""What every act in a position is worth against a partner whose answers are known: exact, each position solved once."""

from __future__ import annotations

from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.seats import Int8s, Partner
from dond_marl.statistics import TEN
from partners.best_response import BestResponse


class ActValues:
    """The worth of acts against ``partner``, if the best response follows them (:class:`BestResponse`).

    Raises ``ValueError`` for a partner whose answers are not known exactly, here or once it is asked for a worth.
    """

    def __init__(self, partner: Partner, rules: Rules, prior: str) -> None:
        self._best, self._rules, self._prior = BestResponse(partner), rules, prior
        self._known: dict[State, dict[Action, float]] = {}

    def after_acts(self, scenario: Scenario, acts: Int8s, oA: Int8s) -> dict[Action, float]:
        """:meth:`at` the :meth:`position` after the acts ``[t]`` and claims ``[t, 3]``."""
        return self.at_state(self.position(scenario, acts, oA))

    def position(self, scenario: Scenario, acts: Int8s, oA: Int8s) -> State:
        """The game over ``scenario`` after the acts ``[t]`` and claims ``[t, 3]``."""
        state = State(scenario, self._rules)
        for act, (a, b, c) in zip(acts.tolist(), oA.tolist(), strict=True):
            state = apply(state, Action(Act(act), (a, b, c)))
        return state

    def at_state(self, state: State) -> dict[Action, float]:
        """Points, 0..the mover's whole pool, of every legal act.

        Of the scenario, only what the seat to move sees changes anything but what is paid at the end.
        """
        if state not in self._known:
            self._known[state] = self._best.worth_of_acts(state, self._prior)
        return self._known[state]

    def regret_between(self, before: State, after: State) -> float:
        """:meth:`lost` by what was said first from ``before`` on; giving the game up pays what walking away pays."""
        said = after.history[len(before.history) :]
        return self.regret(before, said[0]) if said else max(self.at_state(before).values()) * TEN / _whole(before)

    def regret(self, state: State, action: Action) -> float:
        """What ``action`` is worth less than the best act, points of ten."""
        worth = self.at_state(state)
        said = action if action.act_type.is_offer else Action(action.act_type)
        return (max(worth.values()) - worth[said]) * TEN / _whole(state)


def act_values_against(partner: Partner, rules: Rules, prior: str, one: Scenario) -> ActValues | None:
    """What acts are worth against ``partner``; None where that is not known, which the opening of ``one`` shows."""
    try:
        worths = ActValues(partner, rules, prior)
        worths.at_state(State(one, rules))
    except ValueError:
        return None
    return worths


def _whole(state: State) -> int:
    """What the pool is worth to the seat to move, at least 1."""
    return max(state.scenario.pool_value(state.mover), 1)
