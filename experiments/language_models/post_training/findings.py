"""What a post-training came to: a table of own points by step, and differences with their intervals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from experiments.language_models.post_training.held_out import drawn
from experiments.language_models.post_training.settings import PostTrainingConfig
from league.tables.figures import with_margin

CONFIDENCE = 0.95

Row = dict[str, Any]


def read_rows(path: Path) -> tuple[PostTrainingConfig, list[Row]]:
    """What :func:`.experiment.keep_rows` wrote."""
    head, *rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    given = {name: value for name, value in head["config"].items() if value is not None}
    return PostTrainingConfig.model_validate(given, strict=False), rows


def markdown(config: PostTrainingConfig, rows: Sequence[Row]) -> str:
    """The table: who, after how many steps, points against each partner, the gain over the model before."""
    table, against = drawn(config), config.held_out.against
    versus = (head for name in against for head in (f"points v {name}", "more than before"))
    heads = ("who", "steps", *versus, "more, all games", "partner's points",
             "deals", "legal by itself", "training, CPU s")  # fmt: skip
    lines = [heads, ["---"] * len(heads)]
    before = _points(rows[0])
    spent: dict[str, float] = {}

    def more(row: Row, name: str | None = None) -> str:
        if row is rows[0]:
            return ""
        gained = _points(row) - before if name is None else _own(row, name) - _own(rows[0], name)
        return with_margin(_mean(gained, table))

    for row in rows:
        spent[row["arm"]] = spent.get(row["arm"], 0.0) + (row["training_seconds"] or 0.0)
        raw = row.get("raw")
        lines.append(
            [
                f"`{row['arm']}`" + (f", paid `{row['reward']}`" if "reward" in row else ""),
                f"{row['step']:,}",
                *(cell for name in against for cell in (with_margin(_mean(_own(row, name), table)), more(row, name))),
                more(row),
                with_margin(_mean(_of(row, "partner_points"), table)),
                f"{_of(row, 'deals').mean():.0%}",
                "" if raw is None else f"{raw['legal']} of {raw['asked']}",
                "" if row is rows[0] else f"{spent[row['arm']]:,.0f}",
            ]
        )
    games = before.size
    told = (
        f"Own points of ten of `{config.model}` on {table.size} held-out scenarios in both seats, {games:,} games a "
        f"row; 95 % intervals over scenarios, differences on the same games; seed {config.seed}, one training each. In "
        "a seat it can write legal lines alone; *legal by itself*: of replies that were written without that. Training "
        "seconds are of one core."
    )
    return told + "\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def all_points(config: PostTrainingConfig, row: Row) -> Estimate:
    """Own points of ten in all games of a row."""
    return _mean(_points(row), drawn(config))


def _points(row: Row) -> NDArray[np.float64]:
    return _of(row, "points")


def _own(row: Row, name: str) -> NDArray[np.float64]:
    """``[2, K]``, against one partner."""
    return np.array(row["partners"][name]["points"], dtype=np.float64)


def _of(row: Row, name: str) -> NDArray[np.float64]:
    """``[cells, K]``, a cell for each partner and seat."""
    return np.concatenate([np.array(each[name], dtype=np.float64) for each in row["partners"].values()])


def _mean(values: NDArray[np.float64], table: Scenarios) -> Estimate:
    return mean_over_scenarios(values, scenario_groups(table), CONFIDENCE)
