"""Joining a Ray cluster, or starting one of this machine alone. Ray is loaded here and nowhere else."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import sysconfig
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dond_marl.errors import shown
from dond_marl.rollout import one_line
from league.backends.contract import BackendError

REACH = 5.0  # seconds for a cluster to answer at all
STORE = 256 << 20  # bytes of Ray's object store, if Ray is started here: it holds weights only
ROOT = Path(__file__).resolve().parents[2]
GUARDED = (
    "; a cluster guarded by a token lets in who holds it: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its machines"
)
PACKAGES = ("dond_marl", "hints", "league", "partners")  # sent to the nodes of a cluster: they play with our very code


def load_ray() -> ModuleType:
    """Ray. Raises :class:`BackendError` where it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # reports to nobody that it runs
    try:
        return import_module("ray")  # an extra, which may be absent from where types are checked, too
    except ModuleNotFoundError as error:
        raise BackendError(
            "the backend ray needs Ray: pip install 'dond-marl[ray]', or choose the backend process"
        ) from error


def join(ray: ModuleType, workers: int | None, address: str | None) -> None:
    """Join the cluster at ``address``, or start one of this machine alone. Raises :class:`BackendError`."""
    if address is not None:
        check_reachable(address)
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
    logging.getLogger("ray").setLevel(logging.ERROR)  # it warns at length that its ports are guarded by a token
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            # "local": never a cluster that happens to run here; on the loopback address: nobody else is to reach it
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
        problem = f"Ray cannot be used at {address or 'this machine'}: {one_line(error)}"
        raise BackendError(
            problem if address is None or os.environ.get("RAY_AUTH_MODE") else problem + GUARDED
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray puts its own in its place, which would end us at once


def check_reachable(address: str) -> None:
    """Raises :class:`BackendError` unless somebody listens at ``HOST:PORT``; Ray itself takes minutes to say so."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BackendError(
            f"the address of a Ray cluster is HOST:PORT, such as 10.0.0.1:6379, or auto; got {shown(address)}"
        )
    try:
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except OSError as error:
        raise BackendError(
            f"nobody answers at {address} ({error.strerror or error}); start a cluster there with `ray start --head`, "
            f"and join it from this machine with `ray start --address={address}`"
        ) from error


def own_path() -> str:
    """Where this process finds modules outside the interpreter's own folders, as a search path."""
    own = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return os.pathsep.join(path for path in sys.path if not any(path.startswith(place) for place in own))
