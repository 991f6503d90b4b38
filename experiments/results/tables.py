"""The tables under docs/results/tables, as CSV: every figure of the results files, with both ends of its interval."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from dond_marl import statistics
from dond_marl.files import read_json_lines
from dond_marl.occupants import Spec
from dond_marl.statistics import SEED_CONFIDENCE, Estimate
from experiments.hints import hint_rows, parse_hints
from experiments.results.arms import (
    PLAIN,
    WRITTEN_BY,
    arms_in,
    compare,
    describe,
    is_independent,
    restrict,
    seeds_estimate,
    with_best_labels,
)
from experiments.results.files import BENCH, boards_of, document
from league.bench.arms import ADVERSARY, NASHCONV, Column
from league.bench.table import AT_LEAST
from league.figures.rows import Figure
from league.tables.blocks import Cell, Table
from partners.rosters import TEST2, author_of

LABEL_BAR = 0.02  # points of ten: a mean gain by the best labels above it is a gain by labels
MODEL_GAMES = (
    *(f"language_model_{opponent}.json" for opponent in ("heuristic", "expert", "boulware")),
    "language_model.json",
)
PARTNERS, DIFFERENCES = ("Points of ten by",), ("Differences",)  # beginnings of captions of a leaderboard's tables
Values = Mapping[str, Any]  # by heading: estimates, figures, numbers, texts, None


def arm_rows(folder: Path, kind: Callable[[Table], bool]) -> Iterable[Values]:
    """A row for each arm, of all tables of the leaderboards for which ``kind`` holds."""
    for file in BENCH:
        for board in boards_of(file, folder):
            rows: dict[str, dict[str, Cell]] = {}
            for table in board.section.blocks:
                if isinstance(table, Table) and kind(table):
                    for row in table.rows:
                        named = zip(table.heads, row.cells, strict=True)
                        rows.setdefault(row.label, {}).update((_file_heading(*cell), cell[1]) for cell in named)
            for arm, cells in rows.items():
                name = {"arm": arm, "name": describe(arm)}
                yield {"file": f"{file}.jsonl", "roster": board.benchmark["roster"], **name, **cells}


def _file_heading(head: str, cell: Cell) -> str:
    """The heading in a file of numbers, in which exact gains of an adversary and lower bounds have one column each."""
    if head != ADVERSARY:
        return head
    return f"{ADVERSARY}, at least" if isinstance(cell, Figure) and cell.sign == AT_LEAST else NASHCONV


def label_rows(folder: Path) -> Iterable[Values]:
    """Points as played and with the best label for each partner, of arms that were measured with labels."""
    for file in BENCH:
        for board in boards_of(file, folder):
            for arm in board.arms:
                if (gains := arm.label_gains()) is None:
                    continue
                gap = statistics.mean_of(gains.tolist(), SEED_CONFIDENCE)
                played = seeds_estimate(arm)
                yield {
                    "file": f"{file}.jsonl", "roster": board.benchmark["roster"], "arm": arm.name,
                    "name": describe(arm.name), "seeds": len(arm.rows), "points": played,
                    "points with the best labels": played.mean + gap.mean, "gap": gap,
                    f"above {LABEL_BAR}": "yes" if gap.mean > LABEL_BAR else "no",
                }  # fmt: skip


def held_out_rows(folder: Path) -> Iterable[Values]:
    """Differences from plain PPO over the members of test2, with the best labels, and by who wrote the members."""
    for file in HELD_OUT:
        measured = arms_in(file, folder, TEST2)
        arms = {name: arm.arm for name, arm in measured.items()}
        if PLAIN not in arms:
            continue
        authors = sorted({author_of(partner) for partner in arms[PLAIN].partners if is_independent(partner)})
        parts: dict[str, Callable[[Spec], bool]] = {f"author {author}": partial(_is_by, author) for author in authors}
        labelled = {name: best for name, arm in arms.items() if (best := with_best_labels(arm)) is not None}
        compared = {"all": compare(arms, PLAIN), "best labels": compare(labelled, PLAIN)}
        for part, is_part in {**WRITTEN_BY, **parts}.items():
            compared[part] = compare({name: restrict(arm, is_part) for name, arm in arms.items()}, PLAIN)
        for name, arm in measured.items():
            more = {part: by_arm[name] for part, by_arm in compared.items() if name in by_arm}
            yield {
                "file": f"{file}.jsonl", "arm": name, "name": arm.name, "seeds": len(arm.arm.rows),
                **{f"points, {part}": seeds_estimate(arm.arm, Column(partners=by)) for part, by in WRITTEN_BY.items()},
                **{part: difference.points.difference for part, difference in more.items()},
                **{f"{part}, verdict": difference.points.verdict for part, difference in more.items()},
            }  # fmt: skip


def _is_by(author: str, partner: Spec) -> bool:
    return author_of(partner) == author


HELD_OUT = ("arms_test2", "arms_24m_test2")  # files


def people_rows(folder: Path) -> Iterable[Values]:
    """Accuracy of the behaviour-cloned policy in predicting people's acts."""
    report = document(folder, "people.json")
    rows = {"clone of people": report["likeness"]["accuracy"], "always PROPOSE": report["majority"]}
    for name, row in {**rows, "default heuristic": report["heuristic"]}.items():
        yield {"prediction": name, **{part: from_json(row[part]) for part in ("replies", "everywhere", "offers")}}


