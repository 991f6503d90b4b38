"""A partner written down as a table: in games of at most four turns, all that a deterministic policy can be.

What a seat says on its second turn depends on what it heard: what it said before it knows from its own values. On the
last turn of all nothing is worth more than AGREE, whatever was said. So a table by what was heard last holds every
deterministic policy with perfect recall that gives no points away on the last turn; best responses are such.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act, Rules
from dond_marl.seats import Decisions, Partner, Traits, Turns, decide
from dond_marl.yardsticks.beliefs import numbers_of
from dond_marl.yardsticks.contexts import Index, Views
from dond_marl.yardsticks.replies import Replies

MOST_TURNS = 4


class Written:
    """What a deterministic partner says in one seat, asked once: V ``views``, ascending, with N splits.

    In games of up to four turns it need not be memoryless: see above.
    """

    traits = Traits(deterministic=True, memoryless=True)

    def __init__(self, name: str, partner: Partner, seat: int, rules: Rules, views: Views, prior: str) -> None:
        assert rules.max_turns <= MOST_TURNS
        replies = Replies(partner, rules, views, prior)
        self.name, self._numbers, self._splits = name, numbers_of(views.counts, views.utilities), replies.splits
        self.codes: dict[int, NDArray[np.int16]] = {  # [V, 2N + 1] by turns left, as in dond_marl.yardsticks.replies
            left: replies.codes(left) for left in range(rules.max_turns - seat, 0, -2)
        }

    def __repr__(self) -> str:
        return self.name

    def act(self, turns: Turns) -> Decisions:
        act, oA = np.zeros(turns.size, dtype=np.int8), np.zeros((turns.size, 3), dtype=np.int8)
        n = self._splits.oA.shape[1]
        for left in np.unique(turns.turns_remaining).tolist():
            rows = np.flatnonzero(turns.turns_remaining == left)
            view = np.searchsorted(self._numbers, numbers_of(turns.counts[rows], turns.my_utilities[rows]))
            counts, last = turns.counts[rows].astype(np.int64), turns.last_partner_act[rows].astype(np.int64)
            claim = _split(counts, counts - turns.last_partner_offer_for_me[rows])
            said = self.codes[left][view, np.where(last <= Act.INSIST, last * n + claim, 2 * n)].astype(np.int64)
            offer = said < 2 * n
            act[rows] = np.where(offer, said // n, said - 2 * n + Act.AGREE)
            oA[rows] = self._splits.oA[view, np.where(offer, said % n, 0)] * offer[:, None]
        return decide(act, oA)


def _split(counts: Index, kept: Index) -> Index:
    """Which of its pool's splits each claim is, ``[R]``, in lexicographic order."""
    number: Index = (kept[:, 0] * (counts[:, 1] + 1) + kept[:, 1]) * (counts[:, 2] + 1) + kept[:, 2]
    return number
