"""The learners: they reach a known optimum, and an update is a function of weights, experience and seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
import pytest
import torch

from dond_marl.errors import RunFailure
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, lewis_space, open_source
from dond_marl.seats import Decisions, Traits, decide, worth
from dond_marl.splits import grid
from league.evaluation.matches import Terms, score
from league.settings.training import Hyperparameters
from partners.learning.adam import Adam
from partners.learning.average_policy import AveragePolicy, reservoir_places
from partners.learning.experience import ROWS, Experience
from partners.learning.learners import RESPONDER, Learner, drop_label
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import with_prefix
from partners.network.network import NetworkShape, PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner

torch.set_num_threads(1)
ONE_DECISION = Rules(2)  # seat_0 makes an offer, seat_1 answers, and that is all
PPO = LearnerSettings("ppo", minibatch=64)
REINFORCE = LearnerSettings("reinforce", ent=0.01)


@dataclass(frozen=True)
class Modest:
    """Agrees to whatever is worth ``least`` to it; speaking first it asks for all items of the last type."""

    least: int = 4
    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)

    def act(self, turns) -> Decisions:
        enough = worth(turns.my_utilities, turns.last_partner_offer_for_me) >= self.least
        return decide(np.where(turns.act_mask[:, Act.AGREE] & enough, Act.AGREE, Act.PROPOSE), turns.counts * [0, 0, 1])


def optimum(scenarios: Scenarios, partner: Modest) -> tuple[float, float]:
    """The most that each seat can get of ten against ``partner`` in games of one decision, over all scenarios."""
    counts, (first, second) = scenarios.counts[:, None], scenarios.utilities.transpose(1, 0, 2)[:, :, None]
    claims = grid(4)[None]
    theirs = (second * (counts - claims)).sum(axis=2)
    # As seat_0: the best claim that is within the pool, and leaves enough. A partner that does not agree claims all of
    # the last type itself, and at the turn limit claims that add up to the pool are a deal as well.
    closes = (theirs >= partner.least) | (counts - claims == counts * [0, 0, 1]).all(axis=2)
    as_first = np.where((claims <= counts).all(axis=2) & closes, (first * claims).sum(axis=2), 0).max(axis=1)
    as_second = (second[:, 0] * scenarios.counts * [1, 1, 0]).sum(axis=1)  # agrees to what it is offered
    return float(as_first.mean()), float(as_second.mean())


@pytest.mark.parametrize(
    ("settings", "updates", "scenarios"),
    [
        (replace(PPO, lr=3e-3, minibatch=256, ent=0.01), 40, 11),
        pytest.param(
            replace(REINFORCE, lr=3e-3), 300, 3, marks=pytest.mark.slow
        ),  # its baseline knows the seat alone: it settles early among many
    ],
    ids=["ppo", "reinforce"],
)
def test_learner_finds_optimum_of_one_decision(settings, updates, scenarios):
    few = lewis_space().rows(529 * np.arange(scenarios))
    source, partner = ScenarioSource("uniform", table=few), Modest()
    plan = Practice(source, ONE_DECISION, decisions=1024, games=1024, seed=1)
    learner = Learner(PolicyNetwork(NetworkShape(max_turns=2, hidden=(64,)), seed=1), settings, seed=1)
    games = 0
    for update in range(updates):
        experience, practiced = practice(
            learner.network, [Opponent(partner, 1.0)], plan, update=update, games_before=games
        )
        games += practiced.games
        learner.update(experience)
    result = score(NetworkPartner(learner.network, greedy=True), partner, Terms(source, few, ONE_DECISION))
    best = optimum(few, partner)
    assert 4 < best[1] < best[0] < 10
    for seat in (0, 1):
        assert 0.97 * best[seat] <= result.figures[f"seat_{seat}"].points.mean <= best[seat] + 1e-9


# -- one update ------------------------------------------------------------------------------------------------------


@lru_cache
def experience(hints: bool = False) -> Experience:
    """Some 350 decisions of both seats against the default heuristic, made by :func:`network`."""
    plan = Practice(open_source("lewis", split="train"), Rules(), decisions=300, games=100, seed=5)
    return practice(network(hints), [Opponent(seat_occupant("heuristic"), 1.0)], plan, update=0, games_before=0)[0]


def network(hints: bool = False) -> PolicyNetwork:
    return PolicyNetwork(NetworkShape(hints=hints, hidden=(16, 16)), seed=2)


def weights(made: PolicyNetwork) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in made.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize("settings", [PPO, REINFORCE])
def test_update_without_finite_weights_is_refused(settings):
    learner = Learner(network(), replace(settings, lr=1e38), seed=1)
    with pytest.raises(RunFailure):
        for _ in range(3):
            learner.update(experience())


def nothing() -> Experience:
    made = experience()
    rows = {name: getattr(made, name)[:0] for name in (*ROWS, "slot")}
    return made._replace(**rows, reward=torch.zeros_like(made.reward))


@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=lambda settings: settings.algo)
def test_an_update_is_a_function_of_weights_experience_and_seed(settings):
    one, same_seed, other_seed = (Learner(network(), settings, seed) for seed in (7, 7, 8))
    torch.manual_seed(1)
    metrics = [learner.update(experience()) for learner in (one, same_seed)]
    torch.manual_seed(2)  # whatever others draw from global generators is of no account
    other_seed.update(experience())
    assert metrics[0] == metrics[1]
    assert same(one.state()[0], same_seed.state()[0])
    assert settings.algo == "reinforce" or not same(one.state()[0], other_seed.state()[0])
    assert not same(weights(one.network), weights(network()))
    assert one.state()[1] == {"updates": 1, "decisions": experience().size}


@pytest.mark.parametrize("head", ["factored", "joint"])
def test_an_offer_without_its_label_has_the_probability_of_both(head):
    made = PolicyNetwork(NetworkShape(hidden=(16, 16), head=head), seed=2)
    inputs, found = made.prepare(experience().features), experience()
    policy = made.distribution(made.evaluate(inputs)[0], found.mask, inputs)
    played, offers = policy.log_probs(found.act, found.oA), found.act <= Act.INSIST
    label = found._replace(unread=torch.ones(found.size, dtype=torch.bool)).unread_label
    other = policy.log_probs(torch.where(offers, 1 - found.act, found.act), found.oA)
    expected = torch.where(offers, torch.logaddexp(played.act, other.act), played.act + math.log(2)) + played.offer
    assert torch.allclose(drop_label(played.log_prob, policy.label_log_odds(), label), expected, atol=1e-5)


@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=lambda settings: settings.algo)
@pytest.mark.parametrize("unread", [True, False])
def test_the_label_of_an_offer_counts_only_where_the_partner_may_read_it(settings, unread):
    found = experience()._replace(unread=torch.full((experience().size,), unread))
    offers = found.act <= Act.INSIST
    odds = torch.where(found.act == Act.INSIST, -found.label_log_odds, found.label_log_odds)
    swapped = found._replace(act=torch.where(offers, 1 - found.act, found.act), log_prob=found.log_prob + odds * offers)
    made = []
    for each in (found, swapped):
        learner = Learner(network(), settings, seed=1)
        learner.update(each)
        made.append(torch.cat([value.flatten() for value in learner.network.state_dict().values()]))
    assert torch.allclose(*made, atol=1e-5) == unread


@pytest.mark.parametrize("settings", [replace(PPO, kl=0.1, magnet=0.25), REINFORCE], ids=lambda settings: settings.algo)
def test_learner_restores_exactly(settings):
    """With annealing, an average policy and, for PPO, a moving reference."""
    settings = replace(settings, anneal=True, total_decisions=5000)

    def learner(start: PolicyNetwork) -> Learner:
        return Learner(start, settings, 7, copy_of(start), AveragePolicy(copy_of(start), settings, 7, 150, 0.1))

    whole = learner(network())
    whole.update(experience())
    tensors, counters = whole.state()
    tensors, counters = {name: value.clone() for name, value in tensors.items()}, dict(counters)
    other = learner(PolicyNetwork(NetworkShape(hidden=(16, 16)), seed=99))
    other.update(experience())  # ... whose own past must not show
    other.update(experience())
    other.restore(tensors, counters)
    assert same(other.state()[0], tensors) and other.state()[1] == counters
    for _ in range(2):
        assert whole.update(experience()) == other.update(experience())
    assert same(whole.state()[0], other.state()[0])
    assert not same(whole.state()[0], tensors), "restoring must copy: going on changes no saved tensor"


@pytest.mark.parametrize("minibatch", [7, 10_000])
def test_minibatches_cover_every_decision(minibatch):
    learner = Learner(network(), replace(PPO, minibatch=minibatch, epochs=2), seed=7)
    assert experience().size % 7
    metrics = learner.update(experience())
    assert all(np.isfinite(list(metrics.values())))
    steps = 2 * -(-experience().size // minibatch)
    assert learner.state()[0]["optimizer.0.step"].item() == steps


def test_annealing_takes_rate_and_entropy_to_zero_over_all_decisions():
    size = experience().size
    settings = replace(PPO, lr=1e-3, anneal=True, total_decisions=4 * size)
    learner, rates = Learner(network(), settings, seed=7), []
    for _ in range(6):
        before = weights(learner.network)
        learner.update(experience())
        rates.append(learner.optimizer.lr)
    assert rates == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4, 0, 0])
    assert same(before, weights(learner.network))
    steady = Learner(network(), replace(settings, anneal=False), seed=7)
    for _ in range(5):
        steady.update(experience())
    assert steady.optimizer.lr == 1e-3


@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=lambda settings: settings.algo)
def test_no_experience_changes_nothing(settings):
    learner = Learner(network(), settings, seed=7)
    assert learner.update(nothing()) == {}
    assert same(weights(learner.network), weights(network()))
    assert learner.state()[1] == {"updates": 0, "decisions": 0}


def test_reinforce_makes_rewarded_acts_likelier():
    """END is paid, everything else is not."""
    made = experience()
    reward = torch.zeros_like(made.reward)
    reward.view(-1)[made.slot[made.act == Act.END]] = 1.0
    learner = Learner(network(), replace(REINFORCE, lr=3e-3), seed=7)

    @torch.no_grad()
    def ending() -> float:
        logits = learner.network(made.features)[0][:, 0].masked_fill(~made.mask[:, 0], -1e9)
        return float(torch.softmax(logits, dim=1)[:, Act.END].mean())

    before = ending()
    for _ in range(20):
        learner.update(made._replace(reward=reward))
    assert ending() > before + 0.05


def test_a_critic_of_both_values_needs_ppo():
    with pytest.raises(ValueError, match="have no critic"):
        Hyperparameters(critic="both", algo="reinforce")


@pytest.mark.parametrize("settings", [replace(PPO, vf=0.0), REINFORCE], ids=lambda settings: settings.algo)
def test_the_value_output_is_not_trained_without_a_value_loss(settings):
    learner, before = Learner(network(), settings, seed=7), weights(network())["head.weight"]
    learner.update(experience())
    after = weights(learner.network)["head.weight"]  # the value is the last row
    assert torch.equal(before[-1], after[-1]) and not torch.equal(before[:-1], after[:-1])


@pytest.mark.parametrize("settings", [PPO, REINFORCE], ids=lambda settings: settings.algo)
def test_entropy_rises_by_its_weight(settings):
    unpaid = experience()._replace(reward=torch.zeros_like(experience().reward))
    learner = Learner(network(), replace(settings, ent=10.0), seed=7)
    first, second, third = (learner.update(unpaid)["entropy"] for _ in range(3))
    assert first < second < third


def test_the_seats_do_not_share_a_baseline():
    # Both seats earn the same in every one of their games, seat_0 more than seat_1: neither has anything to learn.
    made = experience()
    last = torch.zeros_like(made.reward)
    length = made.is_decision.sum(dim=0)
    one_turn = length == 1
    assert one_turn.any()
    last[0, :] = torch.where(one_turn, torch.where(made.seat == 0, 0.9, 0.1), 0.0)
    rows = one_turn[made.slot % made.reward.shape[1]]
    only = made._replace(
        **{name: getattr(made, name)[rows] for name in ("features", "mask", "act", "oA", "log_prob", "value", "slot")},
        reward=last,
    )
    assert {0, 1} == set(made.seat[only.slot % made.reward.shape[1]].tolist())
    learner = Learner(network(), replace(REINFORCE, ent=0.0), seed=7)
    metrics = learner.update(only)
    assert metrics["policy_loss"] == pytest.approx(0, abs=0.05)  # 1.5 if rounding were scaled up


def test_magnet_moves_by_its_share():
    """By hand: after two updates m2 = m0 + s (w1 - m0) + s (w2 - m1)."""
    settings = replace(PPO, kl=0.1, magnet=0.25)
    start = network()
    learner, by_hand = Learner(network(), settings, seed=7, reference=copy_of(start)), weights(start)
    for _ in range(2):
        learner.update(experience())
        now = weights(learner.network)
        by_hand = {name: old + 0.25 * (now[name] - old) for name, old in by_hand.items()}
    assert learner.reference is not None
    kept = weights(learner.reference)
    assert all(torch.allclose(kept[name], by_hand[name], atol=1e-6) for name in by_hand)
    assert not same(kept, weights(start)) and not same(kept, weights(learner.network))


# -- The learners' Adam is PyTorch's to the bit ------------------------------------------------------------------------


def descend_by_pytorch(optimizer: torch.optim.Adam, loss: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.5)
    optimizer.step()


def steps(make, descend, restore) -> torch.Tensor:
    """The weights after ten steps, the last five of them by an optimizer that was saved and restored."""
    torch.manual_seed(0)
    network = torch.nn.Linear(5, 3)
    unused = torch.nn.Parameter(torch.zeros(2))
    first, second = (make([*network.parameters(), unused]) for _ in range(2))
    for number in range(10):
        if number == 5:
            restore(first, second)
        descend(first if number < 5 else second, network(torch.randn(7, 5)).square().mean())
    assert not unused.any()
    return network.weight.detach().clone()


def test_adam_equals_pytorch():
    own = steps(
        lambda parameters: Adam(parameters, 0.01, 1e-5),
        lambda optimizer, loss: optimizer.descend(loss, 0.5),
        lambda first, second: second.restore(first.state("")),
    )
    theirs = steps(
        lambda parameters: torch.optim.Adam(parameters, lr=0.01, eps=1e-5, fused=True),
        descend_by_pytorch,
        lambda first, second: second.load_state_dict(first.state_dict()),
    )
    assert torch.equal(own, theirs)


def test_step_does_not_depend_on_the_strides_of_a_gradient():
    factors, made = torch.randn(5, 3), []
    for transposed in (True, False):
        weight = torch.nn.Parameter(torch.zeros(3, 5))
        product = weight.t() * factors if transposed else weight * factors.t().contiguous()
        Adam([weight], 0.1).descend(product.sum())
        made.append(weight.detach())
    assert torch.equal(*made) and torch.equal(made[0].sign(), -factors.t().sign())


# -- The average policy of fictitious self-play


SETTINGS = LearnerSettings("ppo", lr=1e-2, minibatch=64)


def small_network(seed: int = 2) -> PolicyNetwork:
    return PolicyNetwork(NetworkShape(hidden=(16,)), seed=seed)


@pytest.fixture(scope="module")
def imitated() -> Experience:
    plan = Practice(open_source("lewis", split="train"), Rules(), decisions=100, games=40, seed=5)
    return practice(small_network(), [Opponent(seat_occupant("heuristic"), 1.0)], plan, update=0, games_before=0)[0]


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


def test_average_policy_imitates_all_past(imitated):
    """Three updates of DISAGREE to one of END, whatever came last: a quarter END, three quarters DISAGREE."""
    average = AveragePolicy(small_network(), replace(SETTINGS, lr=3e-3), 3, 3000, 0.1)
    acts = [Act.DISAGREE, Act.DISAGREE, Act.DISAGREE, Act.END] * 12
    for update, act in enumerate(acts):
        average.learn(with_act(imitated, act), update, update * imitated.size)
    one = with_act(imitated, Act.END)
    read = average.network.prepare(one.features)
    chances = average.network.distribution(average.network.evaluate(read)[0], one.mask, read).log_probs(one.act, one.oA)
    assert float(chances.log_prob[0].exp().detach()) == pytest.approx(0.25, abs=0.06)


def test_learner_state_plays_average_policy(imitated):
    learner = Learner(small_network(), SETTINGS, 7, average=AveragePolicy(small_network(), SETTINGS, 7, 500, 0.1))
    metrics = learner.update(imitated)
    assert learner.average is not None and 0 < metrics["average_loss"] < 10
    tensors, _ = learner.state()
    played, responds = with_prefix(tensors, "network."), with_prefix(tensors, RESPONDER)
    assert all(torch.equal(value, played[name]) for name, value in learner.average.network.state_dict().items())
    assert all(torch.equal(value, responds[name]) for name, value in learner.network.state_dict().items())
    assert any(not torch.equal(value, responds[name]) for name, value in played.items())
