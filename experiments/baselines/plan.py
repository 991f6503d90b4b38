"""Settings of a comparison of arms with equal acts, and the plan: each arm's config scaled to its acts.

An *act* is one action of one seat. A learner's own decisions are half of the acts of its practice, as seats alternate
and both are practiced equally; a league's matches add to them. The acts of a run are counted while it plays; the plan
meets them within a few per cent if matches are a small part, as members among themselves take more acts per game.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import yaml
from pydantic import BeforeValidator, Field, model_validator

from dond_marl.errors import InputError
from dond_marl.files import user_path
from league.bench.differences import SMALLEST_EFFECT
from league.rounds.curriculum import rounds_of_practice
from league.rounds.dry_run import matches_in_all, snapshots_at_most
from league.rounds.planner import first_states, members_of, plan_round
from league.settings.layers import preset
from league.settings.read import Config, dump, load_config
from league.settings.sections import Occupant, PathText, Section, wrong
from league.settings.training import TrainConfig
from league.standings.history import History
from partners.rosters import DEV, FORMER, RENAMED, ROSTERS, roster

Pick = Literal["last", "points", "wins", "dev"]
Roster = Literal["train", "dev", "dev2", "test2"]
assert set(ROSTERS) == set(get_args(Roster))


def _as_list(value: object) -> object:
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and FORMER in names:
        raise wrong(RENAMED)
    return names


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
    labels: bool = Field(default=False, description="also measure with every offer a PROPOSE, and an INSIST")


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
        if acts is None:
            return training
        return _shorten_training(training, acts)
    unmeasured = ("league.evaluate=false", "logging.tensorboard=false")
    changed = _changed_learners(arm, path, comparison.learners)
    league: Config = load_config(path, (*options, *changed, *unmeasured))
    if not league.learners:
        raise InputError(f"{arm.name}: {path} has no learners; use occupant instead of config")
    return league if acts is None else _scale_league(league, acts, arm)


def _changed_learners(arm: ArmConfig, path: Path, shared: Mapping[str, dict[str, Any]]) -> tuple[str, ...]:
    """The option that sets a league's learners: those of the file with the ``shared`` changes, then the arm's."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8")).get("learners") or []
    own = {learner["name"]: learner for learner in listed if isinstance(learner, dict) and "name" in learner}
    for name in arm.learners:
        if name not in own:
            raise InputError(f"{arm.name}: {path} has no learner called {name}; it has {', '.join(own)}")
    if not arm.learners and not own.keys() & shared.keys():
        return ()
    changed = [
        {**learner, **shared.get(name, {}), **(arm.learners.get(name) or {})}
        for name, learner in own.items()
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
    left = acts - update_acts(config) - match_acts(config) - choice_acts(config, arm.pick)
    needed = 2 * _decisions(config)
    factor = left / needed
    learners = tuple(
        learner.model_copy(update={"decisions": round(learner.decisions * factor)}) for learner in config.learners
    )
    if left <= 0 or not all(learner.decisions for learner in learners):
        raise InputError(
            f"{arm.name}: matches and choice take about {acts - left:,} of {acts:,} acts; allow more acts, or "
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
