"""Sections about opponents: best responses to mixtures of partners, recognition of the opponent, and robustness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.game import SEATS
from dond_marl.statistics import mean_of
from experiments.baselines.exploited import SHOWN, read_exploited
from experiments.kit import table_section
from experiments.mixture_response import read_mixtures
from experiments.recognition import read_recognitions
from experiments.results.files import bench_rows, exists
from experiments.results.rows import ARMS, board_rows, format_figure, seat_mean
from league.bench.figures import with_shares
from league.bench.protocol import ALL, CONFIDENCE
from league.bench.results import Row
from league.bench.table import arms_by_protocol, leaderboard
from league.tables.blocks import Section
from league.tables.figures import with_margin
from partners.rosters import DEV, ROSTERS, TRAIN

RECOGNITION, REPLIES = "recognition.jsonl", "dev_replies.jsonl"
COMPARED = ("expert.jsonl", "selection.jsonl", "baselines.jsonl")  # policies measured on the same members
REPLIES_COMPARED = ("taught.jsonl", "memory.jsonl", "expert.jsonl")
TARGETED = "best_response"  # rows of a best response to one known member
EQUAL = 5e-4  # points of ten; bounds that differ by less are written as one figure
OWN_TURNS = 5  # of a seat in a game of ten
UNKNOWN = "-"

Cells = dict[tuple[str, int], Row]


def mixture_sections(folder: Path) -> list[Section]:
    """Best responses to uniform mixtures of partners, and other policies against the same partners."""
    mixtures: list[list[str]] = []
    others: list[list[str]] = []
    for row in _mixtures(folder):
        kind = "all deterministic ones" if row["with_memory"] else "memoryless ones"
        kind += ", stochastic ones too" if row.get("with_gamblers") else ""
        for seat, side in zip(SEATS, row["seats"], strict=True):
            label = f"{row['crowd']}, {kind}: {len(row['cells'])}"
            mixtures.append([label, seat, *(_bounds(side[key]) for key in ("known", "reply", "price"))])
        if not row["with_memory"] and not row.get("with_gamblers"):
            others += _policies_against(row, folder)
    heads = ("partners", "seat", "best response to the known partner", "best response to the mixture", "difference")
    other_heads = ("partners", "policy", "as seat_0", "as seat_1", "training")
    return [
        table_section("Best responses to mixtures of partners", heads, mixtures),
        table_section("Policies against the same partners", other_heads, others,
                      "Against the same partners over the same scenarios, points of ten:"),
    ]  # fmt: skip


def _policies_against(row: Mapping[str, Any], folder: Path) -> Iterator[list[str]]:
    """Points by seat of the best response to a mixture, and of arms that did not know the mixture."""
    members = {cell["partner"] for cell in row["cells"]}
    label = f"{row['crowd']}, {len(members)} memoryless members"
    yield [label, "the best response to the mixture", *(f"{side['reply'][1]:.2f}" for side in row["seats"]), ""]
    names: set[str] = set()
    for file in COMPARED:
        for benchmark, arms in arms_by_protocol(bench_rows(file, folder)) if exists(file, folder) else ():
            if benchmark["roster"] != row["crowd"] or not benchmark["every_scenario"]:
                continue
            for arm in arms:
                if arm.name not in names:
                    names.add(arm.name)
                    seeds = f"{len(arm.rows)} seeds" if len(arm.rows) > 1 else "1 seed"
                    learned = arm.rows[0]["submission"]["learned"]
                    points = [f"{_mean_points(arm.rows, members, seat):.2f}" for seat in (0, 1)]
                    yield [label, arm.name, *points, f"{seeds if learned else 'nothing learned'}, {file}"]


def taught_section(folder: Path) -> Section:
    """Networks against the memoryless members of the roster train, compared with the best response to them."""
    mixtures = [row for row in _mixtures(folder) if row["crowd"] == TRAIN]
    best = next(row for row in mixtures if not row["with_memory"] and not row.get("with_gamblers"))
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


def _mixtures(folder: Path) -> list[Mapping[str, Any]]:
    rows = [row for row in read_mixtures(folder / "crowd.jsonl") if row["crowd"] in ROSTERS]
    return sorted(
        rows, key=lambda row: (ROSTERS.index(row["crowd"]), row["with_memory"], row.get("with_gamblers", False))
    )


def _mean_points(results: Sequence[Mapping[str, Any]], members: set[str], seat: int) -> float:
    """Points of ten against the members over all scenarios, mean over seeds; ``nan`` if a member is missing."""
    cells = [cell for result in results for cell in result["cells"] if cell["seat"] == seat]
    points = [cell["points"][ALL] for cell in cells if cell["partner"] in members]
    return float(np.mean(points)) if len(points) == len(members) * len(results) else math.nan


def _bounds(ends: Sequence[float]) -> str:
    low, high = (round(end, 2) + 0.0 for end in ends)  # + 0.0: no negative zero
    return f"{high:.2f}" if ends[1] - ends[0] < EQUAL else f"{low:.2f} to {high:.2f}"


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


def identity_section(folder: Path) -> Section:
    """Accuracy in naming the opponent, by member, seat and number of own turns."""
    rows = []
    for label, seeds in _by_arm(folder):
        for seat, own, turns in _turns(seeds):
            games = sum(turn["games"] for turn in turns)
            separable = f"{sum(turn['apart'] for turn in turns) / games:.1%}"
            shares = [_mean_share(turns, name) for name in ("right", "right_exact", "right_apart", "right_apart_exact")]
            numbers = (str(own), f"{games / len(turns):,.0f}")
            rows.append([label, SEATS[seat], *numbers, *shares[:2], separable, *shares[2:]])
    heads = ("policy", "seat", "own turns", "games", "named correctly", "exact", "separable", "correct there",
             "exact there")  # fmt: skip
    return table_section("Recognition of the opponent", heads, rows)


def values_section(folder: Path) -> Section:
    """Brier scores of beliefs about the opponent's values, by member, seat and number of own turns."""
    rows = []
    for label, seeds in _by_arm(folder):
        for seat, own, turns in _turns(seeds):
            scores = [_mean(turns, name) for name in ("brier", "brier_exact", "brier_prior")]
            more = UNKNOWN if scores[0] is None or not scores[1] else f"{scores[0] / scores[1] - 1:+.0%}"
            texts = (UNKNOWN if score is None else f"{score:.3f}" for score in scores)
            rows.append([label, SEATS[seat], str(own), *texts, more])
    heads = ("policy", "seat", "own turns", "Brier score", "exact", "before the game", "above exact")
    return table_section("Beliefs about the opponent's values", heads, rows)


