"""Equilibria of the game: solved, checked exactly, and shipped as tables."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from dond_marl.yardsticks.equilibria.table import Equilibrium

__all__ = ["Equilibrium"]
__getattr__ = on_first_use(__name__, "dond_marl.yardsticks.equilibria.table")
