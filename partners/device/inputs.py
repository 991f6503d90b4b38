"""Scenarios and noise of a block of games, drawn on its device.

Both are functions of (seed, stream, index), as everywhere. A device's generator draws other numbers than NumPy's, the
same ones on the same kind of device; tests pass the host's noise (:class:`dond_marl.rollout.Noise`) instead and then
get the host's games.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from dond_marl.randomness import NOISE_WIDTH, generator
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.yardsticks.contexts import Views, distinct_views
from partners.device.table import to_device

LARGEST_SEED = 2**63


class Uniforms(Protocol):
    """The noise of N games, ``[8, N]`` float64 in [0, 1) on their device."""

    def turn_noise(self, turn: int) -> Tensor:
        """Fresh uniforms of one turn."""
        ...

    def hint_noise(self, turn: int) -> Tensor:
        """Fresh uniforms for the hints of one turn."""
        ...

    def game_noise(self, seat: int) -> Tensor:
        """The seat's private uniforms, constant through each game."""
        ...


class DeviceNoise:
    """The uniforms of ``size`` games named by ``(seed, index)``."""

    def __init__(self, device: torch.device, seed: int, index: tuple[int, ...], size: int) -> None:
        self._device, self._seed, self._index, self._size = device, seed, index, size
        self._of_game: dict[int, Tensor] = {}
        self._latest: tuple[int, Tensor] | None = None  # read by every member that moves in the turn

    def turn_noise(self, turn: int) -> Tensor:
        if self._latest is None or self._latest[0] != turn:
            self._latest = turn, self._draw("device turn noise", turn)
        return self._latest[1]

    def hint_noise(self, turn: int) -> Tensor:
        return self._draw("device hint noise", turn)

    def game_noise(self, seat: int) -> Tensor:
        if seat not in self._of_game:
            self._of_game[seat] = self._draw("device game noise", seat)
        return self._of_game[seat]

    def _draw(self, stream: str, number: int) -> Tensor:
        seed = int(generator(self._seed, stream, *self._index, number).integers(LARGEST_SEED))
        source = torch.Generator(device=self._device).manual_seed(seed)
        return torch.rand(NOISE_WIDTH, self._size, generator=source, dtype=torch.float64, device=self._device)


class DealtScenarios(NamedTuple):
    """N scenarios on their device."""

    source: ScenarioSource
    block: tuple[int, int, int]  # seed, start and size: the names of the scenarios in the endless sequence
    counts: Tensor  # [N, 3] int8
    utilities: Tensor  # [N, 2, 3] int8
    views: Tensor | None  # [2, N] int64, index of each seat's private view in the deck; None without a table

    @property
    def size(self) -> int:
        """The number of scenarios, N."""
        return len(self.counts)

    @property
    def pool_values(self) -> Tensor:
        """The worth of the whole pool to each seat, ``[2, N]`` points, int16."""
        return (self.counts[:, None].to(torch.int16) * self.utilities).sum(dim=2, dtype=torch.int16).t()

    def on_host(self) -> Scenarios:
        """The same scenarios as NumPy arrays."""
        return self.source.block(*self.block)


class ScenarioDeck:
    """A scenario source on a device: its table lies there, and only row numbers are transferred."""

    def __init__(self, source: ScenarioSource, device: torch.device) -> None:
        self.source, self.device = source, device

    def deal(self, seed: int, start: int, n: int) -> DealtScenarios:
        """Scenarios ``start`` to ``start + n`` of the endless sequence of ``seed``: those of the source's own block."""
        block = (seed, start, n)
        if self.source.table is None:
            return DealtScenarios(self.source, block, *to_device(self.device, self.source.block(*block)), None)
        places = torch.from_numpy(self.source.places(*block)).to(self.device)
        counts, utilities, views = self._table
        return DealtScenarios(self.source, block, counts[places], utilities[places], views[:, places])

    @property
    def max_count(self) -> int:
        """The largest number of items of one type in a pool."""
        table = self.source.table
        return self.source.max_count if table is None else int(table.counts.max())

    @property
    def views(self) -> Views:
        """Every private view that a seat may have, of a source with a table."""
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
        return (*to_device(self.device, self.source.table), torch.from_numpy(self._views[1]).to(self.device))
