"""Packing of prompts and their lines into one sequence that shares common prefixes (tree attention).

The sequence is a tree of tokens. A token attends to its ancestors alone, and positions count along the path, so that
the logits of a line are those of its prompt and the line alone. Source: Miao et al. 2023 (SpecInfer, arXiv 2305.09781,
section 4.2). T tokens, N of them in lines, L lines; P pairs of a line and one of its tokens.

    tokens      shared prefix ── prompt 0 ── line a ── line a         each line is a path from the root;
                              │                    └── line b         ``line``/``node`` list its tokens
                              └─ prompt 1 ── line c
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from transformers import PreTrainedModel


Index = NDArray[np.int64]


class Pack(NamedTuple):
    """Prompts with their lines."""

    tokens: Index  # [T]
    places: Index  # [T] position of each token along its path
    seen: NDArray[np.bool_]  # [T, T] attention mask: whether the row's token attends to the column's
    of_lines: Index  # [N] tokens of lines, by their index in ``tokens``
    before: Index  # [N] the parent of each
    line: Index  # [P] pairs of a line
    node: Index  # [P] and a token on its path, by its index in ``of_lines``
    prompt: Index  # [L] the prompt of each line


def pack_prompts(prompts: Sequence[Sequence[int]], lines: Sequence[Sequence[Sequence[int]]]) -> Pack:
    """Pack the tokens of ``prompts[B]`` and of the lines that may follow each, ``[B][.][.]``."""
    shared = min(_common_prefix(prompts), min(map(len, prompts)))
    tokens, parents = list(prompts[0][:shared]), list(range(-1, shared - 1))
    of_lines: list[int] = []
    line: list[int] = []
    node: list[int] = []
    prompt_of: list[int] = []

    def append(token: int, parent: int) -> int:
        tokens.append(token)
        parents.append(parent)
        return len(tokens) - 1

    for number, (prompt, below) in enumerate(zip(prompts, lines, strict=True)):
        last = shared - 1
        for token in prompt[shared:]:
            last = append(token, last)
        known: dict[tuple[int, int], int] = {}  # (parent, token): index in of_lines
        for each in below:
            at = last
            for token in each:
                if (at, token) not in known:
                    known[at, token] = len(of_lines)
                    of_lines.append(append(token, at))
                line.append(len(prompt_of))
                node.append(known[at, token])
                at = of_lines[known[at, token]]
            prompt_of.append(number)
    seen = np.zeros((len(tokens), len(tokens)), dtype=bool)
    places = np.zeros(len(tokens), dtype=np.int64)
    for place, parent in enumerate(parents):
        if parent >= 0:
            seen[place], places[place] = seen[parent], places[parent] + 1
        seen[place, place] = True
    made = np.array(of_lines, dtype=np.int64)
    return Pack(
        np.array(tokens), places, seen, made, np.array(parents)[made], np.array(line), np.array(node),
        np.array(prompt_of),
    )  # fmt: skip


def line_logits(model: PreTrainedModel, pack: Pack) -> tuple[Tensor, Tensor]:
    """Logits ``[U, V]`` at the U distinct parents of line tokens, and the row ``[N]`` of each token."""
    device, dtype = model.device, model.dtype
    used, row = np.unique(pack.before, return_inverse=True)
    hidden = torch.from_numpy(~pack.seen).to(device)
    mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill(hidden, torch.finfo(dtype).min)
    logits = model(
        input_ids=torch.from_numpy(pack.tokens).to(device)[None],
        attention_mask=mask[None, None],
        position_ids=torch.from_numpy(pack.places).to(device)[None],
        use_cache=False,
        logits_to_keep=torch.from_numpy(used).to(device),
    ).logits[0]
    return logits.float(), torch.from_numpy(row.reshape(-1)).to(device)


def token_losses(model: PreTrainedModel, pack: Pack) -> Tensor:
    """The cross-entropy of each token of the lines, ``[N]``."""
    logits, row = line_logits(model, pack)
    targets = torch.from_numpy(pack.tokens[pack.of_lines]).to(logits.device)
    return torch.nn.functional.cross_entropy(logits[row], targets, reduction="none")


def line_log_probs(model: PreTrainedModel, pack: Pack) -> Tensor:
    """The log-probability of each line, ``[L]``, with decoding constrained to the lines.

    The same as :meth:`partners.llm.local.client.LocalClient.scores` at temperature 1, with a gradient.
    """
    logits, row = line_logits(model, pack)
    device = logits.device
    odds = logits[row, torch.from_numpy(pack.tokens[pack.of_lines]).to(device)]  # [N]
    most = torch.full((len(logits),), -torch.inf, device=device).scatter_reduce(0, row, odds.detach(), "amax")
    total = torch.zeros(len(logits), device=device).index_add(0, row, (odds - most[row]).exp())
    log_probs = odds - most[row] - total[row].log()
    lines = torch.zeros(len(pack.prompt), device=device)
    line, node = (torch.from_numpy(each).to(device) for each in (pack.line, pack.node))
    return lines.index_add(0, line, log_probs[node])


def _common_prefix(texts: Sequence[Sequence[int]]) -> int:
    """The length of the common prefix of all texts; at most the shortest length - 1."""
    first, last = min(map(list, texts)), max(map(list, texts))
    both = min(map(len, texts)) - 1
    return next((place for place in range(both) if first[place] != last[place]), both)
