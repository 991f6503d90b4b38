r"""Compare ways to teach a negotiating style: the style itself as reward, a language model's labels, a reward model.

Repeats Kwon et al. 2023: three labelled episodes with explanations, temperature 0, yes or no. Without a language model
as judge a vote of rules stands beside the reward model, a baseline.

examples:
  dond experiment styles                 # the judge without a language model; minutes
  dond experiment styles --judges-only --set comparison.episodes=20 --json judges.json \
      --set comparison.judge="llm_judge(provider=hf, model=smollm2, dtype=bfloat16)"
  dond experiment styles --set comparison.styles=[stubborn] \
      --set training.num_train_steps=400000
  GROQ_API_KEY=... dond experiment styles --judges-only \
      --set comparison.episodes=50 --set comparison.seeds=1 --set \
      comparison.judge="llm_judge(max_requests=300, cache='runs/v.sqlite', cache_mode=record)"
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dond_marl.errors import InputError
from dond_marl.occupants import parse_spec
from dond_marl.records.files import write_atomically
from dond_marl.rollout import OccupantError
from experiments.styles.agreement import Agreement, agreement
from experiments.styles.report import NAMES, Judged, figures, print_judged, print_rows, rows_of
from experiments.styles.settings import Source, StylesConfig
from experiments.styles.trials import Trial, TrialResult, reward_in, run
from league.backends.pool import in_processes
from league.cli.shell import FILE, Command, config_option, integer, output_console, print_line, set_option
from league.ledger.run_directory import SETTINGS, RunDirectory, RunError, new_run
from league.settings.read import dump, load_config
from league.tasks.provenance import learner_ancestry
from partners.judges.episodes import scripted_games
from partners.judges.judge import JudgeReward
from partners.judges.language_model import LLMJudge
from partners.judges.styles import Style, shows_style
from partners.network.checkpoint import CheckpointError, network_note, save_checkpoint
from partners.provenance import refuse_test_roster

FIGURES_NAME = "figures.json"
MOST_WORKERS = 64


@click.command(cls=Command, help=__doc__, interrupted="no figures are written", run_errors=(CheckpointError,))
@config_option("styles.yaml", default="experiments/configs/styles.yaml", help="YAML file (styles.yaml)")
@set_option
@click.option(
    "--workers", type=integer(1, MOST_WORKERS), metavar="N", help="learners trained in parallel (one per core)"
)
@click.option("--judges-only", is_flag=True, help="only compare the judges' labels; train nothing")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="with --judges-only: write what was compared")
def command(
    config_path: Path, overrides: tuple[str, ...], workers: int | None, judges_only: bool, json_path: Path | None
) -> None:
    """Compare and report."""
    if json_path is not None and not judges_only:
        raise InputError(f"--json is for --judges-only; a whole comparison writes {FIGURES_NAME} into its run's folder")
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
    config = load_config(config_path, overrides, StylesConfig)
    config = config.model_copy(update={"env": config.env.seated()})
    partner = config.env.partner
    refuse_test_roster(learner_ancestry(config.env, config.training.init_from))
    began = time.perf_counter()
    judged = list(_judged(config))
    print_judged(output_console(), config, judged)
    if judges_only and json_path is not None:
        document = figures(config, [], judged, partner, time.perf_counter() - began)
        write_atomically(json_path, json.dumps(document, indent=1) + "\n")
    if not judges_only:
        _learn(config, judged, partner, _workers(workers, config), began)


def _learn(config: StylesConfig, judged: Sequence[Judged], partner: str, workers: int, began: float) -> None:
    """Train every learner, and write its checkpoint and the figures of all; ``began``: when the command did."""
    trials = trials_of(config)
    with new_run(Path(config.logging.output_dir).expanduser()) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        print_line(
            f"{len(trials)} learners of {config.training.num_train_steps:,} own decisions each against {partner}, "
            f"{workers} at a time; run folder {directory.path}"
        )
        results: list[TrialResult | None] = [None] * len(trials)
        for done, (place, result) in enumerate(in_processes(_run, [(trial,) for trial in trials], workers), start=1):
            results[place] = result
            _keep(directory, result)
            print_line(f"{done}/{len(trials)} {_in_words(result)}")
        rows = rows_of(config, [result for result in results if result is not None])
        print_rows(output_console(), config, rows, partner)
        seconds = time.perf_counter() - began
        document = figures(config, rows, judged, partner, seconds)
        write_atomically(directory.path / FIGURES_NAME, json.dumps(document, indent=1) + "\n")
        print_line(f"{seconds:.0f} s; written: {directory.path / FIGURES_NAME}, and every learner's checkpoint")


def trials_of(config: StylesConfig) -> list[Trial]:
    """Every learner of a comparison."""
    styles = [Style(style) for style in config.comparison.styles]
    kinds: list[tuple[Source, Style | None]] = [("own", None)]
    kinds += [(source, style) for source in config.comparison.sources if source != "own" for style in styles]
    return [
        Trial(config, source, style, number) for source, style in kinds for number in range(config.comparison.seeds)
    ]


def _judged(config: StylesConfig) -> Iterator[Judged]:
    """Judge and reward model on the same held-out episodes of scripted play, from seat_0's side."""
    settings = config.comparison
    games = scripted_games(settings.seed, settings.episodes, "test")
    for style in map(Style, settings.styles):
        truth = shows_style(style, games)[:, 0]
        for source in config.comparison.sources[2:]:
            agreed, requests, tokens, usd, seconds = Agreement(), 0, 0, 0.0, 0.0
            for number in range(settings.seeds):
                reward = reward_in(Trial(config, source, style, number))
                assert isinstance(reward, JudgeReward)
                began = time.perf_counter()
                agreed = agreed.plus(agreement(reward.judge.verdicts(games, 0), truth))
                seconds += time.perf_counter() - began
                if isinstance(reward.judge, LLMJudge):
                    spent = reward.judge.spent
                    requests, tokens, usd = requests + spent.requests, tokens + spent.tokens, usd + spent.usd
            yield Judged(style, source, agreed, requests, tokens, usd, seconds)


