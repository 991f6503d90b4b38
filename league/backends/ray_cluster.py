"""Ray Core: one actor per CPU of a cluster, each with a worker process of its own.

The member at fault for a failure is determined on the node (:class:`NodeWorker`); here the tasks of lost actors and
nodes are run again elsewhere. By default Ray runs a task at most once and does not report whether a lost one was run
(docs.ray.io, fault tolerance of actors). Neither matters: tasks are pure, and a result is used once. Nodes share no
disk: the content of each blob is sent once to each actor, which verifies it against its name.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import sysconfig
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dond_marl.errors import error_line, missing_library, quote
from league.backends.base import Backend, BackendError, Flight, Tick, in_order, no_tick
from league.backends.process import ProcessBackend
from league.tasks.attribution import clock
from league.tasks.blobs import SUFFIX, BlobError, name_of, read_content, write_blob
from league.tasks.values import Place, Result, Task, machine

POLL = 0.2  # seconds between two ticks of the caller
LOST = 8  # actors that may be lost over one task
STILLBORN = 3  # actors in a row that may be lost before they are ready
START = 120.0  # seconds without any actor after which a cluster counts as full
FAREWELL = 0.5  # seconds in which actors can end by themselves


class _Actor:
    """An actor, on the driver's side. ``number``: its task, ``None`` while it is idle or starting."""

    def __init__(self, handle: Any) -> None:
        self.handle, self.ready = handle, False
        self.number: int | None = None
        self.pending = handle.machine.remote()  # to the latest call

    @property
    def idle(self) -> bool:
        return self.ready and self.number is None


class RayBackend(Backend):
    """Runs tasks on a Ray cluster: the one at ``address``, or one of this machine alone, started here.

    ``workers``: actors, by default one for every CPU of the cluster; ``warn`` receives messages on what may change
    figures.
    """

    def __init__(self, workers: int | None, address: str | None, warn: Callable[[str], None]) -> None:
        self._ray = load_ray()
        self._started_here = not self._ray.is_initialized()
        if self._started_here:
            join(self._ray, workers, address)
        self._size = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._warn, self._warned = warn, set[str]()
        self._actors: list[_Actor] = []
        self._contents: dict[str, Any] = {}  # Ray's reference to a blob's content, by name
        self._lost: dict[int, int] = {}  # actors lost with a task of this run, by its number
        self._stillborn = 0  # actors lost before they were ready, in a row
        self._last_ready = clock()

    def run(
        self, tasks: Sequence[Task], place: Place, *, deadline: float | None = None, tick: Tick = no_tick
    ) -> Iterator[Result]:
        """See :class:`league.backends.base.Backend`; deadlines are enforced on the nodes."""
        named = set().union(*(task.blobs for task in tasks))
        self._contents = {name: where for name, where in self._contents.items() if name in named}
        self._last_ready = clock()
        return in_order(self, Flight(tasks, place, deadline), tick)

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        with contextlib.suppress(self._ray.exceptions.RayError):  # the cluster may be gone
            farewells = [actor.handle.leave.remote() for actor in self._actors if actor.idle]
            if farewells:
                self._ray.wait(farewells, num_returns=len(farewells), timeout=FAREWELL)
            while self._actors:
                self._ray.kill(self._actors.pop().handle)
        if self._started_here:
            self._started_here = False
            self._ray.shutdown()

    def hand_out(self, flight: Flight) -> None:
        for actor in [actor for actor in self._actors if actor.idle][: len(flight.waiting)]:
            actor.number = flight.waiting.popleft()
            task = flight.tasks[actor.number]
            weights = {name: self._reference_to(name, flight.place) for name in sorted(task.blobs)}
            actor.pending = actor.handle.play.remote(task, weights, flight.deadline)
        starting = sum(not actor.ready for actor in self._actors)
        for _ in range(min(len(flight.waiting) - starting, self._size - len(self._actors))):
            actor_class = self._ray.remote(NodeWorker)
            options = actor_class.options(
                num_cpus=1, scheduling_strategy="SPREAD", runtime_env={"env_vars": {"PYTHONPATH": module_path()}}
            )
            self._actors.append(_Actor(options.remote()))

    def collect(self, flight: Flight) -> None:
        awaited = {actor.pending: actor for actor in self._actors if not actor.idle}
        ready, _ = self._ray.wait(list(awaited), num_returns=len(awaited), timeout=0)
        if not ready:
            ready, _ = self._ray.wait(list(awaited), num_returns=1, timeout=POLL)
        if any(actor.ready for actor in self._actors):
            self._last_ready = clock()
        elif clock() - self._last_ready > START:
            raise BackendError(f"the cluster has had no CPU free for us for {START:g} s; see `ray status`")
        for pending in ready:
            actor = awaited[pending]
            try:
                result = self._ray.get(pending)
            except self._ray.exceptions.RayTaskError as error:
                actor.number = None
                raise error.cause from None
            except self._ray.exceptions.RayError as error:
                self._bury(actor, flight, error)
                continue
            if actor.number is not None:
                flight.finished[actor.number] = result
                actor.number = None
            else:
                actor.ready, self._stillborn = True, 0
                self._compare(result)

    def drop(self) -> None:
        for actor in [actor for actor in self._actors if actor.number is not None]:
            self._ray.kill(actor.handle)
            self._actors.remove(actor)
        self._lost.clear()

    def _reference_to(self, name: str, place: Place) -> Any:
        if name not in self._contents:
            self._contents[name] = self._ray.put(read_content(place.blobs, name))
        return self._contents[name]

    def _bury(self, actor: _Actor, flight: Flight, error: Exception) -> None:
        """Drop an actor that is lost, or whose node is; its task waits for another actor."""
        self._ray.kill(actor.handle)
        self._actors.remove(actor)
        if actor.number is None:
            self._stillborn += 1
            if self._stillborn == STILLBORN:
                raise BackendError(f"{STILLBORN} actors in a row could not be started: {error_line(error)}")
            return
        losses = self._lost[actor.number] = self._lost.get(actor.number, 0) + 1
        if losses == LOST:
            raise BackendError(
                f"{LOST} actors were lost over {flight.tasks[actor.number]} ({error_line(error)}); see that "
                f"the nodes have memory to spare, about 1 GB for each actor"
            )
        flight.waiting.appendleft(actor.number)

    def _compare(self, theirs: str) -> None:
        """Warn, once for each kind of node, that its results may differ in the last digits."""
        if theirs != machine() and theirs not in self._warned:
            self._warned.add(theirs)
            self._warn(f"a node differs from this machine, its last digits may too: {theirs} there, {machine()} here")


