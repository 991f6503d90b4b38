"""Hints: suggested actions for a seat, by the contracts of :mod:`dond_marl.seats`.

:mod:`hints.providers` makes hints, :mod:`hints.schedule` decides when a seat gets one and lays out the network's input,
:mod:`hints.injector` adds hints to the environments' ``info``. Each is imported on first use.
"""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from hints.injector import HintInjectorEnv
    from hints.providers import ExpertHinter, HinterError, RandomHinter
    from hints.schedule import HintAdapter, HintSchedule, LayoutError

__all__ = [
    "ExpertHinter",
    "HintAdapter",
    "HintInjectorEnv",
    "HintSchedule",
    "HinterError",
    "LayoutError",
    "RandomHinter",
]
__getattr__ = on_first_use(__name__, "hints.providers", "hints.schedule", "hints.injector")