def calibration_section(folder: Path) -> Section:
    """The share of events that came true, by member, own turns and believed probability."""
    rows = []
    for label, seeds in _by_arm(folder):
        for own in sorted({own for _, own, _ in _turns(seeds)}):
            turns = [turn for _, at, each in _turns(seeds) for turn in each if at == own and turn["calibration"]]
            if turns:
                bins = zip(*(turn["calibration"] for turn in turns), strict=True)
                rows.append([label, str(own), *(_share_true(each) for each in bins)])
    heads = ("policy", "own turns", *(f"believed {10 * low}-{10 * low + 10}%" for low in range(10)))
    return table_section("Calibration of beliefs", heads, rows)


def regret_section(folder: Path) -> Section:
    """Regret by own turn compared with the best response, points, by member and seat."""
    rows = []
    for label, seeds in _by_arm(folder):
        for seat in (0, 1):
            points: dict[int, float] = {}  # a seed without games of this length has no regret there
            for turn in (turn for row in seeds for turn in row["seats"][seat]["lost"]):
                points[turn["own"]] = points.get(turn["own"], 0.0) + turn["points"] / len(seeds)
            cells = [f"{points[own]:.2f}" if own in points else UNKNOWN for own in range(OWN_TURNS)]
            rows.append([label, SEATS[seat], *cells, f"{sum(points.values()):.2f}" if points else UNKNOWN])
    heads = ("policy", "seat", *(f"after {own} own turns" for own in range(OWN_TURNS)), "total")
    return table_section("Regret by own turn", heads, rows)


def _by_arm(folder: Path) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The rows of each name, its seeds together, in the order of the file."""
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for row in read_recognitions(folder / RECOGNITION):
        arms.setdefault(f"{row['who']}, {row['crowd']}", []).append(row)
    return [(f"{label} ({len(rows)} seeds)" if len(rows) > 1 else label, rows) for label, rows in arms.items()]


def _turns(seeds: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, int, list[Mapping[str, Any]]]]:
    """Seat, number of own turns, and the figures of every seed there."""
    for seat in (0, 1):
        by_turn: dict[int, list[Mapping[str, Any]]] = {}
        for row in seeds:
            for turn in row["seats"][seat]["slices"][ALL]:
                by_turn.setdefault(turn["own"], []).append(turn)
        for own, turns in sorted(by_turn.items()):
            yield seat, own, turns


def _mean(turns: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [turn[name] for turn in turns if turn[name] is not None]
    return sum(values) / len(values) if values else None


def _mean_share(turns: Sequence[Mapping[str, Any]], name: str) -> str:
    mean = _mean(turns, name)
    return UNKNOWN if mean is None else f"{mean:.1%}"


def _share_true(bins: Sequence[Sequence[float]]) -> str:
    """The share that came true over the seeds and seats of one bin; unknown for rare beliefs."""
    number = sum(count for count, _, _ in bins)
    return f"{sum(count * true for count, _, true in bins) / number:.0%}" if number >= 100 else UNKNOWN
