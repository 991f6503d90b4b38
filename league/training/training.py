"""One learner's training: practice, update, log, save; from the start or from any checkpoint, to the same bits.

A run folder holds ``config.yaml``, ``progress.csv``, TensorBoard's events and ``checkpoints/``. Everything random is a
function of the seed and of counters that every checkpoint holds.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import torch

from dond_marl.errors import InputError, RunFailure
from dond_marl.game import Rules
from dond_marl.occupants import ANYTHING, NOTHING, Permission, Spec, check_needs, seat_occupant
from dond_marl.records.files import write_atomically, write_durably
from dond_marl.scenarios.sources import ScenarioSource, lewis_space
from dond_marl.seats import Partner, Traits, expensive_to_query
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.statistics import Estimate
from hints import HintSchedule
from league.evaluation.evaluate import GREEDY, SAMPLED, evaluate, scenarios_of
from league.evaluation.exploitability import BEST
from league.evaluation.matches import BOTH, PlayerLine, Terms, heldout_terms, score
from league.ledger.run_directory import PROGRESS, SETTINGS, RunDirectory, RunError
from league.ledger.run_names import checkpoints_in
from league.ledger.trackers import Trackers
from league.ledger.verify import refuse_other_occupants, refuse_other_settings
from league.play.devices import check_devices, on_device
from league.play.hinters import (
    JUDGE,
    QueryEstimate,
    expected_decisions,
    hint_queries,
    hint_schedule,
    hints_per_game,
    load_local_model,
    no_hint_warning,
    query_lines,
)
from league.play.occupant_kinds import is_free
from league.play.practice import initial_network, learner_settings, practice_plan
from league.play.provenance import occupants_of, training_ancestry
from league.settings.read import dump, parse_stored
from league.settings.sections import names_in
from league.settings.training import TrainConfig
from league.standings.references import NO_REFERENCES, ReferencePoints, reference_points
from partners.equilibrium import check_game
from partners.learning.exact_targets import ExactTargets
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, Practice, Score, Session, in_practice
from partners.mixture import member_names
from partners.network.checkpoint import CheckpointError, load_checkpoint, network_note, save_checkpoint, with_prefix
from partners.network.network import copy_of, with_weights
from partners.network.partner import NetworkPartner
from partners.provenance import NO_PAST, Ancestry, provenance_of, read_past, refuse_test_roster

HINT_WARNING_EVERY = 100  # updates between warnings while every hint fails
PAST_SELVES = 4  # snapshots to play against; the oldest is dropped first


class Watcher(Protocol):
    """Callbacks for the events of a training."""

    def warn(self, message: str) -> None:
        """A warning for the user; the training goes on."""

    def on_open(self, training: Training, directory: Path) -> None:
        """A training begins or resumes."""

    def on_update(self, training: Training) -> bool:
        """After an update; return ``False`` to stop, after a checkpoint is saved."""


class ClosingScore(NamedTuple):
    """The score of a finished training on held-out scenarios, sampled and greedy."""

    label: str  # of the scenarios
    results: dict[str, PlayerLine]  # by play: SAMPLED and GREEDY
    shares: dict[str, Estimate]  # sampled play without hints; empty where the best response is not exact

    @property
    def figures(self) -> dict[str, float]:
        """Means for trackers: points of ten and share of deals by play, and the share of a best response."""
        figures: dict[str, float] = {}
        for play, result in self.results.items():
            figures |= {f"closing/{play}_points": result.points.mean, f"closing/{play}_deals": result.deals}
        if BEST in self.shares:
            figures["closing/of_response"] = self.shares[BEST].mean
        return figures


ClosingReport = Callable[["Training", str], None]  # the play that is measured


class TrainingState(NamedTuple):
    """The content of a checkpoint: a training between two updates."""

    decisions: int
    tensors: dict[str, torch.Tensor]
    about: dict[str, Any]

    def save(self, folder: Path) -> Path:
        """Write the checkpoint, for resuming or for a seat; returns the path of its ``.json``."""
        path = folder / f"step_{self.decisions:012d}.json"
        save_checkpoint(path, self.tensors, self.about)
        return path


@dataclass(kw_only=True)
class Training(Session):
    """A training in progress: the learner's session, its opponents and its counters."""

    config: TrainConfig
    source: ScenarioSource
    partner: Partner
    hints: HintSchedule | None = None
    past_selves: list[NetworkPartner] = field(default_factory=list)
    seconds: float = 0.0  # of this process
    decisions_before: int = 0  # where this process began
    references: ReferencePoints = NO_REFERENCES  # points of the source's Nash points and of a best response
    ancestry: Ancestry = NO_PAST  # all opponents, transitively
    occupants: Mapping[str, str] = field(default_factory=dict)  # identities of partner and hint provider
    closing: ClosingScore | None = None  # of a finished training, where it was asked for

    @property
    def costly_hints(self) -> bool:
        """Whether hints cost money or much time."""
        traits: Traits = getattr(self.hints and self.hints.hinter, "traits", Traits())
        return traits.costly

    @cached_property
    def closing_terms(self) -> Terms:
        """Scenarios and rules of the closing evaluation with hints: few scenarios if hints are costly."""
        return self.heldout_terms(self.config.hints.closing_scenarios if self.costly_hints else None)

    @property
    def closing_games(self) -> int:
        """Games of the closing evaluation with hints: both seats, greedy and sampled."""
        return 2 * 2 * self.closing_terms.scenarios.size

    def heldout_terms(self, sample: int | None = None) -> Terms:
        """At most ``sample`` of the source's held-out scenarios, or of the source if it has none."""
        source, env, seed = self.source, self.config.env, self.config.training.seed
        if source.name == "lewis":
            source = heldout_terms().source
        if sample is not None and source.table is not None:
            sample = min(sample, source.table.size)
        return Terms(
            source, scenarios_of(source, sample, seed), env.rules(), seed, revealed=env.reveal_partner_utilities
        )

    @property
    def is_complete(self) -> bool:
        return self.learner.decisions >= self.config.training.num_train_steps

    @property
    def decisions_per_second(self) -> float:
        """Own decisions per second of this process, playing and learning."""
        return (self.learner.decisions - self.decisions_before) / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Time left at this process's pace so far; ``inf`` before its first update."""
        decisions = max(self.config.training.num_train_steps - self.learner.decisions, 0)
        return decisions / self.decisions_per_second if self.seconds else math.inf

    def step(self) -> tuple[Score, dict[str, float]]:
        """One update against the partner and past selves. Raises :class:`DeviceError` out of memory."""
        began = time.perf_counter()
        share = self.config.training.past_selves if self.past_selves else 0.0
        labels_from = self.config.training.labels_from
        self.opponents = [
            Opponent(in_practice(self.partner, labels_from), 1 - share),
            *(Opponent(in_practice(past, labels_from), share / len(self.past_selves)) for past in self.past_selves),
        ]
        with on_device(self.config.training):
            score, metrics = super().step()
        self.seconds += time.perf_counter() - began
        return score, metrics

    def snapshot_self(self) -> None:
        if self.config.training.past_selves:
            self.past_selves = [*self.past_selves, NetworkPartner(copy_of(self.learner.network))][-PAST_SELVES:]

    def checkpoint(self) -> TrainingState:
        """A copy of the content of a checkpoint after the latest update."""
        tensors, counters = self.state()
        for i, past in enumerate(self.past_selves):
            tensors |= {f"past.{i}.{name}": value for name, value in past.network.state_dict().items()}
        about = {
            **network_note(self.learner.network),
            "counters": counters,
            "past": len(self.past_selves),
            "practiced": None if self.score is None else self.score._asdict(),
            "reward": self.config.training.reward,
            "occupants": self.occupants,
            **self.ancestry.note(),
        }
        copies = {name: value.detach().clone() for name, value in tensors.items()}
        return TrainingState(self.learner.decisions, copies, about)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint. Raises :class:`CheckpointError`, :class:`RunError`."""
        weights = load_checkpoint(path)
        shape, about = weights.network().shape, weights.about  # raises for a network of another build
        if not {"counters", "past"} <= about.keys():
            raise CheckpointError(f"{path}: its note has no counters; resume from a checkpoint as it was saved")
        refuse_other_occupants(path, about.get("occupants", {}), self.occupants)
        self.restore(weights.tensors, about["counters"])
        # Not the past of today's init_from, which may be another file; and an older note may lack the partner.
        self.ancestry = read_past(about).add_opponents([provenance_of(self.config.env.partner)])
        self.decisions_before = self.learner.decisions
        device = self.learner.network.device
        selves = (with_prefix(weights.tensors, f"past.{i}.") for i in range(about["past"]))
        self.past_selves = [NetworkPartner(with_weights(shape, tensors, device)) for tensors in selves]


COLUMNS = (
    *("update", "decisions", "games", "points", "deals", "turns"),  # of the update's practice
    *("of_nash", "of_response"),  # its points as shares of those of the Nash points and of a best response
    *("policy_loss", "value_loss", "entropy", "kl", "reference_kl", "belief_loss", "taught_loss", "hints_available"),
    *("seconds", "decisions_per_second"),  # wall-clock time, the only columns that differ between equal runs
)


class ProgressLog:
    """The log of a training: one CSV row per update, and the same figures for trackers such as TensorBoard.

    On resuming, rows after the checkpoint are dropped, so that no update is logged twice. Raises
    :class:`dond_marl.errors.MissingLibrary`.
    """

    def __init__(self, folder: Path, training: Training) -> None:
        logging, decisions = training.config.logging, training.learner.decisions
        self._file: IO[str] | None = None
        self._hints: Counter[str] = Counter()  # up to the latest row
        self._trackers = Trackers(logging.all_trackers, folder, decisions + 1, training.config.model_dump(mode="json"))
        if logging.csv:
            drop_rows_after(folder / PROGRESS, decisions)
            self._file = (folder / PROGRESS).open("a", newline="", encoding="utf-8")
            self._rows = csv.DictWriter(self._file, COLUMNS)

    def write(self, training: Training, score: Score, metrics: Mapping[str, float]) -> dict[str, float]:
        """Log the latest update, its practice's ``score`` and the learner's ``metrics``; returns the row's numbers."""
        learner, references = training.learner, training.references
        figures = {
            "points": score.points,
            "deals": score.deals,
            "turns": score.turns,
            "of_nash": score.points / references.nash,
            "of_response": score.points / references.response,
            **metrics,
            "decisions_per_second": training.decisions_per_second,
        }
        figures = {name: value for name, value in figures.items() if not math.isnan(value)}
        if training.hints is not None:
            tally = Counter(training.hints.tally)
            hints, self._hints = tally - self._hints, tally
            if hints["asked"]:
                figures["hints_available"] = hints["available"] / hints["asked"]
        counts = {"update": learner.updates, "decisions": learner.decisions, "games": training.games}
        if self._file is not None:
            texts = {name: f"{value:.6g}" for name, value in figures.items()}
            self._rows.writerow({**counts, **texts, "seconds": f"{training.seconds:.3f}"})
            self._file.flush()
        self._trackers.write({f"train/{name}": value for name, value in figures.items()}, learner.decisions)
        return {**counts, **figures}

    def write_closing(self, figures: Mapping[str, float], decisions: int) -> None:
        """The score of the finished training, for the trackers."""
        self._trackers.write(figures, decisions)

    def __enter__(self) -> ProgressLog:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        self._trackers.close()


