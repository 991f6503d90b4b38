"""A person in a game with messages: at the terminal, on the page, in a replay; without them nothing of it is there."""

from __future__ import annotations

import io
import queue
import sys

import numpy as np
import pytest
from rich.console import Console

from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import from_json, record_of, replay
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from league.display.dialogue import said, steps
from league.display.game import Terminal
from league.display.game import conversation as heard
from league.display.session import Sitting

pytest.importorskip("nicegui", reason="nicegui is not installed: it comes with the [ui] extra")

from league.web.play.live_game import Asked, Ended, LiveGame
from league.web.play.setup_form import Wish
from league.web.play.view import talk_lines
from league.web.replay.step import conversation
from partners.human import Human, View, views
from tests.command import dond

SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
TALK = Rules(message_length=40)


class Chatty:
    """A person who proposes everything, and says so."""

    def __init__(self):
        self.seen = []

    def ask(self, view):
        self.seen.append(view)
        return Action(Act.PROPOSE, view.counts)

    def message(self, view):
        return "All of it \u2013 please\x07!"


def test_a_person_says_a_text_beside_an_act_and_reads_the_partners():
    person = Chatty()
    games = rollout((seat_occupant("announcer"), Human(person)), pack([SCENARIO]), TALK, seed=0, prior="lewis")
    assert games.messages[0, 1] == "All of it - please?!"
    assert person.seen[0].state.messages == ("My values: book 4, hat 1, ball 2.",)
    silent = rollout((seat_occupant("announcer"), Human(person)), pack([SCENARIO]), seed=0, prior="lewis")
    assert silent.messages is None and person.seen[-1].state.messages == ()


def test_a_person_is_not_shown_a_secret_claim():
    from dond_marl.batch import Table
    from dond_marl.seats import decide

    table = Table(pack([SCENARIO]), Rules(3, secret_claims=True))
    for act, oA in ((Act.PROPOSE, (1, 0, 2)), (Act.PROPOSE, (0, 2, 0))):
        table.step(decide(np.array([act]), np.array([oA])))
    (view,) = views(table.turns())
    assert view.state.history == (Action(Act.PROPOSE, (1, 0, 2)), Action(Act.END))


def test_talk_that_binds_nobody_and_secret_claims_are_told_as_such():
    state = State(SCENARIO, Rules(4, secret_claims=True))
    acts = [Action(Act.PROPOSE, (1, 0, 2)), Action(Act.AGREE), Action(Act.END), Action(Act.PROPOSE, (0, 2, 0))]
    for action in acts[:3]:
        state = apply(state, action)
    assert "I would agree to that." in shown(state) and "(A secret claim.)" in shown(state)
    ended = apply(state, acts[3])
    assert "(Secret claim: what I last suggested.)" in shown(ended)
    told = [said(step) for step in steps(record_of(ended, ("a", "b")))]
    assert told[1:] == [
        "I would agree to that.",
        "(Secret claim: what I last suggested.)",
        "(Secret claim: 2 hats.)",
        "",
    ]


def shown(state):
    console = Console(file=io.StringIO(), width=100)
    console.print(heard(state, 1))
    return console.file.getvalue()


def test_the_terminal_asks_for_the_text_after_the_act_and_shows_what_was_said(monkeypatch):
    state = apply(State(SCENARIO, TALK), Action(Act.PROPOSE, (1, 0, 2)), "[bold]hats[/bold] are yours")
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 0 2 1\nno, thanks\n"))
    screen, view = Terminal(Console(file=out, width=100, highlight=False)), View(state)
    assert screen.ask(view) == Action(Act.PROPOSE, (0, 2, 1))
    assert screen.message(view) == "no, thanks"
    assert '"[bold]hats[/bold] are yours"' in out.getvalue()


def test_dond_play_with_messages_records_them(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 0 0 0\ntake everything\n"))
    code = dond(
        "play",
        "--no-color",
        "--partner",
        "announcer",
        "--seat",
        "0",
        "--seed",
        "3",
        "--messages",
        "--record",
        "g.jsonl",
    )
    assert code == 0
    record = from_json((tmp_path / "g.jsonl").read_text().splitlines()[0])
    assert record.rules.message_length == 200 and record.messages[0] == "take everything"
    assert record.messages[1].startswith("My values: book")
    assert replay(record).messages == record.messages


def test_the_page_plays_a_game_with_messages_and_the_replay_shows_them_without_markup(tmp_path):
    source = open_source("lewis")
    sitting = Sitting(seat_occupant("announcer"), "announcer", source, TALK, 3, tmp_path / "games.jsonl", 0)
    heard = queue.Queue()
    game = LiveGame(sitting, 0, 0, heard.put)
    game.start()
    event = heard.get(timeout=60)
    assert isinstance(event, Asked)
    game.say(Action(Act.PROPOSE, (0, 0, 0)), None, "<script>alert(1)</script>")
    ended = heard.get(timeout=60)
    assert isinstance(ended, Ended)
    assert ended.record.messages[0] == "<script>alert(1)</script>"
    page = str(conversation(steps(ended.record), 1, ("you", "they")))
    assert "&lt;script&gt;" in page and "<script>" not in page
    lines = talk_lines(replay(ended.record), 0)
    assert lines[0].message == "<script>alert(1)</script>" and lines[1].message.startswith("My values:")


def test_silent_games_show_no_text_and_are_what_the_form_begins_with():
    state = apply(State(SCENARIO, Rules(2)), Action(Act.PROPOSE, (1, 0, 2)))
    record = record_of(apply(state, Action(Act.AGREE)), ("a", "b"))
    assert 'class="message"' not in str(conversation(steps(record), 1, ("a", "b")))
    assert Wish().messages == "none"
