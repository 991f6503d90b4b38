"""Bayes-adaptive best responses: exact against partners with memory or several personas, otherwise bounded.

What a seat does not know is which mind sits opposite (:mod:`dond_marl.yardsticks.automata`): which values it has, which
persona it is. Minds are deterministic, so an answer only rules some out. A belief state is the set of the states that
the remaining minds are in; expectimax over these sets is exact (Kaelbling, Littman, Cassandra 1998, *Artificial
Intelligence* 101, section 3; with types that never change, a Bayes-adaptive game: Ross, Chaib-draa, Pineau 2007,
NIPS). Once one mind is left its state alone counts, and those values are shared by all beliefs.

Where the sets of a turn are more than ``effort`` allows, the seat is told from there on who sits opposite: no response
is worth more (QMDP: Littman, Cassandra, Kaelbling 1995, section 3), and the figure is a certified upper bound.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dond_marl.game import Act, Rules
from dond_marl.seats import Bools, Doubles, Int8s, Partner
from dond_marl.yardsticks.automata import Automaton, Hashes, Level, Persona, Remembers, mixed, personas_of
from dond_marl.yardsticks.best_response import SAME
from dond_marl.yardsticks.contexts import Contexts, Index, Views

BLOCK = 1 << 15  # members of beliefs that are looked at together
EFFORT = 3_000_000  # members of the beliefs of one turn and pool; beyond that the seat is told who sits opposite
UNSAID = 4  # turns; a partner that declares no summary is followed word for word in games of at most so many


class Belief(NamedTuple):
    """J beliefs at one of the seat's turns: which minds are possible, each in its state. E members in all."""

    context: Index  # [J] of the pool's
    start: Index  # [J + 1] where each belief's members begin
    member: Index  # [E] states of the level

    @property
    def size(self) -> int:
        return len(self.context)

    @property
    def row(self) -> Index:
        """Whose member each is, ``[E]``."""
        return np.repeat(np.arange(self.size), np.diff(self.start))

    def block(self, first: int, last: int) -> Belief:
        """Some of the beliefs, in order."""
        start = self.start[first : last + 1]
        return Belief(self.context[first:last], start - start[0], self.member[start[0] : start[-1]])


class Led(NamedTuple):
    """What the claims of J beliefs lead to."""

    worth: Doubles  # [J, H] what is certain by then: deals made, and whatever one mind alone is left for
    origin: Index  # [G] the belief times H plus the claim that leads to each following belief
    after: Belief  # [G] with at least two members each
    key: Hashes  # [G]


class Solved(NamedTuple):
    """The beliefs of a level and what they are worth, times their probability."""

    key: Hashes  # [J] ascending
    value: Doubles  # [J]


