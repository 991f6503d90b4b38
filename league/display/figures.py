"""The one place that spells a number for a person: in its unit, with half its interval or with both of its ends."""

from __future__ import annotations

import math

from dond_marl.yardsticks.metrics import Estimate
from league.tables.blocks import Cell, Unit

UNKNOWN = "-"
FORMS: dict[Unit, str] = {"share": ".1%", "count": ",.0f", "ratio": ".3f", "seconds": ".1f"}


def spelled(value: float, unit: Unit = "points") -> str:
    """A number in its unit: ``7.31``, ``85.1%``; :data:`UNKNOWN` for ``nan``."""
    return UNKNOWN if math.isnan(value) else f"{value:z{FORMS.get(unit, '.2f')}}"  # z: no minus before a rounded 0


def with_half(estimate: Estimate, unit: Unit = "points") -> str:
    """A mean with half the width of its interval: ``7.31 ±0.16``."""
    half = "" if math.isnan(estimate.mean) or math.isnan(estimate.margin) else f" ±{spelled(estimate.margin, unit)}"
    return spelled(estimate.mean, unit) + half


def with_ends(estimate: Estimate, unit: Unit = "points", *, n: int | None = None) -> str:
    """A mean with the ends of its interval, and ``n`` if it is given: ``7.31 (7.15..7.47; n 6,272)``.

    Where only the ends are known they stand alone: ``0.20..0.40``.
    """
    low, high = spelled(estimate.low, unit), spelled(estimate.high, unit)
    ends = "" if math.isnan(estimate.low) else f"{low}..{high}"
    alone = bool(ends) and math.isnan(estimate.mean)
    mean = (low if low == high else ends) if alone else spelled(estimate.mean, unit)
    doubt = "; ".join(part for part in ("" if alone else ends, "" if n is None else f"n {n:,}") if part)
    return mean + (f" ({doubt})" if doubt else "")


def shown(cell: Cell, *, n: bool = True) -> str:
    """A cell of a table in full; :data:`UNKNOWN` where nothing is known."""
    if cell is None or isinstance(cell, str):
        return UNKNOWN if cell is None else cell
    return with_ends(cell.estimate, cell.unit, n=cell.n if n else None) if cell.known else UNKNOWN
