"""The uniforms of a block of games, drawn on its device: a function of (seed, stream, index), as everywhere.

PyTorch's generator of a device draws other numbers than NumPy's, and the same ones whenever the same kind of device
asks. Who plays with the numbers of :class:`dond_marl.rollout.Noise` instead plays the games of the host, which tests
use.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from dond_marl.randomness import NOISE_WIDTH, generator

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
