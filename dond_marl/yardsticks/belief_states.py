"""Belief states of a game against a deterministic memoryless partner, and how one turn leads to the next.

What matters to the seat to move is its context (:mod:`dond_marl.yardsticks.contexts`), which of the partner's possible
values fit all that it has said (a set, as the bits of an integer), the claims on the table and who made the last. Under
``disagree="ends"`` its own claim is dropped: END pays only what AGREE pays too. Everything else is forgotten on
purpose: states that agree in this are one state, which is what makes the search exact and short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.seats import Bools, Doubles
from dond_marl.yardsticks.contexts import Contexts, Index
from dond_marl.yardsticks.replies import Replies

BLOCK = 1 << 21  # answers that are looked at together
KEY_BITS = 62  # of a state's number


class OutOfReach(InputError):
    """A distribution of scenarios too rich to be exact about."""


class States(NamedTuple):
    """S states; N stands for "no claim"."""

    context: Index  # [S]
    fits: Index  # [S] bit k: whether the context's type k is still possible
    claim: Index  # [S] split that the partner's latest claim keeps for it
    offered: Bools  # [S] whether its last act was that offer, so that AGREE is legal
    own: Index  # [S] split of the seat's own latest claim; N where it does not matter

    @property
    def size(self) -> int:
        return len(self.context)

    def rows(self, index: Index | slice) -> States:
        return States(self.context[index], self.fits[index], self.claim[index], self.offered[index], self.own[index])


class Steps(NamedTuple):
    """What A acts in each of S states lead to: points at once, and the states after the partner's answer."""

    paid: Doubles  # [S, A] expected points of ten of the games that end; minus infinity for what cannot be said
    origin: Index  # [E] which of the S * A each following state comes from
    following: NDArray[np.int64]  # [E] numbers of states, see :meth:`Moves.pack`


