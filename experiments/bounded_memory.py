"""Responses with bounded memory to stochastic partners: a certified lower bound of the best response's value.

In long games no best response to a stochastic partner can be computed (:mod:`dond_marl.yardsticks.odds`), but the
points of a response with little memory can: against each type of partner the game is then a Markov chain. Its memory is
its view, the turns left, the partner's last claim, and its guess of the persona: the likeliest one given the guess
before and the claim since.

The response is improved in rounds: from its last turn to the first, each act is the best one against the types that are
probable there, given the earlier acts of the previous round's response; a tremble keeps every claim possible. The best
response of all rounds is returned.
"""

from __future__ import annotations

import numpy as np

from dond_marl.seats import Doubles
from dond_marl.yardsticks.contexts import Index
from dond_marl.yardsticks.odds import Odds

ROUNDS = 2
TREMBLE = 1e-3  # probability of a uniform claim in the computation of reach probabilities


def bounded_memory_response(odds: Odds, seat: int, groups: Index, rounds: int = ROUNDS) -> Doubles:
    """Points of ten of the best response of ``seat`` that was found, in each context against each type, ``[C, K]``.

    ``groups[P]``: a number from 0 for each of the partner's personas; those of one number are not distinguished.
    """
    earned = np.zeros_like(odds.contexts.weights)
    if odds.rules.max_turns > seat:
        for number in range(odds.contexts.size):
            _Context(odds, seat, number, groups).best(rounds, earned[number])
    return earned


class _Context:
    """One context: K types of the partner, H claims of it; M guesses of the persona."""

    def __init__(self, odds: Odds, seat: int, number: int, groups: Index) -> None:
        weights, views = odds.contexts.weights[number], odds.contexts.theirs.size // len(odds.personas)
        self.odds, self.seat, self.number, self.n = odds, seat, number, odds.width
        self.kinds = np.flatnonzero(weights)
        self.weights, self.types = weights[self.kinds], odds.contexts.types[number][self.kinds]
        self.persona = groups[self.types // views]  # [K]
        self.number_of = int(groups.max()) + 1  # M
        self.offers = odds.offers[number]
        self.lefts = list(range(odds.rules.max_turns - seat, 0, -2))  # the seat's turns
        rest, own_points = odds.rest[number], odds.points[number]
        # [2N] points of own claims, and of agreeing to the partner's
        self.own_points, self.taken = np.tile(own_points, 2), np.tile(own_points[rest], 2)
        self.mirror = np.tile(rest, 2)[:, None] == np.tile(np.arange(self.n), 2)  # [answer, claim] that add up
        self.opening = odds.answers(odds.rules.max_turns)[self.types, -1, : 2 * self.n] if seat else None  # [K, 2N]

    def best(self, rounds: int, earned: Doubles) -> None:
        """Write the points of the best response against each type into ``earned``."""
        most, acts = -1.0, {left: self._greedy(left) for left in self.lefts}
        for _ in range(rounds):
            reach, guesses = self._reach(acts)
            acts, values = self._back(reach, guesses)
            total = float((values * self.weights).sum())
            if total > most:
                most, earned[self.kinds] = total, values

    def _greedy(self, left: int) -> Index:
        """The initial response: the claim with the most points for the seat."""
        answer = 1 if left == self.odds.rules.max_turns else 2 * self.n
        return np.full((self.number_of, answer), int(np.where(self.offers, self.own_points, -1).argmax()))

    def _reach(self, acts: dict[int, Index]) -> tuple[dict[int, Doubles], dict[int, Index]]:
        """The reach probability of each type, ``[M, H, K]`` by turn, and the guess after each answer, ``[M, 2N]``."""
        n, size = self.n, len(self.kinds)
        now = np.zeros((self.number_of, 1 if self.opening is None else 2 * n, size))
        guesses = {}
        if self.opening is None:
            now[0, 0] = self.weights
        else:
            answer = (self.weights[:, None] * self.opening).T
            now[self._likeliest(answer), np.arange(2 * n)] = answer
        reach = {}
        for left in self.lefts:
            reach[left] = now
            if left <= 2:  # the seat's last turn
                break
            answers = self.odds.answers(left - 1)[self.types, : 2 * n, : 2 * n]  # [K, claims, answers]
            following = np.zeros((self.number_of, 2 * n, size))
            guesses[left] = np.zeros((self.number_of, 2 * n), dtype=np.int64)
            for guess in np.flatnonzero(now.any(axis=(1, 2))).tolist():
                claims = np.zeros((2 * n + 1, size))
                np.add.at(claims, acts[left][guess], now[guess])
                uniform = self.offers[:, None] / self.offers.sum() * now[guess].sum(axis=0)
                claims = (1 - TREMBLE) * claims[: 2 * n] + TREMBLE * uniform
                answer = np.matmul(claims.T[:, None], answers)[:, 0].T  # [2N, K]
                guesses[left][guess] = self._likeliest(answer)
                np.add.at(following, (guesses[left][guess], np.arange(2 * n)), answer)
            now = following
        return reach, guesses

    def _likeliest(self, answer: Doubles) -> Index:
        """The likeliest persona after each answer, ``[2N]``, from the types' probabilities ``[2N, K]``."""
        chances = np.zeros((len(answer), self.number_of))
        np.add.at(chances.T, self.persona, answer.T)
        likeliest: Index = chances.argmax(axis=1)
        return likeliest

    def _back(self, reach: dict[int, Doubles], guesses: dict[int, Index]) -> tuple[dict[int, Index], Doubles]:
        """The best acts given reach probabilities, and their points against each type from the start, ``[K]``."""
        acts: dict[int, Index] = {}
        after: Doubles | None = None  # [M, 2N, K] value of the seat's next turn
        for left in reversed(self.lefts):
            acts[left] = np.full(reach[left].shape[:2], 2 * self.n)
            values = np.zeros(reach[left].shape)
            sure, ends = self._sure(left)
            answers = None if after is None else self.odds.answers(left - 1)[self.types, : 2 * self.n, : 2 * self.n]
            for guess in np.flatnonzero(reach[left].any(axis=(1, 2))).tolist():
                worth = sure
                if after is not None and answers is not None:
                    then = after[guesses[left][guess], np.arange(2 * self.n)]  # [2N, K]
                    worth = sure + np.matmul(answers, then.T[:, :, None])[:, :, 0].T
                acts[left][guess], values[guess] = self._choose(left, reach[left][guess], worth, ends)
            after = values
        assert after is not None
        if self.opening is None:
            return acts, after[0, 0]
        answer = (self.weights[:, None] * self.opening).T
        first = after[self._likeliest(answer), np.arange(2 * self.n)]
        return acts, np.einsum("kx,xk->k", self.opening, first)

    def _choose(self, left: int, weights: Doubles, worth: Doubles, ends: Doubles) -> tuple[Index, Doubles]:
        """The best act after each answer, ``[H]``, and its points, ``[H, K]``; ``worth`` is ``[2N, K]``."""
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
        """The certain points of each claim against each type, and of END where claims add up, ``[2N, K]``."""
        if left == 1:
            return np.zeros((0, 0)), np.zeros((0, 0))
        sure, ends = self.odds.immediate(np.array([self.number]), left)
        return sure[0][:, self.kinds], ends[0][:, self.kinds]
