"""The exact best response: against brute force on tiny games, and against its own play."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.conformance import check_partner
from dond_marl.game import Act, Action, Rules, Scenario
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import lewis_space, open_source, pack
from dond_marl.seats import Traits, decide
from dond_marl.solvers.best_response import Moves, OutOfReach, Solver, best_response_value
from dond_marl.solvers.contexts import contexts_in, prior_contexts, splits_of
from dond_marl.solvers.replies import Replies
from partners.best_response import BestResponse
from tests.dond_marl.solvers.brute_force import Whimsical, by_brute_force


class Grudging:
    """A partner that remembers: it agrees to whatever is worth more to it than its own first claim left the other."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        claims = turns.history.oA
        own_claim = claims[:, turns.seat] if turns.turns_taken > turns.seat else np.zeros_like(turns.counts)
        wanted = (turns.my_utilities * own_claim).sum(axis=1)
        offered = (turns.my_utilities * turns.last_partner_offer_for_me).sum(axis=1)
        agree = turns.act_mask[:, Act.AGREE] & (offered + own_claim[:, 0] > wanted)
        return decide(np.where(agree, Act.AGREE, Act.PROPOSE), (turns.counts - (turns.my_utilities < 2)).clip(0))


POOL = (1, 2, 1)
TINY = [
    Scenario(POOL, ((2, 3, 2), (4, 1, 4))),
    Scenario(POOL, ((2, 3, 2), (4, 3, 0))),
    Scenario(POOL, ((2, 3, 2), (0, 1, 8))),
    Scenario(POOL, ((2, 3, 2), (0, 5, 0))),
    Scenario(POOL, ((2, 3, 2), (0, 5, 0))),  # twice: twice as likely
    Scenario(POOL, ((6, 0, 4), (4, 1, 4))),
    Scenario((2, 1, 1), ((1, 6, 2), (0, 1, 9))),
    Scenario((2, 1, 1), ((1, 6, 2), (5, 0, 0))),
]


@pytest.mark.parametrize("disagree", ["ends", "rejects"])
@pytest.mark.parametrize("turns", [1, 2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 5))])
@pytest.mark.parametrize("seat", [0, 1])
def test_value_equals_brute_force(seat, turns, disagree):
    rules = Rules(turns, disagree)
    for partner in (Whimsical(1), Whimsical(2), seat_occupant("heuristic"), seat_occupant("stubborn(late=2)")):
        scenarios = TINY if turns < 5 else TINY[:4]
        table = [s if seat == 0 else Scenario(s.counts, s.utilities[::-1]) for s in scenarios]
        expected = by_brute_force([(1, partner)], table, seat, rules)
        value = best_response_value(partner, contexts_in(pack(table), seat), seat, rules, prior="")
        assert value == pytest.approx(expected, abs=1e-9)
        assert expected > 0 or turns == 1 or isinstance(partner, Whimsical)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_partner_with_memory_is_exact_in_three_turns(seat, turns):
    table = [s if seat == 0 else Scenario(s.counts, s.utilities[::-1]) for s in TINY]
    expected = by_brute_force([(1, Grudging())], table, seat, Rules(turns))
    assert best_response_value(Grudging(), contexts_in(pack(table), seat), seat, Rules(turns)) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("boulware(exponent=2)", "tough", "stubborn(late=5)")),
        "pushover",
    ],
)
def test_played_response_earns_its_computed_value(name):
    """Over the whole legal space, which is its prior, there is no chance left: in both seats, to the last digit."""
    partner, space = seat_occupant(name), lewis_space()
    response = BestResponse(partner)
    for seat in (0, 1):
        pair = (response, partner) if seat == 0 else (partner, response)
        games = rollout(pair, space, seed=0)
        value = best_response_value(partner, contexts_in(space, seat), seat)
        assert games.scores[:, seat].mean() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("seat", [0, 1])
def test_solver_finds_the_best_of_all_acts(seat):
    """The values hold in every state that any acts reach, although only acts with large bounds are played out."""
    table = TINY if seat == 0 else [Scenario(s.counts, s.utilities[::-1]) for s in TINY]
    contexts, rules, compared = contexts_in(pack(table), seat), Rules(6), 0
    for partner in (Whimsical(1), Whimsical(3), seat_occupant("heuristic")):
        moves = Moves(contexts, Replies(partner, rules, contexts.partner_views, ""))
        solver, turns_left = Solver(moves), rules.max_turns - seat
        states = [moves.opening(context, seat).following for context in range(contexts.size)]
        while turns_left > 1:
            states = [np.unique(numbers) for numbers in states]
            for numbers in filter(len, states):
                solved, every = solver.solve(numbers, turns_left), solver.act_values(numbers, turns_left)
                best, plays = every.max(axis=1), solved.act < every.shape[1]
                assert (solved.values >= best - 1e-9).all()
                rows = np.flatnonzero(plays)
                assert solved.values[rows] == pytest.approx(every[rows, solved.act[rows]], abs=1e-9)
                compared += len(rows)
            states = [moves.steps(moves.unpack(numbers), turns_left).following for numbers in states if len(numbers)]
            turns_left -= 2
    assert compared > 50


