"""Axes of a chart: coordinates, grid with tick labels, titles; and an interval drawn as a whisker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dond_marl.statistics import TEN, Estimate
from league.display.svg.markup import Markup, element


class Axes(NamedTuple):
    """Axes 0..``across`` and 0..``up`` in a drawing of ``width`` x ``height`` units, with margins."""

    width: float
    height: float
    across: float
    up: float
    left: float = 40
    top: float = 14
    right: float = 14
    bottom: float = 40
    from_left: float = 7  # distance of the tick labels
    from_below: float = 15

    def x(self, value: float) -> float:
        return self.left + value / self.across * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        return self.height - self.bottom - value / self.up * (self.height - self.top - self.bottom)

    def columns(self, values: Iterable[int], *, lines: bool = True) -> Iterator[Markup]:
        """Grid lines, unless ``lines`` is false, and tick labels of the horizontal axis at ``values``."""
        for value in values:
            x = self.x(value)
            if lines:
                yield element("line", class_="grid", x1=x, x2=x, y1=self.y(0), y2=self.y(self.up))
            label = (
                f"{value / 1_000_000:g}M" if value >= 1_000_000 else f"{value / 1000:g}k" if value >= 1000 else value
            )
            y = self.y(0) + self.from_below
            yield element("text", label, class_="tick", x=x, y=y, text_anchor="middle")

    def rows(self, values: Iterable[int]) -> Iterator[Markup]:
        """Grid lines and tick labels of the vertical axis at ``values``."""
        for value in values:
            y = self.y(value)
            yield element("line", class_="grid", x1=self.x(0), x2=self.x(self.across), y1=y, y2=y)
            x = self.x(0) - self.from_left
            yield element("text", value, class_="tick", x=x, y=y + 3.5, text_anchor="end")

    def bottom_title(self, title: str) -> Markup:
        """The title of the horizontal axis."""
        x, y = self.x(self.across / 2), self.height - 6
        return element("text", title, class_="axis", x=x, y=y, text_anchor="middle")

    def left_title(self, title: str) -> Markup:
        """The title of the vertical axis."""
        y = self.y(self.up / 2)
        turned = f"rotate(-90 12 {y:g})"
        return element("text", title, class_="axis", x=12, y=y, text_anchor="middle", transform=turned)


def whole_range(estimates: Iterable[Estimate]) -> tuple[int, int]:
    """The smallest range of whole points of ten, within 0..10, that contains all intervals."""
    ends = [end for estimate in estimates for end in _ends(estimate)]
    low = max(math.floor(min(ends, default=0.0)), 0)
    return low, max(min(math.ceil(max(ends, default=TEN)), int(TEN)), low + 1)


def whisker(estimate: Estimate, least: float, most: float) -> Markup:
    """An interval as a bar and its mean as a mark, on a line from ``least`` to ``most``; empty for an unknown mean."""
    if math.isnan(estimate.mean):
        return Markup("")
    low, high, mean = (
        100 * (min(max(value, least), most) - least) / (most - least) for value in (*_ends(estimate), estimate.mean)
    )
    bar = element("i", style=f"left:{low:.1f}%;width:{high - low:.1f}%")
    return element("span", bar, element("b", style=f"left:{mean:.1f}%"), aria_hidden="true")


def _ends(estimate: Estimate) -> tuple[float, ...]:
    """Both ends of an interval; twice the mean without an interval; nothing for an unknown mean."""
    if math.isnan(estimate.mean):
        return ()
    return (estimate.mean, estimate.mean) if math.isnan(estimate.low) else (estimate.low, estimate.high)
