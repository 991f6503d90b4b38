"""A decision of the default league: its main's practice as a task, against the roster train as a crowd."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from league.rounds.planner import first_states
from league.settings.read import load_config
from league.tasks.blobs import write_blob
from league.tasks.practice import train
from league.tasks.values import Meeting, Member, Place, Seated, TrainTask
from partners.rosters import TRAIN, roster
from scripts.bench.report import Timed

DEFAULT = Path(__file__).resolve().parents[2] / "configs" / "league.yaml"
DECISIONS = 40_000  # of one task; a round of the default league has 500,000


def practicing() -> Timed:
    """Tasks of the default main, each going on where the one before ended; one unit is one own decision."""
    folder = tempfile.TemporaryDirectory()  # as long as the work may be done
    config, place = load_config(DEFAULT, []), Place(Path(folder.name))
    main, members = config.learners[0], roster(TRAIN)
    meetings = tuple(Meeting(Seated(Member(name, name)), 1 / len(members), "the benchmark") for name in members)
    task = TrainTask(
        round=0,
        number=0,
        learner=main.model_copy(update={"decisions": DECISIONS}),
        state=first_states(config, place.blobs)[main.name],
        meetings=meetings,
        env=config.env,
        hints=config.curriculum[-1].hints_of(main.name),
        seed=config.league.seed,
        total_decisions=main.decisions * config.league.rounds,
    )
    torch.set_num_threads(1)

    def work(_folder: object = folder) -> int:
        nonlocal task
        result = train(task, place)
        assert result.content is not None, result.cause
        write_blob(place.blobs, result.content)
        made = result.state.decisions - task.state.decisions
        task = replace(task, state=result.state)
        return made

    return work
