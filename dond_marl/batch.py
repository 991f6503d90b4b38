"""The rules of :mod:`dond_marl.game` for thousands of games in lock-step, as NumPy arrays.

The games of a batch start together, so the same seat is to move in every open game; finished games leave the arrays.
The arrays have the games last, ``[3, N]``, which is several times faster than ``[N, 3]``; callers get ``[N, 3]`` views.
A property test compares this engine with :mod:`dond_marl.game` on random play under every rule variant.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act, Ending, IllegalAct, Rules, rule_against_message
from dond_marl.scenarios.sources import Scenarios, played_prior
from dond_marl.seats import (
    UNREACHED,
    Bools,
    Cause,
    Decisions,
    Doubles,
    History,
    Int8s,
    Rows,
    Texts,
    Turns,
    are_offers,
    constant,
    no_hints,
    no_noise,
)

# Comparing an array with an enumeration's member takes six times as long: NumPy converts the whole array.
_AGREE, _DISAGREE, _END = int(Act.AGREE), int(Act.DISAGREE), int(Act.END)
OnIllegal = Literal["raise", "forfeit"]


class Games(NamedTuple):
    """N finished games, in the order of their scenarios; T is ``rules.max_turns``."""

    scenarios: Scenarios
    rules: Rules
    act: Int8s  # [N, T] acts, turn i of seat i % 2; -1 after the end
    oA: Int8s  # [N, T, 3] items that each act's seat would keep; zeros where the act is no offer
    turns: Int8s  # [N] number of acts
    ending: Int8s  # [N] an Ending
    deal: Bools  # [N]
    allocation: Int8s  # [N, 2, 3] items of each seat; zeros without a deal
    scores: NDArray[np.int16]  # [N, 2] points
    cause: Int8s  # [N, T] why each act was played: a Cause
    messages: Texts | None = None  # [N, T] the message of each act, "" for none; None: no message in any game

    @property
    def size(self) -> int:
        """The number of games, N."""
        return len(self.turns)

    @property
    def valid(self) -> Bools:
        """Mask of games that measure their players, ``[N]``: every query to both seats was answered."""
        if not self.cause.any():
            return constant(True, np.bool_, self.size)
        unanswered: Bools = np.isin(self.cause, UNREACHED).max(axis=1)
        return ~unanswered

    def rows(self, index: Rows | slice) -> Games:
        """Some of the games, in the order of ``index``; a slice copies nothing."""
        arrays = {name: getattr(self, name)[index] for name in Games._fields[2:-1]}
        messages = None if self.messages is None else self.messages[index]
        return Games(self.scenarios.rows(index), self.rules, messages=messages, **arrays)


class GameBatch:
    """N negotiations in progress, all at the same turn."""

    def __init__(
        self,
        scenarios: Scenarios,
        rules: Rules = Rules(),
        *,
        reveal_partner_utilities: bool = False,
        illegal: OnIllegal = "raise",
    ) -> None:
        size, length = scenarios.size, rules.max_turns
        self.rules, self.prior = rules, played_prior(scenarios)
        self._scenarios, self._reveal, self._illegal = scenarios, reveal_partner_utilities, illegal
        self.turns_taken = 0
        self.live: Rows = np.arange(size)
        # Acts and endings of all games, one column per game, from first to last.
        self._acts = np.full((length, size), -1, dtype=np.int8)
        self._offers = np.zeros((length, 3, size), dtype=np.int8)
        self._causes = np.zeros((length, size), dtype=np.int8)
        self._messages: Texts | None = None  # [T, N], allocated with the first message
        self._turns = np.zeros(size, dtype=np.int8)
        self._ending = np.zeros(size, dtype=np.int8)
        self._allocation = np.zeros((2, 3, size), dtype=np.int8)
        # The open games only, one column each, in the order of ``live``; read-only copies, because occupants get them.
        self._counts = _seal(np.array(scenarios.counts.T, order="C"))
        self._values = [_seal(np.array(scenarios.utilities[:, seat].T, order="C")) for seat in (0, 1)]
        self._claims = [np.zeros((3, size), dtype=np.int8) for _ in (0, 1)]
        self._claimed = [np.zeros(size, dtype=bool) for _ in (0, 1)]
        self._last_act: Int8s = constant(Act.END, np.int8, size)

    @property
    def open(self) -> int:
        """The number of open games."""
        return len(self.live)

    @property
    def seat(self) -> int:
        """The seat to move."""
        return self.turns_taken % 2

    def turns(self, noise: Doubles | None = None, game_noise: Doubles | None = None) -> Turns:
        """The observations of the seat to move, one row per open game. Noise: ``[open, 8]``, by default none."""
        size, seat = self.open, self.seat
        offered = self._counts - self._claims[1 - seat]
        offered *= self._claimed[1 - seat]
        mask = np.ones((5, size), dtype=bool)
        np.less_equal(self._last_act, Act.INSIST, out=mask[Act.AGREE])
        shown_values = self._values[1 - seat].T if self._reveal else constant(0, np.int8, size, 3)
        return Turns(
            rules=self.rules,
            prior=self.prior,
            counts=self._counts.T,
            my_utilities=self._values[seat].T,
            partner_utilities=shown_values,
            history=History(self._acts, self._offers, self.turns_taken, self.live, self._messages),
            last_partner_act=self._last_act,
            last_partner_offer_for_me=offered.T,
            turns_remaining=constant(self.rules.max_turns - self.turns_taken, np.int8, size),
            act_mask=mask.T,
            hint_features=no_hints(size),
            noise=no_noise(size) if noise is None else noise,
            game_noise=no_noise(size) if game_noise is None else game_noise,
        )

    def partner_utilities(self) -> Int8s:
        """The values of the seat that is not to move, ``[open, 3]``, for privileged occupants and hinters."""
        return self._values[1 - self.seat].T

    def step(self, decisions: Decisions) -> None:
        """Apply one decision per open game. Raises :class:`IllegalAct` before anything changes.

        Raises ``ValueError`` for a message that the rules forbid; in games without messages they are ignored.
        """
        act, oA = check_decisions(decisions, self.open)
        messages = check_messages(decisions, self.rules, self.open)
        offers = are_offers(act)
        illegal = self._illegal_rows(act, oA, offers)
        oA = oA * offers
        turn, seat, live = self.turns_taken, self.seat, self.live
        complete = self.open == self._acts.shape[1]  # no game has ended yet: no need to scatter
        columns: slice | Rows = slice(None) if complete else live
        self._acts[turn, columns] = act
        self._offers[turn][:, columns] = oA
        if decisions.cause.any():
            self._causes[turn, columns] = decisions.cause
        if messages is not None:
            if self._messages is None:
                self._messages = np.full(self._acts.shape, "", dtype=np.object_)
            self._messages[turn, columns] = messages
        np.copyto(self._claims[seat], oA, where=offers)
        self._claimed[seat] |= offers
        self._last_act = _seal(act)
        self.turns_taken += 1
        self._settle(act, offers, illegal)

    def outcomes(self, columns: Rows) -> tuple[Int8s, Int8s, NDArray[np.int16]]:
        """Endings ``[k]``, allocations ``[k, 2, 3]`` and scores ``[k, 2]`` of k finished games (``columns[k]``)."""
        allocation = self._allocation[:, :, columns].transpose(2, 0, 1)
        scores = np.einsum("nsi,nsi->ns", allocation, self._scenarios.utilities[columns], dtype=np.int16)
        return self._ending[columns], allocation, scores

    def games(self) -> Games:
        """All games, once none is open."""
        assert self.open == 0, f"{self.open} games are still open"
        allocation = self._allocation.transpose(2, 0, 1)
        deal: Bools = self._allocation.reshape(6, -1).max(axis=0) > 0  # a pool is never empty
        scores = np.einsum("nsi,nsi->ns", allocation, self._scenarios.utilities, dtype=np.int16)
        return Games(
            scenarios=self._scenarios,
            rules=self.rules,
            act=self._acts.T,
            oA=self._offers.transpose(2, 0, 1),
            turns=self._turns,
            ending=self._ending,
            deal=deal,
            allocation=allocation,
            scores=scores,
            cause=self._causes.T,
            messages=None if self._messages is None else self._messages.T,
        )

    def _illegal_rows(self, act: Int8s, oA: Int8s, offers: Bools) -> Bools | None:
        """Mask of the rows that break a rule, ``None`` for none. Raises :class:`IllegalAct` under ``"raise"``."""
        beyond = (oA.view(np.uint8) > self._counts.view(np.uint8)).any(axis=0)  # a negative reads as a large one
        beyond &= offers
        unoffered = (act == _AGREE) & ~are_offers(self._last_act)
        illegal: Bools = beyond | unoffered
        if not illegal.any():
            return None
        if self._illegal == "raise":
            row = int(illegal.argmax())
            name = Act(int(act[row])).name
            offence = (
                f"{name} of {oA[:, row].tolist()} from a pool of {self._counts[:, row].tolist()}"
                if beyond[row]
                else name
            )
            raise IllegalAct(
                f"illegal in {int(illegal.sum())} of {len(act)} games; first in game {int(self.live[row])}: {offence}"
            )
        return illegal

    def _settle(self, act: Int8s, offers: Bools, illegal: Bools | None) -> None:
        """Finish the games that end with ``act``: store their outcomes and remove them from the open games."""
        if self.turns_taken == self.rules.max_turns:
            over = np.ones(len(act), dtype=bool)
        elif self.rules.disagree == "ends":
            over = ~offers
        else:
            over = (act == _AGREE) | (act == _END)
        if illegal is not None:
            over |= illegal
        ended = np.flatnonzero(over)
        if not len(ended):
            return
        self._record(ended, act, illegal)
        still = np.flatnonzero(~over)
        self.live = self.live[still]
        self._counts = _seal(self._counts.take(still, axis=1))
        self._values = [_seal(values.take(still, axis=1)) for values in self._values]
        self._claims = [claims.take(still, axis=1) for claims in self._claims]
        self._claimed = [claimed[still] for claimed in self._claimed]
        self._last_act = _seal(self._last_act[still])

    def _record(self, ended: Rows, act: Int8s, illegal: Bools | None) -> None:
        """Store the outcomes of the games in ``ended`` (positions among the open games)."""
        closing, seat = act[ended], (self.turns_taken - 1) % 2
        counts = self._counts.take(ended, axis=1)
        ending = np.full(len(ended), Ending.TURN_LIMIT, dtype=np.int8)
        first, second = (claims.take(ended, axis=1) for claims in self._claims)
        has_first, has_second = (claimed[ended] for claimed in self._claimed)
        agreed = closing == _AGREE
        ending[closing == _END] = Ending.END
        selected = ((first + second) == counts).all(axis=0) & has_first & has_second
        ending[agreed] = Ending.AGREE
        if self.rules.disagree == "ends":
            refused = closing == _DISAGREE
            ending[refused] = Ending.DISAGREE
            selected &= ~refused
        deal = agreed | selected
        if illegal is not None:
            ending[illegal[ended]] = Ending.ILLEGAL
            deal &= ~illegal[ended]
        # AGREE closes at the partner's claim; a final selection at claims that add up to the pool: either one fits.
        share = first if seat == 1 else counts - second
        share = np.where(agreed, share, first) * deal
        columns = self.live[ended]
        self._turns[columns] = self.turns_taken
        if illegal is not None:  # an illegal act is not part of the history
            removed = columns[illegal[ended]]
            self._acts[self.turns_taken - 1, removed] = -1
            self._offers[self.turns_taken - 1][:, removed] = 0
            if self._messages is not None:
                self._messages[self.turns_taken - 1, removed] = ""
            self._turns[removed] -= 1
        self._ending[columns] = ending
        self._allocation[0][:, columns] = share
        self._allocation[1][:, columns] = (counts - share) * deal


def check_decisions(decisions: Decisions, size: int) -> tuple[Int8s, Int8s]:
    """Acts ``[size]`` and offers ``[3, size]`` of ``decisions``. Raises ``ValueError`` for wrong shapes or values."""
    act, oA = np.asarray(decisions.act_type), np.asarray(decisions.oA)
    if act.shape != (size,) or oA.shape != (size, 3):
        raise ValueError(
            f"decisions for {size} games need act_type[{size}] and oA[{size}, 3]; got {act.shape} and {oA.shape}"
        )
    if act.dtype.kind not in "iu" or oA.dtype.kind not in "iu":
        raise ValueError(f"decisions must be whole numbers; got {act.dtype} and {oA.dtype}")
    if size and not (act.min() >= 0 and act.max() <= Act.END):
        raise ValueError(f"act_type must be in 0..{int(Act.END)}; got {act.min()}..{act.max()}")
    confidence, cause = np.asarray(decisions.confidence), np.asarray(decisions.cause)
    if confidence.shape != (size,) or cause.shape != (size,):
        raise ValueError(
            f"decisions for {size} games need confidence[{size}] and cause[{size}]; "
            f"got {confidence.shape} and {cause.shape}"
        )
    if cause.any() and not np.isin(cause, list(Cause)).all():
        raise ValueError(f"cause must be in 0..{int(max(Cause))}; got {cause.min()}..{cause.max()}")
    if oA.dtype != np.int8:
        oA = np.clip(oA, -1, 127)  # out of every pool either way
    return act.astype(np.int8), np.ascontiguousarray(oA.T, dtype=np.int8)


def check_messages(decisions: Decisions, rules: Rules, size: int) -> Texts | None:
    """The messages of ``decisions``, ``[size]``, ``None`` where the game takes none. Raises ``ValueError``."""
    if decisions.messages is None or not rules.message_length:
        return None
    messages = np.asarray(decisions.messages, dtype=np.object_)
    if messages.shape != (size,):
        raise ValueError(f"messages of {size} games need shape ({size},); got {messages.shape}")
    for message in set(messages.tolist()):
        broken = rule_against_message(rules, message)
        if broken is not None:
            raise ValueError(broken)
    return messages


def _seal(array: Int8s) -> Int8s:
    array.flags.writeable = False
    return array
