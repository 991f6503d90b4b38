"""Charts as SVG on pages and in reports: their geometry, and the engine of the templates that draw them.

Markup is written in Jinja templates, ``charts.html.j2`` for charts, and all text is escaped: names from a ledger or a
file are never markup. Line breaks between tags and expressions are dropped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Literal, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined

from dond.table.frontier import subject, verdict
from dond_marl.game import ITEMS
from dond_marl.records.transcript import describe_items
from dond_marl.statistics import TEN, Estimate
from league.standings.history import CurvePoint
from league.tables.figures import count_noun, format_number, points, with_margin

CHARTS = Path(__file__).parent  # the folder of charts.html.j2
BETWEEN_TAGS = re.compile(r"(?<=[>}])\s*\n\s*(?=[<{])")
MOST_TICKS = 6  # steps of an axis


class ChartPoint(NamedTuple):
    """A point of a curve: its place on the horizontal axis, its value, and its description."""

    at: int
    value: Estimate
    title: str = ""


Curve = Sequence[ChartPoint]


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
        return round(self.left + value / self.across * (self.width - self.left - self.right), 2)

    def y(self, value: float) -> float:
        """The height of a value; values beyond the axis are drawn at its end."""
        shown = min(max(value, 0.0), self.up)
        return round(self.height - self.bottom - shown / self.up * (self.height - self.top - self.bottom), 2)

    def line(self, curve: Curve) -> str:
        """The points of a polyline through the values of a curve."""
        return " ".join(f"{self.x(point.at)},{self.y(point.value.mean)}" for point in curve)

    def band(self, curve: Curve) -> str:
        """The path around the intervals of a curve; empty without any."""
        bounded = [point for point in curve if not math.isnan(point.value.low)]
        above = [f"{self.x(point.at)},{self.y(point.value.high)}" for point in bounded]
        below = [f"{self.x(point.at)},{self.y(point.value.low)}" for point in reversed(bounded)]
        return f"M{'L'.join([*above, *below])}Z" if bounded else ""


def ticks(most: float) -> list[int]:
    """Round numbers from 0 to ``most``, about five of them."""
    steps = (step * 10**power for power in count() for step in (1, 2, 5))
    return list(range(0, int(most) + 1, next(step for step in steps if most / step <= MOST_TICKS)))


def tick_label(value: int) -> str:
    """A number on an axis: ``500``, ``20k``, ``1.5M``."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e3 else str(value)


def learning_curves(
    points: Sequence[CurvePoint], figure: Literal["points", "gain"], seeds: Iterable[Sequence[CurvePoint]] = ()
) -> dict[str, list[Curve]]:
    """Each learner's curves of a figure by rounds, the last one being its present life: a reset begins another.

    The curves of ``seeds`` come before those of ``points``.
    """
    lives: dict[str, list[list[ChartPoint]]] = {}
    for group in (*seeds, points):
        decisions: dict[str, int] = {}
        for point in group:
            value: Estimate = getattr(point, figure)
            lives_of_member = lives.setdefault(point.member, [])
            if point.decisions < decisions.get(point.member, math.inf):
                lives_of_member.append([])
            decisions[point.member] = point.decisions
            if value.n:
                title = f"{point.member}, after {count_noun(point.round, 'round')}: {value.mean:.2f}, n = {value.n:,}"
                lives_of_member[-1].append(ChartPoint(point.round, value, title))
    drawn = {name: [life for life in lives_of_member if life] for name, lives_of_member in lives.items()}
    return {name: list(lives_of_member) for name, lives_of_member in drawn.items() if lives_of_member}


def axes_around(curves: Iterable[Curve], across: int) -> Axes:
    """Axes 0..``across`` that hold all points of learning curves with their intervals."""
    every = [point for curve in curves for point in curve]
    tops = (mean if math.isnan(high) else high for mean, _, _, high in (point.value for point in every))
    return Axes(520, 280, max(1, across), max(math.ceil(max(tops)), 1), right=20)


def whole_range(estimates: Iterable[Estimate]) -> tuple[int, int]:
    """The smallest range of whole points of ten, within 0..10, that contains all intervals."""
    ends = [end for estimate in estimates for end in _ends(estimate)]
    low = max(math.floor(min(ends, default=0.0)), 0)
    return low, max(min(math.ceil(max(ends, default=TEN)), int(TEN)), low + 1)


def whisker_places(estimate: Estimate, least: float, most: float) -> tuple[float, ...]:
    """Both ends of an interval and its mean in percent of ``least``..``most``; nothing for an unknown mean."""
    values = (*_ends(estimate), estimate.mean) if _ends(estimate) else ()
    return tuple(100 * (min(max(value, least), most) - least) / (most - least) for value in values)


def _ends(estimate: Estimate) -> tuple[float, ...]:
    """Both ends of an interval; twice the mean without an interval; nothing for an unknown mean."""
    if math.isnan(estimate.mean):
        return ()
    return (estimate.mean, estimate.mean) if math.isnan(estimate.low) else (estimate.low, estimate.high)


def open_templates(folder: Path, **names: object) -> Environment:
    """The engine of the templates ``NAME.html.j2`` in ``folder`` and of the charts, which may use ``names``."""

    def source(name: str) -> str:
        folder_of = CHARTS if name == "charts" else folder
        return BETWEEN_TAGS.sub("", (folder_of / f"{name}.html.j2").read_text("utf-8"))

    engine = Environment(loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined)
    helpers = (
        *(Axes, axes_around, count_noun, describe_items, format_number, learning_curves, points, subject),
        *(tick_label, ticks, verdict, whisker_places, whole_range, with_margin),
    )
    engine.globals |= {"ITEMS": ITEMS, **{helper.__name__: helper for helper in helpers}, **names}
    return engine
