"""A network that says the next word: the dialogue model of Lewis et al. 2017, section 4.1, without its selection part.

What the speaker sees is read once and joins every word; a recurrent network reads the words of both sides, and the
next word is drawn from what it has read. Splits are read from the talk by our annotator instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from league.experiments.field.words.corpus import Goal

WORD, GOAL, HIDDEN = 256, 64, 128  # widths, those of the paper's published code
MOST = 11  # numbers of a goal are 0..10
ROWS = 64  # forward passes are padded to a multiple, so that results do not depend on company


class TalkNetwork(nn.Module):
    """Reads goals ``[B, 6]`` and words ``[B, T]``; scores of every next word ``[B, T, V]``."""

    def __init__(self, words: int, seed: int, dropout: float = 0.0) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # of the first weights; nothing else is drawn here
            self.numbers = nn.Embedding(6 * MOST, 32)
            self.goal = nn.Linear(6 * 32, GOAL)
            self.words = nn.Embedding(words, WORD, padding_idx=0)
            self.reads = nn.GRU(WORD + GOAL, HIDDEN, batch_first=True)
            self.says = nn.Linear(HIDDEN, words)
        self.dropout = dropout

    def aims(self, goals: Sequence[Goal] | Tensor) -> Tensor:
        """What the speakers see, as ``[B, GOAL]``."""
        numbers = torch.as_tensor(goals, dtype=torch.int64) + MOST * torch.arange(6)
        return torch.tanh(self.goal(self.numbers(numbers).flatten(1)))

    def forward(
        self, aims: Tensor, words: Tensor, state: Tensor | None = None, keep: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores ``[B, T, V]`` and the state after the last word; ``keep`` masks what is read, in training."""
        told = aims[:, None].expand(-1, words.shape[1], -1)
        heard = self.words(words) if keep is None else self.words(words) * keep
        read, last = self.reads(torch.cat([heard, told], dim=2), state)
        return self.says(read), last


def padded(words: Sequence[Sequence[int]], rows: int | None = None) -> tuple[Tensor, Tensor]:
    """Word numbers ``[R, T]``, the rest 0, and lengths ``[R]``; ``rows``: how many at least, empty ones of length 1."""
    size = max(len(words), rows or 0)
    lengths = [len(line) for line in words] + [1] * (size - len(words))
    table = torch.zeros(size, max([*lengths, 1]), dtype=torch.int64)
    for row, line in enumerate(words):
        table[row, : len(line)] = torch.tensor(line, dtype=torch.int64)
    return table, torch.tensor(lengths)


def whole_rows(size: int) -> int:
    """The least multiple of :data:`ROWS` that holds so many."""
    return -(-size // ROWS) * ROWS
