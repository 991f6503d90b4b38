"""Slow work of a request in a thread of its own, and requests that wait for a change of a page."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from starlette.requests import Request  # of an optional library

POLL, LONGEST_WAIT = 0.05, 20.0  # seconds between two looks for a change, and until a browser asks again
T = TypeVar("T")


async def in_background(work: Callable[..., T], *args: Any) -> T:
    """Run ``work(*args)`` in a thread; its result, or its exception. The thread ends with the process at the latest."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # a request that is given up does not stop the work

    def run() -> None:
        try:
            result.set_result(work(*args))
        except BaseException as error:  # noqa: BLE001  # raised again in the awaiting task
            result.set_exception(error)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await asyncio.wrap_future(result)


async def wait_for_change(current: Callable[[], int], request: Request) -> bool:
    """Wait until ``current()`` differs from the request's ``version``, at most ``LONGEST_WAIT`` seconds; whether so."""
    version = request.query_params.get("version", "")
    for _ in range(round(LONGEST_WAIT / POLL)):
        if str(current()) != version or await request.is_disconnected():
            break
        await asyncio.sleep(POLL)
    return str(current()) != version
