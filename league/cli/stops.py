"""Stopping: Ctrl-C and SIGTERM are heeded within two seconds, whatever is being done, and a word says what is left.

The first signal raises :class:`Stop` in the main thread, at once or, where the work asks for patience, at its next good
moment; further signals add nothing. An exception can be lost or come late: Python drops one that is raised in a
finalizer, and raises none while a library computes. So a thread raises it again, and at last ends the process itself.
Only the standard library is imported here, so that a command can be stopped while it is still being loaded.
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

WITHIN = 1.4  # seconds from the signal to the end of the process, at the latest
LOOK = 0.02  # seconds between two looks of the thread
SIGNALS = (signal.SIGINT, signal.SIGTERM)
BEFORE = "stopped before anything was begun"


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM was heard."""


class Stops:
    """The stops of this process. ``word`` is the sentence for whoever stops the command now."""

    def __init__(self) -> None:
        self.number = 0  # the signal that was heard
        self.within = WITHIN
        self.word: Callable[[], str] | str = ""
        self._own_process = False  # which may be ended from here
        self._starting = False  # nothing is begun: the process may end at any moment
        self._patience = 0.0  # seconds that the work may take to its next good moment
        self._due = self._said = False

    @property
    def asked(self) -> bool:
        return self.number != 0

    @property
    def code(self) -> int:
        """The exit code that a shell gives to a process that the signal has ended: 130 or 143."""
        return 128 + (self.number or signal.SIGINT)

    def heed_from_the_start(self) -> None:
        """Heed stops until this process ends, which is a command's own and has begun nothing yet."""
        self._own_process = self._starting = True
        self._listen().detach()  # open until the end

    @contextlib.contextmanager
    def heeded(self) -> Iterator[None]:
        """Heed stops while a command runs."""
        self._starting = False
        if self._own_process or threading.current_thread() is not threading.main_thread():
            yield
            if self._own_process and self.asked:  # Python lets go of handlers at its end, where one more would kill it
                for number in SIGNALS:
                    signal.signal(number, signal.SIG_IGN)
            return
        self.number, self._due, self._said = 0, False, False
        before = [(number, signal.getsignal(number)) for number in SIGNALS]
        hook, ear = sys.unraisablehook, signal.set_wakeup_fd(-1)
        mouth = self._listen()
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)
            sys.unraisablehook = hook
            signal.set_wakeup_fd(ear)
            mouth.close()  # which ends the thread

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Around the import of a command, in which an exception could come out as another: a stop ends it at once."""
        self._starting = self._own_process
        try:
            yield
        finally:
            self._starting = False

    @contextlib.contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Around work that looks at :attr:`asked` at its good moments: a stop is raised after ``seconds``."""
        self._patience = seconds
        try:
            yield
        finally:
            self._patience = 0.0
        if self.asked:  # it came after the last good moment
            raise Stop

    def say(self) -> str:
        """The word, which is said only once; empty after that."""
        if self._said:
            return ""
        self._said = True
        return self.word if isinstance(self.word, str) else self.word()

    def _listen(self) -> socket.socket:
        """Have signals heard here; where they are written, for the thread to read."""
        ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(ear,), name="stops", daemon=True).start()
        for number in SIGNALS:  # SIGINT too: a shell's background jobs are started with it ignored
            signal.signal(number, self._hear)
        sys.unraisablehook = self._take_lost
        return mouth

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if self._starting:
            self._leave(BEFORE, number)
        first, self.number = not self.number, self.number or number
        if self._due or (first and not self._patience):
            self._due = False
            raise Stop

    def _take_lost(self, lost: UnraisableHookArgs) -> None:
        """Python could not raise an exception further, and tells of it here."""
        if isinstance(lost.exc_value, Stop):
            self._due = True
        else:
            sys.__unraisablehook__(lost)

    def _watch(self, ear: socket.socket) -> None:
        """See a stop through that the main thread does not get to, or loses."""
        with ear:
            number = 0
            while number not in SIGNALS:
                if not (heard := ear.recv(1)):
                    return
                number = heard[0]
            began, patience = time.monotonic(), self._patience
            ear.settimeout(LOOK)
            while True:
                with contextlib.suppress(TimeoutError):
                    if not ear.recv(64):
                        return
                passed = time.monotonic() - began
                if self._own_process and (self._starting or passed > self.within):
                    self._leave(BEFORE if self._starting else self.say(), number)
                if patience and passed > patience:
                    patience, self._due = 0.0, True
                if self._due:
                    if hasattr(signal, "pthread_kill"):  # which also wakes whoever waits for the system
                        signal.pthread_kill(threading.main_thread().ident or 0, number)
                    else:  # Windows
                        _thread.interrupt_main(signal.Signals(number))
                    time.sleep(LOOK)

    def _leave(self, word: str, number: int) -> None:
        """End this process and those that it has started, at once."""
        if word:
            shown = "\x1b[?25h" if os.isatty(2) else ""  # a live view hides the cursor
            with contextlib.suppress(OSError):
                os.write(2, f"{shown}\n{word}\n".encode())
        processes: Any = sys.modules.get("multiprocessing")
        for child in processes.active_children() if processes else ():
            child.kill()
        os._exit(128 + number)


STOPS = Stops()
