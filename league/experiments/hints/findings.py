"""What a hint experiment found: learning curves, decisions to a share of the best response, and play without hints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles
from dond_marl.yardsticks.metrics import Estimate, mean_of
from league.display.figures import spelled, with_half
from league.experiments.hints.experiment import Arm, Experiment, Mark
from league.standings.as_csv import write_csv

CONFIDENCE = 0.95


class Curve(NamedTuple):
    """One arm's learners while they learn."""

    decisions: Doubles  # [M] mean over seeds
    shares: list[Estimate]  # [M] over seeds


class Row(NamedTuple):
    """One arm at the end, and on the way there."""

    arm: Arm
    available: float  # share of the hints asked for while it learned; nan where nobody was asked
    reached: dict[float, Estimate]  # by share: own decisions until it was earned, over the seeds that got there
    seeds: int
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
    return [_row(experiment, arm, shares) for arm in dict.fromkeys(mark.arm for mark in experiment.marks)]


def first_reached(marks: Sequence[Mark], share: float) -> float | None:
    """Own decisions until a learner with its hints first earned ``share`` of the best response.

    Interpolated linearly between two measurements; ``None`` where it never did.
    """
    for before, after in zip([None, *marks], marks, strict=False):
        if after.hinted >= share:
            if before is None:
                return float(after.decisions)
            part = (share - before.hinted) / (after.hinted - before.hinted)
            return before.decisions + part * (after.decisions - before.decisions)
    return None


def write_marks(path: Path, experiment: Experiment) -> None:
    """Every measurement as CSV."""
    heads = ["mode", "dropout", "seed", "decisions", "told", "alone", "told_deals", "alone_deals"]
    marks = ([arm.mode, f"{arm.dropout:g}", *(f"{figure:.6g}" for figure in rest)] for arm, *rest in experiment.marks)
    write_csv(path, [heads, *marks])


def markdown(experiment: Experiment, shares: Sequence[float]) -> str:
    """The rows as a table of Markdown."""
    heads = (
        "hints", "came through", *(f"decisions to {share:.0%}" for share in shares), "at the end", "hints taken away",
        "deals", "deals, hints taken away", "the hinter's own play",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---'] * len(heads))}|"]
    for row in rows(experiment, shares):
        own = experiment.hinters.get(row.arm.mode, math.nan)
        cells = (
            row.arm.name,
            spelled(row.available, "share"),
            *(_decisions(row, share) for share in shares),
            *(with_half(share, "share") for share in (row.hinted, row.alone, row.hinted_deals, row.alone_deals)),
            spelled(own, "share"),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _row(experiment: Experiment, arm: Arm, shares: Sequence[float]) -> Row:
    learners = _learners(experiment, arm)
    ends = [marks[-1] for marks in learners]
    reached = {}
    for share in shares:
        firsts = [first for first in (first_reached(marks, share) for marks in learners) if first is not None]
        reached[share] = mean_of(firsts, CONFIDENCE)
    tally = experiment.tallies.get(arm.name, Counter())
    return Row(
        arm,
        tally["available"] / tally["asked"] if tally["asked"] else math.nan,
        reached,
        len(learners),
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
