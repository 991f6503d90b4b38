"""The device of a learner's weights and updates.

Loading this module loads no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dond_marl.errors import RunFailure
from dond_marl.rollout import OccupantError

if TYPE_CHECKING:
    from league.settings.training import Hyperparameters


class DeviceError(RunFailure):
    """A device that the settings name and this machine does not have, or that has no memory left."""


def check_devices(learners: Iterable[Hyperparameters]) -> None:
    """Raise :class:`DeviceError` if a learner's settings name a device that this machine does not have."""
    if all(settings.device == "cpu" for settings in learners):
        return
    import torch

    if not torch.cuda.is_available():
        raise DeviceError("training.device is cuda, but PyTorch finds no CUDA device here; say training.device=cpu")


@contextmanager
def on_device(settings: Hyperparameters) -> Iterator[None]:
    """A context of practice and update: running out of device memory is reported as such, not as an occupant's failure.

    Raises :class:`DeviceError`.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, OccupantError) as error:
        cause = error.__cause__ if isinstance(error, OccupantError) else error
        if not isinstance(cause, torch.OutOfMemoryError):
            raise
        raise DeviceError(
            f"training.device is {settings.device}, and it has no memory left for {settings.num_envs:,} games side by "
            f"side and updates of {settings.num_envs * settings.rollout:,} decisions; say a smaller num_envs or rollout"
        ) from cause
