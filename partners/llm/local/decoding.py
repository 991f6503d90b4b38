"""Decoding with a local model: constrained to the tree of legal lines.

Prompts are aligned at the right of a padded batch, and from then on all rows read equally many tokens, so that there is
no gap inside a text: models with relative positions or a sliding window count correctly. Where gaps do no harm
(:func:`~partners.llm.local.key_values.allows_gaps`), the common beginning of all prompts is read once, by a
:class:`PrefixCache`. Forced tokens are read without a choice, and rows whose line is settled leave the batch. Rows
influence each other by rounding only.
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
from partners.llm.local.key_values import KeyValueState, allows_gaps, shares_prefixes
from partners.llm.local.legal_lines import Branch, LegalLines

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_MIN_PREFIX = 32  # tokens: a shorter beginning is read again with each prompt
_MAX_TOKENS = 1 << 18  # of all lines that are walked at once, each counted with its prompt: bounds the memory


class Batch(NamedTuple):
    """Prompts that are read together."""

    rows: list[int]  # their places among all prompts
    prefix: KeyValueState | None  # the common beginning, read before
    rests: list[list[int]]  # the tokens of each prompt after it
    longest: int  # tokens of the longest prompt with its reply

    def read(self, model: PreTrainedModel, texts: Sequence[Sequence[int]]) -> tuple[KeyValueState, Tensor]:
        """Read ``texts`` after the prefix: the state, and the logits ``[R, V]`` of the next token."""
        state = KeyValueState(model) if self.prefix is None else self.prefix.fork()
        return state, state.go_on(texts, None if self.prefix is None else [0] * len(texts))


class PrefixCache:
    """Makes batches of prompts, and reads the beginnings that many prompts share once.

    A prompt of the shipped template has the same first hundreds of tokens in every position; reading them each time
    would take most of the time. A prompt that begins with none of the ``prefixes`` (tokens), or whose model needs texts
    without a gap, is read from its start. ``tally`` counts ``read_tokens``.
    """

    def __init__(self, model: PreTrainedModel, prefixes: Sequence[Sequence[int]], tally: Counter[str]) -> None:
        self._model, self._tally = model, tally
        long = [tuple(tokens) for tokens in prefixes if len(tokens) >= _MIN_PREFIX]
        shared = long if long and shares_prefixes(model) else []
        self._states: dict[tuple[int, ...], KeyValueState | None] = dict.fromkeys(shared)  # None until it is needed

    def batches(self, prompts: Sequence[list[int]], longest: Sequence[int], size: int) -> Iterator[Batch]:
        """Batches of at most ``size`` prompts of one prefix and about one length.

        ``longest``: tokens of each prompt with its longest reply.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, prompt in enumerate(prompts):
            groups.setdefault(self._prefix(prompt, longest[row]), []).append(row)
        for prefix, rows in groups.items():
            ordered = sorted(rows, key=lambda row: len(prompts[row]))
            for start in range(0, len(ordered), size):
                part = ordered[start : start + size]
                rests = [prompts[row][len(prefix) :] for row in part]
                yield Batch(part, self._state(prefix), rests, max(longest[row] for row in part))

    def _prefix(self, prompt: list[int], longest: int) -> tuple[int, ...]:
        if not self._states or not allows_gaps(self._model, longest):
            return ()
        beginnings = [
            tokens for tokens in self._states if len(prompt) > len(tokens) and tuple(prompt[: len(tokens)]) == tokens
        ]
        return max(beginnings, key=len, default=())

    def _state(self, prefix: tuple[int, ...]) -> KeyValueState | None:
        if prefix and self._states[prefix] is None:
            state = KeyValueState(self._model)
            state.go_on([prefix])
            self._tally["read_tokens"] += state.tokens
            self._states[prefix] = state
        return self._states[prefix] if prefix else None


class ChosenLines(NamedTuple):
    """One line per row."""

    line: NDArray[np.int64]  # [B] in the order of Legal.actions
    probability: Doubles  # [B] of the whole line, among the legal ones, in (0, 1]


