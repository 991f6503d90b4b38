"""What a hint experiment found: learning curves, decisions to a share of the best response, and play without hints."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles
from league.experiments.hints.experiment import Arm, Experiment, Mark

CONFIDENCE = 0.95


class Spread(NamedTuple):
    """A mean over seeds with Student's interval; ``nan`` bounds where there is but one."""

    mean: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


class Curve(NamedTuple):
    """One arm's learners while they learn."""

    decisions: Doubles  # [M] mean over seeds
    spreads: list[Spread]  # [M]


class Row(NamedTuple):
    """One arm at the end, and on the way there."""

    arm: Arm
    available: float  # share of the hints asked for while it learned; nan where nobody was asked
    reached: dict[float, tuple[Spread, int]]  # by share: decisions until it was, of as many seeds as got there
    seeds: int
    told: Spread  # share of the best response at the end, with hints
    alone: Spread  # and without
    told_deals: Spread
    alone_deals: Spread


def spread(values: Sequence[float]) -> Spread:
    """The mean over seeds and its interval."""
    from scipy.special import stdtrit  # slow to import

    given = np.asarray(values, dtype=np.float64)
    mean = float(given.mean()) if len(given) else math.nan
    if len(given) < 2:
        return Spread(mean, math.nan, math.nan)
    margin = float(stdtrit(len(given) - 1, 0.5 + CONFIDENCE / 2) * given.std(ddof=1) / math.sqrt(len(given)))
    return Spread(mean, mean - margin, mean + margin)


def curve(found: Experiment, arm: Arm, value: Callable[[Mark], float]) -> Curve:
    """One figure of an arm over its own decisions; its seeds were measured equally often."""
    learners = _learners(found, arm)
    steps = list(zip(*learners, strict=True))
    decisions = np.array([np.mean([mark.decisions for mark in marks]) for marks in steps])
    return Curve(decisions, [spread([value(mark) for mark in marks]) for marks in steps])


def rows(found: Experiment, shares: Sequence[float]) -> list[Row]:
    """One row per arm, in the order in which they learned."""
    return [_row(found, arm, shares) for arm in dict.fromkeys(mark.arm for mark in found.marks)]


def first_reached(marks: Sequence[Mark], share: float) -> float | None:
    """Own decisions until a learner, told what it is told, earned ``share`` of the best response for the first time.

    Between two measurements the line through both says when.
    """
    for before, after in zip([None, *marks], marks, strict=False):
        if after.told >= share:
            if before is None:
                return float(after.decisions)
            part = (share - before.told) / (after.told - before.told)
            return before.decisions + part * (after.decisions - before.decisions)
    return None


def write_marks(path: Path, found: Experiment) -> None:
    """Every measurement as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["mode", "dropout", *Mark._fields[1:]])
        for arm, *figures in found.marks:
            writer.writerow([arm.mode, f"{arm.dropout:g}", *(f"{figure:.6g}" for figure in figures)])


def markdown(found: Experiment, shares: Sequence[float]) -> str:
    """The rows as a table of Markdown."""
    heads = (
        "hints", "came through", *(f"decisions to {share:.0%}" for share in shares), "at the end", "hints taken away",
        "deals", "deals, hints taken away", "the hinter's own play",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---'] * len(heads))}|"]
    for row in rows(found, shares):
        own = found.hinters.get(row.arm.mode)
        cells = (
            row.arm.name,
            "-" if math.isnan(row.available) else f"{row.available:.1%}",
            *(_decisions(row, share) for share in shares),
            *(_percent(one) for one in (row.told, row.alone, row.told_deals, row.alone_deals)),
            "-" if own is None else f"{own:.1%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _row(found: Experiment, arm: Arm, shares: Sequence[float]) -> Row:
    learners = _learners(found, arm)
    ends = [marks[-1] for marks in learners]
    reached = {}
    for share in shares:
        firsts = [first for first in (first_reached(marks, share) for marks in learners) if first is not None]
        reached[share] = (spread(firsts), len(firsts))
    tally = found.tallies.get(arm.name, Counter())
    asked = tally["asked"]
    return Row(
        arm,
        tally["available"] / asked if asked else math.nan,
        reached,
        len(learners),
        told=spread([mark.told for mark in ends]),
        alone=spread([mark.alone for mark in ends]),
        told_deals=spread([mark.told_deals for mark in ends]),
        alone_deals=spread([mark.alone_deals for mark in ends]),
    )


def _learners(found: Experiment, arm: Arm) -> list[list[Mark]]:
    """The measurements of each seed, in order."""
    seeds = dict.fromkeys(mark.seed for mark in found.marks if mark.arm == arm)
    return [[mark for mark in found.marks if mark.arm == arm and mark.seed == seed] for seed in seeds]


def _decisions(row: Row, share: float) -> str:
    told, seeds = row.reached[share]
    if not seeds:
        return "not reached"
    margin = "" if math.isnan(told.margin) else f" ±{told.margin / 1000:.1f}k"
    some = "" if seeds == row.seeds else f" ({seeds} of {row.seeds} seeds)"
    return f"{told.mean / 1000:.1f}k{margin}{some}"


def _percent(told: Spread) -> str:
    return f"{told.mean:.1%}" + ("" if math.isnan(told.margin) else f" ±{told.margin:.1%}")
