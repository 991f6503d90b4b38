"""Every loss against numbers worked by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from dond_marl.game import Act
from partners.learning.learners import (
    clipped_surrogate,
    discounted_returns,
    generalized_advantages,
    policy_gradient,
    value_loss,
)
from partners.network.heads import Factored

torch.set_num_threads(1)
GAMMA, LAM = 0.99, 0.95

# One position worked by hand. Acts: P 1/2, I 1/4, A may not be said, D 1/8, E 1/8. The pool is 1 book, 2 hats, 0 balls:
# book: 0 with 1/4, 1 with 3/4; hats: 0 with 1/2, 1 and 2 with 1/4 each; balls: 0 for certain. Other logits are rubbish.
PARTS = [[1 / 2, 1 / 4, None, 1 / 8, 1 / 8], [1 / 4, 3 / 4], [1 / 2, 1 / 4, 1 / 4], [1]]
RUBBISH = 7.5


def position(parts: list[list] = PARTS) -> tuple[torch.Tensor, torch.Tensor]:
    """Its logits and mask, ``[1, 4, 5]``; every part's logits are shifted, which changes no probability."""
    logits, mask = torch.full((1, 4, 5), RUBBISH), torch.zeros((1, 4, 5), dtype=torch.bool)
    for part, choices in enumerate(parts):
        for choice, probability in enumerate(choices):
            if probability is not None:
                logits[0, part, choice] = math.log(probability) + part - 1.5
                mask[0, part, choice] = True
    return logits, mask


