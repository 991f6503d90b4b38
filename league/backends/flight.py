"""The tasks of one run in flight: what waits, what is done, and the one loop that yields results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from league.backends.contract import Result, Task, Tick
from league.backends.perform import asks_elsewhere, longest_first, perform
from league.tasks.values import Place


class Flight:
    """Tasks by number. A result is written once: a task that is played twice gives the same."""

    def __init__(self, tasks: Sequence[Task], place: Place, deadline: float | None) -> None:
        self.tasks, self.place, self.deadline = tasks, place, deadline
        self.at_home = deque(number for number, task in enumerate(tasks) if asks_elsewhere(task))
        stays = set(self.at_home)
        self.waiting = deque(number for number in longest_first(tasks) if number not in stays)
        self.done: dict[int, Result] = {}  # and not yet yielded


class Crew(Protocol):
    """Whoever plays tasks of a flight elsewhere."""

    def hand_out(self, flight: Flight) -> None:
        """Take waiting tasks, as many as there is room for; does not block."""
        ...

    def collect(self, flight: Flight) -> None:
        """Write down what is done, and put back what is lost; waits a little if nothing has happened."""
        ...

    def drop(self) -> None:
        """Give up whatever is in flight."""
        ...


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
            crew.hand_out(flight)  # nobody waits for whoever takes the result
            yield flight.done.pop(number)
    finally:
        crew.drop()
