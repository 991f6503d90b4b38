"""Backends: they turn a round's tasks into results, in order, in this process, in worker processes or on a cluster.

A task is a value and its result a function of it. So a task can be run anywhere, and again if a worker is lost, and
every backend with any number of workers gives the same results as running one task after another in this process.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from typing import Protocol, Self

from dond_marl.errors import RunFailure
from league.tasks.match_task import play_match
from league.tasks.values import MatchTask, Place, Result, Task

Tick = Callable[[], None]
POLL = 0.2  # seconds between two ticks of the caller


class BackendError(RunFailure):
    """Tasks cannot be run, and no member is at fault. The message says why and what to do."""


def no_tick() -> None:
    """A tick that does nothing."""


class Backend(Protocol):
    """Runs tasks. Use it as a context: everything that it started is ended on exit."""

    def run(self, tasks: Sequence[Task], place: Place, *, tick: Tick = no_tick) -> Iterator[Result]:
        """The results of ``tasks`` in their order, each as soon as it and all before it are finished.

        ``tick`` is called several times a second while there is nothing to yield (in this process: between two tasks
        and between two updates of a practice); what it raises stops the run. Raises :class:`BackendError`, and any
        error of a task that is no member's fault. A run that is abandoned early drops the tasks in progress.
        """
        ...

    def close(self) -> None:
        """End everything that was started; may be called again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_task(task: Task, place: Place, tick: Tick = no_tick) -> Result:
    """Run a task in this process, in one torch thread; ``tick`` is called before every update of a practice."""
    if "torch" in sys.modules:  # loaded only if there is a learner or a network
        sys.modules["torch"].set_num_threads(1)
    if isinstance(task, MatchTask):
        return play_match(task, place)
    from league.tasks.train_task import practice_round

    return practice_round(task, place, tick)


class InProcess(Backend):
    """Runs one task after another in this process.

    A member that raises forfeits. One that hangs or exits takes the league with it.
    """

    def run(self, tasks: Sequence[Task], place: Place, *, tick: Tick = no_tick) -> Iterator[Result]:
        for task in tasks:
            tick()
            yield run_task(task, place, tick)

    def close(self) -> None:
        """Do nothing: this backend starts no process."""


class WorkersBackend(Backend, ABC):
    """Runs up to ``workers`` tasks at a time outside this process; a thread of this one waits for each of them.

    Members that are expensive to query play in this process, which has the only terminal, budget and copy of a local
    model.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._dropped = False  # the run was abandoned: nothing is tried again

    @abstractmethod
    def perform(self, task: Task, place: Place) -> Result:
        """The result of a task that is run elsewhere. Raises ``CancelledError`` once the run is dropped."""

    @abstractmethod
    def drop(self) -> None:
        """End the tasks in progress."""

    def run(self, tasks: Sequence[Task], place: Place, *, tick: Tick = no_tick) -> Iterator[Result]:
        self._dropped = False
        costly = [any(entrant.member.costly for entrant in task.entrants) for task in tasks]
        elsewhere = [i for i, is_costly in enumerate(costly) if not is_costly]
        # Practice takes much longer than a match and goes first.
        elsewhere.sort(key=lambda i: isinstance(tasks[i], MatchTask))
        futures = {i: self._threads.submit(self.perform, tasks[i], place) for i in elsewhere}
        here = iter([i for i, is_costly in enumerate(costly) if is_costly])
        results: dict[int, Result] = {}
        try:
            for i in range(len(tasks)):
                while i not in results:
                    tick()
                    if (costly_task := next(here, None)) is not None:
                        results[costly_task] = run_task(tasks[costly_task], place, tick)
                    elif wait([futures[i]], POLL).done:
                        results[i] = futures[i].result()
                yield results.pop(i)
        finally:
            unfinished = [future for future in futures.values() if not (future.cancel() or future.done())]
            if unfinished:
                self._dropped = True
                self.drop()
                wait(unfinished)

    def refuse_dropped(self) -> None:
        """Raise ``CancelledError`` if the run was abandoned."""
        if self._dropped:
            raise CancelledError

    def close(self) -> None:
        self._dropped = True
        self.drop()
        self._threads.shutdown(cancel_futures=True)
