"""Performing a task here, and the one loop that yields the results of many in order, whoever else performs them."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from league.backends.contract import Tick, nothing
from league.tasks.match import play
from league.tasks.values import MatchTask, Place, Result, Task


def perform(task: Task, place: Place, tick: Tick = nothing) -> Result:
    """Play a task here, in one torch thread; ``tick`` is called now and then in a practice, which takes seconds."""
    if "torch" in sys.modules:  # loaded only where somebody learns or is a network
        sys.modules["torch"].set_num_threads(1)
    if isinstance(task, MatchTask):
        return play(task, place)
    from league.tasks.train_task import train

    return train(task, place, tick)


class Flight:
    """The tasks of one run by number: what waits and what is done. A task that is played twice gives the same."""

    def __init__(self, tasks: Sequence[Task], place: Place, deadline: float | None) -> None:
        self.tasks, self.place, self.deadline = tasks, place, deadline
        costly = [any(seat.member.costly for seat in task.asked) for task in tasks]
        # Played in the league's own process, with the only terminal, budget and copy of a local model.
        self.at_home = deque(number for number, costs in enumerate(costly) if costs)
        elsewhere = [number for number, costs in enumerate(costly) if not costs]
        # Practice takes much longer than a match and goes first.
        self.waiting = deque(sorted(elsewhere, key=lambda number: isinstance(tasks[number], MatchTask)))
        self.done: dict[int, Result] = {}  # and not yet yielded


class Crew(Protocol):
    """Whoever plays tasks of a flight elsewhere."""

    # Take waiting tasks, as many as there is room for; does not block.
    def hand_out(self, flight: Flight) -> None: ...

    # Record what is done, and put back what is lost; waits a little if nothing has happened.
    def collect(self, flight: Flight) -> None: ...

    # Give up the tasks in progress.
    def drop(self) -> None: ...


def in_order(crew: Crew, flight: Flight, tick: Tick) -> Iterator[Result]:
    """The results of a flight in the order of its tasks."""
    try:
        for number in range(len(flight.tasks)):
            while number not in flight.done:
                tick()
                crew.hand_out(flight)
                if flight.at_home:
                    home = flight.at_home.popleft()
                    flight.done[home] = perform(flight.tasks[home], flight.place, tick)
                else:
                    crew.collect(flight)
            crew.hand_out(flight)  # before the result is yielded, so that nobody idles while the caller works on it
            yield flight.done.pop(number)
    finally:
        crew.drop()
