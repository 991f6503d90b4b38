"""A policy network in a seat: it samples or takes the likeliest action, and knows its probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dond_marl.game import Act, Disagree
from dond_marl.seats import Cause, Decisions, Doubles, Traits, Turns, constant
from dond_marl.splits import certain
from partners.network.network import PolicyNetwork, copy_of, masked
from partners.network.plain import numbered
from partners.network.shape import PARTS
from partners.network.shape import RELUCTANCE as RELUCTANCE

ROWS = 64  # forwards are padded to a multiple: the same row gives the same bits in any company (measured)


class Choices(NamedTuple):
    """The actions drawn and what they were drawn from, one row per game."""

    act: Tensor  # [B] int64
    oA: Tensor  # [B, 3] int64, drawn for every row
    log_prob: Tensor  # [B] of act, and of oA where it counts
    value: Tensor  # [B] share of the whole
    features: Tensor  # [B, F] that it read
    mask: Tensor  # [B, 4, W]


class NetworkPartner:
    """A frozen policy network. ``greedy``: take the likeliest act and offer instead of sampling them."""

    def __init__(self, network: PolicyNetwork, *, greedy: bool = False) -> None:
        self.network, self.greedy = network.eval(), greedy

    @property
    def traits(self) -> Traits:
        return Traits(deterministic=self.greedy, memoryless=not self.network.shape.remembers, learned=True)

    def sampled(self) -> NetworkPartner:
        """The same policy, which samples what it does."""
        return NetworkPartner(self.network)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the confidence is its probability."""
        choices = self.choose(turns)
        offers = choices.act <= Act.INSIST
        return Decisions(
            choices.act.numpy().astype(np.int8),
            (choices.oA * offers[:, None]).numpy().astype(np.int8),
            choices.log_prob.exp().clamp(max=1.0).numpy(),
            constant(Cause.FREE, np.int8, turns.size),
        )

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        if self.greedy:
            decisions = self.act(turns)
            return certain(decisions.act_type, decisions.oA, max_count)
        with torch.no_grad(), _threads_for(turns.size):
            logits = _logits(self.network, *self._read(turns))[0]
        parts = torch.softmax(logits, dim=1).permute(2, 0, 1)[: turns.size].double().numpy()  # [B, 4, W]
        parts /= parts.sum(axis=2, keepdims=True)
        return numbered(parts, max_count)

    @torch.no_grad()
    def choose(self, turns: Turns) -> Choices:
        """Sample from the noise of the turn (0 for the act, 1-3 for ``oA``), or take the likeliest."""
        with _threads_for(turns.size):
            return self._choose(turns)

    def _choose(self, turns: Turns) -> Choices:
        features, mask = self._read(turns)
        uniforms = None if self.greedy else torch.from_numpy(turns.noise[:, :PARTS].T.astype(np.float32))
        return chosen_from(self.network, features, mask, uniforms)

    def _read(self, turns: Turns) -> tuple[Tensor, Tensor]:
        """Features ``[B, F]`` and mask ``[B, 4, W]``."""
        network = self.network
        return torch.from_numpy(network.adapter.encode(turns)), torch.from_numpy(network.mask(turns))


def chosen_from(network: PolicyNetwork, features: Tensor, mask: Tensor, uniforms: Tensor | None) -> Choices:
    """What a network says to ``features[B, F]`` under ``mask[B, 4, W]``, all on one device, the network on any.

    ``uniforms[4 or more, B]``: what it draws by, the act by the first; None: it takes the likeliest.
    """
    size = len(features)
    logits, value = _logits(network, features, mask)
    probs = torch.softmax(logits, dim=1)
    if uniforms is None:
        chosen = _likeliest(probs)  # [4, P]
    else:
        chosen = _drawn(probs, _padded(uniforms[: len(probs)].float()))
    parts = probs.gather(1, chosen[:, None]).squeeze(1).log()
    log_prob = parts[0] + (chosen[0] <= Act.INSIST) * parts[1:].sum(dim=0)
    return Choices(chosen[0, :size], chosen[1:, :size].t(), log_prob[:size], value[:size], features, mask)


def _logits(network: PolicyNetwork, features: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Masked logits ``[4, W, P]`` and values ``[P]``, the B rows padded to P, where the features are."""
    logits, value = network(_padded(features.t()).t().to(network.device))
    device, allowed = features.device, _padded(mask.permute(1, 2, 0))
    return masked(logits.permute(1, 2, 0).to(device), allowed), value.to(device)


class Clone:
    """A network taught where DISAGREE only refuses, in a seat of either kind of game (see :func:`reluctant`)."""

    def __init__(self, network: PolicyNetwork, *, greedy: bool = False) -> None:
        self.network = network
        self._refusing = NetworkPartner(network, greedy=greedy)
        self._reluctant = NetworkPartner(reluctant(network), greedy=greedy)

    @property
    def traits(self) -> Traits:
        return self._refusing.traits

    def sampled(self) -> Clone:
        """The same policy, which samples what it does."""
        return Clone(self.network)

    def act(self, turns: Turns) -> Decisions:
        return self._under(turns.rules.disagree).act(turns)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        return self._under(turns.rules.disagree).probs(turns, max_count)

    def _under(self, disagree: Disagree) -> NetworkPartner:
        return self._reluctant if disagree == "ends" else self._refusing


def reluctant(network: PolicyNetwork) -> PolicyNetwork:
    """A copy that hardly ever says DISAGREE: ``RELUCTANCE`` nats less, all else in the same proportions.

    People, whose DISAGREE refuses and talks on, would not say it so lightly where it ends the game.
    """
    network = copy_of(network)
    with torch.no_grad():
        network.head.bias[Act.DISAGREE] -= RELUCTANCE  # the head's first outputs are the act's
    return network


@contextmanager
def _threads_for(rows: int) -> Iterator[None]:
    """One thread for a few rows: there, two of PyTorch take ten times as long (measured), waiting for each other."""
    before = torch.get_num_threads()
    if before == 1 or rows > ROWS:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _padded(rows: Tensor) -> Tensor:
    """``[..., B]`` to ``[..., P]``, zeros up to the next multiple of ``ROWS``."""
    missing = -rows.shape[-1] % ROWS
    return torch.nn.functional.pad(rows, (0, missing)) if missing else rows


def _drawn(probs: Tensor, uniforms: Tensor) -> Tensor:
    """The first choice whose end of the line lies beyond the uniform, ``[4, P]``: never one of probability zero."""
    ends = probs.cumsum(dim=1)
    # In float32 a uniform can round up to 1 and the ends need not sum to it: the last possible choice has no end.
    ends = ends.masked_fill(ends >= ends[:, -1:], torch.inf)
    return (ends <= uniforms[:, None]).sum(dim=1)


def _likeliest(probs: Tensor) -> Tensor:
    """The first of the largest, ``[4, P]``; ``argmax`` across rows takes ten times as long."""
    return ((probs == probs.amax(dim=1, keepdim=True)).cumsum(dim=1) == 0).sum(dim=1)
