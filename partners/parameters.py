"""Checks of partners' parameters: a ValueError says what was given and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dond_marl.errors import quote


def check_number(name: str, value: object, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """``value`` must be a number in ``low..high``, with ``above`` larger than ``low``. Raises :class:`ValueError`."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high or (above and value == low):  # type: ignore[operator]
        if high < math.inf:
            allowed = f"a number in {low:g}..{high:g}" + (f", more than {low:g}" if above else "")
        else:
            allowed = f"a number {'more than' if above else 'of at least'} {low:g}"
        raise ValueError(f"{name} must be {allowed}; got {quote(value)}")


def check_share(name: str, value: object) -> None:
    """``value`` must be a share of the whole value, 0..1. Raises :class:`ValueError`."""
    check_number(name, value, 0, 1)


def check_whole_number(name: str, value: object, low: int, high: int) -> None:
    """``value`` must be a whole number in ``low..high``. Raises :class:`ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number in {low}..{high}; got {quote(value)}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """``value`` must be one of ``choices``. Raises :class:`ValueError`."""
    if value not in (allowed := tuple(choices)):
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {quote(value)}")
