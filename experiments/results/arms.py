"""Arms of the results files: their names in words, their estimates, and their differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from dond_marl import statistics
from dond_marl.files import read_json_lines
from dond_marl.occupants import Spec
from dond_marl.statistics import SEED_CONFIDENCE, UNKNOWN, Estimate
from experiments.results.files import boards_of
from league.bench.arms import MAIN, NASHCONV, PARTS, Arm, Column
from league.bench.differences import Difference, differences
from league.bench.figures import partner_of
from league.bench.table import SHOWN, WORST_TENTH, adversary_cell
from league.figures.rows import Figure
from league.tables.figures import count_noun, with_margin
from partners.rosters import DEV2, author_of

NAMES: dict[str, str] = yaml.safe_load(Path(__file__).with_name("names.yaml").read_text(encoding="utf-8"))
PLAIN = "pool_ppo"  # the arm that others are compared with
DEFAULT = "league_itself_20_oracles_10"  # the default league
LARGEST = ("arms_4m", "leagues", "ablation", "baselines", "bench")  # files: of an arm in several the first counts


class Measured(NamedTuple):
    """An arm with the results file that it was measured in."""

    arm: Arm
    file: str
    restricted: Estimate = UNKNOWN  # NashConv where its rows hold none

    @property
    def name(self) -> str:
        """The arm's name in words."""
        return describe(self.arm.name)

    @property
    def points(self) -> Estimate:
        """The headline, with the interval for seeds and partners like these."""
        return self.arm.headline()

    @property
    def over_seeds(self) -> Estimate:
        """The headline with the interval over seeds alone."""
        return seeds_estimate(self.arm)

    @property
    def known(self) -> Estimate:
        """Points from partners of known families, over seeds."""
        return seeds_estimate(self.arm, PARTS["known families"])

    @property
    def new(self) -> Estimate:
        """Points from partners of new families, over seeds."""
        return seeds_estimate(self.arm, PARTS["new families"])

    @property
    def gap(self) -> float:
        """Points from known families - points from new ones."""
        return self.known.mean - self.new.mean

    @property
    def worst_tenth(self) -> Estimate:
        """Points from the worst tenth of the partners, over seeds."""
        scores = self.arm.worst_tenth()
        return UNKNOWN if scores is None else statistics.mean_of(scores.tolist(), SEED_CONFIDENCE)

    @property
    def nashconv(self) -> Estimate:
        """NashConv over seeds; ``nan`` without it."""
        scores = self.arm.exploitability("nashconv")
        return self.restricted if scores is None else statistics.mean_of(scores.tolist(), SEED_CONFIDENCE)

    @property
    def gain(self) -> Figure | None:
        """Gain of an adversary, over the seeds with that figure; ``None`` without one."""
        rows = tuple(row for row in self.arm.rows if {"exploitability", "adversary"} & row.keys())
        return adversary_cell(self.arm._replace(rows=rows)) if rows else None

    @property
    def acts(self) -> float:
        """Mean acts of a training; 0 where nothing was learned or it is not known."""
        return float(np.mean([row["submission"]["acts"] or 0 for row in self.arm.rows]))

    @property
    def seeds(self) -> str:
        """The number of seeds in words."""
        return count_noun(len(self.arm.rows), "seed")

    @property
    def training(self) -> str:
        """Seeds, and acts of each training: ``10 seeds, 4.4M acts``."""
        if not self.arm.learned:
            return "nothing learned"
        return self.seeds + (f", {number(self.acts)} acts" if self.acts else "")

    def cell(self, head: str) -> str:
        """A figure as text by its heading: of :data:`FIGURES`, or ``training``."""
        return self.training if head == "training" else margin(getattr(self, FIGURES[head]))


FIGURES = {  # heading: property of an arm
    "points of ten": "points",
    "points": "over_seeds",
    "known families": "known",
    "new families": "new",
    WORST_TENTH: "worst_tenth",
    NASHCONV: "nashconv",
}


def describe(arm: str) -> str:
    """An arm's name in words."""
    return NAMES.get(arm, arm)


def seeds_estimate(arm: Arm, column: Column = MAIN["points"]) -> Estimate:
    """The headline of a column with the interval over seeds alone, these partners; ``nan`` where unknown."""
    scores = arm.scores(column)
    if np.isnan(scores).all():
        return UNKNOWN
    return statistics.mean_of(statistics.headline_scores(scores, arm.families).tolist(), SEED_CONFIDENCE)


@cache
def arms_in(file: str, folder: Path, roster: str = DEV2) -> dict[str, Measured]:
    """The arms of a results file on a roster, best first; none without them."""
    board = next((candidate for candidate in boards_of(file, folder) if candidate.benchmark["roster"] == roster), None)
    arms = {} if board is None else {arm.name: Measured(arm, file) for arm in board.arms}
    if "equilibrium" in arms and roster == DEV2:
        arms["equilibrium"] = arms["equilibrium"]._replace(restricted=equilibrium_nashconv(folder))
    return arms


