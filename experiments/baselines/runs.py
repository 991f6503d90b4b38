"""Runs of a comparison: each job trained, counted and submitted to the benchmark; finished parts are not repeated."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import InputError, RunFailure
from dond_marl.files import append_lines, read_json_lines
from dond_marl.game import Rules
from dond_marl.occupants import expand_run_name
from dond_marl.records.files import write_atomically
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import Partner
from dond_marl.statistics import points_of_ten
from experiments.baselines.plan import CHOICE, Job, Pick, planned_acts
from league.backends.pool import in_processes
from league.bench import results
from league.bench.arms import headline_of
from league.bench.protocol import REPLICATES, VERSION, lewis_field
from league.bench.results import Row
from league.bench.run import Opponents, Submission, measure, play_roster, submission_of_run, submission_of_spec
from league.bench.test2 import SECONDS, Logging
from league.evaluation.matches import Terms, score
from league.ledger.ledger import Ledger
from league.ledger.run_directory import PROGRESS, RunDirectory, RunError
from league.rounds.dry_run import estimate
from league.rounds.runner import run_league
from league.rounds.watching import LeagueProgress
from league.settings.read import Config
from league.settings.sections import BackendConfig
from league.settings.training import TrainConfig
from league.standings.ladder import Standing
from league.tables.blocks import Section, Table, TableRow, number_cell
from league.tasks.seating import SEATING
from league.tasks.values import Entrant, MatchResult, Member, Place, TrainResult
from league.training.training import seconds_of
from partners.rosters import DEV, TEST2, members_hash, roster

DONE, PRACTICED = "run.json", "practice.jsonl"


class ArmRun(NamedTuple):
    """A finished run: the submitted policy, its acts by purpose, and its self-play."""

    settings_sha256: str  # of its inputs
    submitted: str  # a member of the league, a checkpoint's path within the folder, or a spec
    decisions: int  # own, of all learners together
    practice: int  # acts of both seats in games used for learning
    matches: int  # acts in a league's matches
    choice: int  # acts played to choose the submission
    self_play_deals: float | None  # on the held-out scenarios, greedy; None without training
    self_play_points: float | None

    @property
    def acts(self) -> int:
        return self.practice + self.matches + self.choice


def finished_run(job: Job) -> ArmRun | None:
    """The run of ``job`` if it is finished. Raises :class:`RunError` if the folder holds another run."""
    path = job.folder / DONE
    if not path.is_file():
        return None
    try:
        run = ArmRun(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise RunError(f"{path}: damaged ({error}); delete it to finish the run again") from None
    if run.settings_sha256 != job.digest:
        raise RunError(
            f"{job.folder} holds a run of other settings than {job.label} has now; restore them, or name another "
            f"folder with --set output_dir=FOLDER"
        )
    return run


def run_job(job: Job) -> ArmRun:
    """Run ``job`` to its end, or continue it; returns at once if it is finished. Raises what training raises."""
    done = finished_run(job)
    if done is not None:
        return done
    job.folder.mkdir(parents=True, exist_ok=True)
    if job.config is None:
        assert job.occupant is not None
        run = ArmRun(job.digest, job.occupant, 0, 0, 0, 0, None, None)
    elif isinstance(job.config, TrainConfig):
        run = _run_training(job, job.config)
    else:
        run = _run_league(job, job.config)
    write_atomically(job.folder / DONE, json.dumps(run._asdict(), indent=1) + "\n")
    return run


def submission_of(job: Job, run: ArmRun) -> Submission:
    """The benchmark submission of a finished run; seeds of one arm share its name."""
    if job.config is None:
        made, seed = submission_of_spec(run.submitted, job.arm.name), None
    elif isinstance(job.config, TrainConfig):
        made, seed = submission_of_spec(expand_run_name(str(job.folder / run.submitted)), job.arm.name), job.seed
    else:
        made, seed = submission_of_run(job.folder, run.submitted, job.arm.name), job.seed
    return made._replace(seed=seed, acts=run.acts, settings_sha256=job.digest)


class SilentWatcher:
    """A progress watcher that prints nothing and records the acts of each practice of a league."""

    def __init__(self, practiced: Path) -> None:
        self.practiced = practiced

    def warn(self, _message: str) -> None: ...
    def on_open(self, *_: object) -> None: ...
    def on_analysis(self, _message: str) -> None: ...
    def on_step(self, _message: str) -> None: ...
    def tick(self) -> None: ...
    def on_match(self, _progress: LeagueProgress, _result: MatchResult) -> None: ...
    def on_commit(self, _progress: LeagueProgress, _standings: list[Standing]) -> None: ...

    def on_update(self, _training: object) -> bool:
        return True

    def on_practice(self, _progress: LeagueProgress, result: TrainResult) -> None:
        """Called before the round is committed: a repeated practice adds another row, and the last one counts."""
        row = {
            "round": result.task.round,
            "learner": result.task.learner.name,
            "decisions": result.state.decisions - result.task.state.decisions,
            "acts": result.acts,
        }
        append_lines(self.practiced, [json.dumps(row)])


def _run_training(job: Job, config: TrainConfig) -> ArmRun:
    from league.ledger.run_names import checkpoints_in
    from league.training.training import train

    watcher = SilentWatcher(job.folder / PRACTICED)
    training, _ = train(config, RunDirectory(job.folder), watcher)
    with (job.folder / PROGRESS).open(newline="", encoding="utf-8") as file:
        acts, before = 0.0, 0
        for row in csv.DictReader(file):
            acts += (int(row["games"]) - before) * float(row["turns"])
            before = int(row["games"])
    newest = checkpoints_in(job.folder)[0]
    player = submission_of_spec(expand_run_name(str(newest))).player.partner()
    return ArmRun(
        job.digest,
        str(newest.relative_to(job.folder)),
        training.learner.decisions,
        round(acts),
        0,
        0,
        *_self_play(player, config.env.rules()),
    )


def _run_league(job: Job, config: Config) -> ArmRun:
    directory = RunDirectory(job.folder)
    practiced = job.folder / PRACTICED
    run_league(config, directory, SilentWatcher(practiced), BackendConfig(kind="local"))
    with Ledger(directory.ledger) as ledger:
        members, states = ledger.members(), ledger.states()
        rounds = range(ledger.next_round)
        matches = sum(int(leg.facts["turns"].sum(dtype="int64")) for number in rounds for leg in ledger.legs(number))
        meetings = ((number, *meeting[1:3]) for number in rounds for meeting in ledger.meetings(number))
        practised = {(number, learner) for number, kind, learner in meetings if kind == "train"}
    # A repeated practice has several rows, of which the last one counts.
    practices = {(row["round"], row["learner"]): row for row in read_json_lines(practiced)}
    if missing := sorted(practised - practices.keys()):
        number, learner = missing[0]
        raise RunError(
            f"{practiced}: the acts of {learner}'s practice in round {number + 1} are missing, so those of the run are "
            f"unknown; restore a copy, or delete {job.folder} to run it again"
        )
    decisions, acts = (sum(row[key] for row in practices.values()) for key in ("decisions", "acts"))
    main = next(member for member in members if member.role == "main")
    place, choice, chosen = Place(directory.blobs), 0, main.name
    if job.arm.pick != "last":
        chosen, choice = _pick_member(job.arm.pick, main, members, {main.name: states[main.name].blob}, place, config)
    member = next(each for each in members if each.name == chosen)
    player = SEATING.partner(Entrant(member, states[chosen].blob if member.live else member.blob), place, greedy=True)
    return ArmRun(job.digest, chosen, decisions, acts, matches, choice, *_self_play(player, config.env.rules()))


def _pick_member(
    pick: Pick, main: Member, members: tuple[Member, ...], live: dict[str, str], place: Place, config: Config
) -> tuple[str, int]:
    """The name among a main and its snapshots with the most points, or wins, against its practice partners; acts."""
    candidates = [each for each in members if main.name in (each.name, each.parent) and each.has_network]
    practiced = (each for each in members if each.role == "fixed" and each.split == "train" and not each.costly)
    opponents = [Member(spec, spec) for spec in roster(DEV)] if pick == "dev" else list(practiced)
    source = open_source(config.env.scenarios, split=config.env.split)
    some = source.block(config.league.seed, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, some, source.max_count), some, config.env.rules())
    scores, acts = [], 0
    for candidate in candidates:
        player = SEATING.partner(Entrant(candidate, live.get(candidate.name, candidate.blob)), place, greedy=True)
        total = 0.0
        for opponent in opponents:
            other = SEATING.partner(Entrant(opponent, None), place)
            for seat, games in enumerate(terms.games((player, player), other)):
                acts += int(games.turns.sum(dtype="int64"))
                total += _pick_score(pick, games.scores, some, seat)
        scores.append(total)
    return candidates[scores.index(max(scores))].name, acts


def _pick_score(pick: Pick, scores: Any, scenarios: Scenarios, seat: int) -> float:
    points = points_of_ten(scores, scenarios.pool_values)
    own, other = points[:, seat], points[:, 1 - seat]
    if pick != "wins":
        return float(own.mean())
    return float(((own > other) + (own >= other)).mean()) / 2


def _self_play(player: Partner, rules: Rules) -> tuple[float, float]:
    """Share of deals and points of ten in self-play, on the held-out views."""
    source = open_source("lewis", split="test")
    assert source.table is not None
    result = score(player, player, Terms(source, source.table, rules))
    return result.deals, result.points.mean


class ArmResult(NamedTuple):
    """A finished job: its run, and its results row for each roster."""

    job: Job
    run: ArmRun
    rows: tuple[Row, ...]


def find_row(rows: Sequence[Row], job: Job, opponents: Opponents) -> Row | None:
    """The newest row of ``job`` against these partners; ``None`` if there is none of the same run."""
    seed = None if job.config is None else job.seed
    for row in reversed(rows):
        own, benchmark = row["submission"], row["benchmark"]
        same = own["name"] == job.arm.name and own["seed"] == seed and own["settings_sha256"] == job.digest
        if same and (benchmark["version"], benchmark["roster_sha256"]) == (VERSION, members_hash(opponents.partners)):
            return row
    return None


def missing_rosters(rows: Sequence[Row], job: Job, against: Sequence[Opponents]) -> list[Opponents]:
    """The rosters for which ``job`` has no row yet."""
    return [opponents for opponents in against if find_row(rows, job, opponents) is None]


def run_jobs(
    jobs: Sequence[Job],
    against: Sequence[Opponents],
    path: Path,
    workers: int,
    report: Callable[[str], None],
    *,
    labels: bool = False,
    logging: Logging | None = None,
) -> Iterator[ArmResult]:
    """Run and measure every job, appending new rows to the results file ``path``; yields finished and new ones.

    ``report`` reports progress; ``labels``: as for :func:`league.bench.run.measure`; ``logging``: of evaluations
    against the roster test2. Raises what training and measuring raise.
    """
    known = read_rows(path)
    waiting = []
    for job in jobs:
        unknown, run = missing_rosters(known, job, against), finished_run(job)
        if run is not None and not unknown:
            yield ArmResult(job, run, _find_rows(known, job, against))
        else:
            waiting.append((job, unknown, labels, logging))
    if len(waiting) < len(jobs):
        report(f"{len(jobs) - len(waiting)} of {len(jobs)} are finished and measured already")
    for number, (_, new) in enumerate(in_processes(_run_and_measure, waiting, workers), start=1):
        for row in new.rows:
            results.append(path, row)
        done = new._replace(rows=_find_rows([*known, *new.rows], new.job, against))
        points = ", ".join(f"{headline_of(row):.2f} ({row['benchmark']['roster']})" for row in done.rows)
        report(f"{number}/{len(waiting)} {done.job.label}: {points} points of ten after {done.run.acts:,} acts")
        yield done


def read_rows(path: Path) -> list[Row]:
    """The rows of a results file; none if there is no file yet."""
    return results.read([path]) if path.is_file() else []


def _find_rows(rows: Sequence[Row], job: Job, against: Sequence[Opponents]) -> tuple[Row, ...]:
    found = [find_row(rows, job, opponents) for opponents in against]
    return tuple(row for row in found if row is not None)


def _run_and_measure(job: Job, against: Sequence[Opponents], labels: bool, logging: Logging | None) -> ArmResult:
    import torch

    torch.set_num_threads(1)
    try:
        run = run_job(job)
        submission = submission_of(job, run)
        rows = [
            measure(submission, each, labels=labels, logging=logging if each.name == TEST2 else None)
            for each in against
        ]
        return ArmResult(job, run, tuple(rows))
    except InputError as error:
        raise InputError(f"{job.label}: {error}") from error
    except (RunFailure, OSError) as error:
        raise RunFailure(f"{job.label}: {error}") from error


def acts_section(done: Sequence[ArmResult], allowed: int | None) -> Section:
    """Acts of each arm by purpose, means over its seeds, and its self-play."""
    arms = dict.fromkeys(result.job.arm.name for result in done)
    lines = []
    for arm in arms:
        runs = [result.run for result in done if result.job.arm.name == arm]
        alone = [run for run in runs if run.self_play_deals is not None]
        figures = [_average([getattr(run, key) for run in runs]) for key in ("acts", "practice", "matches", "choice")]
        lines.append(
            TableRow(
                arm,
                (
                    number_cell(len(runs), "count"),
                    *(number_cell(figure, "count") for figure in figures),
                    number_cell(_average([run.decisions for run in runs]), "count"),
                    number_cell(_average([run.self_play_deals or 0.0 for run in alone]), "share") if alone else None,
                    number_cell(_average([run.self_play_points or 0.0 for run in alone])) if alone else None,
                ),
            )
        )
    heads = (
        "seeds",
        "acts",
        "in practice",
        "in matches",
        "for the choice",
        "own decisions",
        "deals, self-play",
        "points",
    )
    notes = (
        "An act is one action of one seat; practice counts both seats of all learners' games, matches are a league's "
        "games between members. Self-play: greedy, on the held-out views.",
        *([f"Each arm was allowed {allowed:,} acts."] if allowed is not None else []),
    )
    return Section("acts", "Acts", notes, (Table("Mean over the seeds of an arm", heads, tuple(lines), "arm"),))


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)


SAMPLE = 500  # scenarios of a timed measurement
PLAYER = "expert"  # measured player: a network, like those that learn


def forecast_section(jobs: Sequence[Job], against: Sequence[Opponents], rows: Sequence[Row]) -> Section:
    """Runs of each arm that remain to be trained and measured, and their estimated processor time; writes nothing.

    ``rows``: existing rows of the results file. Raises what the arms' configs raise.
    """
    each = {opponents.name: _measuring_seconds(opponents) for opponents in against}
    lines, whole = [], 0.0
    for arm in dict.fromkeys(job.arm.name for job in jobs):
        own = [job for job in jobs if job.arm.name == arm]
        left = [job for job in own if finished_run(job) is None]
        open_lines = [opponents.name for job in own for opponents in missing_rosters(rows, job, against)]
        seconds = sum(each[name] for name in open_lines) + (len(left) * _training_seconds(left[0]) if left else 0.0)
        whole += seconds
        counts = (len(own), len(left), len(open_lines), planned_acts(own[0]))
        lines.append(
            TableRow(arm, (*(number_cell(count, "count") for count in counts), number_cell(seconds, "seconds")))
        )
    heads = ("runs", "to train", "to measure", "acts of a run", "processor seconds")
    note = f"About {whole / 60:.0f} minutes of one idle core; an unfinished run counts as a complete one."
    tables = (Table("Remaining work", heads, tuple(lines), "arm"),)
    return Section("forecast", "Estimated cost", (note,), tables)


def _training_seconds(job: Job) -> float:
    if job.config is None:
        return 0.0
    return seconds_of(job.config) if isinstance(job.config, TrainConfig) else estimate(job.config)[0].seconds


def _measuring_seconds(opponents: Opponents) -> float:
    """Processor seconds of measuring one run against a roster, from a sample of scenarios; of test2 the known bound."""
    if opponents.name == TEST2:
        return SECONDS
    whole, some = lewis_field().source.table, lewis_field(SAMPLE).source
    assert whole is not None
    began = time.process_time()
    play_roster(submission_of_spec(PLAYER).player, opponents.partners, some, REPLICATES)
    return (time.process_time() - began) * whole.size / SAMPLE
