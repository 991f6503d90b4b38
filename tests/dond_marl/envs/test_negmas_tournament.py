"""Our occupants among the negotiators of NegMAS: the same games as at our table, and in its own tournaments."""

import pickle

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Traits, decide

negmas = pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
from dond_marl.envs.negmas_negotiator import OurNegotiator, scenarios_of  # noqa: E402  # needs NegMAS

pytestmark = pytest.mark.filterwarnings("ignore")  # NegMAS's own
TABLE = open_source("lewis", split="test").table
SCENARIOS = TABLE.rows(np.arange(0, TABLE.size, TABLE.size // 12))


def negotiated(first, second, number, steps=5, **given):
    scenario = scenarios_of(SCENARIOS.rows(np.array([number])))[0]
    mechanism = negmas.SAOMechanism(outcome_space=scenario.outcome_space, n_steps=steps, **given)
    mechanism.add(first, preferences=scenario.ufuns[0])
    mechanism.add(second, preferences=scenario.ufuns[1])
    return mechanism.run().agreement


@pytest.mark.parametrize("one, other", [("heuristic", "linear"), ("conceder", "heuristic"), ("boulware", "hybrid")])
def test_two_of_ours_agree_in_negmas_where_they_do_at_our_table(one, other):
    for given, steps in (({}, 5), ({"one_offer_per_step": True}, 10)):
        games = rollout((seat_occupant(one), seat_occupant(other)), SCENARIOS, Rules(10), seed=0)
        found = [
            negotiated(OurNegotiator(one), OurNegotiator(other), number, steps, **given)
            for number in range(SCENARIOS.size)
        ]
        assert found == [
            tuple(allocation[0].tolist()) if deal else None
            for deal, allocation in zip(games.deal, games.allocation, strict=True)
        ]
        assert games.deal.any()


def test_agreeing_to_what_is_no_longer_on_the_table_offers_it():
    from negmas.sao import ResponseType, SAONegotiator, SAOResponse

    class Waits(SAONegotiator):
        """Offers nothing, and takes whatever is offered."""

        def __call__(self, state, dest=None):
            if state.current_offer is None:
                return SAOResponse(ResponseType.REJECT_OFFER, None, {"text": "no"})
            return SAOResponse(ResponseType.ACCEPT_OFFER, state.current_offer)

        def propose(self, state, dest=None):
            return None

    class Agrees:
        traits = Traits(deterministic=True)

        def act(self, turns):
            return decide(np.where(turns.act_mask[:, Act.AGREE], Act.AGREE, Act.PROPOSE), turns.counts)

    everything = tuple(SCENARIOS.counts[0].tolist())  # heard as what Waits insists on, in seat_0
    assert negotiated(Waits(), OurNegotiator(Agrees()), 0) == everything


def test_utilities_are_points_and_no_deal_is_worth_nothing():
    for scenario, counts, utilities in zip(
        scenarios_of(SCENARIOS), SCENARIOS.counts.tolist(), SCENARIOS.utilities.tolist(), strict=True
    ):
        for seat, ufun in enumerate(scenario.ufuns):
            assert ufun.reserved_value == 0
            for outcome in scenario.outcome_space.enumerate():
                mine = outcome if seat == 0 else [c - given for c, given in zip(counts, outcome, strict=True)]
                points = sum(u * k for u, k in zip(utilities[seat], mine, strict=True))
                assert float(ufun(outcome)) == pytest.approx(points / 10)


def test_what_is_no_game_of_ours_is_said():
    from negmas.outcomes import make_issue
    from negmas.preferences import LinearAdditiveUtilityFunction, TableFun

    with pytest.raises(InputError, match="at most 100 acts, two a step; got n_steps 51"):
        negotiated(OurNegotiator("heuristic"), OurNegotiator("linear"), 0, 51)
    issues = [make_issue(["red", "green"], name="colour"), make_issue(3, name="size")]
    taste = LinearAdditiveUtilityFunction(
        [TableFun({"red": 0.0, "green": 1.0}), TableFun({0: 0.0, 1: 0.5, 2: 1.0})], issues=issues
    )
    mechanism = negmas.SAOMechanism(issues=issues, n_steps=5)
    for _ in range(2):
        mechanism.add(OurNegotiator("heuristic"), preferences=taste)
    with pytest.raises(InputError, match="three issues of whole numbers from 0"):
        mechanism.run()


def test_ours_play_a_tournament_of_negmas():
    from negmas.sao.negotiators import BoulwareTBNegotiator
    from negmas.tournaments.neg import cartesian_tournament

    results = cartesian_tournament(
        competitors=[OurNegotiator, OurNegotiator, BoulwareTBNegotiator],
        competitor_params=[{"occupant": "heuristic"}, {"occupant": "boulware"}, {}],
        competitor_names=["our heuristic", "our boulware", "theirs"],
        scenarios=scenarios_of(SCENARIOS.rows(np.arange(2))),
        n_steps=5,
        n_repetitions=1,
        njobs=-1,
        path=None,
        verbosity=0,
        normalize_ufuns=False,
    )
    scores = {row["strategy"]: row["score"] for _, row in results.final_scores.iterrows()}
    assert len(scores) == 3 and all(0 <= score <= 1 for score in scores.values())
    assert not results.details["has_error"].any() and len(results.details) == 3 * 3 * 2 * 2


def test_it_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(OurNegotiator("heuristic")))._occupant == seat_occupant("heuristic")
