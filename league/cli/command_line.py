"""What may be written after ``scripts/league.py``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from league.cli.help_text import parser_of
from league.cli.league import explained, main
from league.settings.backend import BackendName


def run(documentation: str, words: Sequence[str]) -> int:
    """Do what the words ask for; ``documentation`` is a summary, a blank line and examples. The exit code."""
    parser = _parser(documentation)
    given = parser.parse_args(words)
    if (given.command is not None) != (given.run is not None and given.round is not None):
        parser.error("explain is written: explain --run RUN --round N")
    if given.command == "explain":
        return explained(given.run, given.round)
    if given.config is None and (given.resume is None or given.set):
        parser.error("--config FILE is needed; only --resume RUN, by itself, takes the run's own settings")
    if given.dry_run and given.config is None:
        parser.error("--dry-run needs --config FILE")
    flags = {"kind": given.backend, "workers": given.workers, "ray_address": given.ray_address}
    backend = {key: value for key, value in flags.items() if value is not None}
    return main(given.config, given.set, given.resume, given.dry_run, backend)


def _parser(documentation: str) -> argparse.ArgumentParser:
    parser = parser_of(documentation)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a YAML file, such as configs/league.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    resume = "go on with a run (a folder), or with the newest one"
    parser.add_argument("--resume", nargs="?", type=Path, const=Path(), metavar="RUN", help=resume)
    parser.add_argument("--dry-run", action="store_true", help="check the settings, tell the plan and its cost, stop")
    where = parser.add_argument_group("where it runs", "changes no row and no weight")
    where.add_argument("--workers", type=int, metavar="N", help="tasks at a time")
    where.add_argument("--backend", choices=get_args(BackendName), help="default: local; process where workers are set")
    where.add_argument("--ray-address", metavar="ADDRESS", help="HOST:PORT of a running Ray cluster, or auto")
    explaining = parser.add_argument_group("explain")
    explaining.add_argument("command", nargs="?", choices=["explain"], help="tell why a round was played as it was")
    explaining.add_argument("--run", type=Path, metavar="RUN", help="the run's folder")
    explaining.add_argument("--round", type=int, metavar="N", help="the round, counted from 0")
    return parser
