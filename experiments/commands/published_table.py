"""Print what papers report of this game, each figure with its source and whether it could be read, and ours beside it.

Figures that nobody could open are marked and not printed. Ours come from results files of dond experiment published,
self-taught, nash-products and words.

examples:
  dond experiment published-table
  dond experiment published-table --results docs/results/published.jsonl
  dond experiment published-table --markdown > published.md
  dond experiment published-table --json published.json
"""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.markdown import Markdown

from dond_marl.records.files import write_atomically
from experiments.field.published.cells import published
from experiments.field.published.gathered import FILES, gathered
from experiments.field.published.table import document, markdown
from league.cli.shell import FILE, Command, WritableFile, output_console, print_line

RESULTS = tuple(f"docs/results/{name}" for name in FILES)
MADE_BY = "dond experiment published --set data_dir=FOLDER"


@click.command(cls=Command, help=__doc__)
@click.option(
    "--results", type=FILE, multiple=True, metavar="FILE", help="ours; may be repeated (those in docs/results)"
)
@click.option("--markdown", "plain", is_flag=True, help="print Markdown as it is")
@click.option("--json", "json_path", type=WritableFile(), metavar="FILE", help="also write everything as JSON")
def command(results: tuple[Path, ...], plain: bool, json_path: Path | None) -> None:
    """Print the table."""
    paths = results or tuple(path for path in map(Path, RESULTS) if path.is_file())
    found = gathered(paths)
    text = markdown(published(), found)
    if plain:
        click.echo(text)
    else:
        output_console().print(Markdown(text))
    for path in paths:
        print_line(f"ours: {path}")
    if not paths:
        print_line(f"no figures of ours here: {MADE_BY} makes them")
    if json_path is not None:
        write_atomically(json_path, json.dumps(document(published(), found), indent=1) + "\n")
        print_line(f"written: {json_path}")
