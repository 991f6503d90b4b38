"""Backends: they turn a round's tasks into results, in order, in this process, in worker processes or on a cluster.

A task is a value and its result a function of it. So a task can be run anywhere, and again if a worker is lost, and
every backend with any number of workers gives the same results as running one task after another in this process.

Worker processes have a link of their own each, so that one can be killed without the others. A task whose worker has
died is run again in another worker, which names each member before it calls the member's code: the member whose code
was running when that worker died, too, is at fault. The cluster is in :mod:`league.play.ray_cluster`;
:func:`in_processes` runs calls of other kinds, which need none of this.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from dond_marl.errors import InputError, RunFailure, error_line
from league.play.match import SEATING, play_match
from league.play.values import MatchTask, Result, Task, TrainTask

Tick = Callable[[], None]
T = TypeVar("T")
POLL = 0.2  # seconds between two ticks of the caller
LOOK = 0.5  # seconds between two looks of a worker for its parent
DEATHS = 2  # of workers over one task, until a member is at fault: the first may have inherited the damage
KILLS = 8  # the same, if each was killed from outside
LAST_WORDS = 1.0  # seconds from the end of a link to the end of its process
# Signals that a process as a rule does not send itself; Windows has but some of them.
FROM_OUTSIDE = [s for s in signal.Signals if s.name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")]
# Read by numerical libraries when they load: tasks share the cores, and sums are added in one order.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
WORKER = f"import sys; from {__name__} import serve; serve(*map(int, sys.argv[1:]))"  # the code of a worker process


class BackendError(RunFailure):
    """Tasks cannot be run, and no member is at fault. The message says why and what to do."""


def no_tick() -> None:
    """A tick that does nothing."""


class Backend(Protocol):
    """Runs tasks. Use it as a context: everything that it started is ended on exit."""

    def run(self, tasks: Sequence[Task], blobs: Path, *, tick: Tick = no_tick) -> Iterator[Result]:
        """The results of ``tasks`` in their order, each as soon as it and all before it are finished.

        ``tick`` is called several times a second while there is nothing to yield (in this process: between two tasks
        and between two updates of a practice); what it raises stops the run. Raises :class:`BackendError`, and any
        error of a task that is no member's fault. A run that is abandoned early drops the tasks in progress.
        """
        ...

    def close(self) -> None:
        """End everything that was started; may be called again."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_task(task: Task, blobs: Path, tick: Tick = no_tick) -> Result:
    """Run a task in this process, in one torch thread; ``tick`` is called before every update of a practice."""
    if "torch" in sys.modules:  # loaded only if there is a learner or a network
        sys.modules["torch"].set_num_threads(1)
    if isinstance(task, MatchTask):
        return play_match(task, blobs)
    from league.play.practice import practice_round

    return practice_round(task, blobs, tick)


class InProcess(Backend):
    """Runs one task after another in this process.

    A member that raises forfeits. One that hangs or exits takes the league with it.
    """

    def run(self, tasks: Sequence[Task], blobs: Path, *, tick: Tick = no_tick) -> Iterator[Result]:
        for task in tasks:
            tick()
            yield run_task(task, blobs, tick)

    def close(self) -> None:
        """Do nothing: this backend starts no process."""