def language_model_rows(folder: Path) -> Iterable[Values]:
    """Points of a pretrained language model against each opponent, by seat."""
    for name in MODEL_GAMES:
        report = document(folder, name)
        member, prompt = report["member"], "short" if name == "language_model.json" else "brief, by value"
        for seat in ("both seats", "seat_0", "seat_1"):
            figures, best = report["figures"][member][seat], report["shares_of_own_points"]["best response"][seat]
            shown = {key: from_json(figures[key]) for key in ("points", "left", "deals")}
            yield {
                "opponent": report["against"], "prompt": prompt, "seat": seat, **shown,
                "share of the best response": from_json(best), "games": figures["points"]["n"],
            }  # fmt: skip


def speed_rows(folder: Path) -> Iterable[Values]:
    """Every row of the speed benchmark, with the peer's rate."""
    for name in ("speed.json", "memory_speed.json", "partner_speed.json", "growth.json", "time_to_score.json"):
        for row in document(folder, name)["rows"]:
            keys = ("what", "ours", "unit", "peer", "theirs", "ratio", "threads", "workload")
            yield {key: row.get(key) for key in keys}


def restricted_rows(folder: Path) -> Iterable[Values]:
    """Restricted Nash responses, by turns and p."""
    for row in sorted(read_json_lines(folder / "restricted.jsonl"), key=lambda row: (row["turns"], row["p"])):
        yield {
            "turns": row["turns"], "p": row["p"], "points from the set": sum(row["from_set"]) / 2,
            **bounds("NashConv", row["nash_conv"]),
            **{f"against itself, seat_{seat}": row["itself"][seat] for seat in (0, 1)},
            **bounds("best response gets, seat_0", row["response"][0]),
            **bounds("best response gets, seat_1", row["response"][1]),
            "player's gain": sum(row["player_gain"]),
            **bounds("free opponent's gain", [sum(gains) for gains in zip(*row["free_gain"], strict=True)]),
        }  # fmt: skip


def pool_rows(folder: Path) -> Iterable[Values]:
    """NashConv of the shipped equilibria by pool, points of ten of the pool's own games."""
    for row in read_json_lines(folder / "equilibrium_pools.jsonl"):
        counts = "-".join(map(str, row["counts"]))
        measured = {"share of the games": row["share"], **bounds("NashConv", row["nashconv"])}
        yield {"turns": row["turns"], "pool, items of each type": counts, **measured}


def bounds(head: str, ends: Iterable[float]) -> dict[str, float]:
    """Both exact bounds of a value, as columns."""
    low, high = ends
    return {f"{head}, low": max(low, 0.0), f"{head}, high": max(high, 0.0)}


def from_json(value: Mapping[str, Any]) -> Estimate:
    """An estimate of a JSON file."""
    low, high = (math.nan if value[end] is None else float(value[end]) for end in ("low", "high"))
    return Estimate(float(value["mean"]), value["n"], low, high)


TABLES: dict[str, Callable[[Path], Iterable[Values]]] = {
    "arms.csv": lambda folder: arm_rows(folder, lambda table: not table.caption.startswith(PARTNERS + DIFFERENCES)),
    "partners.csv": lambda folder: arm_rows(folder, lambda table: table.caption.startswith(PARTNERS)),
    "differences.csv": lambda folder: arm_rows(folder, lambda table: table.caption.startswith(DIFFERENCES)),
    "held_out.csv": held_out_rows,
    "labels.csv": label_rows,
    "hints.csv": lambda folder: hint_rows(parse_hints((folder / "hints.jsonl").read_text(encoding="utf-8"))),
    "people.csv": people_rows,
    "language_model.csv": language_model_rows,
    "speed.csv": speed_rows,
    "restricted.csv": restricted_rows,
    "equilibrium_pools.csv": pool_rows,
}


@cache
def table_rows(name: str, folder: Path) -> tuple[Values, ...]:
    """The rows of a table, with estimates as they are."""
    return tuple(TABLES[name](folder))


def table_csv(name: str, folder: Path) -> str:
    """The text of a table."""
    rows = [dict(_columns(row)) for row in table_rows(name, folder)]
    bare = dict.fromkeys(re.sub(", (low|high)$", "", head) for row in rows for head in row)
    filled = {head for row in rows for head in row}
    heads = [head for name in bare for head in (name, f"{name}, low", f"{name}, high") if head in filled]
    file = io.StringIO()
    writer = csv.DictWriter(file, heads, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _columns(row: Values) -> Iterable[tuple[str, str]]:
    """The columns of a row: an estimate has three."""
    for head, value in row.items():
        estimate = value.estimate if isinstance(value, Figure) else value
        if isinstance(estimate, Estimate):
            yield head, _text(estimate.mean)
            if not math.isnan(estimate.low):
                yield from ((f"{head}, low", _text(estimate.low)), (f"{head}, high", _text(estimate.high)))
        else:
            yield head, _text(value)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:z.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
