"""What ``scripts/evaluate.py`` does with its arguments: a source, the games, the tables, the files, an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from dond_marl.dialogues.human_line import HumanLine, stored_human_line
from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.yardsticks.efficiency import ImpossibleScore
from league.cli.league import INTERRUPTED, RUN_ERROR, RUN_ERRORS, USAGE_ERROR, USER_ERRORS
from league.display.evaluation import print_evaluation
from league.display.final import print_final
from league.display.league import console_for_people
from league.display.plane import PlotError, check_drawable, draw
from league.evaluation.as_json import write_final, write_final_table, write_pair, write_pair_table
from league.evaluation.evaluate import HELDOUT, Evaluation, PlayError, evaluate, human_figures
from league.evaluation.of_run import NothingToEvaluate, evaluate_folder
from league.evaluation.probe import Probe, print_probe, probe

MOST = 1_000_000  # scenarios in one evaluation


class Request(NamedTuple):
    """What to evaluate, and where to write it; ``None`` where nothing was said."""

    member: str | None
    against: str | None
    scenarios: str | None
    split: str | None
    data_dir: Path | None
    sample: int | None
    max_turns: int | None
    disagree: str | None
    seed: int | None
    confidence: float
    probe: bool
    json: Path | None
    csv: Path | None
    plot: Path | None
    run: Path | None = None
    sampling: bool = False


class Pair(NamedTuple):
    """Two members, the rules and the source of a request, all of which can be used."""

    member: str
    against: str
    rules: Rules
    source: ScenarioSource
    seed: int


class UsageError(InputError):
    """Arguments that cannot be used, in one line."""


def main(given: Request) -> int:
    """Evaluate and report; the exit code is 0, 1 (the games), 2 (the arguments) or 130 (interrupted)."""
    try:
        _check_files(given)
        console = console_for_people()
        for path in _league(console, given) if given.run is not None else _pair(console, given):
            console.print(f"written: {path}", markup=False, soft_wrap=True)
    except (*USER_ERRORS, UsageError, PlotError, NothingToEvaluate) as error:
        return _failed(str(error), USAGE_ERROR)
    except ImpossibleScore as error:
        return _failed(f"a bug of the game or of the measure: {error}", RUN_ERROR)
    except (PlayError, OccupantError, *RUN_ERRORS) as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("\ninterrupted: nothing is written", INTERRUPTED)
    return 0


def _pair(console: Console, given: Request) -> list[Path]:
    """One member against one partner: the tables, and the files that were asked for."""
    pair, human = _checked(given), stored_human_line()
    evaluation = _evaluated(console, given, pair)
    print_evaluation(console, evaluation, human)
    found = None
    if given.probe:
        with console.status("what could be gained"):
            found = probe(pair.member, pair.against, pair.source, pair.rules)
        print_probe(console, found)
    return _written(given, evaluation, human, found)


def _league(console: Console, given: Request) -> list[Path]:
    """The main members of a league: the tables, and the files that were asked for."""
    assert given.run is not None
    of_pairs = ("member", "against", "scenarios", "split", "data_dir", "max_turns", "disagree", "seed", "probe", "plot")
    foreign = [f"--{name.replace('_', '-')}" for name in of_pairs if getattr(given, name)]
    if foreign:
        raise UsageError(f"--run evaluates a league under its own settings; leave out {', '.join(foreign)}")
    with console.status("") as status:  # shown on a terminal only
        found = evaluate_folder(
            given.run,
            sampling=given.sampling,
            confidence=given.confidence,
            sample=given.sample,
            tell=status.update,
        )
    print_final(console, found)
    if given.json is not None:
        write_final(given.json, found)
    if given.csv is not None:
        write_final_table(given.csv, found)
    return [path for path in (given.json, given.csv) if path is not None]


def _check_files(given: Request) -> None:
    """Raises what says which number or file cannot be used."""
    if not 0.5 <= given.confidence < 1:
        raise UsageError(f"--confidence must be in 0.5 to less than 1, such as 0.95; got {given.confidence}")
    if given.sample is not None and not 1 <= given.sample <= MOST:
        raise UsageError(f"--sample must be an integer in 1..{MOST}; got {given.sample}")
    for option, path in (("json", given.json), ("csv", given.csv), ("plot", given.plot)):
        if path is not None and (path.is_dir() or not os.access(path.parent, os.W_OK)):
            raise UsageError(f"--{option} {path}: no file can be written there; name one in a folder that exists")
    if given.plot is not None:
        check_drawable(given.plot)


def _checked(given: Request) -> Pair:
    """The pair, once every argument is known to be usable; raises what says what is wrong."""
    if given.member is None or given.against is None:
        raise UsageError("--member and --against say who plays whom; or --run DIR evaluates a league's main members")
    if given.sampling:
        raise UsageError("--sampling is for --run; of a single member say checkpoint(path=..., greedy=False)")
    usual, seed = Rules(), 0 if given.seed is None else given.seed
    turns = usual.max_turns if given.max_turns is None else given.max_turns
    try:
        rules = Rules(turns, usual.disagree if given.disagree is None else given.disagree)  # type: ignore[arg-type]  # it checks
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('max_turns', 'max-turns', 1)}") from None
    if not 0 <= seed < 2**63:
        raise UsageError(f"--seed must be an integer in 0..2**63 - 1; got {seed}")
    scenarios = "lewis" if given.scenarios is None else given.scenarios
    split = HELDOUT.get(scenarios) if given.split is None else given.split
    source = open_source(scenarios, split=split, data_dir=given.data_dir)
    for spec in (given.member, given.against):
        seat_occupant(spec)
    return Pair(given.member, given.against, rules, source, seed)


def _evaluated(console: Console, given: Request, pair: Pair) -> Evaluation:
    with console.status("") as status:  # shown on a terminal only
        return evaluate(
            pair.member,
            pair.against,
            pair.source,
            pair.rules,
            sample=given.sample,
            seed=pair.seed,
            confidence=given.confidence,
            tell=status.update,
        )


def _written(given: Request, evaluation: Evaluation, human: HumanLine, found: Probe | None) -> list[Path]:
    """The files that were asked for, once they are written."""
    if given.json is not None:
        write_pair(given.json, evaluation, human, found)
    if given.csv is not None:
        write_pair_table(given.csv, evaluation, human)
    if given.plot is not None:
        draw(given.plot, evaluation, human_figures(human))
    return [path for path in (given.json, given.csv, given.plot) if path is not None]


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
