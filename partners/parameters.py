"""What a partner's parameters may be: a ValueError says which was given and which are allowed."""

from __future__ import annotations

import math


def check_number(name: str, given: object, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """``given`` must be a number in ``low..high``, with ``above`` larger than ``low``. Raises :class:`ValueError`."""
    number = isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given)
    if not number or not low <= given <= high or (above and given == low):  # type: ignore[operator]
        if high < math.inf:
            allowed = f"a number in {low:g}..{high:g}" + (f", more than {low:g}" if above else "")
        else:
            allowed = f"a number {'more than' if above else 'of at least'} {low:g}"
        raise ValueError(f"{name} must be {allowed}; got {given!r}")


def check_share(name: str, given: object) -> None:
    """``given`` must be a share of the whole value, 0..1. Raises :class:`ValueError`."""
    check_number(name, given, 0, 1)


def check_whole_number(name: str, given: object, low: int, high: int) -> None:
    """``given`` must be a whole number in ``low..high``. Raises :class:`ValueError`."""
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
        raise ValueError(f"{name} must be a whole number in {low}..{high}; got {given!r}")
