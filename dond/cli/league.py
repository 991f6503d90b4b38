r"""Run a league: members play each other round by round; it ends with a cross-play table and a ladder with intervals.

"dond league explain" prints why the matches of a round were played.

examples:
  dond league --config configs/league.yaml     # same as python scripts/league.py
  dond league --config configs/league.yaml --set members=[heuristic,tough]
  dond league --config configs/league.yaml --set env.use_dataset=true \
      --set env.dataset=self_play --set env.data_dir=FOLDER
  dond league --config configs/league.yaml --dry-run    # the plan, and expensive queries
  dond league explain --run runs/league/0001 --round 3  # why these matches were played
  dond league --config configs/league.yaml --workers 2  # the same rows, sooner
  dond league --resume                         # the newest league under runs
  dond league --resume runs/league/0001        # that run, with its own settings
  dond league --resume runs/league/0001 --details  # every table, also of a league that is over
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import ValidationError

from dond.cli.runs import RunOptions, run_options
from dond.cli.shell import FILE, Command, Group, dond, integer, output_console, print_line, print_next
from dond.cli.stops import NOT_BEGUN, STOPS
from dond.terminal.league import LiveWatcher
from dond.terminal.tables import ConsoleOutput, print_section, print_sections
from dond_marl.errors import InputError, RunFailure
from league.ledger.run_directory import LEDGER, RunDirectory, has_begun
from league.results.league import league_sections, round_section
from league.results.progress import PlainWatcher, QuietWatcher
from league.rounds.runner import LeagueOutcome, run_league
from league.settings.read import Config
from league.settings.sections import BackendConfig, BackendName
from league.tables.standings import practice_warning


@click.group(cls=Group, help=__doc__, invoke_without_command=True)
@run_options("league.yaml", "a YAML file, such as configs/league.yaml", "league.seed")
@click.option("--workers", type=integer(1, 4096), metavar="N", help="tasks run in parallel; changes no result")
@click.option(
    "--backend", type=click.Choice(get_args(BackendName)), help="where tasks run (local; process if workers are set)"
)
@click.option("--details", is_flag=True, help="end with every table, as in the report")
@click.option("--ray-address", metavar="ADDRESS", help="HOST:PORT of a running Ray cluster, or auto")
@click.pass_context
def command(
    context: click.Context,
    /,
    workers: int | None,
    backend: str | None,
    ray_address: str | None,
    details: bool,
    **options: Any,
) -> None:
    """Run or resume a league."""
    if context.invoked_subcommand is not None:
        return
    start = RunOptions(**options)
    config: Config | None = start.load(Config, "league.yaml", {"league.seed": start.seed})
    backend_options = {"kind": backend, "workers": workers, "ray_address": ray_address}
    named = {key: value for key, value in backend_options.items() if value is not None}
    backend_config = _backend_of(named) if named else None
    if config is not None and start.dry_run:
        from league.rounds.dry_run import plan_lines  # loads PyTorch

        for line in plan_lines(config):
            print_line(line)
        return
    directory = start.open_folder(None if config is None else config.logging.output_dir, LEDGER)
    STOPS.message = lambda: _stop_message(directory.path, dond("league", "--resume", directory.path))
    outcome = _run(config, directory, backend_config, start)
    print_sections(output_console(), league_sections(outcome, directory.path, details=details))
    if not details:
        print_line(f"every table: {dond('league', '--resume', directory.path, '--details')}")
    print_next("report", "--run", directory.path)
    if (warning := practice_warning(outcome.without_practice)) is not None:
        raise RunFailure(f"{warning} The reasons are among the warnings above")


def _stop_message(folder: Path, go_on: str) -> str:
    if not has_begun(folder, LEDGER):  # there is nothing to resume
        return NOT_BEGUN
    return f"stopped: the round in flight is dropped, the others are safe; go on with: {go_on}"


@command.command("explain", cls=Command)
@click.option("--run", type=FILE, required=True, metavar="RUN", help="the run's folder")
@click.option("--round", "number", type=int, required=True, metavar="N", help="the round, counted from 1")
def explain(run: Path, number: int) -> None:
    """Print why the matches of a round were played.

    examples:
      dond league explain --run runs/league/0001 --round 3
    """
    print_section(output_console(), round_section(run, number))


def _backend_of(named: Mapping[str, object]) -> BackendConfig:
    try:
        return BackendConfig.model_validate(dict(named))
    except ValidationError as error:
        raise InputError(f"--workers, --backend, --ray-address: {error.errors()[0]['msg']}") from None


def _run(
    config: Config | None, directory: RunDirectory, backend: BackendConfig | None, start: RunOptions
) -> LeagueOutcome:
    console, quiet = output_console(), start.quiet
    # A live view would draw over a person's prompt. A resumed run has its settings in its ledger.
    person = config is not None and any(member.spec.kind == "human" for member in config.members)
    live, plain = console.is_terminal and not person and not quiet, QuietWatcher if quiet else PlainWatcher
    with LiveWatcher(console) if live else nullcontext(plain(ConsoleOutput(console))) as watcher:
        watcher.stop_requested = lambda: STOPS.is_requested
        return run_league(config, directory, watcher, backend, trust=start.trust)
