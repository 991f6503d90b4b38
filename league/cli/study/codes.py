"""Say which completion codes are a study's own: those that participants handed in, a code a line.

The codes themselves are nowhere on disk: SHA-256 of each is, so that a code can be checked and none can be read.

examples:
  dond study codes runs/study handed_in.txt
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TextIO

import click

from dond_marl.errors import InputError
from league.cli.shell import FILE, Command, say


@click.command(cls=Command, help=__doc__)
@click.argument("folder", type=FILE, metavar="DIR")
@click.argument("handed_in", type=click.File(encoding="utf-8-sig"), metavar="FILE")
def command(folder: Path, handed_in: TextIO) -> None:
    """Check codes."""
    from league.web.study.hall import digest
    from league.web.study.journal import read_journal

    known = {event.told["code"] for event in read_journal(folder) if event.kind == "answered"}
    try:
        codes = [line.strip().upper() for line in handed_in if line.strip()]
    except UnicodeDecodeError:
        raise InputError(f"{handed_in.name}: is no UTF-8 text; give a code a line") from None
    if not codes:
        raise InputError("no code was handed in: give a code a line")
    for code, times in Counter(codes).items():
        again = f", handed in {times} times" if times > 1 else ""
        say(f"{code}: {'given out here' if digest(code) in known else 'not given out here'}{again}")
