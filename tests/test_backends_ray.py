"""The same results on a Ray cluster, also one that loses a node; minutes, with real nodes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dond_marl.occupants import catalogue
from league.backends.cluster import RayBackend
from league.backends.in_process import InProcess
from league.backends.node import KEPT, NodeWorker
from league.blobs import BlobError, name_of
from league.tasks import Place
from tests.backend_tasks import MARK, install_plugin, match, matches, network, practice, seat, told

ray = pytest.importorskip("ray", reason="the backend ray is tested where Ray is installed: pip install -e '.[ray]'")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[1]
LONG = 120.0


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "blobs")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A third party's partner is installed, here and for workers."""
    monkeypatch.syspath_prepend(str(install_plugin(tmp_path / "site")))
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()


def round_of(place):
    first = practice(place, ["heuristic", "tough"], 0)
    return [*matches(["heuristic", "random", network(first.state)], first=1), first]


def in_process(tasks, place):
    return [told(result) for result in InProcess().run(tasks, place)]


def worker_processes() -> int:
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True).stdout
    return sum(MARK in line for line in listed.splitlines())


def test_ray_on_this_machine_gives_the_results_of_this_process_and_leaves_nothing(place, broken):
    tasks, before, handler = round_of(place), worker_processes(), signal.getsignal(signal.SIGTERM)
    breaks = [match(seat("tough"), seat(f"broken(how={how})"), number=9) for how in ("leave", "sleep")]
    with RayBackend(2) as backend:
        assert signal.getsignal(signal.SIGTERM) == handler  # Ray takes it, which would end a league without a word
        for _ in range(2):
            assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == in_process(tasks, place)
        results = list(backend.run(breaks, place, deadline=2.0))
        assert [result.failed for result in results] == ["broken(how=leave)", "broken(how=sleep)"]
        results = backend.run([tasks[0], *breaks, breaks[1]], place)
        next(results)
        began = time.monotonic()
    assert time.monotonic() - began < 5 and not ray.is_initialized()
    until = time.monotonic() + 5
    while worker_processes() > before:
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_node_that_is_removed_in_the_middle_of_a_round_costs_a_retry_and_changes_nothing(place):
    from ray.cluster_utils import Cluster

    tasks = [*matches(["heuristic", "random", "tough", "stubborn"], size=512), *round_of(place)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        with RayBackend(address=cluster.address) as backend:
            assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == in_process(tasks, place)
            nodes = {entry["NodeID"] for entry in ray.nodes() if entry["Alive"]}
            assert len(nodes) == 2 and len(backend._actors) == 2
            before = {actor.handle for actor in backend._actors}
            results = backend.run(tasks, place, deadline=LONG)
            played = [told(next(results))]
            cluster.remove_node(node, allow_graceful=False)
            played += [told(result) for result in results]
            assert played == in_process(tasks, place)
            assert len({actor.handle for actor in backend._actors} & before) == 1
            cluster.add_node(num_cpus=1, object_store_memory=100 << 20)  # and one that comes is used
            assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == played
    finally:
        cluster.shutdown()


def test_weights_that_come_damaged_are_refused_and_old_ones_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "dond-marl-node-999999999-left").mkdir()  # by an actor that was killed
    node = NodeWorker()
    try:
        (folder,) = tmp_path.iterdir()
        ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
        contents = [b"%d" % number for number in range(KEPT + 9)]
        for content in contents:
            node._fetch({name_of(content): ray.put(content)})
        kept = {path.stem for path in folder.iterdir()}
        assert name_of(contents[-1]) in kept and len(kept) == KEPT + 1
        with pytest.raises(BlobError, match="damaged"):
            node._fetch({name_of(b"true"): ray.put(b"false")})
    finally:
        ray.shutdown()
        node.leave()
    assert not list(tmp_path.iterdir())


def test_no_worker_outlives_a_driver_that_is_killed(tmp_path, broken):
    script = tmp_path / "driver.py"
    script.write_text(
        "from league.backends.cluster import RayBackend\n"
        "from league.tasks import Place\n"
        "from tests.backend_tasks import match, seat\n"
        "from pathlib import Path\n"
        "tasks = [match(seat('tough'), seat('broken(how=deaf)'))] * 2\n"
        f"list(RayBackend(2).run(tasks, Place(Path({str(tmp_path)!r}))))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    before = worker_processes()
    process = subprocess.Popen([sys.executable, script], env=environment)
    while worker_processes() < before + 2:
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    process.kill()
    process.wait()
    until = time.monotonic() + 10
    while worker_processes() > before:
        assert time.monotonic() < until
        time.sleep(0.1)
