"""Compare arms with equal acts over seeds on the benchmark: PPO on a pool, self-play, a league, and untrained policies.

Every run has its own folder under output_dir. The same command continues a stopped comparison and repeats nothing that
is finished, so a second roster costs only its games.

An act is one action of one seat. A learner's own decisions are half of the acts of its practice, as seats alternate and
both are practiced equally; a league's matches add to them. The acts of a run are counted while it plays; the plan meets
them within a few per cent if matches are a small part, as members among themselves take more acts per game.

examples:
  python -m experiments baselines                      # with baselines.yaml, against the roster dev
  python -m experiments baselines --config ablation.yaml --dry-run
  python -m experiments baselines --config ablation.yaml --seeds 3 --only pool_ppo --only league
  python -m experiments baselines --against dev2 --results docs/results/baselines.jsonl
  python -m experiments baselines --against test2 --reason "figures of the paper"   # held out: logged
"""

from __future__ import annotations

import csv
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import click
import yaml
from pydantic import BeforeValidator, Field, model_validator

from dond.cli.shell import FILE, integer, print_line
from dond_marl.errors import InputError, RunFailure
from dond_marl.files import append_lines, read_json_lines, user_path
from dond_marl.occupants import expand_run_name
from dond_marl.records.files import write_atomically
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.statistics import points_of_ten
from experiments.kit import RESULTS, experiment_command, show_sections, table_section
from league.bench import results
from league.bench.arms import headline_of
from league.bench.differences import SMALLEST_EFFECT
from league.bench.held_out import Logging, logging_of
from league.bench.protocol import VERSION
from league.bench.results import Row
from league.bench.run import (
    Opponents,
    Submission,
    check_committed,
    measure,
    opponents_of,
    submission_of_run,
    submission_of_spec,
)
from league.bench.table import leaderboard
from league.evaluation.matches import Terms
from league.ledger.ledger import Ledger
from league.ledger.run_directory import PROGRESS, RunDirectory, RunError
from league.ledger.run_names import checkpoints_in
from league.play.backends import in_processes
from league.play.match import SEATING
from league.play.values import Entrant, Member, TrainResult
from league.results.progress import ErrorOutput, QuietWatcher
from league.rounds.dry_run import matches_in_all, snapshots_at_most
from league.rounds.planner import first_states, members_of, plan_round, rounds_of_practice
from league.rounds.runner import run_league
from league.rounds.watching import LeagueProgress
from league.settings.layers import preset
from league.settings.read import Config, dump, load_config
from league.settings.sections import BackendConfig, Occupant, PathText, Section, wrong
from league.settings.training import TrainConfig
from league.standings.history import History
from league.tables.blocks import Section as TableSection
from league.tables.markdown import report_markdown
from league.training.training import train
from partners.rosters import DEV, LOGGED, OF_PEOPLE, ROSTERS, members_hash, roster

