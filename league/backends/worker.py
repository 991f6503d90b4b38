"""The program of a worker process: it receives a task, runs it and sends the result, until its parent is gone."""

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

from dond_marl.errors import error_line
from league.backends.base import BackendError, run_task
from league.tasks import attribution
from league.tasks.attribution import REMAINS
from league.tasks.values import Place, Result, Task, TrainTask

PARENT_DIED = 1  # PR_SET_PDEATHSIG of Linux's prctl
LOOK = 0.5  # seconds between two checks of the parent


class Began(NamedTuple):
    """The task begins: the modules that it needs are imported; or a practice begins again without a member at fault."""


class Last(NamedTuple):
    """The last result of a worker in which other packages' code has left threads or timers: it ends."""

    result: Result | Exception


Message = Began | Last | Result | Exception  # an error that is no member's fault


def serve(link_descriptor: int, page_descriptor: int, parent: int) -> None:
    """Run as a worker of ``parent``. The descriptors are open files: a socket to it, and the page that it reads."""
    _leave_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and stops its workers
    page = attribution.publish(page_descriptor, link_descriptor)
    # Any error of the link means that the parent is gone.
    with Connection(link_descriptor) as link, contextlib.suppress(EOFError, OSError):
        while True:
            task, place = link.recv()
            page.begin()
            if isinstance(task, TrainTask):
                import_module("league.tasks.train_task")  # loads PyTorch: seconds that no member is charged for
            link.send(Began())
            result = _result(task, place, page, link)
            if REMAINS.found:
                link.send(Last(result))
                break
            link.send(result)
    os._exit(0)  # without running what members have registered to run at exit


def _result(task: Task, place: Place, page: attribution.Page, link: Connection) -> Result | Exception:
    """The result, or the error that was raised instead.

    An error that would end a process without workers ends this worker; another one tries again, and the page names the
    member whose code was running.
    """

    def restart() -> None:
        page.begin()
        link.send(Began())

    try:
        return run_task(task, place, restart=restart)
    except MemoryError as error:
        page.give_up(error_line(error))
    except Exception as error:  # noqa: BLE001  # it is raised again, in the parent
        return _portable(error)
    except BaseException as error:  # noqa: BLE001  # only a member's code raises KeyboardInterrupt here
        page.give_up(error_line(error))


def _portable(error: Exception) -> Exception:
    """The error itself, or a :class:`BackendError` with its message if it cannot be pickled."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # pickled in the same line
    except Exception:  # noqa: BLE001  # an error's own code decides how it is pickled
        copy = None
    return error if type(copy) is type(error) else BackendError(error_line(error))


def _leave_with(parent: int) -> None:
    """End this process when its parent ends, however busy it is, and at once if it has ended already."""
    if sys.platform == "linux":  # at once, even if a member's code never lets another thread run
        ctypes.CDLL(None).prctl(PARENT_DIED, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