class _Path(NamedTuple):
    """A position on the way of one row down its tree."""

    row: int
    branch: Branch
    ahead: tuple[int, ...]  # tokens on the way to the branch that are not read yet
    log_prob: float


_Placed = tuple[int, _Path]  # a path with its row of the key-value state
Pick = Callable[[list[_Path], Doubles], list[Sequence[int]]]  # which branches below each path are walked, [R]


def choose(
    model: PreTrainedModel,
    batch: Batch,
    trees: Sequence[Branch],
    temperature: float,
    uniforms: Doubles,
    *,
    tally: Counter[str],
) -> ChosenLines:
    """The line that ``model`` replies to each prompt, ``[B]``, its likeliest token each time at ``temperature`` 0.

    That is no search: another line may be likelier as a whole. Above 0 each row is drawn by its one uniform in [0, 1):
    the choice at every branch uses up its part of it, so that over all uniforms every line has exactly its probability.
    The probability in the result is that of ``temperature``, at 0 that of temperature 1. ``tally`` counts
    ``read_tokens``.
    """
    draws = np.array(uniforms, dtype=np.float64)  # used up choice by choice

    def pick(paths: list[_Path], log_probs: Doubles) -> list[Sequence[int]]:
        rows = [path.row for path in paths]
        picked = _draw(log_probs, draws, rows) if temperature else log_probs.argmax(axis=1)
        return [(child,) for child in picked.tolist()]

    line, log_prob = np.zeros(len(trees), dtype=np.int64), np.zeros(len(trees))
    for row, tree in enumerate(trees):
        line[row] = tree.line  # -1 where there is a choice
    for row, number, reached in _walk(model, batch, trees, temperature or 1.0, pick, len(trees), tally):
        line[row], log_prob[row] = number, reached
    return ChosenLines(line, np.exp(np.minimum(log_prob, 0.0)))


