"""Learning and acting: our trainer against a CleanRL-style PPO, our network's play against a plain PyTorch loop.

One unit is one decision of a learner in training, one act of either seat in acting. The settings of both sides of a row
are equal where both have them: network, decisions per update, minibatches, epochs, entropy bonus.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress
from itertools import count, pairwise
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from dond_marl.batch import GameBatch
from dond_marl.game import Act
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Turns, decide
from league.play.practice import practice_plan
from league.settings.training import TrainConfig
from league.training.training import Training, begin
from partners.learning.practice import Opponent, practice
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import NetworkPartner
from scripts.bench.cleanrl_ppo import ENTROPY, GAMES, LEARNING_RATE, MINIBATCHES, STEPS, CleanRL
from scripts.bench.report import Timed

DECISIONS = GAMES * STEPS  # of one update, at least
MATCHED = {
    "num_envs": GAMES,
    "rollout": STEPS,
    "minibatch": DECISIONS // MINIBATCHES,
    "lr": LEARNING_RATE,
    "ent": ENTROPY,
}
LARGE = {"num_envs": 1024, "rollout": 4, "minibatch": 4096, "lr": 1.5e-3, "ent": 0.01}
ORDERED = {**LARGE, "minibatch": 2048, "epochs": 3, "gamma": 1.0, "sorted_items": True}
LEAGUE_SECONDS = 0.5  # of a worker's turn at least, so that waiting for the slower one costs little
ACTING_GAMES = 4096


def start_training(settings: dict[str, Any], hint: str = "none") -> Training:
    """A training as ``dond train`` starts it, against the default heuristic."""
    document = {"env": {"scenarios": "lewis", "split": "train"}, "hints": {"mode": hint}, "training": settings}
    return begin(TrainConfig.model_validate(document))


def training(settings: dict[str, Any], hint: str = "none") -> Timed:
    """Play and update once."""
    trained = start_training(settings, hint)

    def work() -> int:
        before = trained.learner.decisions
        trained.step()
        return trained.learner.decisions - before

    return work


def update() -> Timed:
    """Our update alone, repeated on one rollout at the matched scale."""
    trained = start_training(MATCHED)
    config, learner = trained.config, trained.learner
    plan = practice_plan(config.training, config.env, trained.source, config.training.seed)
    experience, _ = practice(learner.network, [Opponent(trained.partner, 1.0)], plan, update=0, games_before=0)

    def work() -> int:
        learner.update(experience)
        return experience.size

    return work


def cleanrl(*, plays: bool = True) -> Timed:
    """The peer's rollout and update, or its update alone, repeated on one rollout."""
    peer = CleanRL()
    batch = peer.play()

    def work() -> int:
        learned = peer.play() if plays else batch
        peer.learn(learned)
        return len(learned[0])

    return work


def league_workers(number: int) -> Timed:
    """``number`` processes of one thread each, training at the same time with the settings ``LARGE``.

    They end with this process.
    """
    context = multiprocessing.get_context("spawn")
    pipes = []
    for _ in range(number):
        pipe, end_of_worker = context.Pipe()
        context.Process(target=_train_on_demand, args=(end_of_worker,), daemon=True).start()
        pipes.append(pipe)

    def work() -> int:
        for pipe in pipes:
            pipe.send("train")
        return sum(pipe.recv() for pipe in pipes)

    return work


def _train_on_demand(pipe: Connection) -> None:
    torch.set_num_threads(1)
    step = training(LARGE)
    with suppress(EOFError):  # the other end is closed: nothing more is measured
        while pipe.recv():
            decisions, began = 0, time.perf_counter()
            while time.perf_counter() - began < LEAGUE_SECONDS:
                decisions += step()
            pipe.send(decisions)


def acting() -> Timed:
    """Two frozen networks against each other through ``rollout``."""
    first, second = (NetworkPartner(network) for network in _two_networks())
    source, played = open_source("lewis"), count()

    def work() -> int:
        block = next(played)
        games = rollout((first, second), source.block(0, block * ACTING_GAMES, ACTING_GAMES), seed=0, index=(block,))
        return int(games.turns.sum(dtype=np.int64))

    return work


def plain_acting() -> Timed:
    """The same networks on the same games in plain PyTorch: forward, mask, four categoricals, sample."""
    networks = _two_networks()
    trunks = [_plain_trunk(network) for network in networks]
    source, played = open_source("lewis"), count()

    def work() -> int:
        table = GameBatch(source.block(0, next(played) * ACTING_GAMES, ACTING_GAMES))
        while table.open:
            table.step(_plain_decisions(networks[table.seat], trunks[table.seat], table.turns()))
        return int(table.games().turns.sum(dtype=np.int64))

    return work


def _plain_trunk(network: PolicyNetwork) -> nn.Sequential:
    """The network's own weights in PyTorch's own layers."""
    first = network.trunk[0]
    assert isinstance(first, nn.Linear)
    widths = [first.in_features, *network.shape.hidden]
    trunk = nn.Sequential(*(layer for ins, outs in pairwise(widths) for layer in (nn.Linear(ins, outs), nn.Tanh())))
    trunk.load_state_dict(network.trunk.state_dict())
    return trunk


@torch.no_grad()
def _plain_decisions(network: PolicyNetwork, trunk: nn.Sequential, turns: Turns) -> Decisions:
    expanded = network.one_hot(network.prepare(torch.from_numpy(network.adapter.encode(turns))))
    out = nn.functional.linear(trunk(expanded), network.head.weight, network.head.bias)
    logits = out[:, :-1].split(network.shape.width, dim=1)
    masks = torch.from_numpy(network.mask(turns)).unbind(dim=1)
    policies = [Categorical(logits=part.masked_fill(~mask, -1e8)) for part, mask in zip(logits, masks, strict=True)]
    act, *oA = [policy.sample() for policy in policies]
    logs = [policy.log_prob(part) for policy, part in zip(policies, (act, *oA), strict=True)]
    confidence = (logs[0] + (act <= Act.INSIST) * (logs[1] + logs[2] + logs[3])).exp()
    return decide(act.numpy(), torch.stack(oA, dim=1).numpy())._replace(confidence=confidence.numpy())


def _two_networks() -> list[PolicyNetwork]:
    """Two untrained networks, biased towards offers as trained ones are, so that games last several turns."""
    networks = [PolicyNetwork(NetworkShape(), seed=seed) for seed in (0, 1)]
    for network in networks:
        with torch.no_grad():
            network.head.bias[: len(Act)] = torch.tensor([2.0, 1.0, 0.0, 0.0, -2.0])
    return networks