class Pool:
    """One seat's games over one pool: ``own`` views C, ``chances[C, M]`` of every mind in each."""

    def __init__(self, automaton: Automaton, own: Views, chances: Doubles, effort: int = EFFORT) -> None:
        self.automaton, self.own, self.chances, self.effort = automaton, own, chances, effort
        counts = np.broadcast_to(automaton.views.counts[:1], own.counts.shape)
        whole = np.maximum(np.einsum("ci,ci->c", counts, own.utilities, dtype=np.int64), 1)
        worth = np.einsum("ni,ci->cn", automaton.splits.oA[0], own.utilities, dtype=np.int64)
        self.points: Doubles = worth * (10.0 / whole[:, None])  # [C, N] of ten
        self.exact = True
        self._kept: Index = np.arange(automaton.claims) % automaton.width  # [H] the split that each claim keeps
        self._told: dict[int, Doubles] = {}
        self._solved: dict[int, Solved] = {}
        for left in sorted(automaton.levels):
            self._told[left] = self._known(automaton.levels[left], left)
        self.values: Doubles = self._solve()  # [C] what the best response is worth, or no response is worth more than

    def told(self, left: int) -> Doubles:
        """What each state is worth to each own view that knows it, ``[Q, C]``."""
        return self._told[left]

    def paid(self, level: Level, left: int) -> Bools:
        """Whether a claim is sure to be a deal by the next answer, ``[Q, H]``."""
        n, rest = self.automaton.width, self.automaton.rest[self._kept]
        paid: Bools = level.answer == 2 * n
        paid |= (level.answer == 2 * n + 2) & (level.claim[:, None] == rest)
        if left == 2:  # the last word of all: claims that add up are a deal too
            paid |= (level.answer < 2 * n) & (level.answer % n == rest)
        return paid

    def agreeing(self, claim: Index, context: Index) -> Doubles:
        """What AGREE pays in each context after a mind's claim, ``[R]``; 0 without one."""
        n = self.automaton.width
        return self.points[context, self.automaton.rest[np.minimum(claim, n - 1)]] * (claim < n)

    def _known(self, level: Level, left: int) -> Doubles:
        every = np.arange(len(self.points))
        best = np.stack([self.agreeing(level.claim, np.full(len(level.claim), c)) for c in every], axis=1)
        if left == 1:
            return best
        paid = self.paid(level, left)
        for claim, kept in enumerate(self._kept.tolist()):
            worth = paid[:, claim, None] * self.points[:, kept]
            if left - 2 in self._told:  # otherwise every claim ends the game
                on = np.flatnonzero(level.following[:, claim] >= 0)
                worth[on] = self._told[left - 2][level.following[on, claim]]
            np.maximum(best, worth, out=best)
        return best

    def beginning(self) -> Belief:
        """The beliefs at the seat's first turn: one for each context and each thing that it may have heard by then."""
        automaton = self.automaton
        context, mind = np.nonzero(self.chances)
        on = (automaton.first[mind] >= 0) & bool(automaton.levels)  # in a game of one turn seat_1 says nothing
        context, mind = context[on], mind[on]
        heard = automaton.opening[mind] if automaton.seat else np.zeros(len(mind), dtype=np.int64)
        return _grouped(context * (2 * automaton.width + 4) + heard, context, automaton.first[mind])

    def told_at_once(self) -> Doubles:
        """What each context could have of each mind, if it were told before its first act, ``[C, M]`` points of ten."""
        automaton, left = self.automaton, self.automaton.rules.max_turns - self.automaton.seat
        if left not in self._told:
            return np.zeros_like(self.chances)
        worth: Doubles = self._told[left][np.maximum(automaton.first, 0)].T * (automaton.first >= 0)
        return worth

    def _solve(self) -> Doubles:
        automaton, left = self.automaton, self.automaton.rules.max_turns - self.automaton.seat
        first, values = self.beginning(), np.zeros(len(self.points))
        if not first.size:
            return values
        layers: list[tuple[int, Belief, Doubles, list[tuple[Index, Hashes]]]] = []
        belief = first
        while belief.size:
            worth = np.zeros((belief.size, automaton.claims))
            edges: list[tuple[Index, Hashes]] = []
            found: list[tuple[Belief, Hashes]] = []
            members = 0
            too_many = False
            for begin, end in self._blocks(belief) if left > 1 else ():
                led = self.led(belief.block(begin, end), left)
                worth[begin:end] = led.worth
                if not led.after.size:
                    continue
                edges.append((led.origin + begin * automaton.claims, led.key))
                key, at = np.unique(led.key, return_index=True)
                found.append((_picked(led.after, at), key))
                members += len(found[-1][0].member)
                too_many = members > 4 * self.effort
                if too_many:
                    break
            following = _joined(found)
            if too_many or len(following.member) > self.effort:
                self.exact = False  # told from the seat's next turn on
                for begin, end in self._blocks(belief):
                    led = self.led(belief.block(begin, end), left)
                    worth[begin:end] = led.worth
                    np.add.at(worth.reshape(-1), led.origin + begin * automaton.claims, self._sums(led.after, left - 2))
                edges, following = [], _joined([])
            layers.append((left, belief, worth, edges))
            belief, left = following, left - 2
        later = Solved(np.zeros(0, dtype=np.uint64), np.zeros(0))
        for left, belief, worth, edges in reversed(layers):
            flat = worth.reshape(-1)
            for origin, key in edges:
                np.add.at(flat, origin, later.value[np.searchsorted(later.key, key)])
            value = np.maximum(self._agreed(belief, left), worth.max(axis=1, initial=0.0))
            key = self.keys(belief)
            order = np.argsort(key)
            later = Solved(key[order], value[order])
            self._solved[left] = later
            if belief is first:
                np.add.at(values, belief.context, value)
        return values

    def _blocks(self, belief: Belief) -> list[tuple[int, int]]:
        """Neighbours that have about ``BLOCK`` members together."""
        cuts = np.searchsorted(belief.start, np.arange(0, belief.start[-1], BLOCK), side="right") - 1
        edges = [*np.unique(cuts).tolist(), belief.size]
        return list(pairwise(edges))

    def weights(self, belief: Belief, left: int) -> Doubles:
        """How probable each member is, ``[E]``."""
        mind = self.automaton.levels[left].mind[belief.member]
        return self.chances[belief.context[belief.row], mind]

    def _agreed(self, belief: Belief, left: int) -> Doubles:
        level, row = self.automaton.levels[left], belief.row
        worth = self.agreeing(level.claim[belief.member], belief.context[row]) * self.weights(belief, left)
        return np.bincount(row, worth, belief.size).astype(np.float64, copy=False)

    def _sums(self, belief: Belief, left: int) -> Doubles:
        """What beliefs are worth to who is told which member it is, ``[J]``."""
        row = belief.row
        worth = self._told[left][belief.member, belief.context[row]] * self.weights(belief, left)
        return np.bincount(row, worth, belief.size).astype(np.float64, copy=False)

    def keys(self, belief: Belief) -> Hashes:
        """A number for each belief, ``[J]``: equal for the same members in any order (Zobrist 1970)."""
        if not belief.size:
            return np.zeros(0, dtype=np.uint64)
        drawn = mixed(np.zeros(len(belief.member), dtype=np.uint64), belief.member)
        total = np.add.reduceat(drawn, belief.start[:-1])
        return mixed(total, belief.context)

    def led(self, belief: Belief, left: int) -> Led:
        """What every claim of some beliefs leads to, with ``left`` turns left, at least 2."""
        level, n, claims = self.automaton.levels[left], self.automaton.width, self.automaton.claims
        row, weights = belief.row, self.weights(belief, left)
        answer, following = level.answer[belief.member], level.following[belief.member]  # [E, H]
        rest = self.automaton.rest[self._kept]
        paid = answer == 2 * n
        paid |= (answer == 2 * n + 2) & (level.claim[belief.member][:, None] == rest)
        if left == 2:
            paid |= (answer < 2 * n) & (answer % n == rest)
        mine = self.points[belief.context[row]][:, self._kept]
        sure = paid * mine * weights[:, None]
        worth = np.add.reduceat(sure, belief.start[:-1], axis=0) if belief.size else np.zeros((0, claims))
        none = Belief(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))
        if left - 2 not in self._told or not belief.size:
            return Led(worth, none.context, none, np.zeros(0, dtype=np.uint64))
        member, claim = np.nonzero(following >= 0)
        then = following[member, claim].astype(np.int64)
        origin = row[member] * claims + claim
        group = origin * (2 * n) + answer[member, claim]
        order = np.argsort(group, kind="stable")
        group, then, origin, member = group[order], then[order], origin[order], member[order]
        fresh = np.ones(len(group), dtype=bool)
        fresh[1:] = group[1:] != group[:-1]
        start = np.append(np.flatnonzero(fresh), len(group))
        alone = np.diff(start) == 1
        if left == 3:  # with one turn left there is nothing to know but the claim on the table
            alone[:] = True
        single = np.repeat(alone, np.diff(start))
        told = self._told[left - 2][then[single], belief.context[row[member[single]]]] * weights[member[single]]
        flat = worth.reshape(-1)
        np.add.at(flat, origin[single], told)
        several = np.flatnonzero(~alone)
        heads = start[:-1][several]
        sizes = np.diff(start)[several]
        after = Belief(
            belief.context[row[member[heads]]], np.concatenate([[0], np.cumsum(sizes)]), then[np.flatnonzero(~single)]
        )
        return Led(worth, origin[heads], after, self.keys(after))

    def after(self, context: Index, acts: Int8s, offers: Int8s) -> Belief:
        """What R histories ``acts[R, t]``, ``offers[R, t, 3]`` leave possible on the seat's turn, ``[R]``.

        A row that no mind explains has no members.
        """
        return _held(context, self._explaining(context, self._said(acts, offers)))

    def after_the_latest(self, context: Index, acts: Int8s, offers: Int8s) -> Belief:
        """As :meth:`after`; a row that no mind explains is explained by its latest answers alone, as many as can be.

        Where no mind explains even the last answer, it is whoever may ever make that claim on that turn. Of minds
        without memory alone: what they answer depends on nothing before. A row may still have no members.
        """
        automaton, said, taken = self.automaton, self._said(acts, offers), acts.shape[1]
        found = self._explaining(context, said)
        for turn in range(automaton.seat + 2, taken, 2):
            rows = np.flatnonzero((found < 0).all(axis=1))
            anywhere = self._anywhere(automaton.levels.get(automaton.rules.max_turns - turn))
            state = np.where(self.chances[context[rows]] > 0, anywhere, -1)
            found[rows] = self._answering(state, said[rows], turn)
        level = automaton.levels.get(automaton.rules.max_turns - taken)
        if not taken or level is None:
            return _held(context, found)
        for row in np.flatnonzero((found < 0).all(axis=1)):
            states = np.flatnonzero(level.claim == said[row, -1] % automaton.width)
            minds = level.mind[states]
            found[row, minds] = np.where(self.chances[context[row], minds] > 0, states, -1)
        return _held(context, found)

    def _said(self, acts: Int8s, offers: Int8s) -> Index:
        """What was said by number, ``[R, t]``."""
        n, claimed = self.automaton.width, offers @ self.automaton.strides
        said: Index = np.where(acts <= Act.INSIST, acts * np.int64(n) + claimed, 2 * n + acts - Act.AGREE)
        return said

    def _explaining(self, context: Index, said: Index) -> Index:
        """The state of each mind after all that was said, ``[R, M]``; -1 for who would not have said it."""
        automaton = self.automaton
        state = np.where(self.chances[context] > 0, automaton.first, -1)
        if automaton.seat:
            state = np.where(automaton.opening == said[:, :1], state, -1)
        return self._answering(state, said, automaton.seat)

    def _answering(self, state: Index, said: Index, turn: int) -> Index:
        """Where minds in ``state[R, M]`` on the seat's ``turn`` are after all that was said; -1: would not say it."""
        automaton, n = self.automaton, self.automaton.width
        for asked in range(turn, said.shape[1], 2):
            level = automaton.levels[automaton.rules.max_turns - asked]
            row, mind = np.nonzero(state >= 0)
            at, claim = state[row, mind], said[row, asked] % automaton.claims
            fits = (level.answer[at, claim] == said[row, asked + 1]) & (said[row, asked] < 2 * n)
            state[row, mind] = np.where(fits, level.following[at, claim], -1)
        return state

    def _anywhere(self, level: Level | None) -> Index:
        """A state of each mind on a turn, ``[M]``; -1 for who is never met there."""
        found = np.full(self.chances.shape[1], -1)
        if level is not None:
            found[level.mind] = np.arange(len(level.mind))
        return found

    def acts(self, belief: Belief, left: int) -> Index:
        """The best act in each belief by number, ``[J]``: 2N for AGREE; told values stand in where none are known.

        Every belief must have a member.
        """
        n = self.automaton.width
        if left == 1:
            return np.full(belief.size, 2 * n)
        agree, worth = self.worths(belief, left)
        best = worth.max(axis=1)
        taste = self.points[belief.context][:, self._kept]
        chosen = np.where(worth >= best[:, None] - SAME, taste, -1.0).argmax(axis=1)
        return np.where(agree >= best - SAME, 2 * n, chosen)

    def worths(self, belief: Belief, left: int) -> tuple[Doubles, Doubles]:
        """What AGREE is worth, ``[J]``, -1 where there is nothing to agree to, and each claim, ``[J, H]``.

        Both times the belief's probability, the best response being played from the next turn on; told values stand in
        where none are known. Every belief must have a member. With one turn left claims are worth nothing here.
        """
        level, n = self.automaton.levels[left], self.automaton.width
        claimed = level.claim[belief.member[belief.start[:-1]]] < n
        agree = np.where(claimed, self._agreed(belief, left), -1.0)
        if left == 1:
            return agree, np.zeros((belief.size, self.automaton.claims))
        led = self.led(belief, left)
        if led.after.size:
            solved = self._solved.get(left - 2, Solved(led.key[:0], agree[:0]))
            place = np.minimum(np.searchsorted(solved.key, led.key), max(len(solved.key) - 1, 0))
            held = solved.key[place] == led.key if len(solved.key) else np.zeros(len(led.key), dtype=bool)
            value = self._sums(led.after, left - 2)
            value[held] = solved.value[place[held]]
            np.add.at(led.worth.reshape(-1), led.origin, value)
        return agree, led.worth

    def earned(self) -> Doubles:
        """What the response earns in each context from each mind, played out, ``[C, M]`` points of ten."""
        automaton, n = self.automaton, self.automaton.width
        left, total = automaton.rules.max_turns - automaton.seat, np.zeros(self.chances.shape)
        belief = self.beginning()
        while belief.size:
            level, row, member = automaton.levels[left], belief.row, belief.member
            context, mind, say = belief.context[row], level.mind[member], self.acts(belief, left)[row]
            agree = say == 2 * n
            total[context[agree], mind[agree]] = self.agreeing(level.claim[member], context)[agree]
            if left == 1:
                break
            claims = np.flatnonzero(~agree)
            row, context, mind, member, say = (each[claims] for each in (row, context, mind, member, say))
            paid = self.paid(level, left)[member, say]
            total[context, mind] = self.points[context, self._kept[say]] * paid
            then, answer = level.following[member, say].astype(np.int64), level.answer[member, say]
            on = np.flatnonzero(then >= 0)
            belief, left = _grouped(row[on] * (2 * n) + answer[on], context[on], then[on]), left - 2
        return total


