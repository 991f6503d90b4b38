"""A person in a game with messages: at the terminal, on the page, in a replay; without them nothing of it is there."""

from __future__ import annotations

import io
import queue
import sys

import numpy as np
import pytest
from rich.console import Console

from dond.table.game import (
    Terminal,
    act_sentence,
    describe_act,
    describe_action,
    ending,
    ending_text,
    protocol,
    steps,
    talk_lines,
    turns_left,
    warning,
)
from dond.table.game import conversation as heard
from dond.table.session import Sitting
from dond.web.bargaining_table import act_choices, describe_reading, headline
from dond.web.frame import render
from dond.web.live_game import GameEnded, LiveGame, PersonsTurn
from dond.web.occupants import Candidate, GameChoice, sitting_of
from dond.web.replay_page import best_answer
from dond_marl.errors import InputError, NotComputable
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import from_json, record_of, replay
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from partners.human import Human, View, views
from tests.command import dond

EQUILIBRIUM = GameChoice(partner="equilibrium", binding="claims")
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


def test_view_hides_partner_secret_claim():
    from dond_marl.batch import GameBatch
    from dond_marl.seats import decide

    table = GameBatch(pack([SCENARIO], "uniform"), Rules(3, secret_claims=True))
    for act, oA in ((Act.PROPOSE, (1, 0, 2)), (Act.PROPOSE, (0, 2, 0))):
        table.step(decide(np.array([act]), np.array([oA])))
    (view,) = views(table.turns())
    assert view.state.history == (Action(Act.PROPOSE, (1, 0, 2)), Action(Act.END))


def test_talk_and_secret_claims_in_words():
    state = State(SCENARIO, Rules(4, secret_claims=True))
    acts = [Action(Act.PROPOSE, (1, 0, 2)), Action(Act.AGREE), Action(Act.END), Action(Act.PROPOSE, (0, 2, 0))]
    for action in acts[:3]:
        state = apply(state, action)
    assert "(A secret claim.)" in shown(state) and "(Secret claim:" not in shown(state)
    ended = apply(state, acts[3])
    assert shown(ended).count("(Secret claim:") == 2
    sentences = [act_sentence(step) for step in steps(record_of(ended, ("a", "b")))]
    assert "2 hats" in sentences[3] and sentences[4] == ""


def shown(state):
    console = Console(file=io.StringIO(), width=100)
    console.print(heard(state, 1))
    return console.file.getvalue()


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
    heard = queue.Queue()
    game = LiveGame(sitting, 0, 0, heard.put)
    game.start()
    event = heard.get(timeout=60)
    assert isinstance(event, PersonsTurn)
    game.play(Action(Act.PROPOSE, (0, 0, 0)), None, "<script>alert(1)</script>")
    ended = heard.get(timeout=60)
    assert isinstance(ended, GameEnded)
    assert ended.record.messages[0] == "<script>alert(1)</script>"
    page = str(render("replay", "talk", steps(ended.record), 1, ("you", "they")))
    assert "&lt;script&gt;" in page and "<script>" not in page
    lines = talk_lines(replay(ended.record), 0)
    assert lines[0].message == "<script>alert(1)</script>" and lines[1].message.startswith("My values:")


