"""A language model on this machine, which can write nothing but legal lines.

The confidence in a reply is the model's own probability of the line among the legal ones (:mod:`.legal_lines`), not a
number that it makes up. The model is loaded for the first prompt; nothing is ever sent anywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, get_args

import numpy as np

from dond_marl.errors import quote
from dond_marl.seats import Doubles
from partners.llm.client import ModelReply, Query, Usage
from partners.llm.local.legal_lines import LegalLines, legal_lines, lines_of_texts
from partners.llm.local.model import Dtype, LocalModel, common_beginning, fingerprint, load_model
from partners.llm.reply import Legal, reply_line
from partners.parameters import Range, check_choice, check_fields

if TYPE_CHECKING:
    from partners.llm.local.decoding import Batch, PrefixCache

_GOLDEN = 0.6180339887498949  # the fractional parts of its multiples fill [0, 1) evenly
_DIGITS = 6  # of a confidence: more would show the rounding of a batch's width
_MAX_POOLS = 4096  # whose legal lines are cached
_MAX_REPLIES = 100_000  # cached in memory


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Settings of a language model on this machine. Raises ``ValueError``.

    Parameters
    ----------
    model
        A folder with ``config.json`` and ``*.safetensors``, a GGUF file, or a name in the local Hugging Face cache;
        with ``download`` also a name on the hub.
    temperature
        Of sampling; 0 takes the likeliest token each time (the resulting line need not be the likeliest as a whole).
    batch
        Prompts read at once. Fewer take less memory.
    device
        PyTorch device.
    download
        Fetch a missing model from the hub.
    revision
        Revision on the hub.
    dtype
        Number type of the computation, by default that of the folder; a CPU takes float32 in place of the slow float16.
    """

    model: str
    temperature: Annotated[float, Range(0, 2)] = 0.0
    batch: Annotated[int, Range(1, 100_000)] = 64
    device: str = "cpu"
    download: bool = False
    revision: str | None = None
    dtype: Dtype = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise ValueError(f"model must be the path of a model's folder; got {quote(self.model)}")
        check_fields(self)
        check_choice("dtype", self.dtype, get_args(Dtype))
        if self.revision is not None and not self.download:
            raise ValueError("revision is a revision on the hub, so it needs download")


class _Texts(NamedTuple):
    """Queries as tokens of a model."""

    model: LocalModel
    prompts: list[list[int]]
    lines: list[LegalLines]
    lengths: list[int]  # of each prompt with its longest line


