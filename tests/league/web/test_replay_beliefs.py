"""What an occupant believes of its partner, on the page that steps through recorded games."""

from __future__ import annotations

import numpy as np

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Traits
from dond_marl.yardsticks.recognition import Guess
from league.display.game import steps
from league.web.replay.beliefs import beliefs_drawn, held
from tests.league.web.test_views import DEAL, record_of


class Believer:
    """Plays as ``heuristic`` and believes the same of everybody, or cannot say."""

    traits = Traits(deterministic=True)

    def __init__(self, says=True):
        self.says = says

    def act(self, turns):
        return seat_occupant("heuristic").act(turns)

    def beliefs(self, turns):
        if not self.says:
            raise KeyError("a belief")
        values = np.zeros((turns.size, 3, 11))
        values[:, :, 2], values[:, :, 7] = 0.75, 0.25
        return Guess(values, ("tough", "<b>linear", "random"), np.full((turns.size, 3), (0.2, 0.798, 0.002)))


def test_what_is_believed_of_the_partner_is_shown_beside_what_is_true():
    record = record_of(DEAL, ("heuristic", "tough"), source="lewis")
    first, second, last = steps(record)
    found = held(Believer(), first, "lewis")
    assert found is not None and found.values[0][2] == 0.75 and found.who[0][0] == "<b>linear"
    drawn = beliefs_drawn(found, first, "tough")
    true = first.state.scenario.utilities[1]
    assert drawn.count('class="true"') == 3 and "What it believes of seat_1" in drawn
    for value in true:
        wanted = f"{value} points, as it is: 75%" if value == 2 else f"2 points: 75%; its {value}: "
        assert wanted in drawn
    assert "tough, as it is" in drawn and "&lt;b&gt;linear" in drawn and "&lt;1%" in drawn and "80%" in drawn
    assert held(seat_occupant("linear"), second, "lewis") is None and held(Believer(), last, "lewis") is None
    assert beliefs_drawn(None, first, "tough") is None
    assert "a belief" in beliefs_drawn(held(Believer(says=False), first, "lewis"), first, "tough")
