"""One learner that meets only itself, and how near to an equilibrium it came.

Both seats of every game are the network that learns; half of the games are learned from in each seat, as where a
league's learner meets itself. It learns on every scenario of ``lewis``, those of held-out views too: an equilibrium is
one of the whole game, and views that were never seen would be answered by chance. Nobody learns from held-out views by
that, for its weights are measured and forgotten.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch

from dond_marl.scenarios.sources import open_source
from experiments.short_games.settings import ShortTraining
from experiments.short_games.shares import Standing, standing_of
from league.settings.sections import EnvConfig
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.network.partner import NetworkPartner


class Learned(NamedTuple):
    """A learner at its end."""

    decisions: int  # own, from which it learned
    deals: float  # share of the games of its last update, sampled
    standing: Standing


def learn(training: ShortTraining, turns: int, seed: int) -> Learned:
    """Train one learner to the end, and measure it: a function of the arguments, in one thread."""
    torch.set_num_threads(1)
    env = EnvConfig(max_turns=turns, scenarios="lewis", split="all")
    network = training.first_network(env, hints=False, seed=seed)
    learner, itself = Learner(network, training.learner(training.num_train_steps), seed), NetworkPartner(network)
    play = partial(practice, plan=training.practice(env, open_source("lewis", split="all"), seed))
    deals = 0.0
    for update in train_until(learner, play, [Opponent(itself, 1.0)], decisions=training.num_train_steps):
        deals = update.score.deals
    return Learned(learner.decisions, deals, standing_of(itself, turns))
