"""A Hugging Face model on this machine as the judge's language model: yes or no, whichever it finds likelier.

It can answer nothing but these two words. It is loaded for the first question, and nothing is sent anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dond_marl.errors import quote
from dond_marl.seats import Doubles
from partners.llm.client import ModelReply, Query, SetupError, Usage
from partners.llm.local.client import Dtype
from partners.parameters import check_whole_number

if TYPE_CHECKING:
    from partners.llm.local.model import LocalModel
    from partners.llm.local.key_values import KeyValueState

_WORDS = ("Yes", "No")
_STEP = 32  # tokens: a beginning is kept in whole steps, so that calls mostly share it; a shorter one is not kept


class YesNoClient:
    """Answers ``Yes`` or ``No`` by the model in the folder ``model``; a client as :mod:`partners.llm.client` has it.

    ``system``: put before the prompt where the model has a chat template. ``batch``: prompts read at once. ``dtype``:
    as of :class:`partners.llm.local.client.LocalSettings`. What all prompts of a call begin with is read once, and kept
    for the next call if its prompts begin so too.
    ``tally`` counts ``replies``, ``prompt_tokens`` and ``read_tokens``, those that went through the model. Raises
    ``ValueError``.
    """

    remote = False

    def __init__(self, model: str, system: str, *, batch: int = 8, device: str = "cpu", dtype: Dtype = "auto") -> None:
        if not isinstance(model, str) or not model.strip():
            raise ValueError(f"model must be the path of a model's folder; got {quote(model)}")
        check_whole_number("batch", batch, 1, 100_000)
        if dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}; got {quote(dtype)}")
        self.model, self.system, self.batch, self.device, self.dtype = model, system, batch, device, dtype
        self.tally: Counter[str] = Counter()
        self._kept: tuple[list[int], KeyValueState | None] = ([], None)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process needs: it reads again what was kept."""
        return {**self.__dict__, "_kept": ([], None)}

    @cached_property
    def identity(self) -> Mapping[str, object]:
        """The model by the SHA-256 of its files, wherever they are, and its instructions."""
        from partners.llm.local.model import fingerprint

        model = fingerprint(Path(self.model).expanduser())
        told = {"model": model, "system": self.system, "answers": list(_WORDS)}
        return told if self.dtype == "auto" else {**told, "dtype": self.dtype}

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """``Yes`` or ``No`` to each prompt, with its probability. Raises :class:`SetupError`."""
        prompts = [self._tokens(ask.prompt) for ask in asks]
        likely = np.zeros(len(asks))
        begun = self._beginning(prompts)
        order = sorted(range(len(asks)), key=lambda row: len(prompts[row]))
        for start in range(0, len(order), self.batch):
            rows = order[start : start + self.batch]
            likely[rows] = self._yes([prompts[row] for row in rows], begun)
        self.tally.update(replies=len(asks), prompt_tokens=sum(map(len, prompts)))
        return [
            ModelReply(
                f"{_WORDS[0] if yes > 0.5 else _WORDS[1]}. ({max(yes, 1 - yes):.4f})", usage=Usage(len(prompt), 1)
            )
            for yes, prompt in zip(likely.tolist(), prompts, strict=True)
        ]

    @property
    def _read(self) -> LocalModel:
        return _loaded(self.model, self.device, self.dtype)

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

    def _beginning(self, prompts: Sequence[list[int]]) -> tuple[int, KeyValueState | None]:
        """How many tokens all prompts begin with, and what the model made of them; 0 where it is not worth keeping."""
        from partners.llm.local.key_values import KeyValueState, allows_gaps, shares

        first, last = min(prompts, default=[]), max(prompts, default=[])  # what these two share, all share
        same = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
        model = self._read.model
        same -= same % _STEP
        if not same or not shares(model) or not allows_gaps(model, max(map(len, prompts))):
            return 0, None
        tokens, begun = self._kept
        if begun is None or first[:same] != tokens:  # its length is the call's alone: answers know no earlier call
            tokens, begun = first[:same], KeyValueState(model)
            begun.go_on([tokens])
            self.tally["read_tokens"] += begun.tokens
            self._kept = tokens, begun
        return len(tokens), begun

    def _yes(self, prompts: Sequence[list[int]], beginning: tuple[int, KeyValueState | None]) -> Doubles:
        """The probability of yes against no after each prompt, ``[B]``."""
        import torch

        from partners.llm.local.key_values import KeyValueState

        _, yes, no = self._answers
        same, begun = beginning
        reading = KeyValueState(self._read.model) if begun is None else begun.fork()
        rest = [prompt[same:] for prompt in prompts]
        logits = reading.go_on(rest, None if begun is None else [0] * len(rest))[:, [yes, no]]
        self.tally["read_tokens"] += reading.tokens
        return torch.softmax(logits.double(), dim=1)[:, 0].cpu().numpy()


@lru_cache(maxsize=1)  # judges of several styles and seeds ask one model
def _loaded(model: str, device: str, dtype: Dtype) -> LocalModel:
    from partners.llm.local.model import load_model

    return load_model(model, device=device, dtype=dtype)
