"""Two worker processes against this process alone, on the same matches; and what a task costs on its way to one."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from league.backends.choose import InProcess
from league.backends.contract import Backend
from league.backends.process import ProcessBackend
from league.settings.sections import EnvConfig
from league.tasks.values import Block, MatchTask, Member, Place, Seated
from scripts.bench.report import Row, Timed, rate, seconds

WORKERS = 2
TASKS = 4  # of one round
LENGTH = 0.6  # seconds of processor time that a match takes; the bar is set for 0.5 and more
SMALL = 400  # matches over one scenario each
BOTH_ORDERS = 2  # games of a match over one scenario
A_MOMENT = 1e-3  # seconds: once is enough
BAR = 1.7
NOWHERE = Place(Path())  # nobody of a league learns here
ENV = EnvConfig(scenarios="lewis", split="train")


def rows(repeats: int, at_least: float) -> Iterator[Row]:
    """How much faster two workers are than one process, what a task costs, and what a worker's start does."""
    tasks = _matches(_games_of(LENGTH), TASKS)
    with ProcessBackend(WORKERS) as workers, InProcess() as alone:
        ours, theirs = _round(workers, tasks), _round(alone, tasks)
        ours(), theirs()  # warm up
        pairs = [(rate(ours, at_least), rate(theirs, at_least)) for _ in range(repeats)]
    ratios = [mine / peer for mine, peer in pairs]
    ratio = statistics.median(ratios)
    yield Row(
        "process backend, two workers",
        f"rounds of {TASKS} matches of {LENGTH} s, the expert against the heuristic; the ratio in {repeats} "
        f"alternating repeats: {min(ratios):.2f} to {max(ratios):.2f}",
        "games/s",
        WORKERS,
        statistics.median(mine for mine, _ in pairs),
        "in this process",
        statistics.median(peer for _, peer in pairs),
        ratio,
        f"{BAR}x",
        ratio >= BAR,
    )
    yield _cost(repeats)
    yield _start(repeats)


def _cost(repeats: int) -> Row:
    """Milliseconds from a task to its result that are not spent on playing it."""
    tasks, costs = _matches(1, SMALL), []
    with ProcessBackend(1) as worker, InProcess() as alone:
        ours, theirs = _round(worker, tasks), _round(alone, tasks)
        ours(), theirs()  # warm up
        for _ in range(repeats):
            costs.append(1e3 * BOTH_ORDERS * (1 / rate(ours, A_MOMENT) - 1 / rate(theirs, A_MOMENT)))
    workload = (
        f"{SMALL} matches over one scenario by a worker, less the same here; {min(costs):.2f} to {max(costs):.2f}"
    )
    return Row("a task on its way", workload, "ms", 1, statistics.median(costs))


def _start(repeats: int) -> Row:
    """Seconds until a new worker has played the first match."""
    tasks = _matches(1, 1)

    def start() -> None:
        with ProcessBackend(1) as worker:
            list(worker.run(tasks, NOWHERE))

    taken = seconds(start, repeats)
    workload = f"a new process plays one game; {min(taken):.2f} to {max(taken):.2f}"
    return Row("a worker's start", workload, "s", 1, statistics.median(taken))


def _round(backend: Backend, tasks: Sequence[MatchTask]) -> Timed:
    return lambda: sum(result.games for result in backend.run(tasks, NOWHERE))


def _games_of(length: float) -> int:
    """How many games a match needs to take ``length`` seconds of processor time, however busy the machine is."""
    work = _round(InProcess(), _matches(games := 8192, 1))
    work()  # warm up
    (taken,) = seconds(work, 1, time.process_time)
    return int(games * length / taken) + 1


def _matches(games: int, number: int) -> list[MatchTask]:
    members = (Seated(Member("expert", "expert")), Seated(Member("heuristic", "heuristic")))
    block = Block(0, games)
    return [MatchTask(0, place, members, block, ENV, 0, "the benchmark", 1.0) for place in range(number)]
