"""Who meets whom: permuted blocks, so that every condition has as many people at every moment, within one block.

A participant is assigned when the check is passed, by the number of those who were before; the permutation of a block
is a function of the study's seed. A condition with another person has two places in a block, so that somebody else is
soon there. Between participants, everybody has one condition; within them, everybody meets all in the order of a row
of a Williams square (Williams 1949), in which every condition follows every other equally often.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from dond_marl.randomness import generator
from league.web.study.settings import StudyConfig


class Assignment(NamedTuple):
    """What a participant is going to do: ``games`` against whoever each of ``conditions`` names."""

    conditions: tuple[str, ...]
    start: int  # number of its first table's scenario in the study's sequence
    first_seat: int  # its seat in its first game; it changes from game to game

    def seat(self, game: int) -> int:
        """Where it sits in its game ``game``, from 0, if it is its own table."""
        return (self.first_seat + game) % 2


def assignment(config: StudyConfig, number: int) -> Assignment:
    """That of participant ``number``, from 0, of those who have passed the check."""
    cells = _cells(config)
    block, place = divmod(number, len(cells))
    order = _order(config.study.seed, block, len(cells))
    mine = cells[order[place]]
    if config.study.design == "within":
        return Assignment(mine, number * config.games_each, block % 2)
    # How many had this condition before: all of them meet the same sequence of tables.
    same = Counter(cells)[mine]
    before = block * same + sum(cells[cell] == mine for cell in order[:place])
    return Assignment(mine, before * config.games_each, before % 2)


def _cells(config: StudyConfig) -> tuple[tuple[str, ...], ...]:
    """The places of a block: the conditions of each, in order."""
    names = tuple(condition.name for condition in config.conditions)
    if config.study.design == "within":
        return tuple(tuple(names[place] for place in row) for row in williams(len(names)))
    return tuple((each.name,) for each in config.conditions for _ in range(1 + each.with_a_person))


def williams(size: int) -> tuple[tuple[int, ...], ...]:
    """Orders of ``size`` things: each equally often at each place and after each other; ``size`` rows or twice."""
    zigzag = [place // 2 if place % 2 == 0 else size - 1 - place // 2 for place in range(size)]
    rows = [tuple((each + shift) % size for each in zigzag) for shift in range(size)]
    if size % 2 == 0 or size == 1:
        return tuple(rows)
    return (*rows, *(tuple(reversed(row)) for row in rows))


@lru_cache(maxsize=256)
def _order(seed: int, block: int, size: int) -> tuple[int, ...]:
    return tuple(generator(seed, "study assignment", block).permutation(size).tolist())
