"""PPO with games on a device, compared with games on the host: the same settings, network and opponents.

One unit is one own decision of the learner. On a CPU both sides are timed by their processor time, on a CUDA device on
the clock: there the host mostly waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch

from league.settings.training import TrainConfig
from league.training.training import Training, begin
from partners.learning.practice import Opponent
from scripts.bench.learning import torch_threads
from scripts.bench.report import BenchmarkRow, Timed, compare

GAMES = 65_536
BAR = 3_000_000  # own decisions a second of PPO on one H100 or H200
SETTINGS = {"num_envs": GAMES, "rollout": 2, "minibatch": 32_768, "epochs": 4, "lr": 1.5e-3, "ent": 0.01}
NETWORKS: dict[str, dict[str, Any]] = {
    "": {},
    ", whole history, joint head, items in order": {"history": "flat", "head": "joint", "sorted_items": True},
}
POOL = {"kind": "mixture", "of": "zoo"}  # some are tables, the others are asked on the host


def rows(device: str, repeats: int, seconds: float) -> Iterator[BenchmarkRow]:
    """Rows that compare the device with the host; on CUDA, PPO as a whole has a bar."""
    cuda = device == "cuda"
    clock = time.perf_counter if cuda else time.process_time

    def row(title: str, how: str, own: Timed, theirs: Timed, bar: int | None = None) -> BenchmarkRow:
        mine, hosts, ratio = compare(own, theirs, repeats, seconds, clock)
        needed, reached = ("none", None) if bar is None else (f">= {bar:,}", mine >= bar)
        peer = "the same PPO, games on the host in NumPy"
        return BenchmarkRow(title, f"{how}; {_WORKLOAD}", "decisions/s", 1, mine, peer, hosts, ratio, needed, reached)

    with torch_threads(1):
        for name, network in NETWORKS.items():
            against = f"against the default heuristic, 2x128{name}"
            own, theirs = (_start_training(device, network, on) for on in ("device", "host"))
            bar = BAR if cuda and not name else None
            yield row(f"PPO on {device}", f"play and update, {against}", _step_once(own), _step_once(theirs), bar)
            yield row(f"practice on {device}", f"play alone, {against}", _play_once(own), _play_once(theirs))
        own, theirs = (_start_training(device, {}, on, POOL) for on in ("device", "host"))
        against = "against the roster train, 2x128"
        yield row(f"practice on {device}", f"play alone, {against}", _play_once(own), _play_once(theirs))


_WORKLOAD = f"{GAMES:,} games, at least {2 * GAMES:,} decisions an update, minibatches of 32,768, 4 epochs"


def _start_training(device: str, network: dict[str, Any], rollouts: str, partner: object = "heuristic") -> Training:
    """A training after its first update."""
    training = {**SETTINGS, **network, "device": device, "rollouts": rollouts}
    env = {"scenarios": "lewis", "split": "train", "partner": partner}
    begun = begin(TrainConfig.model_validate({"env": env, "training": training}))
    begun.step()
    return begun


def _step_once(training: Training) -> Timed:
    def work() -> int:
        before = training.learner.decisions
        training.step()
        return training.learner.decisions - before

    return work


def _play_once(training: Training) -> Timed:
    def work() -> int:
        experience, score = training.practice(
            training.learner.network,
            [Opponent(training.partner, 1.0)],
            update=training.learner.updates,
            games_before=training.games,
            decisions_per_game=training.decisions_per_game,
        )
        training.games += score.games
        if training.learner.network.device.type == "cuda":
            torch.cuda.synchronize()
        return experience.size

    return work
