"""The league's loop: plan a round, play it, commit it, show it; from the start or from where a run was left."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dond_marl.records.files import write_atomically
from league.backends.base import Backend, cores, open_backend
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory, RunError, origin_note
from league.ledger.verify import mend, refuse_damaged_start
from league.rounds.curriculum import ended
from league.rounds.planner import first_states, members_of, plan_round
from league.rounds.snapshots import Births, births
from league.rounds.watching import LeagueLog, Pace, Watcher
from league.settings.read import UNUSED, Config, dump, other_settings, parse
from league.settings.sections import BackendConfig, EnvConfig
from league.standings.as_csv import write_crossplay, write_curves, write_findings, write_ladder
from league.standings.crossplay import CrossPlay
from league.standings.findings import Findings, findings_of
from league.standings.history import CurvePoint, History, history_of, learning_curves
from league.standings.ladder import Responses, ladder_of
from league.standings.references import responses_of, stored_responses
from league.tasks.devices import check_devices
from league.tasks.provenance import check_league_provenance
from league.tasks.seating import SEATING
from league.tasks.values import (
    LearnerState,
    MatchResult,
    Place,
    Round,
    TrainResult,
    machine,
)
from partners.provenance import ProvenanceError

if TYPE_CHECKING:
    from league.evaluation.final import FinalEvaluation


class Outcome(NamedTuple):
    """What a league came to: the settings that it was played under, who scores what, and how the learners came on."""

    config: Config
    cross: CrossPlay
    curves: list[CurvePoint]
    responses: Responses  # what a best response earns against the members to whom it is known
    findings: Findings | None  # ratings and the meta-game, where they were asked for
    final: FinalEvaluation | None  # the mains against held-out members, where there are any


def run_league(
    config: Config | None, directory: RunDirectory, watcher: Watcher, backend: BackendConfig | None = None
) -> Outcome:
    """Play a league to its end in ``directory``, from the first round that its ledger does not hold.

    Without a ``config`` the run's own settings are used; ``backend`` stands for theirs, which changes no row. Raises
    :class:`RunError` or :class:`league.ledger.ledger.LedgerError`, and before anything is written
    :class:`league.tasks.devices.DeviceError` where a learner's device is missing, and
    :class:`partners.provenance.ProvenanceError` where a learner of a new run would meet the roster test.
    """
    if config is not None:
        check_devices(config.learners)
        if not directory.ledger.is_file():
            check_league_provenance(config)
    with directory, Ledger(directory.ledger) as ledger:
        config = _begin_or_take_up(config, directory, ledger, watcher)
        check_devices(config.learners)
        write_atomically(directory.path / "config.yaml", ledger.settings())
        for key in UNUSED:
            if getattr(config.env, key) != getattr(EnvConfig(), key):
                watcher.warned(f"env.{key} says who or what faces a single agent; a league does not use it")
        history = history_of(ledger, config)
        try:
            _play_rounds(config, directory, ledger, history, watcher, backend)
        finally:  # also of a run that is stopped: its committed rounds have tables too
            _write_tables(config, directory, ledger, history.cross)
        responses = responses_of(config)
        if responses != stored_responses(config):
            write_ladder(directory.path / "ladder.csv", ladder_of(history.cross, config.league.confidence, responses))
        findings, final = _end(config, directory, ledger, history, watcher) if config.league.evaluate else (None, None)
        curves = learning_curves(ledger, config.league.confidence)
        return Outcome(config, history.cross, curves, responses, findings, final)


def _end(
    config: Config, directory: RunDirectory, ledger: Ledger, history: History, watcher: Watcher
) -> tuple[Findings | None, FinalEvaluation | None]:
    """What a league ends with: ratings and the meta-game, and the mains against held-out members."""
    watcher.finishing("ratings and the meta-game")
    findings = findings_of(ledger, history.cross, seed=config.league.seed, confidence=config.league.confidence)
    if findings is not None:
        write_findings(directory.path, findings)
    if not any(learner.role == "main" for learner in config.learners):
        return findings, None
    from league.evaluation.as_json import write_final_files  # the evaluation loads PyTorch
    from league.evaluation.of_run import evaluate_run

    final = evaluate_run(directory, config, tell=watcher.finishing)
    write_final_files(directory.path, final)
    return findings, final


def _write_tables(config: Config, directory: RunDirectory, ledger: Ledger, cross: CrossPlay) -> None:
    confidence = config.league.confidence
    write_ladder(directory.path / "ladder.csv", ladder_of(cross, confidence, stored_responses(config)))
    write_crossplay(directory.path / "crossplay.csv", cross, confidence)
    if config.learners:
        write_curves(directory.path / "learning.csv", learning_curves(ledger, confidence))


def _begin_or_take_up(config: Config | None, directory: RunDirectory, ledger: Ledger, watcher: Watcher) -> Config:
    if not ledger.has_begun:  # a new run, or one killed before it had written anything
        if config is None:
            raise RunError(f"{directory.path}: the run was stopped before it began; start one with --config")
        notes = {"config": dump(config), "machine": machine(), "origin": origin_note(cores())}
        meta = {"settings": dump(config.portable()), "source": _drawn_from(config)}
        ledger.begin(meta, notes, members_of(config), first_states(config, directory.blobs))
        return config
    refuse_damaged_start(ledger)
    meta, notes = ledger.meta(), ledger.notes()
    if config is None:
        config = ledger.config()
    refused = other_settings(directory.path, parse(meta["settings"]), config.portable())
    if refused is not None:
        raise RunError(refused)
    if meta["source"] != _drawn_from(config):
        raise RunError(f"{directory.path} was started with other scenarios than its source holds now; start a new run")
    averaging = {learner.name for learner in config.learners if learner.reservoir}
    damage = mend(ledger, directory.blobs, _first_weights(config), config.schedule.round_name, averaging)
    if damage is not None:
        watcher.warned(damage)
    if averaging and ledger.next_round > 1:  # what a kill after the last commit left
        earlier = ledger.states(ledger.next_round - 2)
        _forget(config, Place(directory.blobs), earlier, ledger.states())
    try:
        check_league_provenance(config)
    except ProvenanceError as error:
        watcher.warned(f"this run, which was started under another roster test, goes on: {error}")
    if notes["machine"] != machine():
        watcher.warned(
            f"this run was started elsewhere: {_moved(notes['machine'], machine())}; its last digits may differ "
            f"from an uninterrupted run's"
        )
    return config


def _drawn_from(config: Config) -> str:
    source = SEATING.source(config.env)
    return f"{source.label}: {source.digest()}"


def _first_weights(config: Config) -> dict[str, bytes]:
    drawn = [learner for learner in config.learners if learner.init_from is None]
    if not drawn:
        return {}
    from league.tasks import train_task

    return {state.blob: content for _, state, content in train_task.first_states(config, drawn)}


def _play_rounds(
    config: Config,
    directory: RunDirectory,
    ledger: Ledger,
    history: History,
    watcher: Watcher,
    backend: BackendConfig | None,
) -> None:
    pace = Pace(ledger.next_round, config.schedule.total, time.perf_counter(), closing=bool(config.learners))
    watcher.opened(config, SEATING.source(config.env), directory.path, pace.at(pace.first))
    log = LeagueLog(config.logging.tracked, directory.path, pace.first) if config.learners else None
    try:
        with open_backend(backend or config.backend, watcher.warned) as crew:
            for number in range(pace.first, config.schedule.total):
                played = _play_round(config, Place(directory.blobs), ledger, history, pace, watcher, crew)
                standings = ladder_of(history.cross, config.league.confidence)
                watcher.committed(pace.at(number + 1), standings)
                if log is not None:
                    log.write(played, standings)
    finally:
        if log is not None:
            log.close()


def _play_round(
    config: Config, place: Place, ledger: Ledger, history: History, pace: Pace, watcher: Watcher, backend: Backend
) -> Round:
    began = time.perf_counter()
    before = ledger.states()
    plan = plan_round(config, history, before, place)
    pace.stage = config.curriculum[plan.stage].name
    started = time.perf_counter()
    trained: list[TrainResult] = []
    matches: list[MatchResult] = []
    results = backend.run(plan.tasks, place, deadline=config.backend.deadline, tick=watcher.tick)
    for done, result in enumerate(results, start=1):
        pace.games += result.games
        if isinstance(result, MatchResult):
            matches.append(result)
            watcher.played(pace.at(plan.number, done, len(plan.tasks)), result)
        else:
            if result.content is not None:  # on disk before anything names it
                from league.tasks.blobs import write_blob  # PyTorch is loaded only where somebody learns

                if result.reservoir_content is not None:
                    write_blob(place.blobs, result.reservoir_content)
                write_blob(place.blobs, result.content)
            trained.append(result)
            pace.practice_games += result.games
            pace.decisions += result.state.decisions - result.task.state.decisions
            watcher.trained(pace.at(plan.number, done, len(plan.tasks)), result)
    finished = time.perf_counter()
    scenarios = SEATING.scenarios(config.env, config.league.seed, plan.block)
    legs = [leg for match in matches if match.failed is None for leg in match.legs]
    lost = [leg for match in matches if match.failed is not None for leg in match.legs]
    at_fault = [result.failed for result in matches if result.failed is not None]
    after = {**before, **{result.task.learner.name: result.state for result in trained}}
    phase = config.schedule.phase(plan.number)
    history.add_round(plan.stage, scenarios, legs, at_fault, phase == "measures", lost)
    follows = Births((), after, ())
    if phase == "practice":
        follows = births(config, history, before, after, ledger.states(-1), scenarios, legs)
        if (end := ended(config, history)) is not None:
            follows = follows._replace(decisions=(*follows.decisions, end))
    done_round = Round(
        plan.number,
        plan.stage,
        plan.block,
        scenarios,
        matches,
        trained,
        follows.states,
        follows.born,
        (*(task.repaired for task in plan.training if task.repaired is not None), *follows.decisions),
    )
    now = time.perf_counter()
    ledger.commit_round(done_round, now - began, (started - began) + (now - finished))
    _forget(config, place, before, follows.states)
    history.add_members(follows.born)
    return done_round


def _forget(config: Config, place: Place, before: Mapping[str, LearnerState], now: Mapping[str, LearnerState]) -> None:
    """Delete the acts that learners' averages were learned from up to the round ``before``, which nothing needs."""
    for learner in config.learners:
        if learner.reservoir:
            from league.tasks.blobs import forget_reservoir  # PyTorch is loaded only where somebody learns

            forget_reservoir(place.blobs, before[learner.name].blob, now[learner.name].blob)


def _moved(then: str, now: str) -> str:
    before, after = json.loads(then), json.loads(now)
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    return ", ".join(f"{key} {before.get(key)} then, {after.get(key)} now" for key in changed)
