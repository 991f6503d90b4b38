"""The models of Lewis et al. 2017 at the level of acts: a likelihood model, and what it learns against itself.

The likelihood model says what people said in the published dialogues (section 4.1 of the paper). Goal-based learning
goes on from there: REINFORCE for own points against the likelihood model as it was (section 4.2). Both sample.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import torch

from dond_marl.game import Rules
from experiments.field.published.results import Step
from experiments.field.published.settings import CloneTraining, GameSection, GoalTraining
from league.settings.sections import EnvConfig
from league.settings.training import TrainConfig, TrainingConfig
from league.training.clone import HumanPositions, load_positions, train_clone
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.network.network import PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner

SPLIT = "train"  # whose scenarios are learned from, after people's acts


class Learned(NamedTuple):
    """A learner at its end."""

    network: PolicyNetwork
    curve: list[Step]
    decisions: int


def likelihood(training: CloneTraining, rules: Rules, data_dir: str | None, seed: int) -> PolicyNetwork:
    """A network that says what people said: a function of the arguments and the published files."""
    chosen = training.model_dump(exclude_defaults=True) | {"algo": "bc", "seed": seed}
    env = EnvConfig(
        max_turns=rules.max_turns, disagree=rules.disagree, scenarios="dialogues", split="train", data_dir=data_dir
    )
    config = TrainConfig(env=env, training=TrainingConfig.model_validate(chosen))
    network, _ = train_clone(config, _lessons(config.model_dump_json(include={"env"})))
    return network


@lru_cache(maxsize=1)
def _lessons(env: str) -> HumanPositions:
    """People's positions, read once a process."""
    return load_positions(TrainConfig.model_validate_json(env))


def learned(
    training: GoalTraining, game: GameSection, pull: float, likelihood: PolicyNetwork, seed: int, points: int = 16
) -> Learned:
    """Learn for own points against ``likelihood``, beginning as it: a function of the arguments, in one thread.

    ``pull``: toward the likelihood model, as the divergence's weight in the loss; the paper mixed supervised updates in
    instead. The curve has about so many ``points``.
    """
    torch.set_num_threads(1)
    env = EnvConfig(max_turns=game.max_turns, disagree=game.disagree, scenarios="lewis", split=SPLIT)
    settings = replace(training.learner(0), kl=pull, anneal=False)  # how many decisions it will make nobody knows
    network, model = copy_of(likelihood), NetworkPartner(copy_of(likelihood))
    learner = Learner(network, settings, seed, copy_of(likelihood) if pull else None)
    play = partial(practice, plan=training.practice(env, env.open_source(), seed))
    curve, kept = list[Step](), -1
    for update in train_until(learner, play, [Opponent(model, 1.0)], games=training.games):
        score, games = update.score, update.games - update.score.games  # before this update
        if games * points // training.games > kept:
            kept = games * points // training.games
            curve.append(Step(games, score.points, score.deals, score.turns))
    return Learned(network, curve, learner.decisions)
