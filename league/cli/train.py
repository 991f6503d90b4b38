"""What ``scripts/train.py`` does with its arguments: settings, a run folder, the training, the score, an exit code."""

from __future__ import annotations

import math
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.clone import clone_expert
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS, as_called
from league.display.league import console_for_people, duration, figure
from league.ledger.run_directory import SETTINGS, RunDirectory, named_run, new_run, newest_run
from league.settings.read import load_config
from league.settings.training import TrainConfig, TrainLoggingConfig
from league.tasks.hinters import in_words, make_ready, schedule_of, summary
from league.training.final_score import final_score, final_shares
from league.training.training import Training, train
from partners.judges.judge import JudgeError, JudgeReward
from partners.learning.first_weights import FirstWeightsError
from partners.learning.rewards import OWN
from partners.llm.cache import CacheError
from partners.llm.client import SetupError
from partners.network.checkpoint import CheckpointError

LINES = 20  # a plain log of a whole training has about this many


class TrainWatcher:
    """Lines for the milestones; a line now and then, or on a terminal a bar. Ctrl-C and SIGTERM ask for a stop."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stop = False
        self._printed = 0
        bars = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
        self._bars = Bars(*bars, console=console)
        self._task = self._bars.add_task("training")
        self._live = Live(self._bars, console=console, transient=True) if console.is_terminal else None

    def __enter__(self) -> TrainWatcher:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask_to_stop)
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def warned(self, message: str) -> None:
        """Pass a warning on."""
        self._say(f"warning: {message}", "yellow")

    def opened(self, training: Training, directory: Path) -> None:
        """Say what begins or goes on."""
        told, learner = training.config, training.learner
        verb = f"going on after {learner.decisions:,} decisions" if learner.decisions else "starting"
        self._say(
            f"{verb}: {told.training.algo} against {told.env.partner} on {training.source.label}, "
            f"{told.training.num_train_steps:,} own decisions, hints {in_words(told.hints)}"
            f"{_dial(training)}{_start(training)}; run folder {directory}"
        )
        self._printed = learner.decisions

    def updated(self, training: Training) -> bool:
        """Move the bar, or say a line now and then."""
        total = training.config.training.num_train_steps
        self._bars.update(self._task, completed=training.learner.decisions, total=total, description=status(training))
        if self._live is None and (training.learner.decisions - self._printed >= total / LINES or training.done):
            self._printed = training.learner.decisions
            self._say(status(training))
        return not self._stop

    def saved(self, path: Path) -> None:
        """Nothing: the bar goes on."""

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)

    def _ask_to_stop(self, _number: int, _frame: FrameType | None) -> None:
        if self._stop:  # asked twice: no more patience
            raise KeyboardInterrupt
        self._stop = True


def status(training: Training) -> str:
    """Decisions, score and agreement of the latest practice, pace and time left, in one line."""
    score, total = training.score, training.config.training.num_train_steps
    shown = "" if score is None else f"{score.points:.2f} points of ten{_share(training)}, {score.deals:.1%} deals · "
    if score is not None and training.config.training.reward != OWN:
        shown = f"paid {score.paid:.2f} by {training.config.training.reward} · {shown}"
    return (
        f"{training.learner.decisions:,}/{total:,} decisions · {shown}"
        f"{training.decisions_per_second:,.0f} decisions/s · {duration(training.seconds_left)} left"
    )


def _share(training: Training) -> str:
    """The practiced points as a share of a best response's, where that is known at once."""
    if training.score is None or math.isnan(training.references.response):
        return ""
    return f" ({training.score.points / training.references.response:.1%} of a best response)"


def _dial(training: Training) -> str:
    """What the learner is paid for, where that is not its own points."""
    reward = training.config.training.reward
    return "" if reward == OWN else f", reward {reward}"


def _start(training: Training) -> str:
    """What it starts from and is pulled toward, where that is not a seed."""
    told = training.config.training
    pull = f" and pulled toward it by {told.kl:g}" if told.kl else ""
    return "" if told.init_from is None else f", from {told.init_from}{pull}"


