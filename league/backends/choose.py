"""From the settings to a backend: in this process, in workers beside it, or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from league.backends.contract import Backend, Tick, nothing
from league.backends.perform import perform
from league.settings.sections import BackendConfig
from league.tasks.values import Place, Result, Task


def open_backend(config: BackendConfig, warn: Callable[[str], None]) -> Backend:
    """The backend that the settings ask for, to be used as a context; ``warn`` is told what may change figures.

    Raises :class:`league.backends.contract.BackendError`.
    """
    if config.chosen == "process":
        from league.backends.process import ProcessBackend  # starts nothing, but is not for every system

        return ProcessBackend(config.workers or cores())
    if config.chosen == "ray":
        from league.backends.ray_cluster import RayBackend  # loads Ray

        return RayBackend(config.workers, config.ray_address, warn)
    return InProcess()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class InProcess(Backend):
    """Plays one task after another in this process.

    A member that raises forfeits. One that hangs or exits takes the league with it: nobody is there to keep a deadline.
    """

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
    ) -> Iterator[Result]:
        del deadline
        for task in tasks:
            tick()
            yield perform(task, place, tick)

    def close(self) -> None:
        """Nothing was started."""
