"""A policy network in games on a device: its features and mask, its acts, and the experience of a learner.

The features are those of :mod:`dond_marl.envs.features`, in PyTorch, bit for bit; a test compares every layout.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dond_marl.envs.features import BaseLayout
from dond_marl.game import ITEMS, Act
from hints import HintAdapter
from partners.device.inputs import Uniforms
from partners.device.table import DeviceGames, DeviceTurns
from partners.learning.experience import ROWS, Experience
from partners.network.network import PolicyNetwork
from partners.network.partner import Choices, choose_actions
from partners.network.shape import PARTS, NetworkShape


def features(turns: DeviceTurns, adapter: HintAdapter, hints: Tensor | None = None) -> Tensor:
    """The features of B turns, ``[B, F]`` float32 in [0, 1]; ``hints[B, 10]``: the seat's hints, or None."""
    base = _base(turns, adapter.base)
    if not adapter.hints:
        return base
    given = base.new_zeros(turns.size, adapter.width - base.shape[1]) if hints is None else hints
    return torch.cat([base, given], dim=1)


def mask(turns: DeviceTurns, shape: NetworkShape) -> Tensor:
    """Legal choices, ``[B, 4, W]`` bool, as :meth:`partners.network.shape.NetworkShape.mask`."""
    device = turns.counts.device
    allowed = torch.zeros(PARTS, shape.width, turns.size, dtype=torch.bool, device=device)
    allowed[0, : len(Act)] = turns.act_mask
    entries = torch.arange(shape.max_count + 1, dtype=torch.int8, device=device)[:, None]
    allowed[1:, : shape.max_count + 1] = entries <= turns.counts[:, None]
    return allowed.permute(2, 0, 1)


def _base(turns: DeviceTurns, layout: BaseLayout) -> Tensor:
    """The base features, ``[B, width]``; in memory the B are contiguous."""
    columns = torch.zeros(layout.width, turns.size, device=turns.counts.device)
    start = 0
    for name, width in layout.pieces:
        if start == layout.base_width:
            break
        piece = columns[start : start + width]
        if name == "last_partner_act":
            acts = torch.arange(len(Act), dtype=torch.int8, device=piece.device)[:, None]
            torch.eq(turns.last_partner_act, acts, out=piece)
        elif name == "turns_remaining":
            piece.fill_(float(np.float32(turns.turns_remaining) * _reciprocal(layout.max_turns)))
        else:
            torch.mul(getattr(turns, name), _reciprocal(layout.top(name)), out=piece)
        start += width
    if layout.history:
        _write_history(turns, layout, columns[layout.base_width :])
    return columns.t()


def _write_history(turns: DeviceTurns, layout: BaseLayout, columns: Tensor) -> None:
    """My latest claim, then all acts, theirs and mine alternating, as codes divided by the largest code."""
    claim, history = columns[: len(ITEMS)], columns[len(ITEMS) :]
    torch.mul((turns.own_claim + 1) * turns.own_claimed, _reciprocal(layout.max_count + 1), out=claim)
    if not turns.turns_taken:
        return
    acts, keeps = turns.history()
    offers = (acts <= Act.INSIST)[:, None]
    own = torch.arange(turns.turns_taken, device=acts.device) % 2 == turns.seat
    left = torch.where(own[:, None, None], keeps, turns.counts - keeps)
    # In seat 0 my first act was before the partner's first, which still has the first slot.
    slots = history.view(layout.max_turns - 1, 1 + len(ITEMS), turns.size)[: turns.turns_taken]
    places = torch.arange(len(slots), device=acts.device) ^ (1 - turns.seat)  # in a longer game the first acts
    slots[:, 0] = ((acts + 1) * _reciprocal(len(Act))).index_select(0, places)
    slots[:, 1:] = ((left + 1) * offers * _reciprocal(layout.max_count + 1)).index_select(0, places)


def _reciprocal(top: int | None) -> float:
    """One over the largest number of a piece, in the precision of the features."""
    assert top is not None
    return float(np.float32(1 / top))


@torch.no_grad()
def choose(network: PolicyNetwork, turns: DeviceTurns, noise: Uniforms | None, hints: Tensor | None = None) -> Choices:
    """The network's choices in B games, sampled by the noise of the turn; without noise the likeliest ones."""
    uniforms = None if noise is None else noise.turn_noise(turns.turns_taken).index_select(1, turns.live)
    seen = features(turns, network.adapter, hints), mask(turns, network.shape)
    return choose_actions([network], *seen, uniforms, [turns.size])


def network_acts(network: PolicyNetwork, turns: DeviceTurns, noise: Uniforms | None) -> tuple[Tensor, Tensor]:
    """The network's acts ``[B]`` and the items it keeps ``[3, B]``, int8."""
    return _as_int8(choose(network, turns, noise))


def _as_int8(choices: Choices) -> tuple[Tensor, Tensor]:
    act = choices.act.to(torch.int8)
    return act, choices.oA.t().to(torch.int8) * (act <= Act.INSIST)


class DeviceLearner:
    """A network that plays one block of games on a device and records its choices; a new one is made for every block.

    The counterpart of :class:`partners.learning.experience.LearningSeat`.
    """

    def __init__(self, network: PolicyNetwork) -> None:
        self.network = network
        self._choices: list[tuple[int, Tensor, Choices]] = []

    def act(self, turns: DeviceTurns, noise: Uniforms, hints: Tensor | None = None) -> tuple[Tensor, Tensor, None]:
        """One act per open game; see :class:`partners.device.opponents.SeatedOpponent`."""
        choices = choose(self.network, turns, noise, hints)
        self._choices.append((turns.turns_taken, turns.live, choices))
        return *_as_int8(choices), None

    def experience(
        self, games: DeviceGames, pay: Tensor, targets: Tensor | None = None, unread: Tensor | None = None
    ) -> Experience | None:
        """The recorded decisions, ``None`` if there are none; games that are not valid are left out.

        ``pay[N]`` float64: the learner's reward, as a share of the whole; ``targets[N, 4]``: privileged targets of each
        game; ``unread[N]``: games whose partner reads no labels.
        """
        valid = games.valid
        if valid is not None:
            self._choices = [part for part in (_of_games(valid, *row) for row in self._choices) if len(part[1])]
        if not self._choices:
            return None
        seat, size, device = self._choices[0][0] % 2, len(games.turns), pay.device
        own_turns = (games.rules.max_turns - seat + 1) // 2
        own = (games.turns.long() + 1 - seat) // 2  # own decisions in each game
        acted = own > 0 if valid is None else (own > 0) & valid
        reward = torch.zeros(own_turns, size, device=device)
        reward.scatter_(0, (own - 1).clamp(min=0)[None], torch.where(acted, pay, 0.0).float()[None])
        return Experience(
            **{name: torch.cat([getattr(choices, name) for _, _, choices in self._choices]) for name in ROWS},
            place=torch.cat([taken // 2 * size + live for taken, live, _ in self._choices]),
            reward=reward,
            seat=torch.full((size,), seat, device=device),
            targets=None if targets is None else torch.cat([targets[live] for _, live, _ in self._choices]),
            unread=None if unread is None else torch.cat([unread[live] for _, live, _ in self._choices]),
        )


def _of_games(chosen: Tensor, taken: int, live: Tensor, choices: Choices) -> tuple[int, Tensor, Choices]:
    """The choices of one turn in the games where ``chosen[N]``."""
    rows = chosen[live].nonzero().flatten()
    return taken, live[rows], Choices(*(part[rows] for part in choices))
