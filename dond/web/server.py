"""The server of the pages: an ASGI application on one port until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from typing import TYPE_CHECKING

from dond_marl.errors import InputError, RunFailure

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"
PORT = 8080  # unless another is named


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


def serve(app: Starlette, host: str, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM, which is raised again. Raises :class:`RunFailure` if it cannot be served."""
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
    server.run()
    if not server.started:
        raise RunFailure(f"{address_of(host, port)} cannot be served; is the address this machine's?")


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Drop the messages on requests that a stop cancels."""
    cancelled = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and "graceful shutdown" not in record.getMessage()
