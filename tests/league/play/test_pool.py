"""Calls on several processes: the same results with any number of them, errors in words, and no process left behind.

Every worker imports this module, which therefore imports little.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from dond_marl.errors import InputError, RunFailure
from league.play.backends import in_processes


def square(number: int) -> int:
    if number == 7:
        raise InputError("seven is not allowed; give another number")
    if number == 8:
        raise OSError("no room for eight")
    if number == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def threads(_number: int) -> str:
    return os.environ["OMP_NUM_THREADS"]


def all_ended() -> bool:
    """Whether no worker is left; the pool's own thread may be the one that sees a worker end, a moment later."""
    while multiprocessing.active_children():  # the limit of a test ends it where one stays
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("workers", [1, 2])
def test_every_row_is_called_once_with_its_index(workers):
    assert dict(in_processes(square, [(number,) for number in (3, 1, 2)], workers)) == {0: 9, 1: 1, 2: 4}
    assert list(in_processes(square, [], workers)) == []


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (7, InputError, "^seven is not allowed; give another number$"),
        (8, RunFailure, "^no room for eight$"),
        (9, RunFailure, "ended from outside"),
    ],
)
def test_errors_in_a_worker_are_raised_and_no_worker_stays(number, kind, words):
    with pytest.raises(kind, match=words):
        list(in_processes(square, [(number,), (1,)], 2))
    assert all_ended()


def test_who_stops_listening_ends_the_workers():
    results = in_processes(square, [(number,) for number in range(1, 5)], 2)
    next(results)
    results.close()
    assert all_ended()


def test_a_worker_computes_with_one_thread():
    assert {told for _, told in in_processes(threads, [(1,), (2,)], 2)} == {"1"}
