"""The answer table of a memoryless partner: its act for every query, from which exact values are computed.

A memoryless partner answers by its view, the last act and offer of the other seat, and the turns left. Queries and
answers are numbered, per view with its N splits (:mod:`dond_marl.solvers.contexts`):

===================  ======================================================================================
query h              0..N-1 PROPOSE and N..2N-1 INSIST of the speaker keeping split ``h % N``; 2N before any act;
                     2N+1+j DISAGREE after a claim of split j, 3N+1 DISAGREE before any (``rejects`` only)
answer x             0..N-1 PROPOSE and N..2N-1 INSIST of keeping split ``x % N``; 2N AGREE, 2N+1 DISAGREE, 2N+2 END
===================  ======================================================================================
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import check_decisions
from dond_marl.errors import NotComputable, quote
from dond_marl.game import Act, Rules
from dond_marl.seats import NO_ACT_YET, Bools, Doubles, Int8s, Partner, Turns, partner_name, turns_after
from dond_marl.solvers.contexts import Index, Views, act_numbers, splits_of
from dond_marl.splits import action_count, action_index

BLOCK = 1 << 14  # rows that a partner is queried for in one call
PROBABLE_BLOCK = 1 << 13  # the same where each row has hundreds of probabilities


@runtime_checkable
class Probable(Protocol):
    """A partner with known act probabilities."""

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        ...


class Replies:
    """A partner's answers by turn, queried once and cached."""

    def __init__(self, partner: Partner, rules: Rules, views: Views, prior: str) -> None:
        self.partner, self.rules, self.views, self.prior = partner, rules, views, prior
        self.splits = splits_of(views.counts)
        self._codes: dict[int, NDArray[np.int16]] = {}

    @property
    def width(self) -> int:
        """N, the number of splits of the pool that has the most."""
        return int(self.splits.oA.shape[1])

    @property
    def query_count(self) -> int:
        """The number of queries."""
        return 3 * self.width + 2 if self.rules.disagree == "rejects" else 2 * self.width + 1

    def codes(self, turns_left: int) -> NDArray[np.int16]:
        """The answers of a deterministic partner at ``turns_left``, ``[V, H]``; -1 for impossible queries."""
        if turns_left not in self._codes:
            views, numbers = self._queries(turns_left)
            codes = np.full((self.views.size, self.query_count), -1, dtype=np.int16)
            for start in range(0, len(views), BLOCK):
                view, number = views[start : start + BLOCK], numbers[start : start + BLOCK]
                act, oA = check_decisions(self.partner.act(self.turns(view, number, turns_left)), len(view))
                codes[view, number] = act_numbers(self.views.counts[view], act, oA.T, self.width)
            self._codes[turns_left] = codes
        return self._codes[turns_left]

    def probs(self, turns_left: int, views: Index) -> Doubles:
        """The probability of every answer, ``[views, H, 2N + 3]``; zeros for impossible queries."""
        if self.partner.traits.deterministic:
            codes = self.codes(turns_left)[views]
            certain: Doubles = (codes[:, :, None] == np.arange(2 * self.width + 3)).astype(np.float64)
            return certain
        if not isinstance(self.partner, Probable):
            raise TypeError(f"{partner_name(self.partner)} is stochastic without known probabilities (probs)")
        max_count, row_of_view = int(self.views.counts.max()), np.full(self.views.size, -1)
        row_of_view[views] = np.arange(len(views))
        every_view, every_number = self._queries(turns_left)
        requested = np.flatnonzero(row_of_view[every_view] >= 0)
        table = np.zeros((len(views), self.query_count, 2 * self.width + 3))
        numbers = self._answer_numbers(max_count)
        fits = np.hstack([np.tile(self._fits, 2), np.ones((self.views.size, 3), dtype=bool)])
        for start in range(0, len(requested), PROBABLE_BLOCK):
            rows = requested[start : start + PROBABLE_BLOCK]
            view, number = every_view[rows], every_number[rows]
            probs = np.asarray(self.partner.probs(self.turns(view, number, turns_left), max_count))
            shape, name = (len(rows), action_count(max_count)), partner_name(self.partner)
            if probs.shape != shape or not (probs.min() >= 0 and np.allclose(probs.sum(axis=1), 1)):
                raise NotComputable(f"{name}: probs must be {shape}, each row of sum 1; got {quote(probs)}")
            table[row_of_view[view], number] = np.take_along_axis(probs, numbers[view], axis=1) * fits[view]
        return table

    def turns(self, view: Index, number: Index, turns_left: int) -> Turns:
        """The turns of partners with the views ``view[R]`` after the queries ``number[R]``."""
        n, turns_taken = self.width, self.rules.max_turns - turns_left
        counts, revealed = self.views.counts[view], self.views.partner_utilities
        offer, refusal = number < 2 * n, number > 2 * n
        claim = np.where(offer, number % n, np.where(refusal, number - 2 * n - 1, n))
        claimed = claim < n
        keeps_split = self.splits.oA[view, np.minimum(claim, n - 1)]
        act = np.where(offer, number // n, np.where(refusal, Act.DISAGREE, NO_ACT_YET)).astype(np.int8)
        return turns_after(
            self.rules,
            self.prior,
            counts,
            self.views.utilities[view],
            *self._history(view, act, keeps_split, turns_taken),
            (counts - keeps_split) * claimed[:, None],
            None if revealed is None else revealed[view],
        )

    def _history(self, view: Index, act: Int8s, keeps_split: Int8s, turns_taken: int) -> tuple[Int8s, Int8s]:
        """Acts ``[t, R]`` and offers ``[t, 3, R]`` of a history that ends with the query.

        Where the partner opened and this is its second act, it begins with its opening, so that in games of at most
        three turns the history is true. In longer ones it is a placeholder: a memoryless partner does not read it.
        """
        acts = np.zeros((turns_taken, len(act)), dtype=np.int8)
        offers = np.zeros((turns_taken, 3, len(act)), dtype=np.int8)
        if turns_taken == 2 and self.partner.traits.deterministic:
            opening = self.codes(turns_left=self.rules.max_turns)[view, 2 * self.width]
            offered = opening < 2 * self.width
            acts[0] = np.where(offered, opening // self.width, opening - 2 * self.width + Act.AGREE)
            offers[0] = (self.splits.oA[view, opening % self.width] * offered[:, None]).T
        if turns_taken:
            acts[-1], offers[-1] = act, (keeps_split * (act <= Act.INSIST)[:, None]).T
        return acts, offers

    @property
    def _fits(self) -> Bools:
        """Whether each split is one of the pool's, ``[V, N]``."""
        return np.arange(self.width) < self.splits.number[:, None]

    def _queries(self, turns_left: int) -> tuple[Index, Index]:
        """The possible queries with ``turns_left`` turns left: views ``[R]`` and their query numbers ``[R]``."""
        n, first = self.width, turns_left == self.rules.max_turns
        possible = np.zeros((self.views.size, self.query_count), dtype=bool)
        possible[:, 2 * n] = first
        if not first:
            fits = self._fits
            possible[:, : 2 * n] = np.tile(fits, 2)
            if self.rules.disagree == "rejects":
                possible[:, 2 * n + 1 :] = np.hstack([fits, np.ones((self.views.size, 1), dtype=bool)])
        view, number = np.nonzero(possible)
        return view, number

    def _answer_numbers(self, max_count: int) -> Index:
        """The number of every answer in :mod:`dond_marl.splits`, ``[V, 2N + 3]``."""
        n = self.width
        acts = np.repeat(np.arange(len(Act), dtype=np.int8), [n, n, 1, 1, 1])
        return action_index(acts, self.splits.oA[:, np.arange(2 * n + 3) % n], max_count)
