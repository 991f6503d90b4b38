"""The application layer: train, play a league, evaluate, benchmark. Commands, Python API and scripts call it.

The public functions :func:`train`, :func:`play_league`, :func:`open_league`, :func:`evaluate_pair`,
:func:`evaluate_league` and :func:`benchmark` take settings as plain values and return results that print as tables.
The commands show progress and write files on the way, so they call the steps that these functions consist of, such as
:func:`check_pair` and :func:`check_benchmark`. Every check that protects a result is in such a step, or at the start of
a run: settings, names, scenario data, devices, hint models, game, provenance.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import InputError, RunFailure, quote
from dond_marl.files import user_path
from dond_marl.game import Disagree, Rules
from dond_marl.occupants import Spec, SpecLike, expand_run_name, occupant_name, seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Partner
from dond_marl.statistics import Estimate
from league.ledger.run_directory import PROGRESS, SETTINGS, RunDirectory, find_run, new_run
from league.ledger.run_names import expand_run_names
from league.tables.blocks import Section
from league.tables.plain import FOLDER, plain_text

if TYPE_CHECKING:
    import pandas as pd

    from league.bench.results import Row
    from league.bench.run import Opponents, Submission
    from league.evaluation.diagnosis import Diagnosis
    from league.evaluation.evaluate import Evaluation
    from league.figures.rows import Figures
    from league.settings.read import Config
    from league.settings.training import TrainConfig
    from league.standings.ladder import Standing
    from league.training.clone import CloneReport, HumanPositions
    from partners.learning.cloning import Epoch

Settings = Mapping[str, object]
Report = Callable[[str], None]
OnFigures = Callable[[Mapping[str, float]], object]
NO_SETTINGS: Settings = {}
MOST_WORKERS = 4_096
MOST_SAMPLE = 1_000_000  # scenarios of an evaluation
WIDTH = 110  # characters of a printed result: what a notebook shows without breaking lines
REPORT = "report.json"  # of a cloning
CLONE = Path("checkpoints") / "supervised.json"


def _silent(_: object) -> None:
    """Report no progress."""


# --- Results --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class PrintedResult:
    """A result of this API; it prints as ``text``, the tables of the command, and in a notebook as HTML tables."""

    sections: tuple[Section, ...] = field(compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """The sections as text of :data:`WIDTH` columns."""
        return plain_text(self.sections, WIDTH)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from league.tables.markdown import section_html

        return "".join(map(section_html, self.sections))


@dataclass(frozen=True, repr=False)
class Trained(PrintedResult):
    """A training that has ended: its run folder and its last checkpoint. Prints as the command's tables.

    ``points``: points of ten against the partner on held-out scenarios, with sampled actions as in training.
    """

    folder: Path
    checkpoint: Path
    points: Estimate

    @property
    def member(self) -> str:
        """The policy as an occupant: ``checkpoint(path='...')``."""
        return f"checkpoint(path={str(self.checkpoint)!r})"

    def frame(self) -> pd.DataFrame:
        """The log of the training, a row per update, as a pandas frame; unmeasured values are missing."""
        from league.tables.export import frame_of

        with (self.folder / "progress.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = list(rows[0]) if rows else []
        return frame_of({name: [float(row[name]) if row[name] else None for row in rows] for name in names})


@dataclass(frozen=True, repr=False)
class PlayedLeague(PrintedResult):
    """A league's run folder, and its ladder, the best member first. Prints as the command's tables."""

    folder: Path
    ladder: tuple[Standing, ...]
    trust: bool = False  # whether members that need code or files are used to replay acts

    @property
    def points(self) -> dict[str, Estimate]:
        """The points of ten of each member against all others, in the ladder's order."""
        return {row.member: row.points for row in self.ladder}

    def frame(self, table: str = "ratings") -> pd.DataFrame:
        """The table ``games``, ``acts``, ``payoffs`` or ``ratings`` as a pandas frame; docs/LEDGER.md has the columns.

        Acts are replayed from the ledger; those of language models and people cannot be, nor without ``trust`` those of
        members that need code or files, and the frame's ``attrs["left_out"]`` lists them. Raises
        :class:`dond_marl.errors.InputError` for another table.
        """
        from league.tables.export import frame

        left_out: list[str] = []
        data = frame(self.folder, table, left_out.append, trust=self.trust)
        data.attrs["left_out"] = left_out
        return data


