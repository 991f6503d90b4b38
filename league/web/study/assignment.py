"""Assignment of participants to conditions by permuted blocks, as a function of the study's seed and order of arrival.

A participant is assigned when the check is passed. After each block every condition has equally many participants; a
condition with another person has two places in a block, so that pairs form soon. Between participants, each has one
condition; within, each has all of them in the order of a row of a Williams square (Williams 1949), in which every
condition follows every other equally often.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from dond_marl.randomness import generator
from league.web.study.settings import StudyConfig


class Assignment(NamedTuple):
    """The plan of a participant: ``games`` in each of ``conditions``, in order."""

    conditions: tuple[str, ...]
    start: int  # index of the first table's scenario in the study's sequence
    first_seat: int  # its seat in its first game; it changes from game to game

    def seat(self, game: int) -> int:
        """The seat in game ``game``, from 0, at the participant's own table."""
        return (self.first_seat + game) % 2


def assignment(config: StudyConfig, number: int) -> Assignment:
    """The plan of participant ``number``, from 0, among those who passed the check."""
    cells = _cells(config)
    block, place = divmod(number, len(cells))
    order = _order(config.study.seed, block, len(cells))
    mine = cells[order[place]]
    if config.study.design == "within":
        return Assignment(mine, number * config.games_each, block % 2)
    # Count earlier participants of this condition: all of them get the same sequence of tables.
    same = Counter(cells)[mine]
    before = block * same + sum(cells[cell] == mine for cell in order[:place])
    return Assignment(mine, before * config.games_each, before % 2)


def _cells(config: StudyConfig) -> tuple[tuple[str, ...], ...]:
    """The places of a block, each with its conditions in order."""
    names = tuple(condition.name for condition in config.conditions)
    if config.study.design == "within":
        return tuple(tuple(names[place] for place in row) for row in williams(len(names)))
    return tuple((each.name,) for each in config.conditions for _ in range(1 + each.with_a_person))


def williams(size: int) -> tuple[tuple[int, ...], ...]:
    """Orders of ``size`` conditions, balanced in place and predecessor: ``size`` rows, twice as many if odd."""
    zigzag = [place // 2 if place % 2 == 0 else size - 1 - place // 2 for place in range(size)]
    rows = [tuple((each + shift) % size for each in zigzag) for shift in range(size)]
    if size % 2 == 0 or size == 1:
        return tuple(rows)
    return (*rows, *(tuple(reversed(row)) for row in rows))


@lru_cache(maxsize=256)
def _order(seed: int, block: int, size: int) -> tuple[int, ...]:
    return tuple(generator(seed, "study assignment", block).permutation(size).tolist())