class Moves:
    """One seat's moves against one partner: what can be said on its turns, and what becomes of it."""

    def __init__(self, contexts: Contexts, replies: Replies) -> None:
        self.contexts, self.replies = contexts, replies
        self.rejects = replies.rules.disagree == "rejects"
        self.width = replies.width
        splits = contexts.splits
        assert splits.oA.shape[1] == self.width, "the partner's views are of the contexts' pools"
        self.points = contexts.points(splits)
        self.rest = splits.rest
        self._fits = np.arange(self.width) < splits.number[:, None]
        types = contexts.types.shape[1]
        self._bits = np.int64(1) << np.arange(types, dtype=np.int64)
        self._owns = self.width + 1 if self.rejects else 1
        room = contexts.size * (self.width + 1) * 2 * self._owns
        if types + int(room).bit_length() > KEY_BITS:
            raise OutOfReach(
                f"{types} possible partner values and {self.width} splits are too many for an exact best response: "
                f"scenarios of 'lewis', 'self_play' or 'dialogues' are within reach"
            )
        self._kept: dict[int, _Codes] = {}
        self.all_fit: Index = (self._bits * (contexts.weights > 0)).sum(axis=1)

    def pack(self, states: States) -> NDArray[np.int64]:
        """One number per state, ascending with the context."""
        belief = (states.context << len(self._bits)) | states.fits
        public = (belief * (self.width + 1) + states.claim) * 2 + states.offered
        return public * self._owns + states.own if self.rejects else public

    def unpack(self, numbers: NDArray[np.int64]) -> States:
        rest, own = np.divmod(numbers, self._owns) if self.rejects else (numbers, np.full(len(numbers), self.width))
        rest, offered = np.divmod(rest, 2)
        belief, claim = np.divmod(rest, self.width + 1)
        return States(belief >> len(self._bits), belief & (self._bits.sum()), claim, offered.astype(bool), own)

    def saying(self, context: Index, heard: Index, answer: Index, left: int) -> Index:
        """Which types of each context say that when they hear that with ``left`` turns left, ``[R]`` as bits."""
        says = self.replies.codes(left)[self.contexts.types[context], heard[:, None]] == answer[:, None]
        bits: Index = (says * self._bits).sum(axis=1)
        return bits

    def weight(self, states: States) -> Doubles:
        """The prior probability of what each state holds possible, ``[S]``."""
        weight: Doubles = (self._possible(states) * self.contexts.weights[states.context]).sum(axis=1)
        return weight

    def opening(self, seat: int) -> Steps:
        """What the seat finds on its first turn: one act, waiting, in one state for each context."""
        none = np.full(self.contexts.size, self.width)
        every = np.arange(self.contexts.size)
        start = States(every, self.all_fit, none, np.zeros(len(every), dtype=bool), none)
        if seat == 0:
            return Steps(np.zeros((len(every), 1)), every, self.pack(start))
        if self.replies.rules.max_turns == 1:  # the partner speaks, and that was all
            return Steps(np.zeros((len(every), 1)), every[:0], every[:0])
        codes = self._codes(self.replies.rules.max_turns, np.array([2 * self.width]))
        return self._answered(start, codes, none[:, None], left=self.replies.rules.max_turns)

    def steps(self, states: States, left: int) -> Iterator[tuple[slice, Steps]]:
        """Every act that is answered, block by block, on a turn with ``left`` turns left, at least 2."""
        offers = np.arange(2 * self.width)
        if left not in self._kept:
            self._kept[left] = self._codes(left - 1, np.arange(self.replies.hearable))
        codes = self._kept[left]
        size = max(BLOCK // (len(offers) * len(self._bits)), 1)
        for start in range(0, states.size, size):
            block = slice(start, start + size)
            part = states.rows(block)
            heard = np.broadcast_to(offers, (part.size, len(offers)))
            if self.rejects:
                heard = np.hstack([heard, 2 * self.width + 1 + part.own[:, None]])
            own = np.where(heard < 2 * self.width, heard % self.width, part.own[:, None])
            chosen = _Codes(codes.answer[part.context[:, None], heard], codes.alike[part.context[:, None], heard])
            steps = self._answered(part, chosen, own, left - 1)
            fits = np.tile(self._fits[part.context], 2)
            steps.paid[:, : 2 * self.width][~fits] = -np.inf
            kept = np.hstack([fits, np.ones((part.size, 1), dtype=bool)])[:, : own.shape[1]].ravel()[steps.origin]
            yield block, Steps(steps.paid, steps.origin[kept], steps.following[kept])

    def _codes(self, left: int, heard: Index) -> _Codes:
        """What each type of each context says to what it hears, and which other types say the same."""
        answer = self.replies.codes(left)[:, heard][self.contexts.types].transpose(0, 2, 1)  # [C, H, K]
        alike = np.zeros(answer.shape, dtype=np.int64)
        possible = (self.contexts.weights > 0)[:, None]
        for kind, bit in enumerate(self._bits):
            alike |= np.where((answer == answer[:, :, kind : kind + 1]) & possible[:, :, kind : kind + 1], bit, 0)
        return _Codes(answer, alike)

    def _answered(self, states: States, codes: _Codes, own: Index, left: int) -> Steps:
        """The partner's answers on its turn, ``left`` turns left to it; ``own[S, A]`` is the seat's claim by then."""
        n, answer = self.width, codes.answer
        possible = self._possible(states)[:, None]  # [S, 1, K]
        last = left == 1
        claimed, offer = own < n, answer < 2 * n
        safe = np.minimum(own, n - 1)
        worth = np.take_along_axis(self.points[states.context], safe, axis=1) * claimed  # [S, A]
        left_over = np.take_along_axis(self.rest[states.context], safe, axis=1)
        # The partner's claim when the talking stops, if it stops: what it says now, or what it said before.
        stops = (answer == 2 * n + 2) | (self.rejects & last & (answer == 2 * n + 1)) | (last & offer)
        theirs = np.where(offer, answer % n, states.claim[:, None, None])
        deal = (answer == 2 * n) | (stops & (theirs == left_over[:, :, None]) & claimed[:, :, None])
        weights = self.contexts.weights[states.context][:, None] * possible
        paid = worth * (deal * weights).sum(axis=2)
        if last:
            return Steps(paid, *(np.zeros((2, 0), dtype=np.int64)))
        goes_on = offer | (answer == 2 * n + 1) if self.rejects else offer
        alike = codes.alike & states.fits[:, None, None]
        first_alike = (alike & (self._bits - 1)) == 0
        row, act, kind = np.nonzero(possible.astype(bool) & goes_on & first_alike)
        code = answer[row, act, kind].astype(np.int64)
        offered = code < 2 * n
        following = States(
            states.context[row],
            alike[row, act, kind],
            np.where(offered, code % n, states.claim[row]),
            offered,
            own[row, act] if self.rejects else np.full(len(row), n),
        )
        return Steps(paid, row * own.shape[1] + act, self.pack(following))

    def _possible(self, states: States) -> Index:
        """Which types are possible, ``[S, K]``, 0 or 1."""
        return (states.fits[:, None] & self._bits) >> np.arange(len(self._bits))


class _Codes(NamedTuple):
    """Answers ``[C, H, K]`` or, chosen for states, ``[S, A, K]``."""

    answer: NDArray[np.int16]  # in the numbering of :mod:`dond_marl.yardsticks.replies`
    alike: NDArray[np.int64]  # which types give the same answer, as bits
