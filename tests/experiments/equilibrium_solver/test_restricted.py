"""Restricted Nash responses: a game solved by hand, both ends of p, and exact points from real partners."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.files import append_lines, read_json_lines
from dond_marl.game import Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import lewis_space, pack
from dond_marl.solvers.contexts import contexts_in
from dond_marl.solvers.equilibria import make_pool
from dond_marl.solvers.odds import Odds, exact_value
from dond_marl.solvers.values import policy_value
from experiments.equilibrium_solver.exploitability import nash_conv
from experiments.equilibrium_solver.restricted import (
    FixedSet,
    RestrictedTree,
    fixed_set,
    ordered_pools,
    respond,
    shipped_policy,
    with_labels,
)
from experiments.equilibrium_solver.tree import Tree
from experiments.restricted import GAMES, memoryless_members, solve_pool, solve_turns
from experiments.results.files import FOLDER
from league.ledger.run_directory import source_commit
from partners.mixture import Mixture
from tests.command import dond
from tests.experiments.equilibrium_solver.perfect_recall import anything

SET = ("heuristic", "random", "ultimatum")  # some END, some react to INSIST, some say it
VALUES = [((0, 2, 8), (0, 4, 6)), ((0, 4, 6), (0, 2, 8)), ((0, 4, 6), (0, 4, 6))]
TABLE = pack([Scenario((0, 1, 1), pair) for pair in VALUES])  # one hat and one ball


def pool_of(table, labels=1):
    """The one pool of a table of scenarios."""
    chances = np.full(table.size, 1 / table.size)
    return with_labels(make_pool(table.counts[0], *table.utilities.swapaxes(0, 1), chances), labels)


@pytest.mark.parametrize(("chance", "kept"), [(0.0, 2), (0.25, 2), (0.75, 1), (1.0, 1)])
def test_an_ultimatum_against_partners_that_want_two_hats_of_three(chance, kept):
    """A free partner takes any hat: keeping two pays 20/3 of the free games, keeping one pays 10/3 of all games."""
    pool = pool_of(pack([Scenario((0, 3, 0), ((0, 5, 0), (0, 5, 0)))]))
    answers = np.zeros((1, 4, 7))
    answers[0, :, 4], answers[0, 2:, 4:6] = 1, (0, 1)
    game = RestrictedTree(pool, 2, "perfect", 0, chance, fixed=FixedSet(np.ones((1, 1)), {1: answers}))
    policy, gains = respond(game, game.uniform(), ((0.1, 1.0, 100), (0.02, 1.0, 100)))
    assert policy[0][0, 0].argmax() == kept and policy[0][0, 0].max() > 0.999
    assert gains.values[0] == pytest.approx(10 / 3 if kept == 1 else (1 - chance) * 20 / 3, abs=0.01)
    assert 0 <= gains.nash_conv < 0.01


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("turns", [2, 3, 4])
def test_at_one_the_best_response_is_the_exact_one_to_the_set(turns, seat):
    pool = pool_of(TABLE, labels=2)
    partners = [seat_occupant(name) for name in SET]
    game = RestrictedTree(pool, turns, "perfect", seat, 1.0, fixed=fixed_set(partners, pool, turns, seat))
    found = nash_conv(game, anything(game, seed=turns))
    odds = Odds(Mixture(partners), contexts_in(TABLE, seat), Rules(max_turns=turns), "lewis")
    assert found.values[seat] + found.gains[seat] == pytest.approx(exact_value(odds, seat), abs=1e-9)
    gains = respond(game, game.uniform(), ((0.1, 1.0, 50), (0.01, 1.0, 50)))[1]
    assert gains.values[seat] == pytest.approx(exact_value(odds, seat), abs=0.02)


@pytest.mark.parametrize("turns", [3, 4])
def test_at_zero_the_game_is_the_plain_one(turns):
    pool = pool_of(TABLE)
    game = RestrictedTree(pool, turns, "perfect", 1, 0.0, fixed=fixed_set([seat_occupant("random")], pool, turns, 1))
    policy = anything(game, seed=1)
    np.testing.assert_allclose(nash_conv(game, policy), nash_conv(Tree(pool, turns, "perfect"), policy), atol=1e-12)


@pytest.mark.parametrize("seat", [0, 1])
def test_points_from_the_set_are_those_of_the_partners_in_five_turns(seat):
    """The shipped equilibrium's points against the set, exact by another computation."""
    pool = ordered_pools(1)[-1]
    rows = (lewis_space().counts == pool.counts).all(axis=1)
    table, partners = lewis_space().rows(rows), [seat_occupant(name) for name in SET]
    game = RestrictedTree(pool, 5, "last offer", seat, 1.0, fixed=fixed_set(partners, pool, 5, seat))
    own = seat_occupant("equilibrium")
    pairs = [(own, each) if seat == 0 else (each, own) for each in partners]
    exact = np.mean([policy_value(pair, table, Rules(max_turns=5))[:, seat].mean() for pair in pairs])
    points = game.values(shipped_policy(game))[seat]
    assert points / pool.prior.sum() == pytest.approx(exact, abs=1e-6)


