r"""Run a league: members play each other round by round; it ends with a cross-play table and a ladder with intervals.

"dond league explain" says why the matches of a round were played.

examples:
  dond league --config configs/league.yaml     # same as python scripts/league.py
  dond league --config configs/league.yaml --set members=[heuristic,tough]
  dond league --config configs/league.yaml --set env.use_dataset=true \
      --set env.dataset=self_play --set env.data_dir=FOLDER
  dond league --config configs/league.yaml --dry-run    # the plan and its cost
  dond league explain --run runs/league/0001 --round 3  # why these matches were played
  dond league --config configs/league.yaml --workers 2  # the same rows, sooner
  dond league --resume                         # the newest run under runs/league
  dond league --resume runs/league/0001        # that run, with its own settings
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import get_args

import click
from pydantic import ValidationError

from dond_marl.occupants import parse_spec, seat_occupant
from league.cli.shell import (
    FILE,
    SEED,
    Command,
    Group,
    as_called,
    config_option,
    console_for_people,
    quiet_option,
    quoted,
    resume_option,
    say,
    say_next,
    set_option,
)
from league.cli.stops import STOPS
from league.display.league import LiveWatcher, PlainWatcher, QuietWatcher, explain, print_results
from league.ledger.run_directory import RunDirectory, new_run, run_to_resume
from league.rounds.runner import run_league
from league.settings.layers import Complaint, Place
from league.settings.read import Config, ConfigError, load_config
from league.settings.sections import BackendConfig, BackendName, LoggingConfig
from league.tasks.devices import check_devices
from league.tasks.provenance import check_league_provenance
from partners.network.checkpoint_files import CheckpointError

PATIENCE = 0.6  # seconds that a stop waits for the run's next tick, which comes between two steps


@click.group(cls=Group, help=__doc__, invoke_without_command=True)
@config_option("league.yaml")
@set_option
@resume_option
@click.option("--dry-run", is_flag=True, help="check the settings, print the plan and its cost, stop")
@click.option("--workers", type=int, metavar="N", help="tasks run in parallel; changes no result")
@click.option(
    "--backend", type=click.Choice(get_args(BackendName)), help="where tasks run (local; process if workers are set)"
)
@click.option("--ray-address", metavar="ADDRESS", help="HOST:PORT of a running Ray cluster, or auto")
@click.option("--seed", type=SEED, metavar="N", help="random seed; overrides league.seed")
@quiet_option
@click.pass_context
def command(
    context: click.Context,
    config_path: Path | None,
    overrides: tuple[str, ...],
    resume: Path | None,
    dry_run: bool,
    workers: int | None,
    backend: str | None,
    ray_address: str | None,
    seed: int | None,
    quiet: bool,
) -> None:
    """Run or resume a league; ``resume`` is an empty path for the newest run."""
    if context.invoked_subcommand is not None:
        return
    overrides = (*overrides, *([f"league.seed={seed}"] if seed is not None else []))
    if config_path is None and (resume is None or overrides):
        raise click.UsageError("--config FILE is needed; only --resume RUN, by itself, takes the run's own settings")
    if dry_run and config_path is None:
        raise click.UsageError("--dry-run needs --config FILE")
    config = None if config_path is None else load_config(config_path, overrides)
    where = {"kind": backend, "workers": workers, "ray_address": ray_address}
    named = {key: value for key, value in where.items() if value is not None}
    backend_config = _backend_of(named) if named else None
    if config is not None:
        config.env.open_source()  # before a folder is made: what cannot be opened is the settings' fault
        for member in (*config.members, *config.gate, *config.heldout):
            seat_occupant(member.spec)
        check_devices(config.learners)
        if resume is None:
            check_league_provenance(config)  # before a folder is made
        if dry_run:
            from league.rounds.dry_run import dry_run as show_plan  # loads PyTorch

            show_plan(console_for_people(), config)
            return
    directory = _directory(config, resume)
    STOPS.word = lambda: _kept(directory.path, as_called(context))
    _run(config, directory, backend_config, quiet)
    say_next(context, "report", "--run", directory.path)


def _kept(folder: Path, command_line: str) -> str:
    """What a stop has left of the league in ``folder``."""
    if not folder.exists():
        return "stopped before anything was begun"
    go_on = f"{command_line} --resume {quoted(str(folder))}"
    return f"stopped: the round in flight is dropped, the others are safe; go on with: {go_on}"


@command.command("explain", cls=Command)
@click.option("--run", type=FILE, required=True, metavar="RUN", help="the run's folder")
@click.option("--round", "number", type=int, required=True, metavar="N", help="which, counted from 1")
def explain_round(run: Path, number: int) -> None:
    """Print why the matches of a round were played.

    examples:
      dond league explain --run runs/league/0001 --round 3
    """
    explain(console_for_people(), run.expanduser(), number)


@command.command("export", cls=Command, run_errors=(CheckpointError,))
@click.option("--run", type=FILE, required=True, metavar="RUN", help="the run's folder")
@click.option("--member", required=True, metavar="NAME", help="a learner, as it stands, or a snapshot such as main@6")
@click.option("--out", type=FILE, required=True, metavar="FILE", help="where to write it (.json)")
def export_member(run: Path, member: str, out: Path) -> None:
    """Write a trained member as a checkpoint, which records whom it has met.

    examples:
      dond league export --run runs/league/0001 --member main --out main.json
    """
    from league.ledger.export import export_checkpoint  # loads PyTorch

    note = export_checkpoint(run.expanduser(), member, out.expanduser())
    say(f"written: {out}, with {len(note['met'])} in its past; seat it as checkpoint(path='{out}')")


def _directory(config: Config | None, resume: Path | None) -> RunDirectory:
    output_dir = Path((config.logging if config is not None else LoggingConfig()).output_dir).expanduser()
    if resume is None:
        return new_run(output_dir)
    return run_to_resume(resume, output_dir, tell=say)


def _backend_of(named: Mapping[str, object]) -> BackendConfig:
    try:
        return BackendConfig.model_validate(dict(named))
    except ValidationError as error:
        place = Place(1, 0, "--workers, --backend, --ray-address")
        raise ConfigError([Complaint(place, mistake["msg"]) for mistake in error.errors()]) from None


def _run(config: Config | None, directory: RunDirectory, backend: BackendConfig | None, quiet: bool) -> None:
    console = console_for_people()
    # A live view would draw over a person's prompt. A run that is taken up again has its settings in its ledger.
    asks = config is not None and any(parse_spec(member.spec)[0] == "human" for member in config.members)
    live, plain = console.is_terminal and not asks and not quiet, QuietWatcher if quiet else PlainWatcher
    with LiveWatcher(console) if live else nullcontext(plain(console)) as watcher, STOPS.patient(PATIENCE):
        watcher.stop_asked = lambda: STOPS.asked
        outcome = run_league(config, directory, watcher, backend)
    print_results(console, outcome, directory.path)
