"""Small matches and practices for the tests of the backends, and a third party's partner that breaks."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from dond_marl.occupants import parse_spec
from league.play.blobs import write_blob
from league.play.values import (
    Block,
    Entrant,
    LearnerState,
    MatchResult,
    MatchTask,
    Meeting,
    Member,
    TrainResult,
    TrainTask,
)
from league.settings.learners import LearnerConfig
from league.settings.sections import EnvConfig, HintsConfig
from tests.third_party import install

ENV = EnvConfig(scenarios="lewis", split="train")
SEED = 5
MARK = "league.play.backends import serve"  # in the command of a worker process
LEARNER = LearnerConfig(name="main", hidden=(16,), rollout=2, num_envs=32, minibatch=64, epochs=2, decisions=200)

# Its first two turns are ordinary; then it does what its parameter says.
PLUGIN = """
import ctypes, os, signal, sys, time
import numpy as np
from dond_marl.seats import Traits, decide

class Broken:
    def __init__(self, how="error"):
        self.how = how
        self.traits = Traits(deterministic=True, remote=how == "remote")
    def act(self, turns):
        keeps_all = decide(np.zeros(turns.size), turns.counts)
        if turns.turns_taken < 2:
            return keeps_all
        how = self.how
        if how in ("remote", "near"): raise RuntimeError(f"asked in process {os.getpid()}")
        if how == "error": raise RuntimeError("lost my notes")
        if how == "exit": sys.exit(3)
        if how == "leave": os._exit(0)
        if how == "fail": os._exit(3)
        if how == "segfault": ctypes.string_at(0)
        if how == "kill": os.kill(os.getpid(), signal.SIGKILL)
        if how == "interrupt": raise KeyboardInterrupt("no more")
        if how == "memory": raise MemoryError("full")
        if how == "sleep": time.sleep(1000)
        if how == "spin":
            while True: pass
        if how == "garbage": return "AGREE"
        if how == "greedy": return decide(np.zeros(turns.size), turns.counts + 1)
        return keeps_all
"""


def install_plugin(folder: Path) -> Path:
    """Install the third party's partner ``broken`` into ``folder``."""
    return install(folder, "breaking_partner", PLUGIN, "broken = breaking_partner:Broken")


def seat(spec: str) -> Entrant:
    return Entrant(Member(spec, parse_spec(spec)))


def matches(specs: Sequence[str | Entrant], size: int = 16, first: int = 0) -> list[MatchTask]:
    """Matches of all pairs, and of each against itself."""
    seats = [seat(spec) if isinstance(spec, str) else spec for spec in specs]
    pairs = [(a, b) for i, a in enumerate(seats) for b in seats[i:]]
    return [match(*pair, size, first + i) for i, pair in enumerate(pairs)]


def match(one: Entrant, other: Entrant, size: int = 16, number: int = 0) -> MatchTask:
    return MatchTask(
        round=3, number=number, members=(one, other), block=Block(48, size), env=ENV, seed=SEED, reason="a test",
    )  # fmt: skip


def practice(blobs: Path, opponents: Sequence[str], number: int = 0, name: str = "main") -> TrainTask:
    """A learner's first round; its weights are in ``blobs``."""
    from league.play.practice import first_state  # loads PyTorch, which most tests do not need

    learner = LEARNER.model_copy(update={"name": name})
    state, content = first_state(learner, ENV, hinted=False, seed=SEED)
    write_blob(blobs, content)
    return TrainTask(
        round=3, number=number, learner=learner, state=state, env=ENV, hints=HintsConfig(), seed=SEED,
        total_decisions=1000,
        meetings=tuple(Meeting(seat(spec), 1 / len(opponents), "a test") for spec in opponents),
    )  # fmt: skip


def network(state: LearnerState, name: str = "main@1") -> Entrant:
    """A snapshot that plays with a learner's weights."""
    return Entrant(Member(name, None, role="snapshot", parent="main", born=1, blob=state.blob), state.blob)


def comparable(result: MatchResult | TrainResult) -> tuple[object, ...]:
    """A result without the text of its cause, comparable byte by byte."""
    if isinstance(result, MatchResult):
        return result.task, result.failed, [(leg.seats, leg.facts.tobytes()) for leg in result.legs]
    points = None if math.isnan(result.points) else result.points
    return result.task, result.state, result.content, points, result.failed


def workers_of(pid: int) -> list[int]:
    """The worker processes whose parent is ``pid``, or was (they carry its id as their last argument)."""
    listed = subprocess.run(["ps", "-ewwo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if MARK in line and line.endswith(f" {pid}")]


def own_workers() -> list[int]:
    return workers_of(os.getpid())


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether no worker of ``pid`` is left, at the latest after ``seconds``."""
    until = time.monotonic() + seconds
    while workers_of(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
