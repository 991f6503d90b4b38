r"""Measure the value of hints: the same learner without hints, with random ones, and with weaker and better advisers.

Every *arm* is a hinter, with or without some of its hints withheld during training. A learner without hints has the
same network, with hint inputs of zero. Learners are measured at intervals by greedy play on held-out views: without
hints, which is the main measure, and with them. With llm in experiment.hinters a language model gives hints: the one of
hints.provider and hints.models, by default SmolLM2 from the Hugging Face cache. Learners are cached in output_dir.

examples:
  python -m experiments hints                  # with hint_experiment.yaml
  python -m experiments hints --set experiment.seeds=3 --workers 2
  python -m experiments hints --set "experiment.hinters=[none, llm, llm(provider=hf)]" --set experiment.seeds=3 \
      --set hints.options='{cache: runs/hints.sqlite, cache_mode: record}'
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, WrapValidator, model_validator

from dond.cli.shell import print_line
from dond_marl.errors import DondError, RunFailure
from dond_marl.files import user_path
from dond_marl.occupants import Spec, seat_occupant, short_names
from dond_marl.records.files import write_atomically
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Doubles, Partner
from dond_marl.solvers.adaptive import is_enumerable
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.solvers.odds import EXACT_TURNS
from dond_marl.statistics import UNKNOWN, Estimate, holm, mean_difference, mean_of, permutation_p
from experiments.kit import RESULTS, experiment_command, show_sections, table_section
from hints import HinterError, HintSchedule
from league.evaluation.evaluate import evaluate
from league.evaluation.matches import BOTH, PlayerLine, Terms, score
from league.ledger.run_directory import SETTINGS, RunError, new_run
from league.play.backends import in_processes
from league.play.hinters import hint_provider, load_local_model, no_hint_warning
from league.play.provenance import learner_ancestry
from league.settings.read import dump, load_config
from league.settings.sections import EnvConfig, HintsConfig, Occupant, PathText, Section, wrong
from league.settings.training import TrainConfig, TrainingConfig
from league.tables.blocks import Section as TableSection
from league.tables.figures import with_margin
from league.tables.markdown import section_markdown
from league.training.training import Training, begin
from partners.llm.service import resolve_provider
from partners.network.partner import NetworkPartner
from partners.provenance import identity, refuse_test_roster

# Hinters with a name of their own; all others are occupants.
NO_HINTS, CHANCE, MODEL = "none", "random", "llm"
WORDS = (NO_HINTS, CHANCE, MODEL)
PRETRAINED = "HuggingFaceTB/SmolLM2-135M-Instruct"  # default of MODEL: a model not trained on our expert's answers
MODEL_OPTIONS = {
    "prompt": "brief",
    "dtype": "bfloat16",
    "sorted_items": True,
}  # default options of its queries


Hinter = Annotated[Occupant, WrapValidator(lambda value, occupant: value if value in WORDS else occupant(value))]


class HintExperimentSection(Section):
    """Hinters and measurements.

    A hinter is ``none``, ``random`` (any legal act), ``llm`` (the pretrained language model of ``hints``, by default
    SmolLM2 on this machine) or an occupant, whose own act is the hint.
    """

    hinters: tuple[Hinter, ...] = Field(
        default=tuple(map(Spec, ("none", "random", "expert"))),
        strict=False,
        description="a list of none, random, llm and occupants",
    )
    dropouts: tuple[float, ...] = Field(
        default=(0.0, 0.5),
        strict=False,
        description="a list of numbers in 0..1: shares of hints withheld during training",
    )
    seeds: int = Field(default=10, ge=1, le=1000)
    every: int = Field(default=5_000, ge=1, description="own decisions between measurements")

    @model_validator(mode="after")
    def _in_range(self) -> HintExperimentSection:
        if not self.dropouts or not all(0 <= share <= 1 for share in self.dropouts):
            raise wrong("dropouts must be a list of numbers in 0..1", "dropouts")
        if not self.hinters or len(set(self.hinters)) < len(self.hinters):
            raise wrong("hinters must be a list of hinters, each once", "hinters")
        return self


class HintExperimentConfig(Section):
    """Settings of the experiment; it varies the hinter and ``hints.dropout``."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    experiment: HintExperimentSection = Field(default_factory=HintExperimentSection)
    output_dir: PathText = Field(default="runs/hints", description="the path of a folder")


