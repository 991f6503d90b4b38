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
from dond_marl.yardsticks.recognition import Guess
from partners.network.heads import Said
from partners.network.network import PolicyNetwork, copy_of
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
            said, _ = _said(self.network, *self._read(turns))
            return said.chances(turns.size).numbered(max_count)

    def beliefs(self, turns: Turns) -> Guess | None:
        """What it believes of its partner's values and of who it is; ``None`` where it has not learned to say."""
        network = self.network
        if network.belief is None:
            return None
        with torch.no_grad(), _threads_for(turns.size):
            read = network.read(_padded(self._read(turns)[0].t()).t().to(network.device))
            values, who = network.believed(network.hidden(read), read)
        said = torch.softmax(values, dim=1).permute(2, 0, 1)[: turns.size].double().cpu().numpy()  # [B, 3, 11]
        named = torch.softmax(who, dim=0).t()[: turns.size].double().cpu().numpy()
        said /= said.sum(axis=2, keepdims=True)
        return Guess(said, network.shape.members, named)

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
    said, value = _said(network, features, mask)
    act, oA, log_prob = said.choose(None if uniforms is None else _padded(uniforms[:PARTS].float()))
    return Choices(act[:size], oA[:size], log_prob[:size], value[:size], features, mask)


def _said(network: PolicyNetwork, features: Tensor, mask: Tensor) -> tuple[Said, Tensor]:
    """What it says and values ``[P]``, the B rows padded to P, where the features are."""
    device = features.device
    read = network.read(_padded(features.t()).t().to(network.device))
    logits, value = network.answer(read)
    allowed = _padded(mask.permute(1, 2, 0)).permute(2, 0, 1)
    return network.said(logits.to(device), allowed, read.to(device)), value.to(device)


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
