"""The same results wherever tasks are played, whoever breaks and whatever is killed."""

from __future__ import annotations

import dataclasses
import mmap
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.data import DataError
from dond_marl.seats import Traits, decide
from league.backends.base import BackendError, InProcess
from league.backends.process import KILLED, STRIKES, ProcessBackend, WorkerDeath, at_fault
from league.backends.ray_cluster import check_reachable
from league.rounds.runner import open_backend
from league.settings.sections import BackendConfig, EnvConfig
from league.tasks import attribution
from league.tasks.train_task import practice_round
from league.tasks.values import Place
from partners.best_response import BestResponse
from partners.mixture import BySeat, Mixture
from partners.scripted.chance import Trembling
from partners.scripted.rollouts import Rollouts
from tests.league.backends.backend_tasks import (
    gone,
    install_plugin,
    match,
    matches,
    network,
    own_workers,
    practice,
    seat,
    told,
    workers_of,
)
from tests.third_party import on_the_path

ROOT = Path(__file__).resolve().parents[3]
ZOO = ("heuristic", "random", "tough", "boulware(exponent=2)", "nice_tit_for_tat")
LONG = 60.0  # a deadline that only a member that hangs misses


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "blobs")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A third party's partner is installed, here and for workers."""
    with on_the_path(install_plugin(tmp_path / "site"), monkeypatch):
        yield


def in_process(tasks, place):
    return [told(result) for result in InProcess().run(tasks, place)]


def round_of(place):
    """A round with two learners and a snapshot; practice is begun first and comes last."""
    first, second = practice(place, ZOO[:3], 0), practice(place, ["tough"], 1, "other")
    return [*matches([*ZOO, network(first.state)], first=2), first, second]


@pytest.mark.parametrize("workers", [2, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 4))])
def test_workers_give_the_results_of_this_process_weights_included(place, workers):
    tasks = round_of(place)
    alone = in_process(tasks, place)
    assert [result[0] for result in alone] == tasks
    with ProcessBackend(workers) as backend:
        assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == alone
        assert len(own_workers()) == workers
    assert not own_workers()


def test_workers_stay_for_the_next_round_and_what_is_left_in_flight_is_dropped(place, broken):
    tasks = matches(ZOO[:3])
    with ProcessBackend(2) as backend:
        first = [told(result) for result in backend.run(tasks, place)]
        workers = own_workers()
        assert [told(result) for result in backend.run(tasks, place)] == first and own_workers() == workers
        results = backend.run([*tasks, *matches(["broken(how=sleep)"])], place)
        assert told(next(results)) == first[0]
        results.close()
        assert [told(result) for result in backend.run(tasks, place)] == first
    assert list(backend.run([], place)) == []


@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_workers_killed_at_random_cost_a_retry_and_change_nothing(place, kills):
    """Workers, idle and busy ones alike, are killed after one result in six: a busy machine changes nothing."""
    tasks = matches(ZOO, size=128) if kills == 2 else round_of(place)
    alone, draw, killed = in_process(tasks, place), random.Random(kills), 0
    with ProcessBackend(2) as backend:
        while killed < kills:
            played = []
            for result in backend.run(tasks, place, deadline=LONG):
                played.append(told(result))
                workers = own_workers()
                if draw.random() < 1 / 6 and workers:
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    killed += 1
            assert played == alone
    assert not own_workers()


CAUSES = {
    "error": "RuntimeError: lost my notes",
    "exit": "SystemExit: 3",
    "garbage": "AttributeError",
    "greedy": "IllegalAct",
    "leave": "it ended its process with exit code 0",
    "fail": "it ended its process with exit code 3",
    "segfault": f"its process was ended by signal {signal.SIGSEGV:d}",
    "interrupt": "KeyboardInterrupt: no more",
    "memory": "MemoryError: full",
}


def test_members_that_break_forfeit_their_matches_and_change_no_other(place, broken):
    sound = matches(ZOO[:2])
    tasks = [
        *sound[:1],
        *(match(seat(f"broken(how={how})"), seat("tough"), number=1 + number) for number, how in enumerate(CAUSES)),
        *sound[1:],
    ]
    with ProcessBackend(2) as backend:
        results = list(backend.run(tasks, place, deadline=LONG))
    assert [told(result) for result in results if result.failed is None] == in_process(sound, place)
    failed = [result for result in results if result.failed is not None]
    assert [result.task for result in failed] == tasks[1:-2]
    for result, (how, cause) in zip(failed, CAUSES.items(), strict=True):
        assert result.failed == f"broken(how={how})" and cause in result.cause and not result.legs


