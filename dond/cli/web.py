"""Open the local web page: play against any occupant, follow a league, replay games, let two occupants play.

examples:
  dond web                               # or: make play
  dond web --run runs/league/0001        # or: make watch RUN=runs/league/0001
  dond web --data-dir FOLDER --port 9000 --no-browser
  dond web --host 0.0.0.0 --no-browser   # for others too: the printed address holds a key
"""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from pathlib import Path

import click

from dond.cli.shell import FILE, Command, Number, integer, print_line, trust_option
from dond.table.session import RECORDS
from dond.web.server import HOST, address_of, free_port, is_loopback, serve
from dond_marl.errors import InputError
from dond_marl.occupants import ANYTHING, NOTHING
from league.ledger.run_directory import LEDGER, RUNS, find_run

PAUSE = Number(float, lambda seconds: 0 <= seconds <= 10, "a number of seconds in 0..10")


@click.command(cls=Command, help=__doc__, interrupted="the pages are closed; finished games are recorded")
@click.option("--run", type=FILE, metavar="FOLDER", help="a league to follow, running or over")
@click.option("--runs", type=FILE, default=RUNS, metavar="FOLDER", help="the folder that holds your leagues (runs)")
@click.option("--record", type=FILE, default=RECORDS, metavar="FILE", help=f"your games are added here ({RECORDS})")
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--port", type=integer(0, 65535), metavar="N", help="0 for any free port (8080 if it is free, else any)")
@click.option("--host", default=HOST, metavar="ADDRESS", help=f"address to serve ({HOST}: from this machine alone)")
@click.option("--key", "keyed", is_flag=True, help="require the key in the printed address, on this machine too")
@click.option(
    "--open-paths",
    is_flag=True,
    help="let users of the page name any file, address or service, and run code in files",
)
@click.option("--pause", type=PAUSE, default=0.7, metavar="S", help="seconds before a partner's answer (0.7)")
@click.option("--no-browser", is_flag=True, help="do not open a browser")
@trust_option
def command(
    run: Path | None,
    runs: Path,
    record: Path,
    data_dir: Path | None,
    port: int | None,
    host: str,
    keyed: bool,
    open_paths: bool,
    pause: float,
    no_browser: bool,
    trust: bool,
) -> None:
    """Serve the pages until stopped."""
    from dond.web.guard import KEY, Secret  # Starlette is needed from here on
    from dond.web.league_follower import Leagues
    from dond.web.occupants import Desk
    from dond.web.pages import application

    port = free_port(port, host)
    if record.is_dir():
        raise InputError(f"--record {record}: is a folder; name a file")
    folder = None if run is None else find_run(run).path
    if folder is not None and not (folder / LEDGER).is_file():
        raise InputError(f"--run {folder}: holds no league yet")
    leagues = Leagues(runs, folder)
    alone, typed = is_loopback(host), ANYTHING if open_paths else NOTHING
    key = secrets.token_urlsafe(24) if keyed or not alone else None
    typed = typed._replace(folders=(runs, RUNS))
    desk = Desk(leagues.runs, record, RUNS, data_dir, pause, typed, ANYTHING if trust else NOTHING)
    secret = None if key is None else Secret(key, "The key of this page, from the printed address", in_address=True)
    app = application(desk, leagues, folder, secret, host if alone else None)
    reached = socket.gethostname() if host in ("0.0.0.0", "::") else host  # noqa: S104  # all addresses of this machine
    address = f"{address_of(reached, port)}{'/league' if run else '/'}{f'?{KEY}={key}' if key else ''}"
    print_line(f"open {address} in a browser{' on this machine' if alone else ''}; Ctrl-C stops it")
    if not no_browser:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    serve(app, host, port)
