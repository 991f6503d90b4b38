"""Probabilities of a few words after a prompt, by a local model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from partners.llm.client import ModelReply, Query, SetupError, Usage
from partners.llm.local.client import LocalClient
from partners.llm.local.decoding import PrefixCache
from partners.llm.local.key_values import KeyValueState
from partners.llm.local.model import LocalModel, common_beginning


class WordClient:
    """A :class:`partners.llm.client.Client` that replies with the probability of each of ``words``, likeliest first.

    A reply is one line of JSON, ``{"Yes": 0.9, "No": 0.1}``. All tokens of a word count, and the probabilities are
    scaled to sum to 1. ``system`` is put before a prompt where the model has a chat template. The beginning that all
    prompts of a call share is read once. ``tally`` counts ``replies``, ``prompt_tokens`` and ``read_tokens``, the
    tokens that the model processed, without those of the words.
    """

    remote = False

    def __init__(self, local: LocalClient, system: str, words: Sequence[str]) -> None:
        self.local, self.system, self.words = local, system, tuple(words)
        self.tally: Counter[str] = Counter()

    @property
    def identity(self) -> Mapping[str, object]:
        return {**self.local.identity, "system": self.system, "answers": list(self.words)}

    def complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        """One reply per query, in order. Raises :class:`SetupError`."""
        if not queries:
            return []
        local = self.local.load()
        words = self._word_tokens(local)
        prompts = self._prompts(local, queries)
        lengths = [len(prompt) + max(map(len, words)) for prompt in prompts]
        local.check_length(max(lengths))
        chances = np.zeros((len(prompts), len(words)))
        prefixes = PrefixCache(local.model, [common_beginning(prompts)], self.tally)
        for batch in prefixes.batches(prompts, lengths, self.local.settings.batch):
            state, logits = batch.read(local.model, batch.rests)
            self.tally["read_tokens"] += state.tokens
            chances[batch.rows] = torch.softmax(_word_log_probs(state, logits, words), dim=1).cpu().numpy()
        self.tally.update(replies=len(prompts), prompt_tokens=sum(map(len, prompts)))
        return [
            ModelReply(self._line(row), usage=Usage(len(prompt), 1))
            for row, prompt in zip(chances.tolist(), prompts, strict=True)
        ]

    def _prompts(self, local: LocalModel, queries: Sequence[Query]) -> list[list[int]]:
        texts = [query.prompt for query in queries]
        if local.tokenizer.chat_template:
            texts = [local.render_chat([{"role": "user", "content": f"{self.system}\n\n{text}"}]) for text in texts]
        return local.encode(texts)

    def _word_tokens(self, local: LocalModel) -> list[list[int]]:
        """The tokens of each word; a chat template ends with a new line, other prompts with a word or a colon."""
        space = "" if local.tokenizer.chat_template else " "
        words = local.encode([space + word for word in self.words])
        if len(set(map(tuple, words))) < len(words):
            raise SetupError(f"the model {local.source} writes two of {', '.join(self.words)} with the same tokens")
        return words

    def _line(self, chances: Sequence[float]) -> str:
        ordered = sorted(zip(chances, self.words, strict=True), key=lambda pair: -pair[0])
        return json.dumps({word: round(chance, 6) for chance, word in ordered})


def _word_log_probs(state: KeyValueState, logits: Tensor, words: Sequence[Sequence[int]]) -> Tensor:
    """Log-probability of each word, as tokens, after the texts of ``state``, ``[R, words]``; ``logits[R, V]``."""
    rows, totals = list(range(len(logits))), []
    for tokens in words:
        after, here = state.fork(), logits
        total = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
        for place, token in enumerate(tokens):
            total += here.double().log_softmax(dim=1)[:, token]
            if place + 1 < len(tokens):
                here = after.go_on([[token]] * len(rows), rows)
        totals.append(total)
    return torch.stack(totals, dim=1)
