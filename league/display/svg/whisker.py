"""An interval on a line, with its mean: the ladder of the report and of the league's page."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dond_marl.statistics import TEN, Estimate
from league.display.svg.markup import Markup, element


def reach(estimates: Iterable[Estimate]) -> tuple[int, int]:
    """Whole points of ten between which all intervals lie, 0..10."""
    ends = [end for estimate in estimates for end in _ends(estimate)]
    low = max(math.floor(min(ends, default=0.0)), 0)
    return low, max(min(math.ceil(max(ends, default=TEN)), int(TEN)), low + 1)


def whisker(estimate: Estimate, least: float, most: float) -> Markup:
    """The interval as a bar and the mean as a mark, on a line from ``least`` to ``most``; empty where it is unknown."""
    if math.isnan(estimate.mean):
        return Markup("")
    low, high, mean = (
        100 * (min(max(value, least), most) - least) / (most - least) for value in (*_ends(estimate), estimate.mean)
    )
    bar = element("i", style=f"left:{low:.1f}%;width:{high - low:.1f}%")
    return element("span", bar, element("b", style=f"left:{mean:.1f}%"), aria_hidden="true")


def _ends(estimate: Estimate) -> tuple[float, ...]:
    """Both ends of the interval, or twice the mean where it has none; nothing where it is unknown."""
    if math.isnan(estimate.mean):
        return ()
    return (estimate.mean, estimate.mean) if math.isnan(estimate.low) else (estimate.low, estimate.high)
