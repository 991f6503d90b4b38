"""What a seat may be told: hinters stand on the contracts of :mod:`dond_marl.seats`.

:mod:`hints.providers` makes hints, :mod:`hints.schedule` says when they are asked, :mod:`hints.adapter` lays them out
for a network, :mod:`hints.injector` puts them into the environments' ``info``. Each is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hints.adapter import HintAdapter, LayoutError
    from hints.injector import HintInjectorEnv
    from hints.providers import ExpertHinter, HinterError, RandomHinter
    from hints.schedule import HintSchedule

__all__ = [
    "ExpertHinter",
    "HintAdapter",
    "HintInjectorEnv",
    "HintSchedule",
    "HinterError",
    "LayoutError",
    "RandomHinter",
]

_HOMES = {
    "ExpertHinter": "hints.providers",
    "HintAdapter": "hints.adapter",
    "HintInjectorEnv": "hints.injector",
    "HintSchedule": "hints.schedule",
    "HinterError": "hints.providers",
    "LayoutError": "hints.adapter",
    "RandomHinter": "hints.providers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