def _workers(workers: int | None, config: StylesConfig) -> int:
    """How many train at a time; one where a language model judges, so that it is read once and has one budget."""
    if parse_spec(config.comparison.judge)[0] == "llm_judge":
        return 1
    return workers or min(os.cpu_count() or 1, MOST_WORKERS)


def _run(trial: Trial) -> TrialResult:
    try:
        return run(trial)
    except OccupantError as error:  # which cannot be sent from one process to another
        raise RunError(str(error)) from None


def _keep(directory: RunDirectory, result: TrialResult) -> None:
    """Write a learner's checkpoint: ``checkpoint(path=...)`` plays it."""
    import torch

    from partners.network.network import PolicyNetwork

    trial = result.trial
    network = PolicyNetwork(trial.config.training.shape(trial.config.env, hints=False), seed=None)
    name = f"{trial.style or 'no_style'}_{trial.source}_{trial.number}.json"
    weights = {key: torch.from_numpy(value) for key, value in result.weights.items()}
    past = learner_ancestry(trial.config.env, trial.config.training.init_from)
    about = {
        **past.note(),
        "reward": f"{trial.source}: {trial.style}" if trial.style else "own",
        "decisions": result.decisions,
    }
    save_checkpoint(directory.path / "checkpoints" / name, weights, {**network_note(network), **about})


def _in_words(result: TrialResult) -> str:
    trial, deals = result.trial, result.played.mean("deals")
    paid = f"paid by {NAMES[trial.source]}, seed {trial.number}"
    if trial.style is None:
        return f"{paid}: {result.played.mean('points'):.2f} points of ten, {deals:.1%} deals ({result.seconds:.0f} s)"
    seen = result.practiced
    right = "" if seen is None or trial.source == "true" else f", {seen.accuracy:.1%} of labels right"
    rate = result.played.mean(trial.style)
    shown = f"{rate:.1%} of games in the style, {deals:.1%} deals{right}"
    return f"{trial.style.word}, {paid}: {shown} ({result.seconds:.0f} s)"
