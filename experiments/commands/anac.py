"""Negotiators of the ANAC competitions against ours: who takes what from whom, in both seats of the test scenarios.

They are AGPL and not ours: install them, and NegMAS, into an environment of their own, and name its Python. They are
asked in a process of their own. What is played is kept in output_dir; the same command continues with the rest.

examples:
  dond experiment anac --python ~/negmas/bin/python                  # with anac.yaml
  dond experiment anac --python ~/negmas/bin/python --run runs/league --member main --plot anac.svg
  dond experiment anac --python ~/negmas/bin/python --set scenarios=4 --set fewer={} --set packages=[negmas_negolog]
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.errors import InputError
from dond_marl.records.files import write_atomically
from experiments.commands.outcome import keep, results_file
from league.bench.submission import submission_of_run
from league.cli.shell import FILE, Command, WritableFile, config_option, print_line, set_option
from league.settings.read import load_config

STOPPED = "what is played is kept, and the same command goes on with the rest"
MAIN = "main"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("anac.yaml", default="experiments/configs/anac.yaml", help="YAML file (anac.yaml)")
@set_option
@click.option("--python", metavar="FILE", help="the Python of an environment with NegMAS and the agents (this one)")
@click.option("--run", "folder", type=FILE, metavar="FOLDER", help="a league's folder, of which a member plays too")
@click.option("--member", metavar="NAME", help="with --run: which, where it has several mains")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="also draw it, as SVG")
def command(
    config_path: Path,
    overrides: tuple[str, ...],
    python: str | None,
    folder: Path | None,
    member: str | None,
    results: Path | None,
    plot: Path | None,
) -> None:
    """Play, print the tables, and keep the figures."""
    from experiments.field.anac.experiment import lines, perform  # some occupants load PyTorch
    from experiments.field.anac.findings import found_in, markdown
    from experiments.field.anac.picture import drawing
    from experiments.field.anac.settings import AnacConfig

    if member is not None and folder is None:
        raise InputError("--member is for --run, which names a league's folder")
    config = load_config(config_path, overrides, AnacConfig)
    path = results_file(results, Path(config.output_dir).expanduser())
    more = {}
    if folder is not None:
        submission = submission_of_run(folder.expanduser(), member)
        more = {member or MAIN: (submission.player.partner(), submission.known.identity)}
    experiment = perform(config, None if python is None else str(Path(python).expanduser()), more, print_line)
    text = lines(experiment)
    found = found_in(text.splitlines())
    keep(path, text, markdown(found))
    if plot is not None:
        write_atomically(plot, drawing(found))
        print_line(f"written: {plot}")
