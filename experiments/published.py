"""Train the players of Lewis et al. 2017 at the level of acts, and play them against the likelihood model.

The likelihood model is cloned from the published dialogues (section 4.1 of the paper), which are not shipped: name
their folder. Goal-based learning continues from it: REINFORCE for own points against the frozen likelihood model
(section 4.2). All players sample. Results are cached in output_dir; the same command continues with the rest. For the
figures of papers see `dond experiment published-table`.

examples:
  dond experiment published --set data_dir=data
  dond experiment published --set data_dir=data --results docs/results/published.jsonl
  dond experiment published --set data_dir=data --set seeds=1 --set learning.games=1000
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pydantic import Field, ValidationError, model_validator

from dond_marl.errors import DondError, InputError, RunFailure
from dond_marl.game import Disagree, Rules
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner
from dond_marl.statistics import Estimate, mean_of
from experiments.kit import (
    cache_path,
    experiment_command,
    json_lines,
    provenance_now,
    read_cached,
    results_path,
    show_sections,
    write_cached,
    write_results,
)
from league.cli.shell import print_line
from league.evaluation.matches import Terms
from league.evaluation.outcomes import Outcomes, figures, outcomes_of
from league.settings.read import load_config
from league.settings.sections import EnvConfig, PathText, Section, wrong
from league.settings.training import Hyperparameters, TrainConfig, TrainingConfig
from league.training.clone import HumanPositions, load_positions, train_clone
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.learning.rewards import OWN
from partners.network.network import PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner
from partners.scripted.rollouts import Rollouts

LIKELIHOOD = "likelihood"  # name of the model of people among the arms


class GameSection(Section):
    """The rules of every game, and the games on the scenarios of the published test dialogues."""

    max_turns: int = Field(default=10, ge=2, le=100)
    disagree: Disagree = "rejects"
    repeats: int = Field(default=1, ge=1, le=1000, description="games on each test scenario in each seat")

    def rules(self) -> Rules:
        return Rules(self.max_turns, self.disagree)


class CloneTraining(Hyperparameters):
    """Behaviour cloning of the published dialogues."""

    epochs: int = Field(default=12, ge=1, le=100, description="at most")
    patience: int = Field(default=5, ge=1, le=100, description="epochs without improvement")
    balance: float = Field(default=0.0, ge=0, le=1)


class GoalTraining(Hyperparameters):
    """Learning for own points against the frozen likelihood model."""

    games: int = Field(default=16_000, ge=1, description="in all, half in each seat")

    @model_validator(mode="after")
    def _of_this_experiment(self) -> GoalTraining:
        if self.reward != OWN or self.init_from is not None:
            raise wrong("it starts from the likelihood model and learns for own points; leave both out", "init_from")
        return self


class ArmSection(Section):
    """One arm: its changes of ``learning`` and ``game``."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    learning: dict[str, Any] = Field(default_factory=dict, description="keys of learning with other values")
    pull: float = Field(default=0.0, ge=0, le=1000, description="KL penalty toward the likelihood model")
    max_turns: int | None = Field(default=None, ge=2, le=100, description="turns of the game, by default those of game")
    seeds: int | None = Field(default=None, ge=1, le=1000, description="by default all")


