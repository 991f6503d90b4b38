"""What every act in a position is worth against a partner whose answers are known: exact, each position solved once."""

from __future__ import annotations

from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.seats import Int8s, Partner
from partners.best_response import BestResponse


class Worths:
    """The worth of acts against ``partner``, if the best response follows them (:class:`BestResponse`).

    Raises ``ValueError`` for a partner whose answers are not known exactly: see :class:`BestResponse`.
    """

    def __init__(self, partner: Partner, rules: Rules, prior: str) -> None:
        self._best, self._rules, self._prior = BestResponse(partner), rules, prior
        self._known: dict[tuple[object, ...], dict[Action, float]] = {}

    def of(self, scenario: Scenario, acts: Int8s, oA: Int8s) -> dict[Action, float]:
        """Points, 0..the mover's whole pool, of every legal act after the acts ``[t]`` and claims ``[t, 3]``.

        Of ``scenario`` only what the seat to move sees changes anything but the points of the last act of a game.
        """
        key = scenario, acts.tobytes(), oA.tobytes()
        if key not in self._known:
            state = State(scenario, self._rules)
            for act, (a, b, c) in zip(acts.tolist(), oA.tolist(), strict=True):
                state = apply(state, Action(Act(act), (a, b, c)) if Act(act).is_offer else Action(Act(act)))
            self._known[key] = self._best.worth_of_acts(state, self._prior)
        return self._known[key]
