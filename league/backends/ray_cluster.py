"""Ray Core: one actor per CPU of a cluster, each with a worker process of its own.

Who is at fault for a failure is found out on the node (:mod:`league.backends.ray_node`); here the tasks of lost actors
and nodes are played again elsewhere. By default Ray runs a task at most once and does not say whether a lost one was
run (docs.ray.io, fault tolerance of actors). Neither matters: tasks are pure, and a result is taken once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dond_marl.rollout import one_line
from league.backends.contract import Backend, BackendError, Tick, nothing
from league.backends.perform import Flight, in_order
from league.backends.ray_joining import join, load_ray, own_path
from league.backends.ray_node import NodeWorker
from league.tasks.blame import clock
from league.tasks.blobs import read_content
from league.tasks.values import Place, Result, Task, machine

LOOK = 0.2  # seconds between two ticks of the caller
LOST = 8  # actors that may be lost over one task
STILLBORN = 3  # actors in a row that may be lost before they are ready
START = 120.0  # seconds without any actor after which a cluster has no room for us
FAREWELL = 0.5  # seconds for actors to leave by themselves


class _Actor:
    """An actor as its driver sees it. ``number`` is that of its task, ``None`` while it is idle or starting."""

    def __init__(self, handle: Any) -> None:
        self.handle, self.ready = handle, False
        self.number: int | None = None
        self.answer = handle.machine.remote()  # to the latest call

    @property
    def idle(self) -> bool:
        return self.ready and self.number is None


class RayBackend(Backend):
    """Plays tasks on a Ray cluster: the one at ``address``, or one of this machine alone, started here.

    ``workers``: actors, by default one for every CPU of the cluster; ``warn`` is told what may change figures.
    """

    def __init__(self, workers: int | None, address: str | None, warn: Callable[[str], None]) -> None:
        self._ray = load_ray()
        self._ours = not self._ray.is_initialized()
        if self._ours:
            join(self._ray, workers, address)
        self._size = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._warn, self._warned = warn, set[str]()
        self._actors: list[_Actor] = []
        self._contents: dict[str, Any] = {}  # by a blob's name, where Ray holds its content
        self._lost: dict[int, int] = {}  # actors lost with a task of this run, by its number
        self._stillborn = 0  # actors lost before they were ready, in a row
        self._last_ready = clock()

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = nothing
    ) -> Iterator[Result]:
        """See :class:`league.backends.contract.Backend`; deadlines are kept on the nodes."""
        named = set().union(*(task.blobs for task in tasks))
        self._contents = {name: where for name, where in self._contents.items() if name in named}
        self._last_ready = clock()
        return in_order(self, Flight(tasks, place, deadline), tick)

    def close(self) -> None:
        """Let the actors leave, and the cluster too if it was started here."""
        with contextlib.suppress(self._ray.exceptions.RayError):  # the cluster may be gone
            farewells = [actor.handle.leave.remote() for actor in self._actors if actor.idle]
            if farewells:
                self._ray.wait(farewells, num_returns=len(farewells), timeout=FAREWELL)
            while self._actors:
                self._ray.kill(self._actors.pop().handle)
        if self._ours:
            self._ours = False
            self._ray.shutdown()

    def hand_out(self, flight: Flight) -> None:
        for actor in [actor for actor in self._actors if actor.idle][: len(flight.waiting)]:
            actor.number = flight.waiting.popleft()
            task = flight.tasks[actor.number]
            weights = {name: self._where(name, flight.place) for name in sorted(task.blobs)}
            actor.answer = actor.handle.play.remote(task, weights, flight.deadline)
        starting = sum(not actor.ready for actor in self._actors)
        for _ in range(min(len(flight.waiting) - starting, self._size - len(self._actors))):
            actor_class = self._ray.remote(NodeWorker)
            options = actor_class.options(
                num_cpus=1, scheduling_strategy="SPREAD", runtime_env={"env_vars": {"PYTHONPATH": own_path()}}
            )
            self._actors.append(_Actor(options.remote()))

    def collect(self, flight: Flight) -> None:
        awaited = {actor.answer: actor for actor in self._actors if not actor.idle}
        answered, _ = self._ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        if not answered:
            answered, _ = self._ray.wait(list(awaited), num_returns=1, timeout=LOOK)
        if any(actor.ready for actor in self._actors):
            self._last_ready = clock()
        elif clock() - self._last_ready > START:
            raise BackendError(f"the cluster has had no CPU free for us for {START:g} s; see `ray status`")
        for answer in answered:
            actor = awaited[answer]
            try:
                reply = self._ray.get(answer)
            except self._ray.exceptions.RayTaskError as error:
                actor.number = None
                raise error.cause from None
            except self._ray.exceptions.RayError as error:
                self._bury(actor, flight, error)
                continue
            if actor.number is not None:
                flight.done[actor.number] = reply
                actor.number = None
            else:
                actor.ready, self._stillborn = True, 0
                self._compare(reply)

    def drop(self) -> None:
        for actor in [actor for actor in self._actors if actor.number is not None]:
            self._ray.kill(actor.handle)
            self._actors.remove(actor)
        self._lost.clear()

    def _where(self, name: str, place: Place) -> Any:
        if name not in self._contents:
            self._contents[name] = self._ray.put(read_content(place.blobs, name))
        return self._contents[name]

    def _bury(self, actor: _Actor, flight: Flight, error: Exception) -> None:
        """Forget an actor that is lost, or whose node is; its task waits for another."""
        self._ray.kill(actor.handle)
        self._actors.remove(actor)
        if actor.number is None:
            self._stillborn += 1
            if self._stillborn == STILLBORN:
                raise BackendError(f"{STILLBORN} actors in a row could not be started: {one_line(error)}")
            return
        losses = self._lost[actor.number] = self._lost.get(actor.number, 0) + 1
        if losses == LOST:
            raise BackendError(
                f"{LOST} actors were lost over {flight.tasks[actor.number]} ({one_line(error)}); see that "
                f"the nodes have memory to spare, about 1 GB for each actor"
            )
        flight.waiting.appendleft(actor.number)

    def _compare(self, theirs: str) -> None:
        """Warn, once for each kind of node, that its results may differ in the last digits."""
        if theirs != machine() and theirs not in self._warned:
            self._warned.add(theirs)
            self._warn(f"a node differs from this machine, its last digits may too: {theirs} there, {machine()} here")
