"""The tables of docs/CROWD.md: the best reply to a crowd, and the double oracle of short games."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.statistics import mean_of
from experiments.double_oracle.report import read as read_oracles
from experiments.double_oracle.report import whole
from experiments.results.files import lines, there
from league.bench.mixture_response import read as read_crowds
from league.bench.protocol import ALL, CONFIDENCE
from league.bench.table import arms_by_protocol
from league.tables.figures import with_margin
from partners.rosters import ROSTERS, TRAIN

BESIDE = ("expert.jsonl", "selection.jsonl", "baselines.jsonl")  # who else met the same members
SEEN = 5e-4  # points of ten; ends that differ by less are written as one figure


def crowd_rows(folder: Path) -> Iterator[list[str]]:
    """A row for each crowd and seat."""
    for row in _by_roster(folder):
        for seat, side in enumerate(row["seats"]):
            kind = "all that are deterministic" if row["with_memory"] else "those without memory"
            kind += ", gamblers too" if row.get("with_gamblers") else ""
            members = f"{row['crowd']}, {kind}: {len(row['cells'])}"
            yield [members, f"seat_{seat}", *(_between(side[key]) for key in ("known", "reply", "price"))]


def beside_rows(folder: Path) -> Iterator[list[str]]:
    """What others earn against the same members over the same scenarios, who did not know that it would be they."""
    for row in _by_roster(folder):
        if row["with_memory"] or row.get("with_gamblers"):
            continue
        members = {cell["partner"] for cell in row["cells"]}
        over = f"{row['crowd']}, {len(members)} members without memory"
        yield [over, "the best reply to the crowd", *(f"{side['reply'][1]:.2f}" for side in row["seats"]), ""]
        known: set[str] = set()
        for name in BESIDE:
            for benchmark, arms in arms_by_protocol(lines(name, folder)) if there(name, folder) else ():
                if benchmark["roster"] != row["crowd"] or not benchmark["every_scenario"]:
                    continue
                for arm in arms:
                    if arm.name in known:
                        continue
                    known.add(arm.name)
                    seeds = f"{len(arm.rows)} seeds" if len(arm.rows) > 1 else "1 seed"
                    learned = arm.rows[0]["submission"]["learned"]
                    figures = [f"{_mean(arm.rows, members, seat):.2f}" for seat in (0, 1)]
                    yield [over, arm.name, *figures, f"{seeds if learned else 'nothing learned'}, `{name}`"]


def taught_rows(folder: Path) -> Iterator[list[str]]:
    """What networks earn from the members without memory of the roster train, beside the best reply to them."""
    crowds = [row for row in _by_roster(folder) if row["crowd"] == TRAIN]
    best = next(row for row in crowds if not row["with_memory"] and not row.get("with_gamblers"))
    members, replies = {cell["partner"] for cell in best["cells"]}, [side["reply"][1] for side in best["seats"]]
    yield ["the best reply to the crowd", "", *(cell for reply in replies for cell in (f"{reply:.2f}", f"{1:.1%}"))]
    for _, arms in arms_by_protocol(lines("taught_crowd.jsonl", folder)):
        for arm in arms:
            cells = []
            for seat, reply in enumerate(replies):
                points = [_mean([row], members, seat) for row in arm.rows]
                cells.append(with_margin(mean_of(points, CONFIDENCE), "points"))
                cells.append(with_margin(mean_of([each / reply for each in points], CONFIDENCE), "share"))
            yield [arm.name, str(len(arm.rows)), *cells]


def oracle_rows(folder: Path) -> Iterator[list[str]]:
    """A row for each horizon and solver."""
    for row in read_oracles(folder / "double_oracle.jsonl"):
        pools = row["pools"]
        values, gaps = whole(row, "values"), whole(row, "gaps")
        yield [
            str(row["turns"]),
            row["solver"],
            f"{sum(pool['closed'] for pool in pools)} of {len(pools)}",
            _range([pool["iterations"] for pool in pools]),
            _range([sum(pool["members"]) for pool in pools]),
            *(f"{value:.2f}" for value in values),
            *(f"{gap:.4f}" for gap in gaps),
            " and ".join(f"{share:.0%}" for share in whole(row, "of_the_start")),
            f"{row['processor_seconds']:.0f}",
        ]


def _by_roster(folder: Path) -> list[Mapping[str, Any]]:
    rows = [row for row in read_crowds(folder / "crowd.jsonl") if row["crowd"] in ROSTERS]
    return sorted(
        rows, key=lambda row: (ROSTERS.index(row["crowd"]), row["with_memory"], row.get("with_gamblers", False))
    )


def _mean(results: Sequence[Mapping[str, Any]], members: set[str], seat: int) -> float:
    """Points of ten against the members over all scenarios, mean over seeds; ``nan`` where one was not met."""
    cells = [cell for result in results for cell in result["cells"] if cell["seat"] == seat]
    points = [cell["points"][ALL] for cell in cells if cell["partner"] in members]
    return float(np.mean(points)) if len(points) == len(members) * len(results) else math.nan


def _between(ends: Sequence[float]) -> str:
    low, high = (round(end, 2) + 0.0 for end in ends)  # no nought has a sign
    return f"{high:.2f}" if ends[1] - ends[0] < SEEN else f"{low:.2f} to {high:.2f}"


def _range(numbers: Sequence[int]) -> str:
    return f"{min(numbers)} to {max(numbers)}" if min(numbers) < max(numbers) else str(numbers[0])
