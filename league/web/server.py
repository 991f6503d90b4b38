"""The pages, served to this machine's own browser until they are stopped."""

from __future__ import annotations

import contextlib
import socket

HOST = "127.0.0.1"
PORT = 8080  # unless another is named
ICON = (
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='#0b6e69'/>"
    "<path d='M16 5v22' stroke='#fff' stroke-width='2' stroke-dasharray='3 3'/><circle cx='9' cy='16' r='4' "
    "fill='#fff'/><circle cx='23' cy='16' r='4' fill='#f2a07a'/></svg>"
)


def free_port(port: int | None) -> int:
    """``port`` if nobody listens on it, any free one for 0; ``None``: ``PORT``, or any where that is taken.

    Raises ``OSError`` where the port cannot be had.
    """
    if port is None:
        try:
            return free_port(PORT)
        except OSError:
            return free_port(0)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])


def serve(port: int) -> None:
    """Serve the pages that :func:`league.web.pages.build` has made, until Ctrl-C."""
    from nicegui import ui  # an optional extra, and slow to import

    with contextlib.suppress(KeyboardInterrupt):  # the way to stop it
        ui.run(
            host=HOST,
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
        )
