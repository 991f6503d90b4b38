"""Sentences drawn from the model, word by word, out of the uniforms that are handed in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.randomness import unfolded
from league.experiments.field.words.corpus import END_OF_TURN, PAD, SELECTION, THEM, UNKNOWN, YOU, Goal, Vocabulary
from league.experiments.field.words.network import TalkNetwork, padded, whole_rows
from league.experiments.field.words.settings import SpeakingSection

Uniforms = NDArray[np.float64]


class Voice:
    """A model with its words and its way to draw them."""

    def __init__(self, network: TalkNetwork, known: Vocabulary, chosen: SpeakingSection) -> None:
        self.network, self.known, self.chosen = network.eval(), known, chosen
        self._never = [known.number(word) for word in (PAD, UNKNOWN, YOU, THEM)]  # nobody says them in a sentence
        self._ends = {known.number(word) for word in (END_OF_TURN, SELECTION)}

    @property
    def attempts(self) -> int:
        """How many sentences are drawn until one is read as a legal act."""
        return self.chosen.attempts

    def sentences(
        self, goals: Sequence[Goal], talks: Sequence[Sequence[int]], uniforms: Uniforms, attempt: int = 0
    ) -> list[tuple[str, ...]]:
        """What each speaker says next, without the end of its turn; ``uniforms[B]`` decides.

        ``talks`` are the words so far from the speaker's side, ending with ``YOU:``. A sentence of the bare
        ``<selection>`` ends the talk.
        """
        rows, size = whole_rows(len(talks)), len(talks)
        table, lengths = padded(talks, rows)
        spread = np.zeros(rows)
        spread[:size] = uniforms
        said: list[list[str]] = [[] for _ in range(size)]
        open_rows = set(range(size))
        with torch.no_grad():
            aims = self.network.aims([*goals, *[(0,) * 6] * (rows - size)])
            scores, state = self._read(aims, table, lengths)
            for place in range(self.chosen.words):
                drawn = self._drawn(scores, unfolded(spread, attempt, place))
                for row in sorted(open_rows):
                    number = int(drawn[row])
                    if number in self._ends and (self.known.words[number] == END_OF_TURN or said[row]):
                        open_rows.remove(row)
                    else:
                        said[row].append(self.known.words[number])
                        if number in self._ends:
                            open_rows.remove(row)
                if not open_rows:
                    break
                step, state = self.network(aims, drawn[:, None], state)
                scores = step[:, 0]
        return [tuple(words) for words in said]

    def _read(self, aims: Tensor, table: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of the next word after each talk, ``[B, V]``, and the state there."""
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.cat([self.network.words(table), aims[:, None].expand(-1, table.shape[1], -1)], dim=2),
            lengths, batch_first=True, enforce_sorted=False,
        )  # fmt: skip
        _, state = self.network.reads(packed)
        scores: Tensor = self.network.says(state[0])
        return scores, state

    def _drawn(self, scores: Tensor, uniforms: Uniforms) -> Tensor:
        """A word a row by the temperature, where the uniform falls among the words' chances."""
        colder = scores.double() / self.chosen.temperature
        colder[:, self._never] = -torch.inf
        ends = torch.softmax(colder, dim=1).cumsum(dim=1)
        return (ends <= torch.from_numpy(uniforms)[:, None] * ends[:, -1:]).sum(dim=1).clamp(max=ends.shape[1] - 1)