class SearchSection(Section):
    """A player that searches: rollouts with the likelihood model as its partner."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    own: str = Field(
        default=LIKELIHOOD, description="policy of its own seat in rollouts and for drawing candidates: an arm's name"
    )
    simulations: int = Field(default=16, ge=1, le=4096)
    candidates: int = Field(default=10, ge=0, le=4096, description="sampled acts, as in the paper; 0: every act")
    seeds: int | None = Field(default=None, ge=1, le=1000, description="by default all")


class PublishedConfig(Section):
    """Settings of the experiment. Every seed has its own likelihood model and learns on split train of ``lewis``."""

    title: str = Field(default="ours", min_length=1, description="column heading next to published figures")
    seeds: int = Field(default=10, ge=1, le=1000)
    data_dir: PathText | None = Field(default=None, description="the path of the folder with the published files")
    game: GameSection = Field(default_factory=GameSection)
    cloning: CloneTraining = Field(default_factory=CloneTraining)
    learning: GoalTraining = Field(default_factory=GoalTraining)
    arms: tuple[ArmSection, ...] = Field(strict=False, min_length=1, description="a list of arms, each with a name")
    searches: tuple[SearchSection, ...] = Field(default=(), strict=False, description="a list, each with a name")
    output_dir: PathText = Field(default="runs/published", description="the path of a folder")

    @model_validator(mode="after")
    def _check_arms(self) -> PublishedConfig:
        names = [LIKELIHOOD, *(arm.name for arm in self.arms), *(search.name for search in self.searches)]
        if len(set(names)) < len(names):
            raise wrong(f"names must be distinct; got {', '.join(names)}", "arms")
        for search in self.searches:
            known = names[: 1 + len(self.arms)]
            if search.own not in known:
                raise wrong(f"{search.name}: own must be one of {', '.join(known)}; got {search.own}", "searches")
        for arm in self.arms:
            try:
                self.learning_of(arm)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise wrong(f"{arm.name}: learning.{where}: {first['msg']}", "arms") from None
        return self

    def learning_of(self, arm: ArmSection) -> GoalTraining:
        """Learning settings of an arm."""
        return GoalTraining.model_validate({**self.learning.model_dump(), **arm.learning})

    def game_of(self, arm: ArmSection) -> GameSection:
        """Game settings of an arm."""
        return self.game if arm.max_turns is None else self.game.model_copy(update={"max_turns": arm.max_turns})


DIGITS = 4  # of a point in the results file
CONFIDENCE = 0.95
MEASURES = ("points", "left", "points_agreed", "left_agreed", "deals", "pareto", "turns")


class CurveStep(NamedTuple):
    """A point of a learning curve: means per game of one update, sampled play on training scenarios."""

    games: int
    points: float
    deals: float
    turns: float


class PlayerRow(NamedTuple):
    """One player against the likelihood model, both sampling: means over games on the test scenarios."""

    player: str
    seed: int
    games: int
    measures: dict[str, float]  # by :data:`MEASURES`, as in :class:`league.evaluation.outcomes.Figures`
    curve: list[CurveStep]  # of its training; empty without
    date: str | None = None  # of play; None if unknown
    versions: dict[str, str | None] | None = None  # of the packages


class PublishedResults(NamedTuple):
    """All rows, ordered by player and seed, with the settings."""

    settings: dict[str, Any]
    rows: list[PlayerRow]

    def mean(self, player: str, measure: str) -> Estimate:
        """The mean of a measure over seeds, with Student's interval; n counts seeds."""
        return mean_of([row.measures[measure] for row in self.rows if row.player == player], CONFIDENCE)

    @property
    def players(self) -> list[str]:
        """Names in order."""
        return list(dict.fromkeys(row.player for row in self.rows))


def published_lines(found: PublishedResults) -> str:
    """The results file: the settings, then one row per player and seed."""
    return json_lines([{"settings": found.settings}, *map(row_to_json, found.rows)])


def parse_published(text: Iterable[str]) -> PublishedResults:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        rows = [json.loads(line) for line in text]
        return PublishedResults(rows[0]["settings"], [row_from_json(row) for row in rows[1:] if "who" in row])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"no results of dond experiment published ({error}); make them again with it") from None


def row_to_json(row: PlayerRow) -> dict[str, Any]:
    """A row as rounded JSON values."""

    def rounded(values: Iterable[float]) -> list[float]:
        return [round(value, DIGITS) for value in values]

    measures = dict(zip(row.measures, rounded(row.measures.values()), strict=True))
    curve = [rounded(step) for step in row.curve]
    plain = {**row._asdict(), "measures": measures, "curve": curve}
    return {"who": plain.pop("player"), **plain}


def row_from_json(plain: dict[str, Any]) -> PlayerRow:
    """The inverse of :func:`plain_of`, but for what it rounds."""
    curve = [CurveStep(int(step[0]), *step[1:]) for step in plain["curve"]]
    made = plain.get("date"), plain.get("versions")
    return PlayerRow(plain["who"], plain["seed"], plain["games"], plain["measures"], curve, *made)


