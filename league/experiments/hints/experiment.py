"""What hints are worth to a learner: the same seeds and the same budget under different hinters.

Every *arm* is a hinter, with or without some of its hints withheld while the learner learns. Now and then each learner
is measured, by greedy play on scenarios that it did not learn on, twice: with its hints, and with none at all, which
shows whether it has learned to play or to listen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Hinter, Partner
from hints import HintSchedule
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.matches import Result, score
from league.ledger.run_directory import RunError
from league.settings.sections import EnvConfig, PathText, Section, wrong
from league.settings.training import HintMode, HintsConfig, TrainConfig, TrainingConfig
from league.tasks.hinters import all_failed, hinter_of, make_ready
from league.training.training import Training, begin
from partners.network.partner import NetworkPartner

UNTOLD = "none"


def _as_tuple(given: object) -> object:
    return tuple(given) if isinstance(given, list) else given


class ExperimentSection(Section):
    """What is compared, how often, and what is asked of it."""

    modes: Annotated[tuple[HintMode, ...], BeforeValidator(_as_tuple)] = Field(
        default=("none", "random", "expert", "llm"), description="a list of none, random, expert, llm"
    )
    dropouts: Annotated[tuple[float, ...], BeforeValidator(_as_tuple)] = Field(
        default=(0.0, 0.5), description="a list of numbers in 0..1: shares of hints withheld while learning"
    )
    seeds: int = Field(default=5, ge=1, le=1000)
    every: int = Field(default=5_000, ge=1, description="own decisions between measurements")
    shares: Annotated[tuple[float, ...], BeforeValidator(_as_tuple)] = Field(
        default=(0.7, 0.8, 0.9), description="a list of numbers in 0..1, of the exact best response"
    )

    @model_validator(mode="after")
    def _in_range(self) -> ExperimentSection:
        for key in ("dropouts", "shares"):
            if not all(0 <= number <= 1 for number in getattr(self, key)) or not getattr(self, key):
                raise wrong(f"{key} must be a list of numbers in 0..1", key)
        return self


class ExperimentConfig(Section):
    """All settings of a hint experiment; ``hints.mode`` and ``hints.dropout`` are what it varies."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    experiment: ExperimentSection = Field(default_factory=ExperimentSection)
    output_dir: PathText = Field(default="runs/hints", description="the path of a folder")


class Arm(NamedTuple):
    """One way of being told."""

    mode: HintMode
    dropout: float

    @property
    def name(self) -> str:
        """In words."""
        return self.mode + (f", {self.dropout:.0%} withheld" if self.dropout else "")


class Mark(NamedTuple):
    """One measurement of one learner; shares are of what the exact best response earns in the same games."""

    arm: Arm
    seed: int
    decisions: int
    told: float  # with its hints
    alone: float  # without any
    told_deals: float  # share of games
    alone_deals: float


class Experiment(NamedTuple):
    """Everything that was measured."""

    marks: list[Mark]
    hinters: dict[str, float]  # by mode: what the hinter's own greedy play earns, as a share of the best response
    tallies: dict[str, Counter[str]]  # by arm: how the hints went while the learners learned
    best: float  # points of ten of the exact best response
    label: str  # of the scenarios measured on


def arms(section: ExperimentSection) -> list[Arm]:
    """Every mode with every dropout; nothing can be withheld from whoever is told nothing."""
    return [
        Arm(mode, dropout) for mode in section.modes for dropout in (section.dropouts if mode != UNTOLD else (0.0,))
    ]


def run(config: ExperimentConfig, tell: Callable[[str], None]) -> Experiment:
    """Train and measure every arm with every seed; ``tell`` hears how it comes on.

    Raises :class:`RunError` where no exact best response is known, and what training raises.
    """
    source = open_source("lewis", split="heldout") if config.env.scenarios == "lewis" else config.env.open_source()
    best = _best(config, source)
    hinters = {mode: _hinter(config, mode) for mode in config.experiment.modes}
    found = Experiment([], {}, {}, best, source.label)
    for mode, hinter in hinters.items():
        asked = getattr(hinter, "partner", None)
        if asked is not None:
            found.hinters[mode] = _played(config, asked, source, None).points.mean / best
    for arm in arms(config.experiment):
        tally = found.tallies.setdefault(arm.name, Counter())
        for seed in range(config.experiment.seeds):
            training = _training(config, arm, hinters[arm.mode], seed)
            found.marks.extend(_learn(config, arm, training, source, best))
            last = found.marks[-1]
            tell(
                f"{arm.name}, seed {seed}: {last.told:.1%} of the best response after {last.decisions:,} own "
                f"decisions, {last.alone:.1%} without hints"
            )
            if training.whisper is not None:
                tally.update(training.whisper.tally)
        failed = all_failed(tally)
        if failed:
            tell(f"warning: {arm.name}: {failed}")
    return found


def _learn(
    config: ExperimentConfig, arm: Arm, training: Training, source: ScenarioSource, best: float
) -> Iterator[Mark]:
    """Train to the end, measuring at the start, every so often, and at the end."""
    whole = None if training.whisper is None else training.whisper.whole()
    due = 0
    while True:
        decisions = training.learner.decisions
        if decisions >= due or training.done:
            due += config.experiment.every * (1 + (decisions - due) // config.experiment.every)
            player = NetworkPartner(training.learner.network, greedy=True)
            alone = _played(config, player, source, None)
            told = alone if whole is None else _played(config, player, source, whole)
            shares = (told.points.mean / best, alone.points.mean / best)
            yield Mark(arm, training.config.training.seed, decisions, *shares, told.deals, alone.deals)
        if training.done:
            return
        training.step()


def _training(config: ExperimentConfig, arm: Arm, hinter: Hinter | None, seed: int) -> Training:
    """One learner at its start; all that share a hinter share what it remembers."""
    privileged = config.hints.privileged and arm.mode == "llm"
    told = config.hints.model_copy(update={"mode": arm.mode, "dropout": arm.dropout, "privileged": privileged})
    training = begin(
        TrainConfig(env=config.env, hints=told, training=config.training.model_copy(update={"seed": seed}))
    )
    if hinter is not None:
        training.whisper = HintSchedule(hinter, told.cadence_k, dropout=told.dropout, privileged=told.privileged)
    return training


def _hinter(config: ExperimentConfig, mode: HintMode) -> Hinter | None:
    hinter = hinter_of(config.hints.model_copy(update={"mode": mode}))
    if hinter is not None:
        make_ready(HintSchedule(hinter))
    return hinter


def _played(config: ExperimentConfig, player: Partner, source: ScenarioSource, whisper: HintSchedule | None) -> Result:
    """Every scenario, in each seat, with the same noise for everybody."""
    assert source.table is not None
    return score(
        player,
        seat_occupant(config.env.partner),
        source.table,
        config.env.rules(),
        seed=0,
        prior=source.prior,
        reveal_partner_utilities=config.env.reveal_partner_utilities,
        whisper=whisper,
    )


def _best(config: ExperimentConfig, source: ScenarioSource) -> float:
    """What the exact best response earns on ``source``."""
    partner = config.env.partner
    if source.table is None or config.env.reveal_partner_utilities:
        raise RunError("the experiment needs scenarios that can be listed, such as lewis, and hidden values")
    seen = evaluate(partner, partner, source, config.env.rules())
    if seen.best is None or seen.values is None or not all(value.exact for value in seen.values):
        raise RunError(f"no exact best response to {partner} is known; choose one without memory, such as heuristic")
    return seen.best.figures[BOTH].points.mean
