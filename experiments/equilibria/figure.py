"""The figure: who gets how much by the length of the game, and where everybody lies in the plane of both seats.

Matplotlib is an optional extra; it is loaded only when a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.game import Disagree
from dond_marl.scenarios.space import lewis_space
from dond_marl.yardsticks.equilibria.table import SMALL
from experiments.equilibria.worth import EQUILIBRIUM, LENGTH, NASH, PEOPLE, Worth
from experiments.equilibria.worth import ULTIMATUM as KNOWN
from league.display.plane import DOTS, FAINT, GRID, INK, PAPER, REACHABLE, check_drawable, frontier, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (11.4, 5.2)  # inches
OPENS, ANSWERS, EXPERT, THIRD, LEAGUE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"  # Okabe and Ito 2008

MARKS = {  # marker, colour, words, and how far from it they stand, in points of a font
    PEOPLE: ("s", INK, "people", (-14, 9)),
    "expert": ("D", EXPERT, "shipped expert", (-88, -2)),
    "heuristic": ("D", THIRD, "heuristic", (8, -3)),
    NASH: ("*", INK, "the Nash point", (-78, -4)),
}


def draw(path: Path, found: Sequence[Worth]) -> None:
    """Write the figure. Raises :class:`league.display.plane.PlotError`."""
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    lengths, plane = picture.subplots(1, 2, width_ratios=(1, 1))
    picture.subplots_adjust(left=0.06, right=0.985, bottom=0.11, top=0.86, wspace=0.17)
    _lengths(lengths, found)
    _plane(plane, found)
    picture.suptitle(
        "Whoever makes the last offer that can be answered gets nearly all; "
        "people and most who learned play otherwise",
        color=INK, fontsize=12, x=0.06, ha="left",
    )  # fmt: skip
    picture.savefig(path)


def _lengths(axes: Axes, found: Sequence[Worth]) -> None:
    """Points of both seats against the number of turns."""
    _style(axes, "an equilibrium against itself, by the length of the game", "turns in the game", "points of ten")
    turns = [worth.turns or 0 for worth in _coldest(found, "ends")]
    for seat, (colour, words) in enumerate(((OPENS, "opens (seat_0)"), (ANSWERS, "answers (seat_1)"))):
        points = [worth.points[seat] for worth in _coldest(found, "ends")]
        axes.plot(turns, points, color=colour, marker="o", linewidth=1.8, label=f"equilibrium, {words}")
    refusing = _coldest(found, "rejects")
    for seat, label in enumerate(("either, where DISAGREE only refuses", None)):
        points = [worth.points[seat] for worth in refusing]
        lengths = [worth.turns or 0 for worth in refusing]
        axes.plot(lengths, points, color=INK, marker="o", fillstyle="none", markersize=9, linestyle="", label=label)
    experts = [worth for worth in found if worth.who == "expert"]
    for seat, colour in enumerate((OPENS, ANSWERS)):
        axes.plot(
            [worth.turns or 0 for worth in experts],
            [worth.points[seat] for worth in experts],
            color=colour, linewidth=1.2, linestyle=(0, (1, 1.6)), label=f"shipped expert, seat_{seat}",
        )  # fmt: skip
    axes.set_xticks(turns)
    axes.set_ylim(0, 10)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="lower right", ncols=2, handlelength=2.6)


def _plane(axes: Axes, found: Sequence[Worth]) -> None:
    """Points of seat_0 against those of seat_1."""
    _style(axes, f"both seats' points; players in games of {LENGTH} turns", "points of seat_0", "points of seat_1")
    edge = frontier(lewis_space())
    axes.fill([0, 0, *edge[:, 0], edge[-1, 0]], [0, edge[0, 1], *edge[:, 1], 0], color=REACHABLE)
    axes.plot(edge[:, 0], edge[:, 1], color=FAINT, linewidth=1.0)
    axes.annotate("the most that\ncan be had", (8.15, 8.1), color=FAINT, fontsize=8.5)
    axes.plot((0, 10), (0, 10), color=GRID, linewidth=0.8)
    cold = {worth.turns or 0: worth for worth in _coldest(found, "ends")}
    for turns, worth in cold.items():
        if turns > 1:  # of one turn nobody gets anything
            axes.plot(*worth.points, marker="o", color=ANSWERS if turns % 2 else OPENS, markersize=6, linestyle="")
    longest = max(cold)
    for turns, words, shift in (
        (2, "equilibrium, 2 turns", (-9, -3)),
        (3, "equilibrium, 3 turns", (-9, -4)),
        (longest, f"{longest} turns", (-9, -6)),
        (longest - 1, f"{longest - 1} turns", (6, -14)),
    ):
        if turns in cold:
            _note(axes, cold[turns], words, shift, ha="left" if turns == longest - 1 else "right")
    warm = sorted(
        (worth for worth in found if (worth.who, worth.turns, worth.disagree) == (EQUILIBRIUM, longest, "ends")),
        key=lambda worth: worth.temperature or 0,
    )
    axes.plot(*zip(*(worth.points for worth in warm), strict=True), color=OPENS, linewidth=1.2, linestyle="--")
    axes.plot(*warm[-1].points, marker="o", markerfacecolor=PAPER, color=OPENS, markersize=6)
    _note(axes, warm[-1], f"temperature {warm[-1].temperature}", (-8, -3), ha="right")
    for who, (marker, colour, words, shift) in MARKS.items():
        for worth in found:
            if worth.who == who and worth.turns in (None, LENGTH):
                axes.plot(*worth.points, marker=marker, color=colour, markersize=8, linestyle="")
                _note(axes, worth, words, shift)
    for _, members in groupby((worth for worth in found if worth.identity), lambda worth: worth.who.split(":")[0]):
        for number, worth in enumerate(members):
            axes.plot(*worth.points, marker="^", color=LEAGUE, markersize=7, linestyle="")
            _note(axes, worth, worth.who if number == 0 else worth.who.split(": ")[-1], (9, 3 - 12 * (number > 0)))
    for worth in found:
        if worth.who.startswith(KNOWN):
            axes.plot(*worth.points, marker="x", color=FAINT, markersize=7, linestyle="")
    axes.annotate("x: an ultimatum,\nall values known", (0.25, 0.3), color=FAINT, fontsize=8.5)
    axes.set_xlim(0, 10.4)
    axes.set_ylim(0, 10.4)
    axes.set_aspect("equal")


def _coldest(found: Sequence[Worth], disagree: Disagree) -> list[Worth]:
    """The equilibria of every length under one rule."""
    return [
        worth for worth in found if (worth.who, worth.temperature, worth.disagree) == (EQUILIBRIUM, SMALL, disagree)
    ]


def _note(axes: Axes, worth: Worth, words: str, shift: tuple[int, int], ha: str = "left") -> None:
    axes.annotate(words, worth.points, shift, textcoords="offset points", fontsize=8.5, color=INK, ha=ha)


def _style(axes: Axes, title: str, across: str, up: str) -> None:
    open_axes(axes, title)
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