REACH = 5.0  # seconds for a cluster to answer at all
STORE = 256 << 20  # bytes of Ray's object store, if Ray is started here: it holds weights only
ROOT = Path(__file__).resolve().parents[2]
GUARDED = "; a cluster guarded by a token needs it: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its machines"
PACKAGES = ("dond_marl", "hints", "league", "partners")  # sent to the nodes of a cluster: they run the same code


def load_ray() -> ModuleType:
    """Ray. Raises :class:`dond_marl.errors.MissingLibrary` where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    try:
        return import_module("ray")  # an extra, which may be absent from where types are checked, too
    except ModuleNotFoundError as error:
        raise missing_library(error, "the backend ray") or error from error


def join(ray: ModuleType, workers: int | None, address: str | None) -> None:
    """Join the cluster at ``address``, or start one of this machine alone. Raises :class:`BackendError`."""
    if address is not None:
        check_reachable(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    logging.getLogger("ray").setLevel(logging.ERROR)  # its warnings about token-guarded ports are long
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            # "local": never a cluster that happens to run here; the loopback address: not reachable from outside
            ray.init(
                "local",
                num_cpus=workers,
                include_dashboard=False,
                object_store_memory=STORE,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        else:
            ray.init(address, runtime_env={"py_modules": [str(ROOT / name) for name in PACKAGES]}, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        problem = f"Ray cannot be used at {address or 'this machine'}: {error_line(error)}"
        raise BackendError(
            problem if address is None or os.environ.get("RAY_AUTH_MODE") else problem + GUARDED
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray replaces it by its own, which would end this process at once


def check_reachable(address: str) -> None:
    """Raise :class:`BackendError` unless a server listens at ``HOST:PORT``; Ray itself takes minutes to report that."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BackendError(
            f"the address of a Ray cluster is HOST:PORT, such as 10.0.0.1:6379, or auto; got {quote(address)}"
        )
    try:
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except OSError as error:
        raise BackendError(
            f"no server answers at {address} ({error.strerror or error}); start one there with `ray start --head` "
            f"and join it from this machine with `ray start --address={address}`"
        ) from error


def module_path() -> str:
    """The module search path of this process without the interpreter's own folders."""
    standard = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return os.pathsep.join(path for path in sys.path if not any(path.startswith(place) for place in standard))


CACHED = 64  # blobs that stay on a node besides those of the task
PREFIX = "dond-marl-node-"  # of the folder with the blobs; the process's id follows


class NodeWorker:
    """An actor, on the node: it runs one task at a time. Ray stores the contents of blobs; ``Any``: a Ray reference."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self._backend = ProcessBackend(1)
        self._folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        self._cached: OrderedDict[str, None] = OrderedDict()  # names of blobs, the longest unused first

    def machine(self) -> str:
        return machine()

    def play(self, task: Task, weights: dict[str, Any], deadline: float | None) -> Result:
        """The result of a task; ``weights``: Ray's reference to the content of each blob, by name."""
        self._fetch(weights)
        return next(self._backend.run([task], Place(self._folder), deadline=deadline))

    def leave(self) -> None:
        """End the worker process and delete the weights."""
        self._backend.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _fetch(self, weights: dict[str, Any]) -> None:
        for name, reference in weights.items():
            if name not in self._cached:
                content = load_ray().get(reference)
                if name_of(content) != name:
                    raise BlobError(f"weights {name} arrived damaged at a node: their content does not fit their name")
                write_blob(self._folder, content)
            self._cached[name] = None
            self._cached.move_to_end(name)
        while len(self._cached) > CACHED + len(weights):
            (self._folder / (self._cached.popitem(last=False)[0] + SUFFIX)).unlink()


def _sweep(folder: Path) -> None:
    for stale in folder.glob(f"{PREFIX}*-*"):
        pid = stale.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(ValueError, PermissionError):
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                shutil.rmtree(stale, ignore_errors=True)
