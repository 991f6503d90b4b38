"""The learners' Adam is PyTorch's to the bit, and a process that learns does not load PyTorch's compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from partners.learning.adam import Adam
from tests.command import HERE

LEARNS = """
import sys
from partners.learning.adam import Adam
import torch
weights = torch.nn.Linear(3, 2)
Adam(weights.parameters(), 0.1).descend(weights(torch.ones(1, 3)).sum(), 0.5)
print("torch._dynamo" in sys.modules)
"""


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


@pytest.mark.slow
def test_adam_loads_no_compiler():
    done = subprocess.run([sys.executable, "-c", LEARNS], capture_output=True, text=True, env=HERE, check=True)
    assert done.stdout == "False\n"


def test_step_does_not_depend_on_the_strides_of_a_gradient():
    factors, made = torch.randn(5, 3), []
    for transposed in (True, False):
        weight = torch.nn.Parameter(torch.zeros(3, 5))
        product = weight.t() * factors if transposed else weight * factors.t().contiguous()
        Adam([weight], 0.1).descend(product.sum())
        made.append(weight.detach())
    assert torch.equal(*made) and torch.equal(made[0].sign(), -factors.t().sign())
