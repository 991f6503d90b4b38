"""The curve of a post-training as an SVG: own points by step, the arms side by side, intervals over scenarios."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.language_models.post_training.findings import CONFIDENCE, Row, all_points
from experiments.language_models.post_training.settings import BEFORE, GRADIENT, PostTrainingConfig
from league.display.svg.axes import Axes
from league.display.svg.markup import Markup, element

_WIDTH, _HEIGHT, _TOP, _KEYS, _ASIDE = 720, 330, 58, 420, 5  # pixels
_LOOKS = ("one", "two", "three", "four")  # of an arm, by its place; then they repeat
_STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #211e19; }
.quiet, .tick, .axis { fill: #5f594f; font-size: 12px; } .grid { stroke: #ddd5c6; } .paper { fill: #fffdf8; }
.line, .bar { fill: none; stroke-width: 2; } .one { stroke: #0b6862; } .two { stroke: #b4481e; }
.three { stroke: #5b3f99; } .four { stroke: #211e19; } .dot { fill: #fffdf8; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #efebe3; } .quiet, .tick, .axis { fill: #aea89d; } .grid { stroke: #363b43; } .paper { fill: #1b1e23; }
  .one { stroke: #66d0c3; } .two { stroke: #f0936b; } .three { stroke: #b9a3ec; } .four { stroke: #efebe3; }
  .dot { fill: #1b1e23; }
}
"""


def drawing(config: PostTrainingConfig, rows: Sequence[Row]) -> str:
    """The text of the SVG file. The gradient goes on where the first arm's cloning ended."""
    names = list(dict.fromkeys(row["arm"] for row in rows if row["arm"] != BEFORE))
    cloned = max(row["step"] for row in rows if row["arm"] == config.arms[0].name)
    steps = [row["step"] + cloned * (row["arm"] == GRADIENT) for row in rows]
    found = [all_points(config, row) for row in rows]
    axes = Axes(_WIDTH, _HEIGHT, max(steps), max(int(each.high) + 1 for each in found), top=_TOP, right=24)
    parts = [
        element("style", Markup(_STYLE)),
        element("rect", class_="paper", width=_WIDTH, height=_HEIGHT, rx=8),
        element("text", f"{config.model} in a seat on held-out scenarios, while it is trained", x=16, y=22),
        element("text", f"Bars: {CONFIDENCE:.0%} over scenarios. One training each.", class_="quiet", x=16, y=39),
        *axes.rows(range(int(axes.up) + 1)),
        *axes.columns(range(0, int(axes.across) + 1, 10 if axes.across >= 20 else 1), lines=False),
        axes.bottom_title("training steps"),
        axes.left_title("own points of ten"),
    ]
    told = []
    for place, name in enumerate(names):
        look = _LOOKS[place % len(_LOOKS)]
        start = steps.index(cloned) if name == GRADIENT else 0
        own = [start, *(number for number, row in enumerate(rows) if row["arm"] == name)]
        aside = _ASIDE * place * (name != GRADIENT)  # marks of several arms at one step stand beside each other
        line = " ".join(f"{axes.x(steps[number]) + aside:.1f},{axes.y(found[number].mean):.1f}" for number in own)
        parts.append(element("polyline", class_=f"line {look}", points=line))
        for number in own if place == 0 else own[1:]:
            x = round(axes.x(steps[number]) + aside, 1)
            here = found[number]
            low, high, mean = (round(axes.y(value), 1) for value in (here.low, here.high, here.mean))
            parts.append(element("line", class_=f"bar {look}", x1=x, x2=x, y1=low, y2=high))
            parts.append(element("circle", class_=f"dot {look}", cx=x, cy=mean, r=4))
        parts.append(element("circle", class_=f"dot {look}", cx=_KEYS + 90 * place, cy=35, r=4))
        parts.append(element("text", name, x=_KEYS + 90 * place + 10, y=39))
        last = found[own[-1]]
        told.append(f"{name} {last.mean:.2f}")
    label = f"Own points of ten: before {found[0].mean:.2f}; at the end {', '.join(told)}"
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    xmlns = "http://www.w3.org/2000/svg"
    return f"{element('svg', *parts, xmlns=xmlns, viewBox=box, width=_WIDTH, role='img', aria_label=label)}\n"
