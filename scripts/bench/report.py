"""What a row of the benchmark says, and how it is measured and printed."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple


class Row(NamedTuple):
    """One comparison: us against a peer (rates, and the median of their ratios), or us against a limit."""

    what: str
    workload: str
    unit: str
    threads: int
    ours: float
    peer: str = ""
    theirs: float | None = None  # None where the peer is not installed, or where the bar is a limit
    ratio: float | None = None  # median over repeats of ours / theirs, taken in alternation
    bar: str = "none"  # where the row only informs
    reached: bool | None = None  # None where it could not be measured


Clock = Callable[[], float]
Timed = Callable[[], int]  # does the work once and returns how many units that was


def rate(work: Timed, at_least: float, clock: Clock = time.perf_counter) -> float:
    """Units per second over at least so many seconds; by ``time.process_time`` those of this process's own work."""
    units, start = 0, clock()
    while (elapsed := clock() - start) < at_least:
        units += work()
    return units / elapsed


def seconds(work: Callable[[], object], repeats: int, clock: Clock = time.perf_counter) -> list[float]:
    """How long each of ``repeats`` goes takes; by ``time.process_time`` it is processor time of this process."""
    taken = []
    for _ in range(repeats):
        began = clock()
        work()
        taken.append(clock() - began)
    return taken


def compare(
    ours: Timed, theirs: Timed, repeats: int, at_least: float, clock: Clock = time.perf_counter
) -> tuple[float, float, float]:
    """Median rates of both and the median of their ratios; the two take turns, so that a noisy neighbor hits both."""
    ours(), theirs()  # warm up
    pairs = [(rate(ours, at_least, clock), rate(theirs, at_least, clock)) for _ in range(repeats)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def machine() -> dict[str, str]:
    """Where the figures were taken."""
    return {"python": platform.python_version(), "machine": platform.machine(), "numpy": version("numpy")}


def print_rows(rows: list[Row]) -> None:
    """Two lines a row."""
    for row in rows:
        verdict = {True: "reached", False: "MISSED", None: "not measured"}[row.reached]
        bar = "no bar" if row.bar == "none" else f"bar {row.bar}: {verdict}"
        ratio = "" if row.ratio is None else f" = {row.ratio:.2f}x"
        theirs = "" if row.theirs is None else f" / {row.theirs:,.0f} ({row.peer})"
        print(f"{row.what}: {row.ours:,.4g} {row.unit}{theirs}{ratio}   {bar}")
        print(f"    {row.workload}; {row.threads} thread{'s' if row.threads > 1 else ''}")
