"""What ``scripts/evaluate.py`` does with its arguments: a source, the games, the tables, the files, an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from dond_marl.efficiency import ImpossibleScore
from dond_marl.game import Rules
from dond_marl.human_line import HumanLine, stored_human_line
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError
from dond_marl.scenarios import ScenarioSource, open_source
from league.bargaining_plane import PlotError, check_drawable, draw
from league.command import INTERRUPTED, RUN_ERROR, USAGE_ERROR, USER_ERRORS
from league.evaluate import Evaluation, PlayError, evaluate
from league.evaluation_report import human_figures, print_evaluation, write_figures, write_json
from league.probe import Probe, print_probe, probe
from league.show import console_for_people

HELDOUT = {"lewis": "heldout", "dialogues": "test"}  # the split that is evaluated where none is asked for
MOST = 1_000_000  # scenarios in one evaluation


class Request(NamedTuple):
    """What to evaluate, and where to write it."""

    member: str
    against: str
    scenarios: str
    split: str | None
    data_dir: Path | None
    sample: int | None
    max_turns: int
    disagree: str
    seed: int
    confidence: float
    probe: bool
    json: Path | None
    csv: Path | None
    plot: Path | None


class UsageError(ValueError):
    """Arguments that cannot be used, in one line."""


def main(given: Request) -> int:
    """Evaluate and report; the exit code is 0, 1 (the games), 2 (the arguments) or 130 (interrupted)."""
    try:
        rules, source = _checked(given)
        console, human = console_for_people(), stored_human_line()
        evaluation = _evaluated(console, given, rules, source)
        print_evaluation(console, evaluation, human)
        found = None
        if given.probe:
            with console.status("what could be gained"):
                found = probe(given.member, given.against, source, rules)
            print_probe(console, found)
        for path in _written(given, evaluation, human, found):
            console.print(f"written: {path}", markup=False, soft_wrap=True)
    except (*USER_ERRORS, UsageError, PlotError) as error:
        return _failed(str(error), USAGE_ERROR)
    except ImpossibleScore as error:
        return _failed(f"a bug of the game or of the measure: {error}", RUN_ERROR)
    except (PlayError, OccupantError, OSError) as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("\ninterrupted: nothing is written", INTERRUPTED)
    return 0


def _checked(given: Request) -> tuple[Rules, ScenarioSource]:
    """The rules and the source, once every argument is known to be usable; raises what says what is wrong."""
    try:
        rules = Rules(given.max_turns, given.disagree)  # type: ignore[arg-type]  # it checks
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('max_turns', 'max-turns', 1)}") from None
    if not 0.5 <= given.confidence < 1:
        raise UsageError(f"--confidence must be in 0.5 to less than 1, such as 0.95; got {given.confidence}")
    if given.sample is not None and not 1 <= given.sample <= MOST:
        raise UsageError(f"--sample must be an integer in 1..{MOST}; got {given.sample}")
    if not 0 <= given.seed < 2**63:
        raise UsageError(f"--seed must be an integer in 0..2**63 - 1; got {given.seed}")
    for option, path in (("json", given.json), ("csv", given.csv), ("plot", given.plot)):
        if path is not None and (path.is_dir() or not os.access(path.parent, os.W_OK)):
            raise UsageError(f"--{option} {path}: no file can be written there; name one in a folder that exists")
    if given.plot is not None:
        check_drawable(given.plot)
    split = HELDOUT.get(given.scenarios) if given.split is None else given.split
    source = open_source(given.scenarios, split=split, data_dir=given.data_dir)
    for spec in (given.member, given.against):
        seat_occupant(spec)
    return rules, source


def _evaluated(console: Console, given: Request, rules: Rules, source: ScenarioSource) -> Evaluation:
    with console.status("") as status:  # shown on a terminal only
        return evaluate(
            given.member,
            given.against,
            source,
            rules,
            sample=given.sample,
            seed=given.seed,
            confidence=given.confidence,
            tell=status.update,
        )


def _written(given: Request, evaluation: Evaluation, human: HumanLine, found: Probe | None) -> list[Path]:
    """The files that were asked for, once they are written."""
    if given.json is not None:
        write_json(given.json, evaluation, human, found)
    if given.csv is not None:
        write_figures(given.csv, evaluation, human)
    if given.plot is not None:
        draw(given.plot, evaluation, human_figures(human))
    return [path for path in (given.json, given.csv, given.plot) if path is not None]


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # noqa: T201  # the command talks to a person
    return code