def drop_rows_after(path: Path, decisions: int) -> None:
    """Keep the header and the complete rows up to ``decisions``, replacing the file atomically."""
    rows: list[dict[str, str]] = []
    if path.is_file():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if None not in row.values()]  # the last may be cut off
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(row for row in rows if int(row["decisions"]) <= decisions)
    write_atomically(path, text.getvalue())


def begin(config: TrainConfig, *, anew: bool = True) -> Training:
    """A training before its first update; ``anew=False``: ``init_from`` is not read, because a checkpoint follows.

    Raises what opening its scenarios, seating its partner or reading initial weights raises, and, with ``anew``,
    :class:`partners.provenance.ProvenanceError` if it would train against a held-out roster.
    """
    settings, env = config.training, config.env
    if settings.algo == "bc":
        raise RunError("bc (behaviour cloning) plays no games, so it has no plan, and is started anew, not resumed")
    check_devices([settings])
    torch.set_num_threads(settings.threads)
    partner = seat_occupant(env.partner)
    start = settings if anew else settings.model_copy(update={"init_from": None})
    network = initial_network(
        start, env, hints=config.hints.mode != "none", seed=settings.seed, members=member_names(partner)
    ).to(settings.device)
    reference = copy_of(network) if settings.kl else None
    source, ancestry = env.open_source(), training_ancestry(config)
    check_game([partner], env.rules(), source)
    if anew:
        refuse_test_roster(ancestry)
    return Training(
        learner=Learner(network, learner_settings(settings, settings.num_train_steps), settings.seed, reference),
        plan=_plan(config, source),
        config=config,
        source=source,
        partner=partner,
        hints=hint_schedule(config.hints),
        references=reference_points(env.partner, source, env.rules(), env.reveal_partner_utilities),
        ancestry=ancestry,
        occupants=occupants_of(config),
    )