class HintArm(NamedTuple):
    """A hinter, and the share of its hints withheld during training."""

    hinter: str  # none, random, llm or an occupant's spec
    dropout: float  # share of hints withheld, 0..1

    @property
    def name(self) -> str:
        hinter = short_names([self.hinter]).get(self.hinter, self.hinter)
        return hinter + (f", {self.dropout:.0%} withheld" if self.dropout else "")


class Measurement(NamedTuple):
    """One measurement of one learner; shares of the exact best response's points in the same games."""

    arm: HintArm
    seed: int
    decisions: int  # own
    acts: int  # of both seats, in all training games
    hinted: float  # with its hints
    alone: float  # without any
    hinted_deals: float  # share of games
    alone_deals: float


class HintLearner(NamedTuple):
    """The measurements of one learner, and its counts of hints."""

    marks: list[Measurement]
    tally: Counter[str]


class HintExperiment(NamedTuple):
    """All measurements."""

    marks: list[Measurement]
    hinters: dict[str, float]  # points of the hinter's own play, as a share of the best response's
    tallies: dict[str, Counter[str]]  # by arm: counts of hints in training
    best: float  # points of ten of the exact best response
    label: str  # of the scenarios


def hint_arms(section: HintExperimentSection) -> list[HintArm]:
    """Every hinter with every dropout; ``none`` once."""
    return [
        HintArm(hinter, dropout)
        for hinter in section.hinters
        for dropout in (section.dropouts if hinter != NO_HINTS else (0.0,))
    ]


def run_experiment(
    config: HintExperimentConfig, folder: Path, report: Callable[[str], None], workers: int = 1
) -> HintExperiment:
    """Train and measure every arm with every seed, ``workers`` learners at a time, which changes no figure.

    Learners are cached in ``folder``. ``report`` gets a line of progress after each. Raises :class:`RunError` if no
    exact best response is known, and what training raises, such as
    :class:`partners.provenance.ProvenanceError`.
    """
    source = _test_source(config)
    best = _best_points(config, source)
    experiment = HintExperiment([], {}, {}, best, source.label)
    for hinter in config.experiment.hinters:
        refuse_test_roster(
            learner_ancestry(config.env, config.training.init_from, hint_settings(config, hinter)), "the learner"
        )
    for hinter in config.experiment.hinters:
        partner = getattr(hint_provider(hint_settings(config, hinter)), "partner", None)
        if partner is not None:
            experiment.hinters[hinter] = _play(config, partner, source, None).points.mean / best
    arms = hint_arms(config.experiment)
    calls = [(config, arm, seed, best, folder) for arm in arms for seed in range(config.experiment.seeds)]
    learners = dict[int, HintLearner]()
    for number, learner in in_processes(_cached_learner, calls, workers):
        learners[number] = learner
        last = learner.marks[-1]
        report(
            f"{len(learners)}/{len(calls)} {last.arm.name}, seed {last.seed}: {last.alone:.1%} of the best response "
            f"without hints after {last.decisions:,} own decisions, {last.hinted:.1%} with them"
        )
    for _, learner in sorted(learners.items()):
        experiment.marks.extend(learner.marks)
        experiment.tallies.setdefault(learner.marks[0].arm.name, Counter()).update(learner.tally)
    for arm in arms:
        if arm.hinter != NO_HINTS and (failed := no_hint_warning(experiment.tallies[arm.name])):
            report(f"warning: {arm.name}: {failed}")
    return experiment


