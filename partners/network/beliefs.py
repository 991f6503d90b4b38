"""What a network says it believes of its partner: each item's value to it, and who it is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dond_marl.game import ITEMS
from dond_marl.yardsticks.recognition import LEVELS


class BeliefHead(nn.Module):
    """Three distributions over 0..10 points, one for each item, and one over members; a layer over the trunk."""

    def __init__(self, width: int, members: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, len(ITEMS) * LEVELS + members)

    def forward(self, hidden: Tensor, places: Tensor | None) -> tuple[Tensor, Tensor]:
        """Logits ``[3, 11, B]`` and ``[M, B]`` of ``hidden[B, H]``.

        ``places[3, B]``: where each item stands in the order in which the values are said; None: as the turn has them.
        """
        out = torch.addmm(self.layer.bias[:, None], self.layer.weight, hidden.t())
        values = out[: len(ITEMS) * LEVELS].view(len(ITEMS), LEVELS, -1)
        if places is not None:
            values = values.gather(0, places[:, None].expand(-1, LEVELS, -1))
        return values, out[len(ITEMS) * LEVELS :]
