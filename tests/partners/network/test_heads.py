"""Layers and heads of the policy network: by hand, and as PyTorch has them."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pytest
import torch
from torch import nn

from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, check_partner
from dond_marl.game import Act, Rules
from dond_marl.rollout import Noise, observe_turns, rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Turns
from dond_marl.splits import action_index, legal_action_mask
from partners.network.heads import Joint
from partners.network.layers import TanhLayer, TransposedLayer
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import NetworkPartner

torch.set_num_threads(1)
PERMUTATIONS = [list(order) for order in itertools.permutations(range(3))]
SIZE, SPLITS = 6, 27


@lru_cache
def network(sorted_items: bool = True, history: str = "flat") -> PolicyNetwork:
    """With opinions, and mostly offering, so that games last."""
    policy = PolicyNetwork(NetworkShape(hidden=(32,), sorted_items=sorted_items, history=history, head="joint"), seed=3)
    with torch.no_grad():
        policy.head.weight.mul_(100)
        policy.head.bias[: len(Act)] = torch.tensor([2.0, 2.0, 0.0, 0.0, -2.0])
    return policy


def drawn(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, np.ndarray]:
    """Logits ``[6, 5 + 2 * 27]``, the mask, the places of items, and the pools of six positions."""
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(0, 2, (SIZE, len(Act) + 2 * SPLITS)))
    counts = rng.integers(0, 3, (SIZE, 3))
    mask = torch.zeros((SIZE, 4, 5), dtype=torch.bool)
    mask[:, 0] = True
    mask[:, 0, Act.AGREE] = torch.from_numpy(rng.random(SIZE) < 0.5)
    mask[:, 1:] = torch.from_numpy(np.arange(5) <= counts[:, :, None])
    return logits, mask, torch.from_numpy(np.array(PERMUTATIONS)[rng.permutation(6)].T), counts


def by_hand(logits: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, counts: np.ndarray) -> list[dict]:
    """The probability of every legal action of each position, action by action."""
    every = []
    for row in range(SIZE):
        row_logits, probs = logits[row].tolist(), {}
        acts = [act for act in Act if mask[row, 0, act]]
        splits = list(itertools.product(*(range(count + 1) for count in counts[row])))
        share = {act: np.exp(row_logits[act]) for act in acts}
        for act in acts:
            probability = share[act] / sum(share.values())
            if act > Act.INSIST:
                probs[act, (0, 0, 0)] = probability
                continue
            odds = []
            for oA in splits:
                ordered = [0, 0, 0]
                for item in range(3):
                    ordered[places[item, row]] = oA[item]
                odds.append(np.exp(row_logits[len(Act) + act * SPLITS + ordered[0] * 9 + ordered[1] * 3 + ordered[2]]))
            probs |= {(act, oA): probability * odd / sum(odds) for oA, odd in zip(splits, odds, strict=True)}
        every.append(probs)
    return every


@pytest.mark.parametrize("seed", range(2))
def test_joint_head_probabilities_by_hand(seed):
    logits, mask, places, counts = drawn(seed)
    other = drawn(seed + 10)[0]
    head, reference = Joint(logits, mask, places), Joint(other, mask, places)
    expected, expected_reference = by_hand(logits, mask, places, counts), by_hand(other, mask, places, counts)
    numbers = head.probabilities(SIZE).by_number(3)
    for row in range(SIZE):
        probs = expected[row]
        assert sum(probs.values()) == pytest.approx(1) == numbers[row].sum()
        for (act, oA), probability in probs.items():
            acts, offers = torch.full((SIZE,), int(act)), torch.tensor([oA]).expand(SIZE, 3)
            log_prob = head.log_probs(acts, offers).log_prob[row]
            assert log_prob.exp().item() == pytest.approx(probability)
            number = action_index(np.array([act], np.int8), np.array([oA], np.int8), 3)
            assert numbers[row, number].item() == pytest.approx(probability)
        entropy = -sum(p * np.log(p) for p in probs.values())
        assert head.log_probs(acts, offers).entropy[row].item() == pytest.approx(entropy)
        away = sum(p * np.log(p / expected_reference[row][action]) for action, p in probs.items())
        assert head.divergence(reference)[row].item() == pytest.approx(away)


def turns_after_offers(scenarios: Scenarios, turns: int = 3, seed: int = 0) -> Turns:
    """Positions after some turns of random offers."""
    table, noise = GameBatch(scenarios, Rules(10, "rejects")), Noise(seed, (), scenarios.size)
    for _ in range(turns):
        table.step(NetworkPartner(network()).act(observe_turns(table, noise, deterministic=False)))
    return observe_turns(table, noise, deterministic=False)


def test_joint_head_conforms():
    check_partner(NetworkPartner(network()), max_count=4, sources=("by_hand",), variants=VARIANTS[:3])


def test_joint_samples_match_probabilities():
    source = open_source("lewis", split="train")
    turns = turns_after_offers(source.block(0, 0, 8), turns=1)
    probs = NetworkPartner(network()).probs(turns, 4)
    times, rng = 4000, np.random.default_rng(1)
    many = turns.rows(np.repeat(np.arange(turns.size), times))
    decisions = NetworkPartner(network()).act(many._replace(noise=rng.random((many.size, 8))))
    number = action_index(decisions.act_type, decisions.oA, 4).reshape(turns.size, times)
    frequencies = np.stack([np.bincount(row, minlength=probs.shape[1]) for row in number]) / times
    assert np.abs(frequencies - probs).max() < 5 * 0.5 / np.sqrt(times)
    legal = legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], 4)
    assert not frequencies[~legal].any() and not probs[~legal].any()


@pytest.mark.parametrize("history", ["none", "flat"])
def test_joint_head_permutation_invariance(history):
    """Whole sampled games: the acts are the same, and every offer says the same of the same items."""
    table = open_source("lewis", split="train").table
    assert table is not None
    items = table.counts[:, None].astype(int) * 16 + table.utilities  # no two alike for either seat
    alike = (items[:, :, [0, 0, 1]] == items[:, :, [1, 2, 2]]).any(axis=(1, 2))
    chosen = table.rows(np.flatnonzero(~alike)[::31])
    partner = NetworkPartner(network(history=history))
    games = rollout((partner, partner), chosen, Rules(10, "rejects"), seed=5)
    assert chosen.size > 64 and games.turns.mean() > 3
    for order in PERMUTATIONS:
        replace_names = Scenarios(chosen.counts[:, order], chosen.utilities[:, :, order], chosen.prior)
        again = rollout((partner, partner), replace_names, Rules(10, "rejects"), seed=5)
        assert (again.act == games.act).all() and (again.oA == games.oA[:, :, order]).all()


def test_split_gradient_equals_autograd():
    logits, mask, places, counts = drawn(4)
    rng = np.random.default_rng(2)
    act = torch.from_numpy(rng.integers(0, 2, SIZE))
    oA = torch.from_numpy(np.minimum(rng.integers(0, 3, (SIZE, 3)), counts))
    weights = torch.from_numpy(rng.normal(size=(2, SIZE)))

    def score(head_logits: torch.Tensor) -> torch.Tensor:
        chosen = Joint(head_logits, mask, places).log_probs(act, oA)
        return (weights[0] * chosen.log_prob + weights[1] * chosen.entropy).sum()

    assert torch.autograd.gradcheck(score, logits.clone().requires_grad_())


# -- The fast layers are the ordinary ones


ROUNDING = {"rtol": 1e-4, "atol": 1e-4}  # sums of hundreds of numbers, in another order
SHAPE = NetworkShape(hints=True, hidden=(32, 16))


def _features(network: PolicyNetwork, size: int) -> torch.Tensor:
    """Features of which every eighth row lies beyond what the network spells out."""
    drawn = torch.rand(size, network.adapter.width, generator=torch.Generator().manual_seed(1))
    drawn[::8] *= 3
    return drawn


@pytest.mark.parametrize(("size", "width"), [(7, 19), (320, 64)])
@pytest.mark.parametrize(("layer", "plain"), [(TanhLayer, torch.tanh), (TransposedLayer, torch.t)])
def test_layers_and_their_gradients_equal_pytorchs(layer, plain, size, width):
    weights = nn.Linear(width, 23)
    inputs = [torch.randn(size, width, generator=torch.Generator().manual_seed(2)).requires_grad_() for _ in range(2)]
    outputs = layer.apply(inputs[0], weights.weight, weights.bias), plain(weights(inputs[1]))
    torch.testing.assert_close(*outputs, **ROUNDING)
    gradients, expected_gradients = (
        torch.autograd.grad(output.square().sum(), (rows, weights.weight, weights.bias))
        for output, rows in zip(outputs, inputs, strict=True)
    )
    for gradient, expected in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient, expected, **ROUNDING)


def test_the_gradients_of_a_network_are_those_of_the_plain_one():
    """Every weight's, through logits and values, against PyTorch's own layers on the expanded features."""
    network = PolicyNetwork(SHAPE)
    features = _features(network, 200)
    logits, value = network(features)
    (logits.square().sum() + value.square().sum()).backward()
    gradients = {name: weight.grad for name, weight in network.named_parameters()}
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in network.named_parameters()}
    hidden = network.one_hot(network.prepare(features))
    for layer in ("trunk.0", "trunk.2"):
        hidden = torch.tanh(nn.functional.linear(hidden, weights[f"{layer}.weight"], weights[f"{layer}.bias"]))
    out = nn.functional.linear(hidden, weights["head.weight"], weights["head.bias"])
    torch.testing.assert_close(logits.flatten(1), out[:, :-1], **ROUNDING)
    torch.testing.assert_close(value, out[:, -1], **ROUNDING)
    out.square().sum().backward()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, weights[name].grad, **ROUNDING)
