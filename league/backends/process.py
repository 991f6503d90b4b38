"""Worker processes on this machine, each with a link of its own, so that one can be killed without the others.

Why not a library's pool: that of ``concurrent.futures`` breaks as a whole when one worker dies. In pebble's (5.2.3) all
workers share one pipe and one lock: a worker killed while it sends stops all others for good, one that dies idle breaks
the pool, and one that exits with code 0 is not noticed (each of the three was tried).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import wait
from typing import NamedTuple

from league.backends.base import Backend, BackendError, Flight, Tick, in_order, no_tick
from league.backends.worker import Began, Last, Message
from league.tasks import attribution
from league.tasks.attribution import clock
from league.tasks.values import Place, Result, Task

POLL = 0.2  # seconds between two checks of deadlines, of dead workers and of the caller
STRIKES = 2  # workers that die over a task before a member is at fault: the first may have inherited the damage
KILLED = 8  # the same, if each was killed from outside
START = 120.0  # seconds that a worker may take to start and to begin a task


class ProcessBackend(Backend):
    """Runs tasks in ``workers`` processes, started when they are needed and reused in the next round."""

    def __init__(self, workers: int) -> None:
        if not hasattr(os, "killpg"):  # nor can a worker inherit descriptors
            raise BackendError(
                "worker processes need Linux or macOS; play in this process instead: --backend local --workers 1"
            )
        self._size = workers
        self._workers: list[WorkerProcess] = []
        self._deaths: dict[int, list[WorkerDeath]] = {}  # of workers over a task of this run, by its number

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = no_tick
    ) -> Iterator[Result]:
        """The results of ``tasks`` in order.

        Past the deadline, a member that alone has taken half of the time so far forfeits. At twice the deadline the
        slowest member forfeits, if all members together have taken half.
        """
        return in_order(self, Flight(tasks, place, deadline), tick)

    def close(self) -> None:
        while self._workers:
            self._workers.pop().kill()

    def hand_out(self, flight: Flight) -> None:
        for worker in [worker for worker in self._workers if worker.number is None and not worker.alive]:
            self._remove(worker)
        while flight.waiting:
            idle = [worker for worker in self._workers if worker.number is None]
            if not idle and len(self._workers) == self._size:
                return
            if not idle:
                self._workers.append(WorkerProcess())
                idle = self._workers[-1:]
            number = flight.waiting.popleft()
            idle[0].hand(number, flight.tasks[number], flight.place)

    def collect(self, flight: Flight) -> None:
        """Read the messages of busy workers, waiting a little for one, and handle dead and late workers."""
        busy = [worker for worker in self._workers if worker.number is not None]
        ready = wait([worker.link for worker in busy], timeout=POLL)
        for worker in busy:
            number = worker.number
            assert number is not None
            alive = worker.alive  # read before the link: a worker may send its last message and end
            if worker.link in ready or worker.link.poll():
                message = worker.receive()
                if message is None:
                    self._handle_loss(worker, number, flight)
                elif not isinstance(message, Began):
                    worker.number = None
                    if isinstance(message, Last):
                        self._remove(worker)
                        message = message.result
                    if isinstance(message, Exception):
                        raise message
                    flight.finished[number] = message
            elif not alive:  # but a process that it started holds the link open
                self._handle_loss(worker, number, flight)
            else:
                self._hurry(worker, number, flight)

    def drop(self) -> None:
        for worker in [worker for worker in self._workers if worker.number is not None]:
            self._remove(worker)
        self._deaths.clear()

    def _remove(self, worker: WorkerProcess) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _handle_loss(self, worker: WorkerProcess, number: int, flight: Flight) -> None:
        """A worker died over its task: another one tries, until it is clear which member is at fault."""
        deaths = self._deaths.setdefault(number, [])
        deaths.append(worker.bury())
        self._workers.remove(worker)
        member = at_fault(deaths, str(flight.tasks[number]))
        if member is None:
            flight.waiting.appendleft(number)
        else:
            del self._deaths[number]  # a practice is played again, and another member may be at fault
            flight.forfeit(number, member, deaths[-1].cause)

    def _hurry(self, worker: WorkerProcess, number: int, flight: Flight) -> None:
        """Kill a worker past the deadline, if it is clear which member is at fault."""
        task, deadline = flight.tasks[number], flight.deadline
        if worker.began is None:
            if clock() - worker.handed > START:
                raise BackendError(f"a worker has not begun {task} within {START:g} s; is the machine busy?")
            return
        elapsed = clock() - worker.began
        if deadline is None or elapsed <= deadline:
            return
        page, last_call = worker.page(), elapsed > 2 * deadline
        if page.slowest is not None and (page.total if last_call else page.longest) >= elapsed / 2:
            self._remove(worker)
            cause = f"it had taken {page.longest:.1f} s of {elapsed:.1f} s; the deadline is {deadline:g} s"
            flight.forfeit(number, page.slowest, cause)
        elif last_call:
            raise BackendError(
                f"{task} takes more than twice the deadline of {deadline:g} s, and no member is to blame "
                f"(together they have taken {page.total:.1f} s); set a longer deadline"
            )


def at_fault(deaths: Sequence[WorkerDeath], task: str) -> str | None:
    """The member that is at fault for the deaths of workers over a task; ``None``: try once more.

    Raises :class:`BackendError` if no member's code was running, or that of different members: the machine is at fault.
    """
    unforced = [death for death in deaths if not death.from_outside]
    if len(unforced) < STRIKES and len(deaths) < KILLED:
        return None
    counted = unforced if len(unforced) >= STRIKES else deaths
    causes = "; ".join(dict.fromkeys(death.cause for death in counted))
    if not any(death.began for death in counted):
        raise BackendError(
            f"{len(counted)} workers ended before they had begun {task} ({causes}); their errors are above"
        )
    members = {death.member for death in counted}
    member = members.pop()
    if members or member is None:
        raise BackendError(
            f"{len(counted)} workers died over {task}, by no single member's doing ({causes}); see that the machine "
            f"has memory to spare, and go on with fewer workers"
        )
    return member


# Read by numerical libraries when they load: tasks share the cores, and sums are added in one order.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LAST_WORDS = 1.0  # seconds from the end of a link to the end of its process
# Signals that a process as a rule does not send itself; Windows has but some of them.
FROM_OUTSIDE = [s for s in signal.Signals if s.name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")]


class WorkerDeath(NamedTuple):
    """The death of a worker over a task."""

    member: str | None  # whose code was running
    cause: str
    from_outside: bool  # by a signal of another process, or of the system for lack of memory
    began: bool  # the task had begun


class WorkerProcess:
    """A worker process, in a session of its own. ``number``: its task, ``None`` while it is idle."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.handed = 0.0
        self.began: float | None = None  # when it began the task, on attribution.clock
        self.link, theirs = Pipe()
        with tempfile.TemporaryFile() as page:
            page.truncate(attribution.PAGE)
            self._page = mmap.mmap(page.fileno(), attribution.PAGE)
            descriptors = (theirs.fileno(), page.fileno())
            self._process = subprocess.Popen(  # noqa: S603  # ourselves
                # -P: a script's folder must not come first, where its league.py would shadow the package
                [sys.executable, "-P", "-m", "league.backends", *map(str, (*descriptors, os.getpid()))],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,  # Ctrl-C goes to the parent alone; its children are killed with it
            )
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def hand(self, number: int, task: Task, place: Place) -> None:
        """Send it a task. If it has died meanwhile, that shows when its result is due."""
        self.number, self.handed, self.began = number, attribution.clock(), None
        with contextlib.suppress(OSError):
            self.link.send((task, place))

    def receive(self) -> Message | None:
        """The next message; ``None`` if the worker has died and all of its messages were read."""
        try:
            message: Message = self.link.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            return None
        if isinstance(message, Began):
            self.began = attribution.clock()
        return message

    def page(self) -> attribution.PageReading:
        return attribution.read_page(self._page)

    def kill(self) -> None:
        """Kill the process and everything that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS denies a signal to a group of the dead
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.link.close()

    def bury(self) -> WorkerDeath:
        """Clean up after a worker that has died, or has closed its link and is about to write why; its death."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_WORDS)
        last = self.page()
        self.kill()
        code = self._process.returncode
        if code == attribution.GAVE_UP and last.words is not None:
            cause = last.words
        elif code < 0:
            cause = f"its process was ended by signal {-code} ({signal.strsignal(-code)})"
        else:
            cause = f"it ended its process with exit code {code}"
        return WorkerDeath(last.member, cause, -code in FROM_OUTSIDE, self.began is not None)
