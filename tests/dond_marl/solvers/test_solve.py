"""Solution concepts of scenarios against worked examples, plain enumeration, and the published games."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.game import Scenario, rest, worth
from dond_marl.scenarios.data import load_self_play
from dond_marl.scenarios.sources import Scenarios, lewis_space, open_source, pack
from dond_marl.solvers.solve import BLOCK_CELLS, Concept, solve
from dond_marl.splits import grid, grid_size

SETS = ("pareto", "nash", "egalitarian", "utilitarian")


def selected(concept: Concept, row: int, max_count: int) -> set[tuple[int, ...]]:
    """The items of seat_0 in each split that a concept selects."""
    return {tuple(oA) for oA in grid(max_count)[concept.splits[row]].tolist()}


def concepts(solutions) -> dict[str, Concept]:
    named = {name: getattr(solutions, name) for name in SETS}
    return named | {f"ultimatum of seat_{seat}": solutions.ultimatum[seat] for seat in (0, 1)}


# --- Worked by hand -------------------------------------------------------------------------------------------------


def test_a_scenario_in_which_every_concept_chooses_something_else():
    # 1 book, 1 hat, 3 balls; seat_0 values 2 5 1, seat_1 values 4 6 0. Seat_1 has no use for balls, so on the Pareto
    # frontier seat_0 has all three, and the book and the hat are what there is to decide:
    #   seat_0 gets      balls     +book     +hat     everything
    #   seat_0, seat_1   3, 10     5, 6      8, 4     10, 0
    #   sum              13        11        12       10
    #   product          30        30        32       0
    #   smaller          3         5         4        0
    solved = solve(pack([Scenario((1, 1, 3), ((2, 5, 1), (4, 6, 0)))]))
    chosen = {name: selected(concept, 0, 3) for name, concept in concepts(solved).items()}
    assert chosen == {
        "pareto": {(0, 0, 3), (1, 0, 3), (0, 1, 3), (1, 1, 3)},
        "nash": {(0, 1, 3)},
        "egalitarian": {(1, 0, 3)},
        "utilitarian": {(0, 0, 3)},
        "ultimatum of seat_0": {(0, 1, 3)},
        "ultimatum of seat_1": {(0, 0, 3)},
    }
    assert solved.nash.point.tolist() == [[8, 4]] and solved.utilitarian.point.tolist() == [[3, 10]]
    assert (solved.joint.item(), solved.smaller.item(), solved.product.item()) == (13, 5, 32)


def test_a_tie_is_a_set_and_its_point_favours_no_seat():
    # One of each. seat_0 values 5 3 2, seat_1 values 2 3 5: the book to one, the ball to the other, and the hat is
    # worth 3 to whoever gets it: 5, 8 or 8, 5.
    solved = solve(pack([Scenario((1, 1, 1), ((5, 3, 2), (2, 3, 5)))]))
    for concept in (solved.nash, solved.egalitarian, solved.utilitarian):
        assert selected(concept, 0, 1) == {(1, 0, 0), (1, 1, 0)}
        assert concept.point.tolist() == [[6.5, 6.5]]
        assert concept.smaller.tolist() == [5] and concept.product.tolist() == [40]
    assert [concept.point.tolist() for concept in solved.ultimatum] == [[[8, 5]], [[5, 8]]]
    assert selected(solved.pareto, 0, 1) == {(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)}


def test_an_ultimatum_leaves_the_responder_a_point_and_favours_it_where_the_opener_does_not_care():
    # seat_0 wants books only, seat_1 values everything: the hats cost seat_0 nothing, so seat_1 gets them.
    free = Scenario((2, 3, 0), ((5, 0, 0), (2, 2, 1)))
    # The only thing that seat_1 values is one book, which seat_0 would like too.
    dear = Scenario((1, 2, 0), ((6, 2, 0), (10, 0, 0)))
    solved = solve(pack([free, dear]))
    assert solved.ultimatum[0].point.tolist() == [[10, 6], [4, 10]]
    assert selected(solved.ultimatum[0], 0, 3) == {(2, 0, 0)} and selected(solved.ultimatum[0], 1, 3) == {(0, 2, 0)}


# --- Against plain enumeration --------------------------------------------------------------------------------------

TRIPLES = st.tuples(*[st.integers(0, 10)] * 3)
POOLS = st.tuples(*[st.integers(0, 4)] * 3).filter(any)
SCENARIOS = st.lists(st.builds(Scenario, POOLS, st.tuples(TRIPLES, TRIPLES)), min_size=1, max_size=8)


def enumerated(scenario: Scenario) -> dict[str, dict[tuple[int, ...], tuple[Fraction, Fraction]]]:
    """Every concept by its definition, one split at a time: what seat_0 gets, and both shares of ten."""
    wholes = [max(scenario.pool_value(seat), 1) for seat in (0, 1)]
    splits = {}
    for oA in itertools.product(*(range(count + 1) for count in scenario.counts)):
        scores = worth(scenario.utilities[0], oA), worth(scenario.utilities[1], rest(scenario.counts, oA))
        splits[oA] = tuple(Fraction(10 * score, value) for score, value in zip(scores, wholes, strict=True))

    def best(key: Callable, among=None):
        among = splits if among is None else among
        top = max(map(key, among.values()), default=None)
        return {oA: pair for oA, pair in among.items() if key(pair) == top}

    def dominated(pair):
        return any(all(x >= y for x, y in zip(other, pair, strict=True)) and other != pair for other in splits.values())

    pareto = {oA: pair for oA, pair in splits.items() if not dominated(pair)}
    ideal = [max(max(pair[seat] for pair in splits.values()), Fraction(1)) for seat in (0, 1)]
    return {
        "every": splits,
        "pareto": pareto,
        "nash": best(lambda p: p[0] * p[1], pareto),
        "egalitarian": best(sorted),
        "kalai_smorodinsky": best(lambda p: sorted(share / most for share, most in zip(p, ideal, strict=True))),
        "utilitarian": best(sum),
        "ultimatum of seat_0": best(lambda p: p, {oA: p for oA, p in splits.items() if p[1] > 0}),
        "ultimatum of seat_1": best(lambda p: p[::-1], {oA: p for oA, p in splits.items() if p[0] > 0}),
    }


@given(SCENARIOS, st.integers(4, 5))
def test_every_concept_is_what_plain_enumeration_finds(scenarios, max_count):
    solved = solve(pack(scenarios), max_count)
    actual = concepts(solved) | {"kalai_smorodinsky": solved.egalitarian}
    for row, scenario in enumerate(scenarios):
        expected = enumerated(scenario)
        pairs = expected.pop("every").values()
        for name, splits in expected.items():
            concept = actual[name]
            assert selected(concept, row, max_count) == set(splits), name
            number = max(len(splits), 1)
            for seat in (0, 1):
                assert concept.point[row, seat] == pytest.approx(float(sum(p[seat] for p in splits.values()) / number))
            assert concept.smaller[row] == pytest.approx(float(sum(map(min, splits.values())) / number))
            assert concept.product[row] == pytest.approx(float(sum(a * b for a, b in splits.values()) / number))
        assert solved.joint[row] == pytest.approx(float(max(map(sum, pairs))))
        assert solved.smaller[row] == pytest.approx(float(max(map(min, pairs))))
        assert solved.product[row] == pytest.approx(float(max(a * b for a, b in pairs)))


def test_every_solution_of_the_lewis_space_is_pareto_optimal_and_no_set_is_empty():
    solved = solve(lewis_space())
    assert solved.max_count == 4 and solved.size == 5295
    for name, concept in concepts(solved).items():
        assert concept.splits.any(axis=1).all(), name
        assert (concept.splits <= solved.pareto.splits).all(), name


# --- Blocks, grids, and what is remembered --------------------------------------------------------------------------


def test_a_scenario_is_solved_alike_alone_in_a_block_and_on_a_wider_grid():
    scenarios = open_source("uniform", max_count=6).draw(np.random.default_rng(1), 383)
    together, wide = solve(scenarios, 6), solve(scenarios, 8)
    assert BLOCK_CELLS // grid_size(6) == 191, "two blocks and one scenario more, or the rows below tell little"
    for row in (0, 189, 190, 191, 192, 381, 382):
        alone = solve(scenarios.rows(slice(row, row + 1)))
        for name, concept in concepts(alone).items():
            for other in (together, wide):
                same = concepts(other)[name]
                assert selected(same, row, other.max_count) == selected(concept, 0, alone.max_count)
                np.testing.assert_allclose(same.point[row], concept.point[0], atol=1e-12)


def test_a_table_is_solved_once_whatever_arrays_hold_it_and_cannot_be_spoilt():
    space = lewis_space()
    solved = solve(space)
    assert solve(Scenarios(space.counts.copy(), np.asfortranarray(space.utilities), space.prior)) is solved
    for array in (solved.nash.splits, solved.nash.point, solved.best.joint, solved.scenarios.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_no_scenario_is_solved_too_and_a_pool_beyond_the_grid_is_refused():
    nothing = solve(lewis_space().rows(slice(0, 0)))
    assert nothing.size == 0 and nothing.nash.splits.shape == (0, 8) and nothing.joint.shape == (0,)
    with pytest.raises(ValueError):
        solve(lewis_space(), 3)
    with pytest.raises(ValueError):
        solve(lewis_space(), 11)


# --- The published games --------------------------------------------------------------------------------------------


@pytest.fixture
def published(data_dir):
    return solve(Scenarios(*load_self_play(data_dir)))


def printed(concept: Concept) -> list[float]:
    """Means of seat_0, seat_1, their sum, the smaller and the product, to the hundredth, halves up."""
    first, second = concept.point.mean(axis=0)
    means = first, second, first + second, concept.smaller.mean(), concept.product.mean()
    return [int(value * 100 + 0.5) / 100 for value in means]


def test_the_reference_values_of_the_published_games(published):
    # Full information, mean over the 4,086 contexts: seat_0, seat_1, sum, smaller, product. The Nash point's smaller
    # share is 26,252.5 / 4,086 = 6.42499; the reference prints 6.43, which is that number rounded twice.
    assert printed(published.nash) == [7.47, 7.48, 14.95, 6.42, 55.29]
    assert published.nash.smaller.mean() == pytest.approx(26252.5 / 4086, abs=1e-9)
    assert printed(published.utilitarian) == [7.50, 7.51, 15.01, 5.91, 53.85]
    assert printed(published.egalitarian) == [7.40, 7.41, 14.81, 6.54, 54.85]
    assert printed(published.ultimatum[0])[:3] == [9.40, 4.28, 13.68]