Pick = Literal["last", "points", "wins", "dev"]
Roster = Literal["train", "dev", "dev2", "test2", "people_train", "people_dev", "test3"]
assert set(ROSTERS) == set(get_args(Roster))


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ArmConfig(Section):
    """One arm: a config that trains, or an occupant that does not learn.

    ``config`` is a league's or a training's file under the ``set`` options. ``learners`` changes keys of a league's
    learners, by name; null removes a learner. ``occupant`` is a spec. ``pick`` selects the submission
    among a league's main and its snapshots: the ``last`` state of the main, the one with the most ``points`` or
    ``wins`` against the members that it practiced with, or the one with the most points against the roster ``dev``
    (early stopping).
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    config: PathText | None = Field(default=None, description="a league's or a training's YAML file")
    set: tuple[str, ...] = Field(default=(), strict=False, description="a list of KEY=VALUE")
    learners: dict[str, dict[str, Any] | None] = Field(
        default_factory=dict, description="changes by learner; null removes it"
    )
    occupant: Occupant | None = Field(default=None, description="an occupant that does not learn")
    pick: Pick = "last"

    @model_validator(mode="before")
    @classmethod
    def _config_or_occupant(cls, settings: Any) -> Any:
        if isinstance(settings, dict) and (settings.get("config") is None) == (settings.get("occupant") is None):
            raise wrong("an arm has a config that learns or an occupant that does not, and not both", "config")
        return settings


class ComparisonSection(Section):
    """Acts and seeds of each arm, and the rosters it is measured on."""

    acts: int | None = Field(
        default=3_000_000, ge=1, le=10**11, description="environment acts of an arm, or null: as its config says"
    )
    seeds: int = Field(default=10, ge=1, le=1000)
    against: Annotated[tuple[Roster, ...], BeforeValidator(_as_list)] = Field(
        default=("dev",), strict=False, min_length=1, description="a roster, or a list of them"
    )
    reference: str = Field(default="pool_ppo", description="the arm that the others are compared with")
    smallest_effect: float = Field(
        default=SMALLEST_EFFECT,
        gt=0,
        le=10,
        description="points of ten; a smaller difference of arms is of no interest",
    )
    learners: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="changes by learner, in every arm's league that has it"
    )
    set: tuple[str, ...] = Field(
        default=(), strict=False, description="a list of KEY=VALUE for every arm's config, before the arm's own"
    )
    sample: int | None = Field(default=None, ge=1, description="scenarios of a roster that are played; null: all")
    labels: bool = Field(default=False, description="also measure with every offer a PROPOSE, and an INSIST")
    adversary: bool = Field(
        default=False,
        description="also train exploiters where best responses are not exact; on rosters with all of lewis",
    )


class BaselinesConfig(Section):
    """All settings of a comparison of arms."""

    comparison: ComparisonSection = Field(default_factory=ComparisonSection)
    arms: tuple[ArmConfig, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    output_dir: PathText = Field(default="runs/baselines", description="the path of a folder")

    @model_validator(mode="after")
    def _check_names(self) -> BaselinesConfig:
        names = [arm.name for arm in self.arms]
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise wrong(f"two arms are called {twice[0]}; give each a name of its own", "arms")
        if self.comparison.reference not in names:
            raise wrong(f"comparison.reference is one of {', '.join(names)}; got {self.comparison.reference}", "arms")
        return self


ACTS_A_GAME = 5.0  # of both seats, for planning: mean of games of the train roster
UPDATE = 1.2  # own decisions of an update over the required ones: it ends with a complete block of games
CHOICE = 256  # train scenarios for choosing among members, each in both seats


class Job(NamedTuple):
    """One arm with one seed: all inputs of its run, and the run's folder."""

    arm: ArmConfig
    seed: int
    folder: Path
    config: Config | TrainConfig | None  # None: no training
    occupant: str | None = None  # submitted if there is no training

    @property
    def label(self) -> str:
        return self.arm.name if self.config is None else f"{self.arm.name}, seed {self.seed}"

    @property
    def digest(self) -> str:
        """The SHA-256 of all inputs of the run."""
        setup = self.occupant if self.config is None else dump(self.config.portable())
        return hashlib.sha256(f"{self.arm.pick}\n{setup}".encode()).hexdigest()


def plan_jobs(config: BaselinesConfig, names: Collection[str] | None = None) -> list[Job]:
    """Every arm, or those in ``names``, with every seed; occupants that do not learn once.

    Ordered by seed, so that a stopped comparison has equally many seeds of each arm. Raises what reading the configs
    raises.
    """
    arms = [arm for arm in config.arms if names is None or arm.name in names]
    first = {arm.name: None if arm.config is None else _arm_config(arm, config.comparison) for arm in arms}
    jobs = []
    for seed in range(1, config.comparison.seeds + 1):
        for arm in arms:
            folder, settings = user_path(config.output_dir) / arm.name, first[arm.name]
            if settings is not None:
                jobs.append(Job(arm, seed, folder / f"{seed:04d}", _with_seed(settings, seed)))
            elif seed == 1:
                jobs.append(Job(arm, seed, folder, None, arm.occupant))
    return jobs


def _with_seed(config: Config | TrainConfig, seed: int) -> Config | TrainConfig:
    """The same settings with another seed, which changes nothing else of the plan."""
    if isinstance(config, TrainConfig):
        return config.model_copy(update={"training": config.training.model_copy(update={"seed": seed})})
    return config.model_copy(update={"league": config.league.model_copy(update={"seed": seed})})


