"""The published dialogues as numbered words, and acts of ours in the words of that corpus."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.game import Act, Action, Triple
from dond_marl.records.wording import VARIANTS, in_english
from dond_marl.scenarios.data import Dialogue, load_dialogues
from dond_marl.scenarios.space import Scenarios
from dond_marl.scenarios.views import may_be_trained_on

PAD, UNKNOWN = "<pad>", "<unk>"
YOU, THEM, END_OF_TURN, SELECTION = "YOU:", "THEM:", "<eos>", "<selection>"
LEAST = 20  # times a word must occur; the rest is UNKNOWN (Lewis et al. 2017, section 5.1)
_WORD = re.compile(r"[a-z']+|[.,;:?!]")

Goal = tuple[int, int, int, int, int, int]  # counts and own values


class Line(NamedTuple):
    """One perspective of one dialogue: what its speaker sees and all that is said, as numbers."""

    goal: Goal
    words: tuple[int, ...]


class Vocabulary:
    """Words and their numbers: 0 pads, 1 is unknown."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (PAD, UNKNOWN, *words)
        self._numbers = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The word's number."""
        return self._numbers.get(word, 1)

    def numbers(self, words: Iterable[str]) -> tuple[int, ...]:
        """The words' numbers."""
        return tuple(map(self.number, words))


def vocabulary(rows: Iterable[Dialogue], least: int = LEAST) -> Vocabulary:
    """The words that occur at least so often, the most frequent first."""
    counted = Counter(itertools.chain.from_iterable(row.words for row in rows))
    frequent = [(-times, word) for word, times in counted.items() if times >= least]
    return Vocabulary([word for _, word in sorted(frequent)])


def rows_of(split: str, data_dir: Path | None, *, to_train_on: bool = False) -> list[Dialogue]:
    """The lines of one published file; ``to_train_on`` leaves out scenarios that nobody trains on.

    Raises :class:`dond_marl.scenarios.data.DataError`.
    """
    rows = list(load_dialogues(split, data_dir))
    if to_train_on:
        kept = may_be_trained_on(_scenarios(rows))
        rows = list(itertools.compress(rows, kept.tolist()))
    return rows


def lines(rows: Iterable[Dialogue], known: Vocabulary) -> list[Line]:
    """The lines in numbers."""
    return [Line(goal(row.counts, row.my_values), known.numbers(row.words)) for row in rows]


def goal(counts: Sequence[int], values: Sequence[int]) -> Goal:
    """What a speaker sees: how many items of each type, and what one is worth to it."""
    (a, b, c), (x, y, z) = counts, values
    return (a, b, c, x, y, z)


@lru_cache(maxsize=1 << 16)
def worded(action: Action, counts: Triple, variant: int) -> tuple[str, ...]:
    """An act as that corpus would write it: lower case, punctuation apart. END is the bare ``<selection>``."""
    if action.act_type is Act.END:
        return (SELECTION,)
    return (*_WORD.findall(in_english(action, counts, variant=variant % VARIANTS).lower()), END_OF_TURN)


def _scenarios(rows: Sequence[Dialogue]) -> Scenarios:
    counts = np.array([row.counts for row in rows], dtype=np.int8)
    return Scenarios(counts, np.array([(row.my_values, row.partner_values) for row in rows], dtype=np.int8))
