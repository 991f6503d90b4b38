"""The league's loop: plan a round, play it, commit it, show it; from the start or from where a run was left."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dond_marl.scenarios import ScenarioSource
from league.config import Config, EnvConfig, LeagueConfig, LoggingConfig, differences, dump, parse
from league.crossplay import CrossPlay, Responses, Standing, fold, write_crossplay, write_ladder
from league.curves import CurvePoint, learning_curves, write_curves
from league.ledger import Ledger
from league.planner import block_of, born_after, members_of, plan_matches, plan_training, seats_of
from league.references import known_responses, responses_of
from league.run_directory import RunDirectory, RunError, machine, write_whole
from league.tasks import LearnerState, MatchResult, Place, block_scenarios, open_source, play

if TYPE_CHECKING:
    from league.train_task import TrainResult, TrainTask

UNUSED = ("partner", "render_mode")  # settings of env that a league has no use for


class Progress(NamedTuple):
    """How far a run is: rounds committed, matches of the round in flight, games and seconds of this process."""

    first_round: int  # where this process began
    rounds: int
    rounds_in_all: int
    matches: int
    matches_in_round: int
    games: int
    seconds: float

    @property
    def games_per_second(self) -> float:
        """Games that this process has played per second, ledger and folds included."""
        return self.games / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Time left at this process's pace so far; ``inf`` before its first match."""
        done = self.rounds + self.matches / self.matches_in_round
        played = done - self.first_round
        return self.seconds / played * (self.rounds_in_all - done) if played else math.inf


class Watcher(Protocol):
    """Who is shown the run."""

    def opened(self, config: Config, source: ScenarioSource, directory: Path, progress: Progress) -> None:
        """A run begins or goes on."""
        ...

    def warned(self, message: str) -> None:
        """Something that the user should know, and that stops nothing."""
        ...

    def played(self, _progress: Progress, result: MatchResult) -> None:
        """A match is played, not yet committed."""
        ...

    def trained(self, progress: Progress, result: TrainResult) -> None:
        """A learner has practiced, not yet committed."""
        ...

    def committed(self, progress: Progress, standings: list[Standing]) -> None:
        """A round is in the ledger."""
        ...


class Outcome(NamedTuple):
    """What a league came to: the settings that it was played under, who scores what, and how the learners came on."""

    config: Config
    cross: CrossPlay
    curves: list[CurvePoint]
    responses: Responses  # what a best response earns against the members to whom it is known


def run_league(config: Config | None, directory: RunDirectory, watcher: Watcher) -> Outcome:
    """Play a league to its end in ``directory``, from the first round that its ledger does not hold.

    Without a ``config`` the run's own settings are used. Raises :class:`RunError` or
    :class:`league.ledger.LedgerError`.
    """
    with directory, Ledger(directory.ledger) as ledger:
        config = _begin_or_take_up(config, directory, ledger, watcher)
        write_whole(directory.path / "config.yaml", ledger.notes()["config"])
        _tell_unused(config, watcher)
        try:
            cross = _play_rounds(config, directory, ledger, watcher)
        finally:  # also of a run that is stopped: its committed rounds have tables too
            _write_tables(config, directory, ledger)
        responses = responses_of(config)
        if responses != known_responses(config):
            write_ladder(directory.path / "ladder.csv", cross.ladder(config.league.confidence, responses))
        return Outcome(config, cross, learning_curves(ledger, config.league.confidence), responses)


def _write_tables(config: Config, directory: RunDirectory, ledger: Ledger) -> None:
    cross, confidence = fold(ledger), config.league.confidence
    write_ladder(directory.path / "ladder.csv", cross.ladder(confidence, known_responses(config)))
    write_crossplay(directory.path / "crossplay.csv", cross, confidence)
    if config.learners:
        write_curves(directory.path / "learning.csv", learning_curves(ledger, confidence))


def _begin_or_take_up(config: Config | None, directory: RunDirectory, ledger: Ledger, watcher: Watcher) -> Config:
    """The settings to play under: new ones written down, or those that the ledger holds."""
    if not ledger.begun:  # a new run, or one killed before it had written anything
        if config is None:
            raise RunError(f"{directory.path}: the run was stopped before it began; start one with --config")
        notes = {"config": dump(config), "machine": machine()}
        meta = {"settings": dump(portable(config)), "source": _drawn_from(config)}
        ledger.begin(meta, notes, members_of(config), _first_states(config, directory.blobs))
        return config
    meta, notes = ledger.meta(), ledger.notes()
    if config is None:
        config = parse(notes["config"], f"settings in {directory.ledger}")
    changed = differences(parse(meta["settings"]), portable(config))
    if changed:
        lines = "\n  ".join(changed)
        raise RunError(
            f"{directory.path} was started with other settings:\n  {lines}\n"
            f"resume it with its own (--resume {directory.path} without --config), or start a new run without --resume"
        )
    if meta["source"] != _drawn_from(config):
        raise RunError(f"{directory.path} was started with other scenarios than its source holds now; start a new run")
    if notes["machine"] != machine():
        watcher.warned(
            f"this run was started elsewhere: {_moved(notes['machine'], machine())}; its last digits may differ "
            f"from an uninterrupted run's"
        )
    return config


