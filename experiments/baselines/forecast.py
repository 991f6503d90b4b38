"""What a comparison of arms would cost: processor time of what is not done yet, by a few tasks that are clocked."""

from __future__ import annotations

import time
from collections.abc import Sequence

from experiments.baselines.measured import missing
from experiments.baselines.plan import Job, planned_acts
from experiments.baselines.runs import finished
from league.bench.protocol import REPLICATES, lewis_field
from league.bench.results import Row
from league.bench.run import Opponents, play_roster
from league.bench.submission import submission_of_spec
from league.rounds.dry_run import estimate
from league.settings.training import TrainConfig
from league.tables.blocks import Section, Table, number_cell
from league.tables.blocks import TableRow as Line
from league.training.dry_run import seconds_of

SAMPLE = 500  # scenarios of a measurement for the clock
PLAYER = "expert"  # who is measured for it: a network, as those that learn are


def forecast(jobs: Sequence[Job], against: Sequence[Opponents], rows: Sequence[Row]) -> Section:
    """How many runs of each arm are to be learned and measured, and in how much processor time; nothing is kept.

    ``rows`` are the lines that there are. Raises what the arms' configs raise.
    """
    each = {opponents.name: _measuring(opponents) for opponents in against}
    lines, whole = [], 0.0
    for arm in dict.fromkeys(job.arm.name for job in jobs):
        own = [job for job in jobs if job.arm.name == arm]
        left = [job for job in own if finished(job) is None]
        open_lines = [opponents.name for job in own for opponents in missing(rows, job, against)]
        seconds = sum(each[name] for name in open_lines) + (len(left) * _learning(left[0]) if left else 0.0)
        whole += seconds
        counts = (len(own), len(left), len(open_lines), planned_acts(own[0]))
        lines.append(Line(arm, (*(number_cell(count, "count") for count in counts), number_cell(seconds, "seconds"))))
    heads = ("runs", "to learn", "to measure", "acts of a run", "processor seconds")
    note = f"About {whole / 60:.0f} minutes of one core where nothing else runs; a run that was begun counts whole."
    tables = (Table("What is not done yet", heads, tuple(lines), "arm"),)
    return Section("forecast", "What this would cost", (note,), tables)


def _learning(job: Job) -> float:
    if job.config is None:
        return 0.0
    return seconds_of(job.config) if isinstance(job.config, TrainConfig) else estimate(job.config)[0].seconds


def _measuring(opponents: Opponents) -> float:
    """Of one run against a roster: some of its scenarios are played."""
    whole, some = lewis_field().source.table, lewis_field(SAMPLE).source
    assert whole is not None
    began = time.process_time()
    play_roster(submission_of_spec(PLAYER).player, opponents.partners, some, REPLICATES)
    return (time.process_time() - began) * whole.size / SAMPLE
