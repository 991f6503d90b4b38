"""Simulate a league on 1 to 1,000 workers, from the measured costs of its parts on this machine.

examples:
  dond experiment scaling --config configs/league.yaml
  dond experiment scaling --config configs/league.yaml --json scaling.json --plot scaling.png
  dond experiment scaling --config configs/league.yaml --costs scaling.json   # measured before
  dond experiment scaling --config configs/league_quick.yaml --check          # the small end against real runs
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dond_marl.errors import InputError
from dond_marl.records.files import write_whole
from league.cli.shell import FILE, Command, Number, config_option, console_for_people, say, set_option
from league.display.plane import check_drawable
from league.experiments.scaling.report import WORKERS, draw, print_loads, simulated
from league.experiments.scaling.simulation import Costs, Shape
from league.settings.read import Config, load_config

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MOST = Number(int, lambda workers: workers >= 1, "an integer above 0, workers")


@click.command(cls=Command, help=__doc__)
@config_option("league.yaml", required=True)
@set_option
@click.option(
    "--costs",
    "costs_path",
    type=FILE,
    metavar="FILE",
    help="take the costs that --json wrote instead of measuring them",
)
@click.option(
    "--most", type=MOST, default=WORKERS[-1], metavar="N", help=f"the most workers to simulate ({WORKERS[-1]})"
)
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="costs and loads, every figure")
@click.option("--plot", type=FILE, metavar="FILE", help="a figure, as .png, .svg or .pdf")
@click.option("--check", is_flag=True, help="run the league on 1 and 2 workers, and compare")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    costs_path: Path | None,
    most: int,
    json_path: Path | None,
    plot: Path | None,
    check: bool,
) -> None:
    """Measure, simulate and report."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before PyTorch loads, and for workers: costs are those of one core
    console, config = console_for_people(), load_config(config_path, overrides, Config)
    if not config.learners:
        raise InputError(f"{config_path}: nobody learns in this league; simulate one with learners")
    config = config.model_copy(update={"stages": config.stages[-1:]})  # most rounds are of the last one
    if plot is not None:
        check_drawable(plot)
    costs, shape = _measured(config) if costs_path is None else _stored(costs_path)
    with console.status("") as status:  # shown on a terminal only
        matches = config.league.opponents, config.league.pairs
        loads = simulated(costs, shape, matches, [n for n in WORKERS if n <= most], status.update)
    print_loads(console, costs, shape, loads)
    if json_path is not None:
        document = {
            "costs": costs._asdict(),
            "shape": shape._asdict(),
            "loads": {name: [load._asdict() for load in rows] for name, rows in loads.items()},
        }
        write_whole(json_path, json.dumps(document, indent=1) + "\n")
    if plot is not None:
        draw(plot, costs, shape, loads)
    if check:
        _check(config, costs, shape)


def _measured(config: Config) -> tuple[Costs, Shape]:
    from league.experiments.scaling.costs import measured  # loads PyTorch

    with console_for_people().status("") as status:
        return measured(config, tell=lambda part: status.update(f"measuring {part}"))


def _stored(path: Path) -> tuple[Costs, Shape]:
    """The costs that ``--json`` wrote."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        costs, shape = (_fields(document[part]) for part in ("costs", "shape"))
        return Costs(**costs), Shape(**shape)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"--costs {path}: no file that --json wrote ({error})") from None


def _fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _check(config: Config, costs: Costs, shape: Shape) -> None:
    """The small end, for real."""
    from league.experiments.scaling.check import compared

    say("\nseconds a round, on worker processes of this machine: on the clock, and computed by all workers")
    for workers, computed, real in compared(config, costs, shape):
        off = computed.over(real)
        say(
            f"{workers} workers: on the clock simulated {computed.clock:.2f}, real {real.clock:.2f} "
            f"({off.clock:+.0%}); computed simulated {computed.computed:.2f}, real {real.computed:.2f} "
            f"({off.computed:+.0%})"
        )
