"""The calls: what `dond train`, `dond league` and `dond evaluate` do, with the same settings, files and errors.

Settings are those of the config files (docs/SETTINGS.md), by their dotted keys. Nothing is printed but warnings, on
standard error, and with ``progress`` how far a run has come.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from dond_marl.errors import InputError, quote
from dond_marl.game import Disagree, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.scenarios.sources import SourceName, open_source
from dond_marl.seats import Partner
from league.display.python.results import EvaluatedPair, PlayedLeague, Trained, printed
from league.ledger.run_directory import RunDirectory, find_run, new_run
from league.settings.layers import preset
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig

Settings = Mapping[str, object]
NOTHING: Settings = {}
MOST_WORKERS = 4_096
MOST_SAMPLE = 1_000_000  # scenarios


def train(
    config: str | Path = "ppo_config.yaml",
    settings: Settings = NOTHING,
    *,
    seed: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Trained:
    """Train one policy by PPO or REINFORCE, in a new run folder under ``folder``, and score it on held-out scenarios.

    ``config``: a file, or a shipped one by its name. ``settings``: keys over it, such as ``{"env.partner": "boulware",
    "training.num_train_steps": 20_000}``. Raises :class:`league.settings.read.ConfigError` and what training raises.
    """
    from league.display.training import QuietTrainWatcher, TrainWatcher, print_score
    from league.tasks.devices import check_devices
    from league.tasks.hinters import hint_schedule, load_local_model
    from league.tasks.provenance import check_training_provenance
    from league.training.training import checkpoints_in
    from league.training.training import train as train_in

    asked = load_config(preset(Path(config)), _overrides(settings, "training.seed", seed, folder), TrainConfig)
    if asked.training.algo == "bc":
        raise InputError("train() takes ppo and reinforce; people's dialogues are cloned by dond train --algo bc")
    asked.env.open_source()
    check_devices([asked.training])
    asked = asked.model_copy(update={"env": asked.env.seated()})
    load_local_model(hint_schedule(asked.hints))
    check_training_provenance(asked)
    directory = new_run(Path(asked.logging.output_dir).expanduser())
    with (TrainWatcher if progress else QuietTrainWatcher)(_errors()) as watcher:
        training = train_in(asked, directory, watcher)[0]
    checkpoint = max(checkpoints_in(directory.path), key=lambda path: path.stem)
    return Trained(directory.path, checkpoint, printed(lambda to: print_score(to, training, directory.path)))


def play_league(
    config: str | Path = "league_quick.yaml",
    settings: Settings = NOTHING,
    *,
    seed: int | None = None,
    folder: str | Path | None = None,
    workers: int = 1,
    progress: bool = False,
) -> PlayedLeague:
    """Play a league to its end in a new run folder under ``folder``; ``workers`` tasks at a time change no row of it.

    ``config`` and ``settings`` as :func:`train` takes them, such as ``{"league.rounds": 2}`` or ``{"members":
    ["heuristic", "tough"]}``. Code in a file is named ``my_file.py:Name``. Raises
    :class:`league.settings.read.ConfigError` and what the league raises.
    """
    from league.display.league import PlainWatcher, QuietWatcher, print_results
    from league.rounds.runner import run_league
    from league.settings.sections import BackendConfig
    from league.tasks.provenance import check_league_provenance

    _check_whole("workers", workers, 1, MOST_WORKERS)
    asked: Config = load_config(preset(Path(config)), _overrides(settings, "league.seed", seed, folder))
    asked.env.open_source()
    _seat_everybody(asked)
    check_league_provenance(asked)
    directory = new_run(Path(asked.logging.output_dir).expanduser())
    backend = None if workers == 1 else BackendConfig(kind="process", workers=workers)
    watcher = (PlainWatcher if progress else QuietWatcher)(_errors())
    outcome = run_league(asked, directory, watcher, backend)
    return PlayedLeague(directory.path, printed(lambda to: print_results(to, outcome, directory.path)))


def open_league(run: str | Path) -> PlayedLeague:
    """The league in folder ``run``, or the newest of those in it, also while it goes on: its ladder and its tables.

    Raises :class:`league.ledger.run_directory.RunNotFound` and :class:`league.ledger.ledger.LedgerError`.
    """
    from league.display.tables import print_section
    from league.ledger.ledger import ReadLedger
    from league.standings.history import history_of
    from league.standings.ladder import ladder_of
    from league.tables.standings import crossplay, ladder

    directory: RunDirectory = find_run(Path(run).expanduser())
    with ReadLedger(directory.ledger) as ledger, ledger.snapshot():
        config = ledger.config()
        cross = history_of(ledger, config).cross
    confidence = config.league.confidence
    standings, learns = ladder_of(cross, confidence), bool(config.learners)

    def show(to: Console) -> None:
        print_section(to, ladder(cross, standings, (), confidence, 0, set(), learns=learns))
        print_section(to, crossplay(cross, standings, confidence))

    return PlayedLeague(directory.path, printed(show))


def evaluate_pair(
    member: Spec | Partner,
    against: Spec | Partner = "heuristic",
    *,
    scenarios: SourceName = "lewis",
    split: str | None = None,
    data_dir: str | Path | None = None,
    sample: int | None = None,
    max_turns: int = 10,
    disagree: Disagree = "ends",
    seed: int = 0,
    confidence: float = 0.95,
) -> EvaluatedPair:
    """Play ``member`` and the best response against ``against``, each scenario once in either seat.

    A name, a spec, or a partner of your own class. ``split``: of the source, by default its held-out part; ``sample``:
    so many of its scenarios, by default all; ``confidence``: of the intervals, in (0, 1). Raises
    :class:`dond_marl.errors.InputError`, of which :class:`dond_marl.occupants.OccupantNameError` and
    :class:`dond_marl.scenarios.sources.ScenarioError` are kinds, and what playing raises.
    """
    from dond_marl.dialogues.human_line import stored_human_line
    from league.display.evaluation import print_evaluation
    from league.evaluation.evaluate import HELDOUT, evaluate
    from partners.equilibrium import check_game

    if sample is not None:
        _check_whole("sample", sample, 1, MOST_SAMPLE)
    _check_whole("seed", seed, 0, 2**63 - 1)
    if not (isinstance(confidence, float) and 0 < confidence < 1):
        raise InputError(f"confidence must be a number between 0 and 1, such as 0.95; got {quote(confidence)}")
    try:
        rules = Rules(max_turns, disagree)
    except ValueError as error:
        raise InputError(str(error)) from None
    folder = None if data_dir is None else Path(data_dir)
    source = open_source(scenarios, split=split or HELDOUT.get(scenarios), data_dir=folder)
    check_game([seat_occupant(who) for who in (member, against)], rules, source)
    evaluation = evaluate(member, against, source, rules, sample=sample, seed=seed, confidence=confidence)
    return EvaluatedPair(evaluation, printed(lambda to: print_evaluation(to, evaluation, stored_human_line())))


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if not (type(value) is int and least <= value <= most):
        raise InputError(f"{name} must be an integer in {least}..{most}; got {quote(value)}")


def _errors() -> Console:
    """Standard error, line by line: nothing is drawn over, which a notebook would show as it is."""
    return Console(stderr=True, highlight=False, force_jupyter=False, force_terminal=False)


def _seat_everybody(config: Config) -> None:
    """Whoever cannot be seated is told before a folder is made."""
    from league.tasks.devices import check_devices

    for member in (*config.members, *config.gate, *config.heldout):
        seat_occupant(member.spec)
    check_devices(config.learners)


def _overrides(settings: Settings, key: str, seed: int | None, folder: str | Path | None) -> list[str]:
    """Settings as the command line writes them after ``--set``."""
    if not isinstance(settings, Mapping):
        raise InputError(f"settings are a mapping, such as {{'env.partner': 'boulware'}}; got {quote(settings)}")
    given: dict[str, Any] = dict(settings)
    if seed is not None:
        given[key] = seed
    if folder is not None:
        given["logging.output_dir"] = str(folder)
    return [f"{name}={_written(value, name)}" for name, value in given.items()]


def _written(value: object, key: str) -> str:
    """A value as YAML: JSON is. Raises :class:`InputError`."""
    try:
        return value if isinstance(value, str) else json.dumps(value)
    except TypeError:
        raise InputError(
            f"settings: {key} takes a text, a number, true, false, a list or a mapping; got {quote(value)}"
        ) from None


__all__ = ["evaluate_pair", "open_league", "play_league", "train"]
