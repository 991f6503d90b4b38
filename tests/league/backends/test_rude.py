"""Whatever one member of eight does to the process that it is asked in, the others play as if it were not there."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

from league.backends.base import InProcess
from league.backends.process import ProcessBackend
from league.tasks.values import Place
from tests.league.backends.backend_tasks import gone, match, matches, own_workers, seat, told
from tests.third_party import install, on_the_path

# Its first turn is like anybody's; then it does what its parameter says, and goes on like anybody.
PLUGIN = """
import os, random, signal, sys, threading, time
import numpy as np
from dond_marl.seats import Decisions, Traits, decide

class Everything(BaseException):
    pass

class Rude:
    traits = Traits(deterministic=True)
    def __init__(self, how="fine"):
        self.how = how
    def act(self, turns):
        if turns.turns_taken >= 2:
            answer = getattr(self, self.how)(turns)
            if answer is not None:
                return answer
        return decide(np.zeros(turns.size), turns.counts)
    def fine(self, turns): pass
    def fork(self, turns): os.fork()
    def orphan(self, turns):
        if os.fork() == 0:
            time.sleep(1000)
    def folder(self, turns): os.chdir("/")
    def environment(self, turns): os.environ.clear(); os.environ["HOME"] = "/nowhere"
    def generators(self, turns): random.seed(0); np.random.seed(0); np.seterr(all="raise")
    def output(self, turns): sys.stdout = sys.stderr = None
    def thread(self, turns): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    def timer(self, turns): signal.setitimer(signal.ITIMER_REAL, 1000)
    def shut(self, turns): sys.stdout.close(); os.close(1)
    def files(self, turns): os.closerange(3, 256)
    def essay(self, turns): raise RuntimeError("x" * 50_000_000)
    def everything(self, turns): raise Everything("no more")
    def text(self, turns): return "x" * 50_000_000
    def page(self, turns): return Decisions("x" * 4096, "y" * 4096, "", "")
    def numbers(self, turns):
        many = np.zeros(50_000_000, np.int8)
        return Decisions(many, many, many, many)
    def letters(self, turns):
        return Decisions(np.full(turns.size, "x" * 1000), np.zeros((turns.size, 3)), *2 * [np.zeros(turns.size)])
    def full(self, turns): return bytearray(2**46)
"""
HARMLESS = ("fine", "fork", "orphan", "folder", "environment", "generators", "output", "thread", "timer")
BREAKING = {
    "essay": "RuntimeError: xxx",
    "everything": "Everything: no more",
    "text": "AttributeError",
    "page": "ValueError: decisions for",
    "numbers": "ValueError: decisions for",
    "letters": "ValueError: decisions must be whole numbers",
}
ENDING = {  # of a worker, not of this process
    "full": "MemoryError",
    "files": "it closed files that were not its own",
    "shut": "OSError: [Errno 9] Bad file descriptor",  # the second time
}
ZOO = ("heuristic", "random", "tough", "linear", "boulware(exponent=2)", "conceder", "stubborn")


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "blobs")


@pytest.fixture
def rude(tmp_path, monkeypatch):
    """The third party's partner is installed, here and for workers."""
    folder = install(tmp_path / "site", "rude_partner", PLUGIN, "rude = rude_partner:Rude")
    with on_the_path(folder, monkeypatch):
        yield


def process_as_it_is() -> tuple[object, ...]:
    draws = np.random.get_state()  # noqa: NPY002  # the generator that others share
    return Path.cwd(), dict(os.environ), random.getstate(), draws[1].tolist(), np.geterr()


def one_of_eight(how: str) -> tuple[list, list]:
    """The matches of seven members, those of a rude one among them; and the seven's alone."""
    sound = matches([*ZOO[:2]]) + [match(seat(name), seat("heuristic"), number=10) for name in ZOO[2:]]
    own = match(seat("tough"), seat(f"rude(how={how})"), number=20)
    return [sound[0], own, *sound[1:]], sound


@pytest.mark.parametrize("how", [how for how in (*HARMLESS, *BREAKING) if how not in ("orphan", "thread", "timer")])
def test_in_this_process_the_others_play_as_if_it_were_not_there(how, place, rude):
    tasks, sound = one_of_eight(how)
    alone, before = [told(result) for result in InProcess().run(sound, place)], process_as_it_is()
    first, own, *others = InProcess().run(tasks, place)
    assert [told(result) for result in (first, *others)] == alone
    assert process_as_it_is() == before
    told_of(own, how)


def test_with_a_worker_the_others_play_as_if_they_were_not_there(place, rude):
    """One worker plays all: what one of them leaves behind, the next would find."""
    hows = (*HARMLESS, *BREAKING, *ENDING)
    tasks, alone = [], []
    for how in hows:
        tasks += one_of_eight(how)[0][1:3]
    alone = [told(result) for result in InProcess().run(tasks[1::2], place)]
    with ProcessBackend(1) as backend:
        results = list(backend.run(tasks, place, deadline=120.0))
    assert [told(result) for result in results[1::2]] == alone
    for own, how in zip(results[::2], hows, strict=True):
        told_of(own, how)
    assert gone(os.getpid())


def told_of(result, how: str) -> None:
    """Who only disturbs has played; who breaks has failed, and it is said by name and why, on a line."""
    cause = {**BREAKING, **ENDING}.get(how)
    if cause is None:
        assert result.failed is None and len(result.legs) == 2
        return
    assert result.failed == f"rude(how={how})" and result.cause.startswith(cause) and len(result.cause) <= 300


def test_a_thread_that_is_left_behind_goes_with_its_worker(place, rude):
    with ProcessBackend(1) as backend:
        (first,) = backend.run(matches(["tough"]), place)
        before = own_workers()
        list(backend.run([match(seat("tough"), seat("rude(how=fine)"))], place))
        assert own_workers() == before
        list(backend.run([match(seat("tough"), seat("rude(how=thread)"))], place))
        assert own_workers() == []
        (again,) = backend.run(matches(["tough"]), place)
        assert told(again) == told(first) and own_workers() != before
