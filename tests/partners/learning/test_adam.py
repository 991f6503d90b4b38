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
optimizer = Adam(weights.parameters(), lr=0.1, fused=True)
weights(torch.ones(1, 3)).sum().backward()
torch.nn.utils.clip_grad_norm_(weights.parameters(), 0.5)
optimizer.step()
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
print("torch._dynamo" in sys.modules)
"""


def steps(kind: type[torch.optim.Adam], fused: bool) -> torch.Tensor:
    """The weights after ten steps, the last five of them by an optimizer that was saved and restored."""
    torch.manual_seed(0)
    network = torch.nn.Linear(5, 3)
    first, second = (kind(network.parameters(), lr=0.01, eps=1e-5, fused=fused) for _ in range(2))
    for number in range(10):
        if number == 5:
            second.load_state_dict(first.state_dict())
        optimizer = first if number < 5 else second
        optimizer.zero_grad(set_to_none=True)
        network(torch.randn(7, 5)).square().mean().backward()
        optimizer.step()
        assert not optimizer.param_groups[0]["params"][0].grad_fn, "a step is no part of the graph"
    return network.weight.detach().clone()


@pytest.mark.parametrize("fused", [False, True])
def test_adam_equals_pytorch(fused):
    assert torch.equal(steps(Adam, fused), steps(torch.optim.Adam, fused))


def test_adam_loads_no_compiler():
    done = subprocess.run([sys.executable, "-c", LEARNS], capture_output=True, text=True, env=HERE, check=True)
    assert done.stdout == "False\n"
