"""A mixture draws one partner for every game, which stays to the end of the game."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
import torch

from dond_marl.conformance import VARIANTS, check_partner, positions
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Traits, Turns, decide
from partners.best_response import BestResponse
from partners.catalogue import mixture
from partners.mixture import MEMBER_DRAW, BySeat, Mixture, SaysPropose, reads_labels
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import NetworkPartner

THREE = ("tough", "random", "nice_tit_for_tat")


def network(seed: int, *, greedy: bool = False, width: int = 16) -> NetworkPartner:
    """A network with opinions: a new one's head is small, so its choices are almost uniform."""
    made = PolicyNetwork(NetworkShape(hidden=(width, width), sorted_items=True), seed=seed)
    with torch.no_grad():
        made.head.weight.mul_(100)
    return NetworkPartner(made, greedy=greedy)


NETWORKS = (network(1), "tough", network(2), network(3, greedy=True), network(4), network(5, width=8), network(6))


@dataclass(frozen=True)
class Signs:
    """Claims ``sign`` of the first item in every turn, which marks its games; it never agrees to an offer."""

    sign: int
    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        return decide(np.zeros(turns.size), np.tile(np.int8([self.sign, 0, 0]), (turns.size, 1)))


class OneRow(Signs):
    """Answers one row for all games, which NumPy would repeat."""

    def act(self, turns: Turns) -> Decisions:
        decisions = super().act(turns)
        return decisions._replace(oA=decisions.oA[:1])


def test_answers_of_a_member_are_not_repeated():
    with pytest.raises(OccupantError):
        rollout((Mixture([OneRow(1), "tough"]), seat_occupant("tough")), open_source("lewis").block(0, 0, 64), seed=0)


@dataclass(frozen=True)
class Listens(Signs):
    """Keeps what it was shown."""

    heard: list[Turns] = field(default_factory=list)

    def act(self, turns: Turns) -> Decisions:
        self.heard.append(turns)
        return super().act(turns)


def signs_of(mixture: Mixture, games: int = 4000, seat: int = 0) -> np.ndarray:
    """What the mixture signed, ``[N, own turns]``, in games of ten turns."""
    scenarios = open_source("uniform", max_count=4).block(0, 0, games)
    scenarios.counts[:, 0] = 10
    pair = (mixture, Signs(0)) if seat == 0 else (Signs(0), mixture)
    return rollout(pair, scenarios, Rules(10, "rejects"), seed=3).oA[:, seat::2, 0]


@pytest.mark.parametrize("weights", [None, (0.7, 0.2, 0.1), (5, 0, 15)])
def test_each_plays_its_share_of_the_games_and_stays_to_the_end(weights):
    signed = signs_of(Mixture([Signs(1), Signs(2), Signs(3)], weights))
    assert signed.shape[1] == 5 and (signed == signed[:, :1]).all()
    shares = np.bincount(signed[:, 0], minlength=4)[1:] / len(signed)
    told = np.array(weights or (1, 1, 1)) / sum(weights or (1, 1, 1))
    assert shares == pytest.approx(told, abs=0.035)  # four deviations
    assert ((shares > 0) == (told > 0)).all()


def test_a_mixture_in_a_mixture_draws_for_itself():
    # Half of the games the first, and of the other half again half each: the inner draw must not be the outer one.
    for inner_first in (True, False):
        inner = Mixture([Signs(1), Signs(2)])
        signed = signs_of(Mixture([inner, Signs(3)] if inner_first else [Signs(3), inner]))
        assert (signed == signed[:, :1]).all()
        shares = np.bincount(signed[:, 0], minlength=4)[1:] / len(signed)
        assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.035)


@pytest.mark.parametrize("uniform", [0.0, 1 - 2.0**-53])
def test_zero_weight_partner_never_plays(uniform):
    mixture = Mixture([Signs(9), *(Signs(n) for n in range(1, 8)), Signs(9)], [0, *[0.1] * 7, 0])
    turns = next(positions(seat_occupant("random"), max_count=4)).turns
    turns = turns._replace(game_noise=np.full((turns.size, 8), uniform))
    assert not (mixture.act(turns).oA[:, 0] == 9).any()


@pytest.mark.parametrize("of", [THREE, NETWORKS], ids=["scripted", "networks"])
def test_mixture_rows_match_their_partner(of):
    """Networks of one shape act in one call: to the bit as each does alone, however many games it has."""
    mixture = Mixture(of)
    for position in positions(
        mixture, max_count=4, games=24 if of == THREE else 100, sources=("by_hand",), variants=VARIANTS[:4]
    ):
        turns = position.turns
        said, who = mixture.act(turns), (turns.game_noise[:, MEMBER_DRAW] * len(of)).astype(int)
        for number, name in enumerate(of):
            rows = np.flatnonzero(who == number)
            own = seat_occupant(name).act(turns.rows(rows))
            for field_of, mine in zip(own[:4], said[:4], strict=True):
                assert (field_of == mine[rows]).all()


