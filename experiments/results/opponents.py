"""Sections about opponents: networks with targets from best responses, best responses, and robustness."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.game import SEATS
from dond_marl.statistics import mean_of
from experiments.baselines.exploited import SHOWN, read_exploited
from experiments.kit import table_section
from experiments.results.files import bench_rows, exists
from experiments.results.rows import ARMS, board_rows, format_figure, seat_mean
from league.bench.figures import with_shares
from league.bench.protocol import ALL, CONFIDENCE
from league.bench.results import Row
from league.bench.table import arms_by_protocol, leaderboard
from league.tables.blocks import Section
from league.tables.figures import with_margin
from partners.rosters import DEV, TRAIN

REPLIES = "dev_replies.jsonl"
MIXTURES = "crowd.jsonl"  # archived: the points of the best response to the members of a roster
REPLIES_COMPARED = ("taught.jsonl", "memory.jsonl", "expert.jsonl")
TARGETED = "best_response"  # rows of a best response to one known member

Cells = dict[tuple[str, int], Row]


def taught_section(folder: Path) -> Section:
    """Networks against the memoryless members of the roster train, compared with the best response to them."""
    mixtures = map(json.loads, (folder / MIXTURES).read_text(encoding="utf-8").splitlines())
    best = next(row for row in mixtures if row["crowd"] == TRAIN and not row.get("with_gamblers"))
    members, upper = {cell["partner"] for cell in best["cells"]}, [side["reply"][1] for side in best["seats"]]
    rows = [
        ["the best response to the mixture", "", *(cell for points in upper for cell in (f"{points:.2f}", "100.0%"))]
    ]
    for _, arms in arms_by_protocol(bench_rows("taught_crowd.jsonl", folder)):
        for arm in arms:
            cells = []
            for seat, most in enumerate(upper):
                points = [_mean_points([row], members, seat) for row in arm.rows]
                cells.append(with_margin(mean_of(points, CONFIDENCE), "points"))
                cells.append(with_margin(mean_of([each / most for each in points], CONFIDENCE), "share"))
            rows.append([arm.name, str(len(arm.rows)), *cells])
    heads = ("policy", "seeds", "as seat_0", "of the best response", "as seat_1", "of the best response")
    return table_section("Networks with targets from the best response", heads, rows)


def _mean_points(results: Sequence[Mapping[str, Any]], members: set[str], seat: int) -> float:
    """Points of ten against the members over all scenarios, mean over seeds; ``nan`` if a member is missing."""
    cells = [cell for result in results for cell in result["cells"] if cell["seat"] == seat]
    points = [cell["points"][ALL] for cell in cells if cell["partner"] in members]
    return float(np.mean(points)) if len(points) == len(members) * len(results) else math.nan


def replies_section(folder: Path) -> Section:
    """Best responses to the members of the roster dev, and other policies there, on the held-out views.

    Shares are of the points of the best response, deals of the members with a best response.
    """
    targeted: Cells = {}
    others: dict[str, list[Cells]] = {}
    for name in (REPLIES, *REPLIES_COMPARED):
        for row in bench_rows(name, folder) if exists(name, folder) else ():
            cells = {(cell["partner"], cell["seat"]): cell for cell in with_shares(row)["cells"]}
            if row["submission"]["name"] == TARGETED:
                targeted |= cells
            elif row["benchmark"]["roster"] == DEV and row["benchmark"]["every_scenario"]:
                others.setdefault(row["submission"]["name"], []).append(cells)
    scenarios = bench_rows(REPLIES, folder)[0]["benchmark"]["headline"]
    label = f"best response to each known partner ({len(targeted) // 2} members)"
    rows = [[label, "", "", "", *_deals([targeted], targeted)]]
    rows += [[name, *_share_columns(seeds, scenarios), *_deals(seeds, targeted)] for name, seeds in others.items()]
    deals = (f"deals as {seat}" for seat in SEATS)
    heads = ("policy", "seeds", "of the best response", "worst cell", *deals, "of its deals")
    return table_section("Best responses on the roster dev", heads, rows)


def _share_columns(seeds: Sequence[Cells], scenarios: str) -> Iterator[str]:
    """The number of seeds, the mean share of the references, and the cell with the lowest share."""
    yield str(len(seeds)) if len(seeds) > 1 else ""
    keys = list(seeds[0])
    shares = np.array(
        [[cells[key]["points"][scenarios] / cells[key]["reference"][scenarios] for key in keys] for cells in seeds]
    )
    yield with_margin(mean_of(shares.mean(axis=1), CONFIDENCE), "share")
    worst = shares.mean(axis=0).argmin()
    partner, seat = keys[worst]
    yield f"{shares[:, worst].mean():.1%} ({partner}, {SEATS[seat]})"


def _deals(seeds: Sequence[Cells], targeted: Cells) -> Iterator[str]:
    """Deals by seat, and all deals as a share of the best responses', in the cells of the latter."""
    deals = np.array([[cells[key]["deal"] for key in targeted] for cells in seeds])
    for number in range(len(SEATS)):
        yield with_margin(mean_of(deals[:, [key[1] == number for key in targeted]].mean(axis=1), CONFIDENCE), "share")
    agreed = np.mean([cell["deal"] for cell in targeted.values()])
    yield with_margin(mean_of(deals.mean(axis=1) / agreed, CONFIDENCE), "share")


def robust_section(folder: Path) -> Section:
    """Points and exploitability by the share of games against itself, the smallest share first."""
    arms = (*(arm for arm in ARMS if arm.startswith("itself_")), "league")
    cells = []
    for name, exploited in (("robust.jsonl", "exploited_robust.jsonl"), ("ablation.jsonl", "exploited.jsonl")):
        dev = (row for row in bench_rows(name, folder) if row["benchmark"]["roster"] == DEV)
        rows = [row for row in dev if row["submission"]["name"] in arms]  # intervals of other arms would take time
        points = {arm.name: row for arm, row in board_rows(arms_by_protocol(rows)[0][1], leaderboard(rows).sections[0])}
        lines = read_exploited(folder / exploited)
        for arm in arms:
            own = [line for line in lines if line["arm"] == arm]
            if arm in points and own:
                figures = (format_figure(points[arm][key]) for key in ("points", "share of reference"))
                seats = (seat_mean(own, key, seat) for key in SHOWN for seat in (0, 1))
                cells.append([ARMS[arm], str(len(own)), *figures, *seats])
    heads = (
        "policy", "seeds", "points of ten, roster dev", "of the reference", "against itself, seat_0", "seat_1",
        "best response gets, seat_0", "seat_1", "gain beyond first-mover power, seat_0", "seat_1",
    )  # fmt: skip
    return table_section("Games against itself", heads, cells)
