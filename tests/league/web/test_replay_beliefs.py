"""Beliefs of a policy on the replay page."""

from __future__ import annotations

import numpy as np

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Traits
from dond_marl.yardsticks.recognition import Guess
from league.display.game import steps
from league.web.frame import render
from league.web.recorded import beliefs
from tests.league.web.test_play_and_leagues import DEAL, record_of


class Believer:
    """Plays as ``heuristic`` with constant beliefs."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        return seat_occupant("heuristic").act(turns)

    def beliefs(self, turns):
        values = np.zeros((turns.size, 3, 11))
        values[:, :, 2], values[:, :, 7] = 0.75, 0.25
        return Guess(values, ("tough", "<b>linear", "random"), np.full((turns.size, 3), (0.2, 0.798, 0.002)))


def test_belief_bars_mark_the_truth():
    record = record_of(DEAL, ("heuristic", "tough"), source="lewis")
    first, second, _ = steps(record)
    found = beliefs(Believer(), first, "lewis")
    assert found is not None and found.values[0][2] == 0.75 and found.members[0][0] == "<b>linear"
    drawn = render("replay", "beliefs", first, "tough", found)
    true = first.state.scenario.utilities[1]
    assert drawn.count('class="true"') == 3 and "Its beliefs on seat_1" in drawn
    for value in true:
        wanted = f"{value} points, as it is: 75%" if value == 2 else f"2 points: 75%; its {value}: "
        assert wanted in drawn
    assert "tough, as it is" in drawn and "&lt;b&gt;linear" in drawn and "&lt;1%" in drawn and "80%" in drawn
    assert beliefs(seat_occupant("linear"), second, "lewis") is None
    assert render("replay", "beliefs", first, "tough", None) == ""
