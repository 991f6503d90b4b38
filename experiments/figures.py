"""Static figures of the pages, drawn by Matplotlib as SVG from the results files.

Each figure carries a description of its values (``label``) in its metadata, which ``python -m experiments.results
--check`` compares, so that another version of Matplotlib does not make a page outdated.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.statistics import Estimate
from experiments.anac_tables import AnacPlayer, AnacResults, short_name
from league.display.plane import FAINT, INK, PAPER, check_drawable, open_axes
from league.tables.figures import with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OWN = "#0b6862"
CLAIMS = (  # least share of its value in an agent's last claim, colour, legend
    (0.95, "#b5452c", "claims 95 % or more to the last"),
    (0.8, "#c98a1b", "claims 80 % or more"),
    (-1.0, "#3c7fb1", "claims less"),
)
NAMED = 6  # agents listed by name
ROW = 0.26  # inches of a row of dots


def headline_svg(scope: str, board: Sequence[tuple[str, Estimate]]) -> str:
    """Points of ten of each policy on the board, best first, with 95 % intervals over training seeds."""
    figure, axes = _figure(9.4, 1.0 + ROW * len(board), left=0.37, top=1 - 0.62 / (1.0 + ROW * len(board)))
    _dot_rows(axes, [(name, points, OWN) for name, points in board], "points")
    _titles(figure, "Points of ten against partners not used in training", f"{scope} Bars: 95 % over training seeds.")
    axes.set_xlim(0, 8.6)
    return _svg_text(figure, "; ".join(f"{name} {with_interval(points)}" for name, points in board))


def anac_svg(results: AnacResults) -> str:
    """Each ANAC agent as a dot: its points against our occupants, and theirs against it."""
    figure, axes = _figure(9.4, 6.6, left=0.07, right=0.62, bottom=0.09, top=0.89)
    for least, colour, legend in CLAIMS:
        most = min((other for other, *_ in CLAIMS if other > least), default=math.inf)
        agents = [player for player in results.agents if least <= _last_claim(player) < most]
        axes.plot([each.points.mean for each in agents], [each.ours.mean for each in agents], "o", color=colour,
                  alpha=0.75, markersize=6, label=legend)  # fmt: skip
    own = [player for player in results.players if player.year is None]
    lines = ["our occupants, against the same agents"]
    for letter, player in zip("abcdefghij", own, strict=False):
        axes.plot(player.points.mean, player.ours.mean, "D", color=OWN, markeredgecolor=PAPER, markersize=9)
        axes.annotate(letter, (player.points.mean, player.ours.mean), (8, -3), textcoords="offset points", color=INK)
        lines.append(f"{letter}  {_player_label(player)}")
    lines += ["", "agents with the most points", *map(_player_label, results.agents[:NAMED])]
    axes.set(xlim=(0, 10), ylim=(0, 10), aspect="equal")
    axes.set_xlabel("points of the agent", color=INK)
    axes.set_ylabel("points of our occupants", color=INK)
    open_axes(axes, "")
    axes.legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=9, labelcolor=INK)
    axes.text(1.05, 0.8, "\n".join(lines), transform=axes.transAxes, va="top", fontsize=9, color=INK, linespacing=1.7)
    _titles(figure, f"{len(results.agents)} negotiators of ANAC against our occupants, both seats",
            "points of ten a game: 10 is the value of all items")  # fmt: skip
    return _svg_text(figure, "; ".join(map(_player_label, results.players)))


def _figure(width: float, height: float, **edges: float) -> tuple[Figure, Axes]:
    """An empty figure of ``width`` by ``height`` inches; ``edges``: margins as shares of the figure."""
    check_drawable(Path("figure.svg"))
    from matplotlib.figure import Figure  # an optional extra, and slow to import

    figure = Figure(figsize=(width, height), facecolor=PAPER)
    figure.subplots_adjust(**{"right": 0.97, "bottom": 0.32 / height, **edges})
    return figure, figure.add_subplot()


def _titles(figure: Figure, title: str, note: str) -> None:
    height = figure.get_figheight()
    figure.text(0.015, 1 - 0.26 / height, title, fontsize=11.5, color=INK)
    figure.text(0.015, 1 - 0.47 / height, note, fontsize=9, color=FAINT)


def _dot_rows(axes: Axes, rows: Sequence[tuple[str, Estimate, str]], unit: str = "") -> None:
    """One row per (name, estimate, colour): a dot with its interval; with a unit the number stands next to it."""
    for place, (_, estimate, colour) in enumerate(rows):
        low, high = (estimate.mean if math.isnan(end) else end for end in (estimate.low, estimate.high))
        axes.plot([low, high], [place, place], color=colour, linewidth=2.4)
        axes.plot(estimate.mean, place, "o", color=colour, markersize=6)
        if unit:
            margin = "" if math.isnan(estimate.margin) else f" ±{estimate.margin:.2f}"
            axes.annotate(f"{estimate.mean:.2f}{margin}", (high, place), (7, -3), textcoords="offset points",
                          fontsize=8.5, color=FAINT)  # fmt: skip
    open_axes(axes, "")
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows], color=INK)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_ylim(len(rows) - 0.4, -0.6)


def _last_claim(player: AnacPlayer) -> float:
    """The share of its value that an agent's last offers claim; 0 if it makes no offers."""
    return 0.0 if math.isnan(player.closes) else player.closes


def _player_label(player: AnacPlayer) -> str:
    name = short_name(player.name).partition("(greedy")[0]
    return f"{name}: {player.points.mean:.2f}, ours {player.ours.mean:.2f}"


def _svg_text(figure: Figure, label: str) -> str:
    """The SVG text of a figure with ``label`` as its description; the same bytes each time."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "dond-marl"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Description": label})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
