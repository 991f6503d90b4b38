"""Table of a post-training: own points by step, and differences with their intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from experiments.kit import table_section
from experiments.post_training.held_out import held_out_scenarios
from experiments.post_training.settings import PostTrainingConfig
from league.tables.blocks import Section
from league.tables.figures import with_margin

CONFIDENCE = 0.95

PostTrainingRow = dict[str, Any]


def read_rows(path: Path) -> tuple[PostTrainingConfig, list[PostTrainingRow]]:
    """The settings and rows of a results file."""
    head, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    given = {name: value for name, value in head["config"].items() if value is not None}
    return PostTrainingConfig.model_validate(given, strict=False), rows


def post_training_section(config: PostTrainingConfig, rows: Sequence[PostTrainingRow]) -> Section:
    """One row per arm and step: points against each partner, and the difference from the model before training."""
    scenarios, against, before = held_out_scenarios(config), config.held_out.against, _stacked(rows[0], "points")
    seconds: dict[str, float] = {}

    def mean(values: NDArray[np.float64]) -> str:
        return with_margin(_estimate(values, scenarios))

    cells = []
    for row in rows:
        first = row is rows[0]
        seconds[row["arm"]] = seconds.get(row["arm"], 0.0) + (row["training_seconds"] or 0.0)
        versus = []
        for name in against:
            own = _partner_points(row, name)
            versus += [mean(own), "" if first else mean(own - _partner_points(rows[0], name))]
        raw = row.get("raw")
        cells.append([
            row["arm"] + (f", reward {row['reward']}" if "reward" in row else ""),
            f"{row['step']:,}",
            *versus,
            "" if first else mean(_stacked(row, "points") - before),
            mean(_stacked(row, "partner_points")),
            f"{_stacked(row, 'deals').mean():.0%}",
            "" if raw is None else f"{raw['legal']} of {raw['asked']}",
            "" if first else f"{seconds[row['arm']]:,.0f}",
        ])  # fmt: skip
    points = (head for name in against for head in (f"points v {name}", "difference from before"))
    heads = ("arm", "steps", *points, "difference, all games", "partner's points", "deals", "legal without constraint",
             "training, CPU s")  # fmt: skip
    return table_section(
        "Post-training",
        heads,
        cells,
        f"Own points of ten of {config.model} on {scenarios.size} held-out scenarios in both seats, {before.size:,} "
        f"games a row; 95 % intervals over scenarios, differences on the same games; seed {config.seed}, one training "
        "each. Play is constrained to legal lines; the column legal without constraint counts unconstrained replies. "
        "Training seconds are of one core.",
    )


def all_points(config: PostTrainingConfig, row: PostTrainingRow) -> Estimate:
    """Mean own points of ten in all games of a row."""
    return _estimate(_stacked(row, "points"), held_out_scenarios(config))


def _partner_points(row: PostTrainingRow, name: str) -> NDArray[np.float64]:
    """Own points against one partner, ``[2, K]``."""
    return np.array(row["partners"][name]["points"], dtype=np.float64)


def _stacked(row: PostTrainingRow, name: str) -> NDArray[np.float64]:
    """One figure of all games, ``[cells, K]``: a cell per partner and seat."""
    return np.concatenate([np.array(each[name], dtype=np.float64) for each in row["partners"].values()])


def _estimate(values: NDArray[np.float64], table: Scenarios) -> Estimate:
    return mean_over_scenarios(values, scenario_groups(table), CONFIDENCE)