def equilibrium_nashconv(folder: Path) -> Estimate:
    """NashConv of the shipped equilibrium of ten turns: the middle of its exact bounds, and these."""
    rows = [row for row in read_json_lines(folder / "restricted.jsonl") if row["turns"] == 10 and row["p"] == 0]
    if not rows:
        return UNKNOWN
    low, high = rows[0]["nash_conv"]
    return Estimate((low + high) / 2, 0, low, high)


def first_measured(names: Iterable[str], folder: Path, files: Sequence[str] = LARGEST) -> Measured | None:
    """The first arm of one of the ``names`` in the first of the ``files`` that has it on dev2."""
    return next((arms[name] for name in names for file in files if name in (arms := arms_in(file, folder))), None)


def gain_of(name: str, folder: Path) -> Figure | None:
    """Gain of an adversary from an arm, by the first file that has the figure; ``None`` without one."""
    arms = (arms_in(file, folder).get(name) for file in ("people", *LARGEST))
    return next((gain for arm in arms if arm is not None and (gain := arm.gain) is not None), None)


def differences_in(file: str, folder: Path, roster: str = DEV2) -> dict[str, Difference]:
    """Every arm of a results file - its reference arm on a roster, by arm."""
    boards = [candidate for candidate in boards_of(file, folder) if candidate.benchmark["roster"] == roster]
    return {candidate.name: candidate for board in boards for candidate in board.compared}


def compare(arms: Mapping[str, Arm], over: str) -> dict[str, Difference]:
    """Arms of several files on the same partners, by new names, compared with that of the name ``over``."""
    renamed = [arm._replace(name=name) for name, arm in arms.items()]
    return {difference.name: difference for difference in differences(renamed, over)}


def older_methods(folder: Path) -> dict[str, Difference]:
    """The league methods of the literature - plain PPO with as many acts, by arm; without variants of one league."""
    arms = {name: arm.arm for name, arm in arms_in("ablation", folder).items()}
    methods = {name: arm for name, arm in arms.items() if not name.startswith(("no_", "with_"))}
    return compare(methods, PLAIN)


def restrict(arm: Arm, is_part: Callable[[Spec], bool]) -> Arm:
    """The arm with its games against some partners alone."""
    return arm._replace(
        rows=tuple(
            {**row, "cells": [cell for cell in row["cells"] if is_part(partner_of(cell["partner"]))]}
            for row in arm.rows
        )
    )


def with_best_labels(arm: Arm) -> Arm | None:
    """The arm as if its offers to each partner had had the best label for it; ``None`` if it was measured without."""
    gains = arm.best_label_gains()
    if gains is None:
        return None
    rows = []
    for row, partner_gains in zip(arm.rows, gains, strict=True):
        head, more = row["benchmark"]["headline"], dict(zip(arm.partners, partner_gains, strict=True))
        cells = [{**cell, "points": {head: cell["points"][head] + more[cell["partner"]]}} for cell in row["cells"]]
        rows.append({**row, "cells": cells})
    return arm._replace(rows=tuple(rows))


def is_independent(partner: Spec) -> bool:
    """Whether a partner is a program of one of the independent authors."""
    return len(author_of(partner)) == 1


WRITTEN_BY: dict[str, Callable[[Spec], bool]] = {  # the parts of test2, by who wrote the partners
    "independent programs": is_independent,
    "NegMAS agents": lambda partner: author_of(partner) == "negmas",
    "this project's families": lambda partner: author_of(partner) == "project",
}


def non_dominated(arms: Sequence[Measured]) -> list[Measured]:
    """The arms such that no other has as many points and as little NashConv, by mean; the most points first."""
    comparable = sorted(
        (arm for arm in arms if not math.isnan(arm.nashconv.mean)),
        key=lambda arm: (-arm.points.mean, arm.nashconv.mean),
    )
    best, kept_arms = math.inf, []
    for arm in comparable:
        if arm.nashconv.mean < best:
            best = arm.nashconv.mean
            kept_arms.append(arm)
    return kept_arms


def plane_arms(folder: Path) -> list[Measured]:
    """Every arm with both axes, from the first of the files that has it; the most points first."""
    arms: dict[str, Measured] = {}
    for file in ("arms_4m", "arms_24m", "ablation", "full_budget", "baselines", "bench"):
        for arm in arms_in(file, folder).values():
            if not math.isnan(arm.nashconv.mean) and arm.arm.name not in PLANE_LEAVES_OUT:
                name = f"{arm.arm.name}_whole" if file == "arms_24m" else arm.arm.name  # as in full_budget
                arms.setdefault(name if name.endswith("_whole") else arm.name, arm)
    return sorted(arms.values(), key=lambda arm: -arm.points.mean)


PLANE_LEAVES_OUT = ("no_regret", "no_gate", "no_past", "no_curriculum", "with_novelty")  # parts of a league, all alike


def seeds_of(*arms: Measured) -> int:
    """The least number of seeds of the arms that learn."""
    return min((len(measured.arm.rows) for measured in arms if measured.arm.learned), default=1)


def margin(estimate: Estimate) -> str:
    """Points with half their interval, unless that is narrower than the last digit; a dash where they are unknown."""
    narrow = estimate.high - estimate.low < SHOWN["points"]
    return with_margin(estimate._replace(low=math.nan, high=math.nan) if narrow else estimate)


def number(value: float) -> str:
    """Three digits, with thousands and millions as letters."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
