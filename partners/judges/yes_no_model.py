"""A Hugging Face model on this machine as the judge's language model: yes or no, whichever it finds likelier.

It can answer nothing but these two words. It is loaded for the first question, and nothing is sent anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dond_marl.errors import shown
from dond_marl.seats import Doubles
from partners.llm.client import Ask, Reply, SetupError, Usage
from partners.parameters import check_whole_number

if TYPE_CHECKING:
    from partners.llm.local.model import LocalModel

_WORDS = ("Yes", "No")


class YesNoClient:
    """Answers ``Yes`` or ``No`` by the model in the folder ``model``; a client as :mod:`partners.llm.client` has it.

    ``system``: put before the prompt where the model has a chat template. ``batch``: prompts read at once. ``tally``
    counts ``replies`` and ``prompt_tokens``. Raises ``ValueError``.
    """

    remote = False

    def __init__(self, model: str, system: str, *, batch: int = 8, device: str = "cpu") -> None:
        if not isinstance(model, str) or not model.strip():
            raise ValueError(f"model must be the path of a model's folder; got {shown(model)}")
        check_whole_number("batch", batch, 1, 100_000)
        self.model, self.system, self.batch, self.device = model, system, batch, device
        self.tally: Counter[str] = Counter()

    @cached_property
    def identity(self) -> Mapping[str, object]:
        """The model by the SHA-256 of its files, wherever they are, and its instructions."""
        from partners.llm.local.model import fingerprint

        model = fingerprint(Path(self.model).expanduser())
        return {"model": model, "system": self.system, "answers": list(_WORDS)}

    def complete(self, asks: Sequence[Ask]) -> list[Reply]:
        """``Yes`` or ``No`` to each prompt, with its probability. Raises :class:`SetupError`."""
        prompts = [self._tokens(ask.prompt) for ask in asks]
        likely = np.zeros(len(asks))
        order = sorted(range(len(asks)), key=lambda row: len(prompts[row]))
        for start in range(0, len(order), self.batch):
            rows = order[start : start + self.batch]
            likely[rows] = self._yes([prompts[row] for row in rows])
        self.tally.update(replies=len(asks), prompt_tokens=sum(map(len, prompts)))
        return [
            Reply(f"{_WORDS[0] if yes > 0.5 else _WORDS[1]}. ({max(yes, 1 - yes):.4f})", usage=Usage(len(prompt), 1))
            for yes, prompt in zip(likely.tolist(), prompts, strict=True)
        ]

    @cached_property
    def _read(self) -> LocalModel:
        from partners.llm.local.model import load_model

        return load_model(self.model, device=self.device)

    @cached_property
    def _answers(self) -> tuple[list[int], int, int]:
        """What both words begin with, and the first token in which yes and no differ."""
        space = "" if self._read.tokenizer.chat_template else " "  # a prompt ends with a colon, a chat with a new line
        yes, no = self._read.encode([space + word for word in _WORDS])
        differ = [place for place, tokens in enumerate(zip(yes, no, strict=False)) if len(set(tokens)) == 2]
        if not differ:
            raise SetupError(f"the model {self.model} has no words for yes and no; name another")
        return yes[: differ[0]], yes[differ[0]], no[differ[0]]

    def _tokens(self, prompt: str) -> list[int]:
        if self._read.tokenizer.chat_template:
            prompt = self._read.templated([{"role": "user", "content": f"{self.system}\n\n{prompt}"}])
        tokens = [*self._read.encode([prompt])[0], *self._answers[0]]
        longest = self._read.longest
        if longest is not None and len(tokens) > longest:
            raise SetupError(
                f"the model {self.model} reads at most {longest} tokens, and a judge's question takes {len(tokens)}: "
                "show it fewer examples, or name another"
            )
        return tokens

    def _yes(self, prompts: Sequence[list[int]]) -> Doubles:
        """The probability of yes against no after each prompt, ``[B]``."""
        import torch

        from partners.llm.local.reading import Reading

        _, yes, no = self._answers
        logits = Reading(self._read.model).go_on(prompts)[:, [yes, no]]
        return torch.softmax(logits.double(), dim=1)[:, 0].cpu().numpy()
