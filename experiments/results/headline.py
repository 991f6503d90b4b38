"""The README's two tables: who does best against partners that nobody has met, and what else to know first."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.results.files import lines, made_by, there
from experiments.results.rows import Row, board, every_row, figure_of, in_words, seeds_of
from league.bench.table import arms_by_protocol, leaderboard
from league.tables.blocks import Figure

BOARD = ("baselines.jsonl", "full_budget.jsonl", "bench.jsonl")  # of the board
COLUMNS = ("points", "share of reference", "worst tenth")
FIRST = {  # what a reader wants first of all rows, by file, as patterns
    "baselines.jsonl": " less ",
    "full_budget.jsonl": " less ",
    "hints.jsonl": r"never hinted|hints: best",
    "selection.jsonl": " less ",
    "people.json": "replies of people",
    "annotator.json": "",
    "speed.json": "",
}


def headline(folder: Path) -> tuple[str, list[tuple[str, ...]], list[Row], list[str]]:
    """What the board is over, its rows best first, the other figures, and the commands that made the files."""
    others = [row for row in every_row(folder) if row.file in FIRST and re.search(FIRST[row.file], row.what)]
    over, board = _board(folder)
    files = dict.fromkeys([*(name for name in BOARD if there(name, folder)), *(row.file for row in others)])
    return over, board, others, [f"- `{name}`: {made_by(name)}" for name in files]


def _board(folder: Path) -> tuple[str, list[tuple[str, ...]]]:
    found = [line for name in BOARD if there(name, folder) for line in lines(name, folder)]
    if not found:
        return "", []
    benchmark, arms = arms_by_protocol(found)[0]
    rows = [
        (in_words(arm.name), *(figure_of(cells[column]) for column in COLUMNS), seeds_of(arm))
        for arm, cells in board(arms, leaderboard(found).sections[0])
        if all(isinstance(cells.get(column), Figure) for column in COLUMNS)
    ]
    over = f"Roster {benchmark['roster']}, {benchmark['partners']} partners, both seats, {benchmark['headline']}."
    return over, rows
