"""What ``scripts/styles.py`` does with its arguments: the judges, the learners, the tables, the files, an exit code."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.records.files import write_whole
from dond_marl.rollout import OccupantError
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.league import console_for_people
from league.experiments.styles.agreement import Agreement, agreement
from league.experiments.styles.report import NAMES, Judged, figures, print_judged, print_rows, rows_of
from league.experiments.styles.settings import SOURCES, Source, StylesConfig
from league.experiments.styles.trials import Trial, TrialResult, reward_in, run
from league.ledger.run_directory import SETTINGS, RunDirectory, RunError, new_run
from league.settings.read import dump, load_config
from partners.judges.episodes import played
from partners.judges.judge import JudgeError, JudgeReward
from partners.judges.language_model import LLMJudge
from partners.judges.styles import Style, shows
from partners.learning.first_weights import FirstWeightsError
from partners.llm.cache import CacheError
from partners.llm.client import SetupError
from partners.network.checkpoint import CheckpointError, describe, save_checkpoint
from partners.network.saved import StandIn

FIGURES_NAME = "figures.json"
FAILURES = (*RUN_ERRORS, CheckpointError, JudgeError, CacheError, SetupError)


class Request(NamedTuple):
    """The command line."""

    config: Path
    overrides: Sequence[str]
    workers: int
    judges_only: bool


def main(given: Request) -> int:
    """Compare and report; the exit code is 0, 1 (the run), 2 (the settings) or 130 (interrupted)."""
    console = console_for_people()
    try:
        config = load_config(given.config, given.overrides, StylesConfig)
        partner = seat_occupant(config.env.partner)
        name = config.env.partner if not isinstance(partner, StandIn) else f"a stand-in for {config.env.partner}"
        if isinstance(partner, StandIn):
            _say(console, f"warning: {config.env.partner}: no such checkpoint here, its fallback plays", "yellow")
        _compare(console, given, config, name)
    except (*USER_ERRORS, FirstWeightsError) as error:
        return _failed(str(error), USAGE_ERROR)
    except FAILURES as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("\ninterrupted: no figures are written", INTERRUPTED)
    return 0


def _compare(console: Console, given: Request, config: StylesConfig, partner: str) -> None:
    began = time.perf_counter()
    judged = list(_judged(config))
    print_judged(console, config, judged)
    if given.judges_only:
        return
    trials, workers = trials_of(config), _workers(given.workers, config)
    with new_run(Path(config.logging.output_dir).expanduser()) as directory:
        write_whole(directory.path / SETTINGS, dump(config))
        _say(
            console,
            f"{len(trials)} learners of {config.training.num_train_steps:,} own decisions each against {partner}, "
            f"{workers} at a time; run folder {directory.path}",
        )
        results: list[TrialResult | None] = [None] * len(trials)
        for done, (place, result) in enumerate(_results(trials, workers), start=1):
            results[place] = result
            _keep(directory, result)
            _say(console, f"{done}/{len(trials)} {_told(result)}")
        rows = rows_of(config, [result for result in results if result is not None])
        print_rows(console, config, rows, partner)
        seconds = time.perf_counter() - began
        written = figures(config, rows, judged, partner, seconds)
        write_whole(directory.path / FIGURES_NAME, json.dumps(written, indent=1) + "\n")
        _say(console, f"{seconds:.0f} s; written: {directory.path / FIGURES_NAME}, and every learner's checkpoint")


def trials_of(config: StylesConfig) -> list[Trial]:
    """Every learner of a comparison."""
    told, styles = config.comparison, [Style(style) for style in config.comparison.styles]
    kinds: list[tuple[Source, Style | None]] = [("own", None)]
    kinds += [(source, style) for source in SOURCES[1:] for style in styles]
    return [Trial(config, source, style, number) for source, style in kinds for number in range(told.seeds)]


def _judged(config: StylesConfig) -> Iterator[Judged]:
    """Judge and reward model on the same held-out episodes of scripted play, from seat_0's side."""
    told = config.comparison
    games = played(told.seed, told.episodes, "heldout")
    for style in map(Style, told.styles):
        truth = shows(style, games)[:, 0]
        for source in SOURCES[2:]:
            found, requests, tokens, usd, seconds = Agreement(), 0, 0, 0.0, 0.0
            for number in range(told.seeds):
                reward = reward_in(Trial(config, source, style, number))
                assert isinstance(reward, JudgeReward)
                began = time.perf_counter()
                found = found.plus(agreement(reward.judge.verdicts(games, 0), truth))
                seconds += time.perf_counter() - began
                if isinstance(reward.judge, LLMJudge):
                    spent = reward.judge.spent
                    requests, tokens, usd = requests + spent.requests, tokens + spent.tokens, usd + spent.usd
            yield Judged(style, source, found, requests, tokens, usd, seconds)


def _workers(asked: int, config: StylesConfig) -> int:
    """At most as asked; one where a language model is asked, so that it is read once and has one budget."""
    return 1 if parse_spec(config.comparison.judge)[0] == "llm_judge" else asked


def _results(trials: Sequence[Trial], workers: int) -> Iterator[tuple[int, TrialResult]]:
    """Each trial's place and what came of it, in the order in which they end."""
    if workers == 1:
        yield from ((place, _run(trial)) for place, trial in enumerate(trials))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_begin_worker) as pool:
        places = {pool.submit(_run, trial): place for place, trial in enumerate(trials)}
        try:
            yield from ((places[future], future.result()) for future in as_completed(places))
        except BrokenExecutor:
            raise RunError("a worker was ended from outside, by lack of memory perhaps; use --workers 1") from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends workers without a word: whoever started them speaks
    os.environ["OMP_NUM_THREADS"] = "1"


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
    about = {"reward": f"{trial.source}: {trial.style}" if trial.style else "own", "decisions": result.decisions}
    save_checkpoint(directory.path / "checkpoints" / name, weights, {**describe(network), **about})


def _told(result: TrialResult) -> str:
    trial, deals = result.trial, result.played.mean("deals")
    paid = f"paid by {NAMES[trial.source]}, seed {trial.number}"
    if trial.style is None:
        return f"{paid}: {result.played.mean('points'):.2f} points of ten, {deals:.1%} deals ({result.seconds:.0f} s)"
    seen = result.practiced
    right = "" if seen is None or trial.source == "true" else f", {seen.accuracy:.1%} of labels right"
    rate = result.played.mean(trial.style)
    shown = f"{rate:.1%} of games in the style, {deals:.1%} deals{right}"
    return f"{trial.style.word}, {paid}: {shown} ({result.seconds:.0f} s)"


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
