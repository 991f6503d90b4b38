"""A person in a game with messages: at the terminal, on the page, in a replay; without them nothing of it is there."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest
from rich.console import Console

from dond.table.game import (
    Terminal,
    steps,
    talk_lines,
)
from dond.table.session import Sitting, TableGame, TableSession
from dond.terminal.league import LiveWatcher
from dond.terminal.tables import ConsoleOutput
from dond.terminal.training import with_bar
from dond.web.frame import render
from dond.web.occupants import GameChoice
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import from_json, record_of, replay
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from league.results.league import in_words
from league.results.progress import PlainWatcher, status_parts
from league.results.training import TrainWatcher, training_status
from league.rounds.watching import LeagueProgress
from league.settings.read import load_config
from league.settings.sections import Schedule
from league.settings.training import TrainConfig
from league.training.training import Training, begin
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


def test_games_without_messages():
    state = apply(State(SCENARIO, Rules(2)), Action(Act.PROPOSE, (1, 0, 2)))
    record = record_of(apply(state, Action(Act.AGREE)), ("a", "b"))
    assert 'class="message"' not in str(render("replay", "talk", steps(record), 1, ("a", "b")))
    assert GameChoice().messages == "none"


# -- What is shown while somebody waits: it fits the terminal, and rounds are counted as people count them-------


def console(width: int, *, terminal: bool = True) -> Console:
    return Console(width=width, file=io.StringIO(), force_terminal=terminal, color_system=None)


def at(rounds: int, matches: int = 0) -> LeagueProgress:
    return LeagueProgress(
        0, Schedule(6, closing=True), 0.0, rounds, matches, 20, 136_512, 21.2, "short games", 1_234_567, 93_504
    )


@pytest.mark.parametrize(
    ("progress", "where"),
    [(at(0, 3), "round 1/6"), (at(1), "round 1/6"), (at(5, 1), "round 6/6"), (at(6), "round 6/6"),
     (at(6, 2), "closing measurement"), (at(7), "closing measurement")],
)  # fmt: skip
def test_six_rounds_are_counted_from_one_to_six_and_the_closing_measurement_is_named_apart(progress, where):
    assert " · ".join(status_parts(progress)).startswith(f"{where} (short games) · ")


def test_time_is_estimated_after_the_first_round():
    assert status_parts(at(0, 1))[1] == "? left" and status_parts(at(1))[1] == "2 min left"


def test_progress_line_counts_games_of_matches_and_of_practice():
    assert re.findall(r"[\d,]+", " · ".join(status_parts(at(3))))[-2:] == ["43,008", "93,504"]


@pytest.fixture
def training(tmp_path: Path) -> Training:
    (tmp_path / "train.yaml").write_text("training: {hidden: [8], num_envs: 4, num_train_steps: 1000000, seed: 3}")
    started = begin(load_config(tmp_path / "train.yaml", (), TrainConfig))
    started.step()
    started.learner.decisions = 46_050
    started.score = started.score._replace(points=3.27, deals=0.834)
    started.seconds, started.references = 1.5, replace_response(started)
    return started


def replace_response(training: Training):
    return training.references._replace(response=7.74)


def test_an_80_column_terminal_shows_decisions_time_left_and_score_in_one_line(training):
    screen = console(80)
    screen.print(with_bar(" · ".join(training_status(training)), 0.05, 80))
    (line,) = screen.file.getvalue().splitlines()
    assert len(line) <= 80 and "46,050" in line and "s left" in line and "3.27" in line


def test_the_line_at_the_start_breaks_between_words(training):
    for terminal, width, most in ((True, 80, 80), (False, 160, 100)):
        screen = console(width, terminal=terminal)
        TrainWatcher(ConsoleOutput(screen)).on_open(training, Path("runs/ppo_fast/0001"))
        lines = screen.file.getvalue().splitlines()
        words = " ".join(line.strip() for line in lines).split()
        assert {"46,050", "ppo", "none"} <= set(words)
        assert max(map(len, lines)) <= most
        assert lines[-1].endswith(" runs/ppo_fast/0001")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("39.2% regret: scores unknown of unknown", "39.2% regret: they have not met, so everything is left to gain"),
        ("2.0% regret: scores 3.10 of unknown", "2.0% regret: scores 3.10; what others score is not known"),
        ("2.0% regret: scores 3.10 of 7.00", "2.0% regret: scores 3.10 where 7.00 can be had"),
        ("its 1 rounds are over", "its 1 round is over"),
    ],
)
def test_reasons_of_the_ledger_are_shown_in_words(kept, said):
    assert in_words(kept) == said


def test_steps_of_the_closing_analysis_are_shown_in_place():
    screen = console(100)
    with LiveWatcher(screen) as watcher:
        watcher.on_analysis("held-out evaluation")
        watcher.on_step("the reference for heuristic")
    plain = console(160, terminal=False)
    PlainWatcher(ConsoleOutput(plain)).on_analysis("held-out evaluation")
    PlainWatcher(ConsoleOutput(plain)).on_step("the reference for heuristic")
    assert "closing · held-out evaluation · the reference for heuristic" in screen.file.getvalue()
    assert plain.file.getvalue().split() == ["held-out", "evaluation"]
