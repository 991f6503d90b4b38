"""Open the local web page: play against any occupant, follow a league, replay games, let two occupants meet.

examples:
  dond web                               # or: make play
  dond web --run runs/league/0001        # or: make watch RUN=runs/league/0001
  dond web --data-dir FOLDER --port 9000 --no-browser
"""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path

import click

from dond_marl.errors import InputError
from league.cli.shell import FILE, Command, Number, say, whole
from league.display.session import RECORDS
from league.ledger.run_directory import LEDGER
from league.web.server import HOST, free_port, serve

RUNS = Path("runs")  # leagues under it may be watched, files of games replayed
PAUSE = Number(float, lambda seconds: 0 <= seconds <= 10, "a number of seconds in 0..10")


@click.command(cls=Command, help=__doc__)
@click.option("--run", type=FILE, metavar="DIR", help="a league to follow, running or over")
@click.option("--runs", type=FILE, default=RUNS, metavar="DIR", help="the folder that holds your leagues (runs)")
@click.option("--record", type=FILE, default=RECORDS, metavar="FILE", help=f"your games are added here ({RECORDS})")
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="of the published files (data)")
@click.option("--port", type=whole(0, 65535), metavar="N", help="0 for any free port (8080 if it is free, else any)")
@click.option("--pause", type=PAUSE, default=0.7, metavar="S", help="seconds that a partner thinks (0.7)")
@click.option("--no-browser", is_flag=True, help="do not open a browser")
def command(
    run: Path | None,
    runs: Path,
    record: Path,
    data_dir: Path | None,
    port: int | None,
    pause: float,
    no_browser: bool,
) -> None:
    """Serve the pages to this machine's own browser until stopped."""
    from league.web import pages  # NiceGUI is needed from here on
    from league.web.frame import Desk
    from league.web.league.follower import Leagues, named_run

    try:
        port = free_port(port)
    except OSError as error:
        raise InputError(f"--port {port} cannot be used ({error.strerror}); name another, or 0 for any") from None
    book = record.expanduser()
    if book.is_dir():
        raise InputError(f"--record {book}: is a folder; name a file")
    folder = None if run is None else named_run(run)
    if folder is not None and not (folder / LEDGER).is_file():
        raise InputError(f"--run {folder}: is no league's folder: it holds no {LEDGER}")
    leagues = Leagues(runs.expanduser(), folder)
    pages.build(Desk(leagues.known, book, RUNS, data_dir, pause), leagues, folder)
    address = f"http://{HOST}:{port}{'/league' if run else '/'}"
    say(f"open {address} in a browser on this machine; Ctrl-C stops it")
    if not no_browser:
        threading.Timer(1.0, webbrowser.open, [address]).start()
    serve(port)
