"""What a seat believes of its partner's values after all that the partner has said, if it knows how the partner plays.

Bayes' rule over the values that the scenario prior allows (:mod:`dond_marl.yardsticks.beliefs`): the probability of
each is weighed by how likely it makes every answer. For a deterministic partner the answers only rule values out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dond_marl.game import Act
from dond_marl.seats import NO_ACT_YET, Doubles, Int8s, Partner, Turns
from dond_marl.yardsticks.beliefs import Beliefs, beliefs
from dond_marl.yardsticks.contexts import Index, contexts_of
from dond_marl.yardsticks.odds import check_odds
from dond_marl.yardsticks.replies import Replies


def posterior(partner: Partner, turns: Turns) -> Beliefs:
    """The partner's possible values in each row and their probabilities after the row's history.

    ``partner`` must have no memory and be deterministic or know its probabilities, under ``disagree="ends"``; raises
    ``ValueError`` otherwise. Where no values explain what was said, the prior is believed again from there on. Rows
    whose partner's values are revealed are not looked at differently: who knows needs no belief.
    """
    check_odds(partner, turns.rules)
    views, which = np.unique(np.hstack([turns.counts, turns.my_utilities]), axis=0, return_inverse=True)
    counts, own = np.ascontiguousarray(views[:, :3]), np.ascontiguousarray(views[:, 3:])
    contexts, which = contexts_of(turns.prior, counts, own), which.reshape(-1)
    replies, prior = Replies(partner, turns.rules, contexts.theirs, turns.prior), contexts.weights[which]
    every = np.arange(contexts.theirs.size)
    likely = (
        replies.probs(left, every)[contexts.types[which], question[:, None], answer[:, None]]
        for question, answer, left in Heard(turns).answers(replies.width)
    )
    return Beliefs(beliefs(turns.prior, counts, own).types[which], after(prior, likely))


def after(prior: Doubles, likely: Iterable[Doubles]) -> Doubles:
    """Bayes' rule: ``prior[R, K]`` weighed by how likely each type made one answer after the other, ``[R, K]`` each.

    Where no type explains an answer, the prior is believed again from there on.
    """
    weights = prior
    for likelihood in likely:
        weights = weights * likelihood
        weights = np.where(weights.any(axis=1, keepdims=True), weights, prior)
        weights = weights / weights.sum(axis=1, keepdims=True)
    return weights


class Heard:
    """The rows' histories in the numbering of :mod:`dond_marl.yardsticks.replies`."""

    def __init__(self, turns: Turns) -> None:
        self._seat, self._turns = turns.seat, turns.rules.max_turns
        self._acts = turns.history.act.astype(np.int64).T  # [t, R]
        self._splits = [_split_number(turns.counts, oA) for oA in turns.history.oA.transpose(1, 0, 2)]
        self._size = turns.size

    def claim(self, seat: int, none: int, before: int | None = None) -> Index:
        """The number of the seat's latest claim among its first acts, ``[R]``; ``none`` before any."""
        latest = np.full(self._size, none)
        for turn in range(seat, len(self._acts) if before is None else before, 2):
            latest = np.where(self._acts[turn] <= Act.INSIST, self._splits[turn], latest)
        return latest

    def answers(self, n: int) -> Iterator[tuple[Index, Index, int]]:
        """What the partner heard, what it said to it, and how many turns were left to it."""
        for turn in range(1 - self._seat, len(self._acts), 2):
            act, before = self._acts[turn], self._acts[turn - 1] if turn else np.full(self._size, int(NO_ACT_YET))
            offered = self._splits[turn - 1] if turn else before
            question = np.where(before <= Act.INSIST, before * n + offered, 2 * n)
            refused = before == Act.DISAGREE
            question = np.where(refused, 2 * n + 1 + self.claim(self._seat, n, turn), question)
            answer = np.where(act <= Act.INSIST, act * n + self._splits[turn], 2 * n + act - Act.AGREE)
            yield question, answer, self._turns - turn


def _split_number(counts: Int8s, oA: Int8s) -> Index:
    """Which of its pool's splits each claim is, ``[R]``, in lexicographic order."""
    second, third = counts[:, 1].astype(np.int64) + 1, counts[:, 2].astype(np.int64) + 1
    return (oA[:, 0] * second + oA[:, 1]) * third + oA[:, 2]
