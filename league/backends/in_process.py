"""One task after another, here. A member that raises forfeits; one that hangs or exits takes the league with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType

from league.backends.contract import Result, Task, Tick, nothing
from league.backends.perform import perform
from league.tasks.values import Place


class InProcess:
    """Plays tasks in this process. No deadline is kept: nobody is there to keep it."""

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
    ) -> Iterator[Result]:
        """The results of ``tasks``, each played when it is asked for; ``tick`` comes before each and in practices."""
        del deadline
        for task in tasks:
            tick()
            yield perform(task, place, tick)

    def close(self) -> None:
        """Nothing was started."""

    def __enter__(self) -> InProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()
