"""A worker process that answers lines of JSON with lines of JSON: foreign code runs in it, never in this process."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from dond_marl.errors import InputError, RunFailure, quote

TAIL = 2000  # the last characters of the worker's standard error


class WorkerDied(RunFailure):
    """The worker process ended, or did not answer in time."""


class LineWorker:
    """One worker process, started on the first request, and again after it died.

    It ends with this object, or with the interpreter. A lock makes it safe for several threads.

    Parameters
    ----------
    command:
        The words of the command.
    advice:
        What to do where it cannot be started, for the message.
    """

    def __init__(self, command: Sequence[str], advice: str) -> None:
        self._command, self._advice = list(command), advice
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._rest = b""
        self._lock = threading.Lock()
        self.starts = 0  # processes so far

    @contextmanager
    def requests(self) -> Iterator[None]:
        """The context of one caller at a time; an interrupted request ends the process, with its pending answers."""
        with self._lock:
            try:
                yield
            except BaseException:
                self.close()
                raise

    def send(self, request: dict[str, Any]) -> None:
        """Write a request. Raises :class:`WorkerDied`, or :class:`InputError` where the command cannot be started."""
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it was stopped between two requests
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise WorkerDied(self._last_words(f"it ended: {error}")) from error

    def answer(self, seconds: float) -> Any:
        """The next line of the worker. Raises :class:`WorkerDied` if none comes in ``seconds``."""
        assert self._process is not None and self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            with selectors.DefaultSelector() as selector:
                selector.register(pipe, selectors.EVENT_READ)
                if not selector.select(seconds):
                    raise WorkerDied(self._last_words(f"nothing came in {seconds:.0f} seconds"))
            more = os.read(pipe, 2**16)
            if not more:
                code = self._process.wait()
                raise WorkerDied(self._last_words(f"it ended with exit code {code}"))
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None and self._log is not None:
            _end(self._process, self._log)
        self._process, self._log, self._rest = None, None, b""

    def _start(self) -> subprocess.Popen[bytes]:
        log = self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the program that the user named, our own file
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment
            )
        except OSError as error:
            log.close()
            raise InputError(f"{quote(self._command[0])} cannot be started: {error}; {self._advice}") from error
        weakref.finalize(self, _end, self._process, log)
        self.starts += 1
        return self._process

    def _last_words(self, reason: str) -> str:
        """End the process; returns ``reason`` with the last line of its standard error."""
        last = ""
        if self._log is not None:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - TAIL))
            lines = self._log.read().decode(errors="replace").strip().splitlines()
            last = f" ({lines[-1].strip()})" if lines else ""
        self.close()
        return reason + last


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout, log):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # unwritten data is not needed
                continue
    process.wait()