@pytest.mark.parametrize("how", [*(pytest.param(how, marks=pytest.mark.slow) for how in ("sleep", "spin")), "deaf"])
def test_a_member_that_hangs_past_the_deadline_forfeits(place, broken, how):
    member = f"broken(how={how})"
    tasks = [match(seat("tough"), seat(member)), *matches(ZOO[:2], first=1)]
    with ProcessBackend(1) as backend:
        hung, *results = backend.run(tasks, place, deadline=1.0)
    assert hung.failed == member and not hung.legs and "deadline" in hung.cause
    assert [told(result) for result in results] == in_process(tasks[1:], place)


def test_who_is_slow_is_at_fault_not_who_is_asked_when_the_time_is_over(place, broken):
    slow, quick = "broken(how=slow)", "broken(how=fine)"
    with ProcessBackend(1) as backend:
        for pair in ((slow, quick), (quick, slow)):
            (result,) = backend.run([match(*map(seat, pair))], place, deadline=1.0)
            assert result.failed == slow


def test_practice_goes_on_without_the_members_at_fault_and_learns_the_same(place, broken):
    """Members that raise, answer what cannot be played or end their process; at home those that do not end it."""
    caught = [f"broken(how={how})" for how in ("error", "garbage", "greedy")]
    alone = practice_round(practice(place, ["tough", "random"]), place)
    assert alone.content is not None and alone.failed is None
    with ProcessBackend(2) as backend:
        for at_fault, run in ((caught, InProcess().run), ([*caught, "broken(how=fail)"], backend.run)):
            task = practice(place, ["tough", *at_fault, "random"])
            (result,) = run([task], place)
            assert (result.content, result.state) == (alone.content, alone.state)
            assert result.failed in at_fault and {member for member, _ in result.task.faults} == set(at_fault)
            assert result.task.meetings == task.meetings


def test_practice_without_any_sound_opponent_leaves_the_learner_as_it_was(place, broken):
    task = practice(place, ["broken(how=error)"])
    result = practice_round(task, place)
    assert result.state == task.state and result.content is None and result.failed == "main"
    assert [member for member, _ in result.task.faults] == ["broken(how=error)"]


def test_a_deadline_that_is_too_short_for_honest_work_is_nobodys_fault(place):
    task = practice(place, ["tough"])
    hours = task.learner.model_copy(update={"decisions": 100_000_000})
    task = dataclasses.replace(task, learner=hours)
    with (
        ProcessBackend(1) as backend,
        pytest.raises(BackendError, match=r"no member is to blame.*set a longer deadline"),
    ):
        list(backend.run([task], place, deadline=0.001))
    assert not own_workers()


def test_what_is_no_members_fault_is_raised_here_as_it_was_there(place):
    nowhere = EnvConfig(scenarios="self_play", data_dir=str(place.blobs))
    task = dataclasses.replace(match(seat("tough"), seat("random")), env=nowhere)
    with ProcessBackend(1) as backend, pytest.raises(DataError, match="dond data fetch"):
        list(backend.run([task], place))


def test_a_person_and_a_service_are_asked_from_this_process(place, broken):
    tasks = [match(seat("tough"), seat(f"broken(how={how})")) for how in ("near", "remote", "near")]
    with ProcessBackend(1) as backend:
        near, remote, again = (result.cause for result in backend.run(tasks, place))
    assert f"in process {os.getpid()}" in remote and f"in process {os.getpid()}" not in near == again


@pytest.mark.parametrize("how", [pytest.param("sleep", marks=pytest.mark.slow), "deaf"])
def test_no_worker_outlives_its_parent_not_even_one_that_hangs(tmp_path, broken, how):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from league.backends.process import ProcessBackend
            from league.tasks.values import Place
            from tests.league.backends.backend_tasks import match, seat

            tasks = [match(seat("tough"), seat(f"broken(how={sys.argv[1]})"))] * 2
            list(ProcessBackend(2).run(tasks, Place(None), tick=lambda: print("waiting", flush=True)))
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    process = subprocess.Popen([sys.executable, script, how], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    while len(workers_of(process.pid)) < 2:
        process.stdout.readline()
    time.sleep(0.5)
    process.kill()
    process.communicate()
    assert gone(process.pid)


def test_a_stop_ends_every_worker_whatever_a_member_does(place, broken):
    began = 0.0

    def tick() -> None:
        nonlocal began
        if len(own_workers()) == 2 and not began:
            began = time.monotonic()
        if began and time.monotonic() > began + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ProcessBackend(2) as backend:
        tasks = [match(seat("tough"), seat(f"broken(how={how})")) for how in ("deaf", "spin")]
        list(backend.run(tasks, place, tick=tick))
    assert not own_workers()


def test_a_stop_ends_a_long_practice_between_two_updates(place):
    task, ticks = practice(place, ["tough"]), []
    task = dataclasses.replace(task, learner=task.learner.model_copy(update={"decisions": 10**9}))

    def tick() -> None:
        ticks.append(1)
        if len(ticks) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), InProcess() as backend:
        list(backend.run([task], place, tick=tick))
    assert len(ticks) == 5


