"""What ``scripts/compare.py`` does with its arguments: settings, leagues one after another, a table, an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.league import PlainWatcher, console_for_people
from league.experiments.compare import Trial, print_trials, trial
from league.settings.read import Config, load_config
from league.standings.as_csv import write_csv


class Quiet(PlainWatcher):
    """Says what goes wrong and nothing else."""

    def opened(self, *_: object) -> None:
        """Nothing."""

    def told(self, message: str) -> None:
        """Nothing."""

    def trained(self, *_: object) -> None:
        """Nothing."""

    def committed(self, *_: object) -> None:
        """Nothing."""


def main(
    configs: Sequence[Path], seeds: Sequence[int], overrides: Sequence[str], output_dir: Path, csv: Path | None
) -> int:
    """Run every league with every seed; the exit code is 0, 1 (a run), 2 (the settings) or 130 (interrupted)."""
    console, trials = console_for_people(), list[Trial]()
    try:
        loaded: dict[str, Config] = {path.stem: load_config(path, overrides) for path in configs}
        for name, config in loaded.items():
            if not config.learners or not config.heldout:
                print(f"{name}: a league to compare has learners and held-out members", file=sys.stderr)  # the command talks to a person
                return USAGE_ERROR
        for seed in seeds:
            for name, config in loaded.items():
                console.print(f"{name}, seed {seed}", soft_wrap=True)
                league = config.league.model_copy(update={"seed": seed})
                seeded = config.model_copy(update={"league": league})
                trials.append(trial(name, seeded, output_dir / name, Quiet(console)))
    except USER_ERRORS as error:
        print(error, file=sys.stderr)  # as above
        return USAGE_ERROR
    except RUN_ERRORS as error:
        print(error, file=sys.stderr)  # as above
        return RUN_ERROR
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)  # as above
        return INTERRUPTED
    print_trials(console, trials)
    if csv is not None:
        write_csv(csv, [list(Trial._fields), *([str(value) for value in one] for one in trials)])
    return 0
