"""The fast layers are the ordinary ones: the same values and gradients, to rounding."""

import torch
from torch import nn

from partners.network.layers import Linear, Tanh
from partners.network.network import NetworkShape, PolicyNetwork

ROUNDING = {"rtol": 1e-4, "atol": 1e-4}  # sums of hundreds of numbers, in another order
SHAPE = NetworkShape(hints=True, hidden=(32, 16))


def _features(network: PolicyNetwork, size: int) -> torch.Tensor:
    """Features of which every eighth row lies beyond what the network spells out."""
    drawn = torch.rand(size, network.adapter.width, generator=torch.Generator().manual_seed(1))
    drawn[::8] *= 3
    return drawn


def test_a_linear_layer_and_its_gradients_are_pytorchs():
    """Also with a bias, one row, and rows that are no multiple of anything."""
    for size, width in ((1, 19), (7, 19), (300, 19), (64, 128), (320, 64)):
        ours, theirs = Linear(width, 23), nn.Linear(width, 23)
        theirs.load_state_dict(ours.state_dict())
        inputs = [torch.randn(size, width, generator=torch.Generator().manual_seed(2)).requires_grad_() for _ in "ab"]
        outputs = [layer(given) for layer, given in zip((ours, theirs), inputs, strict=True)]
        torch.testing.assert_close(*outputs, **ROUNDING)
        for output in outputs:
            output.square().sum().backward()
        torch.testing.assert_close(inputs[0].grad, inputs[1].grad, **ROUNDING)
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, **ROUNDING)
        torch.testing.assert_close(ours.bias.grad, theirs.bias.grad, **ROUNDING)


def test_the_tangent_and_its_gradient_are_pytorchs():
    """From saturation to saturation; it is written over what it is given."""
    given = torch.linspace(-30, 30, 2001)
    ours, theirs = given.clone().requires_grad_(), given.clone().requires_grad_()
    between = 1 * ours
    result = Tanh()(between)
    torch.testing.assert_close(result, torch.tanh(theirs), rtol=0, atol=2e-7)
    assert result.data_ptr() == between.data_ptr()
    result.sum().backward()
    torch.tanh(theirs).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=0, atol=1e-6)


def test_the_first_layer_is_a_layer_over_the_expanded_features():
    """A number beyond its largest is no level: it adds nothing, in the sums as in the one-hot vectors."""
    network = PolicyNetwork(SHAPE)
    features = _features(network, 200)
    layer = network.trunk[0]
    read = network.prepare(features)
    torch.testing.assert_close(
        network.first_layer(read), nn.functional.linear(network.one_hot(read), layer.weight), **ROUNDING
    )


def test_the_gradients_of_a_network_are_those_of_the_plain_one():
    """Every weight's, through logits and values, against PyTorch's own layers on the expanded features."""
    network = PolicyNetwork(SHAPE)
    features = _features(network, 200)
    logits, value = network(features)
    (logits.square().sum() + value.square().sum()).backward()
    found = {name: weight.grad for name, weight in network.named_parameters()}
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in network.named_parameters()}
    hidden = network.one_hot(network.prepare(features))
    for layer in ("trunk.0", "trunk.2"):
        hidden = torch.tanh(nn.functional.linear(hidden, weights[f"{layer}.weight"], weights[f"{layer}.bias"]))
    out = nn.functional.linear(hidden, weights["head.weight"], weights["head.bias"])
    torch.testing.assert_close(logits.flatten(1), out[:, :-1], **ROUNDING)
    torch.testing.assert_close(value, out[:, -1], **ROUNDING)
    out.square().sum().backward()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, weights[name].grad, **ROUNDING)
