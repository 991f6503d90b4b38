"""One worker process as its supervisor sees it: started, given a task, read from, and killed without the others."""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from multiprocessing import Pipe
from typing import NamedTuple

from league.backends.worker import Began, Message
from league.tasks import blame
from league.tasks.values import Place, Task

# Read by numerical libraries when they load: tasks share the cores, and sums are added in one order.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LAST_WORDS = 1.0  # seconds from the end of a link to the end of its process
# Signals that a process as a rule does not send itself; Windows has but some of them.
FROM_OUTSIDE = [s for s in signal.Signals if s.name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")]


class Death(NamedTuple):
    """How a worker died over a task."""

    member: str | None  # whose code was running
    cause: str
    from_outside: bool  # by a signal from somebody else, or from the system for want of memory
    began: bool  # the task was taken up


class Worker:
    """A process of its own session. ``number`` is the task that it has, ``None`` while it is idle."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.handed = 0.0
        self.began: float | None = None  # when it took the task up, on blame.clock
        self.link, theirs = Pipe()
        with tempfile.TemporaryFile() as page:
            page.truncate(blame.PAGE)
            self._page = mmap.mmap(page.fileno(), blame.PAGE)
            descriptors = (theirs.fileno(), page.fileno())
            self._process = subprocess.Popen(  # noqa: S603  # ourselves
                # -P: a script's folder must not come first, where its league.py would shadow the package
                [sys.executable, "-P", "-m", "league.backends", *map(str, (*descriptors, os.getpid()))],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C goes to the parent alone; what it starts is killed with it
            )
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def hand(self, number: int, task: Task, place: Place) -> None:
        """Give it a task. If it has died meanwhile, that shows when it should answer."""
        self.number, self.handed, self.began = number, blame.clock(), None
        with contextlib.suppress(OSError):
            self.link.send((task, place))

    def receive(self) -> Message | None:
        """Its next message; ``None`` if it has died and all of its messages were read."""
        try:
            message: Message = self.link.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        if isinstance(message, Began):
            self.began = blame.clock()
        return message

    def page(self) -> blame.Reading:
        return blame.read(self._page)

    def kill(self) -> None:
        """End it now, and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS denies a signal to a group of the dead
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.link.close()

    def bury(self) -> Death:
        """Clean up after a worker that has died, or has closed its link and is about to say why: how it died."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS)
        last = self.page()
        self.kill()
        code = self._process.returncode
        if code == blame.GAVE_UP and last.words is not None:
            cause = last.words
        elif code < 0:
            cause = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        else:
            cause = f"it ended its process with exit code {code}"
        return Death(last.member, cause, -code in FROM_OUTSIDE, self.began is not None)
