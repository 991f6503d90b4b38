"""Workers beside this process, each with a link of its own, so that one can be killed without the others noticing.

Why not a kept pool: the pool of ``concurrent.futures`` breaks whole when a worker dies. In pebble's (5.2.3) all workers
share one pipe and one lock: a worker killed while it sends stops all others for good, one that dies idle breaks the
pool, and one that leaves with exit code 0 is never missed (each of the three was tried).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait

from league.backends.contract import Backend, BackendError, Tick, nothing
from league.backends.perform import Flight, in_order
from league.backends.supervision import Death, Worker
from league.backends.worker import Began, Last
from league.tasks.blame import clock
from league.tasks.values import Place, Result, Task

LOOK = 0.2  # seconds between two checks of deadlines, of dead workers and of the caller
STRIKES = 2  # workers that die over a task before somebody is at fault: the first may have inherited the damage
KILLED = 8  # the same, where each was killed from outside
START = 120.0  # seconds that a worker may take to start and to take up a task


class ProcessBackend(Backend):
    """Plays tasks in ``workers`` processes, started when they are needed and kept for the next round."""

    def __init__(self, workers: int) -> None:
        if not hasattr(os, "killpg"):  # nor the descriptors that a worker inherits
            raise BackendError(
                "worker processes need Linux or macOS; play in this process instead: --backend local --workers 1"
            )
        self._size = workers
        self._workers: list[Worker] = []
        self._deaths: dict[int, list[Death]] = {}  # of workers over a task of this run, by its number

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
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
                self._workers.append(Worker())
                idle = self._workers[-1:]
            number = flight.waiting.popleft()
            idle[0].hand(number, flight.tasks[number], flight.place)

    def collect(self, flight: Flight) -> None:
        """Read what busy workers send, wait a little if none sends anything, and deal with the dead and the late."""
        busy = [worker for worker in self._workers if worker.number is not None]
        ready = wait([worker.link for worker in busy], timeout=LOOK)
        for worker in busy:
            number = worker.number
            assert number is not None
            alive = worker.alive  # read before the link: a worker may send its last message and end
            if worker.link in ready or worker.link.poll():
                message = worker.receive()
                if message is None:
                    self._lost(worker, number, flight)
                elif not isinstance(message, Began):
                    worker.number = None
                    if isinstance(message, Last):
                        self._remove(worker)
                        message = message.answer
                    if isinstance(message, Exception):
                        raise message
                    flight.done[number] = message
            elif not alive:  # but a process that it started holds the link open
                self._lost(worker, number, flight)
            else:
                self._hurry(worker, number, flight)

    def drop(self) -> None:
        for worker in [worker for worker in self._workers if worker.number is not None]:
            self._remove(worker)
        self._deaths.clear()

    def _remove(self, worker: Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _lost(self, worker: Worker, number: int, flight: Flight) -> None:
        """A worker died over its task: another one tries, until it is clear who is at fault."""
        deaths = self._deaths.setdefault(number, [])
        deaths.append(worker.bury())
        self._workers.remove(worker)
        member = at_fault(deaths, str(flight.tasks[number]))
        if member is None:
            flight.waiting.appendleft(number)
        else:
            flight.done[number] = flight.tasks[number].forfeited(member, deaths[-1].cause)

    def _hurry(self, worker: Worker, number: int, flight: Flight) -> None:
        """Kill a worker that is late, if it is clear who is at fault."""
        task, deadline = flight.tasks[number], flight.deadline
        if worker.began is None:
            if clock() - worker.handed > START:
                raise BackendError(f"a worker has not begun {task} within {START:g} s; is the machine busy?")
            return
        elapsed = clock() - worker.began
        if deadline is None or elapsed <= deadline:
            return
        page, last_call = worker.page(), elapsed > 2 * deadline
        if page.slowest is not None and (page.everybody if last_call else page.longest) >= elapsed / 2:
            self._remove(worker)
            cause = f"it had taken {page.longest:.1f} s of {elapsed:.1f} s; the deadline is {deadline:g} s"
            flight.done[number] = task.forfeited(page.slowest, cause)
        elif last_call:
            raise BackendError(
                f"{task} takes more than twice the deadline of {deadline:g} s, and no member is to blame "
                f"(together they have taken {page.everybody:.1f} s); set a longer deadline"
            )


def at_fault(deaths: Sequence[Death], task: str) -> str | None:
    """The member that is at fault for the workers that died over a task; ``None``: try once more.

    Raises :class:`BackendError` where no member was being asked, or different ones were: it is the machine's fault.
    """
    own = [death for death in deaths if not death.from_outside]
    if len(own) < STRIKES and len(deaths) < KILLED:
        return None
    counted = own if len(own) >= STRIKES else deaths
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
