"""One worker process as its supervisor sees it: started, given a task, listened to, and killed by itself alone."""

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

from league.backends.contract import Task
from league.backends.worker import GAVE_UP, Began, Message
from league.tasks import blame as asked
from league.tasks.values import Place

# Read by numerical libraries when they load: the cores are used by tasks, and sums are added up in one order.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)  # nobody's own doing, as a rule


class Death(NamedTuple):
    """How a worker died over a task."""

    member: str | None  # whose code was running
    cause: str
    from_outside: bool  # by a signal that somebody sent, or the machine for want of memory
    began: bool  # the task was taken up


class Worker:
    """A process of its own session. ``number`` is the task that it has, ``None`` while it is idle."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.handed = 0.0
        self.began: float | None = None  # when it took the task up, on asked.clock
        self.link, theirs = Pipe()
        with tempfile.TemporaryFile() as page:
            page.truncate(asked.PAGE)
            self._page = mmap.mmap(page.fileno(), asked.PAGE)
            descriptors = (theirs.fileno(), page.fileno())
            self._process = subprocess.Popen(  # ourselves
                # -P: a script's folder must not come first, where its league.py would shadow the package
                [sys.executable, "-P", "-m", "league.backends", *map(str, (*descriptors, os.getpid()))],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,  # a terminal's Ctrl-C is for the parent, and what it starts dies with it
            )
        theirs.close()

    @property
    def pid(self) -> int:
        """The process's id, which is its session's too."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def hand(self, number: int, task: Task, place: Place) -> None:
        """Give it a task. That it has died meanwhile is heard when it should answer."""
        self.number, self.handed, self.began = number, asked.clock(), None
        with contextlib.suppress(OSError):
            self.link.send((task, place))

    def hear(self) -> Message | None:
        """What it says next; ``None`` if it has died and said all."""
        try:
            message: Message = self.link.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        if isinstance(message, Began):
            self.began = asked.clock()
        return message

    def asked(self) -> asked.Asked:
        """Whom it asks now."""
        return asked.read(self._page)

    def kill(self) -> None:
        """End it now, and whatever it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS denies a signal to a group of the dead
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self.link.close()

    def buried(self) -> Death:
        """How it died, once it has."""
        asked_last = self.asked()
        self.kill()
        code = self._process.returncode
        if code == GAVE_UP and asked_last.words is not None:
            cause = asked_last.words
        elif code < 0:
            cause = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        else:
            cause = f"it ended its process with exit code {code}"
        return Death(asked_last.member, cause, -code in FROM_OUTSIDE, self.began is not None)
