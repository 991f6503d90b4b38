"""Policy networks as partners: sampled or greedy, with the probabilities of all acts and with beliefs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dond_marl.game import Act, Disagree
from dond_marl.seats import Cause, Decisions, Doubles, Traits, Turns, constant
from dond_marl.solvers.recognition import Guess
from dond_marl.splits import one_hot_probabilities
from partners.network.heads import ActionDistribution
from partners.network.network import PolicyNetwork, copy_of
from partners.network.shape import PARTS
from partners.network.shape import RELUCTANCE as RELUCTANCE

ROWS = 64  # forward passes are padded to a multiple: a row's bits then do not depend on the others (measured)
FEW, MANY = 512, 1 << 16  # rows from which finding equal ones saves time, and to which their numbers fit into 16 bits
MOST_NETWORKS = 1 << 7  # in one call whose equal rows are found: their numbers fit into the other bits


class Choices(NamedTuple):
    """Chosen actions with their log-probabilities, values and inputs, one row per game."""

    act: Tensor  # [B] int64
    oA: Tensor  # [B, 3] int64, of every row
    log_prob: Tensor  # [B] of the act, and of oA for offers
    label_log_odds: Tensor  # [B] of INSIST to PROPOSE
    value: Tensor  # [B] share of the whole
    features: Tensor  # [B, F] the input
    mask: Tensor  # [B, 4, W]


class Distinct(NamedTuple):
    """The distinct rows of a batch of B, sorted by network: the rows of one are equal in all that the network reads."""

    rows: Tensor  # [U] int64: the first row of the batch with each of the distinct contents
    numbers: Tensor  # [B] int64 in 0..U - 1
    sizes: list[int]  # of U, by network


class NetworkPartner:
    """A frozen policy network in a seat; ``greedy``: the likeliest act and offer instead of samples."""

    def __init__(self, network: PolicyNetwork, *, greedy: bool = False) -> None:
        self.network, self.greedy = network.eval(), greedy

    def __repr__(self) -> str:
        return f"{type(self).__name__}(greedy={self.greedy})"

    @property
    def traits(self) -> Traits:
        return Traits(deterministic=self.greedy, memoryless=not self.network.shape.remembers, learned=True)

    def sampling_policy(self) -> NetworkPartner:
        """The same policy, sampling its actions."""
        return NetworkPartner(self.network)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the confidence is its probability."""
        return self.act_jointly([self], [turns.size], turns)

    @property
    def joint_key(self) -> Hashable:
        """Equal for networks that can act in one call: see :class:`partners.mixture.JointPlayer`."""
        return type(self), self.network.shape, self.network.device, self.greedy

    @staticmethod
    def act_jointly(players: Sequence[NetworkPartner], sizes: Sequence[int], turns: Turns) -> Decisions:
        """Decide for several players in one call, with the same decisions as one call of each player's ``act``.

        See :class:`partners.mixture.JointPlayer`.
        """
        networks = [player.network for player in players]
        with torch.no_grad(), _threads_for(turns.size):
            choices = choose_actions(networks, *players[0]._observe(turns), sizes, players[0]._distinct(turns, sizes))
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
            return one_hot_probabilities(decisions.act_type, decisions.oA, max_count)
        with torch.no_grad(), _threads_for(turns.size):
            policy, _ = _distribution([self.network], *self._inputs(turns), [turns.size])
            return policy.probabilities(turns.size).by_number(max_count)

    def beliefs(self, turns: Turns) -> Guess | None:
        """Beliefs about the partner's values and identity; ``None`` without a belief head."""
        network = self.network
        if network.belief is None:
            return None
        with torch.no_grad(), _threads_for(turns.size):
            inputs = network.prepare(_pad_rows(self._inputs(turns)[0].t()).t().to(network.device))
            values, members = network.belief_logits(network.trunk_output(inputs), inputs)
        by_value = torch.softmax(values, dim=1).permute(2, 0, 1)[: turns.size].double().cpu().numpy()  # [B, 3, 11]
        by_member = torch.softmax(members, dim=0).t()[: turns.size].double().cpu().numpy()
        by_value /= by_value.sum(axis=2, keepdims=True)
        return Guess(by_value, network.shape.members, by_member)

    @torch.no_grad()
    def choose(self, turns: Turns) -> Choices:
        """Sample from the noise of the turn (0 for the act, 1-3 for ``oA``), or take the likeliest."""
        with _threads_for(turns.size):
            sizes = [turns.size]
            return choose_actions([self.network], *self._observe(turns), sizes, self._distinct(turns, sizes))

    def _observe(self, turns: Turns) -> tuple[Tensor, Tensor, Tensor | None]:
        """Features ``[B, F]``, mask ``[B, 4, W]`` and uniforms ``[4, B]``, None where it is greedy."""
        uniforms = None if self.greedy else torch.from_numpy(turns.noise[:, :PARTS].T.astype(np.float32))
        return *self._inputs(turns), uniforms

    def _inputs(self, turns: Turns) -> tuple[Tensor, Tensor]:
        """Features ``[B, F]`` and mask ``[B, 4, W]``."""
        network = self.network
        return torch.from_numpy(network.adapter.encode(turns)), torch.from_numpy(network.mask(turns))

    def _distinct(self, turns: Turns, sizes: Sequence[int]) -> Distinct | None:
        """The distinct rows; None where that would save nothing: few rows, hints, or a history of several acts."""
        shape, size = self.network.shape, turns.size
        if shape.hints or shape.partner_utilities or (shape.remembers and turns.turns_taken > 1):
            return None
        if not FEW <= size <= MANY or len(sizes) > MOST_NETWORKS:
            return None
        # One integer per row: the network's number, ten pieces of four bits (11 is the largest), the row's number.
        code = np.repeat(np.arange(len(sizes)), sizes)
        for piece in (
            *turns.counts.T, *turns.my_utilities.T, turns.last_partner_act, *turns.last_partner_offer_for_me.T,
        ):  # fmt: skip
            code = (code << 4) | piece
        code = (code << 16) | np.arange(size)
        code.sort()
        row, code = code & (MANY - 1), code >> 16
        first = np.append(True, code[1:] != code[:-1])
        numbers = np.empty(size, dtype=np.int64)
        numbers[row] = np.cumsum(first) - 1
        by_network = np.bincount(code[first] >> 40, minlength=len(sizes)).tolist()
        return Distinct(torch.from_numpy(row[first]), torch.from_numpy(numbers), by_network)


