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

from pathlib import Path

import click

from dond_marl.game import Rules
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.shell import (
    SEED,
    Command,
    as_called,
    config_option,
    output_console,
    print_line,
    print_next,
    quiet_option,
    quote_for_shell,
    resume_option,
    set_option,
)
from league.cli.stops import NOT_BEGUN, STOPS
from league.ledger.run_directory import RUNS, SETTINGS, new_run, run_to_resume
from league.run import check_training, clone_people, plan_training
from league.settings.layers import preset
from league.settings.read import load_config
from league.settings.training import TrainConfig
from partners.network.checkpoint_files import CheckpointError


@click.command(cls=Command, help=__doc__, interrupted="nothing is saved", run_errors=(CheckpointError,))
@click.option(
    "--algo", type=click.Choice(["ppo", "reinforce", "bc"]), help="learning algorithm; overrides training.algo"
)
@click.option(
    "--hint", type=click.Choice(["none", "random", "expert", "llm"]), help="source of hints; overrides hints.mode"
)
@config_option("ppo_config.yaml", help="a YAML file (by default the one for --algo: configs/ppo_config.yaml etc.)")
@set_option
@click.option("--seed", type=SEED, metavar="N", help="random seed (0); overrides training.seed")
@resume_option
@click.option("--dry-run", is_flag=True, help="check the settings, print the plan and its cost, stop")
@quiet_option
@click.pass_context
def command(
    context: click.Context,
    algo: str | None,
    hint: str | None,
    config_path: Path | None,
    overrides: tuple[str, ...],
    seed: int | None,
    resume: Path | None,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Train or resume; ``resume`` is an empty path for the newest run."""
    short = {"training.algo": algo, "hints.mode": hint, "training.seed": seed}
    overrides = (*overrides, *(f"{key}={value}" for key, value in short.items() if value is not None))
    if config_path is None and resume is None and algo is not None:
        config_path = preset(Path("configs") / f"{algo}_config.yaml")
        print_line(f"without --config: the settings of {config_path}")
    if config_path is None and (resume is None or overrides):
        raise click.UsageError(
            "--config FILE or --algo ppo, reinforce or bc is needed; only --resume RUN, by itself, takes the run's own "
            "settings"
        )
    config = None if config_path is None else load_config(config_path, overrides, TrainConfig, dry_run=dry_run)
    if config is not None and dry_run:
        for line in plan_training(config):
            print_line(line)
        return
    if config is not None:
        config = check_training(config, resume=resume is not None)
        if config.training.algo == "bc" and resume is None:
            _clone(config)
            return
    _train(context, config, resume, quiet)


def _train(context: click.Context, config: TrainConfig | None, resume: Path | None, quiet: bool) -> None:
    from league.display.training import QuietTrainWatcher, TrainWatcher, print_score  # loads PyTorch
    from league.training.training import train

    output_dir = RUNS if config is None else Path(config.logging.output_dir).expanduser()
    directory = new_run(output_dir) if resume is None else run_to_resume(resume, output_dir, SETTINGS, print_line)
    go_on = f"{as_called(context)} --resume {quote_for_shell(str(directory.path))}"
    console = output_console()
    watcher = (QuietTrainWatcher if quiet else TrainWatcher)(console)
    STOPS.message = lambda: _stop_message(directory.path, go_on, closing=watcher.closing)
    try:
        with watcher:
            training, _ = train(config, directory, watcher, watcher.on_closing)
        print_score(console, training, directory.path)
        _print_next(context, training.config, directory.path)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None


def _print_next(context: click.Context, config: TrainConfig, folder: Path) -> None:
    """Suggest the command that measures the same policy in the same games, in more detail."""
    env, rules, spec = config.env, Rules(), str(folder)
    if env.reveal_partner_utilities:  # an evaluation shows no values
        print_next(context, "play", "--partner", spec)
        return
    words: list[object] = ["evaluate", "--member", spec, "--against", config.env.partner]
    if env.scenarios != "lewis":
        words += ["--scenarios", env.scenarios]
        words += ["--split", env.split] if env.split is not None else []
        words += ["--data-dir", env.data_dir] if env.data_dir is not None else []
    words += ["--max-turns", env.max_turns] if env.max_turns != rules.max_turns else []
    words += ["--disagree", env.disagree] if env.disagree != rules.disagree else []
    words += ["--seed", config.training.seed] if config.training.seed else []
    print_next(context, *words)


def _stop_message(folder: Path, go_on: str, *, closing: bool) -> str:
    """The state that a stop leaves of the training in ``folder``; ``closing``: while its score was measured."""
    if closing:
        return f"stopped: the training is saved, its score is not measured; measure it with: {go_on}"
    if not (folder / SETTINGS).is_file():  # there is nothing to resume
        return NOT_BEGUN
    from league.ledger.run_names import checkpoints_in

    saved = max((int(path.stem.removeprefix("step_")) for path in checkpoints_in(folder)), default=0)
    state = f"stopped and saved after {saved:,} decisions" if saved else "stopped before its first update"
    return f"{state}; go on with: {go_on}"


def _clone(config: TrainConfig) -> None:
    """Clone people's acts and print the report."""
    from league.display.training import epoch_status, print_clone_report

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
    print_clone_report(console, report, data)
    print_line(f"the expert: {path}, which expert(kind=supervised) reads")
