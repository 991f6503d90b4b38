"""A person in a game with messages: at the terminal, on the page, in a replay; without them nothing of it is there."""

from __future__ import annotations

import io
import sys

from rich.console import Console

from dond.table.game import (
    Terminal,
    steps,
    talk_lines,
)
from dond.table.session import Sitting, TableGame, TableSession
from dond.web.frame import render
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import from_json, replay
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from partners.human import Human, View
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


def test_messages_pass_between_person_and_partner():
    person = Chatty()
    games = rollout((seat_occupant("announcer"), Human(person)), pack([SCENARIO], "lewis"), TALK, seed=0)
    assert games.messages[0, 1] == "All of it - please?!"
    assert person.seen[0].state.messages == ("My values: book 4, hat 1, ball 2.",)
    silent = rollout((seat_occupant("announcer"), Human(person)), pack([SCENARIO], "lewis"), seed=0)
    assert silent.messages is None and person.seen[-1].state.messages == ()


def test_view_hides_partner_values():
    state = apply(State(SCENARIO), Action(Act.PROPOSE, (1, 0, 2)))
    game = TableGame(state)
    assert game.view(0) is None and game.view(1).values == (0, 4, 1)
    assert game.view(1).state.scenario.utilities[0] == (0, 0, 0)


def test_terminal_message_prompt(monkeypatch):
    state = apply(State(SCENARIO, TALK), Action(Act.PROPOSE, (1, 0, 2)), "[bold]hats[/bold] are yours")
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 0 2 1\nno, thanks\n"))
    screen, view = Terminal(Console(file=out, width=100, highlight=False)), View(state)
    assert screen.ask(view) == Action(Act.PROPOSE, (0, 2, 1))
    assert screen.message(view) == "no, thanks"
    assert '"[bold]hats[/bold] are yours"' in out.getvalue()


def test_play_command_records_messages(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 0 0 0\ny\ntake everything\n"))
    words = ["--partner", "announcer", "--seat", "0", "--seed", "3", "--messages", "--record", "g.jsonl"]
    assert dond("play", *words) == 0
    record = from_json((tmp_path / "g.jsonl").read_text().splitlines()[0])
    assert record.rules.message_length == 200 and record.messages[0] == "take everything"
    assert record.messages[1].startswith("My values: book")
    assert replay(record).messages == record.messages


def test_page_messages_are_escaped_in_replay(tmp_path):
    source = open_source("lewis")
    sitting = Sitting(seat_occupant("announcer"), "announcer", source, TALK, 3, tmp_path / "games.jsonl", 0)
    table = TableSession(sitting)
    table.play(Action(Act.PROPOSE, (0, 0, 0)), None, "<script>alert(1)</script>")
    table.proceed(table.next_turn())
    ((record, _),) = table.played
    assert record.messages[0] == "<script>alert(1)</script>"
    page = str(render("replay", "talk", steps(record), 1, ("you", "they")))
    assert "&lt;script&gt;" in page and "<script>" not in page
    lines = talk_lines(replay(record), 0)
    assert lines[0].message == "<script>alert(1)</script>" and lines[1].message.startswith("My values:")
