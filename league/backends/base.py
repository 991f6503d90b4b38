"""Backends: they turn a round's tasks into results, in order, in this process, in worker processes or on a cluster.

A task is a value and its result a function of it. So a task can be run anywhere, and again if a worker is lost, and
every backend with any number of workers gives the same results as running one task after another in this process.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

from dond_marl.errors import RunFailure
from league.tasks.match_task import play_match
from league.tasks.values import MatchTask, Place, Result, Task, TrainTask

Tick = Callable[[], None]


class BackendError(RunFailure):
    """Tasks cannot be run, and no member is at fault. The message says why and what to do."""


def no_tick() -> None:
    """A tick that does nothing."""


class Backend(Protocol):
    """Runs tasks. Use it as a context: everything that it started is ended on exit."""

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = no_tick
    ) -> Iterator[Result]:
        """The results of ``tasks`` in their order, each as soon as it and all before it are finished.

        A task that runs longer than ``deadline`` seconds is checked for a member that hangs; ``None`` waits forever.
        ``tick`` is called several times a second while there is nothing to yield (in this process: between two tasks
        and between two updates of a practice); what it raises stops the run. Raises :class:`BackendError`, and any
        error of a task that is no member's fault. A run that is abandoned early drops the tasks in progress.
        """
        ...

    def close(self) -> None:
        """Stop everything that was started, within 5 s; may be called again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_task(task: Task, place: Place, tick: Tick = no_tick, restart: Tick = no_tick) -> Result:
    """Run a task in this process, in one torch thread.

    ``tick`` is called before every update of a practice, ``restart`` before one begins again without a member at fault.
    """
    if "torch" in sys.modules:  # loaded only if there is a learner or a network
        sys.modules["torch"].set_num_threads(1)
    if isinstance(task, MatchTask):
        return play_match(task, place)
    from league.tasks.train_task import practice_round

    return practice_round(task, place, tick, restart)


class InProcess(Backend):
    """Runs one task after another in this process.

    A member that raises forfeits. One that hangs or exits takes the league with it: there is no deadline.
    """

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = no_tick
    ) -> Iterator[Result]:
        del deadline
        for task in tasks:
            tick()
            yield run_task(task, place, tick)

    def close(self) -> None:
        """Nothing was started."""


class Flight:
    """The tasks of one run by number: those that wait and those that are finished."""

    def __init__(self, tasks: Sequence[Task], place: Place, deadline: float | None) -> None:
        self.tasks, self.place, self.deadline = list(tasks), place, deadline
        costly = [any(entrant.member.costly for entrant in task.entrants) for task in tasks]
        # Run in the league's own process, which has the only terminal, budget and copy of a local model.
        self.at_home = deque(number for number, costs in enumerate(costly) if costs)
        elsewhere = [number for number, costs in enumerate(costly) if not costs]
        # Practice takes much longer than a match and goes first.
        self.waiting = deque(sorted(elsewhere, key=lambda number: isinstance(tasks[number], MatchTask)))
        self.finished: dict[int, Result] = {}  # and not yet yielded

    def forfeit(self, number: int, member: str, cause: str) -> None:
        """Record that ``member`` has made a task impossible: a practice is played again without it."""
        left = self.tasks[number].forfeit(member, cause)
        if isinstance(left, TrainTask):
            self.tasks[number] = left
            self.waiting.appendleft(number)
        else:
            self.finished[number] = left


class Crew(Protocol):
    """The workers of a backend, seen by :func:`in_order`."""

    # Take waiting tasks, as many as there is room for; does not block.
    def hand_out(self, flight: Flight) -> None: ...

    # Record finished tasks, and put back lost ones; waits a little if nothing has happened.
    def collect(self, flight: Flight) -> None: ...

    # Give up the tasks in progress.
    def drop(self) -> None: ...


def in_order(crew: Crew, flight: Flight, tick: Tick) -> Iterator[Result]:
    """The results of a flight in the order of its tasks."""
    try:
        for number in range(len(flight.tasks)):
            while number not in flight.finished:
                tick()
                crew.hand_out(flight)
                if flight.at_home:
                    home = flight.at_home.popleft()
                    flight.finished[home] = run_task(flight.tasks[home], flight.place, tick)
                else:
                    crew.collect(flight)
            crew.hand_out(flight)  # before the result is yielded, so that workers are busy while the caller uses it
            yield flight.finished.pop(number)
    finally:
        crew.drop()