@dataclass(frozen=True, repr=False)
class EvaluatedPair(PrintedResult):
    """One member against one partner, with the best response and solution points. Prints as the command's tables."""

    evaluation: Evaluation
    probe: Figures | None = None
    diagnosis: Diagnosis | None = None

    @property
    def points(self) -> Estimate:
        """The member's points of ten, mean of both seats."""
        return self.evaluation.played.figures["both seats"].points

    def frame(self) -> pd.DataFrame:
        """Every figure as a pandas frame: line, view (both seats or one), figure, mean, interval and games."""
        from league.tables.export import frame_of

        rows: list[tuple[str, str, str, float, float, float, int]] = []
        for line in self.evaluation.lines:
            for view, figures in line.figures.items():
                for name, estimate in figures._asdict().items():
                    mean, n, low, high = estimate
                    rows.append((line.name, view, name, mean, low, high, n))
        names = ("line", "view", "figure", "mean", "low", "high", "games")
        return frame_of({name: [row[k] for row in rows] for k, name in enumerate(names)})


@dataclass(frozen=True, repr=False)
class EvaluatedLeague(PrintedResult):
    """The final evaluation of a league's main members. Prints as the command's tables."""

    evaluation: Figures


@dataclass(frozen=True, repr=False)
class BenchmarkResult(PrintedResult):
    """The row of a benchmark as written to the results file. Prints as the command's table."""

    row: Row