def main(config_path: Path | None, overrides: Sequence[str], resume: Path | None) -> int:
    """Train or resume; the exit code is 0, 1 (the run), 2 (the settings) or 130 (stopped, and saved).

    ``resume`` is ``None`` for a new run, a run's folder, or an empty path for the newest one.
    """
    directory = None
    console = console_for_people()
    try:
        config = None if config_path is None else load_config(config_path, overrides, TrainConfig)
        if config is not None:
            config.env.open_source()  # before a folder is made: what cannot be opened is the settings' fault
            seat_occupant(config.env.partner)
            make_ready(schedule_of(config.hints))
            if config.training.algo == "bc" and resume is None:
                clone_expert(console, config)
                return 0
            if resume is None:
                config.training.first_network(config.env, hints=config.hints.mode != "none", seed=0)
        directory = _directory(config, resume)
        with TrainWatcher(console) as watcher:
            training, finished = train(config, directory, watcher)
        if finished:
            _print_score(console, training, directory.path)
            return 0
    except (*USER_ERRORS, FirstWeightsError) as error:
        print(error, file=sys.stderr)  # the command talks to a person
        return USAGE_ERROR
    except (*RUN_ERRORS, CheckpointError, JudgeError, CacheError, SetupError) as error:
        print(error, file=sys.stderr)  # the command talks to a person
        return RUN_ERROR
    except OccupantError as error:
        if not isinstance(error.__cause__, HinterError):
            raise
        print(error.__cause__, file=sys.stderr)  # the command talks to a person
        return RUN_ERROR
    except KeyboardInterrupt:
        print("\nstopped without saving: asked twice", file=sys.stderr)  # the command talks to a person
        return INTERRUPTED
    assert directory is not None
    stopped = f"stopped and saved; go on with: {as_called()} --resume {directory.path}"
    print(stopped, file=sys.stderr)  # the command talks to a person
    return INTERRUPTED


def _directory(config: TrainConfig | None, resume: Path | None) -> RunDirectory:
    output_dir = Path((config.logging if config is not None else TrainLoggingConfig()).output_dir).expanduser()
    if resume is None:
        return new_run(output_dir)
    return newest_run(output_dir, SETTINGS) if resume == Path() else named_run(resume.expanduser(), SETTINGS)


def _print_score(console: Console, training: Training, directory: Path) -> None:
    for greedy in (True, False):
        label, result = final_score(training, greedy=greedy)
        seats = f"as seat_0 {figure(result.as_seat[0])}, as seat_1 {figure(result.as_seat[1])}"
        console.print(
            Text(
                f"{'greedy' if greedy else 'sampled'} play against {training.config.env.partner} on {label}: "
                f"{figure(result.points)} points of ten ({seats}), {result.deals:.1%} deals, "
                f"n = {result.points.n:,} games{_dial(training)}{training.config.hints.privileged_note}"
            ),
            soft_wrap=True,
        )
    hintless = "" if training.whisper is None else " without hints"
    for name, share in final_shares(training).items():
        line = f"greedy play{hintless} earns {share.mean:.1%} ±{share.margin:.1%} of what the {name} earns there"
        line = line.replace("the Nash earns", "the Nash points pay")
        console.print(Text(f"{line}{_dial(training)}"), soft_wrap=True)
    if training.whisper is not None:
        note = training.config.hints.privileged_note
        console.print(Text(f"hints in practice: {summary(training.whisper.tally)}{note}"), soft_wrap=True)
    reward = training.plan.reward
    if isinstance(reward, JudgeReward):
        told = ", ".join(f"{name} {number:,}" for name, number in sorted(reward.judge.tally.items()))
        console.print(Text(f"judge of style {reward.judge.style} in practice: {told}"), soft_wrap=True)
    console.print(Text(f"run folder {directory}: checkpoints, progress.csv, config.yaml"), soft_wrap=True)
