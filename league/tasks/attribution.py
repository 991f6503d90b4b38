"""Members' code in a process: which member's code is running now, and what it may not change for the others.

*Attribution.* Before a worker calls a member's code it writes, on a page of shared memory that outlives the process,
which member it calls and how long each has taken so far. Its supervisor reads the page when the worker has died or
takes too long, and so knows whose code was running. In a process that is no worker this does nothing.

*Containment.* After every call into code of another package, the working directory, the environment's variables, the
global random generators and NumPy's error handling are restored, and a process that the code has forked ends. What
cannot be undone (threads, timers, closed files) is noted: a worker in which that has happened runs no further task.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple, NoReturn

import numpy as np

from dond_marl.seats import Decisions, Partner, Traits, Turns, expensive_to_query

PAGE = 4096  # bytes: room for three names of 80 characters and 300 of last words, of four bytes each
LENGTH = struct.Struct("<I")
GAVE_UP = 70  # exit code of a worker whose last words are on the page
IN_GAMES_ONLY = "it is queried in its games alone (exact=True or --exact also queries the thousands of its answers)"
clock = time.monotonic  # one for all processes of a machine


class PageReading(NamedTuple):
    """The content of a worker's page: the member whose code runs, the slowest one of the task, and times in seconds."""

    member: str | None = None  # whose code is running
    slowest: str | None = None  # the member that has taken longest in this task
    longest: float = 0.0  # seconds of the slowest
    total: float = 0.0  # seconds of all members together
    words: str | None = None  # the reason with which the process gave up


class Page:
    """The page of a worker, which alone writes it.

    Layout: the length of the text (four bytes, little-endian; 0 while it is being written), then a JSON list.
    """

    def __init__(self, descriptor: int, link: int | None = None) -> None:
        self._memory = mmap.mmap(descriptor, PAGE)
        self._link = None if link is None else (link, _file_of(link))  # to the parent
        self.begin()

    @property
    def is_linked(self) -> bool:
        """Whether the link to the parent is still the same open file."""
        return self._link is None or _file_of(self._link[0]) == self._link[1]

    def begin(self) -> None:
        """Start a task: no member has taken any time yet."""
        self.raised_by: str | None = None  # the last member whose code raised
        self._seconds: dict[str, float] = {}
        self._slowest: str | None = None
        self._total = 0.0
        self._write(None, 0.0, None)

    def enter(self, member: str) -> float:
        """Note that code of ``member`` is called now; the time, on ``clock``."""
        now = clock()
        self._write(member, now, None)
        return now

    def leave(self, member: str, since: float) -> None:
        """Note that the call of ``member`` that began at ``since`` has returned or raised."""
        duration = clock() - since
        self._total += duration
        self._seconds[member] = self._seconds.get(member, 0.0) + duration
        if self._slowest is None or self._seconds[member] > self._seconds[self._slowest]:
            self._slowest = member
        self._write(None, 0.0, None)

    def give_up(self, words: str) -> NoReturn:
        """End the process because of what the last member that raised has raised; ``words``: what it was."""
        self._write(self.raised_by, clock(), words)
        os._exit(GAVE_UP)

    def _write(self, member: str | None, since: float, words: str | None) -> None:
        before, longest = self._seconds.get(member or "", 0.0), self._seconds.get(self._slowest or "", 0.0)
        content = [member, since, before, self._slowest, longest, self._total, words]
        text = json.dumps(content, ensure_ascii=False).encode()  # escaped, a letter may take twelve bytes, not four
        assert len(text) <= PAGE - LENGTH.size, f"{len(text)} bytes do not fit"
        self._memory[: LENGTH.size] = LENGTH.pack(0)  # empty while it is being written
        self._memory[LENGTH.size : LENGTH.size + len(text)] = text
        self._memory[: LENGTH.size] = LENGTH.pack(len(text))


def read_page(memory: mmap.mmap) -> PageReading:
    """The current content of a worker's page; an empty reading if the worker was killed while it was writing."""
    (length,) = LENGTH.unpack(memory[: LENGTH.size])
    try:
        member, since, before, slowest, longest, total, words = json.loads(memory[LENGTH.size :][:length])
    except ValueError:
        return PageReading()
    if member is not None:
        current = clock() - since
        total += current
        if before + current >= longest:
            slowest, longest = member, before + current
    return PageReading(member, slowest, longest, total, words)


