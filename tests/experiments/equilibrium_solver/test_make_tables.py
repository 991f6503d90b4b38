"""The shipped tables of equilibria are what their notes say, and are made again."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.solvers.equilibria import SMALL, Equilibrium, file_name, lewis_pools, unpack
from experiments.equilibrium_solver.exploitability import memory_gains, nash_conv, total
from experiments.equilibrium_solver.make_tables import make_tables, pool_gains, solve_pool
from experiments.equilibrium_solver.tree import Tree
from tests.experiments.equilibrium_solver.perfect_recall import with_perfect_recall


@pytest.mark.parametrize("turns", [2, 3, 4])
def test_short_games_are_solved_within_a_hundredth_of_a_point(turns):
    """What the note says is what best responses gain that remember everything, exact, both seats together."""
    table = Equilibrium.load(turns)
    trees = [Tree(pool, turns) for pool in lewis_pools()]
    exact = total(
        [nash_conv(*with_perfect_recall(tree, policy)) for tree, policy in zip(trees, table.policies, strict=True)]
    )
    np.testing.assert_allclose(exact.values, table.values, atol=2e-6)
    np.testing.assert_allclose(np.transpose([exact.gains] * 2), table.note["gain_remembering"], atol=2e-6)
    assert 0 <= exact.nash_conv < 0.01


def test_notes_match_the_tables():
    """Values, deals and what is gained within the memory, of the coldest table of the longest games."""
    table = Equilibrium.load()
    trees = [Tree(pool, table.turns) for pool in lewis_pools()]
    pairs = list(zip(trees, table.policies, strict=True))
    some = [pair for pair in pairs if pair[0].width in (30, 36)]
    assert table.values == pytest.approx(np.sum([tree.values(policy) for tree, policy in pairs], axis=0), abs=2e-6)
    assert table.note["deals"] == pytest.approx(sum(tree.deals(policy) for tree, policy in pairs), abs=2e-6)
    part = total([memory_gains(tree, policy) for tree, policy in some]).nash_conv
    assert 0 < part <= sum(table.note["gain_within_memory"])


def test_the_table_of_two_turns_is_made_again(tmp_path):
    """Another machine may round the last digits otherwise; ``dond ship equilibria`` makes all of them again."""
    (made,) = make_tables(tmp_path, (2,))
    again, stored = unpack((tmp_path / file_name(2, SMALL)).read_bytes()), Equilibrium.load(2)
    assert again.note.keys() == stored.note.keys()
    assert made.note["values"] == pytest.approx(stored.values, abs=2e-6)
    for mine, theirs in zip(again.policies, stored.policies, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-3)


def test_the_same_is_solved_every_time():
    """Bit by bit: nothing is drawn at random."""
    pool = lewis_pools()[-1]
    one, two = (solve_pool(pool, 2, (0.5,))[0] for _ in range(2))
    assert one.measures == two.measures
    assert all((first == second).all() for first, second in zip(one.policy, two.policy, strict=True))


def test_gains_by_pool_add_up_to_those_of_the_note():
    rows, note = list(pool_gains(3, SMALL)), Equilibrium.load(turns=3, temperature=SMALL).note
    assert sum(row["share"] for row in rows) == pytest.approx(1, abs=1e-5)
    total = np.sum([np.multiply(row["nashconv"], row["share"]) for row in rows], axis=0)
    assert total == pytest.approx(np.sum(note["gain_remembering"], axis=0), abs=1e-4)
