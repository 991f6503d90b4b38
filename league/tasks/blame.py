"""Who is being asked at this moment, written where the death of a process cannot take it: a page of shared memory.

A worker writes before each question whom it asks and how long everybody has taken so far. Whoever supervises the worker
reads the page when it has died or takes too long, and so knows whose code it was. In a process that is no worker,
everything here does nothing.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import struct
import time
from collections.abc import Iterator
from typing import NamedTuple

from dond_marl.seats import Decisions, Partner, Traits, Turns

PAGE = 4096  # bytes: three names of 80 characters and 300 of last words fit, however they are written
LENGTH = struct.Struct("<I")
clock = time.monotonic  # one for all processes of a machine


class Asked(NamedTuple):
    """What a page says at a time: who is being asked, who has taken longest in this task, and how long, in seconds."""

    member: str | None = None
    slowest: str | None = None
    longest: float = 0.0  # seconds of the slowest
    everybody: float = 0.0  # seconds of all members together
    words: str | None = None  # the last of a process that gave up


class Page:
    """The page as its worker sees it."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, PAGE)
        self.begin()

    def begin(self) -> None:
        """A task begins: nobody has taken any time."""
        self.raised_by: str | None = None  # the last member whose code raised
        self._taken: dict[str, float] = {}
        self._slowest: str | None = None
        self._everybody = 0.0
        self._write(None, 0.0, None)

    def ask(self, member: str) -> float:
        """A member is asked now; returns when."""
        now = clock()
        self._write(member, now, None)
        return now

    def answered(self, member: str, since: float) -> None:
        """It has answered, or raised."""
        took = clock() - since
        self._everybody += took
        self._taken[member] = self._taken.get(member, 0.0) + took
        if self._slowest is None or self._taken[member] > self._taken[self._slowest]:
            self._slowest = member
        self._write(None, 0.0, None)

    def give_up(self, words: str) -> None:
        """The process is about to end, in these words, for what the last member that raised has raised."""
        self._write(self.raised_by, clock(), words)

    def _write(self, member: str | None, since: float, words: str | None) -> None:
        before, longest = self._taken.get(member or "", 0.0), self._taken.get(self._slowest or "", 0.0)
        text = json.dumps([member, since, before, self._slowest, longest, self._everybody, words]).encode()
        assert len(text) <= PAGE - LENGTH.size, f"{len(text)} bytes do not fit"
        self._memory[: LENGTH.size] = LENGTH.pack(0)  # a page that is being written says nothing
        self._memory[LENGTH.size : LENGTH.size + len(text)] = text
        self._memory[: LENGTH.size] = LENGTH.pack(len(text))


def read(memory: mmap.mmap) -> Asked:
    """What a worker's page says now."""
    (length,) = LENGTH.unpack(memory[: LENGTH.size])
    try:
        member, since, before, slowest, longest, everybody, words = json.loads(memory[LENGTH.size :][:length])
    except ValueError:  # killed while it was writing
        return Asked()
    if member is not None:
        current = clock() - since
        everybody += current
        if before + current >= longest:
            slowest, longest = member, before + current
    return Asked(member, slowest, longest, everybody, words)


_page: Page | None = None  # this process's own: set where it is a worker


def publish(descriptor: int) -> Page:
    """From now on this process is a worker whose page is the file of ``descriptor``."""
    global _page  # what this process is, is a fact about the process
    _page = Page(descriptor)
    return _page


@contextlib.contextmanager
def asking(member: str) -> Iterator[None]:
    """Run code of a member's: making it, or asking it."""
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
    """The partner under the name of a member: in a worker it is known when it is asked."""
    return partner if _page is None else Watched(member, partner)


class Watched:
    """A partner whose questions are on the page."""

    def __init__(self, member: str, partner: Partner) -> None:
        self._member, self._partner = member, partner

    @property
    def traits(self) -> Traits:
        """Its own."""
        return self._partner.traits

    def act(self, turns: Turns) -> Decisions:
        """Its own decisions."""
        with asking(self._member):
            return self._partner.act(turns)

    def __getattr__(self, name: str) -> object:
        """Whatever else it offers."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._partner, name)