def score(
    model: PreTrainedModel,
    batch: Batch,
    lines: Sequence[LegalLines],
    temperature: float = 1.0,
    *,
    tally: Counter[str],
    max_tokens: int = _MAX_TOKENS,
) -> list[Doubles]:
    """The probability of every legal reply to each prompt, in the order of its ``lines``, summing to 1.

    ``max_tokens`` limits the lines that are walked at once, each counted with its prompt.
    """
    trees = [legal.tree for legal in lines]
    scores = [np.ones(1) if legal.tree.line >= 0 else np.zeros(len(legal.lengths)) for legal in lines]

    def every(paths: list[_Path], _log_probs: Doubles) -> list[Sequence[int]]:
        return [range(len(path.branch.below)) for path in paths]

    most = max(1, max_tokens // batch.longest)
    for row, number, reached in _walk(model, batch, trees, temperature, every, most, tally):
        scores[row][number] = np.exp(reached)
    return [probs / probs.sum() for probs in scores]


def _walk(
    model: PreTrainedModel,
    batch: Batch,
    trees: Sequence[Branch],
    temperature: float,
    pick: Pick,
    most: int,
    tally: Counter[str],
) -> Iterator[tuple[int, int, float]]:
    """Row, line and log-probability of every line that ``pick`` selects; at most ``most`` paths are read at once.

    Rows with a single line need no model, and yield nothing.
    """
    # All paths are walked at once, one row of the key-value state each:
    #
    #     tree of a row       {"act_type": 0, "oA": [ 1 , 0 ...     paths that stand at a branch choose its children;
    #                                       |       2 , 1 ...     a child that is one line is yielded (its remaining
    #                                       3, "oA": [0, 0, 0]    tokens are forced), the others go on
    #
    # A child's forced tokens (``ahead``) are read before its next choice. Every step reads as many tokens as the
    # shortest ``ahead`` has, for all paths: rows keep one width, so a path with more left reads on in the next step.
    # Each path comes with its row of the state: after a choice several paths continue the same row.
    #
    # Too many paths are split, and each part goes on in a fork of the state.

    def step(logits: Tensor, paths: list[_Placed]) -> tuple[list[tuple[int, int, float]], list[_Placed]]:
        """The lines that end here, and the paths that go on."""
        lines, ahead = [], [(row, path) for row, path in paths if path.ahead]
        choosing = [(row, path) for row, path in paths if not path.ahead]
        if choosing:
            choosing_paths = [path for _, path in choosing]
            log_probs = _open_log_probs(
                logits[[row for row, _ in choosing]], [path.branch for path in choosing_paths], temperature
            )
            for (row, path), odds, children in zip(choosing, log_probs, pick(choosing_paths, log_probs), strict=True):
                for child in children:
                    branch, log_prob = path.branch.below[child], path.log_prob + float(odds[child])
                    if branch.line >= 0:
                        lines.append((path.row, branch.line, log_prob))
                    else:
                        ahead.append((row, _Path(path.row, branch, branch.run, log_prob)))
        return lines, ahead

    rows = [row for row, tree in enumerate(trees) if tree.line < 0]
    if not rows:
        return
    prompts, logits = batch.read(model, [(*batch.rests[row], *trees[row].run) for row in rows])
    tally["read_tokens"] += prompts.tokens
    lines, ahead = step(logits, [(state_row, _Path(row, trees[row], (), 0.0)) for state_row, row in enumerate(rows)])
    yield from lines
    parts = [(prompts, ahead)]
    while parts:
        parent, ahead = parts.pop()
        if len(ahead) > most:
            parts += [(parent, ahead[start : start + most]) for start in range(0, len(ahead), most)]
            continue
        state = parent.fork()
        while 0 < len(ahead) <= most:
            lines, ahead = step(*_read_ahead(state, ahead))
            yield from lines
        tally["read_tokens"] += state.tokens
        if ahead:
            parts.append((state, ahead))


def _read_ahead(state: KeyValueState, ahead: list[_Placed]) -> tuple[Tensor, list[_Placed]]:
    """Read the next forced tokens of all paths: the next logits ``[R, V]``, and each path with its new row."""
    width = min(len(path.ahead) for _, path in ahead)
    logits = state.go_on([path.ahead[:width] for _, path in ahead], [state_row for state_row, _ in ahead])
    return logits, [(row, path._replace(ahead=path.ahead[width:])) for row, (_, path) in enumerate(ahead)]


def _open_log_probs(logits: Tensor, branches: Sequence[Branch], temperature: float) -> Doubles:
    """Log-probabilities of the tokens at each branch, in its order, ``[R, W]``, filled up with minus infinity."""
    width = max(len(branch.tokens) for branch in branches)
    tokens = np.zeros((len(branches), width), dtype=np.int64)
    open_ = np.zeros((len(branches), width), dtype=bool)
    for row, branch in enumerate(branches):
        tokens[row, : len(branch.tokens)] = branch.tokens
        open_[row, : len(branch.tokens)] = True
    picked = logits.gather(1, torch.from_numpy(tokens).to(logits.device)).cpu().double() / temperature
    return picked.masked_fill(torch.from_numpy(~open_), -torch.inf).log_softmax(dim=1).numpy()


def _draw(log_probs: Doubles, draws: Doubles, rows: Sequence[int]) -> NDArray[np.int64]:
    """Draw a choice per row: the one whose interval holds the uniform, which becomes its place there, in [0, 1)."""
    ends = np.exp(log_probs).cumsum(axis=1)
    ends /= ends[:, -1:]
    uniform = draws[rows]
    picked: NDArray[np.int64] = (ends <= uniform[:, None]).sum(axis=1)
    rows_of_batch = np.arange(len(rows))
    start = np.where(picked > 0, ends[rows_of_batch, picked - 1], 0.0)
    share = ends[rows_of_batch, picked] - start
    draws[rows] = np.clip((uniform - start) / np.maximum(share, 1e-300), 0.0, np.nextafter(1.0, 0.0))
    return picked
