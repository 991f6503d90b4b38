"""Teach a small model people's words, measure how well it foresees them, and let it bargain in English.

The published dialogues are needed, and never shipped; nor are the weights, which stay in output_dir. What is done is
kept there; the same command continues with the rest.

examples:
  dond experiment words --data-dir data                    # with configs/words.yaml
  dond experiment words --data-dir data --set learning.seeds=1 --results words.jsonl
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from league.cli.field.outcome import keep, results_file
from league.cli.shell import FILE, Command, config_option, say, set_option
from league.settings.read import load_config

STOPPED = "models and meetings that are done are kept, and the same command goes on with the rest"


@click.command(cls=Command, help=__doc__, interrupted=STOPPED)
@config_option("words.yaml", default="configs/words.yaml", help="a YAML file (words.yaml)")
@set_option
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="of the published files (data)")
@click.option("--results", type=FILE, metavar="FILE", help="the results file (results.jsonl in output_dir)")
def command(config_path: Path, overrides: tuple[str, ...], data_dir: Path | None, results: Path | None) -> None:
    """Learn, play, print and keep."""
    from league.experiments.field.words.experiment import perform, text  # PyTorch is loaded from here on
    from league.experiments.field.words.settings import WordsConfig
    from league.experiments.field.words.shown import HOW, markdown

    if data_dir is not None:
        overrides = (*overrides, f"data_dir={json.dumps(str(data_dir))}")  # in quotes, for a folder called 2024 or null
    config = load_config(config_path, overrides, WordsConfig)
    path = results_file(results, Path(config.output_dir).expanduser())
    found = list(perform(config, say))
    keep(path, text(found, config), markdown(found), HOW)
