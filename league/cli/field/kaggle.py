"""Play occupants of ours against each other in Kaggle's game arena, seats exchanged on every table.

It needs kaggle-environments, in an environment of its own: it pins other versions than this project. What is played is
kept in output-dir; the same command continues with the rest. --prompts plays nothing: it writes the arena's prompts,
with our acts and our reply in them, as files for llm(prompt_path=...).

examples:
  dond experiment kaggle
  dond experiment kaggle --seat heuristic --seat random --tables 20 --results arena.jsonl
  dond experiment kaggle --prompts arena_prompts
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.occupants import check_spec
from dond_marl.records.files import write_whole
from league.cli.field.outcome import keep, results_file
from league.cli.shell import FILE, Command, say, whole

SEATS = ("heuristic", "expert(greedy=True)", "equilibrium", "random")
MAIN = "main"
STOPPED = "pairs that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@click.option(
    "--seat", "seats", multiple=True, metavar="OCCUPANT", help="an occupant, or random, the arena's own agent"
)
@click.option(
    "--main", type=FILE, metavar="FILE", help="the .json of a checkpoint, as of dond league export, seated too"
)
@click.option("--tables", type=whole(2, 100_000), default=100, metavar="N", help="two games of each pair on each (100)")
@click.option("--output-dir", type=FILE, default=Path("runs/kaggle"), metavar="FOLDER", help="(runs/kaggle)")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output-dir)")
@click.option("--prompts", type=FILE, metavar="FOLDER", help="write the arena's prompts there instead of playing")
def command(
    seats: tuple[str, ...],
    main: Path | None,
    tables: int,
    output_dir: Path,
    results: Path | None,
    prompts: Path | None,
) -> None:
    """Play, print and keep; or write the prompts."""
    if prompts is not None:
        _write_prompts(prompts.expanduser())
        return
    from league.experiments.field.kaggle import RANDOM, lines, markdown, perform

    path = results_file(results, output_dir.expanduser())
    players = [(spec, spec) for spec in seats or SEATS]
    if main is not None:
        players.append((MAIN, f"checkpoint(greedy=True, path={str(main.expanduser())!r})"))
    for _, spec in players:
        if spec != RANDOM:
            check_spec(spec)
    pairs = list(perform(players, tables, output_dir.expanduser(), say))
    how = f"{tables} tables, two games each with seats exchanged; 95% intervals over tables; has more: than the other"
    keep(path, lines(pairs, players), markdown(pairs), how)


def _write_prompts(folder: Path) -> None:
    from league.experiments.field import arena_prompts

    found = arena_prompts.prompts()
    folder.mkdir(parents=True, exist_ok=True)
    for name, template in found.items():
        write_whole(folder / f"{name}.txt", template.text)
    say(f"written: {', '.join(f'{name}.txt' for name in found)} in {folder}; seat one as llm(prompt_path=...)")
