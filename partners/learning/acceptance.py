"""Auxiliary task of a learner: predict, for every split of the pool, whether the partner would accept it now.

A policy that reads offers has to know what its partner accepts. Rewards show that for one offer a turn, and only at the
end of a game; counterfactual queries show it at once. A partner is a function of its turns, which hold the history and
its noise, so its answer to another offer is exact: it is queried with the turn that it would observe after that offer.
The head is a logit per split from the output of the shared trunk and is used in learning only (auxiliary tasks:
Jaderberg et al. 2017, *Reinforcement Learning with Unsupervised Auxiliary Tasks*, arXiv 1611.05397; about other agents:
Hernandez-Leal, Kartal, Taylor 2019, *Agent Modeling as Auxiliary Task*, arXiv 1907.09597).

::

    learner's turn t:   history ──> offer that was made ──> partner's turn t + 1, its noise ──> its answer
                           └──> K other splits, PROPOSE ──> partner's turn t + 1, same noise ──> AGREE or not: labels
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from dond_marl.game import Act
from dond_marl.rollout import Noise, OccupantError
from dond_marl.seats import (
    Bools,
    Doubles,
    History,
    Int8s,
    Partner,
    Rows,
    Turns,
    constant,
    expensive_to_query,
    turns_after,
)
from dond_marl.splits import grid, grid_size
from partners.mixture import holds_of_drawn
from partners.network.network import PolicyNetwork, orthogonal_weights

HEAD_LAYER = 1002  # a number that no other layer has, so that initial weights are drawn independently
UNKNOWN = -1  # label at a decision without queries


class AcceptanceQueries(NamedTuple):
    """How many splits are queried at a decision, and at which share (0..1) of the learner's turns of a block."""

    splits: int = 4
    share: float = 0.1


@dataclass(frozen=True)
class Respondent:
    """The partner in N finished games, queried with offers that were not made; play is not affected.

    ``seat``: the partner's; ``utilities[N, 3]``: its values; ``noise``: that of the games. Partners that are expensive
    to query (language models, services, people) are not queried: they need not be functions of their turns.
    """

    partner: Partner
    seat: int
    utilities: Int8s
    noise: Noise
    reveal_partner_utilities: bool = False

    def accepts(self, turns: Turns, games: Rows, oA: Int8s) -> Bools:
        """Whether it would answer AGREE, ``[B]``, if the learner proposed ``oA[B, 3]`` (what it keeps) at its turns.

        ``turns[B]``: the learner's, of the games number ``games[B]``. Raises :class:`OccupantError`.
        """
        history = turns.history
        acts = np.concatenate([history.act.T, constant(Act.PROPOSE, np.int8, 1, turns.size)])
        offers = np.concatenate([history.oA.transpose(1, 2, 0), oA.T[None]])
        after = turns_after(
            turns.rules,
            turns.prior,
            turns.counts,
            self.utilities[games],
            acts,
            offers,
            turns.counts - oA,
            turns.my_utilities if self.reveal_partner_utilities else None,
        )
        if history.has_messages:  # the proposal has none
            messages = np.concatenate([history.messages.T, np.full((1, turns.size), "", dtype=np.object_)])
            after = after._replace(history=History(acts, offers, len(acts), None, messages))
        if not self.partner.traits.deterministic:
            fresh, of_game = self.noise.turn_noise(len(acts)), self.noise.game_noise(self.seat)
            after = after._replace(noise=fresh[games], game_noise=of_game[games])
        try:
            accepted: Bools = self.partner.act(after).act_type == Act.AGREE
        except (MemoryError, KeyboardInterrupt):
            raise  # not a failure of the partner
        except BaseException as error:  # whatever a partner may raise
            raise OccupantError(self.seat, error) from error
        return accepted

    def sample_answers(
        self, turns: Turns, games: Rows, queries: AcceptanceQueries, draws: np.random.Generator
    ) -> Int8s:
        """Random splits of each turn's pool and their labels, ``[B, K, 4]``: ``oA``, then 1 (accepted), 0 or UNKNOWN.

        Whether this turn is queried is drawn for all its games at once: a call of many small partners takes about as
        long for a quarter of the games. The last public turn has no answer and is not queried.
        """
        answers = np.zeros((turns.size, queries.splits, 4), dtype=np.int8)
        answers[:, :, 3] = UNKNOWN
        if draws.random() >= queries.share or turns.turns_taken + 1 >= turns.rules.talk_turns:
            return answers
        drawn_by = self.noise.game_noise(self.seat)[games]
        rows = np.flatnonzero(holds_of_drawn(self.partner, drawn_by, lambda each: not expensive_to_query(each.traits)))
        if rows.size:
            levels = turns.counts[rows, None] + 1  # uniform for each item, and so for the split
            oA = (draws.random((rows.size, queries.splits, 3)) * levels).astype(np.int8)
            repeated = np.repeat(rows, queries.splits)
            accepted = self.accepts(turns.rows(repeated), games[repeated], oA.reshape(-1, 3))
            answers[rows, :, :3], answers[rows, :, 3] = oA, accepted.reshape(rows.size, -1)
        return answers


