"""Automata of deterministic partners: for one pool, every policy that the partner may play and all its answers.

A *policy* is a deterministic partner together with the values that it holds; a partner that draws a persona for each
game is several deterministic ones (:class:`HasPersonas`). A *state* determines everything that a policy will ever do:
its latest claim and a summary of the acts before (:class:`Remembers`). Histories with equal summaries are one state, so
a partner that remembers little has few, however long the game; one that declares no summary is taken to remember the
whole history, which is tractable in short games only. N splits, H claims, Q states, M policies. Only for
``disagree="ends"``, under which a seat's claim is always its last act.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import check_decisions
from dond_marl.game import Rules
from dond_marl.randomness import GOLDEN, mix_bits
from dond_marl.seats import Int8s, Partner, Turns, constant, partner_name, turns_after
from dond_marl.solvers.best_response import OutOfReach
from dond_marl.solvers.contexts import Index, Splits, Views, act_numbers, splits_of

BLOCK = 1 << 16  # rows that a partner is queried for in one call
ROOM = 1 << 27  # answers of one turn in memory: two bytes each, and four for the following state

Hashes = NDArray[np.uint64]


@runtime_checkable
class Remembers(Protocol):
    """A partner that declares what it remembers."""

    def summary(self, turns: Turns) -> NDArray[np.generic]:
        """Whole numbers ``[B, S]`` that summarise the acts before the partner's last one.

        Together with the pool, own values, last partner act and offer, and turns remaining they determine this answer
        and all later ones.
        """
        ...


@runtime_checkable
class HasPersonas(Protocol):
    """A partner that draws a persona for each game and keeps it to the end."""

    def personas(self) -> Sequence[tuple[float, Partner]]:
        """The probability and the partner of each persona; probabilities sum to 1."""
        ...


class Persona(NamedTuple):
    """A partner that is the same to the end of a game, and its probability."""

    chance: float
    partner: Partner


def drawn_personas(partner: Partner) -> list[Persona]:
    """The personas of ``partner``, nested ones resolved; itself where none is drawn."""
    if partner.traits.deterministic or not isinstance(partner, HasPersonas):
        return [Persona(1.0, partner)]
    personas = [
        Persona(chance * persona.chance, persona.partner)
        for chance, inner in partner.personas()
        for persona in drawn_personas(inner)
    ]
    return [persona for persona in personas if persona.chance > 0]


def personas_of(partner: Partner) -> list[Persona] | None:
    """The deterministic personas of ``partner``; ``None`` where one of them is not deterministic."""
    personas = drawn_personas(partner)
    return personas if all(persona.partner.traits.deterministic for persona in personas) else None


class Level(NamedTuple):
    """The states at one of the seat's turns, with the answers to its claims and the following states."""

    policy: Index  # [Q]
    claim: Index  # [Q] the split that the policy's latest claim, its last act, keeps for it; N for none
    answer: NDArray[np.int16]  # [Q, H] the answer to each claim, numbered as in :mod:`dond_marl.solvers.replies`
    following: NDArray[np.int32]  # [Q, H] the state at the seat's next turn; -1 where the game is over


