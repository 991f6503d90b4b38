"""Rows of the benchmark: measuring, comparing and printing them."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple


class BenchmarkRow(NamedTuple):
    """One comparison: us against a peer (rates, and the median of their ratios), or us against a limit."""

    what: str
    workload: str
    unit: str
    threads: int
    ours: float
    peer: str = ""
    theirs: float | None = None  # None where the peer is not installed, or where the bar is a limit
    ratio: float | None = None  # median over repeats of ours / theirs, taken in alternation
    bar: str = "none"  # "none": the row has no limit
    reached: bool | None = None  # None if it could not be measured


Clock = Callable[[], float]
Timed = Callable[[], int]  # runs the work once and returns its number of units


def rate(work: Timed, at_least: float, clock: Clock = time.perf_counter) -> float:
    """Units per second of ``clock``, over at least so many seconds."""
    units, start = 0, clock()
    while (elapsed := clock() - start) < at_least:
        units += work()
    return units / elapsed


def durations(work: Callable[[], object], repeats: int, clock: Clock = time.perf_counter) -> list[float]:
    """Seconds of each of ``repeats`` calls; with ``time.process_time`` processor time of this process."""
    seconds = []
    for _ in range(repeats):
        began = clock()
        work()
        seconds.append(clock() - began)
    return seconds


def compare(
    own: Timed, theirs: Timed, repeats: int, at_least: float, clock: Clock = time.perf_counter
) -> tuple[float, float, float]:
    """Median rates of both and the median of their ratios, in alternation, so that a noisy machine affects both."""
    own(), theirs()  # warm up
    pairs = [(rate(own, at_least, clock), rate(theirs, at_least, clock)) for _ in range(repeats)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def against(
    title: str,
    workload: str,
    unit: str,
    own: Timed,
    peer: str,
    make_peer: Callable[[], Timed],
    bar: float | None,
    run: tuple[int, float],
    threads: int = 1,
) -> BenchmarkRow:
    """One row: our workload compared with a peer's; ``run``: repeats, and the least seconds of each.

    A peer that is not installed leaves the row without a ratio.
    """
    repeats, seconds = run
    clock = time.process_time if threads == 1 else time.perf_counter  # one thread: other processes do not count
    bar_text = "none" if bar is None else f"{bar}x"
    try:
        theirs = make_peer()
    except ImportError:
        our_rate = rate(own, seconds, clock)
        return BenchmarkRow(title, workload, unit, threads, our_rate, f"{peer}: not installed", bar=bar_text)
    our_rate, peer_rate, ratio = compare(own, theirs, repeats, seconds, clock)
    reached = None if bar is None else ratio >= bar
    return BenchmarkRow(title, workload, unit, threads, our_rate, peer, peer_rate, ratio, bar_text, reached)


def machine() -> dict[str, str]:
    """Interpreter, machine and NumPy version of this measurement."""
    return {"python": platform.python_version(), "machine": platform.machine(), "numpy": version("numpy")}


def print_rows(rows: list[BenchmarkRow]) -> None:
    """Print two lines per row."""
    for row in rows:
        verdict = {True: "reached", False: "MISSED", None: "not measured"}[row.reached]
        bar = "no bar" if row.bar == "none" else f"bar {row.bar}: {verdict}"
        ratio = "" if row.ratio is None else f" = {row.ratio:.2f}x"
        theirs = "" if row.theirs is None else f" / {row.theirs:,.0f} ({row.peer})"
        print(f"{row.what}: {row.ours:,.4g} {row.unit}{theirs}{ratio}   {bar}")
        print(f"    {row.workload}; {row.threads} thread{'s' if row.threads > 1 else ''}")