def _plan(config: TrainConfig, source: ScenarioSource) -> Practice:
    """The settings of practice: scenarios, reward, targets."""
    settings = config.training
    plan = practice_plan(settings, config.env, source, settings.seed)
    if not settings.exact_reply:
        return plan
    exact = _exact_targets(config.env.partner, plan.rules, source.prior)
    if settings.likeliest and not exact.covers_all:
        raise InputError(
            "training.likeliest: env.partner may draw an intractable partner, and rewards of greedy acts teach "
            "nothing; leave it out, or name only deterministic partners without memory"
        )
    return replace(plan, exact=exact, likeliest=settings.likeliest)


@lru_cache(maxsize=1)
def _exact_targets(partner: Spec, rules: Rules, prior: str) -> ExactTargets:
    """Exact targets against ``partner`` over the scenarios of ``lewis``, shared by all trainings of a process.

    Raises :class:`~dond_marl.errors.InputError` if no member of it is tractable.
    """
    return ExactTargets(seat_occupant(partner), rules, lewis_space()._replace(prior=prior))


def train(
    config: TrainConfig | None,
    directory: RunDirectory,
    watcher: Watcher,
    closing: ClosingReport | None = None,
    *,
    trust: bool = False,
    report: Callable[[Mapping[str, float]], object] = lambda _: None,
) -> tuple[Training, bool]:
    """Train in ``directory`` until all decisions are made or ``watcher`` stops it; returns whether it is complete.

    Without a ``config`` the run's own settings are used. ``trust``: a resumed run may use code, files, services and
    keys that it names; without it one that names any raises :class:`~dond_marl.errors.UntrustedError`. With
    ``closing``, which receives the progress, a complete training is also scored on held-out scenarios
    (:attr:`Training.closing`), and its trackers get the score. ``report`` is called with the numbers of the row of each
    update, once its checkpoint is saved if one is due; what it raises ends the training.
    ``KeyboardInterrupt``, and the failure of a partner, a hint provider, a judge, a reward or an update, is raised
    after the latest whole update, which is finite, is saved. Raises :class:`RunError` or :class:`CheckpointError`.
    """
    with directory:
        training = _resume_or_begin(config, directory.path, watcher, ANYTHING if trust else NOTHING)
        load_local_model(training.hints)
        folder, logging = directory.path / "checkpoints", training.config.logging
        watcher.on_open(training, directory.path)
        with ProgressLog(directory.path, training) as log:
            saved_at, going, state = training.learner.decisions, True, training.checkpoint()
            try:
                while going and not training.is_complete:
                    score, metrics = training.step()
                    due = training.learner.decisions // logging.save_every > saved_at // logging.save_every
                    if due:
                        training.snapshot_self()
                    row = log.write(training, score, metrics)
                    state = training.checkpoint()  # after the row, which is dropped on resuming if it is too many
                    hint_warning = None if training.hints is None else no_hint_warning(training.hints.tally)
                    if hint_warning and (training.is_complete or training.learner.updates % HINT_WARNING_EVERY == 1):
                        watcher.warn(hint_warning)
                    going = watcher.on_update(training)
                    if due or training.is_complete or not going:
                        state.save(folder)
                        saved_at = state.decisions
                    report(row)
            except (KeyboardInterrupt, RunFailure) as error:  # the update in progress is lost
                if state.decisions > saved_at:
                    state.save(folder)
                if isinstance(error, RunFailure) and state.decisions:
                    watcher.warn(
                        f"saved as it was after {state.decisions:,} decisions: --resume goes on from there, and a new "
                        f"run, with other code or settings, with training.init_from={checkpoints_in(directory.path)[0]}"
                    )
                raise
            if closing is not None and training.is_complete:
                training.closing = _closing_score(training, closing)
                log.write_closing(training.closing.figures, training.learner.decisions)
        return training, training.is_complete


