"""The server of the pages: an ASGI application on one port until Ctrl-C or SIGTERM, and the slow work of requests."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from dond_marl.errors import InputError, RunFailure

if TYPE_CHECKING:
    from starlette.applications import Starlette  # of an optional library
    from starlette.requests import Request

HOST = "127.0.0.1"
PORT = 8080  # unless another is named
POLL, LONGEST_WAIT = 0.05, 20.0  # seconds between two looks for a change, and until a browser asks again
T = TypeVar("T")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def free_port(port: int | None, host: str = HOST) -> int:
    """A port that can be served: ``port``, any free one for 0; for ``None`` ``PORT``, or any if that is in use.

    Raises :class:`InputError` if the address or the port cannot be used.
    """
    if port is None:
        try:
            return free_port(PORT, host)
        except InputError:
            return free_port(0, host)
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        where = f"--port {port}" if host == HOST else f"--host {host} with --port {port}"
        raise InputError(f"{where} cannot be used ({error.strerror}); name another, or port 0 for any") from None


def address_of(host: str, port: int) -> str:
    """The URL of a served address."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(app: Starlette, host: str, port: int, listener: socket.socket | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM, which is raised again. Raises :class:`RunFailure` if it cannot be served.

    ``listener``: a socket that listens there already, so that clients may connect before the server has started.
    """
    import uvicorn

    logging.getLogger("uvicorn.error").addFilter(_is_no_cancellation)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            loop="asyncio",  # others raise where a client has gone away
            ws="none",
            log_level="error",
            access_log=False,  # addresses of visitors are not recorded
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
    server.run(None if listener is None else [listener])
    if not server.started:
        raise RunFailure(f"{address_of(host, port)} cannot be served; is the address this machine's?")


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Drop the messages on requests that a stop cancels."""
    cancelled = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and "graceful shutdown" not in record.getMessage()


async def in_background(work: Callable[..., T], *args: Any) -> T:
    """Run ``work(*args)`` in a thread; its result, or its exception. The thread ends with the process at the latest."""
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # a request that is given up does not stop the work

    def run() -> None:
        try:
            result.set_result(work(*args))
        except BaseException as error:  # noqa: BLE001  # raised again in the awaiting task
            result.set_exception(error)

    threading.Thread(target=run, name="background", daemon=True).start()
    return await asyncio.wrap_future(result)


async def wait_for_change(current: Callable[[], int], request: Request) -> bool:
    """Wait until ``current()`` differs from the request's ``version``, at most ``LONGEST_WAIT`` seconds; whether so."""
    version = request.query_params.get("version", "")
    for _ in range(round(LONGEST_WAIT / POLL)):
        if str(current()) != version or await request.is_disconnected():
            break
        await asyncio.sleep(POLL)
    return str(current()) != version
