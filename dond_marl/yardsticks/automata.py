"""What deterministic partners do, as graphs: one pool, every mind that may sit opposite, every way to be answered.

A *mind* is a deterministic partner with the values that it may hold; a partner that draws a persona for each game is
several deterministic ones (:class:`Assorted`). A *state* is what decides everything that a mind will ever say: its
latest claim and a summary of what was said before (:class:`Remembers`). Histories with equal summaries are one state,
so a partner that remembers little has few, however long the game; one that declares no summary is taken to remember
every word, which is within reach in short games alone. N splits, H claims, Q states, M
minds. Only for ``disagree="ends"``, under
which a seat's claim is always its last act.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act, Rules
from dond_marl.seats import NO_ACT_YET, Decisions, History, Int8s, Partner, Turns, constant, no_hints, no_noise
from dond_marl.yardsticks.best_response import OutOfReach
from dond_marl.yardsticks.contexts import Index, Splits, Views, splits_of

BLOCK = 1 << 16  # rows that a partner is asked at once
ROOM = 1 << 27  # answers of one turn that are kept: a byte each and four for what follows

Hashes = NDArray[np.uint64]


@runtime_checkable
class Remembers(Protocol):
    """A partner that says what it remembers."""

    def summary(self, turns: Turns) -> NDArray[np.generic]:
        """Whole numbers ``[B, S]``, of what was said before the partner's last act.

        Together with the pool, own values, last partner act and offer, and turns remaining they determine this answer
        and all later ones.
        """
        ...


class Deaf(Protocol):
    """A partner to whom INSIST is the same as PROPOSE: it halves what there is to say to it."""

    insist_is_propose: ClassVar[bool]  # taken to be False where it is missing


@runtime_checkable
class Assorted(Protocol):
    """A partner that draws for each game who it is and stays that to the end."""

    def personas(self) -> Sequence[tuple[float, Partner]]:
        """Whom it may be and how probably, the probabilities adding up to 1."""
        ...


class Persona(NamedTuple):
    """A deterministic partner, and how probably it sits there."""

    chance: float
    partner: Partner


def drawn_from(partner: Partner) -> list[Persona]:
    """Whom ``partner`` may be for a game, each the same to its end; itself where nobody is drawn."""
    if partner.traits.deterministic or not isinstance(partner, Assorted):
        return [Persona(1.0, partner)]
    inner = [(chance, each) for chance, one in partner.personas() for each in drawn_from(one)]
    return [Persona(chance * each.chance, each.partner) for chance, each in inner if chance * each.chance > 0]


def personas_of(partner: Partner) -> list[Persona] | None:
    """The deterministic partners that ``partner`` may be; ``None`` where it is not made of such."""
    found = drawn_from(partner)
    return found if all(each.partner.traits.deterministic for each in found) else None


class Level(NamedTuple):
    """The states at one of the seat's turns, and what its claims lead to."""

    mind: Index  # [Q]
    claim: Index  # [Q] the split that the mind's latest claim, its last act, keeps for it; N for none
    answer: NDArray[np.int16]  # [Q, H] what each claim is answered, as in :mod:`dond_marl.yardsticks.replies`
    following: NDArray[np.int32]  # [Q, H] the state at the seat's next turn; -1 where the game is over


