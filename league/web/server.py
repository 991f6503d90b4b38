"""The pages, served to this machine's own browser until they are stopped."""

from __future__ import annotations

import ipaddress
import logging
import socket

HOST = "127.0.0.1"
PORT = 8080  # unless another is named
PARTING = 1  # seconds that open windows have to close
CONNECTIONS = 500  # open at once, those that wait included
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='#0b6e69'/>"
    "<path d='M16 5v22' stroke='#fff' stroke-width='2' stroke-dasharray='3 3'/><circle cx='9' cy='16' r='4' "
    "fill='#fff'/><circle cx='23' cy='16' r='4' fill='#f2a07a'/></svg>"
)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def free_port(port: int | None, host: str = HOST) -> int:
    """``port`` if nobody listens on it, any free one for 0; ``None``: ``PORT``, or any where that is taken.

    Raises ``OSError`` where the address or the port cannot be had.
    """
    if port is None:
        try:
            return free_port(PORT, host)
        except OSError:
            return free_port(0, host)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
        return int(probe.getsockname()[1])


def serve(host: str, port: int) -> None:
    """Serve the pages that :func:`league.web.pages.build` has made, until Ctrl-C or SIGTERM, which is raised again."""
    from nicegui import ui  # an optional extra, and slow to import

    from league.web.door import LONGEST_MESSAGE

    logging.getLogger("uvicorn.error").addFilter(lambda record: "graceful shutdown" not in str(record.msg))
    ui.run(
        host=host,
        port=port,
        title="Deal or no deal",
        favicon=ICON,
        dark=None,
        language="en-US",
        tailwind=False,
        reload=False,
        show=False,
        show_welcome_message=False,
        reconnect_timeout=10,
        ws_max_size=LONGEST_MESSAGE,
        ws_per_message_deflate=False,  # a small message could unpack to a large one
        timeout_graceful_shutdown=PARTING,
        limit_concurrency=CONNECTIONS,
    )
