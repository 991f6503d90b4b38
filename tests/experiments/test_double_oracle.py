"""A league without noise: its tables say what members do, nobody gains at its end, and brute force agrees."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.space import Scenarios, lewis_space, pack
from dond_marl.statistics import points_of_ten
from dond_marl.yardsticks.contexts import contexts_in
from experiments.double_oracle import (
    PRIOR,
    PayoffTables,
    TabularPolicy,
    double_oracle,
    means_over_pools,
    oracle_section,
    pool_kinds,
    read_oracles,
    solve_pools,
    starting_members,
    write_oracle,
)
from league.standings.meta_game import strictest_cce
from partners.best_response import BestResponse
from partners.mixture import Mixture
from partners.rosters import roster
from tests.command import in_process as dond
from tests.dond_marl.yardsticks.test_adaptive import by_brute_force

NAMES = ("heuristic", "tough", "level_k", "stubborn", "ultimatum")
POOL = (1, 1, 1)
TINY = pack(
    [
        Scenario(POOL, values)
        for values in itertools.product([(6, 4, 0), (2, 3, 5), (0, 0, 10)], [(8, 1, 1), (3, 3, 4), (0, 10, 0)])
    ]
)
KINDS = pool_kinds(lewis_space())
SMALL = KINDS[-1][0]  # the pool 2 2 3


def written(table, rules, names=NAMES):
    contexts = contexts_in(table, 0), contexts_in(table, 1)
    sides = [
        [TabularPolicy(name, seat_occupant(name), seat, rules, contexts[seat].own, PRIOR) for name in names]
        for seat in (0, 1)
    ]
    return contexts, sides


@pytest.mark.parametrize("turns", [1, 2, 3, 4])
def test_tabular_policies_equal_their_partners(turns):
    """In the engine a table plays like its partner, and games in lock-step equal the engine's."""
    rules = Rules(turns)
    contexts, sides = written(SMALL, rules)
    payoffs = PayoffTables(SMALL, contexts, rules).payoffs(*sides)
    for (a, first), (b, second) in itertools.product(enumerate(NAMES), enumerate(NAMES)):
        pairs = (seat_occupant(first), seat_occupant(second)), (sides[0][a], sides[1][b])
        means = [
            points_of_ten(rollout(pair, SMALL, rules, seed=0, prior=PRIOR).scores, SMALL.pool_values).mean(axis=0)
            for pair in pairs
        ]
        np.testing.assert_allclose(means, [payoffs[a, b]] * 2, atol=1e-9)


@pytest.mark.parametrize("seat", [0, 1])
def test_tabular_best_response_value(seat):
    """To replies too, which have memory as policies but none as tables."""
    rules = Rules(4)
    contexts, sides = written(SMALL, rules)
    games = PayoffTables(SMALL, contexts, rules)
    for number in range(3):
        for mover in (seat, 1 - seat):
            crowd = Mixture(sides[1 - mover], np.arange(1, len(sides[1 - mover]) + 1).tolist())
            reply = BestResponse(crowd, contexts[mover])
            made = TabularPolicy(f"reply {number}", reply, mover, rules, contexts[mover].own, PRIOR)
            pair = ([made], sides[1]) if mover == 0 else (sides[0], [made])
            earned = games.payoffs(*pair)[..., mover].ravel()
            weights = np.arange(1, len(earned) + 1)
            assert earned @ weights / weights.sum() == pytest.approx(reply.value(mover, rules, PRIOR), abs=1e-9)
            sides[mover].append(made)


def test_gains_equal_brute_force():
    """Three turns, nine scenarios of one pool, the plain rules and every history apart."""
    rules = Rules(3)
    table = [Scenario(POOL, tuple(map(tuple, pair))) for pair in TINY.utilities.tolist()]
    first = next(double_oracle(TINY, NAMES, rules, strictest_cce, most=1))
    contexts, sides = written(TINY, rules)
    for seat in (0, 1):
        personas = [(chance, seat_occupant(name)) for name, chance in first.mixtures[1 - seat].items()]
        best = by_brute_force(personas, table, seat, rules, PRIOR)
        assert first.gaps[seat] == pytest.approx(best - first.values[seat], abs=1e-6)
        reply = BestResponse(Mixture(sides[1 - seat]), contexts[seat])
        sides[seat] = [TabularPolicy("reply", reply, seat, rules, contexts[seat].own, PRIOR), sides[seat][0]]
    reply = BestResponse(Mixture(sides[1]), contexts[0])  # to a reply to members, and to a member
    best = by_brute_force([(0.5, member) for member in sides[1]], table, 0, rules, PRIOR)
    assert reply.value(0, rules, PRIOR) == pytest.approx(best, abs=1e-9)


def test_iterations_end_without_gains():
    found = list(double_oracle(SMALL, ("heuristic", "tough"), Rules(2), strictest_cce, most=60))
    assert len(found) > 1
    assert all(each.joining and max(each.gaps) > 1e-6 for each in found[:-1])
    assert max(found[-1].gaps) <= 1e-6
    sizes = [each.members for each in found]
    for before, after, each in zip(sizes, sizes[1:], found, strict=False):
        assert sum(after) - sum(before) == len(each.joining)
    assert len(list(double_oracle(SMALL, NAMES, Rules(2), strictest_cce, most=1))) == 1
    for mixture in found[-1].mixtures:
        assert sum(mixture.values()) == pytest.approx(1, abs=1e-6)


def test_pool_kinds():
    assert len(KINDS) == 8
    assert sum(share for _, share in KINDS) == pytest.approx(1)
    for space, _ in KINDS:
        assert isinstance(space, Scenarios) and len(np.unique(space.counts, axis=0)) == 1


def test_rows_replace_older_ones(tmp_path):
    text: list[str] = []
    row = solve_pools(KINDS[-2:], NAMES[:2], 2, "max_welfare", 1, text.append)
    assert len(text) == 2 and "pool 2 2 2,   1: points" in text[0]
    assert means_over_pools(row, "values")[0] == pytest.approx(
        np.average([pool["values"][0] for pool in row["pools"]], weights=[share for _, share in KINDS[-2:]]), abs=1e-5
    )
    path = tmp_path / "do.jsonl"
    for seconds in (1, 2):
        write_oracle(path, {**row, "processor_seconds": seconds})
    assert [each["processor_seconds"] for each in read_oracles(path)] == [2]
    open_ = [pool["pool"] for pool in row["pools"] if max(pool["gaps"]) > 1e-6]
    assert ("Stopped early: " + ", ".join(open_) + ".") in oracle_section(row).notes or not open_
    path.write_text("[]\n")
    with pytest.raises(InputError, match="holds no double oracles"):
        read_oracles(path)


def test_starting_members():
    assert set(starting_members(roster("train"))) > {"heuristic", "tough"}
    assert starting_members(["linear", "random", "versatile"]) == ("linear",)
    with pytest.raises(InputError, match="none of random is deterministic"):
        starting_members(["random"])


def test_command(tmp_path):
    words = ("--turns", 2, "--start", "heuristic", "--start", "tough", "--results", tmp_path / "d.jsonl")
    done = dond("experiment", "double-oracle", *words)
    assert done.returncode == 0, done.stderr
    assert "joining: reply 1 of seat_0" in done.stdout and "no seat gains" in done.stdout
    row = json.loads((tmp_path / "d.jsonl").read_text())
    assert row["began_with"] == ["heuristic", "tough"] and len(row["pools"]) == 8
    assert dond("experiment", "double-oracle", "--turns", 5).returncode == 2
