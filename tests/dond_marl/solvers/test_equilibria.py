"""Tables of equilibria: the shipped files pay what their notes say, and answer any seat under any names."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, State, apply
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import lewis_space
from dond_marl.solvers.contexts import splits_of
from dond_marl.solvers.equilibria import SMALL, STORED, TEMPERATURES, Equilibrium, file_name, lewis_pools, unpack

NOTHING = np.full((1, 3), -1)


def probs_of(table, counts, utilities, claim, turns_left):
    """The chances of one seat."""
    rows = (np.array([row], dtype=np.int8) for row in (counts, utilities, claim))
    return table.probs(*rows, np.array([turns_left]))[0]


def test_the_files_are_those_of_the_list_and_small():
    files = {path.name: path.stat().st_size for path in STORED.glob("*.xz")}
    assert set(files) == {file_name(turns, heat) for turns, heats in TEMPERATURES.items() for heat in heats}
    assert sum(files.values()) < 2_000_000


def test_scenarios_of_lewis_are_eight_pools_in_their_shares():
    pools, space = lewis_pools(), lewis_space()
    assert sorted(len(pool.values) for pool in pools) == [9, 10, 12, 14, 21, 21, 21, 26]
    for pool in pools:
        share = (np.sort(space.counts, axis=1) == pool.counts).all(axis=1).mean()
        assert pool.prior.sum() == pytest.approx(share)
        np.testing.assert_allclose(pool.prior, pool.prior.T, atol=1e-15)  # the swap of each scenario is one too


def test_played_games_pay_the_noted_values():
    """Games of three turns by the rules of the game, from scenarios as they are named in the paper's space."""
    table, space = Equilibrium.load(3), lewis_space()
    rng, paid = generator(0, "games of tests"), []
    for number in rng.integers(space.size, size=400).tolist():
        scenario = space.scenario(number)
        state, claim = State(scenario, Rules(3)), (-1, -1, -1)
        while not state.is_over:
            chances = probs_of(table, scenario.counts, scenario.utilities[state.mover], claim, state.turns_remaining)
            act = rng.choice(len(chances), p=chances)
            splits = splits_of(np.array([scenario.counts], dtype=np.int8)).oA[0]
            action = _action(act, splits)
            claim = action.oA
            state = apply(state, action)
        paid.append(state.outcome.scores)
    error = np.std(paid, axis=0) / np.sqrt(len(paid))
    assert (np.abs(np.mean(paid, axis=0) - table.values) < 4 * error + 1e-9).all()


def _action(act, splits):
    """The numbered act as a value of the game."""
    kinds = [Action(Act.PROPOSE, tuple(oA)) for oA in splits.tolist()] + [Action(Act.AGREE), Action(Act.DISAGREE)]
    return kinds[act]


def test_other_names_get_the_same_answer():
    """The probabilities of a renamed pool are those of the pool, renamed in the same way."""
    table, counts, utilities, claim = Equilibrium.load(4), (1, 3, 1), (4, 1, 3), (1, 2, 0)
    expected = probs_of(table, counts, utilities, claim, 3)
    splits = splits_of(np.array([counts], dtype=np.int8)).oA[0]
    for order in itertools.permutations(range(3)):
        named = [[vector[i] for i in order] for vector in (counts, utilities, claim)]
        renamed = probs_of(table, *named, 3)
        index = {tuple(oA): n for n, oA in enumerate(splits_of(np.array([named[0]], dtype=np.int8)).oA[0].tolist())}
        same = [renamed[index[tuple(oA[i] for i in order)]] for oA in splits.tolist()] + renamed[-2:].tolist()
        np.testing.assert_allclose(same, expected, atol=1e-15)
    assert expected.max() < 1 or expected[-2] == 1


def test_rows_are_independent():
    """Rows of pools of different sizes get what they get alone, chances that sum to 1, of legal acts only."""
    table, space = Equilibrium.load(2), lewis_space()
    rows = np.arange(0, space.size, 97)
    counts, utilities = space.counts[rows], space.utilities[rows, 1]
    together = table.probs(counts, utilities, counts, np.ones(len(rows), dtype=np.int64))
    assert (together[:, :-2] == 0).all() and together.sum(axis=1) == pytest.approx(1)
    for row in (0, 7, len(rows) - 1):
        alone = table.probs(counts[row : row + 1], utilities[row : row + 1], counts[row : row + 1], np.ones(1))
        np.testing.assert_array_equal(alone[0, -2:], together[row, -2:])


def test_impossible_queries_are_refused():
    table = Equilibrium.load(3)
    with pytest.raises(InputError):
        probs_of(table, (1, 1, 3), (9, 9, 9), (0, 0, 0), 2)
    with pytest.raises(InputError):
        probs_of(table, (1, 1, 3), (4, 3, 1), (0, 0, 0), 3)
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
