"""The tables of docs/SCALING.md: what the parts of a league cost, and what a simulation makes of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from league.experiments.scaling.report import CHANGED, GROWN, HEADS, KEPT, in_words
from league.experiments.scaling.simulation import Costs, Load, Shape, alone
from scripts.results.files import document

FILE = "scaling.json"
FEW = 4  # workers beyond which a league that keeps its size is not shown: nothing changes


def _read(folder: Path) -> tuple[Costs, Shape, dict[str, list[Load]]]:
    found: dict[str, Any] = document(FILE, folder)
    loads = {name: [Load(**row) for row in rows] for name, rows in found["loads"].items()}
    return Costs(**found["costs"]), Shape(**found["shape"]), loads


def costs_list(folder: Path) -> str:
    """What everything costs, a line each."""
    costs, _, _ = _read(folder)
    return "\n".join(f"- {line}" for line in in_words(costs))


def loads_table(folder: Path, name: str) -> str:
    """A row for each number of workers."""
    costs, shape, loads = _read(folder)
    shown = [load for load in loads[name] if name != KEPT or load.workers <= FEW]
    rows = [list(_cells(load, alone(costs, shape))) for load in shown]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (HEADS, ["---:"] * len(HEADS), *rows))


def _cells(load: Load, core: float) -> Iterator[str]:
    yield str(load.workers)
    yield f"{load.seconds:.1f}"
    yield f"{load.decisions:,.0f}"
    yield f"{load.decisions / core:.1f}"
    yield from (
        f"{share:.0%}"
        for share in (load.busy, load.head, load.planning, load.handing, load.writing, load.network)
    )  # fmt: skip
    yield f"{load.stale:.1f} s"
    yield f"{load.rows:,.0f}"
    yield f"{load.ledger_bytes / 1e6:.2f} MB/s"


SCALING: dict[str, tuple[str, Callable[[Path], str]]] = {  # by block: its file, and the text
    "scaling_costs": (FILE, costs_list),
    "scaling_kept": (FILE, partial(loads_table, name=KEPT)),
    "scaling_grown": (FILE, partial(loads_table, name=GROWN)),
    "scaling_changed": (FILE, partial(loads_table, name=CHANGED)),
}
