"""Learning and acting: our trainer against a CleanRL-style PPO, our network's play against a plain PyTorch loop.

One unit is one decision of a learner in training, one act of either seat in acting. The settings of both sides of a row
are equal where both have them: network, decisions per update, minibatches, epochs, entropy bonus.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

from dond_marl.batch import Table
from dond_marl.features import BaseLayout, encode
from dond_marl.game import Act
from dond_marl.rollout import rollout
from dond_marl.scenarios import open_source
from dond_marl.seats import Decisions, Turns, decide
from league.train_settings import TrainConfig
from league.training import begin
from partners.learned import NetworkPartner
from partners.network import NetworkShape, PolicyNetwork
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
LEAGUE = {"num_envs": 1024, "rollout": 4, "minibatch": 4096, "lr": 1.5e-3, "ent": 0.01}  # of configs/league.yaml's main
LEAGUE_SECONDS = 0.5  # of a worker's turn at least, so that waiting for the slower one costs little
ACTING_GAMES = 4096
BASE = BaseLayout(max_count=4, max_turns=10)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """PyTorch on ``count`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_threads(count: int, work: Timed) -> Timed:
    """``work`` on ``count`` threads of PyTorch."""

    def threaded() -> int:
        with torch_threads(count):
            return work()

    return threaded


def training(settings: dict[str, Any], hint: str = "none") -> Timed:
    """Play and update once, as ``scripts/train.py`` does against the default heuristic."""
    before = torch.get_num_threads()
    document = {"env": {"scenarios": "lewis", "split": "train"}, "hints": {"mode": hint}, "training": settings}
    trained = begin(TrainConfig.model_validate(document))
    torch.set_num_threads(before)  # ``begin`` sets what its settings say

    def work() -> int:
        decisions = trained.learner.decisions
        trained.step()
        return trained.learner.decisions - decisions

    return work


def update() -> Timed:
    """Our update alone, again and again on one rollout at the matched scale."""
    from partners.practice import Opponent, practice

    config = TrainConfig.model_validate({"env": {"scenarios": "lewis", "split": "train"}, "training": MATCHED})
    trained = begin(config)
    plan = config.training.practice(config.env, trained.source, config.training.seed)
    learner = trained.learner
    experience, _ = practice(learner.network, [Opponent(trained.partner, 1.0)], plan, update=0, games_before=0)

    def work() -> int:
        learner.update(experience)
        return experience.size

    return work


def cleanrl() -> Timed:
    """The peer's rollout and update."""
    peer = CleanRL()

    def work() -> int:
        batch = peer.play()
        peer.learn(batch)
        return len(batch.seen)

    return work


def cleanrl_update() -> Timed:
    """The peer's update alone, again and again on one rollout."""
    peer = CleanRL()
    batch = peer.play()

    def work() -> int:
        peer.learn(batch)
        return len(batch.seen)

    return work


@contextmanager
def league_workers(count: int) -> Iterator[Timed]:
    """``count`` processes of one thread each, training at the same time with the league's settings."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(count):
        here, there = context.Pipe()
        processes.append(context.Process(target=_train_on_demand, args=(there,), daemon=True))
        processes[-1].start()
        pipes.append(here)

    def work() -> int:
        for pipe in pipes:
            pipe.send("train")
        return sum(pipe.recv() for pipe in pipes)

    try:
        yield work
    finally:
        for pipe, process in zip(pipes, processes, strict=True):
            pipe.send(None)
            process.join()


def _train_on_demand(pipe: Connection) -> None:
    import time

    torch.set_num_threads(1)
    step = training(LEAGUE)
    while pipe.recv() is not None:
        decisions, began = 0, time.perf_counter()
        while time.perf_counter() - began < LEAGUE_SECONDS:
            decisions += step()
        pipe.send(decisions)


def acting() -> Timed:
    """Two frozen networks against each other through ``rollout``."""
    partners = tuple(NetworkPartner(network) for network in _two_networks())
    source, played = open_source("lewis"), iter(range(1 << 62))

    def work() -> int:
        block = next(played)
        games = rollout(partners, source.block(0, block * ACTING_GAMES, ACTING_GAMES), seed=0, index=(block,))
        return int(games.turns.sum(dtype=np.int64))

    return work


def plain_acting() -> Timed:
    """Networks of that size on the same tables, as one first writes it: forward, mask, four categoricals, sample."""
    plain = [_plain_network(network) for network in _two_networks()]
    source, played = open_source("lewis"), iter(range(1 << 62))

    def work() -> int:
        table = Table(source.block(0, next(played) * ACTING_GAMES, ACTING_GAMES))
        while table.open:
            table.step(_plain_decisions(plain[table.seat], table.turns()))
        return int(table.games().turns.sum(dtype=np.int64))

    return work


def _plain_network(network: PolicyNetwork) -> nn.Sequential:
    """Linear and tanh layers of the same widths on the base features themselves, with the same leaning to offers."""
    widths = (BASE.width, *network.shape.hidden)
    layers = [part for sizes in pairwise(widths) for part in (nn.Linear(*sizes), nn.Tanh())]
    head = nn.Linear(widths[-1], network.head.out_features - 1)
    with torch.no_grad():
        head.weight.mul_(0.1)
        head.bias.copy_(network.head.bias[:-1])
    return nn.Sequential(*layers, head)


@torch.no_grad()
def _plain_decisions(network: nn.Sequential, turns: Turns) -> Decisions:
    logits = torch.split(network(torch.from_numpy(encode(turns, BASE))), 5, dim=1)
    within = torch.arange(5) <= torch.from_numpy(turns.caps.copy())[:, :, None]
    masks = (torch.from_numpy(turns.act_mask), *within.unbind(dim=1))
    policies = [Categorical(logits=part.masked_fill(~mask, -1e8)) for part, mask in zip(logits, masks, strict=True)]
    act, *oA = [policy.sample() for policy in policies]
    doubt = [policy.log_prob(part) for policy, part in zip(policies, (act, *oA), strict=True)]
    confidence = (doubt[0] + (act <= Act.INSIST) * (doubt[1] + doubt[2] + doubt[3])).exp()
    said = decide(act.numpy(), torch.stack(oA, dim=1).numpy())
    return said._replace(confidence=confidence.numpy())


def _two_networks() -> list[PolicyNetwork]:
    """As trained ones do, they mostly offer, so that games last several turns."""
    networks = [PolicyNetwork(NetworkShape(), seed=seed) for seed in (0, 1)]
    for network in networks:
        with torch.no_grad():
            network.head.bias[: len(Act)] = torch.tensor([2.0, 1.0, 0.0, 0.0, -2.0])
    return networks