def _arm_config(arm: ArmConfig, comparison: ComparisonSection) -> Config | TrainConfig:
    """The settings of an arm, scaled to the comparison's acts; the seed is set later."""
    assert arm.config is not None
    acts, options = comparison.acts, (*comparison.set, *arm.set)
    path = preset(Path(arm.config))
    if not _is_league(path):
        if arm.learners:
            raise InputError(f"{arm.name}: learners changes those of a league, and {path} is a training; use set")
        training = load_config(path, (*options, "logging.tensorboard=false"), TrainConfig)
        if training.training.algo == "bc":
            raise InputError(f"{arm.name}: {path} clones people without acts of its own; use another config")
        return training if acts is None else _shorten_training(training, acts)
    unmeasured = ("league.evaluate=false", "logging.tensorboard=false")
    changed = _changed_learners(arm, path, comparison.learners)
    league: Config = load_config(path, (*options, *changed, *unmeasured))
    if not league.learners:
        raise InputError(f"{arm.name}: {path} has no learners; use occupant instead of config")
    return league if acts is None else _scale_league(league, acts, arm)


def _changed_learners(arm: ArmConfig, path: Path, shared: Mapping[str, dict[str, Any]]) -> tuple[str, ...]:
    """The option that sets a league's learners: those of the file with the ``shared`` changes, then the arm's."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8")).get("learners") or []
    learners = {learner["name"]: learner for learner in listed if isinstance(learner, dict) and "name" in learner}
    for name in arm.learners:
        if name not in learners:
            raise InputError(f"{arm.name}: {path} has no learner called {name}; it has {', '.join(learners)}")
    if not arm.learners and not learners.keys() & shared.keys():
        return ()
    changed = [
        {**learner, **shared.get(name, {}), **(arm.learners.get(name) or {})}
        for name, learner in learners.items()
        if arm.learners.get(name, learner) is not None
    ]
    return (f"learners={json.dumps(changed)}",)


def _shorten_training(config: TrainConfig, acts: int) -> TrainConfig:
    """The same training with about ``acts`` and as many checkpoints, its past selves as opponents."""
    steps, saved = max(acts // 2, 1), config.logging.save_every
    every = max(round(saved * steps / config.training.num_train_steps), 1)
    changed = {
        "training": config.training.model_copy(update={"num_train_steps": steps}),
        "logging": config.logging.model_copy(update={"save_every": every}),
    }
    return config.model_copy(update=changed)


def _is_league(path: Path) -> bool:
    """Whether a config is a league's; an unreadable one is refused later, when it is read as a training's."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return isinstance(data, dict) and bool({"league", "members", "learners"} & data.keys())


def _scale_league(config: Config, acts: int, arm: ArmConfig) -> Config:
    """The same league, its decisions per round scaled so that practice, matches and choice take about ``acts``."""
    acts_left = acts - update_acts(config) - match_acts(config) - choice_acts(config, arm.pick)
    needed = 2 * _decisions(config)
    factor = acts_left / needed
    learners = tuple(
        learner.model_copy(update={"decisions": round(learner.decisions * factor)}) for learner in config.learners
    )
    if acts_left <= 0 or not all(learner.decisions for learner in learners):
        raise InputError(
            f"{arm.name}: matches and choice take about {acts - acts_left:,} of {acts:,} acts; allow more acts, or "
            "make its matches smaller with set: [league.block_size=4, league.pairs=0]"
        )
    return config.model_copy(update={"learners": learners})


def planned_acts(job: Job) -> int:
    """Estimated acts of a run; 0 without training."""
    if job.config is None:
        return 0
    if isinstance(job.config, TrainConfig):
        return 2 * job.config.training.num_train_steps
    chosen = choice_acts(job.config, job.arm.pick)
    return 2 * _decisions(job.config) + update_acts(job.config) + match_acts(job.config) + chosen


