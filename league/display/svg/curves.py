"""How the learners of a league came on: a line each over their own decisions, with its interval as a band."""

from __future__ import annotations

import math
from collections.abc import Sequence

from league.display.figures import with_half
from league.display.svg.markup import Markup, element, joined, svg
from league.standings.curves import CurvePoint

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 640, 300, 40, 14, 20, 40
HUES = 6  # different looks of a line; then they repeat


def curve_chart(points: Sequence[CurvePoint], yardstick: str, confidence: float) -> Markup:
    """The chart with its legend; a sentence where there is nothing to draw."""
    names = list(dict.fromkeys(point.member for point in points))
    if not names:
        return element("p", f"Nobody has learned against {yardstick} yet.", class_="quiet")
    longest = max(max(point.decisions for point in points), 1)
    highest = max(math.ceil(max(_top(point) for point in points)), 1)

    def x(value: float) -> float:
        return LEFT + value / longest * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / highest * (HEIGHT - TOP - BOTTOM)

    parts = []
    for value in range(0, highest + 1, 1 if highest <= 5 else 2):
        parts.append(element("line", class_="grid", x1=x(0), x2=x(longest), y1=y(value), y2=y(value)))
        parts.append(element("text", value, class_="tick", x=x(0) - 7, y=y(value) + 3.5, text_anchor="end"))
    for value in _ticks(longest):
        parts.append(element("text", _short(value), class_="tick", x=x(value), y=y(0) + 15, text_anchor="middle"))
    parts.append(element("text", "own decisions", class_="axis", x=x(longest / 2), y=HEIGHT - 6, text_anchor="middle"))
    for hue, name in enumerate(names):
        own = [point for point in points if point.member == name]
        lives = _lives(own)
        for life in lives:
            past = "" if life is lives[-1] else " past"
            places = " ".join(f"{x(point.decisions):.1f},{y(point.points.mean):.1f}" for point in life)
            parts.append(element("polyline", class_=f"line hue{hue % HUES}{past}", points=places))
        parts.append(_band(lives[-1], hue, x, y))
        parts += [
            element(
                "circle",
                element("title", f"{name}, round {point.round + 1}: {point.points.mean:.2f}, n = {point.points.n:,}"),
                class_=f"dot hue{hue % HUES}",
                cx=x(point.decisions),
                cy=y(point.points.mean),
                r=3,
            )
            for point in lives[-1][-60:]
        ]
    latest = ", ".join(f"{name} {_last(points, name).points.mean:.2f}" for name in names)
    label = f"Points of ten against {yardstick} by own decisions; latest: {latest}"
    keys = [
        element(
            "li", element("i", class_=f"key hue{hue % HUES}"), name, element("b", with_half(_last(points, name).points))
        )
        for hue, name in enumerate(names)
    ]
    caption = element(
        "p",
        f"Points of ten against {yardstick}, mean of both seats, as each was when a round began; bands: "
        f"{confidence:.0%} interval.",
        class_="quiet",
    )
    return joined(
        (caption, svg(WIDTH, HEIGHT, label, *parts, class_="chart curves"), element("ul", *keys, class_="legend"))
    )


def _lives(own: list[CurvePoint]) -> list[list[CurvePoint]]:
    """The curve of a learner in pieces: whoever starts over has made fewer decisions than before."""
    lives: list[list[CurvePoint]] = []
    for point in own:
        if not lives or point.decisions < lives[-1][-1].decisions:
            lives.append([])
        lives[-1].append(point)
    return lives


def _band(own: list[CurvePoint], hue: int, x: object, y: object) -> Markup:
    assert callable(x)
    assert callable(y)
    sure = [point for point in own if not math.isnan(point.points.low)]
    above = [f"{x(point.decisions):.1f},{y(point.points.high):.1f}" for point in sure]
    below = [f"{x(point.decisions):.1f},{y(max(point.points.low, 0)):.1f}" for point in reversed(sure)]
    return element("path", class_=f"band hue{hue % HUES}", d=f"M{'L'.join([*above, *below])}Z" if sure else "")


def _top(point: CurvePoint) -> float:
    return point.points.mean if math.isnan(point.points.high) else point.points.high


def _last(points: Sequence[CurvePoint], name: str) -> CurvePoint:
    return [point for point in points if point.member == name][-1]


def _ticks(longest: int) -> list[int]:
    step = 10 ** int(math.log10(longest))
    step = next(s for s in (step // 5 or 1, step // 2 or 1, step, 2 * step) if longest / s <= 6)
    return list(range(0, longest + 1, step))


def _short(value: int) -> str:
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    return f"{value / 1000:g}k" if value >= 1000 else str(value)
