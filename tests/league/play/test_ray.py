"""The same results on a Ray cluster, also one that loses a node; minutes, with real nodes on this machine."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from league.play.backends import InProcess
from league.play.ray_cluster import RayBackend
from tests.league.play.backend_tasks import comparable, match, matches, network, practice, seat

ray = pytest.importorskip("ray", reason="the backend ray is tested where Ray is installed: pip install -e '.[ray]'")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]


def round_of(blobs):
    first = practice(blobs, ["heuristic", "tough"], 0)
    return [*matches(["heuristic", "random", network(first.state)], first=1), first]


def in_process(tasks, blobs):
    return [comparable(result) for result in InProcess().run(tasks, blobs)]


def reap() -> None:
    """Wait for a process that has ended: orphans are children of this process (tests/conftest.py), alive to Ray."""
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_ray_on_this_machine_gives_the_results_of_this_process(tmp_path, blobs, broken):
    tasks, handler = round_of(blobs), signal.getsignal(signal.SIGTERM)
    breaks = match(seat("tough"), seat("broken(how=leave)"), number=9)
    hangs = match(seat("tough"), seat("broken(how=sleep)"), number=10)
    with RayBackend(2, None, print) as backend:
        assert signal.getsignal(signal.SIGTERM) == handler  # Ray's own would end a league without a message
        for _ in range(2):
            assert [comparable(result) for result in backend.run(tasks, blobs)] == in_process(tasks, blobs)
        (result,) = backend.run([breaks], blobs, tick=reap)
        assert result.failed == "broken(how=leave)" and "exit code 0" in result.cause
        results = backend.run([tasks[0], hangs, hangs], blobs, tick=reap)
        next(results)
        results.close()
        assert [comparable(result) for result in backend.run(tasks[:2], blobs)] == in_process(tasks[:2], blobs)
    assert not ray.is_initialized()


def test_a_node_removed_in_the_middle_of_a_round_changes_nothing(tmp_path, blobs, monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.syspath_prepend(str(tmp_path))  # marks the workers
    tasks = [*matches(["heuristic", "random", "tough", "stubborn"], size=512), *round_of(blobs)]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
    try:
        node = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        with RayBackend(None, cluster.address, print) as backend:
            alone = in_process(tasks, blobs)
            assert [comparable(result) for result in backend.run(tasks, blobs)] == alone
            results = backend.run(tasks, blobs)
            played = [comparable(next(results))]
            cluster.remove_node(node, allow_graceful=False)
            assert [*played, *map(comparable, results)] == alone
            cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
            assert [comparable(result) for result in backend.run(tasks, blobs)] == alone
    finally:
        cluster.shutdown()
