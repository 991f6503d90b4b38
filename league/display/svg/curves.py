"""Learning curves of a league: a line for each learner over its own decisions, with its interval as a band."""

from __future__ import annotations

import math
from collections.abc import Sequence

from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, count_noun, element, join, svg
from league.standings.history import CurvePoint
from league.tables.figures import with_margin

HUES = 6  # line styles; then they repeat


def curve_chart(points: Sequence[CurvePoint], yardstick: str, confidence: float) -> Markup:
    """The chart with its legend; a sentence without points."""
    names = list(dict.fromkeys(point.member for point in points))
    if not names:
        return element("p", f"No learner has played {yardstick} yet.", class_="quiet")
    longest = max(max(point.decisions for point in points), 1)
    highest = max(math.ceil(max(_top(point) for point in points)), 1)
    axes = Axes(640, 300, longest, highest, right=20)
    x, y = axes.x, axes.y
    parts = [*axes.rows(range(0, highest + 1, 1 if highest <= 5 else 2)), *axes.columns(_ticks(longest), lines=False)]
    parts += [axes.bottom_title("own decisions"), axes.left_title("points of ten")]
    latest = {}
    for hue, name in enumerate(names):
        own = [point for point in points if point.member == name]
        runs = _runs_of(own)
        for run in runs:
            past = "" if run is runs[-1] else " past"
            places = " ".join(f"{x(point.decisions):.1f},{y(point.points.mean):.1f}" for point in run)
            parts.append(element("polyline", class_=f"line hue{hue % HUES}{past}", points=places))
        parts.append(_band(runs[-1], hue, axes))
        latest[name] = own[-1].points
        for point in runs[-1][-60:]:
            about = f"{name}, after {count_noun(point.round, 'round')}: {point.points.mean:.2f}, n = {point.points.n:,}"
            place = {"cx": x(point.decisions), "cy": y(point.points.mean)}
            parts.append(element("circle", element("title", about), class_=f"dot hue{hue % HUES}", **place, r=3))
    last = ", ".join(f"{name} {score.mean:.2f}" for name, score in latest.items())
    label = f"Points of ten against {yardstick} by own decisions; latest: {last}"
    keys = [
        element("li", element("i", class_=f"key hue{hue % HUES}"), name, element("b", with_margin(score)))
        for hue, (name, score) in enumerate(latest.items())
    ]
    caption = (
        f"Points of ten against {yardstick}, mean of both seats, as each was when a round began; bands: "
        f"{confidence:.0%} interval."
    )
    drawn = svg(axes.width, axes.height, label, *parts, class_="chart curves")
    return join((element("p", caption, class_="quiet"), drawn, element("ul", *keys, class_="legend")))


def _runs_of(own: list[CurvePoint]) -> list[list[CurvePoint]]:
    """Split the curve of a learner where it was reset: there the number of decisions falls."""
    runs: list[list[CurvePoint]] = []
    for point in own:
        if not runs or point.decisions < runs[-1][-1].decisions:
            runs.append([])
        runs[-1].append(point)
    return runs


def _band(own: list[CurvePoint], hue: int, axes: Axes) -> Markup:
    bounded = [point for point in own if not math.isnan(point.points.low)]
    above = [f"{axes.x(point.decisions):.1f},{axes.y(point.points.high):.1f}" for point in bounded]
    below = [f"{axes.x(point.decisions):.1f},{axes.y(max(point.points.low, 0)):.1f}" for point in reversed(bounded)]
    return element("path", class_=f"band hue{hue % HUES}", d=f"M{'L'.join([*above, *below])}Z" if bounded else "")


def _top(point: CurvePoint) -> float:
    return point.points.mean if math.isnan(point.points.high) else point.points.high


def _ticks(longest: int) -> list[int]:
    step = 10 ** int(math.log10(longest))
    step = next(s for s in (step // 5 or 1, step // 2 or 1, step, 2 * step) if longest / s <= 6)
    return list(range(0, longest + 1, step))