def update_acts(config: Config) -> int:
    """Estimated acts of a league's practice beyond its decisions: a round ends with a complete update."""
    updates = (
        UPDATE * learner.num_envs * learner.rollout * rounds_of_practice(config, learner) for learner in config.learners
    )
    return round(sum(updates))


def _decisions(config: Config) -> int:
    """Own decisions of all learners of a league, in the rounds in which they practice."""
    return sum(learner.decisions * rounds_of_practice(config, learner) for learner in config.learners)


def match_acts(config: Config) -> int:
    """Estimated acts of a league's matches."""
    with tempfile.TemporaryDirectory() as folder:
        states = first_states(config, Path(folder))
        first = plan_round(config, History(members_of(config), config.league.decay), states)
    return round(matches_in_all(config, first) * 2 * config.league.block_size * ACTS_A_GAME)


def choice_acts(config: Config, pick: Pick) -> int:
    """Estimated acts of the choice among a main and its snapshots, at most; a gate may let fewer of them pass."""
    candidates = 1 + snapshots_at_most(config.model_copy(update={"learners": config.learners[:1]}))
    opponents = len(roster(DEV)) if pick == "dev" else len(config.members)
    return round(candidates * opponents * 2 * CHOICE * ACTS_A_GAME) if pick != "last" else 0


# --- Runs: each job trained, counted and submitted to the benchmark; finished parts are not repeated ------------------

DONE, PRACTICED = "run.json", "practice.jsonl"


class ArmRun(NamedTuple):
    """A finished run: the submitted policy, and its acts by purpose."""

    settings_sha256: str  # of its inputs
    submitted: str  # a member of the league, a checkpoint's path within the folder, or a spec
    decisions: int  # own, of all learners together
    practice: int  # acts of both seats in games used for learning
    matches: int  # acts in a league's matches
    choice: int  # acts played to choose the submission

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
    finished = finished_run(job)
    if finished is not None:
        return finished
    job.folder.mkdir(parents=True, exist_ok=True)
    if job.config is None:
        assert job.occupant is not None
        run = ArmRun(job.digest, job.occupant, 0, 0, 0, 0)
    elif isinstance(job.config, TrainConfig):
        run = _run_training(job, job.config)
    else:
        run = _run_league(job, job.config)
    write_atomically(job.folder / DONE, json.dumps(run._asdict(), indent=1) + "\n")
    return run


def submission_of(job: Job, run: ArmRun) -> Submission:
    """The benchmark submission of a finished run; seeds of one arm share its name."""
    if job.config is None:
        submission, seed = submission_of_spec(run.submitted, job.arm.name), None
    elif isinstance(job.config, TrainConfig):
        submission, seed = submission_of_spec(expand_run_name(str(job.folder / run.submitted)), job.arm.name), job.seed
    else:
        submission, seed = submission_of_run(job.folder, run.submitted, job.arm.name), job.seed
    return submission._replace(seed=seed, acts=run.acts, settings_sha256=job.digest)


class SilentWatcher(QuietWatcher):
    """A progress watcher that prints nothing and records the acts of each practice of a league."""

    def __init__(self, practiced: Path) -> None:
        super().__init__(ErrorOutput())
        self.practiced = practiced

    def warn(self, _message: str) -> None: ...

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
    watcher = SilentWatcher(job.folder / PRACTICED)
    training, _ = train(config, RunDirectory(job.folder), watcher)
    with (job.folder / PROGRESS).open(newline="", encoding="utf-8") as file:
        acts, before = 0.0, 0
        for row in csv.DictReader(file):
            acts += (int(row["games"]) - before) * float(row["turns"])
            before = int(row["games"])
    newest = checkpoints_in(job.folder)[0].relative_to(job.folder)
    return ArmRun(job.digest, str(newest), training.learner.decisions, round(acts), 0, 0)


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
    blobs, choice, chosen = directory.blobs, 0, main.name
    if job.arm.pick != "last":
        chosen, choice = _pick_member(job.arm.pick, main, members, {main.name: states[main.name].blob}, blobs, config)
    return ArmRun(job.digest, chosen, decisions, acts, matches, choice)


