"""The README's figure: everybody of the board as a dot with its interval, as an SVG in light and dark."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.results.files import FOLDER, ROOT
from experiments.results.headline import headline
from league.display.svg.markup import Markup, element

PICTURE = ROOT / "docs" / "headline.svg"
ROW, LEFT, RIGHT, TOP, WIDTH = 24, 330, 60, 46, 860  # pixels
MOST = 8  # points of ten at the right edge; nobody of the board has more
STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #211e19; }
.quiet { fill: #5f594f; font-size: 12px; } .grid { stroke: #ddd5c6; } .bar { stroke: #0b6862; stroke-width: 3; }
.dot { fill: #0b6862; } .paper { fill: #fffdf8; }
@media (prefers-color-scheme: dark) {
  text { fill: #efebe3; } .quiet { fill: #aea89d; } .grid { stroke: #363b43; } .bar { stroke: #66d0c3; }
  .dot { fill: #66d0c3; } .paper { fill: #1b1e23; }
}
"""


def picture(folder: Path = FOLDER) -> str:
    """The text of the SVG file: points of ten of everybody on the board under ``folder``, best first."""
    over, board, _, _ = headline(folder)
    height = TOP + ROW * len(board) + 30
    parts = [
        element("style", Markup(STYLE)),
        element("rect", class_="paper", width=WIDTH, height=height, rx=8),
        element("text", "Points of ten against partners that nobody has met", x=16, y=22),
        element("text", f"{over} Bars: 95 % over training seeds.", class_="quiet", x=16, y=39),
    ]
    for value in range(0, MOST + 1, 2):
        parts.append(element("line", class_="grid", x1=_x(value), x2=_x(value), y1=TOP, y2=height - 26))
        parts.append(element("text", value, class_="quiet", x=_x(value), y=height - 10, text_anchor="middle"))
    for place, (name, points, *_rest) in enumerate(board):
        mean, margin = _numbers(points)
        y = TOP + ROW * place + ROW / 2
        parts += [
            element("text", name.replace("`", ""), x=16, y=y + 4),
            element("line", class_="bar", x1=_x(mean - margin), x2=_x(mean + margin), y1=y, y2=y),
            element("circle", class_="dot", cx=_x(mean), cy=y, r=5),
            element("text", points, class_="quiet", x=_x(mean + margin) + 10, y=y + 4),
        ]
    label = "; ".join(f"{name.replace('`', '')} {points}" for name, points, *_rest in board)
    box = f"0 0 {WIDTH} {height}"
    drawn = element(
        "svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, width=WIDTH, role="img", aria_label=label
    )
    return f"{drawn}\n"


def _x(points: float) -> float:
    return round(LEFT + points / MOST * (WIDTH - LEFT - RIGHT), 1)


def _numbers(points: str) -> tuple[float, float]:
    """The mean and half of the interval in ``6.84 ±0.02``; 0 where there is none."""
    mean, *margin = map(float, re.findall(r"\d+\.?\d*", points))
    return mean, margin[0] if margin else 0.0
