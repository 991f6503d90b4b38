"""The device of a learner's weights, and where its practice is played: on the host or on that device.

Loading this module loads no PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from dond_marl.errors import RunFailure
from dond_marl.rollout import OccupantError
from dond_marl.seats import Partner

if TYPE_CHECKING:
    import torch

    from league.settings.sections import EnvConfig
    from league.settings.training import Hyperparameters
    from partners.learning.practice import Practice, Practicing


class DeviceError(RunFailure):
    """A device that the settings name and this machine does not have, or that has no memory left."""


def device_of(settings: Hyperparameters) -> torch.device:
    """The device of the weights. Raises :class:`DeviceError` if this machine does not have it."""
    import torch

    check_devices([settings])
    return torch.device(settings.device)


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


def practice_runner(settings: Hyperparameters, plan: Practice) -> Practicing:
    """The function that plays one update's practice of a learner, on the host or on its device."""
    if not settings.plays_on_device:
        from partners.learning.practice import practice

        return partial(practice, plan=plan)
    from partners.device.device_practice import DevicePractice

    return DevicePractice(plan, device_of(settings))


def describe_practice_device(
    settings: Hyperparameters, opponents: Iterable[Partner], env: EnvConfig, networks: int = 0
) -> list[str]:
    """A line on where games of practice are played, for a dry run; no line if that is the host.

    ``networks``: number of further opponents that are networks not made yet.
    """
    if not settings.plays_on_device:
        return []
    from partners.device.opponents import census_of, has_listed_views

    listed = has_listed_views(env.open_source(), env.reveal_partner_utilities)
    census = [census_of(partner, listed) for partner in opponents]
    tables, learned, bridged = (sum(kinds) for kinds in zip((0, networks, 0), *census, strict=True))
    return [
        f"games of practice are played on the device ({settings.device}): {tables} opponents answer there from tables, "
        f"{learned} as networks, {bridged} are queried on the host at every turn"
    ]
