"""What hints are worth to a learner: the same learner, seeds and acts under different hinters.

Every *arm* is a hinter, with or without some of its hints withheld while the learner learns. Whoever is told nothing
has the same network as the others, in which what would be told is zero. Now and then each learner is measured, by
greedy play on scenarios with views that it did not learn on, twice: without any hints, which is what it has learned,
and with its hints, which is also what its hinter knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import DondError, RunFailure
from dond_marl.occupants import seat_occupant, short_names
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import Partner
from dond_marl.yardsticks.adaptive import is_enumerable
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.odds import EXACT_TURNS
from experiments.hints.settings import (
    ASKED,
    CHANCE,
    MODEL,
    NOBODY,
    PRETRAINED,
    STUDENT,
    WORDS,
    ExperimentConfig,
    ExperimentSection,
)
from experiments.kept import place, read, write
from hints import HintSchedule
from league.backends.pool import in_processes
from league.evaluation.evaluate import BOTH, evaluate
from league.evaluation.matches import Result, Terms, score
from league.ledger.run_directory import RunError
from league.settings.training import HintsConfig, TrainConfig
from league.tasks.hinters import hint_provider, load_local_model, no_hint_warning
from league.tasks.provenance import learner_ancestry
from league.training.training import Training, begin
from partners.llm.service import resolve_provider
from partners.network.partner import NetworkPartner
from partners.provenance import identity, refuse_test_roster


class Arm(NamedTuple):
    """A hinter and how much of it is withheld while the learner learns."""

    hinter: str  # none, random, llm, student or an occupant's spec
    dropout: float  # share of hints withheld, 0..1

    @property
    def name(self) -> str:
        who = short_names([self.hinter]).get(self.hinter, self.hinter)
        return who + (f", {self.dropout:.0%} withheld" if self.dropout else "")


class Mark(NamedTuple):
    """One measurement of one learner; shares are of what the exact best response earns in the same games."""

    arm: Arm
    seed: int
    decisions: int  # own
    acts: int  # of both seats, in all games that it learned from
    hinted: float  # with its hints
    alone: float  # without any
    hinted_deals: float  # share of games
    alone_deals: float


class Learned(NamedTuple):
    """One learner of an arm: what was measured of it, and how its hints went."""

    marks: list[Mark]
    tally: Counter[str]


class Experiment(NamedTuple):
    """Everything that was measured."""

    marks: list[Mark]
    hinters: dict[str, float]  # what the hinter's own play earns, as a share of the best response
    tallies: dict[str, Counter[str]]  # by arm: how the hints went while the learners learned
    best: float  # points of ten of the exact best response
    label: str  # of the scenarios measured on


def arms(section: ExperimentSection) -> list[Arm]:
    """Every hinter with every dropout; without hints there is nothing to withhold."""
    return [Arm(who, dropout) for who in section.hinters for dropout in (section.dropouts if who != NOBODY else (0.0,))]


def run(
    config: ExperimentConfig, report: Callable[[str], None], workers: int = 1, folder: Path | None = None
) -> Experiment:
    """Train and measure every arm with every seed, ``workers`` learners at a time, which changes no figure.

    Learners that are kept in ``folder`` are not trained again, and others are kept there. ``report`` gets a line of
    progress after each. Raises :class:`RunError` where no exact best response is known, and what training raises,
    :class:`partners.provenance.ProvenanceError` among it.
    """
    source = _measured_on(config)
    best = _best(config, source)
    experiment = Experiment([], {}, {}, best, source.label)
    for who in config.experiment.hinters:
        refuse_test_roster(
            learner_ancestry(config.env, config.training.init_from, hints_of(config, who)), "the learner"
        )
    for who in config.experiment.hinters:
        partner = getattr(hint_provider(hints_of(config, who)), "partner", None)
        if partner is not None:
            experiment.hinters[who] = _played(config, partner, source, None).points.mean / best
    wanted = [(arm, seed) for arm in arms(config.experiment) for seed in range(config.experiment.seeds)]
    calls = [(config, arm, seed, best, folder) for arm, seed in wanted]
    learned: dict[int, Learned] = {}
    for number, one in in_processes(_one, calls, workers):
        learned[number] = one
        (arm, seed), last = wanted[number], one.marks[-1]
        report(
            f"{len(learned)}/{len(wanted)} {arm.name}, seed {seed}: {last.alone:.1%} of the best response without "
            f"hints after {last.decisions:,} own decisions, {last.hinted:.1%} with them"
        )
    for number, (arm, _) in enumerate(wanted):  # in this order, whoever ended first
        experiment.marks.extend(learned[number].marks)
        experiment.tallies.setdefault(arm.name, Counter()).update(learned[number].tally)
    for arm in arms(config.experiment):
        if arm.hinter != NOBODY and (failed := no_hint_warning(experiment.tallies[arm.name])):
            report(f"warning: {arm.name}: {failed}")
    return experiment


def _one(config: ExperimentConfig, arm: Arm, seed: int, best: float, folder: Path | None) -> Learned:
    try:
        return _kept(config, arm, seed, best, folder)
    except (DondError, OSError) as error:
        raise RunFailure(f"{arm.name}, seed {seed}: {error}") from error


def _kept(config: ExperimentConfig, arm: Arm, seed: int, best: float, folder: Path | None) -> Learned:
    """What was measured of a learner, from the folder or anew. Its name holds networks by their weights."""
    if folder is None:
        return learn(config, arm, seed, best)
    what = {
        "settings": config.model_dump(mode="json", exclude={"experiment", "output_dir"}),
        "every": config.experiment.every,
        "hinter": _known_as(config, arm.hinter),
        "partner": identity(config.env.partner),
        "arm": arm,
        "seed": seed,
        "best": round(best, 6),
    }
    path = place(folder, what)
    known = read(path)
    if known is not None:
        return Learned([Mark(Arm(*arm), *rest) for arm, *rest in known["marks"]], Counter(known["tally"]))
    learned = learn(config, arm, seed, best)
    write(path, learned._asdict())
    return learned


def _known_as(config: ExperimentConfig, who: str) -> object:
    """What a hinter is, the same whatever it is called; of a language model its settings."""
    if who in (MODEL, STUDENT):
        return hints_of(config, who).model_dump(mode="json")
    return who if who in WORDS else identity(who)


def learn(config: ExperimentConfig, arm: Arm, seed: int, best: float) -> Learned:
    """Train one learner to the end, measuring at the start, every so often, and at the end."""
    source, training = _measured_on(config), _training(config, arm, seed)
    assert training.hints is not None
    whole = training.hints.without_dropout() if arm.hinter != NOBODY else None
    marks, due, acts = list[Mark](), 0, 0
    while True:
        decisions = training.learner.decisions
        if decisions >= due or training.done:
            due += config.experiment.every * (1 + (decisions - due) // config.experiment.every)
            player = NetworkPartner(training.learner.network, greedy=True)
            alone = _played(config, player, source, None)
            hinted = alone if whole is None else _played(config, player, source, whole)
            shares = (hinted.points.mean / best, alone.points.mean / best)
            marks.append(Mark(arm, seed, decisions, acts, *shares, hinted.deals, alone.deals))
        if training.done:
            return Learned(marks, Counter(training.hints.tally) if whole is not None else Counter())
        practiced = training.step().score
        acts += round(practiced.games * practiced.turns)


def hints_of(config: ExperimentConfig, who: str) -> HintsConfig:
    """The hints of a hinter. Nobody's are those of chance, of which the learner is told none."""
    changed: dict[str, object]
    if who == STUDENT:
        changed = {"mode": MODEL, "provider": "hf", "models": config.hints.models.model_copy(update={"hf": None})}
    elif who == MODEL:
        changed = {"mode": MODEL}
        provider = resolve_provider(config.hints.provider)
        if provider == "hf" and config.hints.models.hf is None:
            models = config.hints.models.model_copy(update={"hf": PRETRAINED})
            changed |= {"provider": "hf", "models": models, "options": {**ASKED, **config.hints.options}}
    else:
        changed = {"mode": CHANCE} if who in (NOBODY, CHANCE) else {"mode": "expert", "expert": who}
        changed["privileged"] = False
    return config.hints.model_copy(update=changed)


