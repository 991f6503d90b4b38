"""Scenarios (the pool and both seats' values): sampled, enumerated or read from the published files."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from dond_marl.scenarios.sources import ScenarioError, Scenarios, ScenarioSource, open_source, pack

__all__ = ["ScenarioError", "ScenarioSource", "Scenarios", "open_source", "pack"]
__getattr__ = on_first_use(__name__, "dond_marl.scenarios.sources")