class Automaton:
    """The states of every policy of one pool, in games that ``seat`` plays against it."""

    def __init__(self, personas: Sequence[Persona], views: Views, seat: int, rules: Rules, prior: str) -> None:
        self.personas, self.views, self.seat, self.rules, self.prior = personas, views, seat, rules, prior
        self.splits: Splits = splits_of(views.counts[:1])
        self.width = int(self.splits.number[0])  # N
        self.complement: Index = self.splits.complement[0]
        # A partner that answers INSIST as PROPOSE may declare it (``insist_is_propose``): half as many claims.
        same = all(getattr(persona.partner, "insist_is_propose", False) for persona in personas)
        self.claims = self.width if same else 2 * self.width  # H claims of the seat: PROPOSE of each split, then INSIST
        policies = np.arange(len(personas) * views.size)
        self.opening: Index = np.full(len(policies), 2 * self.width + 3)  # [M] the opening act of each policy
        self.first: Index = policies.copy()  # [M] its state at the seat's first turn; -1 where there is none
        self.levels: dict[int, Level] = {}  # by turns left to the seat
        self._build(policies)

    def _build(self, policies: Index) -> None:
        n, none = self.width, np.full(len(policies), self.width)
        acts, offers = np.zeros((0, len(policies)), dtype=np.int8), np.zeros((0, 3, len(policies)), dtype=np.int8)
        start = _Start(policies, none, policies.astype(np.uint64), acts, offers)
        turns_left = self.rules.max_turns - self.seat
        if self.seat:
            self.opening = self._answers(policies, acts, offers).astype(np.int64)
            speaks = np.flatnonzero(self.opening < 2 * n)
            self.first[:] = -1
            self.first[speaks] = np.arange(len(speaks))
            claim = self.opening[speaks]
            speaking = start.rows(speaks)
            start = _Start(
                speaking.policy, claim % n, speaking.memory, *self.extend_history(speaking.acts, speaking.offers, claim)
            )
        while turns_left > 0 and len(start.policy):
            # The answers depend on the memory alone, which several states that differ in the claim share.
            _, first_rows, inverse = np.unique(start.memory, return_index=True, return_inverse=True)
            answer, following, next_start = self._answer_all(start.rows(first_rows), turns_left)
            inverse = inverse.reshape(-1)
            self.levels[turns_left] = Level(start.policy, start.claim, answer[inverse], following[inverse])
            start, turns_left = next_start, turns_left - 2

    def _answer_all(self, start: _Start, turns_left: int) -> tuple[NDArray[np.int16], NDArray[np.int32], _Start]:
        """The answers to every claim and the following states, ``[Q, H]`` each, and those states without duplicates."""
        claims, size, states = self.claims if turns_left > 1 else 0, len(start.policy), _DistinctStates()
        if size * claims > ROOM:
            raise OutOfReach(f"{size:,} states with {turns_left} turns left are too many to be exact about")
        answer = np.empty((size, claims), dtype=np.int16)
        following = np.full((size, claims), -1, dtype=np.int32)
        step = max(BLOCK // max(claims, 1), 1)
        for begin in range(0, size if claims else 0, step):
            rows = np.repeat(np.arange(begin, min(begin + step, size)), claims)
            claim = np.tile(np.arange(claims), len(rows) // claims)
            query = start.rows(rows)
            acts, offers = self.extend_history(query.acts, query.offers, claim)
            reply = self._answers(query.policy, acts, offers)
            answer[begin : begin + step] = reply.reshape(-1, claims)
            on = np.flatnonzero(reply < 2 * self.width)
            if turns_left == 2 or not len(on):
                continue
            claimed = reply[on].astype(np.int64)
            acts, offers = self.extend_history(acts[:, on], offers[..., on], claimed)
            memory = self._memory(query.policy[on], acts, offers, turns_left - 2)
            following[rows[on], claim[on]] = states.numbers(
                _Start(query.policy[on], claimed % self.width, memory, acts, offers)
            )
        return answer, following, states.in_order(start)

    def extend_history(self, acts: Int8s, offers: Int8s, numbers: NDArray[np.integer]) -> tuple[Int8s, Int8s]:
        """Histories with one more claim, given by its number."""
        act = (numbers // self.width).astype(np.int8)
        offer = self.splits.oA[0][numbers % self.width].T
        return np.concatenate([acts, act[None]]), np.concatenate([offers, offer[None]])

    def _memory(self, policy: Index, acts: Int8s, offers: Int8s, turns_left: int) -> Hashes:
        """A hash of the policies' memory, ``[R]``: 64 bits, so that collisions can be neglected."""
        keys = mix_hashes(np.zeros(len(policy), dtype=np.uint64), policy)
        if turns_left == 1:  # the policies do not act again
            return keys
        # The next claim is no part of the summary: any number will do.
        any_claim = np.zeros(len(policy), dtype=np.int64)
        for number, rows in self._by_persona(policy):
            partner = self.personas[number].partner
            if partner.traits.memoryless:
                continue
            if isinstance(partner, Remembers):
                some_acts, some_offers = self.extend_history(acts[:, rows], offers[..., rows], any_claim[rows])
                summary = np.asarray(partner.summary(self._turns(policy[rows], some_acts, some_offers)))
                columns = summary.astype(np.int64)
                if columns.ndim != 2 or len(columns) != len(rows):
                    raise ValueError(f"{partner_name(partner)}: summary(turns) must be whole numbers, one row per game")
                columns = columns.T
            else:
                digits = np.concatenate([acts[:, None, rows], offers[:, :, rows]], axis=1).astype(np.int64)
                columns = np.einsum("tdr,d->tr", digits, [1331, 121, 11, 1])
            for column in columns:
                keys[rows] = mix_hashes(keys[rows], column)
        return keys

    def _answers(self, policy: Index, acts: Int8s, offers: Int8s) -> NDArray[np.int16]:
        """The number of each policy's act after a history, ``[R]``."""
        size = len(policy)
        act, oA = np.zeros(size, dtype=np.int8), np.zeros((3, size), dtype=np.int8)
        for number, rows in self._by_persona(policy):
            every = len(rows) == size
            turns = self._turns(*(policy, acts, offers) if every else (policy[rows], acts[:, rows], offers[..., rows]))
            act[rows], oA[:, rows] = check_decisions(self.personas[number].partner.act(turns), len(rows))
        return act_numbers(self.views.counts[0], act, oA.T, self.width).astype(np.int16)

    def _by_persona(self, policy: Index) -> list[tuple[int, Index]]:
        if len(self.personas) == 1:
            return [(0, np.arange(len(policy)))]
        persona = policy // self.views.size
        return [(int(number), np.flatnonzero(persona == number)) for number in np.unique(persona)]

    def _turns(self, policy: Index, acts: Int8s, offers: Int8s) -> Turns:
        """The turns of policies after such histories."""
        view = policy % self.views.size
        counts, values = self.views.counts[view], self.views.utilities[view]
        offer_for_me = counts - offers[-1].T if len(acts) else constant(0, np.int8, len(policy), 3)
        return turns_after(self.rules, self.prior, counts, values, acts, offers, offer_for_me)


class _Start(NamedTuple):
    """States before they are queried: as in :class:`Level`, with one history that leads to each."""

    policy: Index
    claim: Index
    memory: Hashes
    acts: Int8s  # [t, Q]
    offers: Int8s  # [t, 3, Q]

    def rows(self, index: Index) -> _Start:
        """Some of the states."""
        acts, offers = self.acts[:, index], self.offers[..., index]
        return _Start(self.policy[index], self.claim[index], self.memory[index], acts, offers)


class _DistinctStates:
    """The distinct states of one turn, numbered in order of appearance."""

    def __init__(self) -> None:
        self._keys: Hashes = np.zeros(0, dtype=np.uint64)  # ascending
        self._numbers = np.zeros(0, dtype=np.int32)
        self._parts: list[_Start] = []

    def numbers(self, states: _Start) -> NDArray[np.int32]:
        """The number of each state, ``[R]``; equal states have one number."""
        keys, first, inverse = np.unique(
            mix_hashes(states.memory, states.claim), return_index=True, return_inverse=True
        )
        index = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        is_known = self._keys[index] == keys if len(self._keys) else np.zeros(len(keys), dtype=bool)
        new_rows = np.flatnonzero(~is_known)
        numbers = np.empty(len(keys), dtype=np.int32)
        numbers[is_known] = self._numbers[index[is_known]]
        numbers[new_rows] = len(self._keys) + np.arange(len(new_rows))
        if len(new_rows):
            merged = np.concatenate([self._keys, keys[new_rows]])
            order = np.argsort(merged, kind="stable")
            self._keys, self._numbers = merged[order], np.concatenate([self._numbers, numbers[new_rows]])[order]
            self._parts.append(states.rows(first[new_rows]))
        return numbers[inverse.reshape(-1)]

    def in_order(self, before: _Start) -> _Start:
        """All states by number; ``before``: the states of the seat's previous turn."""
        length, empty = len(before.acts) + 2, np.zeros(0, dtype=np.int64)
        none = _Start(empty, empty, self._keys[:0], np.zeros((length, 0), np.int8), np.zeros((length, 3, 0), np.int8))
        return _Start(*(np.concatenate(column, axis=-1) for column in zip(none, *self._parts, strict=True)))


def mix_hashes(keys: Hashes, column: NDArray[np.integer]) -> Hashes:
    """``keys`` with one more number hashed into each (splitmix64: Steele, Lea, Flood 2014)."""
    return mix_bits(keys + column.astype(np.int64).view(np.uint64) + GOLDEN)
