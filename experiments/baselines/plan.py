"""What each arm plays: its config at the acts that it may use, and whoever does not learn, by name.

An *act* is what one seat says once, whoever sits there. A learner's own decisions are half of the acts of its practice,
as seats alternate and both are practiced alike; a league's matches come on top. How many acts a run came to is counted
as it plays; what is planned here meets that within some per cent where matches are a small part: members among
themselves take more acts a game than is planned.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.statistics import TEN
from experiments.baselines.settings import BEST_OF_TRAIN, ArmConfig, BaselinesConfig
from league.evaluation.matches import Terms
from league.rounds.curriculum import rounds_of_practice
from league.rounds.dry_run import matches_in_all, snapshots_at_most
from league.rounds.planner import first_states, members_of, plan_round
from league.settings.layers import preset
from league.settings.read import Config, dump, load_config
from league.settings.training import TrainConfig
from league.standings.history import History
from partners.rosters import TRAIN, roster

ACTS_A_GAME = 5.0  # of both seats, for planning alone: what games of the train roster take
UPDATE = 1.2  # own decisions of an update over those that it needs, for it ends with a whole block of games
CHOICE = 256  # train scenarios on which somebody is chosen among others, each in both seats


class Job(NamedTuple):
    """One arm with one seed, everything that it is a function of, and the folder that it is kept in."""

    arm: ArmConfig
    seed: int
    folder: Path
    config: Config | TrainConfig | None  # None: nobody learns
    occupant: str | None = None  # then who is submitted

    @property
    def label(self) -> str:
        return self.arm.name if self.config is None else f"{self.arm.name}, seed {self.seed}"

    @property
    def digest(self) -> str:
        """The SHA-256 of what the run is a function of."""
        what = self.occupant if self.config is None else dump(self.config.portable())
        return hashlib.sha256(f"{self.arm.pick}\n{what}".encode()).hexdigest()


def jobs_of(config: BaselinesConfig, names: Collection[str] | None = None) -> list[Job]:
    """Every arm, or those of these ``names``, with every seed; once, where nobody learns.

    All arms with the first seed, then all with the next, so that what is stopped has as many seeds of each. Raises
    what reading its config raises.
    """
    arms = [arm for arm in config.arms if names is None or arm.name in names]
    jobs = []
    for seed in range(1, config.comparison.seeds + 1):
        for arm in arms:
            folder = Path(config.output_dir).expanduser() / arm.name
            if arm.occupant is None:
                jobs.append(Job(arm, seed, folder / f"{seed:04d}", _config(arm, seed, config.comparison.acts)))
            elif seed == 1:
                who = best_of_train() if arm.occupant == BEST_OF_TRAIN else arm.occupant
                jobs.append(Job(arm, seed, folder, None, who))
    return jobs


def _config(arm: ArmConfig, seed: int, acts: int | None) -> Config | TrainConfig:
    """The settings of an arm with this seed, as long as ``acts`` allow."""
    assert arm.config is not None
    path = preset(Path(arm.config))
    if not _is_league(path):
        if arm.learners:
            raise InputError(f"{arm.name}: learners changes those of a league, and {path} is a training; use set")
        training = load_config(path, (*arm.set, f"training.seed={seed}", "logging.tensorboard=false"), TrainConfig)
        if training.training.algo == "bc":
            raise InputError(f"{arm.name}: {path} clones people, who are no arm of equal acts; take another config")
        if acts is None:
            return training
        return _shortened(training, acts)
    unmeasured = ("league.evaluate=false", "logging.tensorboard=false")
    league: Config = load_config(path, (*arm.set, *_changed_learners(arm, path), f"league.seed={seed}", *unmeasured))
    if not league.learners:
        raise InputError(f"{arm.name}: nobody learns in {path}; name somebody with occupant instead of config")
    return league if acts is None else _scaled(league, acts, arm)


def _changed_learners(arm: ArmConfig, path: Path) -> tuple[str, ...]:
    """The option that names a league's learners anew, as the file has them but for what the arm changes."""
    if not arm.learners:
        return ()
    listed = yaml.safe_load(path.read_text(encoding="utf-8")).get("learners") or []
    own = {learner["name"]: learner for learner in listed if isinstance(learner, dict) and "name" in learner}
    for name in arm.learners:
        if name not in own:
            raise InputError(f"{arm.name}: {path} has no learner called {name}; it has {', '.join(own)}")
    changed = [
        {**learner, **(arm.learners.get(name) or {})}
        for name, learner in own.items()
        if arm.learners.get(name, learner) is not None
    ]
    return (f"learners={json.dumps(changed)}",)


