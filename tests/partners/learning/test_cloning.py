"""Behavior cloning against numbers worked by hand; a network learns the acts, and walks away as people do not."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from dond_marl.conformance import VARIANTS, check_partner
from dond_marl.dialogues.positions import Positions, choices
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source
from partners.learning.cloning import (
    CloneSettings,
    act_weights,
    clone,
    cross_entropies,
    encode_examples,
)
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import RELUCTANCE, ClonedPartner, NetworkPartner, with_rare_disagree

torch.set_num_threads(1)
REJECTS = Rules(10, "rejects")


# Somebody who agrees to half of their whole or more, else asks for everything they value, and refuses nothing.
def made_up(size: int, seed: int = 0) -> Positions:
    rng = np.random.default_rng(seed)
    space = lewis_space()
    picked = rng.integers(space.size, size=size)
    counts, values = space.counts[picked], space.utilities[picked, 0]
    replied = rng.random(size) < 0.7
    offered = (rng.integers(0, counts + 1) * replied[:, None]).astype(np.int8)
    worth = (values.astype(int) * offered).sum(axis=1)
    act = np.where(replied & (worth >= 5), Act.AGREE, Act.PROPOSE).astype(np.int8)
    return Positions(
        REJECTS,
        counts,
        values,
        np.where(replied, Act.PROPOSE, Act.END).astype(np.int8),
        offered,
        np.where(replied, 9, 10).astype(np.int8),
        act,
        (counts * (values > 0) * (act == Act.PROPOSE)[:, None]).astype(np.int8),
        np.where(act == Act.AGREE, worth / 10, np.nan),
        picked % 512,
    )


def order(epoch: int, size: int):
    return generator(1, "test", epoch).permutation(size)


@pytest.fixture(scope="module")
def taught() -> PolicyNetwork:
    network = PolicyNetwork(NetworkShape(hidden=(64, 64)), seed=1)
    list(clone(network, made_up(2000).in_every_order(), made_up(500, 1), CloneSettings(lr=3e-3, epochs=8), order))
    return network


def test_clone_reproduces_its_labels(taught):
    unseen = made_up(1000, 2)
    act, oA = choices(NetworkPartner(taught, greedy=True), unseen)
    assert (act == unseen.act).mean() > 0.88 > 0.7 > (unseen.act == Act.PROPOSE).mean()
    offers = (act == Act.PROPOSE) & (unseen.act == Act.PROPOSE)
    assert (oA == unseen.oA)[offers].all(axis=1).mean() > 0.9


def test_value_head_learns_known_outcomes(taught):
    unseen = made_up(1000, 2)
    seen = encode_examples(unseen, taught)
    known = ~seen.share.isnan()
    value = taught.evaluate(seen.inputs)[1][known]
    assert (value - seen.share[known]).square().mean() < 0.75 * seen.share[known].var()


def test_early_stopping_restores_best_weights():
    # Taught by nobody's rule it learns its few positions by heart, so that others surprise it more and more.
    few, others = made_up(40), made_up(500, 1)
    few = few._replace(act=few.act[::-1].copy(), oA=few.oA * 0)
    network = PolicyNetwork(NetworkShape(hidden=(64,)), seed=1)
    settings = CloneSettings(lr=1e-2, epochs=200, minibatch=8, patience=3, anneal=False)
    epochs = list(clone(network, few, others, settings, order))
    best = [epoch for epoch in epochs if epoch.best][-1]
    assert len(epochs) == best.epoch + 3 < 200
    assert sum(cross_entropies(network, encode_examples(others, network))) == pytest.approx(
        best.act + best.oA, abs=1e-6
    )
    assert min(epoch.act + epoch.oA for epoch in epochs) == pytest.approx(best.act + best.oA)


def test_act_weights_follow_balance():
    act = torch.tensor([0] * 8 + [2] * 2)  # PROPOSE 8 of 10, AGREE 2 of 10
    assert act_weights(act, 0.0).tolist() == pytest.approx([1, 0, 1, 0, 0])
    # 1 / 5p is 1/4 and 1: in proportion, with a mean weight of 1 over the ten.
    assert act_weights(act, 1.0).tolist() == pytest.approx([0.625, 0, 2.5, 0, 0])
    # Their roots 1/2 and 1, over a mean of (8/2 + 2) / 10.
    assert act_weights(act, 0.5).tolist() == pytest.approx([0.5 / 0.6, 0, 1 / 0.6, 0, 0])


def test_rare_disagree_changes_only_disagree(taught):
    unseen = made_up(200, 3)
    turns = next(turns for _, turns in unseen.turns())
    before, after = (NetworkPartner(each).probs(turns, 4) for each in (taught, with_rare_disagree(taught)))
    refuse = before.shape[1] - 2  # AGREE, DISAGREE and END are the last three
    odds = [p[:, refuse] / (1 - p[:, refuse]) for p in (before, after)]
    assert odds[1] == pytest.approx(odds[0] * math.exp(-RELUCTANCE), rel=1e-3)
    others = [np.delete(p, refuse, axis=1) / (1 - p[:, [refuse]]) for p in (before, after)]
    assert others[0] == pytest.approx(others[1], abs=1e-6)


def refusing(network: PolicyNetwork) -> PolicyNetwork:
    """One that says DISAGREE nine times out of ten."""
    made = copy.deepcopy(network)
    with torch.no_grad():
        made.head.weight[: len(Act)] = 0
        made.head.bias[: len(Act)] = torch.tensor([0.025, 0.025, 0.025, 0.9, 0.025]).log()
    return made


def test_cloned_partner_depends_on_disagree_rule(taught):
    partner = ClonedPartner(refusing(taught))
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 300)
    pair = (partner, seat_occupant("tough"))
    walking, talking = (rollout(pair, scenarios, rules, seed=1) for rules in (Rules(10), REJECTS))
    said = [games.act[:, ::2][games.act[:, ::2] >= 0] for games in (walking, talking)]
    assert (said[0] == Act.DISAGREE).mean() < 0.01 and (said[1] == Act.DISAGREE).mean() > 0.7


def test_cloned_partner_conforms(taught):
    check_partner(ClonedPartner(taught), max_count=4, games=8, sources=("lewis",), variants=VARIANTS[:4])
