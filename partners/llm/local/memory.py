"""How much memory it takes a model to read: an estimate from its config alone, never too low by much.

What counts is what grows with the texts: keys and values, and the numbers that one layer is computed from. The weights
are beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_SCORE = 4  # bytes of an attention score, and of an entry of the mask
_MEGABYTE = 1 << 20


class Sizes(NamedTuple):
    """The sizes of a causal model that its memory depends on; ``width`` is that of a number, in bytes."""

    layers: int
    heads: int
    kv_heads: int  # of keys and values
    head: int
    hidden: int
    inner: int
    vocabulary: int
    width: int

    @property
    def token(self) -> int:
        """Bytes of the keys and values of one token."""
        return 2 * self.layers * self.kv_heads * self.head * self.width

    def passing(self, new: int, whole: int) -> int:
        """Bytes that a row takes while ``new`` tokens of its ``whole`` text are read, and no longer."""
        numbers = new * (6 * self.hidden + 3 * self.inner) * self.width
        one_layer = 2 * whole * (2 * self.kv_heads + self.heads) * self.head * self.width
        scores = self.heads * new * whole * _SCORE
        logits = self.vocabulary * (self.width + 2 * 8)  # as they come, and in double precision
        return numbers + one_layer + scores + logits


def sizes(config: Any, width: int) -> Sizes:
    """Of a model of Hugging Face with this config (that of its text part), in numbers of ``width`` bytes."""
    heads, hidden = int(getattr(config, "num_attention_heads", None) or 1), int(config.hidden_size)
    inner = next(
        (size for name in ("intermediate_size", "n_inner", "ffn_dim") if (size := getattr(config, name, 0))), 0
    )
    return Sizes(
        layers=int(config.num_hidden_layers),
        heads=heads,
        kv_heads=int(getattr(config, "num_key_value_heads", None) or heads),
        head=int(getattr(config, "head_dim", None) or hidden // heads),
        hidden=hidden,
        inner=int(inner or 4 * hidden),
        vocabulary=int(config.vocab_size),
        width=width,
    )


class Plan(NamedTuple):
    """How much is read at once: at most ``bytes``, by the estimate.

    ``shared``: whether lines share what was read of their prompt. ``prefix``: tokens that all prompts begin with, read
    before and kept once; then the lengths of prompts are without them.
    """

    sizes: Sizes
    bytes: int
    shared: bool = True
    prefix: int = 0

    def prompts(self, rows: int, prompt: int, line: int) -> int:
        """Bytes that it takes to read ``rows`` prompts of ``prompt`` tokens at once, and a line after each."""
        of, whole = self.sizes, self.prefix + prompt + line
        kept = (prompt + line) * of.token
        return self.prefix * of.token + rows * (kept + of.passing(prompt, whole))

    def lines(self, rows: int, prompts: int, prompt: int, line: int) -> int:
        """Bytes that it takes to follow ``rows`` lines at once, while ``prompts`` prompts are kept."""
        of, whole = self.sizes, self.prefix + prompt + line
        kept = (line if self.shared else whole) * of.token
        copies = 1 if self.shared else 2
        ready = self.prefix * of.token + prompts * (copies * prompt * of.token + of.vocabulary * 8)
        return ready + rows * (kept + of.passing(line, whole))

    def most_lines(self, prompts: int, prompt: int, line: int) -> int:
        """How many lines may be followed at once, while ``prompts`` prompts are kept; 0 if there is room for none."""
        none = self.lines(0, prompts, prompt, line)
        return max(0, (self.bytes - none) // (self.lines(1, prompts, prompt, line) - none))

    def fits(self, rows: int, prompt: int, line: int, *, scored: bool) -> bool:
        """Whether ``rows`` prompts may be read at once; ``scored``: and leave room for a share of their lines."""
        if not scored:
            return self.prompts(rows, prompt, line) <= self.bytes
        halved = rows == 1 or self.lines(0, rows, prompt, line) <= self.bytes / 2
        fit = self.prompts(rows, prompt, 0) <= self.bytes and self.most_lines(rows, prompt, line) > 0
        return fit and halved

    def needs(self, prompt: int, line: int, *, scored: bool) -> int:
        """The megabytes without which not even one prompt can be answered."""
        least = self.prompts(1, prompt, line)
        return -(-max(least, self.lines(1, 1, prompt, line) if scored else 0) // _MEGABYTE)


def batches(
    plan: Plan, prompts: Sequence[int], lines: Sequence[int], most: int, scored: bool = False
) -> Iterator[list[int]]:
    """Rows of about the same length that are read together: at most ``most``, and as many as fit, but at least one.

    ``prompts`` and ``lines``: how many tokens each prompt, and its longest line, takes.
    """
    batch: list[int] = []
    longest = 0
    for row in sorted(range(len(prompts)), key=prompts.__getitem__):
        wider = max(longest, lines[row])
        if batch and (len(batch) == most or not plan.fits(len(batch) + 1, prompts[row], wider, scored=scored)):
            yield batch
            batch, wider = [], lines[row]
        batch.append(row)
        longest = wider
    if batch:
        yield batch
