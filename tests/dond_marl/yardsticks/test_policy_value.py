"""Expected scores without sampling: what is played agrees, to the digit where nothing is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space
from dond_marl.seats import Traits, decide
from dond_marl.splits import action_at, action_count, grid, grid_size, legal_action_mask
from dond_marl.yardsticks.metrics import points_of_ten
from dond_marl.yardsticks.policy_value import policy_value

SOME = lewis_space().rows(np.arange(0, 5295, 40))


class Ender:
    """Offers, mirrors what it was left, and ENDs, by fixed chances: the final selection matters."""

    traits = Traits(memoryless=True)

    def probs(self, turns, max_count):
        chances = np.zeros((turns.size, action_count(max_count)))
        chances[:, : grid_size(max_count)] = (grid(max_count) == (turns.counts // 2)[:, None]).all(axis=2)
        heard = turns.last_partner_act <= Act.INSIST
        rest = (grid(max_count) == turns.last_partner_offer_for_me[:, None]).all(axis=2)
        chances[:, : grid_size(max_count)] += 3 * rest * heard[:, None]
        chances[:, -1] = 2 * heard
        chances[:, -3] = 0.3 * heard
        chances *= legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], max_count)
        return chances / chances.sum(axis=1, keepdims=True)

    def act(self, turns):
        chances = self.probs(turns, 4).cumsum(axis=1)
        number = (chances <= turns.noise[:, :1] * chances[:, -1:]).sum(axis=1)
        return decide(*action_at(number, 4))


@pytest.mark.parametrize("turns", [1, 2, 3, 10])
@pytest.mark.parametrize("pair", [("heuristic", "boulware"), ("expert", "ultimatum"), ("stubborn", "heuristic")])
def test_where_nothing_is_drawn_it_is_what_is_played(pair, turns):
    partners = tuple(map(seat_occupant, pair))
    rules = Rules(turns)
    expected = policy_value(partners, SOME, rules, "lewis")
    games = rollout(partners, SOME, rules, seed=0, prior="lewis")
    assert expected.points == pytest.approx(points_of_ten(games.scores, SOME.wholes), abs=1e-6)
    assert expected.deals == pytest.approx(games.deal.astype(float)) and expected.turns == pytest.approx(
        games.turns.astype(float)
    )


@pytest.mark.parametrize("turns", [2, 3, 10])
@pytest.mark.parametrize("pair", [("random", "heuristic"), ("expert(greedy=False)", "nice"), (Ender(), Ender())])
def test_where_partners_gamble_many_games_agree(pair, turns):
    partners, rules = tuple(map(seat_occupant, pair)), Rules(turns)
    expected = policy_value(partners, SOME, rules, "lewis")
    many = SOME.rows(np.repeat(np.arange(SOME.size), 60))
    games = rollout(partners, many, rules, seed=2, prior="lewis")
    for seat in (0, 1):
        points = points_of_ten(games.scores, many.wholes)[:, seat]
        # Scenarios are the same on both sides: what is left is the chance within each.
        within = points - np.repeat(expected.points[:, seat], 60)
        assert abs(within.mean()) < 4 * within.std() / many.size**0.5 + 1e-6
    deals = games.deal - np.repeat(expected.deals, 60)
    assert abs(deals.mean()) < 4 * deals.std() / many.size**0.5 + 1e-6
    length = games.turns - np.repeat(expected.turns, 60)
    assert abs(length.mean()) < 4 * length.std() / many.size**0.5 + 1e-6
    if isinstance(pair[0], Ender) and turns > 2:
        assert (games.act[games.deal] == Act.END).any()  # some closed by claims that added up


def test_who_has_no_odds_is_refused():
    with pytest.raises(ValueError, match="knows its probabilities"):
        policy_value((seat_occupant("micro"), seat_occupant("heuristic")), SOME, Rules(), "lewis")
    with pytest.raises(ValueError, match='disagree="ends"'):
        policy_value((seat_occupant("random"), seat_occupant("heuristic")), SOME, Rules(5, "rejects"), "lewis")
