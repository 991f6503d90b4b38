"""Ctrl-C and SIGTERM: the first stops a command, with a message on what is saved; a second ends the process at once.

The first raises :class:`Stop` in the main thread: a run is safe at every moment, as rounds are committed whole and
files replaced whole. An exception can be lost, in a finalizer or in code that catches everything; then work that checks
:attr:`Stops.is_requested` stops at its next step. Before a command has begun, the first ends the process, too. Only the
standard library is imported here, so that a command can be stopped while it is still being loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOT_BEGUN = "stopped before anything was begun"
SHOW_CURSOR = "\x1b[?25h"  # a live view hides it


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM was received."""


class Stops:
    """The stops of this process. ``message``: the sentence (or a function of it) to print on a stop."""

    def __init__(self) -> None:
        self.number = 0  # the first signal received
        self.message: Callable[[], str] | str = NOT_BEGUN
        self._running = False  # a command has begun, which may be stopped by an exception

    @property
    def is_requested(self) -> bool:
        return self.number != 0

    @property
    def code(self) -> int:
        """The exit code of a process ended by the signal: 130 or 143."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def text(self) -> str:
        return self.message if isinstance(self.message, str) else self.message()

    def begin(self, message: str) -> None:
        """The command begins; what came before was its import and the reading of its options."""
        self.message, self._running = message, True

    def listen(self) -> None:
        """Handle the signals from now on. SIGINT too: a shell's background jobs are started with it ignored."""
        for number in SIGNALS:
            signal.signal(number, self._receive)

    @contextlib.contextmanager
    def handle(self) -> Iterator[None]:
        """Handle the signals while a command runs in the main thread; then as before."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self.number, self.message, self._running = 0, NOT_BEGUN, False
        before = [(number, signal.getsignal(number)) for number in SIGNALS]
        self.listen()
        try:
            yield
        finally:
            self.message, self._running = "", False
            for number, handler in before:
                signal.signal(number, handler)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self.number or not self._running:
            text = self.text
            if text:
                with contextlib.suppress(OSError):
                    os.write(2, f"{SHOW_CURSOR if os.isatty(2) else ''}\n{text}\n".encode(errors="replace"))
            os._exit(128 + number)
        self.number = number
        raise Stop


STOPS = Stops()
