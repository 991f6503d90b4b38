"""The double oracle of every kind of pool together, as one line of plain values and as tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.space import Scenarios
from experiments.double_oracle.oracle import CLOSED, Iteration, Solver, double_oracle
from league.bench.results import read_rows, replace_row
from league.standings.meta_game import max_welfare_cce, nash_bargaining_cce, strictest_cce
from league.tables.blocks import Section, Table, TableRow, number_cell

DIGITS = 6
SOLVERS: dict[str, Solver] = {
    "strictest": strictest_cce,
    "max_welfare": max_welfare_cce,
    "nash_bargaining": nash_bargaining_cce,
}


def members_of(specs: Sequence[str]) -> tuple[str, ...]:
    """Those of ``specs`` to begin with: deterministic and without memory. Raises :class:`InputError` without any."""
    traits = {spec: seat_occupant(spec).traits for spec in specs}
    found = tuple(spec for spec, of in traits.items() if of.deterministic and of.memoryless)
    if not found:
        raise InputError(f"none of {', '.join(specs)} is deterministic and without memory; begin with heuristic, say")
    return found


def performed(
    kinds: Sequence[tuple[Scenarios, float]],
    members: Sequence[str],
    turns: int,
    solver: str,
    most: int,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Every pool to its end, or to ``most`` iterations; ``tell`` is told of each iteration."""
    began, pools = time.process_time(), []
    for space, share in kinds:
        name, last = " ".join(map(str, space.counts[0].tolist())), None
        start = None
        for number, last in enumerate(double_oracle(space, members, Rules(turns), SOLVERS[solver], most=most), start=1):
            start = start or last
            tell(_told(name, number, last))
        assert last is not None and start is not None
        pools.append(
            {
                "pool": name,
                "share": round(share, DIGITS),
                "iterations": number,
                "closed": max(last.gaps) <= CLOSED,
                "members": list(last.members),
                "played": list(last.played),
                **{key: _rounded(getattr(last, key)) for key in ("values", "gaps", "apart")},
                "first": {key: _rounded(getattr(start, key)) for key in ("values", "gaps")},
                "of_the_start": [_rounded([sum(of.get(name, 0.0) for name in members)])[0] for of in last.mixtures],
            }
        )
    return {
        "turns": turns,
        "solver": solver,
        "began_with": list(members),
        "pools": pools,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(float(value), DIGITS) + 0.0 for value in values]


def _told(pool: str, number: int, found: Iteration) -> str:
    values, gaps = (" ".join(f"{value:7.4f}" for value in pair) for pair in (found.values, found.gaps))
    joining = f"joining: {', '.join(found.joining)}" if found.joining else "nobody gains"
    played, members = ("+".join(map(str, pair)) for pair in (found.played, found.members))
    return f"pool {pool}, {number:3d}: points {values}, gains {gaps}, {played} of {members} play; {joining}"


def whole(row: Mapping[str, Any], *keys: str) -> list[float]:
    """Both seats' values over all scenarios: the mean over the kinds of pools by their share; gains below 0 count 0."""
    shares, total = np.array([pool["share"] for pool in row["pools"]]), []
    for seat in range(len(SEATS)):
        worth = np.array([_at(pool, keys)[seat] for pool in row["pools"]])
        total.append(float(shares @ (np.maximum(worth, 0.0) if keys[-1] == "gaps" else worth) / shares.sum()))
    return total


def _at(pool: Mapping[str, Any], keys: Sequence[str]) -> Sequence[float]:
    found: Any = pool
    for key in keys:
        found = found[key]
    return list(found)


def section(row: Mapping[str, Any]) -> Section:
    """A line as a table: pool by pool, and over all of them."""
    heads = ("iterations", "members", "points, seat_0", "seat_1", "gain, seat_0", "gain, seat_1", "play of the first")

    def cells(values: Sequence[float], gaps: Sequence[float]) -> tuple[Any, ...]:
        return *map(number_cell, values), *map(number_cell, np.maximum(gaps, 0.0))

    rows = [
        TableRow(
            pool["pool"],
            (
                str(pool["iterations"]),
                "+".join(map(str, pool["members"])),
                *cells(pool["values"], pool["gaps"]),
                " and ".join(f"{chance:.0%}" for chance in pool["of_the_start"]),
            ),
        )
        for pool in row["pools"]
    ]
    rows.append(TableRow("all", ("", "", *cells(whole(row, "values"), whole(row, "gaps")), "")))
    open_ = [pool["pool"] for pool in row["pools"] if not pool["closed"]]
    notes = (
        "Points of ten. A gain is what the best policy with perfect recall earns more that is named before the draw: "
        "exact, and 0 where nobody gains.",
        f"Begun with {', '.join(row['began_with'])}; members of both seats are counted at the end.",
        "Nobody gains in any pool." if not open_ else f"Stopped before nobody gained: {', '.join(open_)}.",
    )
    title = f"Double oracle, {row['turns']} turns, {row['solver']} CCE"
    return Section("double_oracle", title, notes, (Table("By pool", heads, tuple(rows), label="pool"),))


def read(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return read_rows(path, section, "double oracles")


def keep(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, in the place of an older one of the same turns, solver and members."""
    replace_row(path, read(path), row, lambda each: (each["turns"], each["solver"], each["began_with"]))