# How several networks act in one call, here two with 3 and 66 rows. Each network's rows are padded to a multiple of 64,
# so that its products, the only steps that mix rows, are those of a call of its own, to the bit:
#
#     rows         0 1 2 | 3 4 ... 68                 sizes = [3, 66]
#     padded       0 1 2 . . ... . | 3 4 ... 68 . .   parts of 64 and 128 columns; "." is a row of zeros
#     products     network 0       | network 1
#
# All other steps, from features to samples, are one call each for all of them.


def choose_actions(
    networks: Sequence[PolicyNetwork],
    features: Tensor,
    mask: Tensor,
    uniforms: Tensor | None,
    sizes: Sequence[int],
    distinct: Distinct | None = None,
) -> Choices:
    """Choices for ``features[B, F]`` under ``mask[B, 4, W]``, the first ``sizes[0]`` rows by the first network, ....

    All tensors are on one device, the networks, of one shape, on any. ``uniforms[4 or more, B]``: the noise, the first
    for the act; None: the likeliest. ``distinct``: the rows that are to be computed, None for all.
    """
    policy, value = _distribution(networks, features, mask, sizes, distinct)
    act, oA, log_prob = policy.sample(None if uniforms is None else _pad_parts(uniforms[:PARTS].float(), sizes))
    chosen = (act, oA, log_prob, policy.label_log_odds(), value)
    act, oA, log_prob, label_log_odds, value = (_unpad_parts(rows, sizes) for rows in chosen)
    return Choices(act, oA, log_prob, label_log_odds, value, features, mask)