class AcceptanceHead(nn.Module):
    """A logit for every split, by the number of what the learner keeps (:func:`dond_marl.splits.grid`).

    Splits are in the network's own order of items.
    """

    def __init__(self, network: PolicyNetwork, seed: int) -> None:
        super().__init__()
        self.layer = nn.Linear(network.head.in_features, grid_size(network.shape.max_count))
        orthogonal_weights(self.layer, 0.01, seed, HEAD_LAYER)

    def loss(self, hidden: Tensor, answers: Tensor) -> Tensor:
        """Cross-entropy in nats per known label, a scalar, 0 if none is known.

        ``hidden[B, H]``: output of the trunk; ``answers[B, K, 2]``: of :func:`numbered_answers`.
        """
        rows = (answers[:, 0, 1] != UNKNOWN).nonzero().flatten()  # few: the layer is large
        numbers, labels = answers[rows].unbind(dim=2)
        logits = self.layer(hidden[rows]).gather(1, numbers)
        total = binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="sum")
        return total / max(labels.numel(), 1)

    @torch.no_grad()
    def probabilities(self, network: PolicyNetwork, turns: Turns) -> Doubles:
        """The predicted probability that each split would be accepted at the learner's turns, ``[B, grid]``.

        By the number of what the learner keeps, in the turn's order of items; 0 for splits beyond the pool.
        """
        inputs = network.prepare(torch.from_numpy(network.adapter.encode(turns)).to(network.device))
        every = grid(network.shape.max_count)
        numbers = _own_numbers(network, torch.from_numpy(every.T.copy())[:, :, None].expand(-1, -1, turns.size), inputs)
        odds = torch.sigmoid(self.layer(network.trunk_output(inputs)).gather(1, numbers.t())).double().cpu().numpy()
        return np.where((every <= turns.counts[:, None]).all(axis=2), odds, 0.0)


def numbered_answers(network: PolicyNetwork, answers: Tensor, inputs: Tensor) -> Tensor:
    """Answers ``[B, K, 4]`` of :meth:`Respondent.sample_answers` as numbers of splits and labels, ``[B, K, 2]`` int64.

    ``inputs``: the network's, of the same rows. Numbers are in the network's own order of items.
    """
    numbers = _own_numbers(network, answers[:, :, :3].permute(2, 1, 0), inputs)
    return torch.stack([numbers.t(), answers[:, :, 3].long()], dim=2)


def _own_numbers(network: PolicyNetwork, oA: Tensor, inputs: Tensor) -> Tensor:
    """The numbers of ``oA[3, K, B]`` in the network's own order of items, ``[K, B]``."""
    book, hat, ball = network.in_own_order(oA.long().to(inputs.device), inputs)
    side = network.shape.max_count + 1
    numbers: Tensor = (book * side + hat) * side + ball
    return numbers