class LocalClient:
    """Queries a Hugging Face model on this machine; a pickle holds the settings only.

    ``openings``: texts that prompts begin with, :func:`partners.llm.prompt.openings`; the model reads each of them once
    (:class:`~partners.llm.local.decoding.PrefixCache`). ``tally`` counts ``replies``, ``remembered`` ones,
    ``prompt_tokens``, ``completion_tokens`` and ``read_tokens``, the tokens that the model processed.
    """

    remote = False

    def __init__(self, settings: LocalSettings, openings: Sequence[str] = ()) -> None:
        self.settings, self.openings = settings, tuple(openings)
        self.tally: Counter[str] = Counter()
        self._model: LocalModel | None = None
        self._replies: dict[tuple[bytes, Legal, int], ModelReply] = {}
        self._prefixes: PrefixCache | None = None  # loaded with the model
        self._legal_lines: Callable[[Legal], LegalLines] | None = None

    def __reduce__(self) -> tuple[type[LocalClient], tuple[object, ...]]:
        return type(self), (self.settings, self.openings)

    @cached_property
    def identity(self) -> Mapping[str, object]:
        """The SHA-256 of the model's files, wherever they are, and every parameter that shapes its answers."""
        settings = self.settings
        identity: dict[str, object] = {
            "model": fingerprint(settings.model),
            "constrained": True,
            "temperature": settings.temperature,
        }
        if settings.dtype != "auto":
            identity["dtype"] = settings.dtype
        return identity

    def load(self) -> LocalModel:
        """The model, loaded on the first call. Raises :class:`SetupError`."""
        if self._model is None:
            from partners.llm.local.decoding import PrefixCache

            settings = self.settings
            self._model = load_model(
                settings.model,
                download=settings.download,
                revision=settings.revision,
                device=settings.device,
                dtype=settings.dtype,
            )
            self._legal_lines = lru_cache(_MAX_POOLS)(partial(legal_lines, encode=self._model.encode))
            prefixes = self._model.common_prefixes(self.openings)
            self._prefixes = PrefixCache(self._model.model, prefixes, self.tally)
        return self._model

    def complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        """One reply per query, in order; always a legal line. Raises :class:`SetupError`."""
        keys = [
            (_digest(query.prompt), query.legal, query.sample if self.settings.temperature else 0) for query in queries
        ]
        unanswered = {key: query for key, query in zip(keys, queries, strict=True) if key not in self._replies}
        self.tally.update(replies=len(queries), remembered=len(queries) - len(unanswered))
        replies = dict(zip(unanswered, self._complete(list(unanswered.values())), strict=True))
        answers = [replies[key] if key in replies else self._replies[key] for key in keys]
        if len(self._replies) + len(replies) > _MAX_REPLIES:
            self._replies.clear()
        self._replies |= replies
        return answers

    def scores(self, queries: Sequence[Query]) -> list[Doubles]:
        """The exact probability of every legal action, in the order of :meth:`Legal.actions`, for each query.

        At ``temperature`` 0 all of it is on the line that is replied. Raises :class:`SetupError`.
        """
        from partners.llm.local.decoding import score

        if not queries:
            return []
        texts, temperature = self._encode(queries), self.settings.temperature
        scores = [np.zeros(len(legal.actions)) for legal in texts.lines]
        if not temperature:
            for probs, line in zip(scores, self._choose(texts, [0] * len(queries))[0], strict=True):
                probs[line] = 1.0
            return scores
        for batch in self._batches(texts):
            lines = [texts.lines[row] for row in batch.rows]
            of_batch = score(texts.model.model, batch, lines, temperature, tally=self.tally)
            for row, probs in zip(batch.rows, of_batch, strict=True):
                scores[row] = probs
        return scores

    def _complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        if not queries:
            return []
        texts = self._encode(queries)
        lines, probabilities = self._choose(texts, [query.sample for query in queries])
        replies = []
        for prompt, legal, line, probability in zip(texts.prompts, texts.lines, lines, probabilities, strict=True):
            usage = Usage(len(prompt), legal.lengths[line])
            self.tally.update(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
            replies.append(ModelReply(reply_line(legal.actions[line], round(probability, _DIGITS)), usage=usage))
        return replies

    def _choose(self, texts: _Texts, samples: list[int]) -> tuple[list[int], list[float]]:
        """The line that is replied to each prompt, and its probability."""
        from partners.llm.local.decoding import choose

        line, probability = np.zeros(len(samples), dtype=np.int64), np.zeros(len(samples))
        uniforms = (np.array(samples) * _GOLDEN + 0.5) % 1.0
        for batch in self._batches(texts):
            rows, trees = batch.rows, [texts.lines[row].tree for row in batch.rows]
            temperature = self.settings.temperature
            line[rows], probability[rows] = choose(
                texts.model.model, batch, trees, temperature, uniforms[rows], tally=self.tally
            )
        return line.tolist(), probability.tolist()

    def _encode(self, queries: Sequence[Query]) -> _Texts:
        """The queries as tokens. Raises :class:`SetupError`."""
        model = self.load()
        prompts = model.prompts([query.prompt for query in queries])
        assert self._legal_lines is not None
        lines = [self._legal_lines(query.legal) for query in queries]
        lengths = [len(prompt) + max(legal.lengths) for prompt, legal in zip(prompts, lines, strict=True)]
        model.check_length(max(lengths, default=0))
        return _Texts(model, prompts, lines, lengths)

    def _batches(self, texts: _Texts) -> Iterator[Batch]:
        assert self._prefixes is not None
        return self._prefixes.batches(texts.prompts, texts.lengths, self.settings.batch)


class WordClient:
    """A :class:`partners.llm.client.Client` that replies with the probability of each of ``words``, likeliest first.

    A reply is one line of JSON, ``{"Yes": 0.9, "No": 0.1}``; the model can write nothing but the words. ``system`` is
    put before a prompt where the model has a chat template. The beginning that all prompts of a call share is read
    once. ``tally`` counts ``replies``, ``prompt_tokens`` and ``read_tokens``, the tokens that the model processed.
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
        from partners.llm.local.decoding import PrefixCache, score

        model, texts, space = self.local.load(), [query.prompt for query in queries], " "
        if model.tokenizer.chat_template:
            texts = [model.render_chat([{"role": "user", "content": f"{self.system}\n\n{text}"}]) for text in texts]
            space = ""  # a chat template ends with a new line, other prompts with a word or a colon
        prompts, words = model.encode(texts), lines_of_texts([space + word for word in self.words], model.encode)
        lengths = [len(prompt) + max(words.lengths) for prompt in prompts]
        model.check_length(max(lengths))
        replies = [ModelReply()] * len(queries)
        prefixes = PrefixCache(model.model, [common_beginning(prompts)], self.tally)
        for batch in prefixes.batches(prompts, lengths, self.local.settings.batch):
            scores = score(model.model, batch, [words] * len(batch.rows), tally=self.tally)
            for row, chances in zip(batch.rows, scores, strict=True):
                ordered = sorted(zip(self.words, chances.tolist(), strict=True), key=lambda pair: -pair[1])
                line = json.dumps({word: round(chance, _DIGITS) for word, chance in ordered})
                replies[row] = ModelReply(line, usage=Usage(len(prompts[row]), 1))
        self.tally.update(replies=len(prompts), prompt_tokens=sum(map(len, prompts)))
        return replies


def _digest(prompt: str) -> bytes:
    return hashlib.blake2b(prompt.encode(), digest_size=16).digest()