def _shortened(config: TrainConfig, acts: int) -> TrainConfig:
    """The same training of about ``acts``, with as many checkpoints, which are the past selves that it meets."""
    steps, saved = max(acts // 2, 1), config.logging.save_every
    every = max(round(saved * steps / config.training.num_train_steps), 1)
    changed = {
        "training": config.training.model_copy(update={"num_train_steps": steps}),
        "logging": config.logging.model_copy(update={"save_every": every}),
    }
    return config.model_copy(update=changed)


def _is_league(path: Path) -> bool:
    """Whether a config is a league's; one that cannot be read is refused by whoever reads it as a training's."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return False
    return isinstance(data, dict) and bool({"league", "members", "learners"} & data.keys())


def _scaled(config: Config, acts: int, arm: ArmConfig) -> Config:
    """The same league with decisions a round such that practice, matches and choice together take about ``acts``."""
    left = acts - unasked_acts(config) - match_acts(config) - (choice_acts(config) if arm.pick != "last" else 0)
    wanted = 2 * _decisions(config)
    factor = left / wanted
    learners = tuple(
        learner.model_copy(update={"decisions": round(learner.decisions * factor)}) for learner in config.learners
    )
    if left <= 0 or not all(learner.decisions for learner in learners):
        raise InputError(
            f"{arm.name}: what it plays to choose takes about {acts - left:,} of {acts:,} acts; allow more acts, or "
            "make its matches smaller with set: [league.block_size=4, league.pairs=0]"
        )
    return config.model_copy(update={"learners": learners})


def planned_acts(job: Job) -> int:
    """About how many acts a run takes; none where nobody learns."""
    if job.config is None:
        return 0
    if isinstance(job.config, TrainConfig):
        return 2 * job.config.training.num_train_steps
    chosen = choice_acts(job.config) if job.arm.pick != "last" else 0
    return 2 * _decisions(job.config) + unasked_acts(job.config) + match_acts(job.config) + chosen


def unasked_acts(config: Config) -> int:
    """About how many acts a league practices beyond its decisions: a round ends with a whole update."""
    updates = (
        UPDATE * learner.num_envs * learner.rollout * rounds_of_practice(config, learner) for learner in config.learners
    )
    return round(sum(updates))


def _decisions(config: Config) -> int:
    """Own decisions of all learners of a league, in the rounds in which they practice."""
    return sum(learner.decisions * rounds_of_practice(config, learner) for learner in config.learners)


def match_acts(config: Config) -> int:
    """About how many acts the matches of a league take."""
    with tempfile.TemporaryDirectory() as folder:
        states = first_states(config, Path(folder))
        first = plan_round(config, History(members_of(config), config.league.decay), states)
    return round(matches_in_all(config, first) * 2 * config.league.block_size * ACTS_A_GAME)


def choice_acts(config: Config) -> int:
    """About how many acts it takes to choose among a main and its snapshots; a gate may let fewer of them pass."""
    candidates = 1 + snapshots_at_most(config.model_copy(update={"learners": config.learners[:1]}))
    return round(candidates * len(config.members) * 2 * CHOICE * ACTS_A_GAME)


def best_of_train() -> str:
    """The spec of the member of the train roster that scores most against all others of it, both seats, split train."""
    members = roster(TRAIN)
    source = open_source("lewis", split="train")
    some = source.block(0, 0, CHOICE)
    terms = Terms(ScenarioSource(source.name, source.split, some, source.max_count), some, Rules())
    points = np.full((len(members), len(members)), np.nan)
    for place, member in enumerate(members):
        for other in range(place):
            for games, (own, theirs) in zip(
                terms.games((seat_occupant(member),) * 2, seat_occupant(members[other])), ((0, 1), (1, 0)), strict=True
            ):
                shares = (games.scores / np.maximum(some.pool_values, 1)).mean(axis=0) * TEN / 2
                points[place, other] = np.nansum([points[place, other], shares[own]])
                points[other, place] = np.nansum([points[other, place], shares[theirs]])
    return members[int(np.nanmean(points, axis=1).argmax())]
