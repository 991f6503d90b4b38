"""The average policy of fictitious self-play: an even sample of all acts so far, and a network that imitates it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import open_source
from partners.learning.average_policy import AveragePolicy, reservoir_places
from partners.learning.experience import Experience
from partners.learning.learners import RESPONDER, Learner
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import with_prefix
from partners.network.network import NetworkShape, PolicyNetwork

torch.set_num_threads(1)
SETTINGS = LearnerSettings("ppo", lr=1e-2, minibatch=64)


def network(seed: int = 2) -> PolicyNetwork:
    return PolicyNetwork(NetworkShape(hidden=(16,)), seed=seed)


@pytest.fixture(scope="module")
def experience() -> Experience:
    plan = Practice(open_source("lewis", split="train"), Rules(), decisions=100, games=40, seed=5)
    return practice(network(), [Opponent(seat_occupant("heuristic"), 1.0)], plan, update=0, games_before=0)[0]


def test_reservoir_fills_in_order():
    places, rows = reservoir_places(10, 0, 7, generator(1, "x"))
    assert places.tolist() == rows.tolist() == [*range(7)]
    places, rows = reservoir_places(10, 7, 500, generator(1, "x"))
    assert len(set(places.tolist())) == len(places) == 10 and rows.max() > 400


def test_reservoir_is_uniform():
    """Of 60 acts offered in three parts a reservoir of 15 keeps each in a quarter of 4,000 tries."""
    tries, times = 4000, np.zeros(60)
    for number in range(tries):
        kept = np.full(15, -1)
        for part, (seen, offered) in enumerate(((0, 9), (9, 31), (40, 20))):
            places, rows = reservoir_places(15, seen, offered, generator(number, "reservoir", part))
            kept[places] = seen + rows
        times[kept] += 1
    spread = np.sqrt(0.25 * 0.75 / tries)
    assert times.sum() == 15 * tries and (np.abs(times / tries - 0.25) < 4.5 * spread).all()


def with_act(made: Experience, act: Act) -> Experience:
    """The opening turn of one game, over and over, at which ``act`` was played."""
    size = made.size
    opening = {name: getattr(made, name)[:1].repeat(size, *[1] * (getattr(made, name).ndim - 1)) for name in MOMENT}
    return made._replace(**opening, act=torch.full((size,), int(act)), oA=torch.zeros(size, 3, dtype=torch.int64))


MOMENT = ("features", "mask")


def test_average_policy_imitates_all_past(experience):
    """Three updates of DISAGREE to one of END, whatever came last: a quarter END, three quarters DISAGREE."""
    average = AveragePolicy(network(), replace(SETTINGS, lr=3e-3), 3, 3000, 0.1)
    acts = [Act.DISAGREE, Act.DISAGREE, Act.DISAGREE, Act.END] * 12
    for update, act in enumerate(acts):
        average.learn(with_act(experience, act), update, update * experience.size)
    one = with_act(experience, Act.END)
    read = average.network.prepare(one.features)
    chances = average.network.distribution(average.network.evaluate(read)[0], one.mask, read).log_probs(one.act, one.oA)
    assert float(chances.log_prob[0].exp().detach()) == pytest.approx(0.25, abs=0.06)


def test_learner_state_plays_average_policy(experience):
    learner = Learner(network(), SETTINGS, 7, average=AveragePolicy(network(), SETTINGS, 7, 500, 0.1))
    metrics = learner.update(experience)
    assert learner.average is not None and 0 < metrics["average_loss"] < 10
    tensors, _ = learner.state()
    played, responds = with_prefix(tensors, "network."), with_prefix(tensors, RESPONDER)
    assert all(torch.equal(value, played[name]) for name, value in learner.average.network.state_dict().items())
    assert all(torch.equal(value, responds[name]) for name, value in learner.network.state_dict().items())
    assert any(not torch.equal(value, responds[name]) for name, value in played.items())


def test_average_policy_restores_exactly(experience):
    def made(seed: int) -> Learner:
        own = replace(SETTINGS, minibatch=32)
        return Learner(network(seed), own, 7, average=AveragePolicy(network(seed), own, 7, 150, 0.1))

    whole, other = made(2), made(9)
    for _ in range(2):
        whole.update(experience)
    tensors, counters = whole.state()
    tensors = {name: value.clone() for name, value in tensors.items()}
    other.update(experience)
    other.restore(tensors, dict(counters))
    for _ in range(2):
        assert whole.update(experience) == other.update(experience)
    ends = whole.state()[0], other.state()[0]
    assert ends[0].keys() == ends[1].keys() and all(
        torch.equal(value, ends[1][name]) for name, value in ends[0].items()
    )
