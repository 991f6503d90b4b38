"""What ``scripts/report.py`` does with its arguments: one run's facts, written in one format; an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from dond_marl.records.files import write_whole
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.ledger.run_directory import named_run
from league.report.as_data import as_csv, as_json
from league.report.as_html import page
from league.report.as_markdown import markdown
from league.report.blocks import Report
from league.report.collect import collect
from league.report.inert import inert

FORMATS: dict[str, Callable[[Report], str]] = {"html": page, "md": markdown, "csv": as_csv, "json": as_json}
STDOUT = Path("-")


class Request(NamedTuple):
    """Which run, how, and where to; ``out`` is by default a file in the run's folder."""

    run: Path
    format: str = "html"
    out: Path | None = None


def main(given: Request) -> int:
    """Write the report; the exit code is 0, 1 (the run), 2 (the arguments or its settings) or 130 (interrupted)."""
    try:
        folder = named_run(given.run.expanduser()).path
        out = folder / f"report.{given.format}" if given.out is None else given.out.expanduser()
        if out != STDOUT and (out.is_dir() or not os.access(out.parent, os.W_OK)):
            return _failed(f"--out {out}: no file can be written there; name one in a folder that exists", USAGE_ERROR)
        text = FORMATS[given.format](inert(collect(folder)))
        if out == STDOUT:
            sys.stdout.write(text)
        else:
            write_whole(out, text)
            print(f"written: {out}")  # the command talks to a person
    except USER_ERRORS as error:
        return _failed(str(error), USAGE_ERROR)
    except RUN_ERRORS as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("\ninterrupted: nothing is written", INTERRUPTED)
    return 0


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