TRAIN_SPLIT = "train"  # scenarios of goal-based learning


class GoalLearner(NamedTuple):
    """A trained learner."""

    network: PolicyNetwork
    curve: list[CurveStep]
    decisions: int


def train_likelihood(training: CloneTraining, rules: Rules, data_dir: str | None, seed: int) -> PolicyNetwork:
    """A network cloned from people's acts: a function of the arguments and the published files."""
    chosen = training.model_dump(exclude_defaults=True) | {"algo": "bc", "seed": seed}
    env = EnvConfig(
        max_turns=rules.max_turns, disagree=rules.disagree, scenarios="dialogues", split="train", data_dir=data_dir
    )
    config = TrainConfig(env=env, training=TrainingConfig.model_validate(chosen))
    network, _ = train_clone(config, _cached_lessons(config.model_dump_json(include={"env"})))
    return network


@lru_cache(maxsize=1)
def _cached_lessons(env: str) -> HumanPositions:
    """People's positions, read once per process."""
    return load_positions(TrainConfig.model_validate_json(env))


def train_goal_learner(
    training: GoalTraining, game: GameSection, pull: float, likelihood: PolicyNetwork, seed: int, points: int = 16
) -> GoalLearner:
    """Train for own points against ``likelihood``, starting from it: a function of the arguments, in one thread.

    ``pull``: weight of the KL penalty toward the likelihood model; the paper mixed in supervised updates instead. The
    curve has about ``points`` steps.
    """
    torch.set_num_threads(1)
    env = EnvConfig(max_turns=game.max_turns, disagree=game.disagree, scenarios="lewis", split=TRAIN_SPLIT)
    settings = replace(training.learner(0), kl=pull, anneal=False)  # the number of decisions is unknown
    network, model = copy_of(likelihood), NetworkPartner(copy_of(likelihood))
    learner = Learner(network, settings, seed, copy_of(likelihood) if pull else None)
    play = partial(practice, plan=training.practice(env, env.open_source(), seed))
    curve, last = list[CurveStep](), -1
    for update in train_until(learner, play, [Opponent(model, 1.0)], games=training.games):
        score, games = update.score, update.games - update.score.games  # before this update
        if games * points // training.games > last:
            last = games * points // training.games
            curve.append(CurveStep(games, score.points, score.deals, score.turns))
    return GoalLearner(network, curve, learner.decisions)


SPLIT = "paper_test"  # the scenarios of the published test dialogues, in both orders


def run_experiment(config: PublishedConfig, report: Callable[[str], None]) -> PublishedResults:
    """Train and play every player, seed after seed, except rows cached in ``output_dir``.

    Raises :class:`dond_marl.scenarios.data.DataError` if the published files are missing.
    """
    rows: list[PlayerRow] = []
    for seed in range(config.seeds):
        makers = _PlayerMaker(config, seed)
        for player, task in makers.tasks():
            path = cache_path(Path(config.output_dir).expanduser(), {"who": player, "seed": seed, **task})
            cached = read_cached(path)
            try:
                row = (
                    row_from_json(cached)
                    if cached is not None
                    else makers.play(player)._replace(**provenance_now("numpy", "torch"))
                )
            except (DondError, OSError) as error:
                kind = InputError if isinstance(error, InputError) else RunFailure
                raise kind(f"{player}, seed {seed}: {error}") from error
            if cached is None:
                write_cached(path, row_to_json(row))
            rows.append(row)
            points = row.measures
            report(
                f"seed {seed}, {player}: {points['points']:.2f} against {points['left']:.2f}, "
                f"{points['deals']:.1%} deals"
            )
    order = {player: number for number, player in enumerate(_player_names(config))}
    return PublishedResults(
        config.model_dump(mode="json", exclude={"output_dir", "data_dir"}),
        sorted(rows, key=lambda row: (order[row.player], row.seed)),
    )


