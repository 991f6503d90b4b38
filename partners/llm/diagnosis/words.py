"""A model on this machine that answers with how likely it finds each of a few words: exact, nothing is sampled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from partners.llm.client import Ask, Reply, SetupError, Usage
from partners.llm.local.client import LocalClient

_BATCH = 8
_BEGUN = "The type is"  # what its answer begins with


class WordsClient:
    """A :class:`partners.llm.client.Client` before ``local``'s model: one line of JSON, a probability for each word.

    The words must begin with different tokens; else :class:`SetupError`.
    """

    remote = False

    def __init__(self, local: LocalClient, system: str, words: Sequence[str]) -> None:
        self.local, self.system, self.words = local, system, tuple(words)
        self.tally: Counter[str] = Counter()

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self.local.identity, "system": self.system, "answers": list(self.words)}

    def complete(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply per ask, in order. Raises :class:`SetupError`."""
        import torch

        from partners.llm.local.reading import Reading

        read = self.local.ready()
        first = [tokens[0] for tokens in read.encode([f" {word}" for word in self.words])]
        if len(set(first)) < len(first):
            raise SetupError(
                f"the model {read.source} writes some of {', '.join(self.words)} with the same first token"
            )
        texts = []
        for ask in asks:
            told = f"{self.system}\n\n{ask.prompt}"
            texts.append(read.templated([{"role": "user", "content": told}]) if read.tokenizer.chat_template else told)
        prompts = read.encode([f"{text}{_BEGUN}" for text in texts])
        replies = []
        for start in range(0, len(asks), _BATCH):
            some = prompts[start : start + _BATCH]
            logits = Reading(read.model).go_on(some)[:, first]
            chances = torch.softmax(logits.double(), dim=1).cpu().numpy()
            for prompt, row in zip(some, chances, strict=True):
                line = json.dumps(dict(zip(self.words, np.round(row, 6).tolist(), strict=True)))
                replies.append(Reply(line, usage=Usage(len(prompt), 1)))
        self.tally.update(replies=len(asks), prompt_tokens=sum(map(len, prompts)))
        return replies
