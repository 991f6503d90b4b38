"""The results files, and the command that makes each."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dond_marl.errors import RunFailure
from dond_marl.files import read_json_lines
from experiments.baselines import BaselinesConfig
from league.bench.differences import SMALLEST_EFFECT
from league.bench.results import Row, has_results, read
from league.bench.table import Board, boards
from league.settings.read import load_config

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "results"
TABLES_FOLDER = FOLDER / "tables"  # generated from the files next to it
CONFIGS = ROOT / "experiments" / "configs"
ABOUT = yaml.safe_load(Path(__file__).with_name("files.yaml").read_text(encoding="utf-8"))
COMPARISONS: dict[str, str] = {  # results files of arms, and their configs
    **ABOUT["arms"],
    **{
        path.stem: path.stem
        for path in sorted(CONFIGS.glob("*.yaml"))
        if path.stem not in ABOUT["arms"].values() and "\narms:" in path.read_text(encoding="utf-8")
    },
}
SINGLE = ("bench", "expert", "ppo_fast", "beliefs", "exploiters", "negotiatebench")  # files without a config of arms
BENCH = (*COMPARISONS, *SINGLE)  # results files of the benchmark
REFERENCE = {"exploiters": "exploiter", "beliefs": "own"}  # the arm that others are compared with
# Exact best responses to arms that were measured before the benchmark's own lines held them.
EXPLOITED = ("exploited.jsonl", "exploited_whole.jsonl", "exploited_robust.jsonl")
MADE_BY: dict[str, str] = {
    **{
        f"{name}.jsonl": f"python -m experiments baselines --config {config}.yaml --results docs/results/{name}.jsonl"
        for name, config in COMPARISONS.items()
    },
    **ABOUT["commands"],
}


def made_by(name: str) -> str:
    """The command that makes a file, in Markdown."""
    note = ABOUT["notes"].get(name)
    return f"`{MADE_BY[name]}`" + (f" ({note})" if note else "")


def document(folder: Path, name: str) -> Any:
    """The content of a JSON file, or the rows of one of JSON lines. Raises :class:`RunFailure` if it cannot be read."""
    path = folder / name
    try:
        return read_json_lines(path) if path.suffix == ".jsonl" else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFailure(f"{path}: cannot be read ({error}); make it again by: {MADE_BY[name]}") from None


@cache
def boards_of(name: str, folder: Path) -> list[Board]:
    """The leaderboards of a results file, compared with its reference arm, by protocol; none if it is not measured.

    Read once in a process: the intervals take seconds. Raises :class:`league.bench.results.ResultsError`, and
    :class:`RunFailure` for rows of uncommitted sources.
    """
    if not has_results(folder / f"{name}.jsonl"):
        return []
    rows, reference, effect = bench_rows(f"{name}.jsonl", folder), REFERENCE.get(name), SMALLEST_EFFECT
    if name in COMPARISONS:
        comparison = load_config(CONFIGS / f"{COMPARISONS[name]}.yaml", (), BaselinesConfig).comparison
        reference, effect = comparison.reference, comparison.smallest_effect
    return boards(rows, reference, effect)


def bench_rows(name: str, folder: Path) -> list[Row]:
    """The rows of a results file of the benchmark, with the exploitability of those that were measured without."""
    rows, gains = read([folder / name]), _exploitability(folder)
    if uncommitted := [row["submission"]["name"] for row in rows if row["code"].get("uncommitted")]:
        raise RunFailure(f"{name}: {uncommitted[0]} was measured by uncommitted sources; measure it again by a commit")
    return [{"exploitability": gains[key], **row} if (key := _run_of(row)) in gains else row for row in rows]


def _run_of(row: Row) -> tuple[str, int | None, str | None]:
    submission = row["submission"]
    return submission["name"], submission["seed"], submission["settings_sha256"]


@cache
def _exploitability(folder: Path) -> dict[tuple[str, int | None, str | None], Row]:
    """Gains of exact best responses, by arm, seed and settings of the run."""
    gains = {}
    for line in (line for name in EXPLOITED for line in read_json_lines(folder / name)):
        gain = {"gain": line["gain"], "nashconv": sum(line["gain"])}
        gains[line["arm"], line["seed"], line["settings_sha256"]] = {
            "self_play": line["itself"], "response": line["response"], **gain,
        }  # fmt: skip
    return gains
