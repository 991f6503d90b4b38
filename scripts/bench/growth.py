"""Growth of a league's cost with its members, rounds and learners, and the seconds that more nodes save.

Members are scripted and their matches small, so that the league itself is measured: planning, tasks, the ledger,
standings, closing tables and the report. Seconds are those of the processor for one process, so that other processes
do not count, and on the clock for several workers and for the tasks that simulated nodes run.
"""

from __future__ import annotations

import math
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dond.report.collect import read_facts
from dond.report.render import report_html
from dond.report.sections import report_of
from league.ledger.ledger import Ledger
from league.ledger.run_directory import new_run
from league.play.values import MatchResult, MatchTask, TrainResult, TrainTask
from league.results.progress import ErrorOutput, QuietWatcher
from league.rounds.runner import run_league
from league.rounds.watching import LeagueProgress
from league.settings.read import load_config
from league.settings.sections import BackendConfig
from scripts.bench.report import BenchmarkRow

MEMBERS, ROUNDS, LEARNERS = (10, 30, 100, 300), (10, 100, 1000), (1, 4, 16)
NODES = (1, 2, 8)
EXPONENT = 1.15  # n log n from 100 to 300 members
REPORT_SECONDS = 8.0
ALONE = BackendConfig(kind="local")
LEARNER = {"num_envs": 256, "rollout": 4, "epochs": 2, "minibatch": 1024, "lr": 1e-3, "gamma": 1.0}


class Cost(NamedTuple):
    """Cost of one league in seconds and games."""

    rounds: float  # all rounds together
    later: float  # the quickest round but the first, in which workers start, and the last, which only measures
    closing: float  # analyses and tables after the last round
    report: float
    games: int
    tasks: Sequence[Sequence[float]] = ()  # of each round, in the order in which they start
    head: float = 0.0  # planning, standings and writing, all rounds together

    @property
    def makespans(self) -> dict[int, float]:
        """Seconds of such a round on so many nodes of one core: each task goes to the node that is free first."""
        head = self.head / len(self.tasks)
        return {nodes: head + min(_makespan(round_, nodes) for round_ in self.tasks[1:-1]) for nodes in NODES}


def _makespan(seconds: Sequence[float], nodes: int) -> float:
    busy = [0.0] * nodes
    for task in seconds:
        busy[busy.index(min(busy))] += task
    return max(busy)


def play(
    members: int, rounds: int, pairs: int, learners: int = 0, backend: BackendConfig = ALONE, decisions: int = 4_000
) -> Cost:
    """Play a league of ``linear`` members, ``pairs`` of them a round, each over 16 scenarios in both orders."""
    document: dict[str, Any] = {
        "env": {"scenarios": "lewis", "split": "train"},
        "league": {"seed": 1, "rounds": rounds, "block_size": 16, "pairs": pairs},
        "members": [
            {"name": f"p{i}", "spec": f"linear(floor={0.2003 + 0.6 * i / members:.4f})"} for i in range(members)
        ],
    }
    if learners:
        document["training"] = LEARNER
        names = ["main", *(f"main{i}" for i in range(1, learners))]
        document["learners"] = [{"name": name, "decisions": decisions} for name in names]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "league.yaml"
        path.write_text(yaml.safe_dump(document), encoding="utf-8")
        directory = new_run(Path(folder))
        clock = time.process_time if backend is ALONE else time.perf_counter
        began, watcher = clock(), _TaskTimes(ErrorOutput(), clock)
        outcome = run_league(load_config(path), directory, watcher, backend)
        ended = clock()
        with Ledger(directory.ledger) as ledger:
            head = ledger.clock()[1]
        read = time.process_time()
        report_html(report_of(read_facts(directory.path)))
        report = time.process_time() - read
    last = watcher.commits[-1]
    later = min(after - before for before, after in pairwise(watcher.commits[:-1]))
    return Cost(last - began, later, ended - last, report, outcome.cross.total_games, watcher.rounds, head)


