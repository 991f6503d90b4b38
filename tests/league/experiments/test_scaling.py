"""The simulated league: worked by hand, bounds that nothing can break, and the script from measuring to a figure."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from league.experiments.scaling.costs import measured
from league.experiments.scaling.report import CHANGED, GROWN, KEPT, grown, simulated
from league.experiments.scaling.simulation import NETWORK, Costs, Shape, alone, planned, simulate, written
from league.settings.read import Config, parse
from tests.command import dond, run_dond

ROOT = Path(__file__).resolve().parents[3]
# One learner practices for 2 s and meets itself alone; one match takes 1 s; planning takes 1 s and committing half a
# second. Handing out, weights and folding cost nothing.
COSTS = Costs(
    practice=(2.0,),
    matches=(1.0,),
    hand_out=0.0,
    plan=(1.0, 0.0, 0.0),
    fold=(0.0, 0.0),
    commit=(0.5, 0.0, 0.0),
    leg_bytes=1000,
    weights_bytes=0,
    load=0.0,
)
SHAPE = Shape(learners=1, members=10, matches=1, decisions=(600,), games=256, opponents=9, met=1)
SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {seed: 3, rounds: 3, block_size: 16, evaluate: false}
members: [heuristic, pushover, tough]
learners: [{name: main, decisions: 500, num_envs: 32, rollout: 2, minibatch: 256, hidden: [16]}]
"""


def test_one_worker_does_everything_in_turn():
    # plan 1, practice 2, match 1, commit 0.5
    load = simulate(COSTS, SHAPE, 1)
    assert load.seconds == pytest.approx(4.5)
    assert load.decisions == pytest.approx(600 / 4.5) and load.games == pytest.approx(256 / 4.5)
    assert (load.busy, load.head) == (pytest.approx(3 / 4.5), pytest.approx(1.5 / 4.5))
    assert (load.planning, load.writing, load.handing) == (pytest.approx(1 / 4.5), pytest.approx(0.5 / 4.5), 0)
    assert load.rows == pytest.approx(2 / 4.5) and load.ledger_bytes == pytest.approx(2000 / 4.5)


def test_with_two_workers_the_slowest_task_is_what_a_round_waits_for():
    load = simulate(COSTS, SHAPE, 2)
    assert load.seconds == pytest.approx(3.5) and load.busy == pytest.approx(3 / 7)
    assert load.stale == pytest.approx(3)  # planned for 1 s from what was just committed, practiced for 2
    assert simulate(COSTS, SHAPE, 1000).seconds == pytest.approx(3.5)


def test_a_lag_lets_the_head_work_while_the_workers_do():
    # The learner's own practice is all that waits for itself: 2 s a round. Its opponents are a round older.
    load = simulate(COSTS, SHAPE, 2, lag=2, rounds=20)
    assert load.seconds == pytest.approx(2.0) and load.stale > 3


def test_handing_out_planning_and_writing_are_counted_by_what_there_is():
    costs = COSTS._replace(hand_out=0.1, plan=(1.0, 0.01, 0.02), fold=(0.1, 0.01), commit=(0.5, 0.02, 0.001))
    shape = SHAPE._replace(matches=4, learners=2, opponents=7)
    assert planned(costs, shape) == pytest.approx(1 + 0.01 * 100 + 0.02 * 2 * 100)
    assert written(costs, shape) == pytest.approx(0.1 + 0.08 + 0.5 + 0.16 + 0.014)
    one = simulate(costs, shape, 1)
    assert one.handing * one.seconds == pytest.approx(0.6)  # six tasks
    together = simulate(costs, shape, 1, together=2)
    assert together.handing * together.seconds == pytest.approx(0.4)  # two matches at a time
    assert one.games * one.seconds == pytest.approx(together.games * together.seconds)


