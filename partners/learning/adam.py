"""Adam without PyTorch's optimizers, which import its compiler at their first step though nothing is compiled.

That import takes a second of CPU per process, as long as PyTorch itself, in every training and every worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

BETAS = (0.9, 0.999)
SMALLEST_NORM = 1e-6  # added to the norm of a gradient before it divides


class Adam:
    """Adam (Kingma and Ba 2015, arXiv 1412.6980, algorithm 1), bit for bit PyTorch's fused one."""

    def __init__(self, parameters: Iterable[torch.nn.Parameter], lr: float, eps: float = 1e-8) -> None:
        self.lr, self._eps = lr, eps
        self._parameters = list(parameters)
        # By the number of a parameter that has had a gradient: the steps and both moments.
        self._moments: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def descend(self, loss: Tensor, grad_norm: float | None = None) -> None:
        """One step down the gradient of ``loss``, which is first scaled down to ``grad_norm``."""
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        # The fused step reads memory in order, whatever the strides of a gradient are.
        grads = [grad.contiguous() for grad in gradients if grad is not None]
        if grad_norm is not None:
            norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(grad) for grad in grads]))
            torch._foreach_mul_(grads, (grad_norm / (norm + SMALLEST_NORM)).clamp(max=1.0))
        numbers = [number for number, grad in enumerate(gradients) if grad is not None]
        parameters = [self._parameters[number].detach() for number in numbers]
        for number, parameter in zip(numbers, parameters, strict=True):
            if number not in self._moments:
                count = torch.zeros((), device=parameter.device)
                self._moments[number] = count, torch.zeros_like(parameter), torch.zeros_like(parameter)
        steps, means, squares = ([self._moments[number][part] for number in numbers] for part in range(3))
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            parameters,
            grads,
            means,
            squares,
            [],
            steps,
            lr=self.lr,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=self._eps,
            amsgrad=False,
            maximize=False,
        )

    def state(self, prefix: str) -> dict[str, Tensor]:
        """The moments of each parameter, named by ``prefix``, the parameter's number and a name."""
        return {
            f"{prefix}{number}.{name}": value
            for number, values in self._moments.items()
            for name, value in zip(("step", "exp_avg", "exp_avg_sq"), values, strict=True)
        }

    def restore(self, saved: Mapping[str, Tensor]) -> None:
        """Continue from a copy of what :meth:`state` gave, without its prefix."""
        numbers = sorted({int(key.split(".")[0]) for key in saved})
        self._moments = {
            number: (
                saved[f"{number}.step"].clone(),
                saved[f"{number}.exp_avg"].clone(),
                saved[f"{number}.exp_avg_sq"].clone(),
            )
            for number in numbers
        }
