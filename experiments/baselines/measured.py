"""All jobs of a comparison, several at a time: what is done is not done again, and every result is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dond_marl.errors import InputError, RunFailure
from experiments.baselines.plan import Job
from experiments.baselines.runs import Run, finished, learn, submission
from league.backends.pool import in_processes
from league.bench import results
from league.bench.protocol import VERSION
from league.bench.results import Row
from league.bench.run import Opponents, measure
from league.tables.blocks import Section, Table, number_cell
from league.tables.blocks import TableRow as Line
from partners.rosters import members_hash


class Result(NamedTuple):
    """A job that is done: its run, and its line of the results file against each roster that was asked for."""

    job: Job
    run: Run
    rows: tuple[Row, ...]


def measured(rows: Sequence[Row], job: Job, opponents: Opponents) -> Row | None:
    """The newest line of ``job`` against these partners; ``None`` without one, or where it is of another run."""
    seed = None if job.config is None else job.seed
    for row in reversed(rows):
        own, benchmark = row["submission"], row["benchmark"]
        same = own["name"] == job.arm.name and own["seed"] == seed and own["settings_sha256"] == job.digest
        if same and (benchmark["version"], benchmark["roster_sha256"]) == (VERSION, members_hash(opponents.partners)):
            return row
    return None


def missing(rows: Sequence[Row], job: Job, against: Sequence[Opponents]) -> list[Opponents]:
    """Against whom ``job`` has no line yet."""
    return [opponents for opponents in against if measured(rows, job, opponents) is None]


def perform(
    jobs: Sequence[Job], against: Sequence[Opponents], path: Path, workers: int, tell: Callable[[str], None]
) -> Iterator[Result]:
    """Do every job that is not done, and append its lines to the results file ``path``; all of them, done or new.

    ``tell`` hears of each. Raises what learning and measuring raise.
    """
    known = lines_in(path)
    waiting = []
    for job in jobs:
        unknown, run = missing(known, job, against), finished(job)
        if run is not None and not unknown:
            yield Result(job, run, _lines(known, job, against))
        else:
            waiting.append((job, unknown))
    if len(waiting) < len(jobs):
        tell(f"{len(jobs) - len(waiting)} of {len(jobs)} are done and measured already")
    for number, (_, new) in enumerate(in_processes(_one, waiting, workers), start=1):
        for row in new.rows:
            results.append(path, row)
        done = new._replace(rows=_lines([*known, *new.rows], new.job, against))
        points = ", ".join(
            f"{row['figures']['points']['value']:.2f} ({row['benchmark']['roster']})" for row in done.rows
        )
        tell(f"{number}/{len(waiting)} {done.job.label}: {points} points of ten after {done.run.acts:,} acts")
        yield done


def lines_in(path: Path) -> list[Row]:
    """The lines of a results file; none where there is no such file yet."""
    return results.read([path]) if path.is_file() else []


def _lines(rows: Sequence[Row], job: Job, against: Sequence[Opponents]) -> tuple[Row, ...]:
    found = [measured(rows, job, opponents) for opponents in against]
    return tuple(row for row in found if row is not None)


def _one(job: Job, against: Sequence[Opponents]) -> Result:
    import torch

    torch.set_num_threads(1)
    try:
        run = learn(job)
        return Result(job, run, tuple(measure(submission(job, run), opponents) for opponents in against))
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
                    number_cell(len(runs), "count"),
                    *(number_cell(figure, "count") for figure in figures),
                    number_cell(_mean([run.decisions for run in runs]), "count"),
                    number_cell(_mean([run.self_play_deals or 0.0 for run in alone]), "share") if alone else None,
                    number_cell(_mean([run.self_play_points or 0.0 for run in alone])) if alone else None,
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
