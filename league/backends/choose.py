"""From the settings to a backend: the one place that knows all three."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from league.backends.contract import Backend
from league.backends.in_process import InProcess
from league.settings.sections import BackendConfig


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
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
