"""The rows as a table in Markdown, and as a drawing: the share of deals beside what there was to share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dond_marl.statistics import Estimate
from experiments.field.frontier.experiment import ALL, FIT, MODEL, REPLY, Row
from league.display.svg.markup import Markup, element
from league.tables.figures import with_interval

HEADS = ("who", "tables", "games", "deals", "welfare, all games", "Pareto, of deals", "points of ten")
LINE, LEFT, PANEL, TOP, WIDTH = 24, 330, 240, 62, 880  # pixels
STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #211e19; }
.quiet { fill: #5f594f; font-size: 12px; } .grid { stroke: #ddd5c6; } .paper { fill: #fffdf8; }
.bar { stroke-width: 3; } .theirs.bar { stroke: #8a5a00; } .theirs.dot { fill: #8a5a00; }
.ours.bar { stroke: #0b6862; } .ours.dot { fill: #0b6862; }
@media (prefers-color-scheme: dark) {
  text { fill: #efebe3; } .quiet { fill: #aea89d; } .grid { stroke: #363b43; } .paper { fill: #1b1e23; }
  .theirs.bar { stroke: #e9b44c; } .theirs.dot { fill: #e9b44c; } .ours.bar { stroke: #66d0c3; }
  .ours.dot { fill: #66d0c3; }
}
"""


def markdown(rows: Sequence[Row]) -> str:
    """All rows; of a reply, its own points come first, of others those of who speaks first."""
    heads = [f"| {' | '.join(HEADS)} |", f"| {' | '.join(['---'] * len(HEADS))} |"]
    return "\n".join([*heads, *(f"| {' | '.join(_cells(row))} |" for row in rows)]) + "\n"


def _cells(row: Row) -> list[str]:
    figures = row.figures
    first, second = figures.points
    who = f"`{row.who}`" if row.kind == MODEL else row.who
    shares = [with_interval(each, "share") for each in (figures.deals, figures.welfare, figures.pareto)]
    points = f"{with_interval(first)} and {with_interval(second)}"
    return [who, f"{row.number}, {row.tables}", str(figures.deals.n), *shares, points]


def drawing(rows: Sequence[Row]) -> str:
    """The text of an SVG file: everybody on the instances that fit, deals on the left and welfare on the right."""
    shown = [row for row in rows if row.tables != ALL]
    height = TOP + LINE * len(shown) + 34
    parts = [
        element("style", Markup(STYLE)),
        element("rect", class_="paper", width=WIDTH, height=height, rx=8),
        element("text", "Talk, then secret proposals: large models and ours on the same tables", x=16, y=22),
        element("text", "Bars: 95 %.", class_="quiet", x=16, y=TOP - 12),
    ]
    for panel, title in enumerate(("games with a deal", "welfare, no deal counting 0")):
        parts.append(element("text", title, class_="quiet", x=_x(panel, 0), y=TOP - 12))
        for value in (0.0, 0.5, 1.0):
            x = _x(panel, value)
            parts.append(element("line", class_="grid", x1=x, x2=x, y1=TOP, y2=height - 26))
            parts.append(element("text", f"{value:.0%}", class_="quiet", x=x, y=height - 10, text_anchor="middle"))
    for place, row in enumerate(shown):
        y = TOP + LINE * place + LINE / 2
        parts.append(element("text", row.who[:44], x=16, y=y + 4))
        for panel, estimate in enumerate((row.figures.deals, row.figures.welfare)):
            parts += _mark(panel, estimate, y, "theirs" if row.kind == MODEL else "ours")
    label = "; ".join(f"{row.who}: deals {with_interval(row.figures.deals, 'share')}" for row in shown)
    box = f"0 0 {WIDTH} {height}"
    drawn = element(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, width=WIDTH, role="img", aria_label=label
    )
    return f"{drawn}\n"


def _mark(panel: int, estimate: Estimate, y: float, whose: str) -> list[Markup]:
    dot = element("circle", class_=f"{whose} dot", cx=_x(panel, estimate.mean), cy=y, r=5)
    if math.isnan(estimate.low):
        return [dot]
    ends = _x(panel, estimate.low), _x(panel, estimate.high)
    return [element("line", class_=f"{whose} bar", x1=ends[0], x2=ends[1], y1=y, y2=y), dot]


def _x(panel: int, share: float) -> float:
    return round(LEFT + panel * (PANEL + 40) + min(max(share, 0.0), 1.0) * PANEL, 1)


def how(rows: Sequence[Row]) -> str:
    """How to read the table, with what it is over."""
    fit = max((row.number for row in rows if row.tables == FIT), default=0)
    replies = any(row.kind == REPLY for row in rows)
    points = "of who speaks first and of the other" + (", of a reply its own and its partner's" if replies else "")
    return (
        f"Models play each table once, with themselves; {fit} tables have three types of at most four items, and ours "
        "play each of those in both orders of speaking, one game each; nothing binding: whoever agreed may still "
        f"claim otherwise. Points are {points}. Intervals are of 95 %: "
        "Wilson's of shares of games and of deals, Student's of means, games taken as independent."
    )