def _pick_member(
    pick: Pick, main: Member, members: tuple[Member, ...], live: dict[str, str], blobs: Path, config: Config
) -> tuple[str, int]:
    """The main or its snapshot with the most points, or wins and draws, against its practice partners; and the acts."""
    candidates = [member for member in members if main.name in (member.name, member.parent) and member.has_network]
    practiced = (
        member for member in members if member.role == "fixed" and member.split == "train" and not member.costly
    )
    opponents = [Member(spec, spec) for spec in roster(DEV)] if pick == "dev" else list(practiced)
    source = open_source(config.env.scenarios, split=config.env.split)
    scenarios = source.block(config.league.seed, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, scenarios, source.max_count), scenarios, config.env.rules())
    scores, acts = [], 0
    for candidate in candidates:
        player = SEATING.partner(Entrant(candidate, live.get(candidate.name, candidate.blob)), blobs, greedy=True)
        total = 0.0
        for opponent in opponents:
            other = SEATING.partner(Entrant(opponent, None), blobs)
            for seat in (0, 1):
                games = terms.play_seat(seat, player, other)
                acts += int(games.turns.sum(dtype="int64"))
                points = points_of_ten(games.scores, scenarios.pool_values)
                counted = points[:, seat] >= points[:, 1 - seat] if pick == "wins" else points[:, seat]
                total += float(counted.mean())
        scores.append(total)
    return candidates[scores.index(max(scores))].name, acts


class ArmResult(NamedTuple):
    """A finished job: its run, and its results row for each roster."""

    job: Job
    run: ArmRun
    rows: tuple[Row, ...]


def find_row(rows: Sequence[Row], job: Job, opponents: Opponents) -> Row | None:
    """The newest row of ``job`` against these partners; ``None`` if there is none of the same run."""
    seed = None if job.config is None else job.seed
    for row in reversed(rows):
        submission, benchmark = row["submission"], row["benchmark"]
        run = submission["name"], submission["seed"], submission["settings_sha256"]
        protocol = benchmark["version"], benchmark["roster_sha256"]
        if run == (job.arm.name, seed, job.digest) and protocol == (VERSION, members_hash(opponents.partners)):
            return row
    return None


def _find_rows(rows: Sequence[Row], job: Job, against: Sequence[Opponents]) -> tuple[Row, ...]:
    return tuple(row for opponents in against if (row := find_row(rows, job, opponents)) is not None)


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
    logging: Logging | None = None,
    **terms: Any,
) -> Iterator[ArmResult]:
    """Run and measure every job, appending new rows to the results file ``path``; yields finished and new ones.

    ``report`` reports progress; ``logging``: of evaluations against the rosters test2 and test3; ``terms``: ``sample``,
    ``labels`` and ``adversary``, as for :func:`league.bench.run.measure`. Raises what training and measuring raise.
    """
    stored = read_rows(path)
    waiting = []
    for job in jobs:
        unknown, run = missing_rosters(stored, job, against), finished_run(job)
        if run is not None and not unknown:
            yield ArmResult(job, run, _find_rows(stored, job, against))
        else:
            waiting.append((job, unknown, terms, logging))
    if len(waiting) < len(jobs):
        report(f"{len(jobs) - len(waiting)} of {len(jobs)} are finished and measured already")
    for number, (_, measured) in enumerate(in_processes(_run_and_measure, waiting, workers), start=1):
        for row in measured.rows:
            results.append(path, row)
        result = measured._replace(rows=_find_rows([*stored, *measured.rows], measured.job, against))
        points = ", ".join(f"{headline_of(row):.2f} ({row['benchmark']['roster']})" for row in result.rows)
        report(f"{number}/{len(waiting)} {result.job.label}: {points} points of ten after {result.run.acts:,} acts")
        yield result


def read_rows(path: Path) -> list[Row]:
    """The rows of a results file; none if there is no file yet."""
    return results.read([path]) if results.has_results(path) else []