def test_a_partner_gets_its_rows_and_the_noise_of_their_games():
    mixture = Mixture([Signs(2), listener := Listens(1)])
    turns = list(positions(seat_occupant("random"), max_count=4, games=24))[4].turns
    mixture.act(turns)
    heard, rows = listener.heard[-1], np.flatnonzero(turns.game_noise[:, MEMBER_DRAW] >= 0.5)
    assert 0 < heard.size == len(rows) < turns.size
    assert (heard.counts == turns.counts[rows]).all() and (heard.noise == turns.noise[rows]).all()
    assert (heard.history.oA == turns.history.oA[rows]).all()
    assert (heard.game_noise[:, :MEMBER_DRAW] == turns.game_noise[rows, :MEMBER_DRAW]).all()


def test_traits_are_those_of_all_together():
    assert Mixture(["tough", "heuristic"]).traits.memoryless == seat_occupant("heuristic").traits.memoryless
    assert not Mixture(["tough", "nice_tit_for_tat"]).traits.memoryless
    assert not Mixture(["tough"]).traits.deterministic  # it is drawn


def test_a_mixture_keeps_to_the_contract():
    check_partner(mixture(THREE), sources=("lewis",))


@pytest.mark.parametrize(
    "spec",
    ["mixture(of=zoo)", {"kind": "mixture", "of": ["tough", {"kind": "boulware", "exponent": 4}], "weights": [1, 3]}],
)
def test_a_mixture_is_written_like_any_other_occupant(spec):
    made, again = seat_occupant(spec), seat_occupant(parse_spec(spec).text)
    assert isinstance(made, Mixture) and isinstance(again, Mixture)
    assert made.partners == again.partners


@pytest.mark.parametrize(
    ("of", "weights", "told"),
    [
        ([], None, r"of must be a list of occupants, or zoo; got \[\]"),
        (["tuogh"], None, "did you mean 'tough'"),
        (["tough", "nice"], [1], "weights must be 2 numbers of at least 0, not all 0"),
        (["tough", "nice"], [1, -1], "at least 0"),
    ],
)
def test_what_mixes_nothing_is_refused_with_what_was_given(of, weights, told):
    with pytest.raises(ValueError, match=told):
        mixture(of, weights)
    with pytest.raises(OccupantNameError, match=told):
        seat_occupant({"kind": "mixture", "of": of, **({"weights": weights} if weights is not None else {})})


def test_best_response_identifies_member():
    player = BestResponse("mixture(of=[ultimatum, tough], weights=[3, 1])")
    first = turn_of(State(Scenario((1, 2, 3), ((1, 3, 1), (2, 1, 2))), Rules()), prior="lewis")
    before = player.beliefs(first)
    assert before.members == ("ultimatum", "tough") and before.identity[0].tolist() == [0.75, 0.25]
    state = apply(State(Scenario((1, 2, 3), ((1, 3, 1), (2, 1, 2))), Rules()), Action(Act.PROPOSE, (1, 2, 3)))
    state = apply(state, only_action(seat_occupant("tough").act(turn_of(state, prior="lewis"))))
    after = player.beliefs(turn_of(state, prior="lewis"))
    assert after.identity[0, 1] > 0.25 and after.values.shape == (1, 3, 11)
    assert BestResponse("tough").beliefs(first).members == ("tough",)


def test_by_seat_plays_its_parts():
    both = BySeat(Mixture([Signs(1), Signs(2)], [1, 3]), Signs(3))
    assert (signs_of(both, games=200, seat=0) == signs_of(Mixture([Signs(1), Signs(2)], [1, 3]), games=200)).all()
    assert (signs_of(both, games=200, seat=1) == 3).all()
    assert not BySeat(seat_occupant("tough"), seat_occupant("random")).traits.deterministic
    assert BySeat(seat_occupant("tough"), seat_occupant("heuristic")).traits.memoryless


def test_a_network_that_says_propose_makes_the_same_offers():
    """Alone and in one call with another network; acts that are no offers stay as they are."""
    rollout((listener := Listens(0), seat_occupant("tough")), open_source("lewis").block(0, 0, 96), Rules(), seed=1)
    turns = listener.heard[0]._replace(noise=np.random.default_rng(5).random((96, 8)))
    partners = [NetworkPartner(PolicyNetwork(NetworkShape(hidden=(16, 16)), seed=seed)) for seed in (1, 2)]
    quiet = [SaysPropose(partner) for partner in partners]
    plain, together = [partner.act(turns) for partner in partners], SaysPropose.act_jointly(quiet, [48, 48], turns)
    assert {int(act) for act in plain[0].act_type} >= {Act.PROPOSE, Act.INSIST}
    for rows, decisions, alone in ((slice(48), plain[0], quiet[0]), (slice(48, 96), plain[1], quiet[1])):
        expected = np.where(decisions.act_type == Act.INSIST, Act.PROPOSE, decisions.act_type)
        assert (alone.act(turns).act_type == expected).all()
        assert (together.act_type[rows] == expected[rows]).all() and (together.oA[rows] == decisions.oA[rows]).all()


def test_networks_and_best_responses_to_them_read_no_labels():
    learned, noise = network(3, greedy=True), np.zeros((3, 8))
    for partner in (learned, SaysPropose(learned), BestResponse(learned)):
        assert not reads_labels(partner, noise).any()
    assert reads_labels(seat_occupant("heuristic"), noise).all()
    assert reads_labels(seat_occupant("best_response(to=heuristic)"), noise).all()
