"""Work beside the pages: in a thread of its own, so that nobody waits for what somebody else has asked for.

A thread cannot be ended from outside. What is played is asked whether it may go on before every act; what is left when
the pages stop ends with the process.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from dond_marl.seats import Decisions, Partner, Turns

MOST = 64  # pieces of work at once, two for every window that may be open
FULL = "this page is busy with what others have asked for; try again in a minute"
LONGEST_MATCH = 120.0  # seconds of a match that a visitor asks for
_places = threading.BoundedSemaphore(MOST)
T = TypeVar("T")


class Busy(ValueError):
    """Too much is being done already."""


async def aside(work: Callable[..., T], *given: Any) -> T:
    """What ``work(*given)`` returns or raises.

    Raises :class:`Busy` where ``MOST`` are at work, or no thread is to be had.
    """
    if not _places.acquire(blocking=False):
        raise Busy(FULL)
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def done(value: T | None, error: BaseException | None) -> None:
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)  # type: ignore[arg-type]  # of T where nothing was raised
        else:
            result.set_exception(error)

    def perform() -> None:
        value, error = None, None
        try:
            value = work(*given)
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is waited for
            error = raised
        finally:
            _places.release()
        try:
            loop.call_soon_threadsafe(done, value, error)
        except RuntimeError:  # the pages have stopped
            return

    try:
        threading.Thread(target=perform, name="aside", daemon=True).start()
    except RuntimeError:  # this machine has no room for another thread
        _places.release()
        raise Busy(FULL) from None
    return await result


@dataclass(frozen=True)
class Hurried:
    """A partner that plays until a moment of ``time.monotonic`` and then no more."""

    inner: Partner
    until: float

    @property
    def traits(self) -> Any:
        return self.inner.traits

    def act(self, turns: Turns) -> Decisions:
        if time.monotonic() > self.until:
            raise TimeoutError(f"it takes longer than {LONGEST_MATCH:g} seconds; ask for fewer games")
        return self.inner.act(turns)
