"""Decoding held to the tree of legal lines: one padded batch, and at each branch one choice, or all of them at once.

Prompts stand at the right of the batch, and from then on all rows read equally many tokens, so that no gap is left
inside of a text: models that look back by distance, or through a sliding window, count right. What is certain is read
without asking, and rows whose line is settled leave the batch. A row depends on the others by rounding alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.seats import Doubles
from partners.llm.local.legal_lines import Branch, Lines

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Chosen(NamedTuple):
    """One line per row."""

    line: NDArray[np.int64]  # [B] in the order of Legal.actions
    probability: Doubles  # [B] of the whole line, among the legal ones, in (0, 1]


class _Path(NamedTuple):
    """How far a row, or one of its possible continuations, has come."""

    row: int
    branch: Branch
    ahead: tuple[int, ...]  # of the way to the branch, what is not read yet
    log_prob: float


Pick = Callable[[list[_Path], Doubles], list[Iterable[int]]]  # which branches below each path are walked, [R]


def choose(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    trees: Sequence[Branch],
    temperature: float,
    uniforms: Doubles,
) -> Chosen:
    """The line that ``model`` replies to each prompt, ``[B]``, its likeliest token each time at ``temperature`` 0.

    Above 0 each row is drawn by its one uniform in [0, 1): the choice at every branch takes from it what it needs, so
    that over all uniforms every line has exactly its probability. The probability in the result is that of
    ``temperature``, at 0 that of temperature 1.
    """
    left = np.array(uniforms, dtype=np.float64)

    def pick(paths: list[_Path], log_probs: Doubles) -> list[Iterable[int]]:
        rows = [path.row for path in paths]
        picked = _drawn(log_probs, left, rows) if temperature else log_probs.argmax(axis=1)
        return [(child,) for child in picked.tolist()]

    line, log_prob = np.zeros(len(prompts), dtype=np.int64), np.zeros(len(prompts))
    for row, number, reached in _walk(model, prompts, trees, temperature or 1.0, pick):
        line[row], log_prob[row] = number, reached
    return Chosen(line, np.exp(np.minimum(log_prob, 0.0)))


def score(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], lines: Sequence[Lines], temperature: float = 1.0
) -> list[Doubles]:
    """The probability of every legal action after each prompt, in the order of its ``lines``, summing to 1."""

    def every(paths: list[_Path], _log_probs: Doubles) -> list[Iterable[int]]:
        return [range(len(path.branch.below)) for path in paths]

    scores = [np.zeros(len(of.actions)) for of in lines]
    for row, number, reached in _walk(model, prompts, [of.tree for of in lines], temperature, every):
        scores[row][number] = np.exp(reached)
    return [probs / probs.sum() for probs in scores]


def _walk(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    trees: Sequence[Branch],
    temperature: float,
    pick: Pick,
) -> Iterator[tuple[int, int, float]]:
    """Row, line and log-probability of every line that ``pick`` comes to."""
    yield from ((row, tree.line, 0.0) for row, tree in enumerate(trees) if tree.line >= 0)  # there is no choice
    paths = [_Path(row, tree, (), 0.0) for row, tree in enumerate(trees) if tree.line < 0]
    if not paths:
        return
    texts: list[Sequence[int]] = [(*prompts[path.row], *path.branch.run) for path in paths]
    reading, parents = Reading(model), None
    while paths:
        logits = reading.go_on(texts, parents)
        parting = [place for place, path in enumerate(paths) if not path.ahead]
        ahead = [(place, path) for place, path in enumerate(paths) if path.ahead]
        if parting:
            there = [paths[place] for place in parting]
            log_probs = _open_log_probs(logits[parting], [path.branch for path in there], temperature)
            for place, path, odds, children in zip(parting, there, log_probs, pick(there, log_probs), strict=True):
                for child in children:
                    branch, log_prob = path.branch.below[child], path.log_prob + float(odds[child])
                    if branch.line >= 0:
                        yield path.row, branch.line, log_prob
                    else:
                        ahead.append((place, _Path(path.row, branch, branch.run, log_prob)))
        width = min((len(path.ahead) for _, path in ahead), default=0)
        parents = [place for place, _ in ahead]
        texts = [path.ahead[:width] for _, path in ahead]
        paths = [path._replace(ahead=path.ahead[width:]) for _, path in ahead]


class Reading:
    """What ``model`` has read so far, row by row."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._takes = inspect.signature(model.forward).parameters
        self._past: object | None = None
        self._mask = torch.zeros((0, 0), dtype=torch.long)

    @torch.inference_mode()
    def go_on(self, texts: Sequence[Sequence[int]], parents: Sequence[int] | None = None) -> Tensor:
        """Read ``texts[R]`` after what the rows ``parents[R]`` have read; the logits of what comes next, ``[R, V]``.

        The rows are from now on those of ``texts``. A row may be named several times, or be left behind.
        """
        device = self._model.device
        width = max(map(len, texts))
        tokens = np.zeros((len(texts), width), dtype=np.int64)  # any token fills up: it is never looked at
        read = np.zeros((len(texts), width), dtype=np.int64)
        for row, text in enumerate(texts):
            tokens[row, width - len(text) :] = text
            read[row, width - len(text) :] = 1
        mask = torch.from_numpy(read).to(device)
        if parents is not None:
            assert self._past is not None
            rows = torch.tensor(parents, device=device)
            if list(parents) != list(range(len(self._mask))):
                self._past.batch_select_indices(rows)  # type: ignore[attr-defined]  # every cache has it
            mask = torch.cat([self._mask[rows], mask], dim=1)
        options = {"position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -width:], "logits_to_keep": 1}
        output = self._model(
            input_ids=torch.from_numpy(tokens).to(device),
            attention_mask=mask,
            past_key_values=self._past,
            use_cache=True,
            **{name: value for name, value in options.items() if name in self._takes},
        )
        self._past, self._mask = output.past_key_values, mask
        logits: Tensor = output.logits[:, -1].float()
        return logits


def _open_log_probs(logits: Tensor, branches: Sequence[Branch], temperature: float) -> Doubles:
    """The log-probabilities of the tokens open at each branch, in its order, ``[R, W]``; then minus infinity."""
    width = max(len(branch.tokens) for branch in branches)
    tokens = np.zeros((len(branches), width), dtype=np.int64)
    open_ = np.zeros((len(branches), width), dtype=bool)
    for row, branch in enumerate(branches):
        tokens[row, : len(branch.tokens)] = branch.tokens
        open_[row, : len(branch.tokens)] = True
    picked = logits.gather(1, torch.from_numpy(tokens).to(logits.device)).cpu().double() / temperature
    return picked.masked_fill(torch.from_numpy(~open_), -torch.inf).log_softmax(dim=1).numpy()


def _drawn(log_probs: Doubles, left: Doubles, rows: Sequence[int]) -> NDArray[np.int64]:
    """The choice whose share of the line holds each row's uniform, which is then what is left of it, in [0, 1)."""
    ends = np.exp(log_probs).cumsum(axis=1)
    ends /= ends[:, -1:]
    uniform = left[rows]
    picked: NDArray[np.int64] = (ends <= uniform[:, None]).sum(axis=1)
    place = np.arange(len(rows))
    start = np.where(picked > 0, ends[place, picked - 1], 0.0)
    share = ends[place, picked] - start
    left[rows] = np.clip((uniform - start) / np.maximum(share, 1e-300), 0.0, np.nextafter(1.0, 0.0))
    return picked
