"""Tables of equilibria: what is shipped is what its note says, answers any seat under any names, and is made again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, State, apply
from dond_marl.randomness import generator
from dond_marl.scenarios.space import lewis_space
from dond_marl.yardsticks.contexts import splits_of
from dond_marl.yardsticks.equilibria import Equilibrium
from dond_marl.yardsticks.equilibria.exploitability import memory_gains, nash_conv, total
from dond_marl.yardsticks.equilibria.make_tables import STORED, make_tables, solve_pool
from dond_marl.yardsticks.equilibria.table import SMALL, TEMPERATURES, file_name, unpack
from dond_marl.yardsticks.equilibria.tree import Tree, lewis_pools
from tests.dond_marl.yardsticks.equilibria.perfect_recall import with_perfect_recall

NOTHING = np.full((1, 3), -1)


def asked(table, counts, utilities, heard, left):
    """The chances of one seat."""
    rows = (np.array([row], dtype=np.int8) for row in (counts, utilities, heard))
    return table.probs(*rows, np.array([left]))[0]


def test_the_files_are_those_of_the_list_and_small():
    files = {path.name: path.stat().st_size for path in STORED.glob("*.xz")}
    assert set(files) == {file_name(turns, heat) for turns, some in TEMPERATURES.items() for heat in some}
    assert sum(files.values()) < 2_000_000


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


def test_played_games_pay_the_noted_values():
    """Games of three turns by the rules of the game, from scenarios as they are named in the paper's space."""
    table, space = Equilibrium.load(3), lewis_space()
    rng, paid = generator(0, "games of tests"), []
    for number in rng.integers(space.size, size=400).tolist():
        scenario = space.scenario(number)
        state, heard = State(scenario, Rules(3)), (-1, -1, -1)
        while not state.over:
            chances = asked(table, scenario.counts, scenario.utilities[state.mover], heard, state.turns_remaining)
            act = rng.choice(len(chances), p=chances)
            splits = splits_of(np.array([scenario.counts], dtype=np.int8)).oA[0]
            said = _action(act, splits)
            heard = said.oA
            state = apply(state, said)
        paid.append(state.outcome.scores)
    error = np.std(paid, axis=0) / np.sqrt(len(paid))
    assert (np.abs(np.mean(paid, axis=0) - table.values) < 4 * error + 1e-9).all()


def _action(act, splits):
    """The numbered act as a value of the game."""
    kinds = [Action(Act.PROPOSE, tuple(oA)) for oA in splits.tolist()] + [Action(Act.AGREE), Action(Act.DISAGREE)]
    return kinds[act]


def test_other_names_get_the_same_answer():
    """What is said of a pool under other names is the same under those names."""
    table, counts, utilities, heard = Equilibrium.load(4), (1, 3, 1), (4, 1, 3), (1, 2, 0)
    known = asked(table, counts, utilities, heard, 3)
    splits = splits_of(np.array([counts], dtype=np.int8)).oA[0]
    for order in itertools.permutations(range(3)):
        named = [[each[i] for i in order] for each in (counts, utilities, heard)]
        there = asked(table, *named, 3)
        place = {tuple(oA): n for n, oA in enumerate(splits_of(np.array([named[0]], dtype=np.int8)).oA[0].tolist())}
        same = [there[place[tuple(oA[i] for i in order)]] for oA in splits.tolist()] + there[-2:].tolist()
        np.testing.assert_allclose(same, known, atol=1e-15)
    assert known.max() < 1 or known[-2] == 1


def test_rows_are_independent():
    """Rows of pools of different sizes get what they get alone, chances that sum to 1, of legal acts only."""
    table, space = Equilibrium.load(2), lewis_space()
    some = np.arange(0, space.size, 97)
    counts, utilities = space.counts[some], space.utilities[some, 1]
    together = table.probs(counts, utilities, counts, np.ones(len(some), dtype=np.int64))
    assert (together[:, :-2] == 0).all() and together.sum(axis=1) == pytest.approx(1)
    for row in (0, 7, len(some) - 1):
        alone = table.probs(counts[row : row + 1], utilities[row : row + 1], counts[row : row + 1], np.ones(1))
        np.testing.assert_array_equal(alone[0, -2:], together[row, -2:])


def test_impossible_queries_are_refused():
    table = Equilibrium.load(3)
    with pytest.raises(InputError):
        asked(table, (1, 1, 3), (9, 9, 9), (0, 0, 0), 2)
    with pytest.raises(InputError):
        asked(table, (1, 1, 3), (4, 3, 1), (0, 0, 0), 3)
    with pytest.raises(InputError):
        table.probs(np.array([[1, 1, 3]], dtype=np.int8), np.array([[4, 3, 1]], dtype=np.int8), NOTHING, np.array([2]))
    with pytest.raises(InputError, match="turns=11"):
        Equilibrium.load(11)
    with pytest.raises(InputError):
        Equilibrium.load(10, 0.2)


def test_a_damaged_file_is_not_read():
    data = (STORED / file_name(2, SMALL)).read_bytes()
    with pytest.raises(InputError):
        unpack(data[:-20])
    with pytest.raises(InputError):
        unpack(b"nothing of ours")


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
