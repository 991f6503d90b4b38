"""Calls in several processes at once, each a fresh interpreter; they end when the caller stops iterating.

Rounds of a league need more (workers that are killed one by one, tasks that are run again): see
:mod:`league.backends.process`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, TypeVar

from dond_marl.errors import InputError, RunFailure

Result = TypeVar("Result")


def in_processes(
    call: Callable[..., Result], rows: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[tuple[int, Result]]:
    """Index and result of ``call(*row)`` for each of ``rows``, as they finish; with one worker: here, in order.

    Raises the first failing call's error, with its message alone if it is an :class:`InputError` or
    :class:`RunFailure`, and :class:`RunFailure` if a worker was ended from outside. All other calls then end too.
    """
    if workers == 1 or len(rows) < 2:
        yield from ((place, call(*row)) for place, row in enumerate(rows))
        return
    # A fresh interpreter each: a copy of one that has loaded PyTorch may hang.
    with ProcessPoolExecutor(min(workers, len(rows)), get_context("spawn"), initializer=_begin) as pool:
        places = {pool.submit(_result, call, row): place for place, row in enumerate(rows)}
        try:
            for future in as_completed(places):
                result = future.result()
                if isinstance(result, InputError | RunFailure):
                    raise result
                yield places[future], result
        except BrokenExecutor:
            raise RunFailure("a worker was ended from outside, by lack of memory perhaps; use --workers 1") from None
        finally:
            processes = list(getattr(pool, "_processes", {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()


def _begin() -> None:
    """Prepare a worker: one thread, as workers share the cores; Ctrl-C ends it without a message."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = "1"


def _result(call: Callable[..., Result], row: tuple[Any, ...]) -> Result | InputError | RunFailure:
    """The result of a call, or its error with the message alone: attributes of the original may not be picklable."""
    try:
        return call(*row)
    except InputError as error:
        return InputError(str(error))
    except (RunFailure, OSError) as error:
        return RunFailure(str(error))
