"""Networks that learn by meeting only themselves, paid for one thing or another, and how they then deal."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.yardsticks.efficiency import efficiency_of
from dond_marl.yardsticks.metrics import points_of_ten
from league.experiments.language_models.objectives.settings import ObjectivesConfig
from league.settings.sections import EnvConfig
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice
from partners.network.partner import NetworkPartner

SPLIT = "train"  # whose scenarios are learned from


def learned(config: ObjectivesConfig, reward: str, seed: int) -> dict[str, Any]:
    """Train one learner on training scenarios; how it plays with itself on the held-out ones, sampled: plain values."""
    torch.set_num_threads(1)
    section = config.learners
    training = section.hyperparameters(reward)
    env = EnvConfig(max_turns=config.max_turns, scenarios="lewis", split=SPLIT)
    network = training.first_network(env, hints=False, seed=seed)
    learner, itself = Learner(network, training.learner(section.decisions), seed), NetworkPartner(network)
    plan, games_before = training.practice(env, env.open_source(), seed), 0
    while learner.decisions < section.decisions:
        experience, score = practice(
            network, [Opponent(itself, 1.0)], plan, update=learner.updates, games_before=games_before
        )  # fmt: skip
        learner.update(experience)
        games_before += score.games
    table = open_source("lewis", split="test").table
    assert table is not None
    games = rollout((itself, itself), table, Rules(config.max_turns), seed=seed, index=(0,), prior="lewis")
    points = points_of_ten(games.scores, table.wholes)
    return {
        "decisions": learner.decisions,
        "games": table.size,
        "deals": float(games.deal.mean()),
        "points": points.mean(axis=0).round(4).tolist(),
        "welfare": round(float(np.nanmean(efficiency_of(games).welfare)), 4),
    }