def action(act: Act, *oA: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([int(act)]), torch.tensor([oA or (0, 0, 0)])


@pytest.mark.parametrize(
    ("act", "oA", "probability"),
    [
        (Act.PROPOSE, (1, 2, 0), 1 / 2 * 3 / 4 * 1 / 4 * 1),
        (Act.DISAGREE, (1, 2, 0), 1 / 8),  # oA counts for offers alone
    ],
)
def test_log_prob_includes_items_of_offers_only(act, oA, probability):
    policy = Factored(*position()).log_probs(*action(act, *oA))
    assert policy.log_prob.item() == pytest.approx(math.log(probability), abs=1e-6)
    assert policy.act.item() == pytest.approx(math.log(PARTS[0][act]), abs=1e-6)  # cloning weighs it apart from oA


def test_illegal_choices_have_probability_zero():
    logits, mask = position()
    assert Factored(logits, mask).log_probs(*action(Act.AGREE)).log_prob.exp().item() == 0.0
    assert Factored(logits, mask).log_probs(*action(Act.PROPOSE, 0, 0, 1)).log_prob.exp().item() == 0.0
    # ... and items beyond the pool beside an act that makes no offer are of no account.
    end = Factored(logits, mask).log_probs(*action(Act.END, 0, 4, 4)).log_prob
    assert end.item() == pytest.approx(math.log(1 / 8), abs=1e-6)


def every_action(mask: torch.Tensor) -> list[tuple[int, tuple[int, ...]]]:
    """All different legal actions of one position: items only beside offers."""
    choices = [np.flatnonzero(part).tolist() for part in mask[0].numpy()]
    offers = list(itertools.product(*choices[1:]))
    return [(act, oA) for act in choices[0] for oA in (offers if act <= Act.INSIST else [(0, 0, 0)])]


@pytest.mark.parametrize("seed", range(2))
def test_entropy_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(3 * rng.standard_normal((1, 4, 5)), dtype=torch.float64)
    mask = torch.zeros((1, 4, 5), dtype=torch.bool)
    mask[0, 0] = torch.tensor([True, True, seed % 2 == 0, True, True])
    for part, count in enumerate(rng.integers(0, 5, size=3), start=1):
        mask[0, part, : count + 1] = True
    actions = every_action(mask)
    act, oA = torch.tensor([act for act, _ in actions]), torch.tensor([oA for _, oA in actions])
    size = len(actions)
    policy = Factored(logits.expand(size, -1, -1), mask.expand(size, -1, -1)).log_probs(act, oA)
    assert policy.log_prob.exp().sum().item() == pytest.approx(1, abs=1e-9)
    brute = -(policy.log_prob.exp() * policy.log_prob).sum().item()
    assert policy.entropy.numpy() == pytest.approx(np.full(size, brute), abs=1e-9)


def test_masked_logits_have_zero_gradient():
    logits, mask = position()
    logits.requires_grad_()
    policy = Factored(logits, mask).log_probs(*action(Act.PROPOSE, 1, 2, 0))
    policy.log_prob.sum().backward(retain_graph=True)
    assert logits.grad is not None
    # d log p(k) / d logit(j) = [j = k] - p(j), for the act and, being an offer, for its items.
    grad = [[1 / 2, -1 / 4, 0, -1 / 8, -1 / 8], [-1 / 4, 1 / 4, 0, 0, 0], [-1 / 2, -1 / 4, 3 / 4, 0, 0], [0] * 5]
    assert logits.grad[0].numpy() == pytest.approx(np.array(grad), abs=1e-6)
    policy.entropy.sum().backward()
    assert (logits.grad[~mask] == 0).all() and torch.isfinite(logits.grad).all()


# The same acts by another policy.
OTHER = [[1 / 4, 1 / 4, None, 1 / 4, 1 / 4], [1 / 2, 1 / 2], [1 / 4, 1 / 4, 1 / 2], [1]]


def test_divergence_equals_sum_over_actions():
    (logits, mask), (reference, _) = position(), position(OTHER)
    divergence = Factored(logits, mask).divergence(Factored(reference, mask)).item()
    # Act: 1/2 ln 2 + 1/4 ln 1 + 2 * 1/8 ln 1/2 = 1/4 ln 2. An offer (3/4 of the time): book 1/4 ln 1/2 + 3/4 ln 3/2,
    # hats 1/2 ln 2 + 1/4 ln 1 + 1/4 ln 1/2 = 1/4 ln 2.
    by_hand = math.log(2) / 4 + 3 / 4 * (math.log(1 / 2) / 4 + 3 * math.log(3 / 2) / 4 + math.log(2) / 4)
    assert divergence == pytest.approx(by_hand, abs=1e-6)


# -- games -----------------------------------------------------------------------------------------------------------

# Four games of a seat, one column each: three own decisions, two, one, and none (its partner ended the game at once).
PLAYED = torch.tensor([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=torch.bool)
REWARD = torch.tensor([[0, 0, 0.8, 0], [0, 0.3, 0, 0], [1.0, 0, 0, 0]])
# Values of what was never played are rubbish, and must not leak.
VALUE = torch.tensor([[0.5, 0.2, 0.6, 9.0], [0.6, 0.4, 9.0, 9.0], [0.7, 9.0, 9.0, 9.0]])


def test_advantages_of_games_of_different_lengths():
    # The first game, from behind, with deltas r + 0.99 v' - v and 0.99 * 0.95 = 0.9405:
    #   A2 = 1 - 0.7                                      =  0.3
    #   A1 = 0 + 0.99 * 0.7 - 0.6 + 0.9405 * 0.3          =  0.093 + 0.28215          = 0.37515
    #   A0 = 0 + 0.99 * 0.6 - 0.5 + 0.9405 * 0.37515      =  0.094 + 0.352828575      = 0.446828575
    # The second:
    #   A1 = 0.3 - 0.4                                    = -0.1
    #   A0 = 0 + 0.99 * 0.4 - 0.2 + 0.9405 * -0.1         =  0.196 - 0.09405          = 0.10195
    # The third: A0 = 0.8 - 0.6 = 0.2.
    advantage, returns = generalized_advantages(REWARD, VALUE, PLAYED, GAMMA, LAM)
    by_hand = np.array([[0.446828575, 0.10195, 0.2, 0], [0.37515, -0.1, 0, 0], [0.3, 0, 0, 0]])
    assert advantage.numpy() == pytest.approx(by_hand, abs=1e-6)
    assert returns.numpy() == pytest.approx(np.where(PLAYED, by_hand + VALUE.numpy(), 0), abs=1e-6)
    assert not advantage[~PLAYED].any() and not returns[~PLAYED].any()


def test_with_lambda_one_the_targets_are_the_discounted_returns():
    _, returns = generalized_advantages(REWARD, VALUE, PLAYED, GAMMA, 1.0)
    assert returns.numpy() == pytest.approx(discounted_returns(REWARD, PLAYED, GAMMA).numpy(), abs=1e-6)


def test_returns_discount_by_own_decision():
    # 0.99 * 0.99 = 0.9801; 0.99 * 0.3 = 0.297.
    by_hand = np.array([[0.9801, 0.297, 0.8, 0], [0.99, 0.3, 0, 0], [1.0, 0, 0, 0]])
    assert discounted_returns(REWARD, PLAYED, GAMMA).numpy() == pytest.approx(by_hand, abs=1e-6)


# -- losses ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        # Clip 0.2. The slope is that of the loss by the log-probability: -ratio * advantage, or 0 where it is clipped.
        (1.1, 2.0, -2.2, -2.2),
        (1.5, 2.0, -2.4, 0.0),  # better already, and far enough: 1.2 * 2
        (0.5, 2.0, -1.0, -1.0),  # worse than it was: goes back
        (1.5, -2.0, 3.0, 3.0),  # likelier, although bad: goes back
        (0.5, -2.0, 1.6, 0.0),  # rarer already, and far enough: 0.8 * 2
    ],
)
def test_surrogate_clips_gaining_side(ratio, advantage, loss, slope):
    log_prob = torch.tensor([math.log(ratio) - 1.0], requires_grad=True)
    clipped = clipped_surrogate(log_prob, torch.tensor([-1.0]), torch.tensor([advantage]), 0.2)
    assert clipped.item() == pytest.approx(loss, abs=1e-6)
    clipped.backward()
    assert log_prob.grad is not None and log_prob.grad.item() == pytest.approx(slope, abs=1e-5)


def test_the_value_loss_is_half_the_mean_square():
    value = torch.tensor([1.0, 0.5, 0.0], requires_grad=True)
    loss = value_loss(value, torch.tensor([0.0, 0.5, 2.0]))
    assert loss.item() == pytest.approx(0.5 * (1 + 0 + 4) / 3)
    loss.backward()
    assert value.grad is not None and value.grad.numpy() == pytest.approx(np.array([1, 0, -2]) / 3)


def test_the_policy_gradient_weighs_log_probabilities():
    log_prob = torch.tensor([-1.0, -2.0], requires_grad=True)
    loss = policy_gradient(log_prob, torch.tensor([0.5, -0.25]))
    assert loss.item() == pytest.approx(-(-0.5 + 0.5) / 2)
    loss.backward()
    assert log_prob.grad is not None and log_prob.grad.numpy() == pytest.approx(np.array([-0.25, 0.125]))
