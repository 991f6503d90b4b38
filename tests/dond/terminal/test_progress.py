"""What is shown while somebody waits: it fits the terminal, and rounds are counted as people count them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from dond.terminal.league import LiveWatcher
from dond.terminal.tables import ConsoleOutput
from dond.terminal.training import with_bar
from league.results.league import in_words
from league.results.progress import PlainWatcher, status_parts
from league.results.training import TrainWatcher, training_status
from league.rounds.watching import LeagueProgress
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import Training, begin


def console(width: int, *, terminal: bool = True) -> Console:
    return Console(width=width, file=io.StringIO(), force_terminal=terminal, color_system=None)


def at(rounds: int, matches: int = 0) -> LeagueProgress:
    return LeagueProgress(0, 6, 7, 0.0, rounds, matches, 20, 136_512, 21.2, "short games", 1_234_567, 93_504)


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
