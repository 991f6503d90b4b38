"""Train learners by self-play in games of two to four turns, and compute exactly how close they come to equilibria.

Both seats of every game are the learning network; half of the games are learned from in each seat. Training is on all
scenarios of ``lewis``, held-out views too: an equilibrium is one of the full game, and the weights are measured and
discarded. Results are cached in output_dir; the same command continues with the rest.

examples:
  dond experiment short-games                    # with short_games.yaml
  dond experiment short-games --workers 2 --results docs/results/short_games.jsonl
  dond experiment short-games --set comparison.turns=[2] --set comparison.seeds=1
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from pydantic import Field, ValidationError, model_validator

from dond_marl.errors import InputError, quote
from dond_marl.game import SEATS, Rules
from dond_marl.scenarios.sources import lewis_space, open_source
from dond_marl.seats import Partner
from dond_marl.statistics import mean_of
from dond_marl.yardsticks.equilibria import Equilibrium, Pair
from dond_marl.yardsticks.odds import EXACT_TURNS
from dond_marl.yardsticks.values import ExploitabilityParts, policy_value, response_value, split_exploitability
from experiments.kit import (
    Task,
    experiment_command,
    json_lines,
    results_path,
    run_tasks,
    show_sections,
    text_table,
    write_results,
)
from league.cli.shell import print_line
from league.settings.read import load_config
from league.settings.sections import EnvConfig, PathText, Section, wrong
from league.settings.training import Hyperparameters
from league.tables import blocks as tables
from league.tables.figures import format_number, with_margin
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.learning.rewards import OWN
from partners.network.partner import NetworkPartner

SHORTEST = 2  # turns: games of one end without an answer


class ShortTraining(Hyperparameters):
    """Training of a learner for its own points, from random weights."""

    num_train_steps: int = Field(default=200_000, ge=1, description="own decisions")

    @model_validator(mode="after")
    def _check_start(self) -> ShortTraining:
        if self.reward != OWN:
            raise wrong(f"the equilibria are of own points; leave out {self.reward}", "reward")
        if self.init_from is not None:
            raise wrong("learners start from random weights; leave out init_from", "init_from")
        return self


class ArmConfig(Section):
    """One arm: its changes of ``training``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    training: dict[str, Any] = Field(default_factory=dict, description="keys of training with other values")


class ComparisonSection(Section):
    """Lengths of games, and seeds."""

    turns: tuple[int, ...] = Field(
        default=(2, 3, 4), strict=False, min_length=1, description=f"a list of numbers in {SHORTEST}..{EXACT_TURNS}"
    )
    seeds: int = Field(default=3, ge=1, le=1000, description="learners of each arm, in games of each length")

    @model_validator(mode="after")
    def _check_turns(self) -> ComparisonSection:
        if any(not SHORTEST <= turns <= EXACT_TURNS for turns in self.turns) or len(set(self.turns)) < len(self.turns):
            raise wrong(
                f"best responses to networks are exact in games of {SHORTEST} to {EXACT_TURNS} turns, each named once; "
                f"got {quote(list(self.turns))}",
                "turns",
            )
        return self


