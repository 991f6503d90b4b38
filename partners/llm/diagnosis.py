"""The regret of a language model's acts: the value of every act against a partner with known policy.

Each position is solved once (:class:`ActValues`).
"""

from __future__ import annotations

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.seats import Int8s, Partner
from dond_marl.statistics import TEN
from partners.best_response import BestResponse


class ActValues:
    """Values of acts against ``partner``, followed by a best response (:class:`BestResponse`); cached by position.

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