def test_weights_that_are_new_come_over_one_link_and_once_a_round():
    # Two learners, two workers, a second for each blob: both practices need both blobs. The link carries one at a time.
    costs = COSTS._replace(weights_bytes=int(NETWORK), plan=(0.0, 0.0, 0.0), commit=(0.0, 0.0, 0.0))
    shape = SHAPE._replace(learners=2, met=2, matches=2)
    load = simulate(costs, shape, 2)
    assert load.network * load.seconds == pytest.approx(4)  # matches need nothing more
    assert load.seconds == pytest.approx(2 + 2 + 2)  # the first's blobs, the second's, whose practice is the last task
    loading = simulate(costs._replace(weights_bytes=0, load=1.0), shape, 2)
    assert loading.seconds == pytest.approx(2 + 2 + 1)  # each reads two blobs by itself


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 20),
    st.lists(st.floats(0.1, 5), min_size=1, max_size=4),
    st.integers(1, 3),
)
def test_no_league_is_faster_than_its_cores_and_no_share_above_one(workers, learners, matches, practice, lag):
    costs = COSTS._replace(practice=tuple(practice), hand_out=0.001)
    shape = SHAPE._replace(learners=learners, matches=matches, decisions=tuple(round(100 * p) for p in practice))
    load = simulate(costs, shape, workers, lag=lag, rounds=30)
    most = alone(costs, shape)
    assert load.decisions <= 1.2 * workers * most  # but for tasks that were begun before the clock was started
    assert load.busy <= 1.1 and load.head <= 1.1 and load.seconds > 0
    assert simulate(costs, shape, workers, lag=lag, rounds=30) == load


def test_a_league_that_grows_has_a_learner_for_each_worker():
    shape = grown(COSTS, SHAPE._replace(members=20, learners=4), (64, 10), 8)
    assert (shape.learners, shape.members, shape.opponents, shape.met) == (8, 16 + 32, 48, 8)
    assert shape.matches == 8 * 48 + 10
    assert grown(COSTS, SHAPE, (64, 10), 100).matches == 6410


def test_the_league_that_keeps_its_size_stops_at_its_slowest_task_and_the_changed_one_goes_on():
    costs = COSTS._replace(hand_out=0.002, plan=(0.001, 2e-6, 1e-7), commit=(0.005, 2e-5, 0.0), matches=(0.01,))
    loads = simulated(costs, SHAPE, (16, 16), (1, 16, 64), lambda _: None)
    assert set(loads) == {KEPT, GROWN, CHANGED}
    kept, larger, changed = ([load.decisions for load in loads[name]] for name in (KEPT, GROWN, CHANGED))
    assert kept[1] == pytest.approx(kept[2]) and larger[2] > 10 * larger[0]
    assert changed[2] > larger[2]


@pytest.fixture(scope="module")
def costs():
    config: Config = parse(SETTINGS)
    return measured(config, sizes=((10, 1), (20, 2), (40, 4)))


def test_what_is_measured_is_what_the_league_has(costs):
    found, shape = costs
    assert shape == Shape(1, 4, len(found.matches), (500,), 32, 4, 1)
    assert 0.001 < found.practice[0] < 60 and all(0 < seconds < 5 for seconds in found.matches)
    assert found.leg_bytes == 16 * 9 and found.weights_bytes > 1000
    for figure in (found.hand_out, found.load, sum(found.plan), found.fold[1], found.commit[1]):
        assert 0 < figure < 5 and math.isfinite(figure)
    assert planned(found, shape._replace(members=200, learners=16)) > planned(found, shape)


def scaling(*options):
    return run_dond("experiment", "scaling", *options, cwd="/")


def test_the_command_simulates_what_was_measured_and_draws_it(costs, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "league.yaml").write_text(SETTINGS)
    stored = {"costs": costs[0]._asdict(), "shape": costs[1]._asdict()}
    (tmp_path / "costs.json").write_text(json.dumps(stored))
    files = ["--json", tmp_path / "out.json", "--plot", tmp_path / "scaling.png"]
    done = scaling("--config", tmp_path / "league.yaml", "--costs", tmp_path / "costs.json", "--most", "8", *files)
    assert done.returncode == 0, done.stderr
    assert "grown with the workers" in done.stdout and "planning:" in done.stdout
    loads = json.loads((tmp_path / "out.json").read_text())["loads"]
    assert [load["workers"] for load in loads[KEPT]] == [1, 2, 4, 8]
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--costs", "nowhere.json"], "--costs nowhere.json: no file that --json wrote"),
        (["--most", "0"], "--most must be an integer above 0"),
        (["--plot", "scaling.gif"], "a figure is written as .png, .svg, .pdf"),
        (["--set", "learners=[]"], "nobody learns in this league"),
    ],
)
def test_a_mistake_is_told_in_one_line(options, words, tmp_path, capsys):
    (tmp_path / "league.yaml").write_text(SETTINGS)
    assert dond("experiment", "scaling", "--config", tmp_path / "league.yaml", *options) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.slow
def test_the_small_end_is_near_real_runs_on_worker_processes(tmp_path):
    """How near depends on what else the machine does, so that it is told and not asserted."""
    (tmp_path / "league.yaml").write_text(SETTINGS.replace("decisions: 500", "decisions: 5000"))
    done = scaling("--config", tmp_path / "league.yaml", "--most", "1", "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("on the clock simulated") == 2
