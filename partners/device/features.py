"""What a network reads of a turn on a device: :mod:`dond_marl.envs.features` in PyTorch, the same bits.

A test holds the two equal for every layout.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dond_marl.envs.features import BaseLayout
from dond_marl.game import ITEMS, Act
from hints import HintAdapter
from partners.device.table import Seen
from partners.network.shape import PARTS, NetworkShape


def features(seen: Seen, adapter: HintAdapter, hints: Tensor | None = None) -> Tensor:
    """The features of B turns, ``[B, F]`` float32 in [0, 1]; ``hints[B, 10]``: what the seat was told, or None."""
    base = _base(seen, adapter.base)
    if not adapter.hints:
        return base
    told = base.new_zeros(seen.size, adapter.width - base.shape[1]) if hints is None else hints
    return torch.cat([base, told], dim=1)


def mask(seen: Seen, shape: NetworkShape) -> Tensor:
    """What may be said, ``[B, 4, W]`` bool, as in :meth:`partners.network.shape.NetworkShape.mask`."""
    device = seen.counts.device
    allowed = torch.zeros(PARTS, shape.width, seen.size, dtype=torch.bool, device=device)
    allowed[0, : len(Act)] = seen.act_mask
    entries = torch.arange(shape.max_count + 1, dtype=torch.int8, device=device)[:, None]
    allowed[1:, : shape.max_count + 1] = entries <= seen.counts[:, None]
    return allowed.permute(2, 0, 1)


def _base(seen: Seen, layout: BaseLayout) -> Tensor:
    """The base features, ``[B, width]``; in memory the B lie side by side."""
    columns = torch.zeros(layout.width, seen.size, device=seen.counts.device)
    start = 0
    for name, width in layout.pieces:
        if start == layout.base_width:
            break
        piece = columns[start : start + width]
        if name == "last_partner_act":
            torch.eq(seen.last_partner_act, _acts(piece), out=piece)
        elif name == "turns_remaining":
            piece.fill_(float(np.float32(seen.turns_remaining) * _share(layout.max_turns)))
        else:
            torch.mul(getattr(seen, name), _share(layout.top(name)), out=piece)
        start += width
    if layout.history:
        _write_history(seen, layout, columns[layout.base_width :])
    return columns.t()


def _write_history(seen: Seen, layout: BaseLayout, columns: Tensor) -> None:
    """My latest claim, then all that was said, theirs and mine by turns, as codes over the largest."""
    claim, said = columns[: len(ITEMS)], columns[len(ITEMS) :]
    torch.mul((seen.own_claim + 1) * seen.own_claimed, _share(layout.max_count + 1), out=claim)
    if not seen.taken:
        return
    acts, keeps = seen.history()
    offers = (acts <= Act.INSIST)[:, None]
    own = torch.arange(seen.taken, device=acts.device) % 2 == seen.seat
    left = torch.where(own[:, None, None], keeps, seen.counts - keeps)
    # Who opened has said its first act before the partner's first, which comes first all the same.
    slots = said.view(layout.max_turns - 1, 1 + len(ITEMS), seen.size)[: seen.taken]
    places = torch.arange(len(slots), device=acts.device) ^ (1 - seen.seat)  # in a longer game the first acts
    slots[:, 0] = ((acts + 1) * _share(len(Act))).index_select(0, places)
    slots[:, 1:] = ((left + 1) * offers * _share(layout.max_count + 1)).index_select(0, places)


def _acts(like: Tensor) -> Tensor:
    return torch.arange(len(Act), dtype=torch.int8, device=like.device)[:, None]


def _share(top: int | None) -> float:
    """One over the largest number of a piece, in the precision of the features."""
    assert top is not None
    return float(np.float32(1 / top))
