"""``python -P -m league.backends.worker LINK PARENT``: a worker process, which runs tasks until its parent is gone.

It receives tuples (task, place of the weights, whether to name members before their code runs) and sends results.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from multiprocessing.connection import Connection

from dond_marl.errors import error_line
from league.backends.base import BackendError, run_task
from league.tasks.seating import SEATING
from league.tasks.values import Place, Result, Task

LOOK = 0.5  # seconds between two checks of the parent


def serve(link_descriptor: int, parent: int) -> None:
    """Run as a worker of the process ``parent``; ``link_descriptor``: the open socket to it."""
    threading.Thread(target=_leave_with, args=[parent], daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and stops its workers
    # Any error of the link means that the parent is gone.
    with Connection(link_descriptor) as link, contextlib.suppress(EOFError, OSError):
        while True:
            task, place, naming = link.recv()
            SEATING.announce = link.send if naming else None
            link.send(run_portably(task, place))
    os._exit(0)  # without running what members have registered to run at exit


def run_portably(task: Task, place: Place) -> Result | Exception:
    """The result of a task, or the error that was raised instead; it can be pickled."""
    try:
        return run_task(task, place)
    except Exception as error:  # noqa: BLE001  # it is raised again, in the parent
        try:
            copy = pickle.loads(pickle.dumps(error))  # noqa: S301  # pickled in the same line
        except Exception:  # noqa: BLE001  # an error's own code decides how it is pickled
            copy = None
        return error if type(copy) is type(error) else BackendError(error_line(error))


def _leave_with(parent: int) -> None:
    """End this process when its parent has ended, however busy it is."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(0)


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