class DryRun(PrintedResult):
    """The plan of a run and its expensive queries; nothing was written."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


# --- Training -------------------------------------------------------------------------------------------------------


def train(
    config: str | Path = "ppo_config.yaml",
    settings: Settings = NO_SETTINGS,
    *,
    seed: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
    dry_run: bool = False,
    on_update: OnFigures | None = None,
) -> Trained | DryRun:
    """Train one policy by PPO or REINFORCE, in a new run folder under ``folder``, and score it on held-out scenarios.

    Parameters
    ----------
    config: a YAML file, or a shipped config by its name.
    settings: keys over it, such as ``{"env.partner": "boulware", "training.num_train_steps": 20_000}``.
    seed, folder: shorthands for training.seed and logging.output_dir.
    progress: print progress on standard error.
    dry_run: only check the settings and plan the run; returns a :class:`DryRun`, and refuses settings that name code.
    on_update: called after every update with the numbers of its row of ``progress.csv``, such as ``decisions`` and
        ``points``; what it raises ends the training and passes through, such as ``optuna.TrialPruned``.

    Raises :class:`league.settings.read.ConfigError`, and what :func:`league.training.training.train` raises.
    """
    from league.evaluation.evaluate import SAMPLED
    from league.ledger.run_names import checkpoints_in
    from league.results.progress import ErrorOutput
    from league.results.training import QuietTrainWatcher, TrainWatcher, score_sections
    from league.settings.training import TrainConfig
    from league.training.training import plan_of
    from league.training.training import train as train_in

    options: TrainConfig = _load(config, TrainConfig, settings, "training.seed", seed, folder, dry_run)
    if options.training.algo == "bc":
        raise InputError("train() takes ppo and reinforce; people's dialogues are cloned by dond train --algo bc")
    if dry_run:
        return DryRun(sections=(Section(FOLDER, "", tuple(plan_of(options))),))
    directory = new_run(options.logging.output_dir)
    watcher = (TrainWatcher if progress else QuietTrainWatcher)(ErrorOutput())
    training, _ = train_in(options, directory, watcher, watcher.on_closing, report=on_update or _silent)
    checkpoint = checkpoints_in(directory.path)[0]
    assert training.closing is not None
    points = training.closing.results[SAMPLED].points
    return Trained(directory.path, checkpoint, points, sections=score_sections(training, directory.path))


def clone_people(
    config: TrainConfig,
    opened: Callable[[RunDirectory, HumanPositions], None],
    epoch_ended: Callable[[Epoch], None],
    report: Report = _silent,
) -> tuple[CloneReport, HumanPositions, Path]:
    """Clone people's acts in a new run folder; the report, the data, and the file of the expert.

    ``opened`` is called before the first epoch, ``epoch_ended`` after each, ``report`` during the examination. The
    expert is written where ``expert(kind=supervised)`` reads it. Raises :class:`dond_marl.scenarios.data.DataError`
    before a folder is made, and :class:`league.ledger.run_directory.RunError`.
    """
    from dond_marl.records.files import write_atomically
    from league.figures.rows import write_csv
    from league.play.devices import check_devices
    from league.settings.read import dump
    from league.training.clone import load_positions, measure_clone, report_json, save, train_clone
    from partners.learning.cloning import Epoch
    from partners.network.occupants import expert_path

    check_devices([config.training])
    data = load_positions(config)
    with new_run(config.logging.output_dir) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        opened(directory, data)
        network, epochs = train_clone(config, data, epoch_ended)
        rows = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in epoch] for epoch in epochs]
        write_csv(directory.path / PROGRESS, Epoch._fields, rows)
        clone_report = measure_clone(network, data, report)
        write_atomically(directory.path / REPORT, json.dumps(report_json(clone_report), indent=1) + "\n")
        expert = expert_path(kind="supervised")
        for path in (directory.path / CLONE, expert):
            save(path, network, config, epochs, clone_report)
    return clone_report, data, expert


# --- Leagues --------------------------------------------------------------------------------------------------------


def play_league(
    config: str | Path = "league_quick.yaml",
    settings: Settings = NO_SETTINGS,
    *,
    seed: int | None = None,
    folder: str | Path | None = None,
    workers: int = 1,
    progress: bool = False,
    dry_run: bool = False,
    on_round: OnFigures | None = None,
) -> PlayedLeague | DryRun:
    """Play a league to its end in a new run folder under ``folder``; ``workers`` tasks at a time change no row of it.

    ``on_round``: called after every committed round with its number, ``round``, and the figures that trackers get, such
    as ``main/points``, those of the learner's row of the ladder; what it raises ends the league and passes through.
    ``config``, ``settings``, ``progress`` and ``dry_run`` as for :func:`train`, such as ``{"league.rounds": 2}`` or
    ``{"members": ["heuristic", "tough"]}``. Code in a file is named ``my_file.py:Name``. Raises
    :class:`league.settings.read.ConfigError`, and what :func:`league.rounds.runner.run_league` raises.
    """
    from league.results.league import league_sections
    from league.results.progress import ErrorOutput, PlainWatcher, QuietWatcher
    from league.rounds.runner import run_league
    from league.settings.read import Config
    from league.settings.sections import BackendConfig
    from league.standings.ladder import ladder_of

    _check_integer("workers", workers, 1, MOST_WORKERS)
    options: Config = _load(config, Config, settings, "league.seed", seed, folder, dry_run)
    if dry_run:
        from league.rounds.dry_run import plan_lines  # loads PyTorch

        return DryRun(sections=(Section(FOLDER, "", tuple(plan_lines(options))),))
    directory = new_run(options.logging.output_dir)
    backend = None if workers == 1 else BackendConfig(kind="process", workers=workers)
    watcher = (PlainWatcher if progress else QuietWatcher)(ErrorOutput())
    outcome = run_league(options, directory, watcher, backend, report=on_round or _silent)
    ladder = tuple(ladder_of(outcome.cross, options.league.confidence, outcome.responses))
    return PlayedLeague(directory.path, ladder, trust=True, sections=league_sections(outcome, directory.path))


def open_league(run: str | Path, *, trust: bool = False) -> PlayedLeague:
    """The league in folder ``run``, or the newest of those in it, also while it is running: its ladder and tables.

    ``trust``: its members may need code, files, services and keys, as its games are replayed.
    Raises :class:`league.ledger.run_directory.RunNotFound` and :class:`league.ledger.ledger.LedgerError`.
    """
    from league.ledger.ledger import open_run
    from league.standings.history import history_of
    from league.standings.ladder import ladder_of
    from league.tables.standings import crossplay, ladder

    with open_run(run) as (ledger, directory):
        config = ledger.config()
        cross = history_of(ledger, config).cross
    confidence = config.league.confidence
    standings, learns = ladder_of(cross, confidence), bool(config.learners)

    first = ladder(standings, (), confidence, 0, set(), learns=learns)
    sections = (first, crossplay(cross, standings, confidence))
    return PlayedLeague(directory.path, tuple(standings), trust=trust, sections=sections)


# --- Evaluation -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """A member, its partner and the terms of their evaluation, checked by :func:`check_pair`."""

    member: Spec | Partner
    against: Spec | Partner
    source: ScenarioSource
    rules: Rules
    player: Partner  # the member's, with its budget and connections
    sample: int | None
    seed: int
    confidence: float
    name: str | None = None  # of the member, instead of its spec
    exact: bool = False  # whether code of others is queried beyond its games

    def evaluate(self, report: Report = _silent) -> Evaluation:
        """Play the pair, and the best response. Raises what :func:`league.evaluation.evaluate.evaluate` raises."""
        from dond_marl.solvers.efficiency import ImpossibleScore
        from league.evaluation.evaluate import evaluate

        try:
            return evaluate(
                self.player, self.against, self.source, self.rules, sample=self.sample, seed=self.seed,
                confidence=self.confidence, report=report, name=self.name or occupant_name(self.member),
                exact=self.exact,
            )  # fmt: skip
        except ImpossibleScore as error:
            raise RunFailure(f"a bug of the game or of the measure: {error}") from error

    def probe(self) -> Figures:
        """Gains of better responses and of more information. Raises :class:`InputError` for unnamed partners."""
        from league.evaluation.exploitability import probe

        if not (isinstance(self.member, Spec) and isinstance(self.against, Spec)):
            raise InputError("a probe needs names or specs for both members")
        return probe(self.member, self.against, self.source, self.rules)

    def diagnose(self, evaluation: Evaluation, *, report: Report = _silent) -> Diagnosis:
        """The regret of each act, the offers, and the noise of a second run."""
        from league.evaluation.diagnosis import diagnose

        return diagnose(
            self.player if self.player.traits.remote else self.member,  # its limits hold for all of it
            self.against, evaluation.terms.scenarios, self.rules, seed=self.seed,
            confidence=self.confidence, report=report, exact=self.exact, name=occupant_name(self.member),
        )  # fmt: skip


def check_pair(
    member: SpecLike | Partner,
    against: SpecLike | Partner,
    *,
    scenarios: str = "lewis",
    split: str | None = None,
    data_dir: str | Path | None = None,
    sample: int | None = None,
    max_turns: int = Rules().max_turns,
    disagree: Disagree = "ends",
    seed: int = 0,
    confidence: float = 0.95,
    name: str | None = None,
    exact: bool = False,
    trust: bool = False,
) -> Pair:
    """The pair to evaluate, once its names, numbers, data, game and provenance are known to be right.

    ``trust``: names of members of a league, whose specs its run folder holds, may need code, files, services and keys.
    A policy that has trained with members of the held-out rosters, or whose opponents are unknown, is refused
    against them. A partner object is taken as it is: what it has trained with is not recorded, so a learned one counts
    as unknown. Raises :class:`dond_marl.errors.InputError`, of which :class:`dond_marl.occupants.OccupantNameError`,
    :class:`dond_marl.scenarios.sources.ScenarioError` and :class:`partners.provenance.ProvenanceError` are kinds.
    """
    from league.evaluation.evaluate import HELDOUT
    from partners.equilibrium import check_game
    from partners.llm.partner import LLMPartner
    from partners.provenance import NO_PAST, UNKNOWN_PAST, ancestry, confirm_opponents_unseen, identity, label

    if sample is not None:
        _check_integer("sample", sample, 1, MOST_SAMPLE)
    _check_integer("seed", seed, 0, 2**63 - 1)
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise InputError(f"confidence must be a number between 0 and 1, such as 0.95; got {quote(confidence)}")
    try:
        rules = Rules(max_turns, disagree)
    except ValueError as error:
        raise InputError(str(error)) from None
    folder = None if data_dir is None else Path(data_dir)
    source = open_source(scenarios, split=split or HELDOUT.get(scenarios), data_dir=folder)
    member = expand_run_name(member, trust=trust) if isinstance(member, str | Mapping) else member
    against = expand_run_name(against, trust=trust) if isinstance(against, str | Mapping) else against
    player, partner = seat_occupant(member), seat_occupant(against)
    for occupant in (player, partner):
        if isinstance(occupant, LLMPartner):
            occupant.check_key()
    check_game([player, partner], rules, source)
    if isinstance(against, Spec):
        if isinstance(member, Spec):
            past, tested = ancestry(member), label(identity(member))
        else:
            past, tested = UNKNOWN_PAST if player.traits.learned else NO_PAST, type(member).__name__
        confirm_opponents_unseen([against], past, tested)
    return Pair(member, against, source, rules, player, sample, seed, confidence, name, exact)


def evaluate_pair(
    member: SpecLike | Partner,
    against: SpecLike | Partner = "heuristic",
    *,
    probe: bool = False,
    diagnose: bool = False,
    **terms: Any,
) -> EvaluatedPair:
    """Play ``member`` and the best response against ``against``, each scenario once in either seat.

    Parameters
    ----------
    member, against: a name, a spec, or a partner of your own class.
    probe: also compute what better responses and more information would gain.
    diagnose: also measure each act's regret.
    terms: ``scenarios`` ("lewis"), ``split`` (its held-out part), ``data_dir``, ``sample`` (number of scenarios, all),
        ``max_turns`` (10), ``disagree`` ("ends"), ``seed`` (0), ``confidence`` of the intervals (0.95), ``name`` of
        the member in the tables (its spec), ``trust`` (False) and ``exact`` (False: a partner of your own class is
        queried in its games alone; True: also as often as an exact best response takes), as for :func:`check_pair`.

    Raises what :func:`check_pair` raises, and what playing raises.
    """
    from dond_marl.dialogues.human_line import stored_human_line
    from league.results.pair import pair_sections

    pair = check_pair(member, against, **terms)
    evaluation = pair.evaluate()
    return EvaluatedPair(
        evaluation,
        pair.probe() if probe else None,
        pair.diagnose(evaluation) if diagnose else None,
        sections=pair_sections(evaluation, stored_human_line()),
    )


def evaluate_league(
    run: str | Path,
    *,
    sampling: bool = False,
    confidence: float = 0.95,
    sample: int | None = None,
    exact: bool = False,
    report: Report = _silent,
    trust: bool = False,
) -> EvaluatedLeague:
    """Evaluate the main members of a league (or of the newest in folder ``run``) against its held-out members.

    ``sampling``: networks sample their acts, as in training; ``sample``: number of scenarios, by default all;
    ``exact``: code of others is queried for references too, and not in its games alone; ``trust``: its held-out members
    may need code, files, services and keys. Raises :class:`~dond_marl.errors.UntrustedError` without it,
    :class:`league.evaluation.of_run.NothingToEvaluate` and what opening the ledger raises.
    """
    from league.evaluation.of_run import evaluate_run
    from league.tables.final import final_sections

    directory = find_run(run)
    final = evaluate_run(
        directory, sampling=sampling, confidence=confidence, sample=sample, exact=exact, report=report, trust=trust
    )
    return EvaluatedLeague(final, sections=final_sections(final))


# --- Benchmark ------------------------------------------------------------------------------------------------------


def check_benchmark(
    member: str | None,
    against: Sequence[str],
    *,
    run: str | Path | None = None,
    name: str | None = None,
    seed: int | None = None,
    declare: str | None = None,
    trust: bool = False,
) -> tuple[Submission, Opponents]:
    """The submission and its partners, once they are known to be right; nothing is played.

    Parameters
    ----------
    member: an occupant or the ``.json`` of a checkpoint; with ``run``, a member of that league (its main member).
    against: a roster (:data:`partners.rosters.ROSTERS`), folders of programs (``agents:FOLDER``), or occupants.
    run: folder of a league.
    name, seed: of the submission in the leaderboard; rows of one name are seeds of one method.
    declare: the opponents in training, in words, if they are not recorded.
    trust: members of leagues, whose specs their run folders hold, may need code, files, services and keys.

    Raises :class:`dond_marl.errors.InputError`, of which :class:`partners.provenance.ProvenanceError` is a kind.
    """
    from league.bench.run import AGENTS, opponents_of, provenance, submission_of_run, submission_of_spec

    if member is None and run is None:
        raise InputError("give a member to measure (an occupant or a checkpoint's .json), or the folder of a league")
    opponents = opponents_of(
        [partner if str(partner).startswith(AGENTS) else expand_run_name(partner, trust=trust) for partner in against]
    )
    if run is None:
        submission = submission_of_spec(expand_run_name(member or "", trust=trust), name)
    else:
        submission = submission_of_run(user_path(run), member, name, trust=trust)
    submission = submission._replace(seed=seed, declared=declare)
    provenance(submission, opponents.partners)
    return submission, opponents


def benchmark(
    member: str | None,
    against: Sequence[str] = ("dev",),
    *,
    results: str | Path | None = None,
    beyond: bool = False,
    sample: int | None = None,
    replicates: int | None = None,
    labels: bool = False,
    adversary: bool = False,
    workers: int = 1,
    allow_uncommitted: bool = False,
    reason: str | None = None,
    log: str | Path | None = None,
    report: Report = _silent,
    **terms: Any,
) -> BenchmarkResult:
    """Measure a policy against a roster of partners under the benchmark's protocol, and append the row to ``results``.

    Parameters
    ----------
    results: results file (JSON lines), by default ``runs/bench.jsonl``; it is checked before the first game.
    beyond: pools that no roster and no training uses.
    sample: number of scenarios, for expensive members.
    replicates: games per scenario, seat and partner where one of them acts at random.
    labels: play partners that read labels with every offer a PROPOSE, and an INSIST, too: the figure ``best_labels``.
    adversary: train exploiters against a policy whose best response is not exact, some minutes.
    workers: processes; they change no figure.
    allow_uncommitted: measure although the sources of the checkout differ from its commit; the row says so.
    reason, log: why test2 or test3 is played, and the file of its log (:func:`league.bench.held_out.logging_of`).
    report: receives progress messages.
    terms: ``run``, ``name``, ``seed``, ``declare`` and ``trust``, as for :func:`check_benchmark`.

    Raises what :func:`check_benchmark` and :func:`league.bench.run.measure` raise.
    """
    from league.bench.held_out import logging_of
    from league.bench.protocol import REPLICATES
    from league.bench.results import DEFAULT, append, check_writable, read
    from league.bench.run import check_committed, measure
    from league.bench.table import result_section

    path = DEFAULT if results is None else user_path(results)
    check_writable(path)
    if path.exists():
        read([path])  # damage is found before the first game
    submission, opponents = check_benchmark(member, against, **terms)
    logging = logging_of(opponents.partners, path, reason, None if log is None else user_path(log))
    check_committed(allow_uncommitted)
    row = measure(
        submission, opponents, beyond=beyond, sample=sample,
        replicates=replicates or REPLICATES, labels=labels, adversary=adversary, workers=workers, logging=logging,
        report=report,
    )  # fmt: skip
    append(path, row)
    return BenchmarkResult(row, sections=(result_section(row),))


# --- Values from Python ---------------------------------------------------------------------------------------------


def _check_integer(name: str, value: object, least: int, most: int) -> None:
    if not (type(value) is int and least <= value <= most):
        raise InputError(f"{name} must be an integer in {least}..{most}; got {quote(value)}")


def _load(
    config: str | Path,
    schema: type[Any],
    settings: Settings,
    seed_key: str,
    seed: int | None,
    folder: str | Path | None,
    dry_run: bool,
) -> Any:
    """A config file, or the shipped one of that name, with ``settings`` over it: an object of type ``schema``."""
    from league.settings.layers import preset
    from league.settings.read import load_config

    if not isinstance(settings, Mapping):
        raise InputError(f"settings are a mapping, such as {{'env.partner': 'boulware'}}; got {quote(settings)}")
    short = {seed_key: seed, "logging.output_dir": None if folder is None else str(folder)}
    values = {**settings, **{key: value for key, value in short.items() if value is not None}}
    overrides = [f"{key}={_as_yaml(value, key)}" for key, value in values.items()]
    return load_config(preset(Path(config)), overrides, schema, dry_run=dry_run, expand=expand_run_names)


def _as_yaml(value: object, key: str) -> str:
    """A value as YAML, of which JSON is a part. Raises :class:`InputError`."""
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        raise InputError(
            f"settings: {key} takes a text, a number, true, false, a list or a mapping; got {quote(value)}"
        ) from None


__all__ = ["benchmark", "evaluate_league", "evaluate_pair", "open_league", "play_league", "train"]
