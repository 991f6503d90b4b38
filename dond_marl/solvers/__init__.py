"""Exact references for a game: solution points, best responses, beliefs and values, exact or bounded."""

from typing import TYPE_CHECKING

from dond_marl.public_names import on_first_use

if TYPE_CHECKING:
    from dond_marl.solvers.values import Value, response_value

__all__ = ["Value", "response_value"]
__getattr__ = on_first_use(__name__, "dond_marl.solvers.values")
