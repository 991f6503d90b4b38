"""The acceptance head: labels are what the partner would do, queries change no play, and the head learns from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import permutations
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy

from dond_marl.batch import GameBatch, Games
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import Noise, OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Traits, decide
from league.settings.training import Hyperparameters
from partners.learning.acceptance import UNKNOWN, AcceptanceQueries, Respondent, numbered_answers
from partners.learning.experience import Experience, LearningSeat
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.mixture import BySeat, Mixture
from partners.network.network import NetworkShape, PolicyNetwork

torch.set_num_threads(1)
LEWIS = open_source("lewis", split="train")
SHAPE = NetworkShape(hidden=(32,), sorted_items=True)
SETTINGS = LearnerSettings(lr=3e-3, epochs=2, minibatch=256, acceptance=0.5)
QUERIES = AcceptanceQueries(splits=2, share=1.0)


@dataclass(frozen=True)
class Deviates:
    """Plays as in ``games`` until ``turn``, proposes ``oA`` there and ends the game after it."""

    games: Games
    turn: int
    oA: np.ndarray
    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns):
        taken = turns.turns_taken
        live = np.flatnonzero(self.games.turns > min(taken, self.turn))
        if taken > self.turn:
            return decide(np.full(turns.size, Act.END), np.zeros((turns.size, 3)))
        if taken == self.turn:
            return decide(np.full(turns.size, Act.PROPOSE), self.oA)
        return decide(self.games.act[live, taken], self.games.oA[live, taken])


@dataclass(frozen=True)
class Costly:
    """Rejects every offer; an answer costs money."""

    traits: ClassVar[Traits] = Traits(deterministic=True, costly=True)

    def act(self, turns):
        return decide(np.full(turns.size, Act.PROPOSE), turns.counts)


@dataclass(frozen=True)
class Talks:
    """Sends a message at random, and accepts what follows after an odd number of them."""

    traits: ClassVar[Traits] = Traits()

    def act(self, turns):
        texts = np.where(turns.noise[:, 0] < 0.5, "take it", "").astype(object)
        accepts = turns.act_mask[:, Act.AGREE] & ((turns.history.messages == "take it").sum(axis=1) % 2 == 1)
        return decide(np.where(accepts, Act.AGREE, Act.PROPOSE), turns.counts)._replace(messages=texts)


PARTNERS = ("heuristic", "nash_seeker", "nice_tit_for_tat", "generated", "trembling(of=tough)", Talks())
INDEX, RULES = (4, 2), Rules(message_length=10)


class Deals:
    """A reward of the whole for a deal."""

    def __call__(self, games, points, scenarios):
        return np.repeat(10.0 * games.deal[:, None], 2, axis=1)


def practiced(network: PolicyNetwork, update: int = 0, partner: object = "generated", **changes: object) -> Experience:
    plan = replace(Practice(LEWIS, Rules(), 600, 200, 5, acceptance=QUERIES), **changes)
    opponents = [Opponent(seat_occupant(partner), 1.0)]
    return practice(network, opponents, plan, update=update, games_before=1000 * update)[0]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("partner", PARTNERS, ids=str)
def test_labels_are_what_the_partner_does(partner, seat):
    """Every game is played again up to each own turn, where the queried split is then really proposed."""
    partner, scenarios = seat_occupant(partner), LEWIS.block(3, 0, 900)

    def play(player: object) -> Games:
        both = (player, partner) if seat == 0 else (partner, player)
        return rollout(both, scenarios, RULES, seed=7, index=INDEX, prior="lewis")

    learner = LearningSeat(PolicyNetwork(SHAPE, seed=1))
    games = play(learner)
    respondent = Respondent(partner, 1 - seat, scenarios.utilities[:, 1 - seat], Noise(7, INDEX, 900))
    compared = accepted = 0
    for turns, _ in learner._choices:
        taken, live = turns.turns_taken, np.flatnonzero(games.turns > turns.turns_taken)
        answers = respondent.sample_answers(turns, live, QUERIES, generator(1, "test", taken))
        assert (answers[:, :, :3] <= turns.counts[:, None]).all() and (answers[:, :, :3] >= 0).all()
        if taken + 1 == RULES.max_turns:
            assert (answers[:, :, 3] == UNKNOWN).all()
            continue
        for split in answers.transpose(1, 0, 2):
            really = play(Deviates(games, taken, split[:, :3])).act[live, taken + 1] == Act.AGREE
            assert np.array_equal(split[:, 3], really)
            compared, accepted = compared + len(live), accepted + int(really.sum())
    assert compared > 2000 and 0.03 < accepted / compared < 0.97


def test_labels_in_practice_match_the_offers_that_were_made():
    """Of an offer that was queried as well, the label says whether the game ended there with a deal."""
    crowd = Mixture(["generated", "heuristic", Mixture(["nash_seeker", "tough"])], [2, 1, 1])
    partner = BySeat(crowd, Mixture(["generated", "nice_tit_for_tat"]))
    queries = AcceptanceQueries(splits=20, share=0.5)
    found = practiced(PolicyNetwork(SHAPE), partner=partner, decisions=3000, acceptance=queries, reward=Deals())
    assert found.answers is not None and found.answers.dtype == torch.int8
    turn, game = found.place // found.reward.shape[1], found.place % found.reward.shape[1]
    last = turn == found.is_decision.sum(dim=0)[game] - 1
    deal = found.reward[turn, game] == 1
    known = found.answers[:, 0, 3] != UNKNOWN
    assert torch.equal(known[:, None].expand(-1, 20), found.answers[:, :, 3] != UNKNOWN)
    assert 0.1 < known.float().mean() < 0.9
    offered = (found.answers[:, :, :3] == found.oA[:, None]).all(dim=2) & (known & (turn < 4))[:, None]
    offered &= (found.act == Act.PROPOSE)[:, None]
    label, ended = found.answers[:, :, 3][offered], (last & deal)[:, None].expand(-1, 20)[offered]
    assert torch.equal(label == 1, ended) and 50 < ended.sum() < 0.9 * len(ended)


def test_expensive_partners_are_not_queried():
    crowd = Mixture(["heuristic", Mixture([Costly(), "tough"])], names=["heuristic", "rest"])
    scenarios, noise = LEWIS.block(3, 0, 300), Noise(7, INDEX, 300)
    respondent = Respondent(crowd, 1, scenarios.utilities[:, 1], noise)
    turns, games = GameBatch(scenarios, prior="lewis").turns(), np.arange(300)
    answers = respondent.sample_answers(turns, games, QUERIES, generator(1, "test"))
    drawn, rest = crowd.draw(noise.game_noise(1))
    costly = (drawn == 1) & (crowd.partners[1].draw(rest)[0] == 0)
    assert np.array_equal(answers[:, 0, 3] == UNKNOWN, costly) and 50 < costly.sum() < 100
    secret = GameBatch(scenarios, Rules(max_turns=3, secret_claims=True)).turns()
    assert (respondent.sample_answers(secret, games, QUERIES, generator(1, "test"))[:, :, 3] == UNKNOWN).all()
    only = practiced(PolicyNetwork(SHAPE), partner=Costly())
    assert only.answers is not None and (only.answers[:, :, 3] == UNKNOWN).all()
    metrics = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2).update(only)
    assert metrics["acceptance_loss"] == 0 and all(math.isfinite(value) for value in metrics.values())


def test_failing_partner_is_named():
    class Fails(Costly):
        traits: ClassVar[Traits] = Traits(deterministic=True)

        def act(self, turns):
            if (turns.last_partner_act == Act.PROPOSE).all() and turns.turns_taken == 1:
                raise ValueError("no answer")
            return super().act(turns)

    scenarios = LEWIS.block(3, 0, 20)
    respondent = Respondent(Fails(), 1, scenarios.utilities[:, 1], Noise(7, INDEX, 20))
    turns = GameBatch(scenarios, prior="lewis").turns()
    with pytest.raises(OccupantError) as caught:
        respondent.accepts(turns, np.arange(20), turns.counts)
    assert caught.value.seat == 1 and isinstance(caught.value.__cause__, ValueError)


def test_queries_change_no_play_and_do_not_depend_on_batches():
    network, partner = PolicyNetwork(SHAPE), Mixture(["generated", "heuristic"])
    plain = practiced(network, partner=partner, acceptance=None, games=60)
    queried = practiced(network, partner=partner, games=60)
    plan = Practice(LEWIS, Rules(), 600, 60, 5, acceptance=QUERIES)
    ahead, _ = practice(network, [Opponent(partner, 1.0)], plan, update=0, games_before=0, decisions_per_game=2.0)
    for name in Experience._fields:
        one, two, three = (getattr(each, name) for each in (plain, queried, ahead))
        assert one is two is three is None or torch.equal(two, three), name
        assert (one is None) == (name in ("targets", "regrets", "posterior", "unread", "answers"))
        assert one is None or torch.equal(one, two), name


def test_learner_restores_exactly():
    through = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    through.update(practiced(through.network))
    tensors, counters = through.state()
    assert {name for name in tensors if name.startswith("acceptance.")} == {
        "acceptance.layer.weight",
        "acceptance.layer.bias",
    }
    held = {name: value.clone() for name, value in tensors.items()}
    again = Learner(PolicyNetwork(SHAPE, seed=9), SETTINGS, seed=2)
    again.restore(held, counters)
    for learner in (through, again):
        learner.update(practiced(learner.network, update=1))
    ends = [learner.state()[0] for learner in (through, again)]
    assert ends[0].keys() == ends[1].keys() and all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
    without = Learner(PolicyNetwork(SHAPE, seed=1), replace(SETTINGS, acceptance=0.0), seed=2)
    without.network.load_state_dict(through.network.state_dict())  # the network has no part of the head
    assert not any(name.startswith("acceptance.") for name in without.state()[0])


def test_loss_and_probabilities_agree_in_any_order_of_items():
    learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    for update in range(3):
        learner.update(practiced(learner.network, update))
    head, network = learner.acceptance, learner.network
    assert head is not None
    some = LEWIS.block(9, 0, 200)
    kinds = some.counts.astype(int) * 11 + some.utilities[:, 0]
    scenarios = some.rows(np.flatnonzero([len(set(kind)) == 3 for kind in kinds.tolist()]))  # equal items: no order
    rows = np.arange(scenarios.size)
    answers = np.stack([np.concatenate([scenarios.counts - 1 > 0, rows[:, None] % 2], axis=1)], axis=1).astype(np.int8)
    for order in map(list, permutations(range(3))):
        turns = GameBatch(Scenarios(scenarios.counts[:, order], scenarios.utilities[:, :, order])).turns()
        odds = head.probabilities(network, turns).reshape(-1, 5, 5, 5)
        beyond = np.indices((5, 5, 5)).transpose(1, 2, 3, 0) > turns.counts[:, None, None, None]
        assert (odds[beyond.any(axis=-1)] == 0).all() and (odds[~beyond.any(axis=-1)] > 0).all()
        oA = answers[:, 0, order]
        chosen = torch.from_numpy(odds[rows, oA[:, 0], oA[:, 1], oA[:, 2]])
        inputs = network.prepare(torch.from_numpy(network.adapter.encode(turns)))
        ordered = torch.from_numpy(answers[:, :, [*order, 3]])
        found = head.loss(network.trunk_output(inputs), numbered_answers(network, ordered, inputs))
        expected = binary_cross_entropy(chosen, torch.from_numpy(answers[:, 0, 3]).double())
        assert float(found.detach()) == pytest.approx(float(expected), rel=1e-5)
        if order == [0, 1, 2]:
            first = odds
        assert np.array_equal(odds, first.transpose(0, *(axis + 1 for axis in order)))


def test_acceptance_is_learned():
    learner = Learner(PolicyNetwork(SHAPE, seed=1), replace(SETTINGS, acceptance=1.0), seed=2)
    losses = [
        learner.update(practiced(learner.network, update, partner="linear", decisions=1000))["acceptance_loss"]
        for update in range(8)
    ]
    labels = practiced(learner.network, 9, partner="linear").answers[:, :, 3]
    rate = float((labels == 1).sum() / (labels != UNKNOWN).sum())
    base = -rate * math.log(rate) - (1 - rate) * math.log(1 - rate)
    assert losses[0] > base > 1.3 * losses[-1]


def test_settings():
    on = Hyperparameters(acceptance=0.1, acceptance_splits=3)
    assert on.learner(1).acceptance == 0.1 and "acceptance_share" not in on.model_dump()
    with pytest.raises(ValueError, match="rollouts: host"):
        Hyperparameters(acceptance=0.1, rollouts="device")
    with pytest.raises(ValueError, match="answers to queries"):
        learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
        learner.update(practiced(learner.network)._replace(answers=None))
