"""What written members earn against each other: every pair on every scenario of one pool, all games in lock-step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dond_marl.game import Rules
from dond_marl.scenarios.space import Scenarios
from dond_marl.seats import Doubles, Int8s
from dond_marl.statistics import TEN
from dond_marl.yardsticks.contexts import Contexts, Index, splits_of
from experiments.double_oracle.written import Written


class Games:
    """The scenarios of one pool, S of them, under ``disagree="ends"``."""

    def __init__(self, space: Scenarios, contexts: tuple[Contexts, Contexts], rules: Rules) -> None:
        self.rules, splits = rules, splits_of(space.counts[:1])
        self.width, self._rest = int(splits.number[0]), splits.rest[0]
        self._view = [_places(contexts[seat].own.utilities, space.utilities[:, seat]) for seat in (0, 1)]
        worth = np.einsum("ni,spi->psn", splits.oA[0], space.utilities, dtype=np.int64)
        self._worth: Doubles = worth * (TEN / np.maximum(space.pool_values, 1).T[:, :, None])  # [2, S, N]

    def payoffs(self, first: Sequence[Written], second: Sequence[Written]) -> Doubles:
        """Mean points of ten of both seats, ``[A, B, 2]``: A members in seat_0, B in seat_1."""
        n, every = self.width, np.arange(len(self._view[0]))
        shape = len(first), len(second), len(every)
        sides = [np.arange(shape[0])[:, None, None], np.arange(shape[1])[None, :, None]]
        said, before = np.full(shape, 2 * n), np.full(shape, n)  # the last act, and the split that the mover claims
        open_, deal = np.ones(shape, dtype=bool), np.full(shape, -1)  # the split that seat_0 gets
        for turn in range(self.rules.max_turns):
            seat, left = turn % 2, self.rules.max_turns - turn
            table = np.stack([member.codes[left] for member in (first, second)[seat]])
            answer = table[sides[seat], self._view[seat], said].astype(np.int64)
            theirs = said % n if turn else np.full(shape, n)
            agreed = answer == 2 * n
            mine = np.where(answer < 2 * n, answer % n, before)
            stops = (answer == 2 * n + 2) | ((answer < 2 * n) & (left == 1))
            matched = (theirs < n) & (mine == self._rest[np.minimum(theirs, n - 1)])
            done = open_ & (agreed | (stops & matched))
            kept = theirs if seat else self._rest[np.minimum(theirs, n - 1)]
            deal = np.where(done, kept, deal)
            open_ &= answer < 2 * n
            said, before = np.where(open_, answer, said), theirs
        struck, safe = deal >= 0, np.maximum(deal, 0)
        points = [self._worth[0][every, safe] * struck, self._worth[1][every, self._rest[safe]] * struck]
        return np.stack([each.mean(axis=2) for each in points], axis=2)


def _places(views: Int8s, utilities: Int8s) -> Index:
    """The place of each row among the views."""
    places: Index = (views[None] == utilities[:, None]).all(axis=2).argmax(axis=1)
    return places