def _cached_learner(config: HintExperimentConfig, arm: HintArm, seed: int, best: float, folder: Path) -> HintLearner:
    """The learner of a file in ``folder``, or trained and stored there. The file is named by a hash of all inputs.

    Networks among the inputs are identified by their weights. An error becomes a :class:`RunFailure`.
    """
    inputs = {
        "settings": config.model_dump(mode="json", exclude={"experiment", "output_dir"}),
        "every": config.experiment.every,
        "hinter": _hinter_identity(config, arm.hinter),
        "partner": identity(config.env.partner),
        "arm": arm,
        "seed": seed,
        "best": round(best, 6),
    }
    path = folder / f"{hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]}.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        marks = [Measurement(HintArm(*arm_fields), *fields) for arm_fields, *fields in stored["marks"]]
        return HintLearner(marks, Counter(stored["tally"]))
    except (OSError, ValueError, TypeError, KeyError):  # none, or a damaged file
        pass
    try:
        learner = train_learner(config, arm, seed, best)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(learner._asdict()) + "\n")
    except (DondError, OSError) as error:
        raise RunFailure(f"{arm.name}, seed {seed}: {error}") from error
    return learner


def _hinter_identity(config: HintExperimentConfig, hinter: str) -> object:
    """The identity of a hinter, independent of its name; of a language model its settings."""
    if hinter == MODEL:
        return hint_settings(config, hinter).model_dump(mode="json")
    return hinter if hinter in WORDS else identity(hinter)


