"""Number formatting for people: a figure in its unit, with half the width or with both ends of its interval."""

from __future__ import annotations

import math

from dond_marl.statistics import Estimate
from league.figures.rows import UNITS, Unit
from league.tables.blocks import Cell

UNKNOWN = "-"


def format_number(value: float, unit: Unit = "points") -> str:
    """A number in its unit: ``7.31``, ``85.1%``; :data:`UNKNOWN` for ``nan``."""
    return UNKNOWN if math.isnan(value) else f"{value:{UNITS[unit][1]}}"


def with_margin(estimate: Estimate, unit: Unit = "points") -> str:
    """A mean with half the width of its interval: ``7.31 ±0.16``."""
    if math.isnan(estimate.mean) or math.isnan(estimate.margin):
        return format_number(estimate.mean, unit)
    return f"{format_number(estimate.mean, unit)} ±{format_number(estimate.margin, unit).removeprefix('+')}"


def with_interval(estimate: Estimate, unit: Unit = "points", *, n: int | None = None) -> str:
    """A mean with the ends of its interval, and with ``n`` if one is passed: ``7.31 (7.15..7.47; n 6,272)``.

    An interval without a mean stands alone: ``0.20..0.40``.
    """
    low, high = format_number(estimate.low, unit), format_number(estimate.high, unit)
    ends = "" if math.isnan(estimate.low) else f"{low}..{high}"
    alone = bool(ends) and math.isnan(estimate.mean)
    mean = (low if low == high else ends) if alone else format_number(estimate.mean, unit)
    details = "; ".join(part for part in ("" if alone else ends, "" if n is None else f"n {n:,}") if part)
    return mean + (f" ({details})" if details else "")


def format_cell(cell: Cell, *, n: bool = True) -> str:
    """The full text of a table cell, with the number of games if ``n``; :data:`UNKNOWN` for an empty cell."""
    if cell is None or isinstance(cell, str):
        return UNKNOWN if cell is None else cell
    if not cell.is_known:
        return UNKNOWN
    return cell.sign + with_interval(cell.estimate, cell.unit, n=cell.n if n else None)


def count_noun(number: int, noun: str) -> str:
    """A number with its noun: ``1 round``, ``3 rounds``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def points(number: int) -> str:
    """A number of points: ``1 point``, ``7 points``."""
    return count_noun(number, "point")


def duration(seconds: float) -> str:
    """Seconds or minutes, ``?`` if unknown."""
    return "?" if math.isinf(seconds) else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
