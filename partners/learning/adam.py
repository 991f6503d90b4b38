"""PyTorch's Adam without PyTorch's compiler, which its optimizers load at their first step though nothing is compiled.

That takes a process a second of CPU, as long as PyTorch itself; every start of a training and every worker paid it.
"""

from __future__ import annotations

from inspect import unwrap

import torch
from torch.optim import Optimizer


class Adam(torch.optim.Adam):
    """The same steps to the bit: the methods as they are before PyTorch wraps them for its compiler.

    Kingma and Ba 2015 (arXiv 1412.6980), algorithm 1.
    """

    add_param_group = unwrap(Optimizer.add_param_group)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    state_dict = unwrap(Optimizer.state_dict)
    step = torch.no_grad()(unwrap(torch.optim.Adam.step))
    zero_grad = unwrap(Optimizer.zero_grad)
