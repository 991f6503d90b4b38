"""Tables, results file and learning curves of the hint experiment.

What a learner has learned is its play without hints: with them it may only repeat them. Arms are compared with the
learners without hints, over seeds, with Holm's correction over all arms.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dond.plane import DOTS, INK, PAPER, check_drawable, open_axes
from dond_marl.seats import Doubles
from dond_marl.statistics import Estimate, holm, mean_difference, mean_of, permutation_p
from experiments.hints import NO_HINTS, HintArm, HintExperiment, Measurement
from experiments.kit import table_section
from league.tables.blocks import Section
from league.tables.figures import format_number, with_margin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CONFIDENCE = 0.95
SHARES = (0.7, 0.8, 0.9)  # of the best response, whose cost is reported


class Curve(NamedTuple):
    """The mean learning curve of an arm, M measurements."""

    decisions: Doubles  # [M] mean over seeds
    shares: list[Estimate]  # [M] over seeds


class HintRow(NamedTuple):
    """Figures of one arm at the end of training, and its cost to reach shares of the best response."""

    arm: HintArm
    available: float  # share of requested hints that were given in training; nan without requests
    reached: dict[float, Estimate]  # own decisions until a share was reached without hints, over seeds that reached it
    seeds: int
    acts: float  # of both seats, mean over seeds
    gain: Estimate  # mean over seeds of the share without hints - that of the arm ``none``; nan for it
    p: float  # of that difference, after Holm's correction; nan for ``none``
    hinted: Estimate  # share of the best response at the end, with hints
    alone: Estimate  # and without
    hinted_deals: Estimate  # shares of games
    alone_deals: Estimate


def learning_curve(experiment: HintExperiment, arm: HintArm, value: Callable[[Measurement], float]) -> Curve:
    """The mean curve of one figure of an arm over its own decisions; all seeds have as many measurements."""
    steps = list(zip(*_by_seed(experiment, arm), strict=True))
    decisions = np.array([np.mean([mark.decisions for mark in marks]) for marks in steps])
    return Curve(decisions, [mean_of([value(mark) for mark in marks], CONFIDENCE) for marks in steps])


def hint_rows(experiment: HintExperiment) -> list[HintRow]:
    """One row per arm, in the order of the experiment."""
    arms = list(dict.fromkeys(mark.arm for mark in experiment.marks))
    hinted = [arm for arm in arms if arm.hinter != NO_HINTS]
    nothing = _final_shares(experiment, HintArm(NO_HINTS, 0.0))
    p = holm([permutation_p(_final_shares(experiment, arm), nothing).p for arm in hinted])
    adjusted = dict(zip(hinted, p, strict=True))
    return [_hint_row(experiment, arm, nothing, adjusted.get(arm, math.nan)) for arm in arms]


def first_reached(marks: Sequence[Measurement], share: float) -> float | None:
    """Own decisions until play without hints first reached ``share`` of the best response.

    Interpolated linearly between two measurements; ``None`` if it was not reached.
    """
    for before, after in zip([None, *marks], marks, strict=False):
        if after.alone >= share:
            if before is None:
                return float(after.decisions)
            part = (share - before.alone) / (after.alone - before.alone)
            return before.decisions + part * (after.decisions - before.decisions)
    return None


def hint_lines(experiment: HintExperiment) -> str:
    """The results file: a header with the hinters' own points, then one row per measurement."""
    about = {
        "measured_on": experiment.label,
        "best_response": experiment.best,
        "hinters": experiment.hinters,
        "tallies": {arm: dict(tally) for arm, tally in experiment.tallies.items()},
    }
    lines: list[dict[str, object]] = [about]
    for mark in experiment.marks:
        lines.append({"hinter": mark.arm.hinter, "dropout": mark.arm.dropout, **dict(list(mark._asdict().items())[1:])})
    return "".join(json.dumps(line) + "\n" for line in lines)


def parse_hints(text: str) -> HintExperiment:
    """The inverse of :func:`hint_lines`."""
    header, *rows = (json.loads(line) for line in text.splitlines())
    marks = [Measurement(HintArm(row.pop("hinter"), row.pop("dropout")), **row) for row in rows]
    tallies = {arm: Counter(tally) for arm, tally in header.get("tallies", {}).items()}
    return HintExperiment(marks, header["hinters"], tallies, header["best_response"], header["measured_on"])


def hint_section(experiment: HintExperiment) -> Section:
    """One row per arm."""
    heads = (
        "hints", "hinter's own play", "hints given", "acts", *(f"decisions to {share:.0%}" for share in SHARES),
        "at the end", "difference from none, points", "p, Holm", "deals", "with hints", "deals with hints",
    )  # fmt: skip
    cells = []
    for row in hint_rows(experiment):
        own = experiment.hinters.get(row.arm.hinter, math.nan)
        others = (with_margin(share, "share") for share in (row.alone_deals, row.hinted, row.hinted_deals))
        cells.append([
            row.arm.name,
            format_number(own, "share"),
            format_number(row.available, "share"),
            f"{row.acts:,.0f}",
            *(_format_decisions(row, share) for share in SHARES),
            with_margin(row.alone, "share"),
            "-" if math.isnan(row.gain.mean) else _format_gain(row.gain),
            "-" if math.isnan(row.p) else f"{row.p:.2g}",
            *others,
        ])  # fmt: skip
    note = (
        f"{len({mark.seed for mark in experiment.marks})} seeds; shares of the exact best response's points against "
        f"the partner ({experiment.best:.2f} points of ten) on {experiment.label}, greedy play without hints unless a "
        "column says otherwise, 95 % intervals over seeds."
    )
    return table_section("Value of hints", heads, cells, note)


