"""PyTorch's Adam without PyTorch's compiler, which optimizers import at their first step though nothing is compiled.

The import takes a second of CPU per process, as long as PyTorch itself, in every training and every worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import unwrap

import torch
from torch import Tensor
from torch.optim import Optimizer


class Adam(torch.optim.Adam):
    """Adam, bit for bit: the methods as they are before PyTorch wraps them for its compiler.

    Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1.
    """

    add_param_group = unwrap(Optimizer.add_param_group)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    state_dict = unwrap(Optimizer.state_dict)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))
    zero_grad = unwrap(Optimizer.zero_grad)


def moments(optimizer: Optimizer, parameters: Sequence[torch.nn.Parameter], prefix: str) -> dict[str, Tensor]:
    """The optimizer's state of each of ``parameters``, named by ``prefix``, the parameter's number and a name."""
    return {
        f"{prefix}{number}.{name}": value
        for number, parameter in enumerate(parameters)
        for name, value in optimizer.state.get(parameter, {}).items()
    }


def set_moments(optimizer: Optimizer, parameters: Sequence[torch.nn.Parameter], saved: Mapping[str, Tensor]) -> None:
    """Replace an optimizer's state by a copy of what :func:`moments` gave, without its prefix."""
    optimizer.state.clear()
    for key, value in saved.items():
        number, name = key.split(".")
        optimizer.state[parameters[int(number)]][name] = value.clone()