def test_secret_claims_wording():
    rules = Rules(4, secret_claims=True)
    assert protocol(Rules()) == "" and "first act" in protocol(Rules(3, secret_claims=True))
    assert "2 acts" in protocol(rules) and "talk" not in protocol(Rules(2, secret_claims=True))
    talk = apply(State(SCENARIO, rules), Action(Act.PROPOSE, (1, 0, 2)))
    assert warning(Action(Act.PROPOSE, (0, 0, 0)), View(talk)) and not warning(Action(Act.AGREE), View(talk))
    labels = [choice.label for choice in act_choices(View(talk), (0, 2, 0))]
    assert labels == ["Suggest", "Insist", "Say yes", "Say no", "Suggest nothing"]
    assert "2 hats" in headline(View(talk)) and "8 points" in headline(View(talk))
    assert turns_left(talk).startswith("1 act")
    claims = apply(apply(talk, Action(Act.AGREE)), Action(Act.PROPOSE, (1, 2, 2)))
    mine = {choice.act: choice for choice in act_choices(View(claims), (0, 2, 0))}
    assert Act.INSIST not in mine and mine[Act.AGREE].detail.endswith(", 8 points")
    assert mine[Act.END].detail == "nothing" and mine[Act.PROPOSE].label == "Claim this"
    assert "2 hats" in headline(View(claims))
    assert warning(Action(Act.END), View(claims)) and warning(Action(Act.PROPOSE, (1, 0, 0)), View(claims))
    assert warning(Action(Act.AGREE), View(claims)) == ""
    assert describe_action(Action(Act.AGREE), View(claims)).startswith("AGREE: you claim 2 hats (8 points)")
    assert "2 hats (8 points)" in describe_reading(Action(Act.AGREE), View(claims))
    assert describe_act(Action(Act.END), claims) != describe_act(Action(Act.END), talk)
    assert "everything" not in str(talk_lines(claims, 1)) and talk_lines(claims, 1)[2].text == "(A secret claim.)"
    assert talk_lines(claims, 0)[2].text == "(Secret claim: 1 book, 2 hats, 2 balls.)"
    over = apply(claims, Action(Act.AGREE))
    assert ending(over, 1).startswith("No deal.") and "0 points" in ending(over, 1)
    assert ending_text(over, 0)[0] == "No deal."
    assert talk_lines(over, 1)[2].text == "(Secret claim: 1 book, 2 hats, 2 balls.)"
    with pytest.raises(NotComputable):
        best_answer(seat_occupant("tough"), steps(record_of(over, ("a", "b")))[0], "lewis")


@pytest.mark.parametrize("seat", ["0", "1"])
def test_play_command_with_secret_claims(seat, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("p 0 0 0\ny\nhello\nd\ny\n"))
    arguments = ["--partner", "heuristic", "--seat", seat, "--seed", "3", "--max-turns", "4", "--record", "g.jsonl"]
    assert dond("play", "--secret-claims", "--messages", *arguments) == 0
    record = from_json((tmp_path / "g.jsonl").read_text().splitlines()[0])
    assert record.rules == Rules(4, message_length=200, secret_claims=True)
    assert len(record.actions) == 4 and record.messages[int(seat)] == "hello" and not any(record.messages[2:])
    assert replay(record).outcome == record.outcome
    told = " ".join(capsys.readouterr().out.split())
    before, after = told.split("In points", 1)[0].rsplit("your act>", 1)
    assert ("(A secret claim.)" in before) == (seat == "1") and "(Secret claim: " not in before
    assert after.count("(Secret claim: ") == 2 and "(Secret claim: no claim.)" in after


def test_secret_claims_need_two_acts_and_a_fitting_partner(tmp_path, capsys):
    assert dond("play", "--secret-claims", "--max-turns", "1") == 2
    assert "--max-turns" in capsys.readouterr().err
    assert dond("play", "--secret-claims", "--partner", "equilibrium") == 2
    assert "secret claims" in capsys.readouterr().err
    for choice, why in (
        (GameChoice(binding="claims", max_turns="1"), "a claim of each"),
        (EQUILIBRIUM, "none is known"),
    ):
        with pytest.raises((ValueError, InputError), match=why):
            sitting_of(choice, Candidate(choice.partner, ""), tmp_path / "games.jsonl", None)
    sitting = sitting_of(GameChoice(binding="claims"), Candidate("tough", ""), tmp_path / "games.jsonl", None)
    assert sitting.rules == Rules(secret_claims=True) and GameChoice().binding == "acts"


def test_games_without_messages():
    state = apply(State(SCENARIO, Rules(2)), Action(Act.PROPOSE, (1, 0, 2)))
    record = record_of(apply(state, Action(Act.AGREE)), ("a", "b"))
    assert 'class="message"' not in str(render("replay", "talk", steps(record), 1, ("a", "b")))
    assert GameChoice().messages == "none"