def _training(config: ExperimentConfig, arm: Arm, seed: int) -> Training:
    """One learner at its start."""
    hints = hints_of(config, arm.hinter)
    training = begin(
        TrainConfig(env=config.env, hints=hints, training=config.training.model_copy(update={"seed": seed}))
    )
    hinter = hint_provider(hints)
    assert hinter is not None
    dropout = 1.0 if arm.hinter == NOBODY else arm.dropout
    training.hints = HintSchedule(hinter, hints.cadence_k, dropout=dropout, privileged=hints.privileged)
    load_local_model(training.hints)
    return training


def _measured_on(config: ExperimentConfig) -> ScenarioSource:
    return open_source("lewis", split="test") if config.env.scenarios == "lewis" else config.env.open_source()


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
    unknown = RunError(f"no exact best response to {partner} is known; choose one without memory, such as heuristic")
    who, rules = seat_occupant(partner), config.env.rules()
    if rules.max_turns > EXACT_TURNS and not exact_by_answers(who, rules) and not is_enumerable(who, rules):
        raise unknown  # before anything is played
    evaluation = evaluate(partner, partner, source, rules)
    if evaluation.best is None or evaluation.values is None or not all(value.exact for value in evaluation.values):
        raise unknown
    return evaluation.best.figures[BOTH].points.mean
