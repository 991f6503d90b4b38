"""League loop: plan a round, play it, commit it to the ledger, show it; for new and resumed runs."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dond_marl.occupants import ANYTHING, NOTHING, check_needs
from dond_marl.records.files import write_atomically
from league.figures.rows import Figures, write_figures
from league.ledger.ledger import Ledger
from league.ledger.run_directory import RunDirectory, RunError, origin_note
from league.ledger.trackers import Trackers
from league.ledger.verify import mend, refuse_damaged_start, refuse_other_occupants, refuse_other_settings
from league.play.backends import Backend, InProcess, cores
from league.play.match import SEATING
from league.play.provenance import league_ancestries, occupants_of
from league.play.values import LearnerState, MatchResult, Member, Round, TrainResult, machine
from league.rounds.planner import RoundPlan, check_start, first_states, members_of, plan_round, stage_end
from league.rounds.snapshots import RoundEnd, end_of_round
from league.rounds.watching import LeagueProgress, Watcher
from league.settings.read import Config, dump
from league.settings.sections import BackendConfig, EnvConfig, names_in
from league.standings.crossplay import CrossPlay, write_crossplay
from league.standings.findings import findings_of, write_findings
from league.standings.history import CurvePoint, History, history_of, learning_curves, write_curves
from league.standings.ladder import Responses, Standing, ladder_of, write_ladder
from league.standings.references import stored_responses
from partners.provenance import Ancestry, ProvenanceError, refuse_test_roster

FiguresReport = Callable[[Mapping[str, float]], object]


class LeagueOutcome(NamedTuple):
    """The result of a league: settings, cross-play, learning curves, and the analyses at its end."""

    config: Config
    cross: CrossPlay
    curves: list[CurvePoint]
    responses: Responses  # points of best responses to the members for which they are known
    findings: Figures | None  # ratings and the meta-game, with ``league.evaluate``
    final: Figures | None  # the mains against held-out members, if there are mains
    without_practice: Mapping[str, int] = {}  # learners that learned nothing in some rounds, with their number
    members: Sequence[Member] = ()
    seconds: float = 0.0  # of all rounds


def run_league(
    config: Config | None,
    directory: RunDirectory,
    watcher: Watcher,
    backend: BackendConfig | None = None,
    *,
    trust: bool = False,
    report: FiguresReport = lambda _: None,
) -> LeagueOutcome:
    """Play a league to its end in ``directory``, from the first round that is not in its ledger.

    ``config``: ``None`` for the run's own settings. ``backend`` replaces theirs, without effect on rows. ``trust``: a
    resumed run may use code, files, services and keys that it names; without it one that names any raises
    :class:`~dond_marl.errors.UntrustedError`. ``report`` is called with :func:`tracked_figures` of each round, once it
    is committed. Raises :class:`RunError`, :class:`league.ledger.ledger.LedgerError`,
    :class:`league.play.devices.DeviceError` if a learner's device is missing, and, before the first round,
    :class:`dond_marl.errors.InputError` for settings that cannot be played: members, scenario data, provenance,
    libraries. A start that fails leaves no folder.
    """
    with directory, Ledger(directory.ledger, ANYTHING if trust else NOTHING) as ledger:
        if ledger.has_begun:
            config = _resume(config, directory, ledger, watcher)
            check_start(config)
        elif config is not None:  # a new run, or one killed before its start was written
            _begin(config, directory, ledger)
        else:
            raise RunError(
                f"{directory.path}: the run was stopped before its settings were written, so it cannot be resumed; "
                "start it again with --config FILE"
            )
        write_atomically(directory.path / "config.yaml", ledger.settings())
        if config.env.partner != EnvConfig().partner:
            watcher.warn("env.partner sets the partner of a single agent; a league does not use it")
        history = history_of(ledger, config)
        try:
            _play_rounds(config, directory, ledger, history, watcher, backend, report)
        finally:  # also for a stopped run: its committed rounds have tables too
            _write_tables(config, directory, ledger, history.cross)
        findings, final = _evaluate(config, directory, history, watcher) if config.league.evaluate else (None, None)
        curves = learning_curves(ledger, config.league.confidence)
        without = ledger.rounds_without_practice()
        return LeagueOutcome(
            config,
            history.cross,
            curves,
            stored_responses(config),
            findings,
            final,
            without,
            history.members,
            ledger.clock()[0],
        )


def _evaluate(
    config: Config, directory: RunDirectory, history: History, watcher: Watcher
) -> tuple[Figures | None, Figures | None]:
    """The analyses at the end: ratings and the meta-game, and the mains against held-out members."""
    watcher.on_analysis("ratings and the meta-game")
    findings = findings_of(history.cross, seed=config.league.seed, confidence=config.league.confidence)
    if findings is not None:
        write_findings(directory.path, findings)
    if not any(learner.role == "main" for learner in config.learners):
        return findings, None
    from league.evaluation.of_run import evaluate_run
    from league.tables.final import FINAL_FILE, FINAL_TABLE  # the evaluation loads PyTorch

    watcher.on_analysis("held-out evaluation")
    final = evaluate_run(directory, config, report=watcher.on_step, trust=True)
    write_figures(final, directory.path / FINAL_FILE, directory.path / FINAL_TABLE)
    return findings, final


def _write_tables(config: Config, directory: RunDirectory, ledger: Ledger, cross: CrossPlay) -> None:
    confidence = config.league.confidence
    write_ladder(directory.path / "ladder.csv", ladder_of(cross, confidence, stored_responses(config)))
    write_crossplay(directory.path / "crossplay.csv", cross, confidence)
    if config.learners:
        write_curves(directory.path / "learning.csv", learning_curves(ledger, confidence))


def _begin(config: Config, directory: RunDirectory, ledger: Ledger) -> None:
    """Write the start of a new run."""
    members, states = members_of(config), first_states(config, directory.blobs)
    notes = {"config": dump(config), "machine": machine(), "origin": origin_note(cores())}
    meta = {"settings": dump(config.portable()), "source": _source_digest(config)}
    ledger.begin(meta, {**notes, **occupants_of(config)}, members, states)


def _resume(config: Config | None, directory: RunDirectory, ledger: Ledger, watcher: Watcher) -> Config:
    """The settings of a run that goes on, once it is known to be intact and to be the same run."""
    refuse_damaged_start(ledger)
    meta, notes = ledger.meta(), ledger.notes()
    started = ledger.config()
    specs = [member.spec for member in ledger.members() if member.spec is not None]
    check_needs(dict.fromkeys([*names_in(started), *specs]), ledger.allow, str(directory.path))
    config = config or started
    refuse_other_settings(directory.path, started.portable(), config.portable())
    if meta["source"] != _source_digest(config):
        raise RunError(f"{directory.path} was started with other scenarios than its source has now; start a new run")
    refuse_other_occupants(directory.path, notes, occupants_of(config))
    averaging = {learner.name for learner in config.learners if learner.reservoir}
    pasts = league_ancestries(config)
    damage = mend(ledger, directory.blobs, _first_weights(config, pasts), config.league.round_name, averaging)
    if damage is not None:
        watcher.warn(damage)
    if averaging and ledger.next_round > 1:  # files left by a kill after the last commit
        earlier = ledger.states(ledger.next_round - 2)
        _delete_old_reservoirs(config, directory.blobs, earlier, ledger.states())
    try:
        for name, past in pasts.items():
            refuse_test_roster(past, name)
    except ProvenanceError as error:
        watcher.warn(f"this run, which was started under other held-out rosters, continues: {error}")
    if notes["machine"] != machine():
        changed = _changed_versions(notes["machine"], machine())
        watcher.warn(f"this run was started elsewhere: {changed}; results may differ in the last digits")
    return config


def _source_digest(config: Config) -> str:
    source = SEATING.source(config.env)
    return f"{source.label}: {source.digest()}"


def _first_weights(config: Config, pasts: Mapping[str, Ancestry]) -> dict[str, bytes]:
    drawn = [learner for learner in config.learners if learner.init_from is None and not learner.train]
    if not drawn:
        return {}
    from league.play import practice

    return {state.blob: content for _, state, content in practice.first_states(config, drawn, pasts)}


def _play_rounds(
    config: Config,
    directory: RunDirectory,
    ledger: Ledger,
    history: History,
    watcher: Watcher,
    backend: BackendConfig | None,
    report: FiguresReport,
) -> None:
    progress = LeagueProgress(ledger.next_round, config.league.rounds, config.total_rounds, time.perf_counter())
    names, settings = config.logging.all_trackers if config.learners else (), config.portable().model_dump(mode="json")
    trackers = Trackers(names, directory.path, progress.first_round + 1, settings)
    watcher.on_open(config, SEATING.source(config.env), directory.path, progress.advance(progress.first_round))
    try:
        with open_backend(backend or config.backend, watcher.warn) as crew:
            for number in range(progress.first_round, progress.total):
                played = _play_round(config, directory.blobs, ledger, history, progress, watcher, crew)
                standings = ladder_of(history.cross, config.league.confidence)
                watcher.on_commit(progress.advance(number + 1), standings)
                figures = tracked_figures(played, standings)
                trackers.write(figures, number + 1)
                report({"round": number + 1, **figures})
    finally:
        trackers.close()


def tracked_figures(played: Round, standings: Sequence[Standing]) -> dict[str, float]:
    """The figures of a round for trackers: each learner's practice, its figures on the ladder, and the stage."""
    figures: dict[str, float] = {"stage": played.stage}
    for practiced in played.trained:
        name = practiced.task.learner.name
        figures |= {
            f"{name}/practice_points": practiced.points,
            f"{name}/practice_deals": practiced.deals,
            f"{name}/decisions": practiced.state.decisions,
            f"{name}/life": practiced.state.life,
        }
    for row in standings:
        if row.member in played.states:
            figures |= {
                f"{row.member}/points": row.points.mean,
                f"{row.member}/of_response": row.of_response.mean,
                f"{row.member}/of_nash": row.of_nash.mean,
                f"{row.member}/deals": row.deals,
                f"{row.member}/self_play": row.self_play.mean,
            }
    return {name: value for name, value in figures.items() if not math.isnan(value)}


