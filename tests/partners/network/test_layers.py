"""The fast layers are the ordinary ones: the same values and gradients, to rounding."""

import pytest
import torch
from torch import nn

from partners.network.layers import TanhLayer, TransposedLayer, tanh_in_place
from partners.network.network import NetworkShape, PolicyNetwork

ROUNDING = {"rtol": 1e-4, "atol": 1e-4}  # sums of hundreds of numbers, in another order
SHAPE = NetworkShape(hints=True, hidden=(32, 16))


def _features(network: PolicyNetwork, size: int) -> torch.Tensor:
    """Features of which every eighth row lies beyond what the network spells out."""
    drawn = torch.rand(size, network.adapter.width, generator=torch.Generator().manual_seed(1))
    drawn[::8] *= 3
    return drawn


@pytest.mark.parametrize(("size", "width"), [(1, 19), (7, 19), (300, 19), (64, 128), (320, 64)])
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


def test_tanh_is_exact_from_saturation_to_saturation():
    rows = torch.linspace(-30, 30, 2001)
    expected = torch.tanh(rows)
    torch.testing.assert_close(tanh_in_place(rows), expected, rtol=0, atol=2e-7)


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