class Adaptive:
    """The best response of one seat to one partner over some contexts, solved pool by pool where it is needed.

    Raises ``ValueError`` where ``partner`` is not made of deterministic minds or ``rules`` go on after a refusal, and
    :class:`~dond_marl.yardsticks.best_response.OutOfReach`.
    """

    def __init__(
        self, partner: Partner, contexts: Contexts, seat: int, rules: Rules, prior: str, *, effort: int = EFFORT
    ) -> None:
        personas = check_adaptive(partner, rules)
        self.personas, self.contexts, self.seat, self.rules, self.prior = personas, contexts, seat, rules, prior
        self.effort = effort
        pools, self.pool_of = np.unique(contexts.own.counts, axis=0, return_inverse=True)
        self.pool_of = self.pool_of.reshape(-1)  # [C] which pool each context is of
        self.pools = len(pools)
        self.place = np.zeros(contexts.size, dtype=np.int64)  # [C] the context's place in its pool
        for pool in range(self.pools):
            of = np.flatnonzero(self.pool_of == pool)
            self.place[of] = np.arange(len(of))
        self._known: dict[int, Pool] = {}

    def pool(self, number: int) -> Pool:
        """The solved games of a pool."""
        if number not in self._known:
            self._known[number] = self._solved(number)
        return self._known[number]

    def _solved(self, number: int) -> Pool:
        of = np.flatnonzero(self.pool_of == number)
        types, weights = self.contexts.types[of], self.contexts.weights[of]
        views, which = np.unique(types[weights > 0], return_inverse=True)
        size = len(views)
        chances = np.zeros((len(of), len(self.personas) * size))
        context, _ = np.nonzero(weights > 0)
        for each, persona in enumerate(self.personas):
            np.add.at(chances, (context, each * size + which.reshape(-1)), weights[weights > 0] * persona.chance)
        theirs = Views(self.contexts.theirs.counts[views], self.contexts.theirs.utilities[views])
        automaton = Automaton(self.personas, theirs, self.seat, self.rules, self.prior)
        return Pool(
            automaton, Views(self.contexts.own.counts[of], self.contexts.own.utilities[of]), chances, self.effort
        )

    def value(self) -> tuple[float, bool]:
        """Expected points of ten over the contexts, and whether they are exact rather than an upper bound."""
        total, exact = 0.0, True
        for number in range(self.pools):
            pool = self.pool(number)
            total += float(pool.values @ self.contexts.shares[self.pool_of == number])
            exact &= pool.exact
        return total, exact