class WorkersBackend(Backend, ABC):
    """Runs up to ``workers`` tasks at a time outside this process; a thread of this one waits for each of them.

    Members that are expensive to query play in this process, which has the only terminal, budget and copy of a local
    model.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._dropped = False  # the run was abandoned: nothing is tried again

    @abstractmethod
    def perform(self, task: Task, blobs: Path) -> Result:
        """The result of a task that is run elsewhere. Raises ``CancelledError`` once the run is dropped."""

    @abstractmethod
    def drop(self) -> None:
        """End the tasks in progress."""

    def run(self, tasks: Sequence[Task], blobs: Path, *, tick: Tick = no_tick) -> Iterator[Result]:
        self._dropped = False
        costly = [any(entrant.member.costly for entrant in task.entrants) for task in tasks]
        elsewhere = [i for i, is_costly in enumerate(costly) if not is_costly]
        # Practice takes much longer than a match and goes first.
        elsewhere.sort(key=lambda i: isinstance(tasks[i], MatchTask))
        futures = {i: self._threads.submit(self.perform, tasks[i], blobs) for i in elsewhere}
        costly_tasks = iter([i for i, is_costly in enumerate(costly) if is_costly])
        results: dict[int, Result] = {}
        try:
            for i in range(len(tasks)):
                while i not in results:
                    tick()
                    if (costly_task := next(costly_tasks, None)) is not None:
                        results[costly_task] = run_task(tasks[costly_task], blobs, tick)
                    elif wait([futures[i]], POLL).done:
                        results[i] = futures[i].result()
                yield results.pop(i)
        finally:
            unfinished = [future for future in futures.values() if not (future.cancel() or future.done())]
            if unfinished:
                self._dropped = True
                self.drop()
                wait(unfinished)

    def refuse_dropped(self) -> None:
        """Raise ``CancelledError`` if the run was abandoned."""
        if self._dropped:
            raise CancelledError

    def close(self) -> None:
        self._dropped = True
        self.drop()
        self._threads.shutdown(cancel_futures=True)


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
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []

    def perform(self, task: Task, blobs: Path) -> Result:
        """The result of a task. A member at fault forfeits its match, or is left out of the practice."""
        deaths: list[WorkerDeath] = []
        while True:
            outcome = self._try(task, blobs, naming=bool(deaths))
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

    def _try(self, task: Task, blobs: Path, *, naming: bool) -> Result | Exception | WorkerDeath:
        with self._lock:
            self.refuse_dropped()
            worker = self._idle.pop() if self._idle else WorkerProcess()
            self._busy.append(worker)
        outcome = worker.perform(task, blobs, naming=naming)
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
            [sys.executable, "-P", "-c", WORKER, str(other_end.fileno()), str(os.getpid())],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            pass_fds=[other_end.fileno()],
            start_new_session=True,
        )
        other_end.close()

    def perform(self, task: Task, blobs: Path, *, naming: bool) -> Result | Exception | WorkerDeath:
        """The result of a task, an error that is no member's fault, or the worker's death.

        ``naming``: it names each member before it calls the member's code. Out of memory, it is killed.
        """
        member: str | None = None
        try:
            self._link.send((task, blobs, naming))
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


def serve(link_descriptor: int, parent: int) -> None:
    """Run as a worker of the process ``parent``, until that is gone; ``link_descriptor``: the open socket to it.

    It receives tuples (task, folder of the weights, whether to name members before their code runs) and sends results.
    """
    threading.Thread(target=_leave_with, args=[parent], daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and stops its workers
    # Any error of the link means that the parent is gone.
    with Connection(link_descriptor) as link, contextlib.suppress(EOFError, OSError):
        while True:
            task, blobs, naming = link.recv()
            SEATING.announce = link.send if naming else None
            link.send(run_portably(task, blobs))
    os._exit(0)  # without running what members have registered to run at exit


def run_portably(task: Task, blobs: Path) -> Result | Exception:
    """The result of a task, or the error that was raised instead; it can be pickled."""
    try:
        return run_task(task, blobs)
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


# Calls in several processes at once, for benchmarks and experiments


def in_processes(call: Callable[..., T], rows: Sequence[tuple[Any, ...]], workers: int) -> Iterator[tuple[int, T]]:
    """Index and result of ``call(*row)`` for each of ``rows``, as they finish; with one worker: here, in order.

    Raises the first failing call's error, with its message alone if it is an :class:`InputError` or
    :class:`RunFailure`, and :class:`RunFailure` if a worker was ended from outside. All other calls then end too.
    """
    if workers == 1 or len(rows) < 2:
        yield from ((i, call(*row)) for i, row in enumerate(rows))
        return
    # A fresh interpreter each: a copy of one that has loaded PyTorch may hang.
    with ProcessPoolExecutor(min(workers, len(rows)), get_context("spawn"), initializer=_prepare_worker) as pool:
        indices = {pool.submit(_result_of, call, row): i for i, row in enumerate(rows)}
        try:
            for future in as_completed(indices):
                result = future.result()
                if isinstance(result, InputError | RunFailure):
                    raise result
                yield indices[future], result
        except BrokenExecutor:
            raise RunFailure("a worker was ended from outside, by lack of memory perhaps; use --workers 1") from None
        finally:
            processes = list(getattr(pool, "_processes", {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join()


def _prepare_worker() -> None:
    """Prepare a worker: one thread, as workers share the cores; Ctrl-C ends it without a message."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["OMP_NUM_THREADS"] = "1"


def _result_of(call: Callable[..., T], row: tuple[Any, ...]) -> T | InputError | RunFailure:
    """The result of a call, or its error with the message alone: attributes of the original may not be picklable."""
    try:
        return call(*row)
    except InputError as error:
        return InputError(str(error))
    except (RunFailure, OSError) as error:
        return RunFailure(str(error))
