"""What ``scripts/league.py`` does with its arguments: settings, a run folder, the league, the tables, an exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant
from dond_marl.scenarios.data import DataError
from dond_marl.scenarios.sources import ScenarioError
from league.backends.contract import BackendError
from league.display.explain import explain
from league.display.league import LiveWatcher, PlainWatcher, console_for_people, print_results
from league.ledger.ledger import LedgerError
from league.ledger.run_directory import RunDirectory, RunError, named_run, new_run, newest_run
from league.rounds.dry_run import dry_run
from league.rounds.runner import run_league
from league.settings.layers import Complaint, Place
from league.settings.read import BackendConfig, Config, ConfigError, LoggingConfig, load_config
from league.tasks.blobs import BlobError
from partners.learning.first_weights import FirstWeightsError

USAGE_ERROR, RUN_ERROR, INTERRUPTED = 2, 1, 130
USER_ERRORS = (ConfigError, FirstWeightsError, ScenarioError, DataError, OccupantNameError)
RUN_ERRORS = (BackendError, RunError, LedgerError, BlobError, OSError)


def main(
    config_path: Path | None,
    overrides: Sequence[str],
    resume: Path | None,
    dry: bool = False,
    backend: Mapping[str, object] | None = None,
) -> int:
    """Run or resume a league; the exit code is 0, 1 (the run), 2 (the settings) or 130 (interrupted).

    ``resume`` is ``None`` for a new run, a run's folder, or an empty path for the newest one; ``dry``: only say what
    would be played, and what it would cost. ``backend`` says where it runs, in place of what the settings say.
    """
    directory = None
    try:
        config = None if config_path is None else load_config(config_path, overrides)
        where = backend_of(backend) if backend else None
        if config is not None:
            config.env.open_source()  # before a folder is made: what cannot be opened is the settings' fault
            for member in config.everybody:
                seat_occupant(member.spec)
            if dry:
                dry_run(console_for_people(), config)
                return 0
        directory = _directory(config, resume)
        _run(config, directory, where)
    except USER_ERRORS as error:
        return _failed(error, USAGE_ERROR)
    except RUN_ERRORS as error:
        return _failed(error, RUN_ERROR)
    except KeyboardInterrupt:
        go_on = f"; go on with: {as_called()} --resume {directory.path}" if directory else ""
        print(f"\ninterrupted: the round in flight is dropped, the others are safe{go_on}", file=sys.stderr)  # the command talks to a person
        return INTERRUPTED
    return 0


def explained(run: Path, number: int) -> int:
    """Print why round ``number`` of a run was played as it was; the exit code."""
    try:
        explain(console_for_people(), run.expanduser(), number)
    except RUN_ERRORS as error:
        return _failed(error, RUN_ERROR)
    return 0


def _directory(config: Config | None, resume: Path | None) -> RunDirectory:
    output_dir = Path((config.logging if config is not None else LoggingConfig()).output_dir).expanduser()
    if resume is None:
        return new_run(output_dir)
    return newest_run(output_dir) if resume == Path() else named_run(resume.expanduser())


def backend_of(given: Mapping[str, object]) -> BackendConfig:
    """Where a league runs, by the command line. Raises :class:`ConfigError`."""
    try:
        return BackendConfig.model_validate(dict(given))
    except ValidationError as error:
        place = Place(1, 0, "--workers, --backend, --ray-address, --deadline")
        raise ConfigError([Complaint(place, one["msg"]) for one in error.errors()]) from None


def _run(config: Config | None, directory: RunDirectory, backend: BackendConfig | None) -> None:
    console = console_for_people()
    # A live view would draw over a person's prompt. A run that is taken up again has its settings in its ledger.
    asks = config is not None and any(parse_spec(member.spec)[0] == "human" for member in config.members)
    if console.is_terminal and not asks:
        with LiveWatcher(console) as watcher:
            _heed_signals(watcher)
            outcome = run_league(config, directory, watcher, backend)
    else:
        plain = PlainWatcher(console)
        _heed_signals(plain)
        outcome = run_league(config, directory, plain, backend)
    print_results(console, outcome, directory.path)


def as_called() -> str:
    """How this program was started, to be copied."""
    python = Path(sys.executable)
    here = Path.cwd()
    return f"{python.relative_to(here) if python.is_relative_to(here) else python} {sys.argv[0]}"


def _failed(error: Exception, code: int) -> int:
    print(error, file=sys.stderr)  # the command talks to a person
    return code


def _heed_signals(watcher: PlainWatcher) -> None:
    """Have SIGINT and SIGTERM stop the run at its next tick; at once when they come a second time or after all rounds.

    An exception raised by a signal can be lost where Python cannot pass it on; a flag cannot. SIGINT is named because a
    background job is started with it ignored.
    """

    def ask(_number: int, _frame: FrameType | None) -> None:
        if watcher.stop_asked or watcher.rounds_are_over:
            raise KeyboardInterrupt
        watcher.stop_asked = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
