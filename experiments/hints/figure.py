"""The learning curves of a hint experiment: what was learned on the left, with hints on the right.

Matplotlib is an optional extra; it is loaded only when a figure is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.hints.experiment import Arm, Experiment, Mark
from experiments.hints.findings import CONFIDENCE, curve
from experiments.hints.settings import NOBODY
from league.display.plane import DOTS, INK, PAPER, check_drawable, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (10.4, 4.9)  # inches
FIRST = {"none": "#000000", "random": "#97a1ab"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # of the other hinters: Okabe and Ito 2008
_LINES = ("-", (0, (4, 2)), (0, (1, 1.4)), "-.")  # by dropout, in the order of the experiment


def draw(path: Path, experiment: Experiment) -> None:
    """Write the figure. Raises :class:`league.display.plane.PlotError`."""
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    alone, hinted = picture.subplots(1, 2, sharey=True)
    picture.subplots_adjust(left=0.07, right=0.985, bottom=0.28, top=0.86, wspace=0.06)
    _panel(alone, experiment, lambda mark: mark.alone, "without hints: what was learned")
    _panel(hinted, experiment, lambda mark: mark.hinted, "the same learners with their hints")
    alone.set_ylabel("share of the exact best response", color=INK)
    seeds = len({mark.seed for mark in experiment.marks})
    picture.suptitle(
        f"What hints are worth: greedy play on {experiment.label}, mean of {seeds} seeds, bands {CONFIDENCE:.0%}",
        color=INK, fontsize=11, x=0.07, ha="left",
    )  # fmt: skip
    handles, labels = alone.get_legend_handles_labels()
    picture.legend(
        handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=9, labelcolor=INK, handlelength=3.2
    )
    picture.savefig(path)


def _panel(axes: Axes, experiment: Experiment, value: Callable[[Mark], float], title: str) -> None:
    arms = list(dict.fromkeys(mark.arm for mark in experiment.marks))
    dropouts = sorted({arm.dropout for arm in arms})
    for arm in arms:
        points = curve(experiment, arm, value)
        mean = np.array([point.mean for point in points.shares])
        low, high = (np.array([getattr(point, end) for point in points.shares]) for end in ("low", "high"))
        colour, line = _colour(arm, arms), _LINES[dropouts.index(arm.dropout) % len(_LINES)]
        axes.fill_between(points.decisions, low, high, color=colour, alpha=0.13, linewidth=0)
        axes.plot(points.decisions, mean, color=colour, linestyle=line, linewidth=1.7, label=_label(arm))
    axes.set_xlabel("own decisions", color=INK)
    axes.set_ylim(_floor(experiment), 1.0)
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.xaxis.set_major_formatter(lambda number, _: f"{number / 1000:g}k")
    open_axes(axes, title)


def _floor(experiment: Experiment) -> float:
    """Where the axis begins: a tenth below the least of what was measured after the first tenth of the budget."""
    last = max(mark.decisions for mark in experiment.marks)
    late = [mark for mark in experiment.marks if mark.decisions >= 0.1 * last]
    least = min(min(mark.hinted, mark.alone) for mark in late)
    return max(0.0, math.floor(10 * least) / 10 - 0.1)


def _label(arm: Arm) -> str:
    return "no hints" if arm.hinter == NOBODY else arm.name


def _colour(arm: Arm, arms: Sequence[Arm]) -> str:
    """Nobody's and chance's are fixed; the others take theirs in the order of the experiment."""
    others = [who for who in dict.fromkeys(each.hinter for each in arms) if who not in FIRST]
    return FIRST.get(arm.hinter) or COLOURS[others.index(arm.hinter) % len(COLOURS)]