def _player_names(config: PublishedConfig) -> list[str]:
    return [LIKELIHOOD, *(arm.name for arm in config.arms), *(search.name for search in config.searches)]


class _PlayerMaker:
    """Trains the players of one seed when they are first needed."""

    def __init__(self, config: PublishedConfig, seed: int) -> None:
        self._config, self._seed = config, seed
        self._models: dict[int, PolicyNetwork] = {}  # by the turns of the game
        self._learners: dict[str, tuple[PolicyNetwork, list[CurveStep]]] = {}

    def tasks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The players of this seed with all inputs of their results."""
        config = self._config
        base: dict[str, Any] = {"game": config.game.model_dump(), "cloning": config.cloning.model_dump(mode="json")}
        yield LIKELIHOOD, base
        of_arm = {LIKELIHOOD: base}
        for arm in config.arms:
            learning = config.learning_of(arm).model_dump(mode="json")
            of_arm[arm.name] = {
                **base, "game": config.game_of(arm).model_dump(), "learning": learning, "pull": arm.pull
            }  # fmt: skip
            if arm.seeds is None or self._seed < arm.seeds:
                yield arm.name, of_arm[arm.name]
        for search in config.searches:
            if search.seeds is None or self._seed < search.seeds:
                yield search.name, {**of_arm[search.own], "search": search.model_dump()}

    def play(self, player: str) -> PlayerRow:
        """Train a player, with all that it needs, and play its games."""
        arms = {arm.name: arm for arm in self._config.arms}
        searches = {search.name: search for search in self._config.searches}
        if player in searches:
            search = searches[player]
            game = self._game(arms.get(search.own))
            model = NetworkPartner(self._model(game))
            own = model if search.own == LIKELIHOOD else NetworkPartner(self._learner(arms[search.own])[0])
            return self._play_games(player, Rollouts(model, search.simulations, search.candidates, own), game, [])
        if player in arms:
            network, curve = self._learner(arms[player])
            return self._play_games(player, NetworkPartner(network), self._game(arms[player]), curve)
        return self._play_games(player, NetworkPartner(self._model(self._config.game)), self._config.game, [])

    def _game(self, arm: ArmSection | None) -> GameSection:
        return self._config.game if arm is None else self._config.game_of(arm)

    def _model(self, game: GameSection) -> PolicyNetwork:
        if game.max_turns not in self._models:
            config = self._config
            self._models[game.max_turns] = train_likelihood(config.cloning, game.rules(), config.data_dir, self._seed)
        return self._models[game.max_turns]

    def _learner(self, arm: ArmSection) -> tuple[PolicyNetwork, list[CurveStep]]:
        if arm.name not in self._learners:
            game = self._game(arm)
            found = train_goal_learner(self._config.learning_of(arm), game, arm.pull, self._model(game), self._seed)
            self._learners[arm.name] = found.network, found.curve
        return self._learners[arm.name]

    def _play_games(self, name: str, player: Partner, game: GameSection, curve: list[CurveStep]) -> PlayerRow:
        against = NetworkPartner(self._model(game))
        source = open_source("lewis", split=SPLIT)
        assert source.table is not None
        terms = Terms(source, source.table, game.rules(), self._seed, CONFIDENCE)
        seats: list[Outcomes] = []
        for number in range(game.repeats):
            played = terms.games((player, player), against, index=(number,))
            seats += [outcomes_of(games, seat) for seat, games in enumerate(played)]
        outcomes = Outcomes(*(np.concatenate(parts) for parts in zip(*seats, strict=True)))
        found = figures(outcomes, CONFIDENCE)
        return PlayerRow(
            name, self._seed, len(outcomes.own), {name: getattr(found, name).mean for name in MEASURES}, curve
        )


@experiment_command(__doc__, "published.yaml")
def command(config_path: Path, overrides: tuple[str, ...], results: Path | None) -> None:
    """Train, play, print the table, and write the results."""
    from experiments.published_table import players_section

    config = load_config(config_path, overrides, PublishedConfig)
    path = results_path(results, config.output_dir)
    found = run_experiment(config, print_line)
    show_sections(players_section(found))
    write_results(path, published_lines(found))
