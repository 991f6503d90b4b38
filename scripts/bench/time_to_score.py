"""Processor seconds until a policy earns 95 % of its last points from the roster train; SB3's learners beside it.

Points: the mean over the members of the roster and both seats, on fixed scenarios of the split train, of the policy's
likeliest acts. One process and one thread; measuring the points is not counted.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from dond_marl import DealVectorEnv, PolicyPartner
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner
from dond_marl.solvers.values import pair_points
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import new_run
from league.play.match import SEATING
from league.play.values import Entrant
from league.results.progress import ErrorOutput, QuietWatcher
from league.rounds.runner import run_league
from league.settings.read import Config, load_config
from league.settings.sections import BackendConfig, EnvConfig
from partners.rosters import TRAIN, roster
from scripts.bench.report import BenchmarkRow

ROOT = Path(__file__).resolve().parents[2]
SHARE = 0.95
SCENARIOS = 256
PEER_TIMES = 10  # of plain PPO's seconds to its score: a peer stops there
PEER_STEPS = 20_000  # decisions of a peer between two measurements
# Settings of SB3's learners, with as many games at once as suit them here.
PEER: dict[str, Any] = {"n_steps": 16, "batch_size": 1024, "n_epochs": 3, "gamma": 1.0, "learning_rate": 1e-3,
                        "ent_coef": 0.01, "device": "cpu", "seed": 1}  # fmt: skip
PEER_GAMES = 256


class Point(NamedTuple):
    """Processor seconds of playing and learning so far, and the points of the policy then."""

    seconds: float
    points: float


def points_from_roster(policy: Partner) -> float:
    """Points of ten of ``policy`` from the roster train, the mean over its members and both seats."""
    scenarios, rules, means = open_source("lewis", split="train").block(0, 0, SCENARIOS), EnvConfig().rules(), []
    for name in roster(TRAIN):
        opponent = seat_occupant(name)
        means.append(pair_points((policy, opponent), scenarios, rules, exact=False, index=(0,))[0])
        means.append(pair_points((opponent, policy), scenarios, rules, exact=False, index=(1,))[1])
    return float(np.mean(means))


class _Curve:
    """Points over processor seconds; the time of measuring is left out."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._began = time.process_time()

    def add(self, policy: Partner) -> Point:
        now = time.process_time()
        point = Point(now - self._began, points_from_roster(policy))
        self._began += time.process_time() - now
        self.points.append(point)
        return point


class _MainWatcher(QuietWatcher):
    """Adds the main after every round."""

    def __init__(self, ledger: Path, blobs: Path) -> None:
        super().__init__(ErrorOutput())
        self.ledger, self.blobs, self.curve = ledger, blobs, _Curve()

    def on_commit(self, *_: object) -> None:
        with ReadLedger(self.ledger) as ledger:
            main = next(member for member in ledger.members() if member.role == "main")
            blob = ledger.states()[main.name].blob
        self.curve.add(SEATING.partner(Entrant(main, blob), self.blobs, greedy=True))


def league_curve(config: str) -> list[Point]:
    """The main of a shipped league, after every round."""
    with tempfile.TemporaryDirectory() as folder:
        directory = new_run(Path(folder))
        watcher = _MainWatcher(directory.ledger, directory.blobs)
        settings: Config = load_config(
            ROOT / "configs" / config, ["league.evaluate=false", "logging.tensorboard=false"]
        )
        run_league(settings, directory, watcher, BackendConfig(kind="local"))
    return watcher.curve.points


def peer_curve(masks: bool, score: float, seconds: float) -> list[Point]:
    """SB3's PPO, or sb3-contrib's MaskablePPO, until it has the ``score`` or so many ``seconds``."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO

    from partners.adapters.sb3_vector import SB3VectorEnv

    games = DealVectorEnv(PEER_GAMES, "mixture(of=zoo)", scenarios="lewis", split="train", actions="discrete",
                          observations="box")  # fmt: skip
    model, curve = (MaskablePPO if masks else PPO)("MlpPolicy", SB3VectorEnv(games), **PEER), _Curve()

    def act(observations: Any, legal: Any) -> Any:
        options = {"action_masks": legal} if masks else {}
        return model.predict(observations, deterministic=True, **options)[0]

    policy = PolicyPartner(act, "discrete", games.layout)
    while (point := curve.add(policy)).points < score and point.seconds < seconds:
        model.learn(PEER_STEPS, reset_num_timesteps=False)
    return curve.points


def reached(curve: list[Point], points: float) -> float | None:
    """The seconds of the first measurement with as many points; ``None`` if there is none."""
    return next((point.seconds for point in curve if point.points >= points), None)


def rows() -> Iterator[BenchmarkRow]:
    """Seconds of our mains, then of SB3's learners to the score of plain PPO."""
    torch.set_num_threads(1)
    score = seconds = 0.0
    for name, config in (("the default league's main", "league.yaml"), ("plain PPO", "pool_ppo.yaml")):
        curve = league_curve(config)
        score = SHARE * curve[-1].points
        seconds = reached(curve, score) or curve[-1].seconds
        note = f"{curve[-1].points:.2f} points after {curve[-1].seconds:.0f} s"
        yield BenchmarkRow(f"{name} to {SHARE:.0%} of its last points, {score:.2f}", "s", 1, seconds, note=note)
    for name, masks in (("SB3 PPO", False), ("sb3-contrib MaskablePPO", True)):
        what = f"{name} to the score of plain PPO, {score:.2f}"
        try:
            curve = peer_curve(masks, score, PEER_TIMES * seconds)
        except ImportError:
            yield BenchmarkRow(what, "s", 1, math.nan, note="not installed")
            continue
        last = curve[-1]
        note = (
            f"{last.points:.2f} points then" if last.points >= score else f"not reached: {last.points:.2f} points then"
        )
        yield BenchmarkRow(what, "s", 1, last.seconds, note=f"{note}; {PEER_GAMES} games at once")
