"""Worker processes on this machine, each with a link of its own, so that one can be killed without the others.

A task whose worker has died is run again in another worker, which names each member before it calls the member's code:
the member whose code was running when that worker died, too, is at fault.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing import Pipe
from threading import Lock
from typing import NamedTuple

from dond_marl.errors import error_line
from league.backends.base import BackendError, WorkersBackend
from league.tasks.values import Place, Result, Task, TrainTask

DEATHS = 2  # of workers over one task, until a member is at fault: the first may have inherited the damage
KILLS = 8  # the same, if each was killed from outside
LAST_WORDS = 1.0  # seconds from the end of a link to the end of its process
# Signals that a process as a rule does not send itself; Windows has but some of them.
FROM_OUTSIDE = [s for s in signal.Signals if s.name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")]
# Read by numerical libraries when they load: tasks share the cores, and sums are added in one order.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerDeath(NamedTuple):
    """The death of a worker over a task."""

    member: str | None  # whose code was running; None also if the worker named no members
    cause: str
    from_outside: bool = False  # by a signal of another process, or of the system for lack of memory


class ProcessBackend(WorkersBackend):
    """Runs tasks in ``workers`` processes, started when they are needed and reused in the next round."""

    def __init__(self, workers: int) -> None:
        if not hasattr(os, "killpg"):  # nor can a worker inherit descriptors
            raise BackendError(
                "worker processes need Linux or macOS; play in this process instead: --backend local --workers 1"
            )
        super().__init__(workers)
        self._lock = Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []

    def perform(self, task: Task, place: Place) -> Result:
        """The result of a task. A member at fault forfeits its match, or is left out of the practice."""
        deaths: list[WorkerDeath] = []
        while True:
            outcome = self._try(task, place, naming=bool(deaths))
            if isinstance(outcome, Exception):
                raise outcome
            if not isinstance(outcome, WorkerDeath):
                return outcome
            deaths.append(outcome)
            if (member := at_fault(deaths, str(task))) is not None:
                remainder = task.forfeit(member, outcome.cause)
                if not isinstance(remainder, TrainTask):
                    return remainder
                task, deaths = remainder, []

    def _try(self, task: Task, place: Place, *, naming: bool) -> Result | Exception | WorkerDeath:
        with self._lock:
            self.refuse_dropped()
            worker = self._idle.pop() if self._idle else WorkerProcess()
            self._busy.append(worker)
        outcome = worker.perform(task, place, naming=naming)
        with self._lock:
            self._busy.remove(worker)
            if not isinstance(outcome, WorkerDeath):
                self._idle.append(worker)
        return outcome

    def drop(self) -> None:
        with self._lock:
            for worker in self._busy:
                worker.kill()

    def close(self) -> None:
        super().close()
        while self._idle:
            self._idle.pop().kill()


def at_fault(deaths: Sequence[WorkerDeath], task: str) -> str | None:
    """The member that is at fault for the deaths of workers over a task; ``None``: try once more.

    Raises :class:`BackendError` if no member's code was running, or that of different members: the machine is at fault.
    """
    unforced = [death for death in deaths if not death.from_outside]
    counted = unforced if len(unforced) >= DEATHS else deaths
    if counted is deaths and len(deaths) < KILLS:
        return None
    members = {death.member for death in counted if death is not deaths[0]}  # the first worker named no members
    member = members.pop()
    if members or member is None:
        causes = "; ".join(dict.fromkeys(death.cause for death in counted))
        raise BackendError(
            f"{len(counted)} workers died over {task}, by no single member's doing ({causes}); if they wrote no errors "
            f"above, see that the machine has memory to spare, and go on with fewer workers"
        )
    return member


class WorkerProcess:
    """A worker process, in a session of its own: Ctrl-C goes to the parent alone, its children are killed with it."""

    def __init__(self) -> None:
        self._link, other_end = Pipe()
        self._process = subprocess.Popen(  # noqa: S603  # ourselves
            # -P: a script's folder must not come first, where its league.py would shadow the package
            [sys.executable, "-P", "-m", "league.backends.worker", str(other_end.fileno()), str(os.getpid())],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            pass_fds=[other_end.fileno()],
            start_new_session=True,
        )
        other_end.close()

    def perform(self, task: Task, place: Place, *, naming: bool) -> Result | Exception | WorkerDeath:
        """The result of a task, an error that is no member's fault, or the worker's death.

        ``naming``: it names each member before it calls the member's code. Out of memory, it is killed.
        """
        member: str | None = None
        try:
            self._link.send((task, place, naming))
            while isinstance(message := self._link.recv(), str):
                member = message or None
        except (EOFError, OSError, pickle.UnpicklingError):
            return self._bury(member)
        if isinstance(message, MemoryError):
            self.kill()
            return WorkerDeath(member, error_line(message))
        outcome: Result | Exception = message
        return outcome

    def kill(self) -> None:
        """Kill the process and everything that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS denies a signal to a group of the dead
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _bury(self, member: str | None) -> WorkerDeath:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS)
        self.kill()
        self._link.close()
        code = self._process.returncode
        cause = f"it ended its process with exit code {code}"
        if code < 0:
            cause = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        return WorkerDeath(member, cause, -code in FROM_OUTSIDE)
