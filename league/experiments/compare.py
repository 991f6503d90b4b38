"""Leagues compared over the same seeds: what the main member of each earns against members that it never met.

A first look, by the leagues' own held-out members. What is claimed comes from the benchmark, from arms of equal acts:
:mod:`league.experiments.baselines`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.scenarios.sources import open_source
from dond_marl.yardsticks.metrics import mean_of
from league.display.tables import print_in_short
from league.evaluation.evaluate import BOTH
from league.evaluation.final import final_evaluation
from league.ledger.ledger import Ledger
from league.ledger.run_directory import new_run
from league.rounds.runner import run_league
from league.rounds.watching import Watcher
from league.settings.read import Config
from league.tables.figures import format_number
from league.tasks.values import Place, Seated, seated


class Trial(NamedTuple):
    """One league with one seed: its main member against the held-out members on held-out scenarios."""

    league: str
    seed: int
    reward: str
    decisions: int  # own, of its main
    points: float  # of ten, mean over held-out members and both seats
    proximity: float  # mean of the shares of what could be had
    deals: float
    welfare: float  # share of the largest joint points, against the held-out members
    alone: tuple[float, float]  # in self-play: share of deals, and welfare


def trial(name: str, config: Config, folder: Path, watcher: Watcher) -> Trial:
    """Run a league and measure its first learner. Raises what a league raises."""
    directory = new_run(folder)
    league = config.league.model_copy(update={"evaluate": False})  # measured here, and so only once
    run_league(config.model_copy(update={"league": league}), directory, watcher)
    learner = config.learners[0]
    with Ledger(directory.ledger) as ledger:
        state = ledger.states()[learner.name]
        member = next(member for member in ledger.members() if member.name == learner.name)
    main = seated(Seated(member, state.blob), Place(directory.blobs), greedy=True)
    source = open_source("lewis", split="test")
    opponents = {member.name: member.spec for member in config.heldout}
    rules = config.env.rules()
    (evaluation,) = final_evaluation({learner.name: main}, opponents, source, rules, exploitability=False).members
    against_heldout = [meeting.played.figures[BOTH] for meeting in evaluation.meetings]
    alone = evaluation.self_play.figures[BOTH]
    return Trial(
        league=name,
        seed=config.league.seed,
        reward=learner.reward,
        decisions=state.decisions,
        points=float(np.mean([figures.points.mean for figures in against_heldout])),
        proximity=float(evaluation.proximity.mean.value),
        deals=float(evaluation.agreement.value),
        welfare=float(evaluation.welfare.value),
        alone=(alone.deals.mean, alone.welfare.mean),
    )


def print_trials(console: Console, trials: Sequence[Trial]) -> None:
    """How much more the first league earns than each other, with Student's interval, and a table of the trials."""
    print_in_short(console, _in_short(trials))
    table = Table(box=None, pad_edge=False)
    for heading in ("league", "reward"):
        table.add_column(heading, overflow="fold")
    for heading in ("seed", "decisions", "points", "of response", "deals", "welfare", "self-play deals", "welfare"):
        table.add_column(heading, justify="right")
    for trial in trials:
        shares = [
            format_number(share, "share") for share in (trial.proximity, trial.deals, trial.welfare, *trial.alone)
        ]
        columns = Text(trial.league), Text(trial.reward), str(trial.seed), f"{trial.decisions:,}"
        table.add_row(*columns, format_number(trial.points), *shares)
    console.print(table)
    note = (
        "points of ten of the first learner against the held-out members on the held-out scenarios, both seats; of "
        "response: mean of its shares of what could be had there (exact best responses, else upper bounds); deals and "
        "welfare there, then in self-play. The first learner plays its likeliest acts (greedy), as in every evaluation."
    )
    console.print(Text(note))


def _in_short(trials: Sequence[Trial]) -> Iterator[str]:
    """What each league earns more or less than the first."""
    first, *others = dict.fromkeys(trial.league for trial in trials)
    points = {(trial.league, trial.seed): trial.points for trial in trials}
    own = mean_of([points[first, seed] for league, seed in points if league == first], 0.95)
    yield f"The first learner of {first} gets {own.mean:.2f} points of ten from the held-out members."
    told = []
    for other in others:
        seeds = [seed for league, seed in points if league == other and (first, seed) in points]
        gap = mean_of([points[first, seed] - points[other, seed] for seed in seeds], 0.95)
        # What is less is told by how much less, and so is its interval.
        word, low, high = ("more", gap.low, gap.high) if gap.mean >= 0 else ("less", -gap.high, -gap.low)
        doubt = "one seed, no interval" if math.isnan(low) else f"95% over seeds {low:.2f} to {high:.2f}"
        told.append(f"{abs(gap.mean):.2f} {word} than {other} ({doubt})")
    if told:
        yield f"That is {', '.join(told)}."