def death(member: str | None = "a", outside: bool = False, began: bool = True) -> WorkerDeath:
    return WorkerDeath(member, "died", outside, began)


def test_a_fault_needs_two_deaths_or_eight_by_somebody_elses_hand():
    assert at_fault([death()], "it") is None
    assert at_fault([death(), death(outside=True)], "it") is None
    assert at_fault([death("b", outside=True), death("a"), death("a")], "it") == "a"
    assert at_fault([death(outside=True)] * (KILLED - 1), "it") is None
    assert at_fault([death(outside=True)] * KILLED, "it") == "a"
    with pytest.raises(BackendError, match="no single member"):
        at_fault([death("a"), death("b")], "it")
    with pytest.raises(BackendError, match="no single member"):
        at_fault([death(None)] * STRIKES, "it")
    with pytest.raises(BackendError, match="before they had begun it"):
        at_fault([death(None, began=False)] * STRIKES, "it")


def test_the_page_says_who_is_asked_and_who_has_taken_longest(tmp_path):
    with (tmp_path / "page").open("w+b") as file:
        file.truncate(attribution.PAGE)
        page, memory = attribution.Page(file.fileno()), mmap.mmap(file.fileno(), attribution.PAGE)
    longest, other = "\U0001f600" * 80, "\U0001f601" * 80  # as long as names get, and longer when written
    page.leave(longest, page.enter(longest) - 9)
    page.enter(other)
    seen = attribution.read_page(memory)
    assert (seen.member, seen.slowest) == (other, longest) and 9 <= seen.longest <= seen.total < 10
    page.raised_by = other
    if not (child := os.fork()):
        page.give_up("x" * 300)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == attribution.GAVE_UP
    assert attribution.read_page(memory).member == other and attribution.read_page(memory).words == "x" * 300
    page.begin()
    assert attribution.read_page(memory) == attribution.PageReading()


def test_in_a_process_that_is_no_worker_a_member_is_itself():
    partner = seat_occupant("tough")
    assert attribution.monitor("tough", partner) is partner


class Stranger:
    """Asks for everything; a class that is not this project's."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns):
        return decide(np.zeros(turns.size), turns.counts)


WRAPPERS = {
    "itself": lambda of: of,
    "of": Trembling,
    "to": BestResponse,
    "model": Rollouts,
    "own": lambda of: Rollouts("heuristic", own=of),
    "seat": lambda of: BySeat(seat_occupant("heuristic"), of),
    "drawn": lambda of: Trembling(Mixture(["heuristic", of])),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_partner_with_foreign_code_inside_is_not_free(wrapper):
    wrap = WRAPPERS[wrapper]
    assert attribution.is_free(wrap(seat_occupant("tough"))) and not attribution.is_free(wrap(Stranger()))


@pytest.mark.parametrize(
    ("settings", "chosen"),
    [
        ({}, "local"),
        ({"workers": 1}, "local"),
        ({"workers": 2}, "process"),
        ({"kind": "process"}, "process"),
        ({"kind": "ray", "workers": 3}, "ray"),
        ({"ray_address": "auto"}, "ray"),
    ],
)
def test_a_backend_may_be_named_or_follow_from_what_is_said_of_it(settings, chosen):
    assert BackendConfig(**settings).effective_kind == chosen


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kind": "local", "workers": 2}, "choose process"),
        ({"kind": "process", "ray_address": "auto"}, "choose ray"),
    ],
)
def test_settings_of_a_backend_that_contradict_each_other_are_refused(settings, words):
    with pytest.raises(ValidationError, match=words):
        BackendConfig(**settings)


def test_the_backends_that_need_nothing_are_opened_as_they_are_set():
    assert isinstance(open_backend(BackendConfig(), print), InProcess)
    assert isinstance(open_backend(BackendConfig(workers=2), print), ProcessBackend)


def test_without_ray_its_backend_says_what_to_install():
    code = (
        "import sys; sys.modules['ray'] = None; from league.backends.ray_cluster import RayBackend; "
        "RayBackend(None, None, print)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "MissingLibrary" in done.stderr and "[ray]'" in done.stderr


@pytest.mark.parametrize("address", ["nowhere", "1.2.3.4", "host:0", "host:port", ":6379"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(BackendError, match="HOST:PORT"):
        check_reachable(address)


def test_a_cluster_that_does_not_answer_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(BackendError, match=f"no server answers at 127.0.0.1:{port}.*ray start --head"):
        check_reachable(f"127.0.0.1:{port}")


def test_every_blob_that_a_task_names_is_known(place):
    task = practice(place, ["tough"])
    snapshot = network(task.state)
    assert task.blobs == {task.state.blob}
    assert match(snapshot, seat("tough")).blobs == {snapshot.blob}
    assert match(seat("random"), seat("tough")).blobs == set()
