"""An event loop in a thread of its own, so that code which is not asynchronous can have many requests in flight.

It keeps connections open from one batch to the next, and works where the caller runs in a loop already (notebooks).
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines until it is closed, at the latest when it is collected or the interpreter ends.

    ``at_close``: what to await last, in the same loop.
    """

    def __init__(self, name: str, at_close: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        thread.start()
        self._close = weakref.finalize(self, _close, self._loop, thread, at_close)

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of ``work``; an interrupt while waiting cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop; what still runs is cancelled."""
        self._close()


def _close(
    loop: asyncio.AbstractEventLoop, thread: threading.Thread, at_close: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if thread is threading.current_thread():
        return  # collected by its own loop: it stops, and the rest is the collector's
    thread.join()
    if asyncio._get_running_loop() is None:
        _end(loop, at_close)
    else:  # collected while this thread runs a loop of its own, which no other loop may run in
        elsewhere = threading.Thread(target=_end, args=(loop, at_close))
        elsewhere.start()
        elsewhere.join()


def _end(loop: asyncio.AbstractEventLoop, at_close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop.run_until_complete(_wind_up(at_close))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


async def _wind_up(at_close: Callable[[], Coroutine[Any, Any, None]]) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await at_close()