def _format_gain(gain: Estimate) -> str:
    """A difference of shares in percentage points."""
    margin = "" if math.isnan(gain.margin) else f" ±{100 * gain.margin:.1f}"
    return f"{100 * gain.mean:+.1f}{margin}"


def _final_shares(experiment: HintExperiment, arm: HintArm) -> Doubles:
    """The final share without hints of each seed of an arm, ``[n]``."""
    return np.array([marks[-1].alone for marks in _by_seed(experiment, arm)], dtype=np.float64)


def _hint_row(experiment: HintExperiment, arm: HintArm, nothing: Doubles, p: float) -> HintRow:
    learners = _by_seed(experiment, arm)
    ends = [marks[-1] for marks in learners]
    reached = {}
    for share in SHARES:
        firsts = [first for first in (first_reached(marks, share) for marks in learners) if first is not None]
        reached[share] = mean_of(firsts, CONFIDENCE)
    tally = experiment.tallies.get(arm.name, Counter())
    gain = Estimate(math.nan, 0, math.nan, math.nan)
    if len(nothing) and arm.hinter != NO_HINTS:
        gain = mean_difference(_final_shares(experiment, arm), nothing)
    return HintRow(
        arm,
        tally["available"] / tally["asked"] if tally["asked"] else math.nan,
        reached,
        len(learners),
        float(np.mean([mark.acts for mark in ends])),
        gain,
        p,
        hinted=mean_of([mark.hinted for mark in ends], CONFIDENCE),
        alone=mean_of([mark.alone for mark in ends], CONFIDENCE),
        hinted_deals=mean_of([mark.hinted_deals for mark in ends], CONFIDENCE),
        alone_deals=mean_of([mark.alone_deals for mark in ends], CONFIDENCE),
    )


def _by_seed(experiment: HintExperiment, arm: HintArm) -> list[list[Measurement]]:
    """The measurements of each seed, in order."""
    seeds = dict.fromkeys(mark.seed for mark in experiment.marks if mark.arm == arm)
    return [[mark for mark in experiment.marks if mark.arm == arm and mark.seed == seed] for seed in seeds]


def _format_decisions(row: HintRow, share: float) -> str:
    """Thousands of own decisions, with the number of seeds if some did not reach the share."""
    reached = row.reached[share]
    if not reached.n:
        return "not reached"
    margin = "" if math.isnan(reached.margin) else f" ±{reached.margin / 1000:.1f}k"
    some = "" if reached.n == row.seeds else f" ({reached.n} of {row.seeds} seeds)"
    return f"{reached.mean / 1000:.1f}k{margin}{some}"


SIZE = (10.4, 4.9)  # inches
FIXED_COLOURS = {"none": "#000000", "random": "#97a1ab"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")  # of the other hinters: Okabe and Ito 2008
_LINES = ("-", (0, (4, 2)), (0, (1, 1.4)), "-.")  # by dropout, in the order of the experiment


def draw_curves(path: Path, experiment: HintExperiment) -> None:
    """Write the figure. Raises :class:`dond.plane.PlotError`."""
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    alone, hinted = picture.subplots(1, 2, sharey=True)
    picture.subplots_adjust(left=0.07, right=0.985, bottom=0.28, top=0.86, wspace=0.06)
    _panel(alone, experiment, lambda mark: mark.alone, "without hints")
    _panel(hinted, experiment, lambda mark: mark.hinted, "with hints")
    alone.set_ylabel("share of the exact best response", color=INK)
    seeds = len({mark.seed for mark in experiment.marks})
    picture.suptitle(
        f"Value of hints: greedy play on {experiment.label}, mean of {seeds} seeds, bands {CONFIDENCE:.0%}",
        color=INK, fontsize=11, x=0.07, ha="left",
    )  # fmt: skip
    handles, labels = alone.get_legend_handles_labels()
    picture.legend(
        handles, labels, loc="lower center", ncols=3, frameon=False, fontsize=9, labelcolor=INK, handlelength=3.2
    )
    picture.savefig(path)


def _panel(axes: Axes, experiment: HintExperiment, value: Callable[[Measurement], float], title: str) -> None:
    arms = list(dict.fromkeys(mark.arm for mark in experiment.marks))
    dropouts = sorted({arm.dropout for arm in arms})
    for arm in arms:
        points = learning_curve(experiment, arm, value)
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


def _floor(experiment: HintExperiment) -> float:
    """The start of the axis: a tenth below the minimum after the first tenth of the budget."""
    last = max(mark.decisions for mark in experiment.marks)
    late = [mark for mark in experiment.marks if mark.decisions >= 0.1 * last]
    least = min(min(mark.hinted, mark.alone) for mark in late)
    return max(0.0, math.floor(10 * least) / 10 - 0.1)


def _label(arm: HintArm) -> str:
    return "no hints" if arm.hinter == NO_HINTS else arm.name


def _colour(arm: HintArm, arms: Sequence[HintArm]) -> str:
    """The colour of an arm: fixed for ``none`` and ``random``, otherwise by the order of the experiment."""
    others = [name for name in dict.fromkeys(each.hinter for each in arms) if name not in FIXED_COLOURS]
    return FIXED_COLOURS.get(arm.hinter) or COLOURS[others.index(arm.hinter) % len(COLOURS)]
