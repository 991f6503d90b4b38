"""Replies that forget nearly everything, to partners whose odds are known: what they earn is exact.

In long games no best response to a partner that gambles can be computed (:mod:`dond_marl.yardsticks.odds`), but what a
reply earns can, if it remembers little: against each type of partner the game is then a chain. No best response earns
less, so this is a certified lower bound. Such a reply goes by its view, the turns left, what it heard last, and whom it
takes its partner for: the persona that was likeliest after what it took it for before and what it heard since.

The reply is looked for in rounds: from the last of its turns to the first, each act is the best one against whoever is
likely to be met there, given what the reply of the round before says on earlier turns; a tremble keeps every claim
possible. The best reply of all rounds is kept.
"""

from __future__ import annotations

import numpy as np

from dond_marl.seats import Doubles
from dond_marl.yardsticks.contexts import Index
from dond_marl.yardsticks.odds import Odds

ROUNDS = 2
TREMBLE = 1e-3  # how often any claim is made instead, while it is said who may be met


def forgetful_reply(odds: Odds, seat: int, groups: Index, rounds: int = ROUNDS) -> Doubles:
    """What the best reply of ``seat`` earns that was found, in each context against each type, ``[C, K]``.

    Points of ten. ``groups[P]``: the persona of each of the partner's, numbered from 0; those of one number are one.
    """
    earned = np.zeros_like(odds.contexts.weights)
    if odds.rules.max_turns > seat:
        for number in range(odds.contexts.size):
            _Context(odds, seat, number, groups).best(rounds, earned[number])
    return earned