def _distribution(
    networks: Sequence[PolicyNetwork],
    features: Tensor,
    mask: Tensor,
    sizes: Sequence[int],
    distinct: Distinct | None = None,
) -> tuple[ActionDistribution, Tensor]:
    """The action distributions and values ``[P]``, the B rows padded to P, on the device of the features."""
    device, network, rows = features.device, networks[0], features.t()
    computed = sizes
    if distinct is not None:
        rows, computed = rows.index_select(1, distinct.rows.to(device)), distinct.sizes
    inputs = network.prepare(_pad_parts(rows, computed).t().to(network.device))
    parts = torch.split(inputs, [_padded(size) for size in computed])
    outputs = [player.head_output(player.trunk_output(part)) for player, part in zip(networks, parts, strict=True)]
    out = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)
    if distinct is not None:
        padding = np.repeat(np.cumsum([0, *(-size % ROWS for size in computed[:-1])]), computed)
        places = torch.arange(len(padding)) + torch.from_numpy(padding)
        index = _pad_parts(places[distinct.numbers], sizes).to(out.device)
        out, inputs = out.index_select(1, index), inputs.t().index_select(1, index).t()
    logits, value = network.split_output(out, inputs)
    allowed = _pad_parts(mask.permute(1, 2, 0), sizes).permute(2, 0, 1)
    return network.distribution(logits.to(device), allowed, inputs.to(device)), value.to(device)


class ClonedPartner:
    """A network cloned from games where DISAGREE only refuses; where it ends them see :func:`with_rare_disagree`."""

    def __init__(self, network: PolicyNetwork, *, greedy: bool = False) -> None:
        self.network = network
        self._where_rejects = NetworkPartner(network, greedy=greedy)
        self._where_ends = NetworkPartner(with_rare_disagree(network), greedy=greedy)

    @property
    def traits(self) -> Traits:
        return self._where_rejects.traits

    def sampling_policy(self) -> ClonedPartner:
        """The same policy, sampling its actions."""
        return ClonedPartner(self.network)

    def act(self, turns: Turns) -> Decisions:
        return self._policy_under(turns.rules.disagree).act(turns)

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        return self._policy_under(turns.rules.disagree).probs(turns, max_count)

    def _policy_under(self, disagree: Disagree) -> NetworkPartner:
        return self._where_ends if disagree == "ends" else self._where_rejects


def with_rare_disagree(network: PolicyNetwork) -> PolicyNetwork:
    """A copy with ``RELUCTANCE`` nats less on DISAGREE; the other acts keep their proportions.

    In people's games DISAGREE refuses an offer and the talk goes on; where it ends the game they would use it rarely.
    """
    network = copy_of(network)
    with torch.no_grad():
        network.head.bias[Act.DISAGREE] -= RELUCTANCE  # the head's first outputs are the act's
    return network


@contextmanager
def _threads_for(rows: int) -> Iterator[None]:
    """Use one thread for a few rows: two threads of PyTorch take ten times as long there (measured)."""
    before = torch.get_num_threads()
    if before == 1 or rows > ROWS:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _padded(size: int) -> int:
    """The next multiple of ``ROWS``."""
    return size + -size % ROWS


def _pad_rows(rows: Tensor) -> Tensor:
    """``[..., B]`` to ``[..., P]``, zeros up to the next multiple of ``ROWS``."""
    missing = _padded(rows.shape[-1]) - rows.shape[-1]
    return torch.nn.functional.pad(rows, (0, missing)) if missing else rows


def _pad_parts(rows: Tensor, sizes: Sequence[int]) -> Tensor:
    """``[..., B]`` to ``[..., P]``: each part, of ``sizes`` rows, padded as by :func:`_pad_rows`."""
    if len(sizes) == 1:
        return _pad_rows(rows)
    return torch.cat([_pad_rows(part) for part in torch.split(rows, list(sizes), dim=-1)], dim=-1)


def _unpad_parts(rows: Tensor, sizes: Sequence[int]) -> Tensor:
    """The B rows of ``[P, ...]`` without the padding of their parts."""
    if len(sizes) == 1:
        return rows[: sizes[0]]
    parts = torch.split(rows, [_padded(size) for size in sizes])
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])