def has_minds(partner: Partner, rules: Rules) -> bool:
    """Whether the best response to ``partner`` can be looked for this way: exact, or at least bounded."""
    personas = personas_of(partner)
    if personas is None or rules.disagree != "ends":
        return False
    forgets = [each.partner.traits.memoryless for each in personas]
    if rules.message_length and not all(forgets):  # who remembers may be moved by what is said, too
        return False
    remembered = (own or isinstance(each.partner, Remembers) for own, each in zip(forgets, personas, strict=True))
    return rules.max_turns <= UNSAID or all(remembered)


def check_adaptive(partner: Partner, rules: Rules) -> list[Persona]:
    """The minds of ``partner``; raises ``ValueError`` where they cannot be followed."""
    personas = personas_of(partner)
    if personas is None or not has_minds(partner, rules):
        raise ValueError(
            f"a Bayes-adaptive response needs a partner that is deterministic, or is drawn for each game from some "
            f'that are, and says what it remembers (summary), and disagree="ends"; got {partner!r} under {rules}'
        )
    return personas


def _held(context: Index, state: Index) -> Belief:
    """R beliefs of the minds that are in some ``state[R, M]``, not -1."""
    row, mind = np.nonzero(state >= 0)
    return Belief(context, np.searchsorted(row, np.arange(len(context) + 1)), state[row, mind])


def _grouped(group: Index, context: Index, member: Index) -> Belief:
    """Members as beliefs, those of one number together: ``[E]`` each."""
    order = np.argsort(group, kind="stable")
    group = group[order]
    fresh = np.ones(len(group), dtype=bool)
    fresh[1:] = group[1:] != group[:-1]
    first = np.flatnonzero(fresh)
    return Belief(context[order[first]], np.append(first, len(group)), member[order])


def _picked(belief: Belief, which: Index) -> Belief:
    """Some of the beliefs."""
    sizes = np.diff(belief.start)[which]
    start = np.concatenate([[0], np.cumsum(sizes)])
    place = np.arange(start[-1]) - np.repeat(start[:-1] - belief.start[which], sizes)
    return Belief(belief.context[which], start, belief.member[place])


def _joined(found: list[tuple[Belief, Hashes]]) -> Belief:
    """All beliefs, each once."""
    if not found:
        return Belief(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))
    sizes = np.concatenate([np.diff(belief.start) for belief, _ in found])
    every = Belief(
        np.concatenate([belief.context for belief, _ in found]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([belief.member for belief, _ in found]),
    )
    _, first = np.unique(np.concatenate([key for _, key in found]), return_index=True)
    return _picked(every, first)
