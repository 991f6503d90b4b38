"""The legal replies of a position as a tree of tokens, for constrained decoding.

Each legal action is one line, up to its confidence, which is the probability of the path. A *branch* begins with its
forced tokens, and ends where the lines differ. Walking the tree with the probabilities of the next tokens, renormalised
at each branch, is grammar-constrained decoding; the grammar is the list of lines.

Source: the tree of tokens as in ``prefix_allowed_tokens_fn`` of De Cao et al. 2021 (Autoregressive Entity Retrieval,
section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Action
from partners.llm.client import SetupError
from partners.llm.reply import Legal, reply_line

Encode = Callable[[list[str]], list[list[int]]]  # texts to their tokens, nothing added
_STAND_IN = 0.0  # a confidence, which is cut off again


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of the tree: forced tokens, then a choice."""

    run: tuple[int, ...]  # the forced tokens from the last choice to here, that choice included
    tokens: NDArray[np.int64]  # the first token of each branch below, ascending; empty at the end of a line
    below: tuple[Branch, ...]
    line: int  # at the end of a line: which, in the order of Legal.actions; otherwise -1


class LegalLines(NamedTuple):
    """All legal replies to one prompt."""

    actions: tuple[Action, ...]  # in the order of Legal.actions; empty if the replies are words
    tree: Branch
    lengths: tuple[int, ...]  # of each line, in tokens


def legal_lines(legal: Legal, encode: Encode) -> LegalLines:
    """All legal lines as a tree. Raises :class:`SetupError`."""
    actions = tuple(legal.actions())
    stems = [reply_line(action, _STAND_IN).removesuffix(f"{_STAND_IN}}}") for action in actions]  # up to its confidence
    return lines_of_texts(stems, encode)._replace(actions=actions)


def lines_of_texts(texts: list[str], encode: Encode) -> LegalLines:
    """``texts`` as a tree, without actions. Raises :class:`SetupError`."""
    lines = encode(texts)
    ordered = sorted((tuple(tokens), number) for number, tokens in enumerate(lines))
    # In sorted order a line that is the beginning of another comes right before such a line.
    if any(longer[: len(shorter)] == shorter for (shorter, _), (longer, _) in pairwise(ordered)):
        raise SetupError("the model writes two different replies with the same tokens; use another model")
    return LegalLines((), _branch(ordered, 0), tuple(map(len, lines)))


def _branch(lines: Sequence[tuple[tuple[int, ...], int]], start: int) -> Branch:
    """The branch of ``lines``, sorted, which agree up to ``start``; the token before it separated them from others."""
    first, last = lines[0][0], lines[-1][0]
    if len(lines) == 1:
        return Branch(first[start:], np.zeros(0, dtype=np.int64), (), lines[0][1])
    end = start
    while first[end] == last[end]:  # sorted: tokens that the first and the last share, all share
        end += 1
    groups: dict[int, list[tuple[tuple[int, ...], int]]] = {}
    for line in lines:
        groups.setdefault(line[0][end], []).append(line)
    below = tuple(_branch(group, end) for group in groups.values())
    return Branch(first[start:end], np.array(list(groups), dtype=np.int64), below, -1)
