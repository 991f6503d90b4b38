"""Ctrl-C and SIGTERM: they stop a command within two seconds, whatever it does, with a message on what is saved.

The first signal raises :class:`Stop` in the main thread, at once or, inside :meth:`Stops.patient`, at the work's next
safe point; further signals have no effect. An exception can be lost or late: Python drops one raised in a finalizer,
and raises none while a library computes. So a thread raises it again, and at the deadline ends the process itself. Only
the standard library is imported here, so that a command can be stopped while it is still being loaded.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

DEADLINE = 1.4  # seconds from the signal to the end of the process, at the latest
POLL = 0.02  # seconds between two checks of the thread
SIGNALS = (signal.SIGINT, signal.SIGTERM)
NOT_BEGUN = "stopped before anything was begun"


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM was received."""


class Stops:
    """The stops of this process. ``message``: the sentence (or a function of it) to print on a stop."""

    def __init__(self) -> None:
        self.number = 0  # the first signal received
        self.within = DEADLINE
        self.message: Callable[[], str] | str = ""
        self._own_process = False  # a process that may be ended from here
        self._starting = False  # nothing has begun: the process may end at any moment
        self._patience = 0.0  # seconds that the work may take to its next safe point
        self._due = self._message_taken = False

    @property
    def is_requested(self) -> bool:
        return self.number != 0

    @property
    def code(self) -> int:
        """The exit code of a process ended by the signal: 130 or 143."""
        return 128 + (self.number or signal.SIGINT)

    def handle_from_the_start(self) -> None:
        """Handle stops until this process ends; it belongs to one command, which has not begun yet."""
        self._own_process = self._starting = True
        self._listen().detach()  # open until the end

    @contextlib.contextmanager
    def handle(self) -> Iterator[None]:
        """Handle stops while a command runs."""
        self._starting = False
        if self._own_process or threading.current_thread() is not threading.main_thread():
            yield
            if (
                self._own_process and self.is_requested
            ):  # Python removes handlers at its end, where one more signal would kill it
                for number in SIGNALS:
                    signal.signal(number, signal.SIG_IGN)
            return
        self.number, self._due, self._message_taken = 0, False, False
        before = [(number, signal.getsignal(number)) for number in SIGNALS]
        hook, reader = sys.unraisablehook, signal.set_wakeup_fd(-1)
        writer = self._listen()
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
            sys.unraisablehook = hook
            signal.set_wakeup_fd(reader)
            writer.close()  # which ends the thread

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Around the import of a command, which could hide an exception: a stop ends the process at once."""
        self._starting = self._own_process
        try:
            yield
        finally:
            self._starting = False

    @contextlib.contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Around work that checks :attr:`is_requested` at safe points: otherwise a stop is raised after ``seconds``."""
        self._patience = seconds
        try:
            yield
        finally:
            self._patience = 0.0
        if self.is_requested:  # it came after the last safe point
            raise Stop

    def take_message(self) -> str:
        """The message, once; empty after that."""
        if self._message_taken:
            return ""
        self._message_taken = True
        return self.message if isinstance(self.message, str) else self.message()

    def _listen(self) -> socket.socket:
        """Install the handlers and the thread; returns the socket that signals are written to."""
        reader, writer = socket.socketpair()
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reader,), name="stops", daemon=True).start()
        for number in SIGNALS:  # SIGINT too: a shell's background jobs are started with it ignored
            signal.signal(number, self._receive)
        sys.unraisablehook = self._recover_lost
        return writer

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self._starting:
            self._leave(NOT_BEGUN, number)
        first, self.number = not self.number, self.number or number
        if self._due or (first and not self._patience):
            self._due = False
            raise Stop

    def _recover_lost(self, lost: UnraisableHookArgs) -> None:
        """Hook for exceptions that Python could not raise: note a lost stop."""
        if isinstance(lost.exc_value, Stop):
            self._due = True
        else:
            sys.__unraisablehook__(lost)

    def _watch(self, reader: socket.socket) -> None:
        """Raise a stop again if the main thread has lost it, and end the process at the deadline."""
        with reader:
            number = 0
            while number not in SIGNALS:
                if not (received := reader.recv(1)):
                    return
                number = received[0]
            began, patience = time.monotonic(), self._patience
            reader.settimeout(POLL)
            while True:
                with contextlib.suppress(TimeoutError):
                    if not reader.recv(64):
                        return
                passed = time.monotonic() - began
                if self._own_process and (self._starting or passed > self.within):
                    self._leave(NOT_BEGUN if self._starting else self.take_message(), number)
                if patience and passed > patience:
                    patience, self._due = 0.0, True
                if self._due:
                    if hasattr(signal, "pthread_kill"):  # it also interrupts system calls
                        signal.pthread_kill(threading.main_thread().ident or 0, number)
                    else:  # Windows
                        _thread.interrupt_main(signal.Signals(number))
                    time.sleep(POLL)

    def _leave(self, message: str, number: int) -> None:
        """End this process and its child processes at once."""
        if message:
            shown = "\x1b[?25h" if os.isatty(2) else ""  # a live view hides the cursor
            with contextlib.suppress(OSError):
                os.write(2, f"{shown}\n{message}\n".encode(errors="replace"))
        processes: Any = sys.modules.get("multiprocessing")
        for child in processes.active_children() if processes else ():
            child.kill()
        os._exit(128 + number)


STOPS = Stops()
