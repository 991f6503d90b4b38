r"""Train one policy: by PPO or REINFORCE against a partner, with or without hints, or by cloning people (bc).

examples:
  dond train --algo ppo --hint none --config configs/ppo_config.yaml
  dond train --algo reinforce --hint expert --config configs/reinforce_config.yaml
  python scripts/train.py --algo ppo --hint llm --config configs/ppo_config.yaml
  dond train --config configs/ppo_config.yaml \
      --set env.partner="boulware(exponent=2)" --set training.num_train_steps=100000
  dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=data
  dond train --algo ppo --seed 7 --quiet    # with the shipped settings
  dond train --resume     # the newest run under runs/train, with its own settings
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from dond_marl.game import Rules
from dond_marl.records.files import write_atomically
from dond_marl.rollout import OccupantError
from hints import HinterError
from league.cli.shell import (
    SEED,
    Command,
    as_called,
    config_option,
    console_for_people,
    quiet_option,
    quoted,
    resume_option,
    say,
    say_next,
    set_option,
)
from league.cli.stops import STOPS
from league.ledger.run_directory import SETTINGS, RunDirectory, new_run, run_to_resume
from league.settings.layers import preset
from league.settings.read import dump, load_config
from league.settings.training import TrainConfig, TrainLoggingConfig
from league.standings.as_csv import write_csv
from league.tasks.devices import check_devices
from league.tasks.provenance import check_training_provenance
from partners.network.checkpoint_files import CheckpointError

REPORT = "report.json"
CLONE = Path("checkpoints") / "supervised.json"


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
@click.option("--dry-run", is_flag=True, help="check the settings, print what would be played and what it costs, stop")
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
        say(f"without --config: the settings of {config_path}")
    if config_path is None and (resume is None or overrides):
        raise click.UsageError(
            "--config FILE or --algo ppo, reinforce or bc is needed; only --resume RUN, by itself, takes the run's own "
            "settings"
        )
    config = None if config_path is None else load_config(config_path, overrides, TrainConfig)
    if config is not None:
        config.env.open_source()  # before a folder is made: what cannot be opened is the settings' fault
        check_devices([config.training])
        config = config.model_copy(update={"env": config.env.seated()})
        if dry_run:
            _plan(config)
            return
        from league.tasks.hinters import hint_schedule, load_local_model  # PyTorch is loaded from here on

        load_local_model(hint_schedule(config.hints))
        if config.training.algo == "bc" and resume is None:
            _clone(config)
            return
        if resume is None:
            check_training_provenance(config)
            config.training.first_network(config.env, hints=config.hints.mode != "none", seed=0)
    from league.display.training import QuietTrainWatcher, TrainWatcher, print_score
    from league.training.training import train

    directory, console = _directory(config, resume), console_for_people()
    go_on = f"{as_called(context)} --resume {quoted(str(directory.path))}"
    STOPS.word = lambda: _kept(directory.path, go_on)
    try:
        with (QuietTrainWatcher if quiet else TrainWatcher)(console) as watcher:
            training = train(config, directory, watcher)[0]
        STOPS.word = f"stopped: the training is over and saved, its score is not measured; measure it with: {go_on}"
        print_score(console, training, directory.path)
        _say_next(context, training.config, directory.path)
    except OccupantError as error:
        raise error.__cause__ if isinstance(error.__cause__, HinterError) else error from None


def _plan(config: TrainConfig) -> None:
    if config.training.algo == "bc":
        raise click.UsageError("--dry-run is for ppo and reinforce: bc plays no games and asks nobody")
    from league.training.dry_run import plan_of

    for line in plan_of(config):
        say(line)


def _say_next(context: click.Context, config: TrainConfig, folder: Path) -> None:
    """The command that measures the same policy in the same games, and shows more of it."""
    from league.training.training import checkpoints_in

    newest = max(checkpoints_in(folder), key=lambda path: path.stem)
    env, rules, spec = config.env, Rules(), f"checkpoint(path='{newest}')"
    if env.reveal_partner_utilities:  # an evaluation shows no values
        say_next(context, "play", "--partner", spec)
        return
    words: list[object] = ["evaluate", "--member", spec, "--against", config.env.partner]
    if env.scenarios != "lewis":
        words += ["--scenarios", env.scenarios]
        words += ["--split", env.split] if env.split is not None else []
        words += ["--data-dir", env.data_dir] if env.data_dir is not None else []
    words += ["--max-turns", env.max_turns] if env.max_turns != rules.max_turns else []
    words += ["--disagree", env.disagree] if env.disagree != rules.disagree else []
    words += ["--seed", config.training.seed] if config.training.seed else []
    say_next(context, *words)


def _kept(folder: Path, go_on: str) -> str:
    """What a stop has left of the training in ``folder``."""
    if not folder.exists():
        return "stopped before anything was begun"
    from league.training.training import checkpoints_in

    saved = max((int(path.stem.removeprefix("step_")) for path in checkpoints_in(folder)), default=0)
    kept = f"stopped and saved after {saved:,} decisions" if saved else "stopped before its first update"
    return f"{kept}; go on with: {go_on}"


def _directory(config: TrainConfig | None, resume: Path | None) -> RunDirectory:
    output_dir = Path((config.logging if config is not None else TrainLoggingConfig()).output_dir).expanduser()
    if resume is None:
        return new_run(output_dir)
    return run_to_resume(resume, output_dir, SETTINGS, say)


def _clone(config: TrainConfig) -> None:
    """Teach a network what people said, measure it, and put it where ``expert(kind=supervised)`` is read.

    Raises :class:`dond_marl.scenarios.data.DataError` before a run folder is made, and :class:`RunError`.
    """
    from league.display.training import epoch_status, print_clone_report
    from league.training.clone import expert_target, load_positions, measure_clone, report_json, save, train_clone
    from league.training.progress_log import CSV_NAME
    from partners.learning.cloning import Epoch

    taught = load_positions(config)
    console = console_for_people()
    with new_run(Path(config.logging.output_dir).expanduser()) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        say(
            f"teaching {taught.train.size:,} positions of people in every order of the items, "
            f"{taught.val.size:,} others say when to stop; run folder {directory.path}"
        )
        network, epochs = train_clone(config, taught, lambda epoch: say(epoch_status(epoch)))
        rows = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in epoch] for epoch in epochs]
        write_csv(directory.path / CSV_NAME, [Epoch._fields, *rows])
        with console.status("") as status_line:  # shown on a terminal only
            report = measure_clone(network, taught, status_line.update)
        write_atomically(directory.path / REPORT, json.dumps(report_json(report), indent=1) + "\n")
        save(directory.path / CLONE, network, config, epochs, report)
        save(expert_target(config), network, config, epochs, report)
    print_clone_report(console, report, taught)
    say(f"the expert: {expert_target(config)}, which expert(kind=supervised) reads; run folder {directory.path}")
