"""What a hint experiment found: learning curves, what learners of each arm have learned, and how sure a difference is.

What a learner has learned is what it plays without hints: with them it may only repeat them. Arms are compared with the
learners who were told nothing, seeds being the unit of doubt, and with Holm's correction over all arms.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles
from dond_marl.statistics import Estimate, holm, iqm_difference, mean_of, permutation_p
from experiments.hints.experiment import Arm, Experiment, Mark
from experiments.hints.settings import NOBODY
from league.standings.as_csv import write_csv
from league.tables.figures import format_number, with_margin

CONFIDENCE = 0.95


class Curve(NamedTuple):
    """One arm's learners while they learn."""

    decisions: Doubles  # [M] mean over seeds
    shares: list[Estimate]  # [M] over seeds


class Row(NamedTuple):
    """One arm at the end, and on the way there."""

    arm: Arm
    available: float  # share of the hints asked for while it learned; nan where nobody was asked
    reached: dict[float, Estimate]  # by share: own decisions until it was earned without hints, over seeds that did
    seeds: int
    acts: float  # of both seats, mean over seeds
    gain: Estimate  # share of the best response without hints, interquartile mean over seeds, more than who was told
    #                 nothing; nan for those
    p: float  # of that difference, after Holm's correction; nan where there is none
    hinted: Estimate  # share of the best response at the end, with hints
    alone: Estimate  # and without
    hinted_deals: Estimate  # shares of games
    alone_deals: Estimate


def curve(experiment: Experiment, arm: Arm, value: Callable[[Mark], float]) -> Curve:
    """One figure of an arm over its own decisions; its seeds were measured equally often."""
    steps = list(zip(*_learners(experiment, arm), strict=True))
    decisions = np.array([np.mean([mark.decisions for mark in marks]) for marks in steps])
    return Curve(decisions, [mean_of([value(mark) for mark in marks], CONFIDENCE) for marks in steps])


def rows(experiment: Experiment, shares: Sequence[float]) -> list[Row]:
    """One row per arm, in the order in which they learned."""
    arms = list(dict.fromkeys(mark.arm for mark in experiment.marks))
    told = [arm for arm in arms if arm.hinter != NOBODY]
    nothing = _at_the_end(experiment, Arm(NOBODY, 0.0))
    p = holm([permutation_p(_at_the_end(experiment, arm), nothing) for arm in told])
    adjusted = dict(zip(told, p, strict=True))
    return [_row(experiment, arm, shares, nothing, adjusted.get(arm, math.nan)) for arm in arms]


def first_reached(marks: Sequence[Mark], share: float) -> float | None:
    """Own decisions until a learner without hints first earned ``share`` of the best response.

    Interpolated linearly between two measurements; ``None`` where it never did.
    """
    for before, after in zip([None, *marks], marks, strict=False):
        if after.alone >= share:
            if before is None:
                return float(after.decisions)
            part = (share - before.alone) / (after.alone - before.alone)
            return before.decisions + part * (after.decisions - before.decisions)
    return None


def write_marks(path: Path, experiment: Experiment) -> None:
    """Every measurement as CSV."""
    heads = ["hinter", "dropout", "seed", "decisions", "acts", "told", "alone", "told_deals", "alone_deals"]
    marks = (
        [mark.arm.hinter, f"{mark.arm.dropout:g}", *map(str, mark[1:4]), *(f"{figure:.6g}" for figure in mark[4:])]
        for mark in experiment.marks
    )
    write_csv(path, [heads, *marks])


def results(experiment: Experiment) -> str:
    """Every measurement, and what the hinters themselves earn, as lines of JSON."""
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


def markdown(experiment: Experiment, shares: Sequence[float]) -> str:
    """The rows as a table of Markdown."""
    heads = (
        "hints", "the hinter's own play", "came through", "acts", *(f"decisions to {share:.0%}" for share in shares),
        "at the end", "more than without any", "p, Holm", "deals", "with its hints", "deals with them",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---'] * len(heads))}|"]
    for row in rows(experiment, shares):
        own = experiment.hinters.get(row.arm.hinter, math.nan)
        cells = (
            row.arm.name,
            format_number(own, "share"),
            format_number(row.available, "share"),
            f"{row.acts:,.0f}",
            *(_decisions(row, share) for share in shares),
            with_margin(row.alone, "share"),
            "-" if math.isnan(row.gain.mean) else _signed(row.gain),
            "-" if math.isnan(row.p) else f"{row.p:.2g}",
            *(with_margin(share, "share") for share in (row.alone_deals, row.hinted, row.hinted_deals)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _signed(gain: Estimate) -> str:
    """A difference of shares in points of a hundred."""
    margin = "" if math.isnan(gain.margin) else f" ±{100 * gain.margin:.1f}"
    return f"{100 * gain.mean:+.1f}{margin}"


def _at_the_end(experiment: Experiment, arm: Arm) -> Doubles:
    """What each seed of an arm earns without hints at its end, ``[n]``."""
    return np.array([marks[-1].alone for marks in _learners(experiment, arm)], dtype=np.float64)


def _row(experiment: Experiment, arm: Arm, shares: Sequence[float], nothing: Doubles, p: float) -> Row:
    learners = _learners(experiment, arm)
    ends = [marks[-1] for marks in learners]
    reached = {}
    for share in shares:
        firsts = [first for first in (first_reached(marks, share) for marks in learners) if first is not None]
        reached[share] = mean_of(firsts, CONFIDENCE)
    tally = experiment.tallies.get(arm.name, Counter())
    gain = Estimate(math.nan, 0, math.nan, math.nan)
    if len(nothing) and arm.hinter != NOBODY:
        gain = iqm_difference(_at_the_end(experiment, arm), nothing, CONFIDENCE)
    return Row(
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


def _learners(experiment: Experiment, arm: Arm) -> list[list[Mark]]:
    """The measurements of each seed, in order."""
    seeds = dict.fromkeys(mark.seed for mark in experiment.marks if mark.arm == arm)
    return [[mark for mark in experiment.marks if mark.arm == arm and mark.seed == seed] for seed in seeds]


def _decisions(row: Row, share: float) -> str:
    """Thousands of own decisions, and of how many seeds, where some never got there."""
    reached = row.reached[share]
    if not reached.n:
        return "not reached"
    margin = "" if math.isnan(reached.margin) else f" ±{reached.margin / 1000:.1f}k"
    some = "" if reached.n == row.seeds else f" ({reached.n} of {row.seeds} seeds)"
    return f"{reached.mean / 1000:.1f}k{margin}{some}"
