r"""Train one policy: by PPO or REINFORCE against a partner, with or without hints, or by cloning people (bc).

examples:
  dond train --algo ppo --hint none --config configs/ppo_config.yaml
  dond train --algo reinforce --hint expert --config configs/reinforce_config.yaml
  python scripts/train.py --algo ppo --hint llm --config configs/ppo_config.yaml
  dond train --config configs/ppo_config.yaml \
      --set env.partner="boulware(exponent=2)" --set training.num_train_steps=100000
  dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=data
  dond train --algo ppo --seed 7 --quiet    # with the shipped settings
  dond train --resume     # the newest training under runs, with its own settings
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from dond.cli.runs import RunOptions, run_options
from dond.cli.shell import Command, dond, output_console, print_line, print_next
from dond.cli.stops import NOT_BEGUN, STOPS
from dond_marl.game import Rules
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.api import clone_people
from league.ledger.run_directory import SETTINGS
from league.settings.training import TrainConfig
from partners.network.checkpoint_files import CheckpointError


@click.command(cls=Command, help=__doc__, interrupted="nothing is saved", run_errors=(CheckpointError,))
@click.option(
    "--algo", type=click.Choice(["ppo", "reinforce", "bc"]), help="learning algorithm; overrides training.algo"
)
@click.option(
    "--hint", type=click.Choice(["none", "random", "expert", "llm"]), help="source of hints; overrides hints.mode"
)
@run_options(
    "ppo_config.yaml", "a YAML file (by default the one for --algo: configs/ppo_config.yaml etc.)", "training.seed"
)
def command(algo: str | None, hint: str | None, **options: Any) -> None:
    """Train or resume."""
    start = RunOptions(**options)
    shipped = f"{algo or 'ppo'}_config.yaml"
    short = {"training.algo": algo, "hints.mode": hint, "training.seed": start.seed}
    config: TrainConfig | None = start.load(TrainConfig, shipped, short)
    if config is not None and start.dry_run:
        from league.training.training import plan_of  # loads PyTorch

        for line in plan_of(config):
            print_line(line)
        return
    if config is not None and config.training.algo == "bc" and start.resume is None:
        _clone(config)
        return
    _train(config, start)


def _train(config: TrainConfig | None, start: RunOptions) -> None:
    from dond.terminal.tables import ConsoleOutput, print_sections
    from dond.terminal.training import LiveTrainWatcher  # loads PyTorch
    from league.results.training import QuietTrainWatcher, TrainWatcher, score_sections
    from league.training.training import train

    directory = start.open_folder(None if config is None else config.logging.output_dir, SETTINGS)
    go_on = dond("train", "--resume", directory.path)
    console = output_console()
    live = LiveTrainWatcher(console) if console.is_terminal and not start.quiet else None
    watcher = live or (QuietTrainWatcher if start.quiet else TrainWatcher)(ConsoleOutput(console))
    STOPS.message = lambda: _stop_message(directory.path, go_on, closing=watcher.closing)
    try:
        with live or nullcontext():
            training, _ = train(config, directory, watcher, watcher.on_closing, trust=start.trust)
        print_sections(console, score_sections(training, directory.path))
        _print_next(training.config, directory.path)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None


def _print_next(config: TrainConfig, folder: Path) -> None:
    """Suggest the command that measures the same policy in the same games, in more detail."""
    env, rules, spec = config.env, Rules(), str(folder)
    if env.reveal_partner_utilities:  # an evaluation shows no values
        print_next("play", "--partner", spec)
        return
    words: list[object] = ["evaluate", "--member", spec, "--against", config.env.partner]
    if env.scenarios != "lewis":
        words += ["--scenarios", env.scenarios]
        words += ["--split", env.split] if env.split is not None else []
        words += ["--data-dir", env.data_dir] if env.data_dir is not None else []
    words += ["--max-turns", env.max_turns] if env.max_turns != rules.max_turns else []
    words += ["--disagree", env.disagree] if env.disagree != rules.disagree else []
    words += ["--seed", config.training.seed] if config.training.seed else []
    print_next(*words)


def _stop_message(folder: Path, go_on: str, *, closing: bool) -> str:
    if closing:
        return f"stopped: the training is saved, its score is not measured; measure it with: {go_on}"
    if not (folder / SETTINGS).is_file():  # there is nothing to resume
        return NOT_BEGUN
    from league.ledger.run_names import checkpoints_in

    saved = max((int(path.stem.removeprefix("step_")) for path in checkpoints_in(folder)), default=0)
    state = f"stopped and saved after {saved:,} decisions" if saved else "stopped before its first update"
    return f"{state}; go on with: {go_on}"


def _clone(config: TrainConfig) -> None:
    from dond.terminal.tables import print_section
    from league.results.training import clone_section, epoch_status

    console = output_console()
    with console.status("") as status_line:  # shown on a terminal only
        report, data, path = clone_people(
            config,
            lambda directory, data: print_line(
                f"cloning {data.train.size:,} positions of people in every order of the items, {data.val.size:,} "
                f"others for early stopping; run folder {directory.path}"
            ),
            lambda epoch: print_line(epoch_status(epoch)),
            status_line.update,
        )
    print_section(console, clone_section(report, data))
    print_line(f"the expert: {path}, which expert(kind=supervised) reads")
