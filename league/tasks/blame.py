"""Whose code is running at this moment, on a page of shared memory that outlives the process.

Before it asks a member, a worker writes there whom it asks and how long each has taken so far. Its supervisor reads the
page when the worker has died or takes too long, and so knows whose code was running. In a process that is no worker,
everything here does nothing.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

from dond_marl.seats import Decisions, Partner, Traits, Turns

PAGE = 4096  # bytes: room for three names of 80 characters and 300 of last words, of four bytes each
LENGTH = struct.Struct("<I")
GAVE_UP = 70  # exit code of a worker whose last words are on the page
clock = time.monotonic  # one for all processes of a machine


class Reading(NamedTuple):
    """What a page says: who is being asked, who has taken longest in this task, and how long (seconds)."""

    member: str | None = None
    slowest: str | None = None
    longest: float = 0.0  # seconds of the slowest
    everybody: float = 0.0  # seconds of all members together
    words: str | None = None  # in which a process gave up


class Page:
    """The page of a worker, which alone writes it."""

    def __init__(self, descriptor: int, link: int | None = None) -> None:
        self._memory = mmap.mmap(descriptor, PAGE)
        self._link = None if link is None else (link, _file(link))  # to the parent
        self.begin()

    @property
    def linked(self) -> bool:
        """Whether the link to the parent is what it was."""
        return self._link is None or _file(self._link[0]) == self._link[1]

    def begin(self) -> None:
        """A task begins: nobody has taken any time yet."""
        self.raised_by: str | None = None  # the last member whose code raised
        self._taken: dict[str, float] = {}
        self._slowest: str | None = None
        self._everybody = 0.0
        self._write(None, 0.0, None)

    def ask(self, member: str) -> float:
        """A member is asked now; the time, on ``clock``."""
        now = clock()
        self._write(member, now, None)
        return now

    def answered(self, member: str, since: float) -> None:
        """The member that was asked at ``since`` has answered, or raised."""
        took = clock() - since
        self._everybody += took
        self._taken[member] = self._taken.get(member, 0.0) + took
        if self._slowest is None or self._taken[member] > self._taken[self._slowest]:
            self._slowest = member
        self._write(None, 0.0, None)

    def give_up(self, words: str) -> None:
        """The process is about to end because of what the last member that raised has raised; ``words`` say what."""
        self._write(self.raised_by, clock(), words)

    def _write(self, member: str | None, since: float, words: str | None) -> None:
        before, longest = self._taken.get(member or "", 0.0), self._taken.get(self._slowest or "", 0.0)
        told = [member, since, before, self._slowest, longest, self._everybody, words]
        text = json.dumps(told, ensure_ascii=False).encode()  # escaped, a letter may take twelve bytes in place of four
        assert len(text) <= PAGE - LENGTH.size, f"{len(text)} bytes do not fit"
        self._memory[: LENGTH.size] = LENGTH.pack(0)  # a page that is being written says nothing
        self._memory[LENGTH.size : LENGTH.size + len(text)] = text
        self._memory[: LENGTH.size] = LENGTH.pack(len(text))


def read(memory: mmap.mmap) -> Reading:
    """What a worker's page says now."""
    (length,) = LENGTH.unpack(memory[: LENGTH.size])
    try:
        member, since, before, slowest, longest, everybody, words = json.loads(memory[LENGTH.size :][:length])
    except ValueError:  # killed while it was writing
        return Reading()
    if member is not None:
        current = clock() - since
        everybody += current
        if before + current >= longest:
            slowest, longest = member, before + current
    return Reading(member, slowest, longest, everybody, words)


_page: Page | None = None  # of this process, where it is a worker


def publish(descriptor: int, link: int | None = None) -> Page:
    """Make this process a worker whose page is the open file ``descriptor``, and whose parent listens at ``link``."""
    global _page  # what this process is, is a fact about the process
    _page = Page(descriptor, link)
    return _page


def check_link(member: str) -> None:
    """End this process where it is a worker whose link ``member`` has closed: nobody would hear its results."""
    if _page is not None and not _page.linked:
        _page.raised_by = member
        _page.give_up("it closed files that were not its own")
        os._exit(GAVE_UP)


def _file(descriptor: int) -> tuple[int, int] | None:
    """Which file an open descriptor is, ``None`` for a closed one."""
    try:
        about = os.fstat(descriptor)
    except OSError:
        return None
    return about.st_dev, about.st_ino


@contextlib.contextmanager
def asking(member: str) -> Iterator[None]:
    """A context in which code of a member runs: making it, or asking it."""
    page = _page
    if page is None:
        yield
        return
    since = page.ask(member)
    try:
        yield
    except BaseException:
        page.raised_by = member
        raise
    finally:
        page.answered(member, since)


def watched(member: str, partner: Partner) -> Partner:
    """The partner, whose questions are put on the page under the name of the member where this is a worker."""
    return partner if _page is None else Within(partial(asking, member), partner)


def unwatched(partner: Partner) -> Partner:
    """The partner itself that :func:`watched` puts on the page; for one whose code is this project's own."""
    return partner._partner if isinstance(partner, Within) else partner


class Within:
    """A partner that answers in a context, which is entered anew for every question."""

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
