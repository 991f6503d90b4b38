"""Write the play page as a static site: one HTML file with rules and scripted partners inside, for any web host.

It needs no server, no installation and no network; it also opens as a file. All its partners are scripted. For trained
partners, language models, leagues and replays there is dond web.

examples:
  dond demo                     # demo/index.html: open it in a browser
  dond demo --out public/play   # into the folder that a host serves
"""

from __future__ import annotations

from pathlib import Path

import click

from dond.cli.shell import FILE, Command, print_line
from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically

PAGE = "index.html"


@click.command(cls=Command, help=__doc__, interrupted="nothing is written")
@click.option("--out", type=FILE, default=Path("demo"), metavar="FOLDER", help="created if missing (demo)")
def command(out: Path) -> None:
    """Write the page into a folder."""
    from dond.web.demo import page

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is a file; name a folder, which is made if need be")
    text = page()
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / PAGE, text)
    print_line(f"written: {out / PAGE} ({len(text.encode()) / 1000:.0f} kB); open it in a browser, or serve the folder")