def open_backend(config: BackendConfig, warn: Callable[[str], None]) -> Backend:
    """The backend of the settings, to be used as a context; ``warn`` receives messages on what may change figures.

    Raises :class:`BackendError`.
    """
    if config.effective_kind == "process":
        from league.play.backends import ProcessBackend  # starts nothing, but does not exist for every system

        return ProcessBackend(config.workers or cores())
    if config.effective_kind == "ray":
        from league.play.ray_cluster import RayBackend  # loads Ray

        return RayBackend(config.workers, config.ray_address, warn)
    return InProcess()


def _play_round(
    config: Config,
    blobs: Path,
    ledger: Ledger,
    history: History,
    progress: LeagueProgress,
    watcher: Watcher,
    backend: Backend,
) -> Round:
    began = time.perf_counter()
    before = ledger.states()
    plan = plan_round(config, history, before, blobs)
    progress.stage = config.curriculum[plan.stage].name
    started = time.perf_counter()
    matches, trained = _collect(blobs, plan, progress, watcher, backend)
    finished = time.perf_counter()
    played = _conclude(config, ledger, history, plan, matches, trained, before)
    concluded = time.perf_counter()
    ledger.commit_round(played, concluded - began, (started - began) + (concluded - finished))
    _delete_old_reservoirs(config, blobs, before, played.states)
    history.add_members(played.born)
    return played


