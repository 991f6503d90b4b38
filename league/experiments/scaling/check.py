"""The small end of the simulation against real runs: rounds of a league on worker processes of this machine."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from league.display.league import PlainWatcher
from league.experiments.scaling.simulation import Costs, Shape, simulate
from league.ledger.run_directory import new_run
from league.rounds.runner import run_league
from league.settings.read import Config
from league.settings.sections import BackendConfig

WORKERS = (1, 2)
FIRST = 1  # rounds that are not counted: workers start, and everybody is seated
FEWEST = 3  # rounds of a league that can be compared


class Spent(NamedTuple):
    """Seconds of a round."""

    clock: float  # on the wall
    computed: float  # by all workers together; nan where it is not known

    def over(self, other: Spent) -> Spent:
        """How much more than ``other`` that is, as shares of it."""
        return Spent(self.clock / other.clock - 1, self.computed / other.computed - 1)


class _Clock(PlainWatcher):
    """Remembers when each round was committed, and prints nothing."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self.at: list[Spent] = []

    def committed(self, *_: object) -> None:
        self.at.append(Spent(time.perf_counter(), _computed()))


def compared(config: Config, costs: Costs, shape: Shape) -> Iterator[tuple[int, Spent, Spent]]:
    """The number of worker processes, what a round of the league takes by the simulation, and for real.

    Other load on the machine adds to the wall clock alone. Raises what a league raises.
    """
    league = config.league.model_copy(update={"evaluate": False, "rounds": max(config.league.rounds, FEWEST)})
    for number in WORKERS:
        with tempfile.TemporaryDirectory() as folder:
            clock = _Clock()
            backend = BackendConfig(kind="process", workers=number)
            run_league(config.model_copy(update={"league": league}), new_run(Path(folder)), clock, backend)
        first, last, rounds = clock.at[FIRST - 1], clock.at[-2], len(clock.at) - 1 - FIRST  # the last only measures
        real = Spent((last.clock - first.clock) / rounds, (last.computed - first.computed) / rounds)
        load = simulate(costs, shape, number)
        yield number, Spent(load.seconds, load.busy * number * load.seconds), real


def _computed() -> float:
    """Seconds of processor time that the processes which this one has started have taken so far, where Linux tells."""
    try:
        own = Path("/proc/self/task")
        children = [pid for task in own.iterdir() for pid in (task / "children").read_text().split()]
        stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in children]
    except OSError:
        return math.nan
    return sum(int(stat[11]) + int(stat[12]) for stat in stats) / os.sysconf("SC_CLK_TCK")
