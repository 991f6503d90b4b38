"""On which device a learner's weights lie and improve, and where it practices: among the host's games or there.

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

    from league.settings.hyperparameters import Hyperparameters
    from league.settings.sections import EnvConfig
    from partners.learning.practice import Practice, Practicing


class DeviceError(RunFailure):
    """A device that the settings name and this machine does not have, or that has no memory left."""


def device_of(settings: Hyperparameters) -> torch.device:
    """Where the weights lie. Raises :class:`DeviceError` where there is no such device."""
    import torch

    check_devices([settings])
    return torch.device(settings.device)


def check_devices(learners: Iterable[Hyperparameters]) -> None:
    """Raise :class:`DeviceError` where the settings of a learner name a device that is not there."""
    if all(settings.device == "cpu" for settings in learners):
        return
    import torch

    if not torch.cuda.is_available():
        raise DeviceError("training.device is cuda, but PyTorch finds no CUDA device here; say training.device=cpu")


@contextmanager
def on_device(settings: Hyperparameters) -> Iterator[None]:
    """A context of practice and update: a device without memory left is told as that, and no occupant is blamed.

    Raises :class:`DeviceError`.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, OccupantError) as error:
        short = error.__cause__ if isinstance(error, OccupantError) else error
        if not isinstance(short, torch.OutOfMemoryError):
            raise
        raise DeviceError(
            f"training.device is {settings.device}, and it has no memory left for {settings.num_envs:,} games side by "
            f"side and updates of {settings.num_envs * settings.rollout:,} decisions; say a smaller num_envs or rollout"
        ) from short


def practicing(settings: Hyperparameters, plan: Practice) -> Practicing:
    """How a learner of these settings practices."""
    if not settings.plays_on_device:
        from partners.learning.practice import practice

        return partial(practice, plan=plan)
    from partners.device.device_practice import DevicePractice

    return DevicePractice(plan, device_of(settings))


def where_practiced(
    settings: Hyperparameters, opponents: Iterable[Partner], env: EnvConfig, networks: int = 0
) -> list[str]:
    """A line of where games of practice are played, for a dry run; none where that is the host.

    ``networks``: how many opponents there are beside ``opponents`` that are networks still to come.
    """
    if not settings.plays_on_device:
        return []
    from partners.device.opponents import census_of, views_known

    known = views_known(env.open_source(), env.reveal_partner_utilities)
    census = [census_of(who, known) for who in opponents]
    tables, learned, bridged = (sum(kinds) for kinds in zip((0, networks, 0), *census, strict=True))
    return [
        f"games of practice are played on the device ({settings.device}): {tables} opponents answer there from tables, "
        f"{learned} as networks, {bridged} are asked on the host at every turn"
    ]
