"""Learning: our trainer against a CleanRL-style PPO.

One unit is one decision of a learner. The settings of both sides of a row are equal where both have them: network,
decisions per update, minibatches, epochs, entropy bonus.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import torch

from league.settings.training import TrainConfig
from league.training.training import Training, begin
from partners.learning.practice import Opponent, practice
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
MAIN = {**LEAGUE, "minibatch": 2048, "epochs": 3, "gamma": 1.0, "sorted_items": True}
LEAGUE_SECONDS = 0.5  # of a worker's turn at least, so that waiting for the slower one costs little


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """PyTorch on ``number`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_threads(number: int, work: Timed) -> Timed:
    """``work`` on ``number`` threads of PyTorch."""

    def run() -> int:
        with torch_threads(number):
            return work()

    return run


def start_training(settings: dict[str, Any], hint: str = "none") -> Training:
    """A training as ``dond train`` starts it, against the default heuristic."""
    document = {"env": {"scenarios": "lewis", "split": "train"}, "hints": {"mode": hint}, "training": settings}
    with torch_threads(1):  # restored afterwards, for a training sets what its settings say
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
    plan = config.training.practice(config.env, trained.source, config.training.seed)
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
        return len(batch.obs)

    return work


def cleanrl_update() -> Timed:
    """The peer's update alone, repeated on one rollout."""
    peer = CleanRL()
    batch = peer.play()

    def work() -> int:
        peer.learn(batch)
        return len(batch.obs)

    return work


@contextmanager
def league_workers(number: int) -> Iterator[Timed]:
    """``number`` processes of one thread each, training at the same time with the league's settings."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(number):
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
    torch.set_num_threads(1)
    step = training(LEAGUE)
    while pipe.recv() is not None:
        decisions, began = 0, time.perf_counter()
        while time.perf_counter() - began < LEAGUE_SECONDS:
            decisions += step()
        pipe.send(decisions)
