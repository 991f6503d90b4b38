"""Filtered behaviour cloning: the likelihood of the replies in games that paid well, of the reply's tokens alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from dond_marl.randomness import generator
from experiments.language_models.post_training.examples import Example
from experiments.language_models.post_training.packing import packed, token_losses
from experiments.language_models.post_training.settings import CloningSection
from experiments.language_models.post_training.trainee import Trainee

_LAST = 0.1  # share of lr at the end


def steps_of(section: CloningSection, examples: int) -> int:
    """Steps until all examples were seen as often as they should."""
    return section.epochs * math.ceil(examples / section.batch)


def clone(
    trained: Trainee, examples: Sequence[Example], section: CloningSection, seed: int, steps: range,
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Take the steps ``steps`` of all: which examples they see, and how far they go, is a function of their numbers."""
    total, round_length = steps_of(section, len(examples)), math.ceil(len(examples) / section.batch)
    for step in steps:
        epoch, place = divmod(step, round_length)
        order = generator(seed, "post-training", epoch).permutation(len(examples))
        batch = [examples[row] for row in order[place * section.batch : (place + 1) * section.batch].tolist()]
        pack = packed(
            trained.prompts([each.prompt for each in batch]),
            [[reply] for reply in trained.replies([each.action for each in batch])],
        )
        loss = token_losses(trained.read.model, pack).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        mean = trained.step([loss.detach()], section.lr * rate(step, total, section.warm))
        if not (step + 1) % 10 or step + 1 == total:
            tell(f"step {step + 1} of {total}: loss {mean:.3f}")


def rate(step: int, total: int, warm: int) -> float:
    """The share of the learning rate at a step: rising at first, then falling along a cosine."""
    falling = _LAST + (1 - _LAST) * 0.5 * (1 + np.cos(np.pi * step / max(total, 1)))
    return float(min(1.0, (step + 1) / (warm + 1)) * falling)