def _collect(
    blobs: Path, plan: RoundPlan, progress: LeagueProgress, watcher: Watcher, backend: Backend
) -> tuple[list[MatchResult], list[TrainResult]]:
    """Run the tasks of a plan; weights are on disk before a row names them."""
    matches, trained = list[MatchResult](), list[TrainResult]()
    tasks = plan.tasks
    finished = backend.run(tasks, blobs, tick=watcher.tick)
    for number, result in enumerate(finished, start=1):
        progress.games += result.games
        if isinstance(result, MatchResult):
            matches.append(result)
            watcher.on_match(progress.advance(plan.number, number, len(tasks)), result)
            continue
        if result.content is not None:
            from league.play.blobs import write_blob  # loads PyTorch

            if result.reservoir_content is not None:
                write_blob(blobs, result.reservoir_content)
            write_blob(blobs, result.content)
        trained.append(result)
        progress.practice_games += result.games
        progress.decisions += result.state.decisions - result.task.state.decisions
        watcher.on_practice(progress.advance(plan.number, number, len(tasks)), result)
    return matches, trained


def _conclude(
    config: Config,
    ledger: Ledger,
    history: History,
    plan: RoundPlan,
    matches: Sequence[MatchResult],
    trained: Sequence[TrainResult],
    before: Mapping[str, LearnerState],
) -> Round:
    """Add the results to the history, and decide on snapshots, fresh starts and the end of the stage."""
    scenarios = SEATING.scenarios(config.env, config.league.seed, plan.block)
    legs = [leg for match in matches if match.failed is None for leg in match.legs]
    lost = [leg for match in matches if match.failed is not None for leg in match.legs]
    at_fault = [match.failed for match in matches if match.failed is not None]
    history.add_round(plan.stage, scenarios, legs, at_fault, plan.number >= config.league.rounds, lost)
    after = {**before, **{result.task.learner.name: result.state for result in trained}}
    end = RoundEnd((), after, ())
    if plan.number + 1 < config.league.rounds:
        end = end_of_round(config, history, before, after, ledger.states(-1), scenarios, legs)
        if (end_of_stage := stage_end(config, history)) is not None:
            end = end._replace(decisions=(*end.decisions, end_of_stage))
    return Round(
        plan.number,
        plan.stage,
        plan.block,
        scenarios,
        matches,
        trained,
        end.states,
        end.born,
        end.decisions,
    )


def _delete_old_reservoirs(
    config: Config, blobs: Path, before: Mapping[str, LearnerState], after: Mapping[str, LearnerState]
) -> None:
    """Delete reservoirs of actions (for average policies) that only rounds up to ``before`` need."""
    for learner in config.learners:
        if learner.reservoir:
            from league.play.blobs import forget_reservoir  # loads PyTorch

            forget_reservoir(blobs, before[learner.name].blob, after[learner.name].blob)


def _changed_versions(noted: str, current: str) -> str:
    before, after = json.loads(noted), json.loads(current)
    changed = sorted(key for key in after if before.get(key) != after[key])
    return ", ".join(f"{key} {before.get(key)} then, {after[key]} now" for key in changed)
