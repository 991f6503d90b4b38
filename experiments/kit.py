"""Shared parts of all experiments: result cache, results file, command options, and text tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from dond_marl.errors import DondError, RunFailure
from dond_marl.records.files import write_atomically
from league.backends.pool import in_processes
from league.bench.results import check_writable
from league.cli.shell import FILE, Command, config_option, integer, output_console, print_line, set_option
from league.display.tables import print_section
from league.tables.blocks import Section, Table, TableRow

RESULTS = "results.jsonl"
CONFIGS = "experiments/configs"
RESUMES = "finished parts are cached; the same command continues with the rest"
MOST_WORKERS = 64

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def experiment_command(
    help_text: str | None,
    config: str = "",
    *,
    stopped: str = RESUMES,
    results: bool = True,
    workers: int = 0,
    run_errors: tuple[type[Exception], ...] = (),
) -> Callable[[Callable[..., None]], click.Command]:
    """A decorator that makes the command of an experiment.

    Parameters
    ----------
    help_text : the module's docstring.
    config : name of the default settings file under ``experiments/configs``; adds ``--config`` and ``--set``.
    stopped : what an interruption leaves behind.
    results : adds ``--results FILE``.
    workers : default of ``--workers``; 0 for none.
    run_errors : input errors that count as failures of the run, exit code 1.
    """
    options: list[Callable[[Any], Any]] = []
    if config:
        options += [config_option(config, default=f"{CONFIGS}/{config}", help=f"YAML file ({config})"), set_option]
    if workers:
        text = f"parallel processes, one thread each ({workers})"
        options.append(
            click.option("--workers", type=integer(1, MOST_WORKERS), default=workers, metavar="N", help=text)
        )
    if results:
        text = f"results file ({RESULTS} in output_dir)"
        options.append(click.option("--results", type=FILE, metavar="FILE", help=text))

    def decorate(function: Callable[..., None]) -> click.Command:
        for option in reversed(options):
            function = option(function)
        made = click.command(cls=Command, help=help_text, interrupted=stopped, run_errors=run_errors)
        return made(function)

    return decorate


class Task(NamedTuple):
    """A computation whose result is a JSON object: a function of its inputs."""

    name: str  # in messages
    inputs: Mapping[str, Any]  # plain values; their hash names the file of the result
    compute: Callable[[], Mapping[str, Any]]


def run_tasks(
    tasks: Sequence[Task],
    folder: Path,
    workers: int,
    report: Callable[[str], None],
    describe: Callable[[int, Mapping[str, Any]], str],
) -> list[Mapping[str, Any]]:
    """The results of the tasks, in order, ``workers`` at a time, which changes no result.

    Results are cached in ``folder``; what is there is not computed again. ``report`` gets a line of progress after each
    task, which ends in what ``describe`` says about the place and result of the task. An error becomes a
    :class:`RunFailure` that names the task.
    """
    found: dict[int, Mapping[str, Any]] = {}
    for place, result in in_processes(_run_task, [(task, folder) for task in tasks], workers):
        found[place] = result
        report(f"{len(found)}/{len(tasks)} {tasks[place].name}: {describe(place, result)}")
    return [found[place] for place in range(len(tasks))]


def _run_task(task: Task, folder: Path) -> Mapping[str, Any]:
    name = hashlib.sha256(json.dumps(task.inputs, sort_keys=True).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(known, dict):
            return known
    except (OSError, ValueError):  # none, or a damaged file
        pass
    try:
        result = task.compute()
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(result) + "\n")
    except (DondError, OSError) as error:
        raise RunFailure(f"{task.name}: {error}") from error
    return result


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """The text of a results file: one JSON object a line."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def results_path(results: Path | None, folder: str) -> Path:
    """``--results``, or ``results.jsonl`` in the output folder. Raises ``ResultsError`` if it cannot be written."""
    path = results or Path(folder).expanduser() / RESULTS
    check_writable(path)
    return path


def write_results(path: Path, text: str) -> None:
    """Write a results file, atomically, and report its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text)
    print_line(f"written: {path}")


def show_sections(*sections: Section) -> None:
    """Print sections on standard output."""
    for section in sections:
        print_section(output_console(), section)


def text_table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> Table:
    """A table of formatted texts; the first column holds the row labels."""
    label, *others = heads
    return Table(caption, tuple(others), tuple(TableRow(row[0], tuple(row[1:])) for row in rows), label)


def table_section(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> Section:
    """A section of one table of formatted texts under its notes."""
    return Section(title.lower().replace(" ", "_"), title, notes, (text_table(heads, rows),))
