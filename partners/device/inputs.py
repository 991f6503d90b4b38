"""The uniforms of a block of games, drawn on its device: a function of (seed, stream, index), as everywhere.

PyTorch's generator of a device draws other numbers than NumPy's, and the same ones whenever the same kind of device
asks. Who plays with the numbers of :class:`dond_marl.rollout.Noise` instead plays the games of the host, which tests
use.
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
from partners.device.table import on

LARGEST_SEED = 2**63


class Uniforms(Protocol):
    """The noise of N games, ``[8, N]`` float64 in [0, 1) on their device."""

    def of_turn(self, turn: int) -> Tensor:
        """Fresh uniforms of one turn."""
        ...

    def of_hint(self, turn: int) -> Tensor:
        """Fresh uniforms for whoever advises on a turn."""
        ...

    def of_game(self, seat: int) -> Tensor:
        """The seat's private uniforms, constant through each game."""
        ...


class DeviceNoise:
    """The uniforms of ``size`` games named by ``(seed, index)``."""

    def __init__(self, device: torch.device, seed: int, index: tuple[int, ...], size: int) -> None:
        self._device, self._seed, self._index, self._size = device, seed, index, size
        self._of_game: dict[int, Tensor] = {}
        self._latest: tuple[int, Tensor] | None = None  # a turn is asked for by everybody who moves in it

    def of_turn(self, turn: int) -> Tensor:
        if self._latest is None or self._latest[0] != turn:
            self._latest = turn, self._drawn("device turn noise", turn)
        return self._latest[1]

    def of_hint(self, turn: int) -> Tensor:
        return self._drawn("device hint noise", turn)

    def of_game(self, seat: int) -> Tensor:
        if seat not in self._of_game:
            self._of_game[seat] = self._drawn("device game noise", seat)
        return self._of_game[seat]

    def _drawn(self, stream: str, number: int) -> Tensor:
        seed = int(generator(self._seed, stream, *self._index, number).integers(LARGEST_SEED))
        drawing = torch.Generator(device=self._device).manual_seed(seed)
        return torch.rand(NOISE_WIDTH, self._size, generator=drawing, dtype=torch.float64, device=self._device)


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