def train_learner(config: HintExperimentConfig, arm: HintArm, seed: int, best: float) -> HintLearner:
    """Train one learner, and measure it at the start, every ``experiment.every`` decisions, and at the end."""
    source, training = _test_source(config), _begin_training(config, arm, seed)
    assert training.hints is not None
    all_hints = training.hints.without_dropout() if arm.hinter != NO_HINTS else None
    marks, due, acts = list[Measurement](), 0, 0
    while True:
        decisions = training.learner.decisions
        if decisions >= due or training.is_complete:
            due += config.experiment.every * (1 + (decisions - due) // config.experiment.every)
            player = NetworkPartner(training.learner.network, greedy=True)
            alone = _play(config, player, source, None)
            hinted = alone if all_hints is None else _play(config, player, source, all_hints)
            shares = (hinted.points.mean / best, alone.points.mean / best)
            marks.append(Measurement(arm, seed, decisions, acts, *shares, hinted.deals, alone.deals))
        if training.is_complete:
            return HintLearner(marks, Counter(training.hints.tally) if all_hints is not None else Counter())
        score, _ = training.step()
        acts += round(score.games * score.turns)


def hint_settings(config: HintExperimentConfig, hinter: str) -> HintsConfig:
    """The hint settings of a hinter; ``none`` has those of ``random`` with all hints withheld."""
    changed: dict[str, object]
    if hinter == MODEL:
        changed = {"mode": MODEL}
        provider = resolve_provider(config.hints.provider)
        if provider == "hf" and config.hints.models.hf is None:
            models = config.hints.models.model_copy(update={"hf": PRETRAINED})
            changed |= {"provider": "hf", "models": models, "options": {**MODEL_OPTIONS, **config.hints.options}}
    else:
        changed = {"mode": CHANCE} if hinter in (NO_HINTS, CHANCE) else {"mode": "expert", "expert": hinter}
        changed["privileged"] = False
    return config.hints.model_copy(update=changed)


def _begin_training(config: HintExperimentConfig, arm: HintArm, seed: int) -> Training:
    """One learner before its training."""
    hints = hint_settings(config, arm.hinter)
    training = begin(
        TrainConfig(env=config.env, hints=hints, training=config.training.model_copy(update={"seed": seed}))
    )
    hinter = hint_provider(hints)
    assert hinter is not None
    dropout = 1.0 if arm.hinter == NO_HINTS else arm.dropout
    training.hints = HintSchedule(hinter, hints.cadence_k, dropout=dropout, privileged=hints.privileged)
    load_local_model(training.hints)
    return training


def _test_source(config: HintExperimentConfig) -> ScenarioSource:
    return open_source("lewis", split="test") if config.env.scenarios == "lewis" else config.env.open_source()


def _play(
    config: HintExperimentConfig, player: Partner, source: ScenarioSource, schedule: HintSchedule | None
) -> PlayerLine:
    """Play every scenario in each seat, with the same noise for all players."""
    assert source.table is not None
    env = config.env
    terms = Terms(source, source.table, env.rules(), revealed=env.reveal_partner_utilities)
    return score(player, seat_occupant(env.partner), terms, schedule)


def _best_points(config: HintExperimentConfig, source: ScenarioSource) -> float:
    """Points of ten of the exact best response on ``source``. Raises :class:`RunError` if none is known."""
    partner = config.env.partner
    if source.table is None or config.env.reveal_partner_utilities:
        raise RunError("the experiment needs enumerable scenarios, such as lewis, and hidden values")
    unknown = RunError(f"no exact best response to {partner} is known; choose a memoryless partner, such as heuristic")
    opponent, rules = seat_occupant(partner), config.env.rules()
    if rules.max_turns > EXACT_TURNS and not exact_by_answers(opponent, rules) and not is_enumerable(opponent, rules):
        raise unknown  # before anything is played
    evaluation = evaluate(partner, partner, source, rules)
    if evaluation.best is None or evaluation.values is None or not all(value.exact for value in evaluation.values):
        raise unknown
    return evaluation.best.figures[BOTH].points.mean


CONFIDENCE = 0.95
SHARES = (0.7, 0.8, 0.9)  # of the best response, whose cost is reported


def learning_curve(
    experiment: HintExperiment, arm: HintArm, value: Callable[[Measurement], float]
) -> tuple[Doubles, list[Estimate]]:
    """The mean curve of an arm over its M measurements: own decisions ``[M]``, and a figure's estimates over seeds."""
    steps = list(zip(*_by_seed(experiment, arm), strict=True))  # all seeds have as many measurements
    decisions = np.array([np.mean([mark.decisions for mark in marks]) for marks in steps])
    return decisions, [mean_of([value(mark) for mark in marks], CONFIDENCE) for marks in steps]


def hint_rows(experiment: HintExperiment) -> list[dict[str, Any]]:
    """One row per arm by heading, in the order of the experiment: estimates over seeds, and numbers.

    Shares are of the best response's points at the end of training; decisions are those until a share was reached
    without hints, over the seeds that reached it; p is Holm's over all arms.
    """
    arms = list(dict.fromkeys(mark.arm for mark in experiment.marks))
    hinted = [arm for arm in arms if arm.hinter != NO_HINTS]
    nothing = _final_shares(experiment, HintArm(NO_HINTS, 0.0))
    p = holm([permutation_p(_final_shares(experiment, arm), nothing).p for arm in hinted])
    adjusted = dict(zip(hinted, p, strict=True))
    rows = []
    for arm in arms:
        learners = _by_seed(experiment, arm)
        ends = [marks[-1] for marks in learners]
        gain = UNKNOWN
        if len(nothing) and arm in adjusted:
            gain = mean_difference(_final_shares(experiment, arm), nothing)
        firsts = {share: [first_reached(marks, share) for marks in learners] for share in SHARES}
        rows.append({
            "hints": arm.name,
            "hinter alone": experiment.hinters.get(arm.hinter),
            "seeds": len(learners),
            "acts": float(np.mean([mark.acts for mark in ends])),
            "share without hints": mean_of([mark.alone for mark in ends], CONFIDENCE),
            "difference from none": gain,
            "p, Holm": adjusted.get(arm, math.nan),
            "share with hints": mean_of([mark.hinted for mark in ends], CONFIDENCE),
            "deals without hints": mean_of([mark.alone_deals for mark in ends], CONFIDENCE),
            "deals with hints": mean_of([mark.hinted_deals for mark in ends], CONFIDENCE),
            **{
                f"decisions to {share:.0%}": mean_of([count for count in reached if count is not None], CONFIDENCE)
                for share, reached in firsts.items()
            },
        })  # fmt: skip
    return rows


def first_reached(marks: Sequence[Measurement], share: float) -> float | None:
    """Own decisions until play without hints first reached ``share`` of the best response.

    Interpolated linearly between two measurements; ``None`` if it was not reached.
    """
    for before, after in zip([None, *marks], marks, strict=False):
        if after.alone >= share:
            if before is None:
                return float(after.decisions)
            part = (share - before.alone) / (after.alone - before.alone)
            return before.decisions + part * (after.decisions - before.decisions)
    return None


def hint_lines(experiment: HintExperiment) -> str:
    """The results file: a header with the hinters' own points, then one row per measurement."""
    about = {
        "measured_on": experiment.label,
        "best_response": experiment.best,
        "hinters": experiment.hinters,
        "tallies": {arm: dict(tally) for arm, tally in experiment.tallies.items()},
    }
    lines: list[dict[str, object]] = [about]
    for mark in experiment.marks:
        lines.append({"hinter": mark.arm.hinter, "dropout": mark.arm.dropout, **dict(list(mark._asdict().items())[1:])})
    return "".join(json.dumps(line) + "\n" for line in lines)


def parse_hints(text: str) -> HintExperiment:
    """The inverse of :func:`hint_lines`."""
    header, *rows = (json.loads(line) for line in text.splitlines())
    marks = [Measurement(HintArm(row.pop("hinter"), row.pop("dropout")), **row) for row in rows]
    tallies = {arm: Counter(tally) for arm, tally in header.get("tallies", {}).items()}
    return HintExperiment(marks, header["hinters"], tallies, header["best_response"], header["measured_on"])


def hint_section(experiment: HintExperiment) -> TableSection:
    """The rows of :func:`hint_rows` as a table."""
    rows = hint_rows(experiment)
    seeds = len({mark.seed for mark in experiment.marks})
    note = (
        f"{seeds} seeds; shares of the exact best response's points against the partner ({experiment.best:.2f} points "
        f"of ten) on {experiment.label}, greedy play at the end of training, 95 % intervals over seeds."
    )
    return table_section(
        "Value of hints", list(rows[0]), ([_text(*cell) for cell in row.items()] for row in rows), note
    )


def _text(head: str, value: str | float | Estimate | None) -> str:
    """A cell of the table: shares as percentages, decisions with the number of seeds that reached the share."""
    if head.startswith("decisions") and isinstance(value, Estimate):
        return f"{value.mean / 1000:.1f}k ({value.n} seeds)" if value.n else "not reached"
    if isinstance(value, Estimate):
        return with_margin(value, "share")
    if value is None or isinstance(value, str):
        return value or "-"
    return f"{value:,.0f}" if head in ("seeds", "acts") else f"{value:.2g}"


def _final_shares(experiment: HintExperiment, arm: HintArm) -> Doubles:
    """The final share without hints of each seed of an arm, ``[n]``."""
    return np.array([marks[-1].alone for marks in _by_seed(experiment, arm)], dtype=np.float64)


def _by_seed(experiment: HintExperiment, arm: HintArm) -> list[list[Measurement]]:
    """The measurements of each seed, in order."""
    seeds = dict.fromkeys(mark.seed for mark in experiment.marks if mark.arm == arm)
    return [[mark for mark in experiment.marks if mark.arm == arm and mark.seed == seed] for seed in seeds]


TABLE, LEARNERS = "table.md", "learners"


@experiment_command(__doc__, "hint_experiment.yaml", workers=1)
def command(config_path: Path, overrides: tuple[str, ...], workers: int) -> None:
    """Run the experiment; the folder of the run holds the measurements and the table."""
    config = load_config(config_path, overrides, HintExperimentConfig)
    folder = user_path(config.output_dir)
    try:
        experiment = run_experiment(config, folder / LEARNERS, print_line, workers)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None
    section = hint_section(experiment)
    with new_run(folder) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        write_atomically(directory.path / RESULTS, hint_lines(experiment))
        write_atomically(directory.path / TABLE, section_markdown(section) + "\n")
    show_sections(section)
    print_line(f"partner {config.env.partner}{config.hints.privileged_note}; run folder {directory.path}")
