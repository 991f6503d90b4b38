"""Drawing of the outcome of a game among all possible splits, its legend, and its tables."""

from __future__ import annotations

from dond_marl.game import ITEMS
from dond_marl.records.transcript import describe_items
from league.display.frontier import Plane, verdict
from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, element, join, numbers_table, points, svg


def drawing(at: Plane) -> Markup:
    """Drawing of the plane: all splits, the frontier as a line, the Nash point and the outcome marked."""
    you, other = at.names
    across, up = (max(whole, 1) for whole in at.wholes)
    axes = Axes(360, 300, across, up)
    x, y = axes.x, axes.y
    frame = (*axes.columns(_ticks(across)), *axes.rows(_ticks(up)))
    titles = axes.bottom_title(f"points for {you}"), axes.left_title(f"points for {other}")
    line = " ".join(f"{x(spot.mine):g},{y(spot.theirs):g}" for spot in at.frontier)
    dots = [
        element(
            "circle",
            element(
                "title", f"{spot.mine} for {you}, {spot.theirs} for {other}: {you} get {describe_items(spot.items)}"
            ),
            class_="spot best" if spot.best else "spot",
            cx=x(spot.mine),
            cy=y(spot.theirs),
            r=4.5 if spot.best else 2.5,
        )
        for spot in sorted(at.spots, key=lambda spot: spot.best)
    ]
    fair = [_diamond(x(spot.mine), y(spot.theirs)) for spot in at.spots if spot.nash]
    mine, theirs = at.landed
    here = element("circle", class_="landed deal" if at.deal else "landed", cx=x(mine), cy=y(theirs), r=9)
    label = f"{mine} points for {you}, {theirs} for {other}; {verdict(at)}"
    best = element("polyline", class_="frontier", points=line)
    return svg(axes.width, axes.height, label, *frame, *titles, best, *dots, *fair, here, class_="chart plane")


def legend(at: Plane) -> Markup:
    """Legend of the drawing."""
    marks = {
        "landed deal" if at.deal else "landed": "this game",
        "best": "the Pareto frontier",
        "nash": "the Nash point",
        "spot": "other splits",
    }
    keys = [element("li", element("i", class_=f"key {mark}"), text) for mark, text in marks.items()]
    return element("ul", *keys, class_="legend")


def frontier_table(at: Plane) -> Markup:
    """The frontier as a table."""
    you, other = at.names
    rows = [
        element(
            "tr",
            *(element("td", number) for number in (*spot.items, spot.mine, spot.theirs)),
            class_="here" if (spot.mine, spot.theirs) == at.landed else None,
        )
        for spot in at.frontier
    ]
    return numbers_table(f"Best splits, by what {you} get", (*(f"{item}s" for item in ITEMS), you, other), rows)


def scores(at: Plane) -> Markup:
    """Both scores as bars relative to the value of the whole pool."""
    bars = []
    for name, side, score, whole in zip(at.names, ("me", "they"), at.landed, at.wholes, strict=True):
        filled = element("i", style=f"width:{100 * score / max(whole, 1):.0f}%")
        parts = (
            element("span", {"you": "You", "them": "They"}.get(name, name), class_="who"),
            element("span", filled, class_="bar"),
            element("span", element("b", score), element("small", f" of {points(whole)}")),
        )
        bars.append(element("div", *parts, class_=f"score {side}"))
    return join(bars)


def _ticks(most: int) -> list[int]:
    """Round numbers from 0 up, about five of them."""
    step = next(step for step in (1, 2, 5, 10, 20, 25, 50) if most / step <= 6)
    return list(range(0, most + 1, step))


def _diamond(x: float, y: float) -> Markup:
    path = f"M{x:g} {y - 7:g}L{x + 7:g} {y:g}L{x:g} {y + 7:g}L{x - 7:g} {y:g}Z"
    return element("path", class_="nash", d=path)
