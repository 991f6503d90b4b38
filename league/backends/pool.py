"""Work on several processes at once for whoever needs no rounds: calls in fresh interpreters, ended when nobody waits.

Rounds of a league want more (workers that are killed one by one, tasks that are played again) and have
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
    """The place of each row of arguments and what ``call`` made of it, as they end; with one worker, here, in order.

    Raises what the first failing call raised, as :class:`InputError` or :class:`RunFailure` where it was one of those,
    and :class:`RunFailure` where a worker was ended from outside. Nothing goes on after that, or after a stop.
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
    """Workers share the cores, so that each computes with one thread; Ctrl-C ends them without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = "1"


def _result(call: Callable[..., Result], row: tuple[Any, ...]) -> Result | InputError | RunFailure:
    """What came of it, or what went wrong in words: the errors themselves hold what may not travel."""
    try:
        return call(*row)
    except InputError as error:
        return InputError(str(error))
    except (RunFailure, OSError) as error:
        return RunFailure(str(error))
