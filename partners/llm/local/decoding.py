"""Decoding held to the tree of legal lines: one padded batch, and at each branch one choice, or all of them at once.

Prompts stand at the right of the batch, and from then on all rows read equally many tokens, so that no gap is left
inside of a text: models that look back by distance, or through a sliding window, count right. Only where a gap does no
harm (:func:`partners.llm.local.reading.allows_gaps`) what all prompts begin with is read before, and once. What is
certain is read without asking, and rows whose line is settled leave the batch. A row depends on the others by rounding
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.seats import Doubles
from partners.llm.local.legal_lines import Branch, LegalLines
from partners.llm.local.reading import KeyValueState

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MOST_LINES = 4096  # followed at once


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
    first: int  # the first line below the branch, in the order of the tree


Pick = Callable[[list[_Path], Doubles], list[Sequence[int]]]  # which branches below each path are walked, [R]


class _Read(NamedTuple):
    """Prompts that were read up to their first choice."""

    reading: KeyValueState
    rows: list[int]  # those where there is a choice; the others need no model
    logits: Tensor  # [rows, V] of what comes next

    def places(self) -> dict[int, int]:
        return {row: place for place, row in enumerate(self.rows)}


def choose(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    trees: Sequence[Branch],
    temperature: float,
    uniforms: Doubles,
    *,
    begun: KeyValueState | None = None,
    tally: Counter[str] | None = None,
) -> Chosen:
    """The line that ``model`` replies to each prompt, ``[B]``, its likeliest token each time at ``temperature`` 0.

    That is no search: another line may be likelier as a whole. Above 0 each row is drawn by its one uniform in [0, 1):
    the choice at every branch takes from it what it needs, so that over all uniforms every line has exactly its
    probability. The probability in the result is that of ``temperature``, at 0 that of temperature 1. ``begun``: what
    all prompts begin with, read already; ``prompts`` are then the rest of them. ``tally`` counts ``read_tokens``.
    """
    left = np.array(uniforms, dtype=np.float64)

    def pick(paths: list[_Path], log_probs: Doubles) -> list[Sequence[int]]:
        rows = [path.row for path in paths]
        picked = _drawn(log_probs, left, rows) if temperature else log_probs.argmax(axis=1)
        return [(child,) for child in picked.tolist()]

    line, log_prob = np.zeros(len(prompts), dtype=np.int64), np.zeros(len(prompts))
    for row, tree in enumerate(trees):
        line[row] = tree.line  # -1 where there is a choice
    counted: Counter[str] = Counter() if tally is None else tally
    read = _read(model, prompts, trees, begun, counted)
    if read is not None:
        for row, number, reached in _walk(read, read.rows, trees, temperature or 1.0, pick, counted):
            line[row], log_prob[row] = number, reached
    return Chosen(line, np.exp(np.minimum(log_prob, 0.0)))


def score(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    lines: Sequence[LegalLines],
    temperature: float = 1.0,
    *,
    most_lines: int = MOST_LINES,
    begun: KeyValueState | None = None,
    tally: Counter[str] | None = None,
) -> list[Doubles]:
    """The probability of every legal action after each prompt, in the order of its ``lines``, summing to 1.

    At most ``most_lines`` are followed at once. The others are as in :func:`choose`.
    """
    trees = [of.tree for of in lines]
    scores = [np.ones(1) if tree.line >= 0 else np.zeros(tree.size) for tree in trees]
    counted: Counter[str] = Counter() if tally is None else tally
    read = _read(model, prompts, trees, begun, counted)
    if read is None:
        return scores
    for share in _shares([(row, trees[row].size) for row in read.rows], most_lines):

        def within(paths: list[_Path], _log_probs: Doubles, share: dict[int, range] = share) -> list[Sequence[int]]:
            return [_children_within(path, share[path.row]) for path in paths]

        for row, number, reached in _walk(read, list(share), trees, temperature, within, counted):
            scores[row][number] = np.exp(reached)
    return [probs / probs.sum() for probs in scores]


def _read(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    trees: Sequence[Branch],
    begun: KeyValueState | None,
    counted: Counter[str],
) -> _Read | None:
    """The prompts read up to the first choice; ``None`` where there is none in any row."""
    rows = [row for row, tree in enumerate(trees) if tree.line < 0]
    if not rows:
        return None
    reading = KeyValueState(model) if begun is None else begun.fork()
    texts = [(*prompts[row], *trees[row].run) for row in rows]
    logits = reading.go_on(texts, None if begun is None else [0] * len(rows))
    counted["read_tokens"] += reading.tokens
    return _Read(reading, rows, logits)


def _walk(
    read: _Read, rows: Sequence[int], trees: Sequence[Branch], temperature: float, pick: Pick, counted: Counter[str]
) -> Iterator[tuple[int, int, float]]:
    """Row, line and log-probability of every line of ``rows`` that ``pick`` comes to."""
    places = read.places()
    parents = [places[row] for row in rows]
    paths = [_Path(row, trees[row], (), 0.0, 0) for row in rows]
    reading, logits = read.reading.fork(), read.logits[parents]
    while True:
        parting = [place for place, path in enumerate(paths) if not path.ahead]
        ahead = [(parents[place], path) for place, path in enumerate(paths) if path.ahead]
        if parting:
            there = [paths[place] for place in parting]
            log_probs = _open_log_probs(logits[parting], [path.branch for path in there], temperature)
            for place, path, odds, children in zip(parting, there, log_probs, pick(there, log_probs), strict=True):
                for child in children:
                    went = _down(path, child, float(odds[child]))
                    if went.branch.line >= 0:
                        yield path.row, went.branch.line, went.log_prob
                    else:
                        ahead.append((parents[place], went))
        if not ahead:
            counted["read_tokens"] += reading.tokens
            return
        width = min(len(path.ahead) for _, path in ahead)
        logits = reading.go_on([path.ahead[:width] for _, path in ahead], [parent for parent, _ in ahead])
        paths = [path._replace(ahead=path.ahead[width:]) for _, path in ahead]
        parents = list(range(len(paths)))


def _down(path: _Path, child: int, log_prob: float) -> _Path:
    """``path`` after its choice of the branch ``child``."""
    branch = path.branch.below[child]
    first = path.first + sum(below.size for below in path.branch.below[:child])
    return _Path(path.row, branch, branch.run, path.log_prob + log_prob, first)


def _children_within(path: _Path, lines: range) -> list[int]:
    """The branches below ``path`` that lead to one of ``lines``, in the order of the tree."""
    children, first = [], path.first
    for child, below in enumerate(path.branch.below):
        if first < lines.stop and first + below.size > lines.start:
            children.append(child)
        first += below.size
    return children


def _shares(sizes: Sequence[tuple[int, int]], most: int) -> Iterator[dict[int, range]]:
    """The lines of each row, ``(row, lines)``, in shares of at most ``most`` together, by row."""
    share: dict[int, range] = {}
    room = most
    for row, size in sizes:
        start = 0
        while start < size:
            if not room:
                yield share
                share, room = {}, most
            end = min(size, start + room)
            share[row] = range(start, end)
            room -= end - start
            start = end
    if share:
        yield share


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
