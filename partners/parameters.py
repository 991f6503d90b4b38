"""Checks of partners' parameters: a ValueError says what was given and what is allowed.

The fields of a dataclass may declare their ranges, as in ``floor: Share = 0.5``; see :func:`check_fields`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, NamedTuple, get_args, get_type_hints

from dond_marl.errors import quote


class Range(NamedTuple):
    """The allowed values of a number: ``low..high``, with ``above`` more than ``low``."""

    low: float
    high: float = math.inf
    above: bool = False


Share = Annotated[float, Range(0, 1)]  # of a whole value
PointsOfTen = Annotated[float, Range(0, 10)]
Rationality = Annotated[float, Range(0, 100)]  # 0: any act is as likely as any other


def check_fields(parameters: object) -> None:
    """Every field of a dataclass must be in its declared range. Raises :class:`ValueError`.

    ``name: Annotated[float, Range(low, high)]`` declares numbers, ``Annotated[int, Range(low, high)]`` whole numbers;
    with ``| None`` a field may also be ``None``.
    """
    for name, kind, (low, high, above), optional in _declared_ranges(type(parameters)):  # type: ignore[arg-type]  # types are hashable
        value = getattr(parameters, name)
        if optional and value is None:
            continue
        if kind is int:
            check_whole_number(name, value, int(low), int(high))
        else:
            check_number(name, value, low, high, above=above)


@lru_cache(maxsize=256)
def _declared_ranges(kind: type) -> list[tuple[str, type, Range, bool]]:
    """The name, type and range of each field that declares one, and whether it may be ``None``."""
    declared = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for part in (hint, *get_args(hint)):  # itself, or the first part of ``... | None``
            ranges = [mark for mark in getattr(part, "__metadata__", ()) if isinstance(mark, Range)]
            declared += [(name, get_args(part)[0], allowed, part is not hint) for allowed in ranges]
    return declared


def check_order(parameters: object, least: str, most: str) -> None:
    """The field ``least`` must be at most the field ``most``. Raises :class:`ValueError`."""
    low, high = getattr(parameters, least), getattr(parameters, most)
    if low > high:
        raise ValueError(f"{least} must be at most {most}, {high:g}; got {low:g}")


def check_number(name: str, value: object, low: float, high: float = math.inf, *, above: bool = False) -> None:
    """``value`` must be a number in ``low..high``, with ``above`` larger than ``low``. Raises :class:`ValueError`."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high or (above and value == low):  # type: ignore[operator]
        if high < math.inf:
            allowed = f"a number in {low:g}..{high:g}" + (f", more than {low:g}" if above else "")
        else:
            allowed = f"a number {'more than' if above else 'of at least'} {low:g}"
        raise ValueError(f"{name} must be {allowed}; got {quote(value)}")


def check_whole_number(name: str, value: object, low: int, high: int) -> None:
    """``value`` must be a whole number in ``low..high``. Raises :class:`ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number in {low}..{high}; got {quote(value)}")


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """``value`` must be one of ``choices``. Raises :class:`ValueError`."""
    if value not in (allowed := tuple(choices)):
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {quote(value)}")
