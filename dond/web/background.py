"""Slow work of a request in a thread of its own, so that no visitor waits for another one's games.

A thread cannot be stopped from outside. Partners of a match therefore check a deadline before each act
(:class:`WithDeadline`); threads that still run when the server stops end with the process.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dond_marl.seats import Decisions, Partner, Turns

if TYPE_CHECKING:
    from starlette.requests import Request  # of an optional library

MAX_TASKS = 64  # at work at once
FULL = "this page is busy with other requests; try again in a minute"
MATCH_SECONDS = 120.0  # time limit of a match that a visitor starts
POLL, LONGEST_WAIT = 0.05, 20.0  # seconds between two looks for a change, and until a browser asks again
_places = threading.BoundedSemaphore(MAX_TASKS)
T = TypeVar("T")


class Busy(ValueError):
    """``MAX_TASKS`` are at work, or the machine has no room for another thread."""


async def in_background(work: Callable[..., T], *args: Any) -> T:
    """Run ``work(*args)`` in a thread; its result, or its exception. Raises :class:`Busy`."""
    if not _places.acquire(blocking=False):
        raise Busy(FULL)
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # a request that is given up does not stop the work

    def run() -> None:
        try:
            try:
                value = work(*args)
            finally:
                _places.release()
        except BaseException as error:  # noqa: BLE001  # raised again in the awaiting task
            result.set_exception(error)
        else:
            result.set_result(value)

    try:
        threading.Thread(target=run, name="background", daemon=True).start()
    except RuntimeError:  # this machine has no room for another thread
        _places.release()
        raise Busy(FULL) from None
    return await asyncio.wrap_future(result)


async def wait_for_change(current: Callable[[], int], request: Request) -> bool:
    """Wait until ``current()`` differs from the request's ``version``, at most ``LONGEST_WAIT`` seconds; whether so."""
    seen = request.query_params.get("version", "")
    for _ in range(round(LONGEST_WAIT / POLL)):
        if str(current()) != seen or await request.is_disconnected():
            break
        await asyncio.sleep(POLL)
    return str(current()) != seen


@dataclass(frozen=True)
class WithDeadline:
    """A partner that plays until a moment of ``time.monotonic`` and raises ``TimeoutError`` after it."""

    inner: Partner
    until: float

    @property
    def traits(self) -> Any:
        return self.inner.traits

    def act(self, turns: Turns) -> Decisions:
        if time.monotonic() > self.until:
            raise TimeoutError(f"it takes longer than {MATCH_SECONDS:g} seconds; ask for fewer games")
        return self.inner.act(turns)
