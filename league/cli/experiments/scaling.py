"""What ``scripts/simulate.py`` does with its arguments: measured costs, simulated leagues, a table, files, a check."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from dond_marl.errors import InputError
from dond_marl.records.files import write_whole
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.league import console_for_people
from league.display.plane import PlotError, check_drawable
from league.experiments.scaling.report import WORKERS, Sized, draw, print_loads, simulated
from league.experiments.scaling.simulation import Costs, Shape
from league.settings.read import Config, load_config


class Request(NamedTuple):
    """What to simulate, and where to write it."""

    config: Path
    set: Sequence[str]
    costs: Path | None  # measured before
    json: Path | None
    plot: Path | None
    check: bool
    most: int = WORKERS[-1]


class UsageError(InputError):
    """Arguments that cannot be used, in one line."""


def main(given: Request) -> int:
    """Measure, simulate and report; the exit code is 0, 1 (a run), 2 (the arguments) or 130 (interrupted)."""
    try:
        console = console_for_people()
        config: Config = load_config(given.config, given.set)
        if not config.learners:
            raise UsageError(f"{given.config}: nobody learns in this league; simulate one with learners")
        config = config.model_copy(update={"stages": config.stages[-1:]})  # most rounds are of the last one
        if given.most < 1:
            raise UsageError(f"--most must be an integer above 0, workers; got {given.most}")
        if given.plot is not None:
            check_drawable(given.plot)
        costs, shape = _measured(console, given, config)
        with console.status("") as status:  # shown on a terminal only
            sized = Sized(config.league.opponents, config.league.pairs)
            loads = simulated(costs, shape, sized, [n for n in WORKERS if n <= given.most], tell=status.update)
        print_loads(console, costs, shape, loads)
        if given.json is not None:
            document = {
                "costs": costs._asdict(),
                "shape": shape._asdict(),
                "loads": {name: [load._asdict() for load in rows] for name, rows in loads.items()},
            }
            write_whole(given.json, json.dumps(document, indent=1) + "\n")
        if given.plot is not None:
            draw(given.plot, costs, shape, loads)
        if given.check:
            _check(console, config, costs, shape)
    except (*USER_ERRORS, UsageError, PlotError) as error:
        return _failed(str(error), USAGE_ERROR)
    except RUN_ERRORS as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("\ninterrupted", INTERRUPTED)
    return 0


def _measured(console: Console, given: Request, config: Config) -> tuple[Costs, Shape]:
    """The costs, measured now or read from a file of before."""
    if given.costs is None:
        from league.experiments.scaling.costs import measured  # loads PyTorch

        with console.status("") as status:
            return measured(config, tell=lambda what: status.update(f"measuring {what}"))
    try:
        told = json.loads(given.costs.read_text(encoding="utf-8"))
        costs, shape = (_fields(told[part]) for part in ("costs", "shape"))
        return Costs(**costs), Shape(**shape)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"--costs {given.costs}: no file that --json wrote ({error})") from None


def _fields(told: Mapping[str, Any]) -> dict[str, Any]:  # what a JSON file says
    return {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}


def _check(console: Console, config: Config, costs: Costs, shape: Shape) -> None:
    """The small end, for real."""
    from league.experiments.scaling.check import compared

    console.print("\nseconds a round, on worker processes of this machine: on the clock, and computed by all workers")
    for one in compared(config, costs, shape):
        (simulated_clock, simulated_work), (clock, work), (off, work_off) = (
            one.simulated,
            one.real,
            one.simulated.over(one.real),
        )
        told = (
            f"{one.workers} workers: on the clock simulated {simulated_clock:.2f}, real {clock:.2f} ({off:+.0%}); "
            f"computed simulated {simulated_work:.2f}, real {work:.2f} ({work_off:+.0%})"
        )
        console.print(Text(told), soft_wrap=True)


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
