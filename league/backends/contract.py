"""What a backend is: it turns a round's tasks into results, in order, wherever it plays them.

A task is a value and its result a function of it. So a task may be played anywhere, and again where a worker is lost,
and every backend with any number of workers gives the same results: those of playing one task after another here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from dond_marl.errors import RunFailure

if TYPE_CHECKING:
    from league.tasks.practice import TrainResult, TrainTask
    from league.tasks.values import MatchResult, MatchTask, Place

Task: TypeAlias = "MatchTask | TrainTask"
Result: TypeAlias = "MatchResult | TrainResult"
Tick = Callable[[], None]


class BackendError(RunFailure):
    """Tasks that cannot be played, by no member's fault. The message says why and what to do."""


def nothing() -> None:
    """The tick of a caller that has nothing to do while it waits."""


class Backend(Protocol):
    """Plays tasks. Use it as a context: what it started is gone when the context is left, whichever way."""

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
    ) -> Iterator[Result]:
        """The results of ``tasks`` in their order, each as soon as it and all before it are there.

        ``deadline``: seconds after which a task is looked at for a member that hangs; ``None`` waits forever.
        ``tick`` is called several times a second while there is nothing to yield (in this process: between two tasks
        and between two updates of a practice);
        what it raises stops the run. Raises :class:`BackendError`, and whatever a task raises by no member's fault.
        A run that is left early drops what it has in flight.
        """
        ...

    def close(self) -> None:
        """Stop at once whatever was started, within 5 s; may be called again."""
        ...

    def __enter__(self) -> Backend: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
