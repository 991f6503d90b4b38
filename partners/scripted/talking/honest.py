"""A partner that tells its values as they are."""

from __future__ import annotations

from dond_marl.occupants import Spec, seat_occupant
from dond_marl.seats import Decisions, Partner, Traits, Turns
from partners.scripted.talking.grammar import sentences


class Announcer:
    """Plays as another partner and tells its true values beside every act, where messages pass.

    Source: this project; truthful revelation, as in direct mechanisms (Myerson 1979).

    - ``of``: an occupant, who chooses the acts.
    """

    def __init__(self, of: Spec | Partner = "heuristic") -> None:
        self.of = seat_occupant(of)
        self._name = of if isinstance(of, str) else repr(of)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(of={self._name!r})"

    @property
    def traits(self) -> Traits:
        return self.of.traits

    def act(self, turns: Turns) -> Decisions:
        return self.of.act(turns)._replace(messages=sentences(turns, turns.my_utilities))
