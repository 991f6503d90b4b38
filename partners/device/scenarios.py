"""A source's scenarios on a device: its table lies there, and only the numbers of the rows that are dealt go over."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.yardsticks.contexts import Views, distinct_views
from partners.device.table import on


class Dealt(NamedTuple):
    """N scenarios on their device, and how to have them on the host."""

    source: ScenarioSource
    block: tuple[int, int, int]  # seed, start and size: the names of the scenarios in the endless sequence
    counts: Tensor  # [N, 3] int8
    utilities: Tensor  # [N, 2, 3] int8
    views: Tensor | None  # [2, N] int64, which of the deck's views each seat has; None without a table

    @property
    def size(self) -> int:
        """How many scenarios, N."""
        return len(self.counts)

    @property
    def wholes(self) -> Tensor:
        """What the whole pool is worth to each seat, ``[2, N]`` points, int16."""
        return (self.counts[:, None].to(torch.int16) * self.utilities).sum(dim=2, dtype=torch.int16).t()

    def on_host(self) -> Scenarios:
        """The same scenarios as arrays of the host."""
        return self.source.block(*self.block)


class Deck:
    """A scenario source on a device, which deals the scenarios that the source deals."""

    def __init__(self, source: ScenarioSource, device: torch.device) -> None:
        self.source, self.device = source, device

    def deal(self, seed: int, start: int, n: int) -> Dealt:
        """Scenarios ``start`` to ``start + n`` of the endless sequence of ``seed``: those of the source's own block."""
        block = (seed, start, n)
        if self.source.table is None:
            return Dealt(self.source, block, *on(self.device, self.source.block(*block)), None)
        places = torch.from_numpy(self.source.places(*block)).to(self.device)
        counts, utilities, views = self._table
        return Dealt(self.source, block, counts[places], utilities[places], views[:, places])

    @property
    def max_count(self) -> int:
        """The most items of one type that a pool holds."""
        table = self.source.table
        return self.source.max_count if table is None else int(table.counts.max())

    @property
    def views(self) -> Views:
        """Every private view that a seat may have, of a source that has a table."""
        return self._views[0]

    @cached_property
    def _views(self) -> tuple[Views, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
        table = self.source.table
        assert table is not None, f"{self.source.label} has no table"
        both = np.concatenate([table.utilities[:, 0], table.utilities[:, 1]])
        views, which = distinct_views(np.concatenate([table.counts, table.counts]), both)
        return views, which.reshape(2, -1)

    @cached_property
    def _table(self) -> tuple[Tensor, Tensor, Tensor]:
        assert self.source.table is not None
        return (*on(self.device, self.source.table), torch.from_numpy(self._views[1]).to(self.device))
