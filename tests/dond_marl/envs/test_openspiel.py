"""Where its rules coincide with ours, OpenSpiel's ``bargaining`` (Lewis et al. 2017, offers and Agree alone) agrees.

They coincide while PROPOSE and AGREE are the only acts. One rule differs by design: OpenSpiel's last offer can never
become a deal, while our turn limit is a final selection, where two claims that add up to the pool are one.
"""

from __future__ import annotations

import random
import re

import pytest

from dond_marl.game import Act, Action, Ending, Scenario, State, apply, legal_actions

pyspiel = pytest.importorskip("pyspiel", reason="pip install -e '.[bench]' brings OpenSpiel")
pytestmark = pytest.mark.bench

GAMES = 10_000


def numbers(text: str) -> tuple[int, int, int]:
    a, b, c = map(int, re.findall(r"\d+", text))
    return a, b, c


def scenario_of(state) -> Scenario:
    """The scenario that OpenSpiel dealt, read from how it prints itself."""
    lines = dict(line.split(":", 1) for line in str(state).splitlines()[:3])
    return Scenario(numbers(lines["Pool"]), (numbers(lines["P0 vals"]), numbers(lines["P1 vals"])))


def test_ten_thousand_games_have_the_same_legal_acts_and_the_same_payoffs():
    game, draw, endings = pyspiel.load_game("bargaining"), random.Random(0), dict.fromkeys(Ending, 0)
    agree = game.num_distinct_actions() - 1
    for number in range(GAMES):
        theirs = game.new_initial_state()
        theirs.apply_action(number % 1000)
        ours = State(scenario_of(theirs))
        offers = {act: numbers(theirs.action_to_string(act)) for act in theirs.legal_actions()}
        while not theirs.is_terminal():
            legal = theirs.legal_actions()
            said = {offers[act] for act in legal if act != agree}
            open_to_us = legal_actions(ours)
            assert {action.oA for action in open_to_us if action.act_type is Act.PROPOSE} == said
            assert (Action(Act.AGREE) in open_to_us) == (agree in legal)
            assert ours.mover == theirs.current_player()
            act = agree if agree in legal and draw.random() < 0.12 else draw.choice(legal)
            theirs.apply_action(act)
            ours = apply(ours, Action(Act.AGREE) if act == agree else Action(Act.PROPOSE, offers[act]))
        assert ours.outcome is not None
        endings[ours.outcome.ending] += 1
        if ours.outcome.ending is Ending.TURN_LIMIT and ours.outcome.deal:
            assert theirs.returns() == [0, 0]  # the rule that differs
        else:
            assert theirs.returns() == list(ours.outcome.scores)
    assert endings[Ending.AGREE] > 1000 and endings[Ending.TURN_LIMIT] > 1000
