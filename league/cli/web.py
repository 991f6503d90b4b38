"""What ``scripts/web.py`` does with its arguments: the pages, served to this machine's own browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError
from league.cli.league import RUN_ERROR, USAGE_ERROR
from league.display.session import RECORDS
from league.ledger.run_directory import LEDGER
from league.web.server import HOST, free_port, serve

RUNS = Path("runs")  # leagues under it may be watched, files of games replayed


class Request(NamedTuple):
    """What to show, where."""

    run: Path | None  # a league to follow
    runs: Path  # the folder under which leagues lie
    record: Path | None  # where games are written
    data_dir: Path | None
    port: int | None  # None: the usual one, or any that is free
    pause: float  # seconds that a partner seems to think
    open: bool  # a browser


class UsageError(InputError):
    """Arguments that cannot be used, in one line."""


def main(given: Request) -> int:
    """Serve until stopped; the exit code is 0, 1 (the server) or 2 (the arguments)."""
    try:
        import nicegui  # noqa: F401  # only whether it is there
    except ModuleNotFoundError:
        return _failed("the pages need NiceGUI, an optional extra: python -m pip install 'dond-marl[ui]'", RUN_ERROR)
    try:
        port = _port(given.port)
        if not 0 <= given.pause <= 10:
            raise UsageError(f"--pause must be a number of seconds in 0..10; got {given.pause:g}")
        _prepare(given)
    except UsageError as error:
        return _failed(str(error), USAGE_ERROR)
    address = f"http://{HOST}:{port}{'/league' if given.run else '/'}"
    print(f"open {address} in a browser on this machine; Ctrl-C stops it", flush=True)  # the command talks to a person
    if given.open:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    serve(port)
    return 0


def _prepare(given: Request) -> None:
    """Every page, ready to be asked for. Raises :class:`UsageError`."""
    from league.web import pages as addresses  # NiceGUI is needed from here on
    from league.web.frame import Desk
    from league.web.league.follower import Leagues, named_run

    book = RECORDS if given.record is None else given.record.expanduser()
    if book.is_dir():
        raise UsageError(f"--record {book}: is a folder; name a file")
    run = None if given.run is None else named_run(given.run)
    if run is not None and not (run / LEDGER).is_file():
        raise UsageError(f"--run {run}: is no league's folder: it holds no {LEDGER}")
    leagues = Leagues(given.runs.expanduser(), run)
    addresses.build(Desk(leagues.known, book, RUNS, given.data_dir, given.pause), leagues, run)


def _port(port: int | None) -> int:
    if port is not None and not 0 <= port <= 65535:
        raise UsageError(f"--port must be an integer in 0..65535; got {port}")
    try:
        return free_port(port)
    except OSError as error:
        raise UsageError(f"--port {port} cannot be used ({error.strerror}); name another, or 0 for any") from None


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