def _resume_or_begin(config: TrainConfig | None, path: Path, watcher: Watcher, allow: Permission) -> Training:
    """The training of a run folder, from its newest readable checkpoint or from the start."""
    settings = path / SETTINGS
    config = None if config is None else config.with_partner()
    if settings.is_file():
        stored = parse_stored(settings, TrainConfig)
        check_needs(dict.fromkeys(names_in(stored)), allow._replace(folders=(path,)), str(path))
        refuse_other_settings(path, stored.portable(), (config or stored).portable())
        config = config or stored
    elif config is None:
        raise RunError(f"{path}: the run was stopped before its first update; start one with --config")
    else:
        write_durably(settings, dump(config).encode())
    checkpoints = checkpoints_in(path)
    training = begin(config, anew=not checkpoints)
    for checkpoint in checkpoints:
        try:
            training.resume(checkpoint)
            return training
        except CheckpointError as error:
            watcher.warn(f"{error}; resuming from the checkpoint before it")
    return begin(config) if checkpoints else training


class ClosingHints(NamedTuple):
    """Approximate number and duration of costly hints in the closing evaluation."""

    games: int
    queries: int
    seconds: float  # nan if this process has not practised


def closing_hints(training: Training) -> ClosingHints | None:
    """The costly hints of both closing evaluations; ``None`` if hints are free."""
    schedule = training.hints
    if schedule is None or not training.costly_hints:
        return None
    games = training.closing_games
    queries = round(games * hints_per_game(own_decisions_per_game(training), schedule.cadence_k))
    so_far = schedule.tally["asked"]
    return ClosingHints(games, queries, queries * training.seconds / so_far if so_far else math.nan)


