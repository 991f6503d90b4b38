"""The small end of the simulation against real runs: rounds of a league on worker processes of this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from league.backends.settings import BackendConfig
from league.config import Config
from league.crossplay import Standing
from league.run_directory import new_run
from league.runner import Progress, run_league
from league.scaling import Costs, Shape, simulate
from league.show import PlainWatcher, console_for_people

FIRST = 1  # rounds that are not counted: workers start, and everybody is seated
FEWEST = 3  # rounds of a league that can be compared


class Compared(NamedTuple):
    """Seconds of a round."""

    workers: int
    simulated: float
    real: float

    @property
    def off(self) -> float:
        """How much longer the simulation takes, as a share of the real time."""
        return self.simulated / self.real - 1


class _Clock(PlainWatcher):
    """Says nothing, and remembers when each round was committed."""

    def __init__(self) -> None:
        super().__init__(console_for_people())
        self.at: list[float] = []

    def committed(self, progress: Progress, standings: list[Standing]) -> None:  # noqa: ARG002  # a watcher's method
        """Remember."""
        self.at.append(time.perf_counter())

    def _say(self, line: str, style: str = "") -> None:
        """Nothing."""


def compared(config: Config, costs: Costs, shape: Shape, workers: Sequence[int] = (1, 2)) -> list[Compared]:
    """Run the league on each number of worker processes. Raises what a league raises."""
    league = config.league.model_copy(update={"evaluate": False, "rounds": max(config.league.rounds, FEWEST)})
    found = []
    for number in workers:
        with tempfile.TemporaryDirectory() as folder:
            clock = _Clock()
            backend = BackendConfig(kind="process", workers=number)
            run_league(config.model_copy(update={"league": league}), new_run(Path(folder)), clock, backend)
        practiced = clock.at[FIRST:-1]  # the last round only measures
        real = (practiced[-1] - clock.at[FIRST - 1]) / len(practiced)
        found.append(Compared(number, simulate(costs, shape, number).seconds, real))
    return found
