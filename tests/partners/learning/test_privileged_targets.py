"""Privileged targets of learning: they are true, it teaches beliefs and a critic, and no seat plays by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Traits, decide
from league.settings.training import Hyperparameters
from partners.learning.experience import Experience, LearningSeat
from partners.learning.first_weights import first_network
from partners.learning.learners import Learner, belief_loss
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.mixture import NO_MEMBER, Mixture, member_names, privileged_targets
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.numpy_network import NumpyPartner, load_numpy_network
from partners.network.partner import NetworkPartner

torch.set_num_threads(1)
LEWIS = open_source("lewis", split="train")
CROWD = Mixture(["tough", Mixture(["ultimatum", "level_k"], [1, 2])], [1, 3])
MEMBERS = ("level_k", "tough", "ultimatum")
SHAPE = NetworkShape(hidden=(32,), history="flat", sorted_items=True, beliefs=True, members=MEMBERS)
SETTINGS = LearnerSettings(lr=3e-3, epochs=2, minibatch=256, belief=0.5, critic="both")


@dataclass(frozen=True)
class Wants:
    """Asks for all but one item, whatever it is worth to it, and agrees to nothing."""

    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns):
        kept = turns.counts.copy()
        kept[:, 0] -= 1
        return decide(np.full(turns.size, Act.PROPOSE), kept)


def practiced(network: PolicyNetwork, update: int = 0, partner: object = CROWD, size: int = 400) -> Experience:
    plan = Practice(LEWIS, Rules(), size, 100, 5, privileged=True)
    opponents = [Opponent(partner, 1.0)]  # type: ignore[arg-type]
    return practice(network, opponents, plan, update=update, games_before=1000 * update)[0]


def test_targets_match_drawn_partner():
    scenarios = LEWIS.block(3, 0, 200)
    player = NetworkPartner(PolicyNetwork(SHAPE), greedy=True)
    assert member_names(CROWD) == MEMBERS and member_names(seat_occupant("tough")) == ()
    games = rollout((player, CROWD), scenarios, seed=7, index=(1, 2))
    heard = privileged_targets(CROWD, MEMBERS, scenarios.utilities[:, 1], Noise(7, (1, 2), 200).game_noise(1))
    assert (heard[:, :3] == scenarios.utilities[:, 1]).all()
    assert np.bincount(heard[:, 3]).min() > 20
    for number, name in enumerate(MEMBERS):
        alone = rollout((player, seat_occupant(name)), scenarios, seed=7)
        same = (alone.act == games.act).all(axis=1) & (alone.oA == games.oA).all(axis=(1, 2))
        assert same[heard[:, 3] == number].all() and not same[heard[:, 3] != number].all()
    assert (
        privileged_targets(CROWD, ("tough",), scenarios.utilities[:, 1], np.full((200, 8), 0.9))[:, 3] == NO_MEMBER
    ).all()


def test_targets_match_their_games():
    """In this source every pool is worth 10 to both: the pool that was seen, times the announced values."""
    found = practiced(PolicyNetwork(SHAPE))
    assert found.targets is not None and found.targets.shape == (found.size, 4)
    counts = (found.features[:, :3] * SHAPE.max_count).round().long()
    assert ((counts * found.targets[:, :3]).sum(dim=1) == 10).all()
    games = found.slot % found.reward.shape[1]
    assert len(torch.unique(torch.stack([games, found.targets[:, 3]]), dim=1)[0]) == len(torch.unique(games))
    assert (
        practice(
            PolicyNetwork(SHAPE), [Opponent(CROWD, 1.0)], Practice(LEWIS, Rules(), 50, 20, 5), update=0, games_before=0
        )[0].targets
        is None
    )


def test_labels_are_unread_in_games_of_partners_that_read_none():
    crowd = Mixture(["linear", Mixture(["heuristic", "random"], [1, 2])], [1, 3])
    shape = NetworkShape(hidden=(8,), beliefs=True, members=member_names(crowd))
    plan = Practice(LEWIS, Rules(), 300, 100, 5, privileged=True, labels_from="readers")
    found, _ = practice(PolicyNetwork(shape), [Opponent(crowd, 1.0)], plan, update=0, games_before=0)
    assert found.targets is not None and found.unread is not None and found.unread_label is not None
    assert (found.unread == (found.targets[:, 3] != shape.members.index("heuristic"))).all()
    assert 0.5 < found.unread.float().mean() < 1
    offers = found.unread & (found.act <= Act.INSIST)
    assert (found.unread_label == torch.where(offers, torch.where(found.act == Act.INSIST, 1.0, -1.0), 0.0)).all()


def test_belief_loss_by_hand():
    values, who = torch.zeros(3, 11, 2), torch.zeros(4, 2)
    values[0, 7, 0] = math.log(10)  # 10 of 20 parts
    told_of = torch.tensor([[7, 0, 1, 2], [0, 0, 0, NO_MEMBER]])
    first = math.log(2) + 2 * math.log(11) + math.log(4)
    assert float(belief_loss(values, who, told_of)) == pytest.approx((first + 3 * math.log(11)) / 2)
    assert float(belief_loss(values, who[:0], told_of)) == pytest.approx((first - math.log(4) + 3 * math.log(11)) / 2)


def test_belief_loss_with_posterior():
    """One decision of two is held to a half and a half, in cross-entropy; of the other only what was true is known."""
    values, who = torch.zeros(3, 11, 2), torch.zeros(4, 2)
    values[0, 7], who[1] = math.log(10), math.log(5)  # 10 of 20 parts and 5 of 8
    values.requires_grad_()
    told_of = torch.tensor([[7, 0, 1, 2], [7, 0, 0, 1]])
    posterior = torch.zeros(2, 33 + 4)
    posterior[0, [7, 8, 11, 22, 33, 34]] = torch.tensor([0.5, 0.5, 1.0, 1.0, 0.25, 0.75])
    posterior[1] = math.nan
    found = belief_loss(values, who, told_of, posterior)
    first = -0.5 * math.log(1 / 2) - 0.5 * math.log(1 / 20) - 0.25 * math.log(1 / 8) - 0.75 * math.log(5 / 8)
    second = -math.log(1 / 2) - math.log(5 / 8)
    assert float(found.detach()) == pytest.approx((first + second + 4 * math.log(11)) / 2)
    found.backward()
    assert values.grad is not None and values.grad[0, 7].tolist() == pytest.approx([0.0, -0.25])
    values = values.detach()
    unknown = belief_loss(values, who, told_of, posterior * math.nan)
    assert float(unknown) == float(belief_loss(values, who, told_of))
    assert float(belief_loss(values, who[:0], told_of, posterior[:, :33])) == pytest.approx(
        (-0.5 * math.log(1 / 2) - 0.5 * math.log(1 / 20) - math.log(1 / 2) + 4 * math.log(11)) / 2
    )


def test_targets_do_not_change_play():
    """Other values of a partner that ignores them: the same play to the bit, another lesson for beliefs and critic."""
    scenarios = LEWIS.block(3, 0, 300)
    rows = {tuple(counts): [] for counts in scenarios.counts.tolist()}
    for number, counts in enumerate(scenarios.counts.tolist()):
        rows[tuple(counts)].append(number)
    swapped = scenarios.utilities.copy()
    for same_pool in rows.values():  # the partners of one pool change places
        swapped[same_pool, 1] = scenarios.utilities[np.roll(same_pool, 1), 1]
    assert (swapped != scenarios.utilities).any()
    lessons, learners = [], []
    for utilities in (scenarios.utilities, swapped):
        learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
        seat = LearningSeat(learner.network)
        games = rollout((seat, Wants()), Scenarios(scenarios.counts, utilities, "lewis"), seed=4)
        facts = np.column_stack([utilities[:, 1].astype(np.int64), np.zeros(games.size, dtype=np.int64)])
        lesson = seat.experience(games, np.random.default_rng(0).random((games.size, 2)), facts)
        assert lesson is not None
        lessons.append(lesson)
        learners.append((learner, learner.update(lesson)))
    for name in Experience._fields:
        one, other = (getattr(lesson, name) for lesson in lessons)
        if name in ("regrets", "posterior", "unread"):  # not in this plan
            assert one is other is None
            continue
        assert torch.equal(one, other) == (name != "targets"), name
    (_, first), (_, second) = learners
    assert first["value_loss"] != second["value_loss"] and first["belief_loss"] != second["belief_loss"]


def test_checkpoint_plays_without_targets(tmp_path):
    learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    learner.update(practiced(learner.network))
    tensors, _ = learner.state()
    assert any(name.startswith("critic.") for name in tensors)
    save_checkpoint(tmp_path / "all.json", tensors, network_note(learner.network))
    bare = {name: value for name, value in tensors.items() if name.startswith("network.")}
    save_checkpoint(tmp_path / "bare.json", bare, network_note(learner.network))
    scenarios = LEWIS.block(9, 0, 64)
    turns = GameBatch(scenarios).turns()
    known = NetworkPartner(learner.network)
    for name in ("all", "bare"):
        again = NetworkPartner(load_checkpoint(tmp_path / f"{name}.json").network())
        assert np.array_equal(again.probs(turns, 4), known.probs(turns, 4))
        assert np.array_equal(again.beliefs(turns).values, known.beliefs(turns).values)
        plain = NumpyPartner(load_numpy_network(tmp_path / f"{name}.json")[0])
        assert np.abs(plain.probs(turns, 4) - known.probs(turns, 4)).max() < 2e-5
        said, heard = plain.beliefs(turns), known.beliefs(turns)
        assert np.abs(said.values - heard.values).max() < 2e-5 and np.abs(said.identity - heard.identity).max() < 2e-5
        assert said.members == MEMBERS


def test_learner_with_targets_restores_exactly():
    through = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    through.update(practiced(through.network))
    tensors, counters = through.state()
    held = {name: value.clone() for name, value in tensors.items()}
    again = Learner(PolicyNetwork(SHAPE, seed=9), SETTINGS, seed=2)
    again.restore(held, counters)
    for learner in (through, again):
        learner.update(practiced(learner.network, update=1))
    ends = [learner.state()[0] for learner in (through, again)]
    assert ends[0].keys() == ends[1].keys() and all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


@pytest.mark.slow
def test_beliefs_are_learned_and_do_not_depend_on_the_order_of_items():
    learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    surprise = [learner.update(practiced(learner.network, update, size=1000))["belief_loss"] for update in range(6)]
    assert surprise[-1] < 0.85 * surprise[0]
    seen = LEWIS.block(9, 0, 200)
    kinds = seen.counts.astype(int) * 11 + seen.utilities[:, 0]
    apart = np.array([len(set(kind)) == 3 for kind in kinds.tolist()])  # items that are alike have no order
    scenarios, partner = seen.rows(np.flatnonzero(apart)), NetworkPartner(learner.network)
    first = partner.beliefs(GameBatch(scenarios).turns())
    assert first is not None and first.members == MEMBERS
    assert np.allclose(first.values.sum(axis=2), 1) and np.allclose(first.identity.sum(axis=1), 1)
    for order in map(list, permutations(range(3))):
        replace_names = Scenarios(scenarios.counts[:, order], scenarios.utilities[:, :, order], scenarios.prior)
        found = partner.beliefs(GameBatch(replace_names).turns())
        assert np.array_equal(found.values, first.values[:, order]) and np.array_equal(found.identity, first.identity)
    assert NetworkPartner(PolicyNetwork(NetworkShape(hidden=(8,)))).beliefs(GameBatch(scenarios).turns()) is None


def test_initial_weights_gain_or_lose_belief_head(tmp_path):
    plain = PolicyNetwork(NetworkShape(hidden=(8,)), seed=4)
    path = tmp_path / "plain.json"
    save_checkpoint(path, {f"network.{name}": value for name, value in plain.state_dict().items()}, network_note(plain))
    assert "beliefs" not in network_note(plain)["network"] and "members" not in network_note(plain)["network"]
    wanted = NetworkShape(hidden=(8,), beliefs=True, members=MEMBERS)
    made = first_network(wanted, str(path), disagree="ends", seed=1)
    assert made.shape == wanted and torch.equal(made.head.weight, plain.head.weight)
    assert made.belief is not None and made.belief.layer.weight.abs().sum() > 0
    save_checkpoint(path, {f"network.{name}": value for name, value in made.state_dict().items()}, network_note(made))
    assert load_checkpoint(path).network().shape == wanted
    assert first_network(NetworkShape(hidden=(8,)), str(path), disagree="ends", seed=1).belief is None


def test_contradictory_settings_are_refused():
    with pytest.raises(ValueError, match="reinforce and bc have no critic"):
        Hyperparameters(critic="both", algo="reinforce")