class _Context:
    """One context: K types that may sit opposite; what the seat hears is one of H, on its opening turn nothing."""

    def __init__(self, odds: Odds, seat: int, number: int, groups: Index) -> None:
        weights, views = odds.contexts.weights[number], odds.contexts.theirs.size // len(odds.personas)
        self.odds, self.seat, self.number, self.n = odds, seat, number, odds.width
        self.kinds = np.flatnonzero(weights)
        self.weights, self.types = weights[self.kinds], odds.contexts.types[number][self.kinds]
        self.persona = groups[self.types // views]  # [K]
        self.number_of = int(groups.max()) + 1  # M
        self.offers = odds.offers[number]
        self.lefts = list(range(odds.rules.max_turns - seat, 0, -2))  # the seat's turns
        rest, kept = odds.rest[number], odds.points[number]
        self.kept, self.taken = np.tile(kept, 2), np.tile(kept[rest], 2)  # [2N] of an own claim, of the partner's
        self.mirror = np.tile(rest, 2)[:, None] == np.tile(np.arange(self.n), 2)  # [heard, claimed] adding up
        self.opening = odds.answers(odds.rules.max_turns)[self.types, -1, : 2 * self.n] if seat else None  # [K, 2N]

    def best(self, rounds: int, earned: Doubles) -> None:
        """Write what the best reply earns against each type into ``earned``."""
        most, says = -1.0, {left: self._greedy(left) for left in self.lefts}
        for _ in range(rounds):
            met, takes = self._met(says)
            says, values = self._back(met, takes)
            total = float((values * self.weights).sum())
            if total > most:
                most, earned[self.kinds] = total, values

    def _greedy(self, left: int) -> Index:
        """Before anything is known: the claim that is worth most to the seat."""
        heard = 1 if left == self.odds.rules.max_turns else 2 * self.n
        return np.full((self.number_of, heard), int(np.where(self.offers, self.kept, -1).argmax()))

    def _met(self, says: dict[int, Index]) -> tuple[dict[int, Doubles], dict[int, Index]]:
        """How probable each type is in each place, ``[M, H, K]``, and whom it is taken for from there on."""
        n, size = self.n, len(self.kinds)
        now = np.zeros((self.number_of, 1 if self.opening is None else 2 * n, size))
        takes = {}
        if self.opening is None:
            now[0, 0] = self.weights
        else:
            heard = (self.weights[:, None] * self.opening).T
            now[self._likeliest(heard), np.arange(2 * n)] = heard
        met = {}
        for left in self.lefts:
            met[left] = now
            if left <= 2:  # the seat's last turn
                break
            answers = self.odds.answers(left - 1)[self.types, : 2 * n, : 2 * n]  # [K, claimed, heard]
            following = np.zeros((self.number_of, 2 * n, size))
            takes[left] = np.zeros((self.number_of, 2 * n), dtype=np.int64)
            for taken in np.flatnonzero(now.any(axis=(1, 2))).tolist():
                claims = np.zeros((2 * n + 1, size))
                np.add.at(claims, says[left][taken], now[taken])
                any_ = self.offers[:, None] / self.offers.sum() * now[taken].sum(axis=0)
                claims = (1 - TREMBLE) * claims[: 2 * n] + TREMBLE * any_
                heard = np.matmul(claims.T[:, None], answers)[:, 0].T  # [2N, K]
                takes[left][taken] = self._likeliest(heard)
                np.add.at(following, (takes[left][taken], np.arange(2 * n)), heard)
            now = following
        return met, takes

    def _likeliest(self, heard: Doubles) -> Index:
        """The persona that is likeliest after each thing heard, ``[2N]``, from the types' chances ``[2N, K]``."""
        chances = np.zeros((len(heard), self.number_of))
        np.add.at(chances.T, self.persona, heard.T)
        likeliest: Index = chances.argmax(axis=1)
        return likeliest

    def _back(self, met: dict[int, Doubles], takes: dict[int, Index]) -> tuple[dict[int, Index], Doubles]:
        """The best acts given who is met where, and what they earn against each type from the start, ``[K]``."""
        says: dict[int, Index] = {}
        after: Doubles | None = None  # [M, 2N, K] what the seat's next turn is worth
        for left in reversed(self.lefts):
            says[left] = np.full(met[left].shape[:2], 2 * self.n)
            values = np.zeros(met[left].shape)
            sure, ends = self._sure(left)
            answers = None if after is None else self.odds.answers(left - 1)[self.types, : 2 * self.n, : 2 * self.n]
            for taken in np.flatnonzero(met[left].any(axis=(1, 2))).tolist():
                worth = sure
                if after is not None and answers is not None:
                    then = after[takes[left][taken], np.arange(2 * self.n)]  # [2N, K]
                    worth = sure + np.matmul(answers, then.T[:, :, None])[:, :, 0].T
                says[left][taken], values[taken] = self._chosen(left, met[left][taken], worth, ends)
            after = values
        assert after is not None
        if self.opening is None:
            return says, after[0, 0]
        heard = (self.weights[:, None] * self.opening).T
        first = after[self._likeliest(heard), np.arange(2 * self.n)]
        return says, np.einsum("kx,xk->k", self.opening, first)

    def _chosen(self, left: int, weights: Doubles, worth: Doubles, ends: Doubles) -> tuple[Index, Doubles]:
        """The best act after each thing heard, ``[H]``, and what it earns, ``[H, K]``; ``worth`` is ``[2N, K]``."""
        opens = left == self.odds.rules.max_turns
        agrees = np.zeros(weights.shape) if opens else np.broadcast_to(self.taken[:, None], weights.shape)
        if left == 1:
            return np.full(len(weights), 2 * self.n), agrees
        claimed = weights @ worth.T  # [H, 2N]
        if not opens:
            claimed = claimed + (weights @ ends.T) * self.mirror
        claimed[:, ~self.offers] = -1
        chosen, every = claimed.argmax(axis=1), np.arange(len(weights))
        better = (claimed.max(axis=1) > (weights * agrees).sum(axis=1) + 1e-12) | opens
        earned = worth[chosen]
        if not opens:
            earned = earned + ends[chosen] * self.mirror[every, chosen][:, None]
        return np.where(better, chosen, 2 * self.n), np.where(better[:, None], earned, agrees)

    def _sure(self, left: int) -> tuple[Doubles, Doubles]:
        """What each claim is sure to pay against each type, and what END pays where it adds up, ``[2N, K]``."""
        if left == 1:
            return np.zeros((0, 0)), np.zeros((0, 0))
        sure, ends = self.odds.immediate(np.array([self.number]), left)
        return sure[0][:, self.kinds], ends[0][:, self.kinds]
