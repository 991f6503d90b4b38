"""The same results on a Ray cluster, also one that loses a node; minutes, with real nodes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from league.backends.base import InProcess
from league.backends.ray_cluster import CACHED, NodeWorker, RayBackend
from league.tasks.blobs import BlobError, name_of
from league.tasks.values import Place
from tests.league.backends.backend_tasks import MARK, install_plugin, match, matches, network, practice, seat, told
from tests.third_party import on_the_path

ray = pytest.importorskip("ray", reason="the backend ray is tested where Ray is installed: pip install -e '.[ray]'")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
LONG = 120.0


@pytest.fixture
def place(tmp_path) -> Place:
    return Place(tmp_path / "blobs")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """A third party's partner is installed, here and for workers."""
    with on_the_path(install_plugin(tmp_path / "site"), monkeypatch):
        yield


def round_of(place):
    first = practice(place, ["heuristic", "tough"], 0)
    return [*matches(["heuristic", "random", network(first.state)], first=1), first]


def in_process(tasks, place):
    return [told(result) for result in InProcess().run(tasks, place)]


def workers_with(folder: Path) -> int:
    """How many worker processes, of any node here, look for modules in ``folder``."""
    listed = subprocess.run(["ps", "axeww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return sum(MARK in line and str(folder) in line for line in listed.splitlines())


def all_gone(folder: Path) -> bool:
    until = time.monotonic() + 60  # Ray notices a killed driver when it looks; a busy machine looks late
    while workers_with(folder) and time.monotonic() < until:
        # Orphans are this process's children (tests/conftest.py). A dead node that nobody has waited for is alive to
        # Ray's workers, and they stay.
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        time.sleep(0.1)
    return not workers_with(folder)


def test_ray_on_this_machine_gives_the_results_of_this_process_and_leaves_nothing(tmp_path, place, broken):
    tasks, handler = round_of(place), signal.getsignal(signal.SIGTERM)
    breaks = [match(seat("tough"), seat(f"broken(how={how})"), number=9) for how in ("leave", "sleep")]
    with RayBackend(2, None, print) as backend:
        assert signal.getsignal(signal.SIGTERM) == handler  # Ray takes it, which would end a league without a word
        for _ in range(2):
            assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == in_process(tasks, place)
        results = list(backend.run(breaks, place, deadline=2.0))
        assert [result.failed for result in results] == ["broken(how=leave)", "broken(how=sleep)"]
        results = backend.run([tasks[0], *breaks, breaks[1]], place)
        next(results)
        assert workers_with(tmp_path)
    assert not ray.is_initialized() and all_gone(tmp_path)


def test_a_node_removed_in_the_middle_of_a_round_costs_a_retry_and_changes_nothing(tmp_path, place, monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.syspath_prepend(str(tmp_path))  # to know our workers by
    tasks = [*matches(["heuristic", "random", "tough", "stubborn"], size=512), *round_of(place)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        with RayBackend(None, cluster.address, print) as backend:
            assert [told(result) for result in backend.run(tasks, place, deadline=LONG)] == in_process(tasks, place)
            nodes = {entry["NodeID"] for entry in ray.nodes() if entry["Alive"]}
            assert len(nodes) == 2 and len(backend._actors) == 2
            before = {actor.handle for actor in backend._actors}
            assert workers_with(tmp_path) == 2
            results = backend.run(tasks, place, deadline=LONG)
            played = [told(next(results))]
            cluster.remove_node(node, allow_graceful=False)
            until = time.monotonic() + 60
            while workers_with(tmp_path) == 2:  # what it runs outlives a node for a moment, and may still answer
                assert time.monotonic() < until
                time.sleep(0.1)
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
        contents = [b"%d" % number for number in range(CACHED + 9)]
        for content in contents:
            node._fetch({name_of(content): ray.put(content)})
        kept = {path.stem for path in folder.iterdir()}
        assert name_of(contents[-1]) in kept and len(kept) == CACHED + 1
        with pytest.raises(BlobError, match="damaged"):
            node._fetch({name_of(b"true"): ray.put(b"false")})
    finally:
        ray.shutdown()
        node.leave()
    assert not list(tmp_path.iterdir())


def test_no_worker_outlives_a_driver_that_is_killed(tmp_path, broken):
    script = tmp_path / "driver.py"
    script.write_text(
        "from league.backends.ray_cluster import RayBackend\n"
        "from league.tasks.values import Place\n"
        "from tests.league.backends.backend_tasks import match, seat\n"
        "from pathlib import Path\n"
        "tasks = [match(seat('tough'), seat('broken(how=deaf)'))] * 2\n"
        f"list(RayBackend(2, None, print).run(tasks, Place(Path({str(tmp_path)!r}))))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    process = subprocess.Popen([sys.executable, script], env=environment)
    while workers_with(tmp_path) < 2:
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(1)
    process.kill()
    process.wait()
    assert all_gone(tmp_path)
