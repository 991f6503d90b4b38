"""The same results wherever tasks are run, whichever member breaks and whatever is killed."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.data import DataError
from dond_marl.seats import Traits, decide
from league.play.backends import (
    DEATHS,
    KILLS,
    BackendError,
    InProcess,
    ProcessBackend,
    WorkerDeath,
    at_fault,
)
from league.play.occupant_kinds import is_free
from league.play.practice import practice_round
from league.play.ray_cluster import check_reachable
from league.settings.sections import BackendConfig, EnvConfig
from partners.mixture import BySeat
from partners.scripted.chance import Trembling
from partners.scripted.rollouts import Rollouts
from tests.league.play.backend_tasks import (
    comparable,
    gone,
    match,
    matches,
    network,
    own_workers,
    practice,
    seat,
    workers_of,
)

ROOT = Path(__file__).resolve().parents[3]
ZOO = ("heuristic", "random", "tough", "boulware(exponent=2)", "nice_tit_for_tat")


def in_process(tasks, blobs):
    return [comparable(result) for result in InProcess().run(tasks, blobs)]


def round_of(blobs):
    """A round with two learners and a snapshot; practice is begun first and comes last."""
    first, second = practice(blobs, ZOO[:3], 0), practice(blobs, ["tough"], 1, "other")
    return [*matches([*ZOO, network(first.state)], first=2), first, second]


@pytest.mark.parametrize("workers", [1, *(pytest.param(number, marks=pytest.mark.slow) for number in (2, 4))])
def test_workers_give_the_results_of_this_process(blobs, workers):
    tasks = round_of(blobs)
    alone = in_process(tasks, blobs)
    assert [result[0] for result in alone] == tasks
    with ProcessBackend(workers) as backend:
        assert [comparable(result) for result in backend.run(tasks, blobs)] == alone
        started = own_workers()
        assert [comparable(result) for result in backend.run(tasks[:2], blobs)] == alone[:2]
        assert own_workers() == started and len(started) == workers  # they stay for the next round
    assert not own_workers()


@pytest.mark.slow
def test_killed_workers_change_nothing(blobs):
    """Workers, idle and busy ones alike, are killed after one result in six."""
    tasks = round_of(blobs)
    alone, draw, killed = in_process(tasks, blobs), random.Random(30), 0
    with ProcessBackend(2) as backend:
        while killed < 30:
            played = []
            for result in backend.run(tasks, blobs):
                played.append(comparable(result))
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
    "segfault": f"its process was ended by signal {signal.SIGSEGV:d}",
    "interrupt": "KeyboardInterrupt: no more",
    "memory": "MemoryError: full",
}


def test_members_that_break_forfeit_their_matches_and_change_no_other(blobs, broken):
    sound = matches(ZOO[:2])
    tasks = [
        *sound[:1],
        *(match(seat(f"broken(how={how})"), seat("tough"), number=1 + i) for i, how in enumerate(CAUSES)),
        *sound[1:],
    ]
    with ProcessBackend(2) as backend:
        results = list(backend.run(tasks, blobs))
    assert [comparable(result) for result in results if result.failed is None] == in_process(sound, blobs)
    failed = [result for result in results if result.failed is not None]
    assert [result.task for result in failed] == tasks[1:-2]
    for result, (how, cause) in zip(failed, CAUSES.items(), strict=True):
        assert result.failed == f"broken(how={how})" and cause in result.cause and not result.legs


@pytest.mark.slow
def test_practice_leaves_out_members_at_fault_and_learns_the_same(blobs, broken):
    """Members that raise, answer what cannot be played or end their process; in this process not the last."""
    caught = [f"broken(how={how})" for how in ("error", "garbage", "greedy")]
    alone = practice_round(practice(blobs, ["tough", "random"]), blobs)
    assert alone.content is not None and alone.failed is None
    with ProcessBackend(1) as backend:
        for at_fault, run in ((caught, InProcess().run), ([caught[0], "broken(how=fail)"], backend.run)):
            task = practice(blobs, ["tough", *at_fault, "random"])
            (result,) = run([task], blobs)
            assert (result.content, result.state) == (alone.content, alone.state)
            assert result.failed in at_fault and {member for member, _ in result.task.faults} == set(at_fault)
            assert result.task.meetings == task.meetings


def test_practice_without_a_sound_opponent_leaves_the_learner_unchanged(blobs, broken):
    task = practice(blobs, ["broken(how=error)"])
    result = practice_round(task, blobs)
    assert result.state == task.state and result.content is None and result.failed == "main"
    assert [member for member, _ in result.task.faults] == ["broken(how=error)"]


def test_errors_that_are_no_members_fault_are_raised(blobs):
    nowhere = EnvConfig(scenarios="self_play", data_dir=str(blobs))
    task = dataclasses.replace(match(seat("tough"), seat("random")), env=nowhere)
    with ProcessBackend(1) as backend, pytest.raises(DataError, match="dond data fetch"):
        list(backend.run([task], blobs))


def test_expensive_members_are_queried_in_this_process(blobs, broken):
    tasks = [match(seat("tough"), seat(f"broken(how={how})")) for how in ("near", "remote", "near")]
    with ProcessBackend(1) as backend:
        near, remote, again = (result.cause for result in backend.run(tasks, blobs))
    assert f"in process {os.getpid()}" in remote and f"in process {os.getpid()}" not in near == again


def test_no_worker_outlives_a_killed_parent(tmp_path, broken):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            from league.play.backends import ProcessBackend
            from tests.league.play.backend_tasks import match, seat

            tasks = [match(seat("tough"), seat("broken(how=sleep)"))] * 2
            list(ProcessBackend(2).run(tasks, None, tick=lambda: print("waiting", flush=True)))
            """
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    while len(workers_of(process.pid)) < 2:
        process.stdout.readline()
    process.kill()
    process.communicate()
    assert gone(process.pid)


