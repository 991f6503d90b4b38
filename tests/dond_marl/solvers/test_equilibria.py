"""Tables of equilibria: what is shipped is what its note says, answers any seat under any names, and is made again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Action, Rules, State, apply
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import lewis_space
from dond_marl.solvers.contexts import splits_of
from dond_marl.solvers.equilibria import SMALL, STORED, TEMPERATURES, Equilibrium, file_name, unpack

NOTHING = np.full((1, 3), -1)


def asked(table, counts, utilities, heard, left):
    """The chances of one seat."""
    rows = (np.array([row], dtype=np.int8) for row in (counts, utilities, heard))
    return table.probs(*rows, np.array([left]))[0]


def test_the_files_are_those_of_the_list_and_small():
    files = {path.name: path.stat().st_size for path in STORED.glob("*.xz")}
    assert set(files) == {file_name(turns, heat) for turns, some in TEMPERATURES.items() for heat in some}
    assert sum(files.values()) < 2_000_000


def test_played_games_pay_the_noted_values():
    """Games of three turns by the rules of the game, from scenarios as they are named in the paper's space."""
    table, space = Equilibrium.load(3), lewis_space()
    rng, paid = generator(0, "games of tests"), []
    for number in rng.integers(space.size, size=400).tolist():
        scenario = space.scenario(number)
        state, heard = State(scenario, Rules(3)), (-1, -1, -1)
        while not state.is_over:
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
