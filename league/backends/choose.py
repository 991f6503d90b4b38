"""The backend that the settings choose."""

from __future__ import annotations

from collections.abc import Callable

from league.backends.base import Backend, InProcess, cores
from league.settings.sections import BackendConfig


def open_backend(config: BackendConfig, warn: Callable[[str], None]) -> Backend:
    """The backend of the settings, to be used as a context; ``warn`` receives messages on what may change figures.

    Raises :class:`BackendError`.
    """
    if config.chosen == "process":
        from league.backends.process import ProcessBackend  # starts nothing, but does not exist for every system

        return ProcessBackend(config.workers or cores())
    if config.chosen == "ray":
        from league.backends.ray_cluster import RayBackend  # loads Ray

        return RayBackend(config.workers, config.ray_address, warn)
    return InProcess()
