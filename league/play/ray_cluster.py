"""Ray Core: a round's tasks on the CPUs of a cluster.

Tasks are pure, so Ray may run a lost one again on another node. A task that is lost again and again is run on this
machine, which finds the member at fault. Nodes share no disk: a task's weights travel with it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dond_marl.errors import error_line, missing_library, quote
from league.play.backends import ONE_THREAD, BackendError, ProcessBackend, Tick, WorkersBackend, no_tick, run_portably
from league.play.blobs import read_content, write_blob
from league.play.values import Result, Task, machine

RETRIES = 3  # of a task that is lost with its worker or its node


class RayBackend(WorkersBackend):
    """Runs tasks on a Ray cluster: the one at ``address``, or one of this machine alone, started here.

    ``workers``: tasks at a time, by default one for every CPU of the cluster; ``warn`` receives messages on what may
    change figures.
    """

    def __init__(self, workers: int | None, address: str | None, warn: Callable[[str], None]) -> None:
        self._ray = load_ray()
        self._started_here = not self._ray.is_initialized()
        if self._started_here:
            join(self._ray, workers, address)
        super().__init__(workers or max(1, int(self._ray.cluster_resources().get("CPU", 1))))
        self._warn, self._machines = warn, {machine()}
        self._contents: dict[str, Any] = {}  # Ray's reference to a blob's content, by name
        self._pending = set[Any]()  # Ray's references to results
        self._here: list[ProcessBackend] = []
        self._remote = self._ray.remote(run_on_node).options(
            num_cpus=1,
            max_retries=RETRIES,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": {**ONE_THREAD, "PYTHONPATH": module_path()}},
        )

    def run(self, tasks: Sequence[Task], blobs: Path, *, tick: Tick = no_tick) -> Iterator[Result]:
        """See :class:`league.play.backends.Backend`."""
        names = set().union(*(task.blobs for task in tasks))
        self._contents = {
            name: self._contents.get(name) or self._ray.put(read_content(blobs, name)) for name in sorted(names)
        }
        return super().run(tasks, blobs, tick=tick)

    def perform(self, task: Task, blobs: Path) -> Result:
        """The result of a task; a lost one is run in a process of this machine."""
        self.refuse_dropped()
        pending = self._remote.remote(task, *(self._contents[name] for name in sorted(task.blobs)))
        self._pending.add(pending)
        try:
            node, outcome = self._ray.get(pending)
        except self._ray.exceptions.RayTaskError as error:  # of Ray or of our own code on the node
            raise BackendError(f"{task} cannot be run on the cluster: {error_line(error)}") from error
        except self._ray.exceptions.RayError:
            return self._perform_here(task, blobs)
        finally:
            self._pending.discard(pending)
        self._compare(node)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome  # type: ignore[no-any-return]  # of Ray, which is not typed

    def drop(self) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):  # the cluster may be gone
            for pending in list(self._pending):
                self._ray.cancel(pending, force=True)
        for backend in self._here:
            backend.close()

    def close(self) -> None:
        """End the tasks, and the cluster if it was started here."""
        super().close()
        if self._started_here:
            self._started_here = False
            self._ray.shutdown()

    def _perform_here(self, task: Task, blobs: Path) -> Result:
        with ProcessBackend(1) as backend:
            self._here.append(backend)
            self.refuse_dropped()
            return backend.perform(task, blobs)

    def _compare(self, node: str) -> None:
        """Warn, once for each kind of node, that its results may differ in the last digits."""
        if node not in self._machines:
            self._machines.add(node)
            self._warn(f"a node differs from this machine, its last digits may too: {node} there, {machine()} here")


def run_on_node(task: Task, *contents: bytes) -> tuple[str, Result | Exception]:
    """The node's :func:`league.play.values.machine`, and the result of a task or its error.

    ``contents``: those of the blobs that the task reads.
    """
    folder = _node_folder()
    try:
        for content in contents:
            write_blob(folder, content)
        return machine(), run_portably(task, folder)
    finally:
        for path in folder.iterdir():
            path.unlink()


@lru_cache(maxsize=1)
def _node_folder() -> Path:
    """An empty folder of this process; always the same, so that members that have read their weights stay seated."""
    return Path(tempfile.mkdtemp(prefix="dond-marl-node-"))


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
    return os.pathsep.join(path for path in sys.path if not any(path.startswith(folder) for folder in standard))