class Automaton:
    """The states of every mind of one pool, in games that a seat plays against it."""

    def __init__(self, personas: Sequence[Persona], views: Views, seat: int, rules: Rules, prior: str) -> None:
        self.personas, self.views, self.seat, self.rules, self.prior = personas, views, seat, rules, prior
        self.splits: Splits = splits_of(views.counts[:1])
        self.width = int(self.splits.number[0])  # N
        self.rest: Index = self.splits.rest[0]
        deaf = all(getattr(each.partner, "insist_is_propose", False) for each in personas)
        self.claims = self.width if deaf else 2 * self.width  # H, what the seat may claim: PROPOSE, then INSIST
        self.strides = np.array([(views.counts[0, 1] + 1) * (views.counts[0, 2] + 1), views.counts[0, 2] + 1, 1])
        minds = np.arange(len(personas) * views.size)
        self.opening: Index = np.full(len(minds), 2 * self.width + 3)  # [M] what each mind opens with
        self.first: Index = minds.copy()  # [M] its state at the seat's first turn; -1 where there is none
        self.levels: dict[int, Level] = {}  # by turns left to the seat
        self._build(minds)

    @property
    def states(self) -> int:
        return sum(len(level.mind) for level in self.levels.values())

    def number(self, decisions: Decisions) -> NDArray[np.int16]:
        """Answers by number, ``[R]``."""
        claim = decisions.oA.astype(np.int64) @ self.strides
        act = decisions.act_type.astype(np.int64)
        return np.where(act <= Act.INSIST, act * self.width + claim, 2 * self.width + act - Act.AGREE).astype(np.int16)

    def _build(self, minds: Index) -> None:
        n, none = self.width, np.full(len(minds), self.width)
        acts, offers = np.zeros((0, len(minds)), dtype=np.int8), np.zeros((0, 3, len(minds)), dtype=np.int8)
        start = _Start(minds, none, minds.astype(np.uint64), acts, offers)
        left = self.rules.max_turns - self.seat
        if self.seat:
            self.opening = self.number(self.asked(minds, acts, offers)).astype(np.int64)
            speaks = np.flatnonzero(self.opening < 2 * n)
            self.first[:] = -1
            self.first[speaks] = np.arange(len(speaks))
            said = self.opening[speaks]
            some = start.rows(speaks)
            start = _Start(some.mind, said % n, some.memory, *self.said(some.acts, some.offers, said))
        while left > 0 and len(start.mind):
            # What a mind will say depends on its memory alone, not on its claim besides.
            _, some_rows, which = np.unique(start.memory, return_index=True, return_inverse=True)
            answer, following, then = self._asked_everything(start.rows(some_rows), left)
            which = which.reshape(-1)
            self.levels[left] = Level(start.mind, start.claim, answer[which], following[which])
            start, left = then, left - 2

    def _asked_everything(self, start: _Start, left: int) -> tuple[NDArray[np.int16], NDArray[np.int32], _Start]:
        """What every claim is answered, the states that follow ``[Q, H]``, and those states, each once."""
        claims, size, met = self.claims if left > 1 else 0, len(start.mind), _Met()
        if size * claims > ROOM:
            raise OutOfReach(f"{size:,} states with {left} turns left are too many to be exact about")
        answer = np.empty((size, claims), dtype=np.int16)
        following = np.full((size, claims), -1, dtype=np.int32)
        step = max(BLOCK // max(claims, 1), 1)
        for begin in range(0, size if claims else 0, step):
            rows = np.repeat(np.arange(begin, min(begin + step, size)), claims)
            heard = np.tile(np.arange(claims), len(rows) // claims)
            asked = start.rows(rows)
            acts, offers = self.said(asked.acts, asked.offers, heard)
            says = self.number(self.asked(asked.mind, acts, offers))
            answer[begin : begin + step] = says.reshape(-1, claims)
            on = np.flatnonzero(says < 2 * self.width)
            if left == 2 or not len(on):
                continue
            said = says[on].astype(np.int64)
            acts, offers = self.said(acts[:, on], offers[..., on], said)
            memory = self._memory(asked.mind[on], acts, offers, left - 2)
            following[rows[on], heard[on]] = met.numbers(
                _Start(asked.mind[on], said % self.width, memory, acts, offers)
            )
        return answer, following, met.joined(start)

    def said(self, acts: Int8s, offers: Int8s, numbers: NDArray[np.integer]) -> tuple[Int8s, Int8s]:
        """Histories with one more claim, by its number."""
        act = (numbers // self.width).astype(np.int8)
        offer = self.splits.oA[0][numbers % self.width].T
        return np.concatenate([acts, act[None]]), np.concatenate([offers, offer[None]])

    def _memory(self, mind: Index, acts: Int8s, offers: Int8s, left: int) -> Hashes:
        """A number for all that the minds remember, ``[R]``; it has 64 bits, so two are equal by chance never."""
        keys = mixed(np.zeros(len(mind), dtype=np.uint64), mind)
        if left == 1:  # nothing will be said any more
            return keys
        taken = len(acts)
        # What is heard next is no part of the summary, so anything may be put there.
        heard = np.zeros(len(mind), dtype=np.int64)
        for number, rows in self._by_persona(mind):
            partner = self.personas[number].partner
            if partner.traits.memoryless:
                continue
            if isinstance(partner, Remembers):
                some_acts, some_offers = self.said(acts[:, rows], offers[..., rows], heard[rows])
                columns = np.asarray(partner.summary(self._turns(mind[rows], some_acts, some_offers))).astype(np.int64)
                if columns.ndim != 2 or len(columns) != len(rows):
                    raise ValueError(f"{partner!r}: summary(turns) must be whole numbers, one row per game")
                columns = columns.T
            else:
                said = offers[:, :, rows].astype(np.int64)
                columns = acts[:, rows].astype(np.int64) * 1331 + said[:, 0] * 121 + said[:, 1] * 11 + said[:, 2]
                assert len(columns) == taken
            for column in columns:
                keys[rows] = mixed(keys[rows], column)
        return keys

    def asked(self, mind: Index, acts: Int8s, offers: Int8s) -> Decisions:
        """What each mind says after a history."""
        size = len(mind)
        act, oA = np.zeros(size, dtype=np.int8), np.zeros((size, 3), dtype=np.int8)
        for number, rows in self._by_persona(mind):
            every = len(rows) == size
            turns = self._turns(*(mind, acts, offers) if every else (mind[rows], acts[:, rows], offers[..., rows]))
            said = self.personas[number].partner.act(turns)
            act[rows], oA[rows] = said.act_type, said.oA
        beyond = ((oA < 0) | (oA > self.views.counts[0])).any(axis=1) & (act <= Act.INSIST)
        if beyond.any():
            raise ValueError("a partner claims what its pool does not hold")
        return Decisions(act, oA, constant(1.0, np.float32, size), constant(0, np.int8, size))

    def _by_persona(self, mind: Index) -> list[tuple[int, Index]]:
        if len(self.personas) == 1:
            return [(0, np.arange(len(mind)))]
        who = mind // self.views.size
        return [(int(number), np.flatnonzero(who == number)) for number in np.unique(who)]

    def _turns(self, mind: Index, acts: Int8s, offers: Int8s) -> Turns:
        """The turns on which minds find such histories."""
        size, taken = len(mind), len(acts)
        view = mind % self.views.size
        counts = self.views.counts[view]
        mask = np.ones((size, len(Act)), dtype=bool)
        if taken:
            last, left_for_me = acts[-1], counts - offers[-1].T
        else:
            last, left_for_me = constant(NO_ACT_YET, np.int8, size), constant(0, np.int8, size, 3)
            mask[:, Act.AGREE] = False
        return Turns(
            rules=self.rules,
            prior=self.prior,
            counts=counts,
            my_utilities=self.views.utilities[view],
            partner_utilities=constant(0, np.int8, size, 3),
            history=History(acts, offers, taken),
            last_partner_act=last,
            last_partner_offer_for_me=left_for_me,
            turns_remaining=constant(self.rules.max_turns - taken, np.int8, size),
            act_mask=mask,
            hint_features=no_hints(size),
            noise=no_noise(size),
            game_noise=no_noise(size),
        )


class _Start(NamedTuple):
    """States before they are asked: as in :class:`Level`, with one history that leads to each."""

    mind: Index
    claim: Index
    memory: Hashes
    acts: Int8s  # [t, Q]
    offers: Int8s  # [t, 3, Q]

    def rows(self, index: Index) -> _Start:
        """Some of the states."""
        return _Start(
            self.mind[index], self.claim[index], self.memory[index], self.acts[:, index], self.offers[..., index]
        )


class _Met:
    """States that were met on one turn, each once, numbered as they came."""

    def __init__(self) -> None:
        self._keys: Hashes = np.zeros(0, dtype=np.uint64)  # ascending
        self._places = np.zeros(0, dtype=np.int32)
        self._parts: list[_Start] = []

    def numbers(self, states: _Start) -> NDArray[np.int32]:
        """The number of each state, ``[R]``; equal ones have the same."""
        keys, first, which = np.unique(mixed(states.memory, states.claim), return_index=True, return_inverse=True)
        place = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        held = self._keys[place] == keys if len(self._keys) else np.zeros(len(keys), dtype=bool)
        new = np.flatnonzero(~held)
        numbers = np.empty(len(keys), dtype=np.int32)
        numbers[held] = self._places[place[held]]
        numbers[new] = len(self._keys) + np.arange(len(new))
        if len(new):
            merged = np.concatenate([self._keys, keys[new]])
            order = np.argsort(merged, kind="stable")
            self._keys, self._places = merged[order], np.concatenate([self._places, numbers[new]])[order]
            self._parts.append(states.rows(first[new]))
        return numbers[which.reshape(-1)]

    def joined(self, before: _Start) -> _Start:
        """All of them by number; ``before``: the states of the seat's turn before."""
        taken, nobody = len(before.acts) + 2, np.zeros(0, dtype=np.int64)
        none = _Start(nobody, nobody, self._keys[:0], np.zeros((taken, 0), np.int8), np.zeros((taken, 3, 0), np.int8))
        return _Start(*(np.concatenate(column, axis=-1) for column in zip(none, *self._parts, strict=True)))


def mixed(keys: Hashes, column: NDArray[np.integer]) -> Hashes:
    """``keys`` with one more number in each (splitmix64: Steele, Lea, Flood 2014)."""
    z = keys + column.astype(np.int64).view(np.uint64) + _STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


_STEP = np.uint64(0x9E3779B97F4A7C15)
