"""Everybody as a dot: what it takes from ours, and what it leaves ours."""

from __future__ import annotations

from experiments.field.anac.findings import Found, Player, short
from league.display.svg.markup import Markup, element

WIDTH, HEIGHT, LEFT, TOP, SIDE, MOST = 880, 640, 70, 70, 520, 10.0
NAMED = 6  # agents with their names, from each end
STYLE = """
text { font: 13px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #211e19; }
.quiet { fill: #5f594f; font-size: 12px; } .grid { stroke: #ddd5c6; } .paper { fill: #fffdf8; }
.hard { fill: #b5452c; } .firm { fill: #c98a1b; } .soft { fill: #3c7fb1; } .ours { fill: #0b6862; stroke: #fffdf8; }
.dot { fill-opacity: 0.75; }
@media (prefers-color-scheme: dark) {
  text { fill: #efebe3; } .quiet { fill: #aea89d; } .grid { stroke: #363b43; } .paper { fill: #1b1e23; }
  .hard { fill: #e8826b; } .firm { fill: #e9b44c; } .soft { fill: #7fb8e6; } .ours { fill: #66d0c3; stroke: #1b1e23; }
}
"""
KINDS = ((0.95, "hard", "claims 95 % or more to the last"), (0.8, "firm", "80 % or more"), (-1.0, "soft", "less"))


def drawing(found: Found) -> str:
    """The text of an SVG file."""
    agents = found.agents
    parts = [
        element("style", Markup(STYLE)),
        element("rect", class_="paper", width=WIDTH, height=HEIGHT, rx=8),
        element("text", f"{len(agents)} negotiators of ANAC against ours, both seats", x=16, y=24),
        element("text", "points a game; ten are all that the table is worth", class_="quiet", x=16, y=44),
    ]
    for value in range(0, 11, 2):
        x, y = _x(value), _y(value)
        parts.append(element("line", class_="grid", x1=x, x2=x, y1=TOP, y2=TOP + SIDE))
        parts.append(element("line", class_="grid", x1=LEFT, x2=LEFT + SIDE, y1=y, y2=y))
        parts.append(element("text", value, class_="quiet", x=x, y=TOP + SIDE + 18, text_anchor="middle"))
        parts.append(element("text", value, class_="quiet", x=LEFT - 10, y=y + 4, text_anchor="end"))
    parts.append(
        element("text", "what it takes", class_="quiet", x=LEFT + SIDE / 2, y=TOP + SIDE + 38, text_anchor="middle")
    )
    turned = f"rotate(-90 {LEFT - 40} {TOP + SIDE / 2})"
    parts.append(
        element("text", "what ours take from it", class_="quiet", x=LEFT - 40, y=TOP + SIDE / 2, text_anchor="middle",
                transform=turned)
    )  # fmt: skip
    for player in agents:
        kind = next((kind for least, kind, _ in KINDS if player.closes >= least), "soft")  # who offers nothing is soft
        dot = element("circle", element("title", _title(player)), class_=f"{kind} dot", cx=_x(player.points.mean),
                      cy=_y(player.ours.mean), r=4.5)  # fmt: skip
        parts.append(dot)
    for place, player in enumerate(each for each in found.players if each.year is None):
        x, y = _x(player.points.mean), _y(player.ours.mean)
        shape = f"{x - 8},{y} {x},{y - 8} {x + 8},{y} {x},{y + 8}"
        parts.append(element("polygon", element("title", _title(player)), class_="ours", points=shape))
        parts.append(element("text", _number(place), x=x + 10, y=y + 4))
    parts += _legend(found)
    label = f"{len(agents)} agents and ours: " + "; ".join(map(_title, found.players))
    drawn = element("svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {HEIGHT}",
                    width=WIDTH, role="img", aria_label=label)  # fmt: skip
    return f"{drawn}\n"


def _legend(found: Found) -> list[Markup]:
    left, y, parts = LEFT + SIDE + 30, TOP + 10, []
    for _, kind, words in KINDS:
        parts.append(element("circle", class_=f"{kind} dot", cx=left, cy=y - 4, r=5))
        parts.append(element("text", words, class_="quiet", x=left + 14, y=y))
        y += 22
    y += 16
    parts.append(element("text", "ours, against the same players", x=left - 6, y=y))
    for place, player in enumerate(each for each in found.players if each.year is None):
        y += 22
        parts.append(element("text", f"{_number(place)}  {_title(player)}", class_="quiet", x=left - 6, y=y))
    y += 38
    parts.append(element("text", "who takes most", x=left - 6, y=y))
    for player in found.agents[:NAMED]:
        y += 22
        parts.append(element("text", _title(player), class_="quiet", x=left - 6, y=y))
    return parts


def _title(player: Player) -> str:
    who = short(player.who).partition("(greedy")[0]
    return f"{who}: {player.points.mean:.2f}, ours {player.ours.mean:.2f}"


def _number(place: int) -> str:
    return "abcdefghij"[place % 10]


def _x(points: float) -> float:
    return round(LEFT + points / MOST * SIDE, 1)


def _y(points: float) -> float:
    return round(TOP + SIDE - points / MOST * SIDE, 1)