class ShortGamesConfig(Section):
    """Settings of the experiment; the scenarios are all 5,295 of ``lewis``."""

    comparison: ComparisonSection = Field(default_factory=ComparisonSection)
    training: ShortTraining = Field(default_factory=ShortTraining)
    arms: tuple[ArmConfig, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    output_dir: PathText = Field(default="runs/short_games", description="the path of a folder")

    @model_validator(mode="after")
    def _check_arms(self) -> ShortGamesConfig:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise wrong(f"names of arms must be distinct; got {', '.join(names)}", "arms")
        for arm in self.arms:
            try:
                self.training_of(arm)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise wrong(f"{arm.name}: training.{where}: {first['msg']}", "arms") from None
        return self

    def training_of(self, arm: ArmConfig) -> ShortTraining:
        """Training settings of an arm."""
        return ShortTraining.model_validate({**self.training.model_dump(), **arm.training})


# Points of ten: largest NashConv of an equilibrium, and largest distance of values from a given one.
TOLERANCE = 0.25


class EquilibriumGap(NamedTuple):
    """Exact expected points of ten, by seat, of a policy against itself and of best responses to it."""

    values: Pair
    responses: Pair

    @property
    def exploitability(self) -> Pair:
        """Gain of a best response, by seat."""
        return self.responses[0] - self.values[0], self.responses[1] - self.values[1]

    @property
    def nash_conv(self) -> float:
        """Gains of both seats together."""
        return sum(self.exploitability)

    def conceded_points(self, equilibrium: EquilibriumGap) -> Pair:
        """By seat: points of a best response to the equilibrium - own points against itself."""
        first, second = (part.conceded[0] for part in self._shares(equilibrium))
        return first, second

    def weakness(self, equilibrium: EquilibriumGap) -> Pair:
        """By seat: points of a best response to it - points of a best response to the equilibrium."""
        first, second = (part.weak[0] for part in self._shares(equilibrium))
        return first, second

    def _shares(self, equilibrium: EquilibriumGap) -> list[ExploitabilityParts]:
        seats = zip(self.values, self.responses, equilibrium.responses, strict=True)
        return [split_exploitability(own, (response,) * 2, (rational,) * 2) for own, response, rational in seats]

    def distance(self, equilibrium: EquilibriumGap) -> float:
        """Distance of its values from the equilibrium's, the larger one of both seats."""
        return max(abs(own - other) for own, other in zip(self.values, equilibrium.values, strict=True))

    @property
    def is_equilibrium(self) -> bool:
        """Whether no seat gains much by leaving it: some equilibrium, within :data:`FOUND`."""
        return self.nash_conv <= TOLERANCE

    def matches(self, equilibrium: EquilibriumGap) -> bool:
        """Whether it is an equilibrium with the values of this one, within :data:`FOUND`."""
        return self.is_equilibrium and self.distance(equilibrium) <= TOLERANCE


def measure_gap(partner: Partner, turns: int) -> EquilibriumGap:
    """The gap of a memoryless partner with known action probabilities, over all scenarios of ``lewis``.

    ``turns``: at most four.
    """
    source, rules = open_source("lewis", split="all"), Rules(turns)
    first, second = policy_value((partner, partner), lewis_space(), rules, source.prior).points.mean(axis=0).tolist()
    responses = [response_value(partner, source, rules, seat) for seat in range(len(SEATS))]
    assert all(response.exact for response in responses)
    return EquilibriumGap((first, second), (float(responses[0].low), float(responses[1].low)))


@cache
def equilibrium(turns: int) -> EquilibriumGap:
    """The gap of the shipped equilibrium, with best responses of perfect recall; exact for at most four turns.

    It is not unique: an offer worth nothing may be accepted or not. At two turns this one accepts it half the time.
    """
    table = Equilibrium.load(turns)
    (_, first), (_, second) = table.responses
    return EquilibriumGap(table.values, (first, second))


class ShortLearner(NamedTuple):
    """A trained learner."""

    decisions: int  # own, used for training
    deals: float  # share of the games of its last update, sampled
    standing: EquilibriumGap


def train_learner(training: ShortTraining, turns: int, seed: int) -> ShortLearner:
    """Train and measure one learner: a function of the arguments, in one thread."""
    torch.set_num_threads(1)
    env = EnvConfig(max_turns=turns, scenarios="lewis", split="all")
    network = training.first_network(env, hints=False, seed=seed)
    learner, itself = Learner(network, training.learner(training.num_train_steps), seed), NetworkPartner(network)
    play = partial(practice, plan=training.practice(env, open_source("lewis", split="all"), seed))
    deals = 0.0
    for update in train_until(learner, play, [Opponent(itself, 1.0)], decisions=training.num_train_steps):
        deals = update.score.deals
    return ShortLearner(learner.decisions, deals, measure_gap(itself, turns))


DIGITS = 4  # of a point in the results file


class ShortRun(NamedTuple):
    """One learner."""

    turns: int
    arm: str
    seed: int
    learned: ShortLearner


class ShortGames(NamedTuple):
    """Equilibria by turns, and every learner, in the order of games, arms and seeds."""

    equilibria: dict[int, EquilibriumGap]
    arms: dict[str, dict[str, Any]]  # its changes of the training
    runs: list[ShortRun]


def run_experiment(
    config: ShortGamesConfig, folder: Path, report: Callable[[str], None], workers: int = 1
) -> ShortGames:
    """Train and measure, ``workers`` learners at a time, which changes no figure.

    Learners are cached in ``folder``. ``report`` gets a line of progress after each.
    """
    comparison = config.comparison
    equilibria = {turns: equilibrium(turns) for turns in comparison.turns}
    jobs = list(product(comparison.turns, config.arms, range(comparison.seeds)))
    tasks = []
    for turns, arm, seed in jobs:
        training = config.training_of(arm)
        inputs = {"training": training.model_dump(mode="json"), "game": [turns, seed]}
        compute = partial(_learner_document, training, turns, seed)
        tasks.append(Task(f"{turns} turns, {arm.name}, seed {seed}", inputs, compute))

    def describe(place: int, document: Mapping[str, Any]) -> str:
        standing, rational = _parse_learner(document).standing, equilibria[jobs[place][0]].values
        first, second = standing.values
        return (
            f"{first:.2f} and {second:.2f} points, NashConv {standing.nash_conv:.2f}; the equilibrium has "
            f"{rational[0]:.2f} and {rational[1]:.2f}"
        )

    learned = map(_parse_learner, run_tasks(tasks, folder, workers, report, describe))
    runs = [ShortRun(turns, arm.name, seed, each) for (turns, arm, seed), each in zip(jobs, learned, strict=True)]
    return ShortGames(equilibria, {arm.name: arm.training for arm in config.arms}, runs)


def _learner_document(training: ShortTraining, turns: int, seed: int) -> dict[str, Any]:
    return train_learner(training, turns, seed)._asdict()


def _parse_learner(document: Mapping[str, Any]) -> ShortLearner:
    standing = EquilibriumGap(*map(_as_pair, document["standing"]))
    return ShortLearner(document["decisions"], document["deals"], standing)


def short_games_lines(experiment: ShortGames) -> str:
    """The results file: the arms, the equilibria, then one row per learner."""
    rows: list[dict[str, Any]] = [{"arms": experiment.arms}]
    rows += [{"turns": turns, **_as_json(standing)} for turns, standing in experiment.equilibria.items()]
    for run in experiment.runs:
        learned = run.learned
        own = {"decisions": learned.decisions, "deals": round(learned.deals, DIGITS), **_as_json(learned.standing)}
        rows.append({"turns": run.turns, "arm": run.arm, "seed": run.seed, **own})
    return json_lines(rows)


def parse_short_games(text: Iterable[str]) -> ShortGames:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        return _parse_rows(map(json.loads, text))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise InputError(f"no results of short games ({error}); make them again: dond experiment short-games") from None


def _parse_rows(rows: Iterator[dict[str, Any]]) -> ShortGames:
    found = ShortGames({}, next(rows)["arms"], [])
    for row in rows:
        standing = EquilibriumGap(_as_pair(row["values"]), _as_pair(row["responses"]))
        if "arm" in row:
            found.runs.append(
                ShortRun(row["turns"], row["arm"], row["seed"], ShortLearner(row["decisions"], row["deals"], standing))
            )
        else:
            found.equilibria[row["turns"]] = standing
    return found


def _as_json(standing: EquilibriumGap) -> dict[str, list[float]]:
    return {key: [round(value, DIGITS) for value in pair] for key, pair in standing._asdict().items()}


def _as_pair(values: Iterable[float]) -> tuple[float, float]:
    first, second = values
    return first, second


CONFIDENCE = 0.95


def short_games_section(experiment: ShortGames) -> tables.Section:
    """A table for each length of the game: the equilibrium, then each arm."""
    seeds = len({run.seed for run in experiment.runs})
    changes = "; ".join(
        f"{name}: {', '.join(f'{key} {value}' for key, value in training.items()) or 'as the config'}"
        for name, training in experiment.arms.items()
    )
    notes = (
        f"All figures are exact, over the 5,295 scenarios and sampled play; means over {seeds} seeds with 95 % "
        "intervals, in points of ten. Distance: of the points from the equilibrium's, the larger one of both seats. "
        "NashConv: gain of best responses in both seats together. It is the sum over both seats of conceded points "
        "(of a best response to the equilibrium - the learner's own) and weakness (points of a best response to the "
        f"learner - of one to the equilibrium). An equilibrium: seeds with NashConv at most {TOLERANCE}; this one: "
        f"those with a distance of at most {TOLERANCE}, too.",
        f"Arms: {changes}.",
    )
    games = [_game_table(experiment, turns, equilibrium) for turns, equilibrium in experiment.equilibria.items()]
    return tables.Section("short_games", "Self-play in short games", notes, tuple(games))


def _game_table(experiment: ShortGames, turns: int, equilibrium: EquilibriumGap) -> tables.Table:
    heads = (
        "learner", "own decisions", "points, seat_0", "seat_1", "distance", "NashConv", "conceded, seat_0", "seat_1",
        "weakness, seat_0", "seat_1", "an equilibrium", "this one",
    )  # fmt: skip
    points = map(format_number, equilibrium.values)
    parts = map(format_number, (*equilibrium.conceded_points(equilibrium), *equilibrium.weakness(equilibrium)))
    rows = [["the equilibrium", "", *points, "", format_number(equilibrium.nash_conv), *parts, "", ""]]
    for arm in experiment.arms:
        runs = [run for run in experiment.runs if (run.turns, run.arm) == (turns, arm)]
        if runs:
            rows.append(_arm_cells(arm, runs, equilibrium))
    return text_table(heads, rows, f"{turns} turns")


def _arm_cells(arm: str, runs: Sequence[ShortRun], equilibrium: EquilibriumGap) -> list[str]:
    gaps = [run.learned.standing for run in runs]

    def mean(value: Callable[[EquilibriumGap], float]) -> str:
        return with_margin(mean_of([value(gap) for gap in gaps], CONFIDENCE))

    def by_seat(pair: Callable[[EquilibriumGap], Pair]) -> list[str]:
        return [mean(lambda gap: pair(gap)[0]), mean(lambda gap: pair(gap)[1])]

    return [
        arm,
        f"{sum(run.learned.decisions for run in runs) / len(runs):,.0f}",
        *by_seat(lambda gap: gap.values),
        mean(lambda gap: gap.distance(equilibrium)),
        mean(lambda gap: gap.nash_conv),
        *by_seat(lambda gap: gap.conceded_points(equilibrium)),
        *by_seat(lambda gap: gap.weakness(equilibrium)),
        f"{sum(gap.is_equilibrium for gap in gaps)} of {len(runs)}",
        f"{sum(gap.matches(equilibrium) for gap in gaps)} of {len(runs)}",
    ]


@experiment_command(__doc__, "short_games.yaml", workers=1)
def command(config_path: Path, overrides: tuple[str, ...], workers: int, results: Path | None) -> None:
    """Train, measure, print the tables, and write the results."""
    config = load_config(config_path, overrides, ShortGamesConfig)
    path = results_path(results, config.output_dir)
    experiment = run_experiment(config, Path(config.output_dir).expanduser() / "learners", print_line, workers)
    show_sections(short_games_section(experiment))
    write_results(path, short_games_lines(experiment))
