"""All jobs of a comparison, several at a time: what is done is not done again, and every result is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError, RunFailure
from league.backends.pool import in_processes
from league.bench import results
from league.bench.protocol import VERSION
from league.bench.results import Row
from league.bench.run import Against, measure
from league.experiments.baselines.plan import Job
from league.experiments.baselines.runs import Run, finished, learn, submission
from league.tables.blocks import Row as Line
from league.tables.blocks import Section, Table, plain
from partners.rosters import hash_of


class Result(NamedTuple):
    """A job that is done: its run, and its line of the results file where that was asked for."""

    job: Job
    run: Run
    row: Row | None


def measured(rows: Sequence[Row], job: Job, opponents: Against) -> Row | None:
    """The newest line of ``job`` against these partners; ``None`` without one, or where it is of another run."""
    seed = None if job.config is None else job.seed
    for row in reversed(rows):
        own, benchmark = row["submission"], row["benchmark"]
        same = own["name"] == job.arm.name and own["seed"] == seed and own["settings_sha256"] == job.digest
        if same and (benchmark["version"], benchmark["roster_sha256"]) == (VERSION, hash_of(opponents.partners)):
            return row
    return None


def perform(
    jobs: Sequence[Job], opponents: Against, path: Path, workers: int, tell: Callable[[str], None]
) -> Iterator[Result]:
    """Do every job that is not done, and append its line to the results file ``path``; all of them, done or new.

    ``tell`` hears of each. Raises what learning and measuring raise.
    """
    known = results.read([path]) if path.is_file() else []
    waiting = []
    for job in jobs:
        row, run = measured(known, job, opponents), finished(job)
        if row is not None and run is not None:
            yield Result(job, run, row)
        else:
            waiting.append((job, row is None))
    if len(waiting) < len(jobs):
        tell(f"{len(jobs) - len(waiting)} of {len(jobs)} are done and measured already")
    calls = [(job, opponents, anew) for job, anew in waiting]
    for number, (_, done) in enumerate(in_processes(_one, calls, workers), start=1):
        if done.row is not None:
            results.append(path, done.row)
        else:
            done = done._replace(row=measured(known, done.job, opponents))
        assert done.row is not None
        points = done.row["figures"]["points"]["value"]
        tell(f"{number}/{len(waiting)} {done.job.label}: {points:.2f} points of ten after {done.run.acts:,} acts")
        yield done


def _one(job: Job, opponents: Against, anew: bool) -> Result:
    import torch

    torch.set_num_threads(1)
    try:
        run = learn(job)
        return Result(job, run, measure(submission(job, run), opponents) if anew else None)
    except InputError as error:
        raise InputError(f"{job.label}: {error}") from error
    except (RunFailure, OSError) as error:
        raise RunFailure(f"{job.label}: {error}") from error


def acts_section(done: Sequence[Result], allowed: int | None) -> Section:
    """How many acts each arm used and what for, means over its seeds, and how it plays with itself."""
    arms = dict.fromkeys(result.job.arm.name for result in done)
    lines = []
    for arm in arms:
        runs = [result.run for result in done if result.job.arm.name == arm]
        alone = [run for run in runs if run.self_play_deals is not None]
        figures = [_mean([getattr(run, key) for run in runs]) for key in ("acts", "practice", "matches", "choice")]
        lines.append(
            Line(
                arm,
                (
                    plain(len(runs), "count"),
                    *(plain(figure, "count") for figure in figures),
                    plain(_mean([run.decisions for run in runs]), "count"),
                    plain(_mean([run.self_play_deals or 0.0 for run in alone]), "share") if alone else None,
                    plain(_mean([run.self_play_points or 0.0 for run in alone])) if alone else None,
                ),
            )
        )
    heads = ("seeds", "acts", "in practice", "in matches", "to choose", "own decisions", "deals, self-play", "points")
    notes = (
        "An act is what one seat says once, whoever sits there; practice counts both seats of all learners' games, "
        "matches are what a league measures its members by. Self-play: with itself, greedy, on the scenarios with a "
        "view that nobody trains on.",
        *([f"Each arm was allowed {allowed:,} acts."] if allowed is not None else []),
    )
    return Section("acts", "Acts", notes, (Table("Mean over the seeds of an arm", heads, tuple(lines), "arm"),))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
