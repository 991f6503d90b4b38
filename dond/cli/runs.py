"""Common start of ``dond league`` and ``dond train``: options, settings, the run folder, and how to resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from dond.cli.shell import FILE, SEED, config_option, print_line, set_option, trust_option, with_options
from dond_marl.files import user_path
from league.ledger.run_directory import RUNS, RunDirectory, find_run, new_run
from league.ledger.run_names import expand_run_names
from league.settings.layers import preset
from league.settings.read import load_config


class RunOptions(NamedTuple):
    """Options of a command that starts or resumes a run; an empty path in ``resume`` stands for the newest run."""

    config_path: Path | None
    overrides: tuple[str, ...]
    resume: Path | None
    seed: int | None
    dry_run: bool
    quiet: bool
    trust: bool

    def load(self, schema: type[Any], shipped: str, short: Mapping[str, object]) -> Any:
        """The settings, of type ``schema``; ``None`` for a resumed run with its own.

        ``shipped``: the shipped config of a new run without --config; ``short``: values of options that set one key.
        """
        path, values = self.config_path, {key: value for key, value in short.items() if value is not None}
        overrides = (*self.overrides, *(f"{key}={value}" for key, value in values.items()))
        if path is None and self.resume is None:
            path = preset(Path("configs") / shipped)
            print_line(f"without --config: the settings of {path}")
        if path is None:
            if overrides or self.dry_run:
                raise click.UsageError("--config FILE is needed; the run's own settings are for --resume RUN by itself")
            return None
        expand = partial(expand_run_names, trust=self.trust)
        config = load_config(path, overrides, schema, dry_run=self.dry_run and not self.trust, expand=expand)
        user_path(config.logging.output_dir)  # refused before a dry run is content with it
        return config

    def open_folder(self, output_dir: str | None, mark: str) -> RunDirectory:
        """The folder of the resumed run, or of a new one in ``output_dir``; ``mark``: the first file of such a run."""
        folder = RUNS if output_dir is None else user_path(output_dir)
        if self.resume is None:
            return new_run(folder)
        return find_run(folder if self.resume == Path() else self.resume, mark, print_line)


def run_options(config: str, config_help: str, seed_key: str) -> Callable[[Any], Any]:
    """The options of :class:`RunOptions`; ``config``: an example; ``seed_key``: the key that --seed sets."""
    return with_options(
        config_option(config, help=config_help),
        set_option,
        click.option(
            "--resume",
            type=FILE,
            is_flag=False,
            flag_value="",
            metavar="[RUN]",
            help="continue a run, or the newest one",
        ),
        click.option("--dry-run", is_flag=True, help="check the settings, print the plan and expensive queries, stop"),
        click.option("--seed", type=SEED, metavar="N", help=f"random seed; overrides {seed_key}"),
        click.option("--quiet", is_flag=True, help="show no progress, only problems and the outcome"),
        trust_option,
    )
