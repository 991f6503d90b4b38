"""Every arm with every seed in every game: trained, measured, kept, and written as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.errors import DondError, InputError, RunFailure
from experiments.kept import place, read, write
from experiments.short_games.learner import Learned, learn
from experiments.short_games.settings import ArmConfig, ShortGamesConfig, ShortTraining
from experiments.short_games.shares import Standing, equilibrium
from league.backends.pool import in_processes

DIGITS = 4  # of a point in the results file


class Run(NamedTuple):
    """One learner."""

    turns: int
    arm: str
    seed: int
    learned: Learned


class Experiment(NamedTuple):
    """What was found: the equilibria, by turns, and every learner, in the order of games, arms and seeds."""

    equilibria: dict[int, Standing]
    arms: dict[str, dict[str, Any]]  # what each does otherwise
    runs: list[Run]


def perform(
    config: ShortGamesConfig, report: Callable[[str], None], workers: int = 1, folder: Path | None = None
) -> Experiment:
    """Train and measure, ``workers`` learners at a time, which changes no figure.

    What is kept in ``folder`` is not done again, and the rest is kept there. ``report`` gets a line after each learner.
    """
    comparison = config.comparison
    equilibria = {turns: equilibrium(turns) for turns in comparison.turns}
    wanted: list[tuple[int, ArmConfig, int]] = [
        (turns, arm, seed) for turns in comparison.turns for arm in config.arms for seed in range(comparison.seeds)
    ]
    calls = [(arm.name, config.training_of(arm), turns, seed, folder) for turns, arm, seed in wanted]
    found: dict[int, Learned] = {}
    for number, learned in in_processes(_one, calls, workers):
        found[number] = learned
        (turns, arm, seed), standing = wanted[number], learned.standing
        first, second = standing.values
        report(
            f"{len(found)}/{len(wanted)} {turns} turns, {arm.name}, seed {seed}: {first:.2f} and {second:.2f} points, "
            f"NashConv {standing.nash_conv:.2f}; the equilibrium has {equilibria[turns].values[0]:.2f} and "
            f"{equilibria[turns].values[1]:.2f}"
        )
    runs = [Run(turns, arm.name, seed, found[number]) for number, (turns, arm, seed) in enumerate(wanted)]
    return Experiment(equilibria, {arm.name: arm.training for arm in config.arms}, runs)


def _one(name: str, training: ShortTraining, turns: int, seed: int, folder: Path | None) -> Learned:
    """A learner, from the folder or anew."""
    path = (
        None if folder is None else place(folder, {"training": training.model_dump(mode="json"), "game": [turns, seed]})
    )
    known = None if path is None else read(path)
    try:
        if known is not None:
            return Learned(known["decisions"], known["deals"], Standing(*map(_pair, known["standing"])))
        learned = learn(training, turns, seed)
        if path is not None:
            write(path, learned._asdict())
    except (DondError, OSError) as error:
        raise RunFailure(f"{name}, {turns} turns, seed {seed}: {error}") from error
    return learned


def lines(experiment: Experiment) -> str:
    """Everything as lines of JSON: what the arms do, the equilibria, then a learner a line."""
    rows: list[dict[str, Any]] = [{"arms": experiment.arms}]
    rows += [{"turns": turns, **_plain(standing)} for turns, standing in experiment.equilibria.items()]
    for run in experiment.runs:
        learned = run.learned
        own = {"decisions": learned.decisions, "deals": round(learned.deals, DIGITS), **_plain(learned.standing)}
        rows.append({"turns": run.turns, "arm": run.arm, "seed": run.seed, **own})
    return "".join(json.dumps(row) + "\n" for row in rows)


def parsed(text: Iterable[str]) -> Experiment:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        return _parsed(map(json.loads, text))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise InputError(f"no results of short games ({error}); make them again: dond experiment short-games") from None


def _parsed(rows: Iterator[dict[str, Any]]) -> Experiment:
    found = Experiment({}, next(rows)["arms"], [])
    for row in rows:
        standing = Standing(_pair(row["values"]), _pair(row["responses"]))
        if "arm" in row:
            found.runs.append(
                Run(row["turns"], row["arm"], row["seed"], Learned(row["decisions"], row["deals"], standing))
            )
        else:
            found.equilibria[row["turns"]] = standing
    return found


def _plain(standing: Standing) -> dict[str, list[float]]:
    return {key: [round(value, DIGITS) for value in pair] for key, pair in standing._asdict().items()}


def _pair(values: Iterable[float]) -> tuple[float, float]:
    first, second = values
    return first, second
