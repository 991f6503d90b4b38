"""Rows of the benchmark: measuring, comparing and printing them."""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import torch

Timed = Callable[[], int]  # runs the work once and returns its number of units


class BenchmarkRow(NamedTuple):
    """One measured row: us against a peer (rates, and the median of their ratios), or us against a limit."""

    what: str
    unit: str
    threads: int
    ours: float
    peer: str = ""
    theirs: float | None = None  # None where the peer is not installed, or where the bar is a limit
    ratio: float | None = None  # median over repeats of ours / theirs, taken in alternation
    bar: str = "none"  # "none": the row has no limit
    reached: bool | None = None  # None if it could not be measured
    note: str = ""  # other measurements


class Comparison(NamedTuple):
    """A row to measure: our work and a peer's, both made when it is measured, and the least ratio of their rates."""

    what: str
    unit: str
    make: Callable[[], Timed]
    peer: str
    make_peer: Callable[[], Timed]
    bar: float | None = None

    def measure(self, repeats: int, seconds: float) -> BenchmarkRow:
        """The row, from ``repeats`` alternating repeats of at least ``seconds`` each.

        A peer that is not installed leaves the row without a ratio.
        """
        bar = "none" if self.bar is None else f"{self.bar}x"
        row = BenchmarkRow(self.what, self.unit, 1, 0.0, self.peer, bar=bar)
        work = self.make()
        try:
            peer = self.make_peer()
        except ImportError:
            peer = None
        torch.set_num_threads(1)  # after a training was begun, which sets them too
        if peer is None:
            return row._replace(ours=rate(work, seconds), peer=f"{self.peer}: not installed")
        work(), peer()  # warm up
        # In alternation, so that a noisy machine affects both.
        pairs = [(rate(work, seconds), rate(peer, seconds)) for _ in range(repeats)]
        ratio = statistics.median(ours / peers for ours, peers in pairs)
        ours, peers = (statistics.median(rates) for rates in zip(*pairs, strict=True))
        reached = None if self.bar is None else ratio >= self.bar
        return row._replace(ours=ours, theirs=peers, ratio=ratio, reached=reached)


def rate(work: Timed, seconds: float) -> float:
    """Units per second of processor time, over at least so many seconds: other processes do not count."""
    units, start = 0, time.process_time()
    while (elapsed := time.process_time() - start) < seconds:
        units += work()
    return units / elapsed


def machine() -> dict[str, str]:
    """Interpreter, NumPy, processor with its instruction set, and load of the machine at the end of a measurement."""
    cpuinfo = Path("/proc/cpuinfo")  # of Linux alone
    named = re.search(r"model name\s*: (.+)", cpuinfo.read_text(encoding="utf-8") if cpuinfo.is_file() else "")
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "machine": platform.machine(),
        "processor": f"{named[1] if named else platform.processor()}, {os.cpu_count()} cores",
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def print_row(row: BenchmarkRow) -> None:
    """Print a row, and its note."""
    verdict = {True: "reached", False: "MISSED", None: "not measured"}[row.reached]
    bar = "no bar" if row.bar == "none" else f"bar {row.bar}: {verdict}"
    ratio = "" if row.ratio is None else f" = {row.ratio:.2f}x"
    peer = "" if row.theirs is None else f" / {row.theirs:,.0f} ({row.peer})"
    threads = f"{row.threads} thread{'s' if row.threads > 1 else ''}"
    print(f"{row.what}: {row.ours:,.4g} {row.unit}{peer}{ratio}   {bar}; {threads}")
    if row.note:
        print(f"    {row.note}")
