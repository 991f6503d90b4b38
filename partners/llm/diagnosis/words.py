"""A model on this machine that answers with how likely it finds each of a few words: exact, nothing is sampled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from partners.llm.client import ModelReply, Query, Usage
from partners.llm.local.client import LocalClient

if TYPE_CHECKING:
    from torch import Tensor

    from partners.llm.local.key_values import KeyValueState

_BATCH = 8
_BEGUN = "The type is"  # what its answer begins with


class WordProbabilityClient:
    """A :class:`partners.llm.client.Client` before ``local``'s model: one line of JSON, a probability for each word.

    What a word is written with is followed to its end, and the probabilities of the words are made to sum to 1.
    """

    remote = False

    def __init__(self, local: LocalClient, system: str, words: Sequence[str]) -> None:
        self.local, self.system, self.words = local, system, tuple(words)
        self.tally: Counter[str] = Counter()

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self.local.identity, "system": self.system, "answers": list(self.words)}

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """One reply per ask, in order. Raises :class:`SetupError`."""
        import torch

        from partners.llm.local.key_values import KeyValueState

        read = self.local.load()
        words = read.encode([f" {word}" for word in self.words])
        texts = []
        for ask in asks:
            told = f"{self.system}\n\n{ask.prompt}"
            texts.append(read.templated([{"role": "user", "content": told}]) if read.tokenizer.chat_template else told)
        prompts = read.encode([f"{text}{_BEGUN}" for text in texts])
        replies = []
        for start in range(0, len(asks), _BATCH):
            some = prompts[start : start + _BATCH]
            reading = KeyValueState(read.model)
            chances = torch.softmax(_log_probs(reading, reading.go_on(some), words), dim=1).cpu().numpy()
            for prompt, row in zip(some, chances, strict=True):
                line = json.dumps(dict(zip(self.words, np.round(row, 6).tolist(), strict=True)))
                replies.append(ModelReply(line, usage=Usage(len(prompt), 1)))
        self.tally.update(replies=len(asks), prompt_tokens=sum(map(len, prompts)))
        return replies


def _log_probs(reading: KeyValueState, logits: Tensor, words: Sequence[Sequence[int]]) -> Tensor:
    """The log-probability of each word after what was read, ``[R, words]``; ``logits[R, V]``: of the next token."""
    import torch

    rows, totals = list(range(len(logits))), []
    for tokens in words:
        after, here = reading.fork(), logits
        total = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
        for place, token in enumerate(tokens):
            total += here.double().log_softmax(dim=1)[:, token]
            if place + 1 < len(tokens):
                here = after.go_on([[token]] * len(rows), rows)
        totals.append(total)
    return torch.stack(totals, dim=1)
