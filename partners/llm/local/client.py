"""A language model on this machine: it can write nothing but legal lines, and knows how likely each of them is.

The confidence in a reply is the model's own probability of the line among the legal ones (:mod:`legal_lines`), not a
number that it makes up. The model is loaded for the first prompt; nothing is ever sent anywhere.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dond_marl.errors import quote
from dond_marl.seats import Doubles
from partners.llm.client import ModelReply, Query, SetupError, Usage
from partners.llm.local.legal_lines import LegalLines, TokenError, legal_lines
from partners.llm.local.model import DTYPES, Dtype
from partners.llm.reply import Legal, reply_line
from partners.parameters import check_number, check_whole_number

if TYPE_CHECKING:
    from partners.llm.local.beginnings import Batch, Beginnings
    from partners.llm.local.model import LocalModel

_GOLDEN = 0.6180339887498949  # multiples of it, less their whole part, fill [0, 1) evenly
_DIGITS = 6  # of a confidence: more would show the rounding of a batch's width
_MOST_POOLS = 4096


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Which model, and how it is asked. Raises ``ValueError``.

    ``model``: a folder with ``config.json`` and ``*.safetensors``, a GGUF file or a folder with one, or a name in the
    local Hugging Face cache; with ``download`` also one on the hub, at ``revision``. ``temperature``: of sampling, 0
    for the likeliest token each time (the line that comes of it need not be the likeliest as a whole). ``dtype``: of
    the numbers that are computed with, by default what the folder says; a CPU takes float32 in place of float16, which
    it is slow with. ``memory_mb``: megabytes (2^20 bytes) that reading may take beside the weights, by an estimate;
    what does not fit together is read in smaller batches. ``adapter``: a folder with what a training of the model
    left, in the format of the library peft; its weights are added to the model's when it is read.
    """

    model: str
    temperature: float = 0.0
    batch: int = 64  # prompts read at once
    remembered: int = 100_000  # answers kept in memory
    device: str = "cpu"
    download: bool = False
    revision: str | None = None
    dtype: Dtype = "auto"
    memory_mb: int = 1024
    adapter: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError(f"model must be the path of a model's folder; got {quote(self.model)}")
        check_number("temperature", self.temperature, 0, 2)
        check_whole_number("batch", self.batch, 1, 100_000)
        check_whole_number("remembered", self.remembered, 0, 10**9)
        check_whole_number("memory_mb", self.memory_mb, 1, 10**7)
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype must be one of {', '.join(DTYPES)}; got {quote(self.dtype)}")
        if self.adapter is not None and (not isinstance(self.adapter, str) or not self.adapter.strip()):
            raise ValueError(f"adapter must be the path of an adapter's folder; got {quote(self.adapter)}")
        if self.revision is not None and not self.download:
            raise ValueError("revision says what to fetch from the hub, so it needs download")