def portable(config: Config) -> Config:
    """The settings without what changes nothing in a ledger: where things lie, and how figures are shown."""
    nothing, nothing_played = EnvConfig(), LeagueConfig()
    env = config.env.model_copy(update={"data_dir": None, **{key: getattr(nothing, key) for key in UNUSED}})
    league = config.league.model_copy(
        update={"confidence": nothing_played.confidence, "responses": nothing_played.responses}
    )
    return config.model_copy(update={"logging": LoggingConfig(), "env": env, "league": league})


def _tell_unused(config: Config, watcher: Watcher) -> None:
    for key in UNUSED:
        if getattr(config.env, key) != getattr(EnvConfig(), key):
            watcher.warned(f"env.{key} says who or what faces a single agent; a league does not use it")


def _drawn_from(config: Config) -> str:
    source = open_source(config.env)
    return f"{source.label}: {source.digest()}"


def _first_states(config: Config, blobs: Path) -> dict[str, LearnerState]:
    """Where the learners stand before the first round, their weights on disk."""
    if not config.learners:
        return {}
    from league.blobs import write_blob  # PyTorch is loaded only where somebody learns
    from league.train_task import first_state

    states = {}
    for learner in config.learners:
        states[learner.name], content = first_state(learner, config.env, config.league.seed)
        write_blob(blobs, content)
    return states


@dataclass
class Pace:
    """How fast this process is."""

    first: int  # round
    last: int
    started: float
    games: int = 0

    def at(self, rounds: int, done: int = 0, tasks: int = 1) -> Progress:
        """The progress with ``rounds`` committed and ``done`` of the ``tasks`` of the next."""
        return Progress(self.first, rounds, self.last, done, tasks, self.games, time.perf_counter() - self.started)


def _play_rounds(config: Config, directory: RunDirectory, ledger: Ledger, watcher: Watcher) -> CrossPlay:
    cross, pace = fold(ledger), Pace(ledger.next_round, config.league.rounds, time.perf_counter())
    watcher.opened(config, open_source(config.env), directory.path, pace.at(pace.first))
    for number in range(pace.first, pace.last):
        _play_round(number, config, Place(directory.blobs), ledger, cross, pace, watcher)
        watcher.committed(pace.at(number + 1), cross.ladder(config.league.confidence))
    return cross


def _play_round(
    number: int, config: Config, place: Place, ledger: Ledger, cross: CrossPlay, pace: Pace, watcher: Watcher
) -> None:
    """Plan round ``number``, play it, commit it, and add it to ``cross``."""
    began, members, states = time.perf_counter(), ledger.members(), ledger.states()
    if number:
        cross.admit(member.name for member in members if member.born == number)
    seats = seats_of(members, states)
    matches = plan_matches(config, seats, number)
    training = plan_training(config, seats, states, cross, number, len(matches)) if config.learners else ()
    tasks = len(matches) + len(training)
    results: list[MatchResult] = []
    for match in matches:
        results.append(play(match, place))
        pace.games += results[-1].games
        watcher.played(pace.at(number, len(results), tasks), results[-1])
    trained: list[TrainResult] = []
    for practice in training:
        trained.append(_practiced(practice, place))
        pace.games += trained[-1].state.games - practice.state.games
        watcher.trained(pace.at(number, len(results) + len(trained), tasks), trained[-1])
    block = block_of(config, number)
    scenarios = block_scenarios(config.env, config.league.seed, block)
    born = born_after(config, {p.task.learner.name: p.state for p in trained}, number)
    ledger.commit_round(number, block, scenarios, results, time.perf_counter() - began, trained, born)
    cross.forget(member.name for member in members if member.role == "main")
    at_fault = [result.failed for result in results if result.failed is not None]
    cross.add_round(scenarios, [leg for result in results for leg in result.legs], at_fault)


def _practiced(task: TrainTask, place: Place) -> TrainResult:
    """A learner's practice; its new weights are on disk before anything names them."""
    from league.blobs import write_blob  # PyTorch is loaded only where somebody learns
    from league.train_task import train

    result = train(task, place)
    if result.content is not None:
        write_blob(place.blobs, result.content)
    return result


def _moved(then: str, now: str) -> str:
    """What differs between two descriptions of a machine, in words."""
    before, after = json.loads(then), json.loads(now)
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return ", ".join(f"{key} {before.get(key)} then, {after.get(key)} now" for key in changed)
