"""A reward model trained on a few labelled episodes by supervised learning, as the baseline of a language model judge.

Its input is the same episode, as a sequence. Source: Kwon et al. 2023 (arXiv 2303.00001), section 4.3, and its
published code: a GRU of 128 units, Adam at 0.05, until every label is right or 100 epochs are over.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from dond_marl.batch import Games
from dond_marl.game import MAX_COUNT, MAX_VALUE, Act
from dond_marl.randomness import generator
from dond_marl.seats import Int8s
from dond_marl.statistics import TEN, points_of_ten
from partners.judges.episodes import LabelledGames
from partners.judges.judge import Verdict, count_verdicts
from partners.judges.styles import Style

UNITS, LEARNING_RATE, EPOCHS = 128, 0.05, 100
_KINDS, _TABLE, _ACT, _END = 3, 9, 9, 3  # columns: which kind of step, then the content of each kind
_WIDTH = _KINDS + _TABLE + _ACT + _END


class RewardModel:
    """A judge by a network: yes where its probability is above one half. ``seed`` draws the initial weights."""

    def __init__(self, style: Style, labelled: LabelledGames, seed: int) -> None:
        self.style = style
        self.tally: Counter[str] = Counter()
        self._network = _Network(seed)
        steps, lengths = episode_tensors(labelled.games, labelled.seat)
        self.epochs = self._network.learn(steps, lengths, torch.from_numpy(labelled.labels))

    def verdicts(self, games: Games, seat: int) -> Int8s:
        """A :class:`Verdict` for each game, ``[N]``."""
        with torch.no_grad():
            yes = self._network(*episode_tensors(games, seat)) > 0
        verdicts = np.where(yes.numpy(), Verdict.YES, Verdict.NO).astype(np.int8)
        return count_verdicts(self.tally, verdicts)


def episode_tensors(games: Games, seat: int) -> tuple[Tensor, Tensor]:
    """Each game as steps ``[N, T + 2, 24]`` of numbers in -1..1, and the number of steps, ``[N]``.

    The numbers are from the view of the judged ``seat``, so both seats look the same.
    """
    size, longest = games.act.shape
    steps = np.zeros((size, longest + 2, _WIDTH), dtype=np.float32)
    scenarios, rows = games.scenarios, np.arange(size)
    values = scenarios.utilities[:, [seat, 1 - seat]].reshape(size, 6) / MAX_VALUE
    steps[:, 0, 0] = 1
    steps[:, 0, _KINDS : _KINDS + _TABLE] = np.concatenate([scenarios.counts / MAX_COUNT, values], axis=1)
    acted, turn = np.nonzero(games.act >= 0)
    start = _KINDS + _TABLE
    steps[acted, turn + 1, 1] = 1
    steps[acted, turn + 1, start] = np.where(turn % 2 == seat, 1, -1)
    steps[acted, turn + 1, start + 1 + games.act[acted, turn]] = 1
    steps[acted, turn + 1, start + 1 + len(Act) : start + _ACT] = games.oA[acted, turn] / MAX_COUNT
    ended = games.turns.astype(np.int64) + 1
    earned = points_of_ten(games.scores, scenarios.pool_values) / TEN
    steps[rows, ended, 2] = 1
    steps[rows, ended, start + _ACT] = games.deal
    steps[rows, ended, start + _ACT + 1 :] = earned[:, [seat, 1 - seat]]
    return torch.from_numpy(steps), torch.from_numpy(ended + 1)


class _Network(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.gru = nn.GRU(_WIDTH, UNITS, batch_first=True)
        self.head = nn.Linear(UNITS, 1)
        bound = 1 / math.sqrt(UNITS)  # the range of PyTorch, drawn from the seed
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters()):
                drawn = generator(seed, "reward model", number).uniform(-bound, bound, tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(drawn))

    def forward(self, steps: Tensor, lengths: Tensor) -> Tensor:
        """Log odds of yes, ``[N]``."""
        packed = pack_padded_sequence(steps, lengths, batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        odds: Tensor = self.head(last[0])[:, 0]
        return odds

    def learn(self, steps: Tensor, lengths: Tensor, labels: Tensor) -> int:
        """Train on all episodes at once; returns the number of epochs."""
        optimizer = torch.optim.Adam(self.parameters(), lr=LEARNING_RATE)
        for epoch in range(EPOCHS):
            odds = self(steps, lengths)
            if bool(((odds > 0) == labels).all()):
                return epoch
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(odds, labels.float()).backward()  # type: ignore[no-untyped-call]  # PyTorch's own
            optimizer.step()
        return EPOCHS