_page: Page | None = None  # of this process, if it is a worker


def publish(descriptor: int, link: int | None = None) -> Page:
    """Make this process a worker whose page is the open file ``descriptor``, and whose parent listens at ``link``."""
    global _page  # whether this process is a worker is a fact about the process
    _page = Page(descriptor, link)
    return _page


def check_link(member: str) -> None:
    """End this process if it is a worker whose link ``member`` has closed: its results could not be sent."""
    if _page is not None and not _page.is_linked:
        _page.raised_by = member
        _page.give_up("it closed files that were not its own")


def _file_of(descriptor: int) -> tuple[int, int] | None:
    """Device and inode of an open descriptor, ``None`` for a closed one."""
    try:
        about = os.fstat(descriptor)
    except OSError:
        return None
    return about.st_dev, about.st_ino


@contextlib.contextmanager
def attribute_to(member: str) -> Iterator[None]:
    """A context in which code of ``member`` runs: making it, or querying it."""
    page = _page
    if page is None:
        yield
        return
    since = page.enter(member)
    try:
        yield
    except BaseException:
        page.raised_by = member
        raise
    finally:
        page.leave(member, since)


def monitor(member: str, partner: Partner) -> Partner:
    """The partner, its calls attributed to ``member`` if this process is a worker."""
    return partner if _page is None else Within(partial(attribute_to, member), partner)


def unwrap(partner: Partner) -> Partner:
    """The partner inside of :func:`monitor`; for one whose code is this project's own."""
    while isinstance(partner, Within):
        partner = partner._partner
    return partner


def is_free(partner: Partner) -> bool:
    """Whether a partner may be queried beyond its games: it and those inside it are neither expensive nor foreign."""
    partner = unwrap(partner)
    if not type(partner).__module__.startswith("partners.") or expensive_to_query(partner.traits):
        return False
    lists = [value if isinstance(value, list | tuple) else (value,) for value in vars(partner).values()]
    return all(is_free(each) for values in lists for each in values if isinstance(each, Partner))


class Within:
    """A partner whose every call runs in a fresh ``context()``."""

    def __init__(self, context: Callable[[], AbstractContextManager[None]], partner: Partner) -> None:
        self._context, self._partner = context, partner

    @property
    def traits(self) -> Traits:
        return self._partner.traits

    def act(self, turns: Turns) -> Decisions:
        with self._context():
            return self._partner.act(turns)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._partner, name)


class Remains:
    """Whether code of other packages has changed this process for good."""

    def __init__(self) -> None:
        self.found = False

    def check(self, threads: int) -> None:
        """Note threads beyond ``threads``, a timer that is set, and standard output or errors that are closed."""
        timer = hasattr(signal, "getitimer") and any(signal.getitimer(signal.ITIMER_REAL))
        self.found = self.found or threading.active_count() > threads or timer or not _open_output()


REMAINS = Remains()


@contextlib.contextmanager
def contain(member: str) -> Iterator[None]:
    """A context in which code of ``member`` runs; the state of the process is restored after it."""
    process, threads = os.getpid(), threading.active_count()
    folder = os.getcwd()  # noqa: PTH109  # a text, restored as it was
    environment, output = dict(os.environ), (sys.stdout, sys.stderr)
    draws, numpy_draws = random.getstate(), np.random.get_state()  # noqa: NPY002  # shared with other code
    try:
        with np.errstate():
            yield
    finally:
        if os.getpid() != process:  # a fork of this process, which must not go on playing
            os._exit(0)
        with contextlib.suppress(OSError):  # the member may have removed the folder
            os.chdir(folder)
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        random.setstate(draws)
        np.random.set_state(numpy_draws)  # noqa: NPY002
        sys.stdout, sys.stderr = output
        REMAINS.check(threads)
        check_link(member)


def _open_output() -> bool:
    try:
        for number in (1, 2):
            os.fstat(number)
    except OSError:
        return False
    return not any(getattr(stream, "closed", False) for stream in (sys.stdout, sys.stderr))
