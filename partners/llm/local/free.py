"""What a model on this machine writes where nothing holds it to the legal lines: for measuring how often that would do.

No seat plays it. The likeliest token each time, until the model ends its answer or has written so much.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from partners.llm.client import ModelReply, Usage
from partners.llm.local.reading import KeyValueState

if TYPE_CHECKING:
    from partners.llm.local.beginnings import Batch
    from partners.llm.local.model import LocalModel

MOST_TOKENS = 96  # of an answer; a legal line takes about 30


def written(read: LocalModel, prompts: Sequence[list[int]], batch: Batch, most: int = MOST_TOKENS) -> list[ModelReply]:
    """The answer to each prompt of ``batch``; not ``finished`` where it was cut off after ``most`` tokens."""
    ends, said = _ends(read), [list[int]() for _ in batch.rows]
    reading = KeyValueState(read.model) if batch.begun is None else batch.begun.fork()
    logits = reading.go_on(batch.rest(prompts), None if batch.begun is None else [0] * len(batch.rows))
    going = list(range(len(batch.rows)))  # which answers go on, one row of the reading each
    for length in range(1, most + 1):
        tokens = logits.argmax(dim=1).tolist()
        kept = [place for place, token in enumerate(tokens) if token not in ends]
        for place in kept:
            said[going[place]].append(tokens[place])
        going = [going[place] for place in kept]
        if not going or length == most:
            break
        logits = reading.go_on([[tokens[place]] for place in kept], kept)
    cut = set(going)
    return [
        ModelReply(
            str(read.tokenizer.decode(tokens, skip_special_tokens=True)),
            finished=row not in cut,
            usage=Usage(len(prompts[batch.rows[row]]), len(tokens)),
        )
        for row, tokens in enumerate(said)
    ]


def _ends(read: LocalModel) -> set[int]:
    """The tokens that end an answer: the model's, and its tokenizer's."""
    told = getattr(read.model.generation_config, "eos_token_id", None)
    ends = {told} if isinstance(told, int) else set(told or ())
    return ends | {read.tokenizer.eos_token_id} - {None}
