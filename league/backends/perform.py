"""What a backend must know of a task: how to play it, and what comes of it where a member brought its worker down."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from dond_marl.occupants import seat_occupant
from league.backends.contract import Result, Task, Tick, nothing
from league.tasks.blobs import SUFFIX
from league.tasks.values import MatchResult, MatchTask, Place, play


def perform(task: Task, place: Place, tick: Tick = nothing) -> Result:
    """Play a task here, in one torch thread; PyTorch is loaded only where somebody learns or is a network.

    ``tick`` is called now and then in the middle of a practice, which takes seconds; a match takes milliseconds.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    if isinstance(task, MatchTask):
        return play(task, place)
    from league.tasks.practice import train

    return train(task, place, tick)


def forfeited(task: Task, member: str, cause: str) -> Result:
    """What comes of a task that ``member`` made impossible: no match, or a learner that stays as it was."""
    if isinstance(task, MatchTask):
        return MatchResult(task, (), member, cause)
    from league.tasks.practice import TrainResult

    unmeasured, told = math.nan, f"{member}: {cause}"
    return TrainResult(task, task.state, None, unmeasured, unmeasured, task.learner.name, told)


def described(task: Task) -> str:
    """A task in words."""
    if isinstance(task, MatchTask):
        return f"the match of {task.members[0].name} and {task.members[1].name} in round {task.round}"
    return f"the practice of {task.learner.name} in round {task.round}"


def longest_first(tasks: Sequence[Task]) -> list[int]:
    """The numbers of ``tasks`` in the order to begin them: practice takes much longer than a match and goes first."""
    return sorted(range(len(tasks)), key=lambda number: isinstance(tasks[number], MatchTask))


def asks_elsewhere(task: Task) -> bool:
    """Whether a person or a service takes part: there is one terminal and one budget, in the league's own process."""
    seats = task.members if isinstance(task, MatchTask) else tuple(meeting.opponent for meeting in task.meetings)
    return any(_elsewhere(seat.member.spec) for seat in seats if seat.blob is None and seat.member.spec is not None)


@lru_cache(maxsize=1024)
def _elsewhere(spec: str) -> bool:
    traits = seat_occupant(spec).traits
    return traits.remote or traits.human


def weights_of(task: Task, folder: Path) -> set[str]:
    """The blobs in ``folder`` that a task names."""
    named = {text for text in _texts(task) if re.fullmatch("[0-9a-f]{64}", text)}
    return {name for name in named if (folder / (name + SUFFIX)).is_file()}


def _texts(value: object) -> Iterator[str]:
    """Every text in a frozen value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _texts(getattr(value, field.name))