def _run_and_measure(
    job: Job, against: Sequence[Opponents], terms: dict[str, Any], logging: Logging | None
) -> ArmResult:
    import torch

    torch.set_num_threads(1)
    try:
        run = run_job(job)
        submission = submission_of(job, run)
        rows = []
        for opponents in against:
            here = {**terms, "adversary": False} if opponents.name in (*OF_PEOPLE, *LOGGED) else terms
            rows.append(measure(submission, opponents, logging=logging if opponents.name in LOGGED else None, **here))
        return ArmResult(job, run, tuple(rows))
    except InputError as error:
        raise InputError(f"{job.label}: {error}") from error
    except (RunFailure, OSError) as error:
        raise RunFailure(f"{job.label}: {error}") from error


def forecast_section(jobs: Sequence[Job], against: Sequence[Opponents], rows: Sequence[Row]) -> TableSection:
    """Runs of each arm that remain to be trained and measured, and the planned acts of one; writes nothing.

    ``rows``: existing rows of the results file. Raises what the arms' configs raise.
    """
    lines = []
    for arm in dict.fromkeys(job.arm.name for job in jobs):
        runs = [job for job in jobs if job.arm.name == arm]
        to_train = sum(finished_run(job) is None for job in runs)
        to_measure = sum(len(missing_rosters(rows, job, against)) for job in runs)
        counts = (len(runs), to_train, to_measure, planned_acts(runs[0]))
        lines.append([arm, *(f"{count:,}" for count in counts)])
    return table_section("Remaining work", ("arm", "runs", "to train", "to measure", "acts of a run"), lines)


@experiment_command(__doc__, "baselines.yaml", workers=2)
@click.option("--results", type=FILE, metavar="FILE", help=f"results file ({RESULTS} in output_dir)")
@click.option("--seeds", type=integer(1, 1000), metavar="N", help="of each arm that learns; overrides comparison.seeds")
@click.option(
    "--against",
    type=click.Choice(ROSTERS),
    multiple=True,
    help="a roster to measure on; may be repeated (comparison.against)",
)
@click.option("--reason", metavar="TEXT", help="with test2 and test3: why, for the log of its evaluations")
@click.option("--only", "arms", multiple=True, metavar="ARM", help="this arm alone; may be repeated")
@click.option("--dry-run", is_flag=True, help="print the remaining work, then stop")
@click.option("--allow-uncommitted", is_flag=True, help="though the sources differ from the commit; the rows say so")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    workers: int,
    results: Path | None,
    seeds: int | None,
    against: tuple[str, ...],
    reason: str | None,
    arms: tuple[str, ...],
    dry_run: bool,
    allow_uncommitted: bool,
) -> None:
    """Train, measure, and print the table."""
    options = {"comparison.seeds": seeds, "comparison.against": f"[{', '.join(against)}]" if against else None}
    overrides = (*overrides, *(f"{key}={value}" for key, value in options.items() if value is not None))
    config = load_config(config_path, overrides, BaselinesConfig)
    names = [arm.name for arm in config.arms]
    for name in arms:
        if name not in names:
            raise InputError(f"--only {name}: unknown arm; the arms are {', '.join(names)}")
    folder, comparison = user_path(config.output_dir), config.comparison
    rosters, path = [opponents_of([name]) for name in comparison.against], results or folder / RESULTS
    jobs = plan_jobs(config, arms or names)
    if dry_run:
        show_sections(forecast_section(jobs, rosters, read_rows(path)))
        return
    check_committed(allow_uncommitted)
    partners = [partner for opponents in rosters for partner in opponents.partners]
    logging = logging_of(partners, path, reason, None)
    print_line(
        f"{len(jobs)} runs against the roster {' and '.join(comparison.against)}, {workers} at a time, under {folder}"
    )
    terms = comparison.model_dump(include={"sample", "labels", "adversary"})
    results_of = run_jobs(jobs, rosters, path, workers, print_line, logging=logging, **terms)
    finished = sorted(results_of, key=lambda result: jobs.index(result.job))
    reference = (
        comparison.reference if any(result.job.arm.name == comparison.reference for result in finished) else None
    )
    report = leaderboard([row for result in finished for row in result.rows], reference, comparison.smallest_effect)
    show_sections(*report.sections)
    table = folder / f"table_{'_'.join(comparison.against)}.md"
    write_atomically(table, report_markdown(report))
    print_line(f"written: {path} and {table}")
