"""Code of other packages, asked so that it changes nothing for anybody else in the process.

After every answer the working directory, the environment's variables, the global generators and NumPy's error handling
are what they were, and a process that the code has forked ends. What cannot be undone (threads, timers, closed files)
is noted: a worker in which that has happened plays no further task.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from league.tasks import blame


class _State(NamedTuple):
    """Of the process, as far as it can be put back."""

    folder: str
    environment: dict[str, str]
    draws: Any
    numpy_draws: Any
    errors: Any
    output: tuple[Any, Any]


class Remains:
    """What the code of other packages has left behind in this process for good."""

    def __init__(self) -> None:
        self.found = False

    def look(self, threads: int) -> None:
        """Note threads that were not there before, a timer that is set, and standard output or errors that are shut."""
        timer = hasattr(signal, "getitimer") and any(signal.getitimer(signal.ITIMER_REAL))
        self.found = self.found or threading.active_count() > threads or timer or not _open_output()


REMAINS = Remains()


@contextlib.contextmanager
def contained(member: str) -> Iterator[None]:
    """A context in which code of ``member`` runs and changes nothing for anybody else."""
    process, threads, state = os.getpid(), threading.active_count(), _state()
    try:
        yield
    finally:
        if os.getpid() != process:  # a copy of everything, which must not go on playing
            os._exit(0)
        _restore(state)
        REMAINS.look(threads)
        blame.check_link(member)


def _state() -> _State:
    return _State(
        os.getcwd(),  # noqa: PTH109  # a text, put back as it was
        dict(os.environ),
        random.getstate(),
        np.random.get_state(),  # noqa: NPY002  # the generator that others share
        np.geterr(),
        (sys.stdout, sys.stderr),
    )


def _restore(state: _State) -> None:
    with contextlib.suppress(OSError):  # it may have removed the folder
        os.chdir(state.folder)
    if dict(os.environ) != state.environment:
        os.environ.clear()
        os.environ.update(state.environment)
    random.setstate(state.draws)
    np.random.set_state(state.numpy_draws)  # noqa: NPY002
    np.seterr(**state.errors)
    sys.stdout, sys.stderr = state.output


def _open_output() -> bool:
    try:
        for number in (1, 2):
            os.fstat(number)
    except OSError:
        return False
    return not any(getattr(stream, "closed", False) for stream in (sys.stdout, sys.stderr))
