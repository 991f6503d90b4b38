"""What hints are worth to a learner: the same seeds and the same budget under different hinters.

Every *arm* is a hinter, with or without some of its hints withheld while the learner learns. Now and then each learner
is measured, by greedy play on scenarios that it did not learn on, twice: with its hints, and with none at all, which
shows whether it has learned to play or to listen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Hinter, Partner
from hints import HintSchedule
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.matches import Result, Terms, score
from league.experiments.hints.settings import ExperimentConfig, ExperimentSection
from league.ledger.run_directory import RunError
from league.settings.training import HintMode, TrainConfig
from league.tasks.hinters import all_failed, hinter_of, make_ready
from league.tasks.pasts import past_of_learner
from league.training.training import Training, begin
from partners.network.partner import NetworkPartner
from partners.provenance import refuse_past

NO_HINTS = "none"


class Arm(NamedTuple):
    """A hinter and how much of it is withheld while the learner learns."""

    mode: HintMode
    dropout: float  # share of hints withheld, 0..1

    @property
    def name(self) -> str:
        return self.mode + (f", {self.dropout:.0%} withheld" if self.dropout else "")


class Mark(NamedTuple):
    """One measurement of one learner; shares are of what the exact best response earns in the same games."""

    arm: Arm
    seed: int
    decisions: int
    hinted: float  # with its hints
    alone: float  # without any
    hinted_deals: float  # share of games
    alone_deals: float


class Experiment(NamedTuple):
    """Everything that was measured."""

    marks: list[Mark]
    hinters: dict[str, float]  # by mode: what the hinter's own greedy play earns, as a share of the best response
    tallies: dict[str, Counter[str]]  # by arm: how the hints went while the learners learned
    best: float  # points of ten of the exact best response
    label: str  # of the scenarios measured on


def arms(section: ExperimentSection) -> list[Arm]:
    """Every mode with every dropout; without hints there is nothing to withhold."""
    return [
        Arm(mode, dropout) for mode in section.modes for dropout in (section.dropouts if mode != NO_HINTS else (0.0,))
    ]


def run(config: ExperimentConfig, report: Callable[[str], None]) -> Experiment:
    """Train and measure every arm with every seed; ``report`` gets a line of progress after each.

    Raises :class:`RunError` where no exact best response is known, and what training raises.
    """
    source = open_source("lewis", split="test") if config.env.scenarios == "lewis" else config.env.open_source()
    best = _best(config, source)
    for mode in config.experiment.modes:
        hints = config.hints.model_copy(update={"mode": mode})
        refuse_past(past_of_learner(config.env.partner, config.training.init_from, hints))
    hinters = {mode: _hinter(config, mode) for mode in config.experiment.modes}
    experiment = Experiment([], {}, {}, best, source.label)
    for mode, hinter in hinters.items():
        partner = getattr(hinter, "partner", None)
        if partner is not None:
            experiment.hinters[mode] = _played(config, partner, source, None).points.mean / best
    for arm in arms(config.experiment):
        tally = experiment.tallies.setdefault(arm.name, Counter())
        for seed in range(config.experiment.seeds):
            training = _training(config, arm, hinters[arm.mode], seed)
            experiment.marks.extend(_learn(config, arm, training, source, best))
            last = experiment.marks[-1]
            report(
                f"{arm.name}, seed {seed}: {last.hinted:.1%} of the best response after {last.decisions:,} own "
                f"decisions, {last.alone:.1%} without hints"
            )
            if training.whisper is not None:
                tally.update(training.whisper.tally)
        if failed := all_failed(tally):
            report(f"warning: {arm.name}: {failed}")
    return experiment


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
            hinted = alone if whole is None else _played(config, player, source, whole)
            shares = (hinted.points.mean / best, alone.points.mean / best)
            yield Mark(arm, training.config.training.seed, decisions, *shares, hinted.deals, alone.deals)
        if training.done:
            return
        training.step()


def _training(config: ExperimentConfig, arm: Arm, hinter: Hinter | None, seed: int) -> Training:
    """One learner at its start; all that share a hinter share what it remembers."""
    privileged = config.hints.privileged and arm.mode == "llm"
    hints = config.hints.model_copy(update={"mode": arm.mode, "dropout": arm.dropout, "privileged": privileged})
    training = begin(
        TrainConfig(env=config.env, hints=hints, training=config.training.model_copy(update={"seed": seed}))
    )
    if hinter is not None:
        training.whisper = HintSchedule(hinter, hints.cadence_k, dropout=hints.dropout, privileged=hints.privileged)
    return training


def _hinter(config: ExperimentConfig, mode: HintMode) -> Hinter | None:
    hinter = hinter_of(config.hints.model_copy(update={"mode": mode}))
    if hinter is not None:
        make_ready(HintSchedule(hinter))
    return hinter


def _played(config: ExperimentConfig, player: Partner, source: ScenarioSource, whisper: HintSchedule | None) -> Result:
    """Every scenario, in each seat, with the same noise for everybody."""
    assert source.table is not None
    env = config.env
    terms = Terms(source, source.table, env.rules(), revealed=env.reveal_partner_utilities)
    return score(player, seat_occupant(env.partner), terms, whisper)


def _best(config: ExperimentConfig, source: ScenarioSource) -> float:
    """Points of ten of the exact best response on ``source``. Raises :class:`RunError` where none is known."""
    partner = config.env.partner
    if source.table is None or config.env.reveal_partner_utilities:
        raise RunError("the experiment needs scenarios that can be listed, such as lewis, and hidden values")
    evaluation = evaluate(partner, partner, source, config.env.rules())
    if evaluation.best is None or evaluation.values is None or not all(value.exact for value in evaluation.values):
        raise RunError(f"no exact best response to {partner} is known; choose one without memory, such as heuristic")
    return evaluation.best.figures[BOTH].points.mean