def test_pools_hold_the_whole_prior():
    every, some = ordered_pools(1), ordered_pools(2, seed=0)
    assert (len(every), len(some)) == (28, 8)
    for pools in (every, some):
        assert sum(pool.prior.sum() for pool in pools) == pytest.approx(1)
    assert some[0].width == 2 * every[0].width


def test_a_pool_goes_from_the_equilibrium_to_the_best_response():
    assert len(memoryless_members()) == 14
    pool = ordered_pools(2)[-1]
    first, last = solve_pool(
        pool, 2, GAMES[2], [seat_occupant("quantal_response"), seat_occupant("stubborn")], [0.0, 1.0]
    )
    share = pool.prior.sum()
    assert first["nash_conv"][0] < 0.001 * share < 0.1 * share < last["nash_conv"][1]
    assert sum(first["from_set"]) + 0.1 * share < sum(last["from_set"])
    assert 0 <= sum(last["player_gain"]) < 0.02 * share


def test_finished_pools_are_not_solved_again(tmp_path):
    stored, row = tmp_path / "pools.jsonl", {"itself": [1.0, 2.0], "nash_conv": [0.5, 0.75]}
    key = {"turns": 10, "chances": [0.0], "seed": 3, "members": memoryless_members(), "seconds": 9.0, "commit": "a"}
    parts = [
        {**key, "pool": pool.counts.tolist(), "rows": [row], "changed_since": False} for pool in ordered_pools(1, 3)
    ]
    append_lines(stored, map(json.dumps, parts))
    (made,) = solve_turns(10, [0.0], 3, stored)
    assert made["itself"] == [8.0, 16.0] and made["nash_conv"] == [4.0, 6.0]
    assert (made["pools"], made["members"], made["p"], made["seconds"], made["commit"]) == (8, 14, 0.0, 72.0, "a")
    assert len(read_json_lines(stored)) == 8


def test_row_that_a_kill_tore_is_made_again(tmp_path):
    pair = [[1.0, 1.0], [2.0, 2.0]]
    row = {"from_set": [1, 2], "itself": [1, 2], "response": pair, "nash_conv": [0, 0], "player_gain": [0, 0]}
    key = {"turns": 10, "chances": [0.0, 0.5], "seed": 0, "members": memoryless_members(), "seconds": 9.0}
    for pool in ordered_pools(1, 0):
        part = {**key, "pool": pool.counts.tolist(), "rows": [{**row, "free_gain": pair}] * 2, **source_commit()}
        append_lines(tmp_path / "pools.jsonl", [json.dumps(part)])
    words = "--set", "turns=[10]", "--set", "chances=[0, 0.5]", "--set", f"output_dir={tmp_path}"
    assert dond("experiment", "restricted", *words) == 0
    path = tmp_path / "results.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert dond("experiment", "restricted", *words) == 0
    assert path.read_bytes() == whole and [row["p"] for row in read_json_lines(path)] == [0, 0.5]


@pytest.mark.parametrize("setting", ["turns=[5]", "chances=[0.5, 1]", "chances=[0, 2]", "chances=[]"])
def test_wrong_settings_are_refused(setting, tmp_path, capsys):
    assert dond("experiment", "restricted", "--set", setting, "--set", f"output_dir={tmp_path}") == 2
    assert "turns" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_finished_turns_are_shown_without_work(tmp_path, capsys):
    """The stored rows of two turns, in a file of their own."""
    rows = [row for row in read_json_lines(FOLDER / "restricted.jsonl") if row["turns"] == 2]
    append_lines(tmp_path / "rows.jsonl", map(json.dumps, rows))
    words = ("--set", "turns=[2]", "--set", f"output_dir={tmp_path / 'run'}", "--results", str(tmp_path / "rows.jsonl"))
    assert dond("experiment", "restricted", *words) == 0
    assert "9.06" in capsys.readouterr().out
    assert [row["p"] for row in read_json_lines(tmp_path / "rows.jsonl")] == [row["p"] for row in rows]