def own_decisions_per_game(training: Training) -> float:
    """The learner's own decisions per game so far; an estimate before the first game."""
    if training.games:
        return training.learner.decisions / training.games
    return expected_decisions(training.config.env.max_turns)


def _closing_score(training: Training, report: ClosingReport) -> ClosingScore:
    results = {}
    for greedy, play in ((False, SAMPLED), (True, GREEDY)):  # as checkpoint(...) plays by default, then the other way
        report(training, play)
        results[play] = final_score(training, greedy=greedy)
    return ClosingScore(training.closing_terms.source.label, results, final_shares(training, greedy=False))


def final_score(training: Training, *, greedy: bool) -> PlayerLine:
    """The learner's score against ``env.partner`` on the held-out scenarios of ``closing_terms``.

    With costly hints on ``hints.closing_scenarios`` of them.
    """
    hints = None if training.hints is None else training.hints.without_dropout()
    learner, terms = NetworkPartner(training.learner.network, greedy=greedy), training.closing_terms
    return score(learner, training.partner, terms, hints)


def final_shares(training: Training, *, greedy: bool) -> dict[str, Estimate]:
    """Points without hints, as shares of those of the best response and of the Nash points on the same scenarios.

    Empty if values are revealed or the best response is not exact.
    """
    terms = training.heldout_terms()
    solved = is_free(training.partner) and exact_by_answers(training.partner, terms.rules)
    if terms.revealed or not solved or terms.source.table is None:
        return {}
    learner = NetworkPartner(training.learner.network, greedy=greedy)
    evaluation = evaluate(learner, training.partner, terms.source, terms.rules, seed=terms.seed)
    return {name: views[BOTH] for name, views in evaluation.shares.items()}


def plan_of(config: TrainConfig) -> list[str]:
    """The lines of a training's plan, with expensive queries. Raises what :func:`begin` raises."""
    training = begin(config.with_partner())
    config = training.config
    settings, steps = config.training, config.training.num_train_steps
    return [
        f"{settings.algo} against {config.env.partner}, {training.source.label}: {steps:,} decisions",
        *query_lines(list(_queries(training))),
    ]


def _queries(training: Training) -> Iterator[QueryEstimate]:
    config, per_game = training.config, own_decisions_per_game(training)
    decisions, most = config.training.num_train_steps, -(-config.env.max_turns // 2)
    games, partner = round(decisions / per_game), config.env.partner
    hinted = config.hints.mode == "llm"
    closing = training.closing_games
    after, every_hint = "of the closing evaluation", config.hints.model_copy(update={"dropout": 0.0})
    if hinted:
        yield hint_queries(config.hints, games, decisions, "for hints in practice")
        yield hint_queries(every_hint, closing, round(closing * per_game), f"for hints {after}")
    if expensive_to_query(training.partner.traits):
        name = partner.text
        yield QueryEstimate(name, "which plays", games, decisions, games * most)
        yield QueryEstimate(name, f"which plays the games {after}", closing, round(closing * per_game), closing * most)
    if JUDGE in config.training.reward:
        yield QueryEstimate("a language model", "which judges", games, games, 2 * games)
