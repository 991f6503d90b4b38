"""What ``scripts/web.py`` does with its arguments: the pages, served to this machine's own browser."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError
from league.cli.league import RUN_ERROR, USAGE_ERROR
from league.cli.play import RECORDS
from league.ledger.run_directory import LEDGER

HOST = "127.0.0.1"
PORT = 8080
RUNS = Path("runs")  # leagues under it may be watched, files of games replayed
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='#0b6e69'/>"
    "<path d='M16 5v22' stroke='#fff' stroke-width='2' stroke-dasharray='3 3'/><circle cx='9' cy='16' r='4' "
    "fill='#fff'/><circle cx='23' cy='16' r='4' fill='#f2a07a'/></svg>"
)


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
        from nicegui import ui
    except ModuleNotFoundError:
        return _failed("the pages need NiceGUI, an optional extra: python -m pip install 'dond-marl[ui]'", RUN_ERROR)
    try:
        port = _free_port(given.port)
        if not 0 <= given.pause <= 10:
            raise UsageError(f"--pause must be a number of seconds in 0..10; got {given.pause:g}")
        _prepare(given)
    except UsageError as error:
        return _failed(str(error), USAGE_ERROR)
    address = f"http://{HOST}:{port}{'/league' if given.run else '/'}"
    print(f"open {address} in a browser on this machine; Ctrl-C stops it", flush=True)  # the command talks to a person
    if given.open:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    with contextlib.suppress(KeyboardInterrupt):  # the way to stop it
        ui.run(
            host=HOST,
            port=port,
            title="Deal or no deal",
            favicon=ICON,
            dark=None,
            language="en-US",
            tailwind=False,
            reload=False,
            show=False,
            show_welcome_message=False,
            reconnect_timeout=10,
        )
    return 0


def _prepare(given: Request) -> None:
    """Every page, ready to be asked for. Raises :class:`UsageError`."""
    from league.web import pages as addresses  # NiceGUI is needed from here on
    from league.web.desk import Desk
    from league.web.league.following import Leagues, named_run

    book = RECORDS if given.record is None else given.record.expanduser()
    if book.is_dir():
        raise UsageError(f"--record {book}: is a folder; name a file")
    run = None if given.run is None else named_run(given.run)
    if run is not None and not (run / LEDGER).is_file():
        raise UsageError(f"--run {run}: is no league's folder: it holds no {LEDGER}")
    desk = Desk(Leagues(given.runs.expanduser(), run), book, RUNS, given.data_dir, given.pause)
    addresses.build(desk, run)


def _free_port(asked: int | None) -> int:
    """The port, once nobody else is known to listen on it; 0 is any."""
    if asked is None:
        try:
            return _free_port(PORT)
        except UsageError:  # somebody else has it, and nobody has asked for it
            return _free_port(0)
    if not 0 <= asked <= 65535:
        raise UsageError(f"--port must be an integer in 0..65535; got {asked}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, asked))
        except OSError as error:
            raise UsageError(f"--port {asked} cannot be used ({error.strerror}); name another, or 0 for any") from None
        return int(probe.getsockname()[1])


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
