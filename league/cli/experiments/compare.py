"""Compare leagues: run each with the same seeds, and measure its main member against members it has never met.

examples:
  dond experiment compare configs/league.yaml configs/league_self_play.yaml --seeds 1 2 3
  dond experiment compare configs/league_quick.yaml configs/league_spite.yaml
  dond experiment compare configs/league.yaml configs/league_self_play.yaml --set league.rounds=5
"""

from __future__ import annotations

from pathlib import Path

import click

from dond_marl.errors import InputError
from league.cli.shell import FILE, Command, ConfigFile, console_for_people, say, say_next, set_option
from league.display.league import QuietWatcher
from league.experiments.compare import Trial, print_trials, trial
from league.settings.read import Config, load_config
from league.standings.as_csv import write_csv
from league.tasks.pasts import refuse_league


class Compare(Command):
    """Takes ``--seeds 1 2 3``, which click knows as ``--seeds 1 --seeds 2 --seeds 3`` alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[str] = []
        for word in args:
            words += ["--seeds", word] if word.isdigit() and words[-2:-1] == ["--seeds"] else [word]
        return super().parse_args(ctx, words)


@click.command(cls=Compare, help=__doc__)
@click.argument("configs", nargs=-1, required=True, type=ConfigFile(), metavar="CONFIG...", help="leagues that learn")
@click.option(
    "--seeds", type=int, multiple=True, default=(1,), metavar="N...", help="one run of each league for every seed (1)"
)
@set_option
@click.option(
    "--output-dir", type=FILE, default="runs/compare", metavar="FOLDER", help="where the runs are kept (runs/compare)"
)
@click.option("--csv", type=FILE, metavar="FILE", help="write the trials here too")
@click.pass_context
def command(
    context: click.Context,
    configs: tuple[Path, ...],
    seeds: tuple[int, ...],
    overrides: tuple[str, ...],
    output_dir: Path,
    csv: Path | None,
) -> None:
    """Run every league with every seed, and print what their main members earn."""
    console, trials = console_for_people(), list[Trial]()
    leagues: dict[str, Config] = {path.stem: load_config(path, overrides) for path in configs}
    for name, config in leagues.items():
        if not config.learners or not config.heldout:
            raise InputError(f"{name}: a league to compare has learners and held-out members")
        refuse_league(config)
    for seed in seeds:
        for name, config in leagues.items():
            say(f"{name}, seed {seed}")
            seeded = config.model_copy(update={"league": config.league.model_copy(update={"seed": seed})})
            trials.append(trial(name, seeded, output_dir / name, QuietWatcher(console)))
    print_trials(console, trials)
    if csv is not None:
        write_csv(csv, [list(Trial._fields), *([str(value) for value in row] for row in trials)])
        say(f"written: {csv}")
    say_next(context, "report", "--run", output_dir / next(iter(leagues)))
