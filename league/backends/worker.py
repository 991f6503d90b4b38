"""A worker process from the inside: it takes a task, plays it and sends the result, until its parent is gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import sys
import threading
import time
from importlib import import_module
from multiprocessing.connection import Connection
from typing import NamedTuple

from dond_marl.rollout import one_line
from league.backends.contract import BackendError
from league.backends.perform import perform
from league.tasks import blame
from league.tasks.contained import REMAINS
from league.tasks.values import Place, Result, Task, TrainTask

PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux's prctl
LOOK = 0.5  # seconds between two checks of the parent


class Began(NamedTuple):
    """The task is taken up: what it needs has been imported."""


class Last(NamedTuple):
    """The answer of a worker in which somebody else's code has left something behind: it plays no further task."""

    answer: Result | Exception


Message = Began | Last | Result | Exception  # an error that is no member's fault


def serve(link_descriptor: int, page_descriptor: int, parent: int) -> None:
    """Be a worker of ``parent``. The descriptors are open files: a socket to it, and the page that it reads."""
    _leave_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and stops its workers
    page = blame.publish(page_descriptor, link_descriptor)
    # Any error of the link means that the parent is gone.
    with Connection(link_descriptor) as link, contextlib.suppress(EOFError, OSError):
        while True:
            task, place = link.recv()
            page.begin()
            if isinstance(task, TrainTask):
                import_module("league.tasks.train_task")  # loads PyTorch, for seconds that are no member's
            link.send(Began())
            answer = _answer(task, place, page)
            if REMAINS.found:
                link.send(Last(answer))
                break
            link.send(answer)
    os._exit(0)  # without running what members have registered to run at exit


def _answer(task: Task, place: Place, page: blame.Page) -> Result | Exception:
    """The result, or the error that was raised instead.

    What would end a process that plays without workers ends this one; a fresh one tries again, and the page says whose
    code was running.
    """
    try:
        return perform(task, place)
    except MemoryError as error:
        page.give_up(one_line(error))
    except Exception as error:  # noqa: BLE001  # it is raised again, in the parent
        return _portable(error)
    except BaseException as error:  # noqa: BLE001  # a member may raise KeyboardInterrupt: nobody else does here
        page.give_up(one_line(error))
    os._exit(blame.GAVE_UP)


def _portable(error: Exception) -> Exception:
    """The error itself, or one with its message where it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # written in the same breath
    except Exception:  # noqa: BLE001  # an error's own code decides how it is pickled
        copy = None
    return error if type(copy) is type(error) else BackendError(one_line(error))


def _leave_with(parent: int) -> None:
    """End this process when its parent has ended, however busy it is, and even if that was long ago."""
    if sys.platform == "linux":  # at once, also where a member's code never lets another thread run
        ctypes.CDLL(None).prctl(PARENT_DIED, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
