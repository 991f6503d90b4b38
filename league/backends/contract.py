"""What a backend is: it turns a round's tasks into results, in order, wherever it plays them.

A task is a value and its result a function of it. So a task may be played anywhere, and again if a worker is lost, and
every backend with any number of workers gives the same results as playing one task after another in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

from dond_marl.errors import RunFailure
from league.tasks.values import Place, Result, Task

Tick = Callable[[], None]


class BackendError(RunFailure):
    """Tasks cannot be played, and no member is to blame. The message says why and what to do."""


def nothing() -> None:
    """A tick that does nothing."""


class Backend(Protocol):
    """Plays tasks. Use it as a context: whatever it started is ended on the way out."""

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
    ) -> Iterator[Result]:
        """The results of ``tasks`` in their order, each as soon as it and all before it are there.

        A task that runs longer than ``deadline`` seconds is checked for a member that hangs; ``None`` waits forever.
        ``tick`` is called several times a second while there is nothing to yield (in this process: between two tasks
        and between two updates of a practice); what it raises stops the run. Raises :class:`BackendError`, and whatever
        a task raises that is no member's fault. A run that is abandoned early drops the tasks in progress.
        """
        ...

    def close(self) -> None:
        """Stop whatever was started, within 5 s; may be called again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
