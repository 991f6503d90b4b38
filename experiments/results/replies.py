"""What best responses earn and agree to against the roster dev, and others beside them, of docs/RESULTS.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from dond_marl.game import SEATS
from dond_marl.statistics import mean_of
from experiments.results.files import lines, there
from league.bench.protocol import CONFIDENCE
from league.bench.references import with_shares
from league.bench.results import Row
from league.tables.figures import with_margin
from partners.rosters import DEV

FILE = "dev_replies.jsonl"
TOLD = "best_response"  # a line for each member, against that one alone
BESIDE = ("taught.jsonl", "memory.jsonl", "expert.jsonl")
HEADS = ("who", "seeds", "of the best response", "worst cell", *(f"deals as {seat}" for seat in SEATS), "of its deals")

Cells = dict[tuple[str, int], Row]


def reply_rows(folder: Path) -> Iterator[list[str]]:
    """A row each over the held-out views; deals are of the members to which a best response was played."""
    told: Cells = {}
    others: dict[str, list[Cells]] = {}
    for name in (FILE, *BESIDE):
        for row in lines(name, folder) if there(name, folder) else ():
            cells = {(cell["partner"], cell["seat"]): cell for cell in with_shares(row)["cells"]}
            if row["submission"]["name"] == TOLD:
                told |= cells
            elif row["benchmark"]["roster"] == DEV and row["benchmark"]["every_scenario"]:
                others.setdefault(row["submission"]["name"], []).append(cells)
    head = lines(FILE, folder)[0]["benchmark"]["headline"]
    yield [f"the best response, told whom it faces ({len(told) // 2} members)", "", "", "", *_deals([told], told)]
    for name, seeds in others.items():
        yield [name, *_shares(seeds, head), *_deals(seeds, told)]


def _shares(seeds: Sequence[Cells], head: str) -> Iterator[str]:
    """How many seeds, their shares of the references, and the least of them, of all cells."""
    yield str(len(seeds)) if len(seeds) > 1 else ""
    keys = list(seeds[0])
    shares = np.array([[cells[key]["points"][head] / cells[key]["reference"][head] for key in keys] for cells in seeds])
    yield with_margin(mean_of(shares.mean(axis=1), CONFIDENCE), "share")
    worst = shares.mean(axis=0).argmin()
    partner, seat = keys[worst]
    yield f"{shares[:, worst].mean():.1%} ({partner}, {SEATS[seat]})"


def _deals(seeds: Sequence[Cells], told: Cells) -> Iterator[str]:
    """Deals by seat, and all of them as a share of the best responses', of the cells that these were played in."""
    deals = np.array([[cells[key]["deal"] for key in told] for cells in seeds])
    for number in range(len(SEATS)):
        yield with_margin(mean_of(deals[:, [key[1] == number for key in told]].mean(axis=1), CONFIDENCE), "share")
    agreed = np.mean([cell["deal"] for cell in told.values()])
    yield with_margin(mean_of(deals.mean(axis=1) / agreed, CONFIDENCE), "share")