def test_a_stop_ends_workers_that_hang(blobs, broken):
    ticks_with_workers = 0

    def tick() -> None:
        nonlocal ticks_with_workers
        ticks_with_workers += len(own_workers()) == 2
        if ticks_with_workers == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ProcessBackend(2) as backend:
        tasks = [match(seat("tough"), seat(f"broken(how={how})")) for how in ("sleep", "spin")]
        list(backend.run(tasks, blobs, tick=tick))
    assert not own_workers()


def test_a_stop_ends_a_long_practice_between_two_updates(blobs):
    task, ticks = practice(blobs, ["tough"]), []
    task = dataclasses.replace(task, learner=task.learner.model_copy(update={"decisions": 10**9}))

    def tick() -> None:
        ticks.append(1)
        if len(ticks) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), InProcess() as backend:
        list(backend.run([task], blobs, tick=tick))
    assert len(ticks) == 5


def death(member: str | None = "a", outside: bool = False) -> WorkerDeath:
    return WorkerDeath(member, "died", outside)


def test_a_fault_needs_two_deaths_or_eight_kills():
    first, kill = death(None), death(outside=True)
    assert at_fault([first], "it") is None
    assert at_fault([first, kill], "it") is None
    assert at_fault([first, death("b", outside=True), death("a")], "it") == "a"
    assert at_fault([death(None, outside=True), *[kill] * (KILLS - 2)], "it") is None
    assert at_fault([death(None, outside=True), *[kill] * (KILLS - 1)], "it") == "a"
    with pytest.raises(BackendError, match="no single member"):
        at_fault([death(None, outside=True), death("a"), death("b")], "it")
    with pytest.raises(BackendError, match="no single member"):
        at_fault([death(None) for _ in range(DEATHS)], "it")


class Stranger:
    """A partner that asks for everything; a class from outside this project."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns):
        return decide(np.zeros(turns.size), turns.counts)


WRAPPERS = {
    "of": Trembling,
    "model": Rollouts,
    "seat": lambda partner: BySeat(seat_occupant("heuristic"), partner),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_partner_with_foreign_code_inside_is_not_free(wrapper):
    wrap = WRAPPERS[wrapper]
    assert is_free(wrap(seat_occupant("tough"))) and not is_free(wrap(Stranger()))


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "local"),
        ({"workers": 2}, "process"),
        ({"kind": "ray", "workers": 3}, "ray"),
        ({"ray_address": "auto"}, "ray"),
    ],
)
def test_the_backend_follows_from_its_settings(settings, kind):
    assert BackendConfig(**settings).effective_kind == kind


def test_missing_ray_names_its_extra():
    code = (
        "import sys; sys.modules['ray'] = None; from league.play.ray_cluster import RayBackend; "
        "RayBackend(None, None, print)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "MissingLibrary" in done.stderr and "[ray]'" in done.stderr


@pytest.mark.parametrize("address", ["nowhere", "host:0", "host:port", ":6379"])
def test_a_wrong_address_is_refused(address):
    with pytest.raises(BackendError, match="HOST:PORT"):
        check_reachable(address)


def test_an_unreachable_cluster_is_reported_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(BackendError, match=f"127.0.0.1:{port}"):
        check_reachable(f"127.0.0.1:{port}")


def test_a_task_names_the_blobs_that_it_reads(blobs):
    task = practice(blobs, ["tough"])
    snapshot = network(task.state)
    assert task.blobs == {task.state.blob}
    assert match(snapshot, seat("tough")).blobs == {snapshot.blob}
    assert match(seat("random"), seat("tough")).blobs == set()