class _TaskTimes(QuietWatcher):
    """Records when each round was committed, and the seconds of each task of a round of one process.

    A task's seconds go from the first tick to the result.
    """

    def __init__(self, output: ErrorOutput, clock: Callable[[], float]) -> None:
        super().__init__(output)
        self.commits: list[float] = []
        self._clock = clock
        self.rounds: list[list[float]] = []
        self._began = math.nan

    def tick(self) -> None:
        if math.isnan(self._began):
            self._began = time.perf_counter()
        super().tick()

    def on_commit(self, *_: object) -> None:
        self.commits.append(self._clock())

    def on_match(self, progress: LeagueProgress, result: MatchResult) -> None:
        self._add(result.task)
        super().on_match(progress, result)

    def on_practice(self, progress: LeagueProgress, result: TrainResult) -> None:
        self._add(result.task)
        super().on_practice(progress, result)

    def _add(self, task: MatchTask | TrainTask) -> None:
        if task.number == 0:
            self.rounds.append([])
        self.rounds[-1].append(time.perf_counter() - self._began)
        self._began = math.nan


def rows() -> Iterator[BenchmarkRow]:
    """Seconds by members, by rounds and by learners, the exponents of growth, and the seconds on simulated nodes."""
    by_members = {members: play(members, 6, 4 * members) for members in MEMBERS}
    for members, cost in by_members.items():
        yield BenchmarkRow(f"round, {members} members", "s", 1, cost.later, note=f"{cost.games // 6:,} games")
        yield BenchmarkRow(f"closing tables, {members} members", "s", 1, cost.closing)
        bar = members == MEMBERS[-1]
        yield BenchmarkRow(f"report, {members} members", "s", 1, cost.report,
                           bar=f"<= {REPORT_SECONDS} s" if bar else "none",
                           reached=cost.report <= REPORT_SECONDS if bar else None)  # fmt: skip
    costs = list(by_members.values())
    yield _growth("rounds, by games", [cost.games for cost in costs], [cost.later for cost in costs])
    pairs = [members**2 for members in MEMBERS]
    yield _growth("closing tables, by pairs of members", pairs, [cost.closing for cost in costs])
    by_rounds = {rounds: play(10, rounds, 20) for rounds in ROUNDS}
    for rounds, cost in by_rounds.items():
        yield BenchmarkRow(f"round, {rounds} rounds", "s", 1, cost.rounds / rounds)
        yield BenchmarkRow(f"report, {rounds} rounds", "s", 1, cost.report)
    yield _growth("rounds, by their number", ROUNDS, [cost.rounds for cost in by_rounds.values()])
    for learners in LEARNERS:
        cost = play(10, 3, 20, learners)
        yield BenchmarkRow(f"round, {learners} learners", "s", 1, cost.later)
        for nodes, seconds in cost.makespans.items():
            yield BenchmarkRow(f"round on {nodes} simulated nodes, {learners} learners", "s", nodes, seconds)
        workers = play(10, 3, 20, learners, BackendConfig(kind="process", workers=2))
        yield BenchmarkRow(f"round on 2 workers, {learners} learners", "s", 2, workers.later)
    yield from _on_ray()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield BenchmarkRow("memory of all of these, at most", "GiB", 1, memory, note="of this process")


def _on_ray() -> Iterator[BenchmarkRow]:
    """Seconds of a round with long tasks on one and two nodes of Ray with a core each, beside the simulated ones."""
    try:
        ray = import_module("ray.cluster_utils")
    except ImportError:
        return
    league: dict[str, Any] = {"members": 10, "rounds": 4, "pairs": 20, "learners": 4, "decisions": 20_000}
    simulated, cluster = play(**league).makespans, ray.Cluster()
    for nodes in (1, 2):
        cluster.add_node(num_cpus=1, include_dashboard=False)
        cost = play(**league, backend=BackendConfig(kind="ray", ray_address=cluster.address))
        yield BenchmarkRow(f"long round on {nodes} nodes of Ray", "s", nodes, cost.later,
                           note=f"{simulated[nodes]:.2f} s on simulated nodes")  # fmt: skip
    cluster.shutdown()


def _growth(what: str, sizes: Sequence[float], seconds: Sequence[float]) -> BenchmarkRow:
    """A row with the exponent between the last two sizes."""
    power = math.log(seconds[-1] / seconds[-2]) / math.log(sizes[-1] / sizes[-2])
    return BenchmarkRow(f"growth of {what}", "exponent", 1, power, bar=f"<= {EXPONENT}", reached=power <= EXPONENT)