def test_prior_of_lewis_splits_is_the_whole_space():
    complete = contexts_in(lewis_space(), 0)
    for split in ("train", "test", "paper_test", "all"):
        contexts = prior_contexts(open_source("lewis", split=split), 0)
        assert (contexts.types == complete.types).all() and (contexts.shares == complete.shares).all()
    assert complete.size == 438 and complete.types.shape[1] == 26
    with pytest.raises(ValueError):
        prior_contexts(open_source("uniform"), 0)


def test_contexts_weigh_scenarios_by_frequency():
    contexts = contexts_in(pack(TINY), 0)
    assert contexts.size == 3
    assert sorted(contexts.shares.tolist()) == pytest.approx([1 / 8, 2 / 8, 5 / 8])
    common = int(contexts.shares.argmax())
    assert sorted(contexts.weights[common].tolist()) == pytest.approx([0.2, 0.2, 0.2, 0.4])
    assert contexts.own_views.utilities[common].tolist() == [2, 3, 2]
    certain = contexts.certain()
    assert certain.size == 7 and certain.shares.sum() == pytest.approx(1)


def test_splits_are_numbered_lexicographically():
    splits = splits_of(np.array([[1, 2, 1], [1, 1, 1]], dtype=np.int8))
    assert splits.number.tolist() == [12, 8]
    assert splits.oA[0, 0].tolist() == [0, 0, 0] and splits.oA[0, 11].tolist() == [1, 2, 1]
    complement = splits.oA[0, splits.complement[0]]
    assert (splits.oA[0] + complement == [1, 2, 1]).all()


def test_revealed_values_are_seen_by_both():
    """The heuristic does not use revealed values, so this is the best response with the partner's values revealed."""
    partner, rules, space = seat_occupant("heuristic"), Rules(2), lewis_space().rows(slice(None, None, 5))
    pair = BestResponse(partner), partner
    games = rollout(pair, space, rules, seed=0, reveal_partner_utilities=True)
    revealed = best_response_value(partner, contexts_in(space, 0).certain(), 0, rules)
    assert games.scores[:, 0].mean() == pytest.approx(revealed, abs=1e-9)


def test_response_conforms_to_the_partner_contract():
    """The contract holds for the scenarios that the response is made for."""
    variants = [(Rules(1), False), (Rules(2, "rejects"), True), (Rules(5, "rejects"), False), (Rules(10), False)]
    check_partner(
        seat_occupant("best_response(to=stubborn)"), max_count=4, games=12, sources=("lewis",), variants=variants
    )


def test_inexact_cases_are_refused():
    with pytest.raises(OccupantNameError):
        seat_occupant("best_response(to=micro)")  # it remembers, and gambles
    with pytest.raises(OccupantNameError):
        seat_occupant("best_response(to=hueristic)")
    scenarios = open_source("uniform").draw(np.random.default_rng(0), 4)
    with pytest.raises(OccupantError) as error:
        rollout((BestResponse("heuristic"), seat_occupant("heuristic")), scenarios._replace(prior="uniform"), seed=0)
    assert isinstance(error.value.__cause__, OutOfReach)


def test_end_closes_at_claims_that_add_up():
    """A partner that ENDs on its second turn: to claim the rest of what it claimed is a deal, as AGREE was."""

    class Ender(Whimsical):
        def act(self, turns):
            claim = turns.counts.copy()
            claim[:, 1] = 0
            first = turns.turns_taken < 2
            return decide(np.full(turns.size, Act.PROPOSE if first else Act.END), claim * first)

    assert Action(Act.END).act_type == Act.END
    table = [Scenario(POOL, ((2, 3, 2), (4, 1, 4)))]
    for seat, turns in ((1, 4), (1, 3), (0, 4)):
        side = table if seat == 0 else [Scenario(POOL, ((4, 1, 4), (2, 3, 2)))]
        expected = by_brute_force([(1, Ender(0))], side, seat, Rules(turns))
        assert best_response_value(Ender(0), contexts_in(pack(side), seat), seat, Rules(turns)) == pytest.approx(
            expected
        )
        assert expected == pytest.approx(6)