class LocalClient:
    """Asks a model of Hugging Face on this machine; a pickle holds the settings alone.

    ``find`` gives the path of the model's folder when it is first needed, by default ``settings.model``. ``openings``:
    texts that prompts begin with, :func:`partners.llm.prompt.openings`; what the model makes of them is kept, and only
    the rest of such a prompt is read. ``tally`` counts ``replies``, ``remembered`` ones, ``prompt_tokens``,
    ``completion_tokens`` and ``read_tokens``, those that went through the model.
    """

    remote = False

    def __init__(
        self, settings: LocalSettings, find: Callable[[], Path] | None = None, openings: Sequence[str] = ()
    ) -> None:
        self.settings, self.openings = settings, tuple(openings)
        self.tally: Counter[str] = Counter()
        self._find = find
        self._read: LocalModel | None = None
        self._lines: dict[Legal, LegalLines] = {}
        self._known: dict[tuple[bytes, Legal, int], ModelReply] = {}
        self._beginnings: Beginnings | None = None

    def __reduce__(self) -> tuple[type[LocalClient], tuple[object, ...]]:
        return type(self), (self.settings, self._find, self.openings)

    @cached_property
    def identity(self) -> Mapping[str, object]:
        """The model by the SHA-256 of its files, wherever they are, and every parameter that shapes its answers."""
        from partners.llm.local.model import fingerprint

        of = self.settings
        told = {"model": fingerprint(self._source()), "constrained": True, "temperature": of.temperature}
        more = {"dtype": None if of.dtype == "auto" else of.dtype, "adapter": of.adapter and fingerprint(of.adapter)}
        return {**told, **{name: value for name, value in more.items() if value is not None}}

    def load(self) -> LocalModel:
        """The model, loaded if it was not yet; the project's own is made first. Raises :class:`SetupError`."""
        if self._read is None:
            from partners.llm.local.model import load_model

            of = self.settings
            self._read = load_model(
                self._source(),
                download=of.download,
                revision=of.revision,
                device=of.device,
                dtype=of.dtype,
                adapter=of.adapter,
            )
        return self._read

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """One reply per ask, in order; always a legal line. Raises :class:`SetupError`."""
        keys = [(_digest(ask.prompt), ask.legal, ask.sample if self.settings.temperature else 0) for ask in asks]
        new = {key: ask for key, ask in zip(keys, asks, strict=True) if key not in self._known}
        self.tally.update(replies=len(asks), remembered=len(asks) - len(new))
        replies = dict(zip(new, self._complete(list(new.values())), strict=True))
        answers = [replies[key] if key in replies else self._known[key] for key in keys]
        if len(self._known) + len(replies) > self.settings.remembered:
            self._known.clear()
        self._known.update(list(replies.items())[: self.settings.remembered])
        return answers

    def complete_unconstrained(self, asks: Sequence[Query]) -> list[ModelReply]:
        """What the model writes to each ask where nothing holds it (:mod:`free`). Raises :class:`SetupError`."""
        from partners.llm.local.free import MOST_TOKENS, written

        read, prompts, _ = self._posed(asks)
        replies = [ModelReply()] * len(asks)
        for batch in self._batches(read, prompts, [MOST_TOKENS] * len(asks)):
            for row, reply in zip(batch.rows, written(read, prompts, batch), strict=True):
                replies[row] = reply
        return replies

    def scores(self, asks: Sequence[Query]) -> list[Doubles]:
        """The exact probability of every legal action, in the order of :meth:`Legal.actions`, for each ask.

        At ``temperature`` 0 all of it is on the line that is replied. Raises :class:`SetupError`.
        """
        from partners.llm.local.decoding import MOST_LINES, score

        if not asks:
            return []
        read, prompts, lines = self._posed(asks)
        scores = [np.zeros(len(of.actions)) for of in lines]
        temperature = self.settings.temperature
        if not temperature:
            for probs, (line, _) in zip(scores, self._chosen(read, prompts, lines, [0] * len(asks)), strict=True):
                probs[line] = 1.0
            return scores
        for batch in self._batches(read, prompts, [max(of.lengths) for of in lines], scored=True):
            rest, longest = batch.rest(prompts), max(max(lines[row].lengths) for row in batch.rows)
            most = batch.plan.most_lines(len(rest), max(map(len, rest)), longest)
            scored = score(
                read.model, rest, [lines[row] for row in batch.rows], temperature,
                most_lines=min(most, MOST_LINES), begun=batch.begun, tally=self.tally,
            )  # fmt: skip
            for row, probs in zip(batch.rows, scored, strict=True):
                scores[row] = probs
        return scores

    def _complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        if not asks:
            return []
        read, prompts, lines = self._posed(asks)
        chosen = self._chosen(read, prompts, lines, [ask.sample for ask in asks])
        replies = []
        for prompt, legal, (line, probability) in zip(prompts, lines, chosen, strict=True):
            usage = Usage(len(prompt), legal.lengths[line])
            self.tally.update(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
            replies.append(ModelReply(reply_line(legal.actions[line], round(probability, _DIGITS)), usage=usage))
        return replies

    def _chosen(
        self, read: LocalModel, prompts: list[list[int]], lines: list[LegalLines], samples: list[int]
    ) -> list[tuple[int, float]]:
        """The line that is replied to each prompt, and its probability."""
        from partners.llm.local.decoding import choose

        line, probability = np.zeros(len(prompts), dtype=np.int64), np.zeros(len(prompts))
        uniforms = (np.array(samples) * _GOLDEN + 0.5) % 1.0
        for batch in self._batches(read, prompts, [max(of.lengths) for of in lines]):
            rows = batch.rows
            line[rows], probability[rows] = choose(
                read.model, batch.rest(prompts), [lines[row].tree for row in rows],
                self.settings.temperature, uniforms[rows], begun=batch.begun, tally=self.tally,
            )  # fmt: skip
        return list(zip(line.tolist(), probability.tolist(), strict=True))

    def _posed(self, asks: Sequence[Query]) -> tuple[LocalModel, list[list[int]], list[LegalLines]]:
        """The model, each prompt as tokens, and its legal lines. Raises :class:`SetupError`."""
        read = self.load()
        prompts = read.prompts([ask.prompt for ask in asks])
        lines = [self._legal(read, ask.legal) for ask in asks]
        if read.longest is not None:
            most = max(len(prompt) + max(legal.lengths) for prompt, legal in zip(prompts, lines, strict=True))
            if most > read.longest:
                raise SetupError(
                    f"the model {read.source} reads at most {read.longest} tokens, and a prompt with its reply takes "
                    f"{most}: lower history_cap, use a shorter prompt, or another model"
                )
        return read, prompts, lines

    def _batches(
        self, read: LocalModel, prompts: list[list[int]], longest: list[int], *, scored: bool = False
    ) -> list[Batch]:
        """The prompts in batches that fit the memory, with answers so long. Raises :class:`SetupError`."""
        from partners.llm.local.beginnings import Beginnings

        if self._beginnings is None:
            self._beginnings = Beginnings(read, self.openings, self.settings.memory_mb, self.tally)
        return self._beginnings.batches(prompts, longest, self.settings.batch, scored=scored)

    def _legal(self, read: LocalModel, legal: Legal) -> LegalLines:
        if legal not in self._lines:
            if len(self._lines) >= _MOST_POOLS:
                self._lines.clear()
            try:
                self._lines[legal] = legal_lines(legal, read.encode)
            except TokenError as error:
                raise SetupError(f"the model {read.source} cannot be used: {error}; use another model") from None
        return self._lines[legal]

    def _source(self) -> str:
        return self.settings.model if self._find is None else str(self._find())


def _digest(prompt: str) -> bytes:
    return hashlib.blake2b(prompt.encode(), digest_size=16).digest()
