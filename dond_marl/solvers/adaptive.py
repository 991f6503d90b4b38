"""Bayes-adaptive best responses: exact against partners with memory or several personas, otherwise an upper bound.

A seat does not know which *policy* it plays against: which values the partner has and which persona it is
(:mod:`dond_marl.solvers.automata`). Policies are deterministic, so an answer only rules some out. A belief state is
the set of states that the remaining policies are in; expectimax over these sets is exact (Kaelbling, Littman, Cassandra
1998, *Artificial Intelligence* 101, section 3; with types that never change, a Bayes-adaptive game: Ross, Chaib-draa,
Pineau 2007, NIPS). Once one policy is left only its state counts, and its value is shared by all beliefs.

Where the sets of a turn have more members than ``effort`` allows, the policy is revealed to the seat from its next turn
on: no response is worth more (QMDP: Littman, Cassandra, Kaelbling 1995, section 3), so the value is a certified upper
bound. C contexts, M policies, Q states of a turn, J beliefs, E their members, H claims, N splits.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import NotComputable
from dond_marl.game import Rules
from dond_marl.seats import Bools, Doubles, Int8s, Partner, partner_name
from dond_marl.solvers.automata import Automaton, Hashes, Level, Remembers, mix_hashes, personas_of
from dond_marl.solvers.best_response import SAME
from dond_marl.solvers.contexts import Contexts, Index, Views, act_numbers, split_points

BLOCK = 1 << 15  # members of beliefs that are expanded in one call
EFFORT = 3_000_000  # members of the beliefs of one turn and pool; beyond that the policy is revealed
SHORT = 4  # turns: games so short that a partner without a declared summary is enumerable by its whole history

# The arrays of one pool, for two policies, one context, N = 3 splits and H = 3 claims, with three turns left.
#
#   Level: state  policy  answer[state, claim]   following[state, claim]
#            0      0          0  0  6                 0  0 -1          answers 0..2N-1 are claims, 6 = 2N is AGREE,
#            1      1          0  1  6                 1  2 -1          -1: the game is over
#
#   Belief, in CSR layout: belief j has the members member[start[j]:start[j + 1]], states of the level.
#            context = [0]   start = [0, 2]   member = [0, 1]           J = 1, E = 2: either policy is possible
#
# `expand` follows every claim. Members of one belief that give the same answer to a claim stay together:
# group = (belief * H + claim) * 2N + answer, sorted.
#
#            member  claim  answer  group  next_state
#              0       0      0       0     0   \  one group of two members: a belief of the next level
#              1       0      0       0     1   /
#              0       1      0       6     0      alone: the answer identified policy 0
#              1       1      1       7     2      alone: the answer identified policy 1
#
#   Claim 2 is answered by AGREE: `worth` gets its points times the members' probability. So do claims that single out
#   a policy: they get its revealed value, for nothing is left to learn.
#
#   Expansion: worth = [[0, revealed, points]]   origin = [0] (belief 0 * H + claim 0)
#              after = Belief(context [0], start [0, 2], member [0, 1])   key = [hash of {0, 1} and the context]
#
# `_solve` expands turn by turn (duplicates of a belief have one key and are solved once), then goes back:
# worth[origin] += value of the following belief, and value = max(AGREE, worth over claims).


class Belief(NamedTuple):
    """J beliefs at one of the seat's turns: the possible policies, each in its state. E members in all."""

    context: Index  # [J] of the pool's
    start: Index  # [J + 1] where each belief's members begin
    member: Index  # [E] states of the level

    @property
    def size(self) -> int:
        return len(self.context)

    @property
    def row(self) -> Index:
        """Index of the belief that each member belongs to, ``[E]``."""
        return np.repeat(np.arange(self.size), np.diff(self.start))

    def block(self, first: int, last: int) -> Belief:
        """The beliefs ``first`` to ``last`` - 1."""
        start = self.start[first : last + 1]
        return Belief(self.context[first:last], start - start[0], self.member[start[0] : start[-1]])


class Expansion(NamedTuple):
    """The results of every claim in J beliefs."""

    worth: Doubles  # [J, H] value that is certain: deals made, and revealed values of policies that are singled out
    origin: Index  # [G] the belief times H plus the claim that leads to each following belief
    after: Belief  # [G] following beliefs, of at least two members each
    key: Hashes  # [G]


class SolvedLevel(NamedTuple):
    """The beliefs of a level and their values, times their probability."""

    key: Hashes  # [J] ascending
    value: Doubles  # [J]


class Pool:
    """One seat's games over one pool, solved: its ``own_views[C]``, and ``chances[C, M]`` of every policy in each."""

    def __init__(self, automaton: Automaton, own_views: Views, chances: Doubles, effort: int = EFFORT) -> None:
        self.automaton, self.own_views, self.chances = automaton, own_views, chances
        self.points: Doubles = split_points(own_views, automaton.splits)  # [C, N] of ten
        self._split: Index = np.arange(automaton.claims) % automaton.width  # [H] split that each claim keeps
        self._revealed: dict[int, Doubles] = {}
        for turns_left in sorted(automaton.levels):
            self._revealed[turns_left] = self._revealed_values(automaton.levels[turns_left], turns_left)
        self.effort, self.exact = effort, True
        self._solved: dict[int, SolvedLevel] = {}
        self.values: Doubles = self._solve()  # [C] of the best response, or an upper bound

    def agree_points(self, claim: Index, context: Index) -> Doubles:
        """Points of AGREE in each context after a policy's claim, ``[R]``; 0 without one."""
        n = self.automaton.width
        return self.points[context, self.automaton.complement[np.minimum(claim, n - 1)]] * (claim < n)

    def initial_beliefs(self) -> Belief:
        """The beliefs at the seat's first turn: one for each context and each opening that the seat may have seen."""
        automaton = self.automaton
        context, policy = np.nonzero(self.chances)
        on = (automaton.first[policy] >= 0) & bool(automaton.levels)  # in a game of one turn seat_1 has no turn
        context, policy = context[on], policy[on]
        opening = automaton.opening[policy] if automaton.seat else np.zeros(len(policy), dtype=np.int64)
        return _group(context * (2 * automaton.width + 4) + opening, context, automaton.first[policy])

    def probabilities(self, belief: Belief, turns_left: int) -> Doubles:
        """The probability of each member, ``[E]``, unnormalised."""
        policy = self.automaton.levels[turns_left].policy[belief.member]
        return self.chances[belief.context[belief.row], policy]

    def keys(self, belief: Belief) -> Hashes:
        """A hash of each belief, ``[J]``: equal for the same members in any order (Zobrist 1970)."""
        if not belief.size:
            return np.zeros(0, dtype=np.uint64)
        drawn = mix_hashes(np.zeros(len(belief.member), dtype=np.uint64), belief.member)
        total = np.add.reduceat(drawn, belief.start[:-1])
        return mix_hashes(total, belief.context)

    def expand(self, belief: Belief, turns_left: int) -> Expansion:
        """The results of every claim in some beliefs, with ``turns_left`` turns left, at least 2."""
        level, n, claims = self.automaton.levels[turns_left], self.automaton.width, self.automaton.claims
        row, chances = belief.row, self.probabilities(belief, turns_left)
        answer, following = level.answer[belief.member], level.following[belief.member]  # [E, H]
        closes = self._closes(answer, level.claim[belief.member], turns_left)
        certain = closes * self.points[belief.context[row]][:, self._split] * chances[:, None]
        worth = np.add.reduceat(certain, belief.start[:-1], axis=0) if belief.size else np.zeros((0, claims))
        if turns_left - 2 not in self._revealed or not belief.size:
            return Expansion(worth, _NONE.context, _NONE, np.zeros(0, dtype=np.uint64))
        # Every member and claim that the game survives, sorted so that equal answers of one belief stand together.
        member, claim = np.nonzero(following >= 0)
        next_state = following[member, claim].astype(np.int64)
        origin = row[member] * claims + claim
        group = origin * (2 * n) + answer[member, claim]
        order = np.argsort(group, kind="stable")
        group, next_state, origin, member = group[order], next_state[order], origin[order], member[order]
        start = np.append(_first_of_runs(group), len(group))
        alone = np.diff(start) == 1
        if turns_left == 3:  # with one turn left only the claim on the table counts
            alone[:] = True
        # A policy that is alone is known: its revealed value. Several form a following belief.
        single = np.repeat(alone, np.diff(start))
        value = self._revealed[turns_left - 2][next_state[single], belief.context[row[member[single]]]]
        value *= chances[member[single]]
        np.add.at(worth.reshape(-1), origin[single], value)
        several = np.flatnonzero(~alone)
        heads, sizes = start[:-1][several], np.diff(start)[several]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        after = Belief(belief.context[row[member[heads]]], starts, next_state[np.flatnonzero(~single)])
        return Expansion(worth, origin[heads], after, self.keys(after))

    def _closes(self, answer: NDArray[np.int16], claim: Index, turns_left: int) -> Bools:
        """Whether claims are certain deals, ``[R, H]``, from answers ``[R, H]`` and last claims ``[R]``."""
        n, complement = self.automaton.width, self.automaton.complement[self._split]
        closes: Bools = answer == 2 * n
        closes |= (answer == 2 * n + 2) & (claim[:, None] == complement)
        if turns_left == 2:  # the last turn of the game: claims that add up are a deal too
            closes |= (answer < 2 * n) & (answer % n == complement)
        return closes

    def _revealed_values(self, level: Level, turns_left: int) -> Doubles:
        """Value of each state to each context if its policy is revealed, ``[Q, C]``: plain dynamic programming."""
        contexts = np.arange(len(self.points))
        best = np.stack([self.agree_points(level.claim, np.full(len(level.claim), c)) for c in contexts], axis=1)
        if turns_left == 1:
            return best
        closes = self._closes(level.answer, level.claim, turns_left)
        for claim, split in enumerate(self._split.tolist()):
            worth = closes[:, claim, None] * self.points[:, split]
            if turns_left - 2 in self._revealed:  # otherwise every claim ends the game
                on = np.flatnonzero(level.following[:, claim] >= 0)
                worth[on] = self._revealed[turns_left - 2][level.following[on, claim]]
            np.maximum(best, worth, out=best)
        return best

    def _agree_values(self, belief: Belief, turns_left: int) -> Doubles:
        """Value of AGREE in each belief times its probability, ``[J]``."""
        claim = self.automaton.levels[turns_left].claim[belief.member]
        return self._sum_members(belief, turns_left, self.agree_points(claim, belief.context[belief.row]))

    def _bounds(self, belief: Belief, turns_left: int) -> Doubles:
        """Value of each belief if the true member were revealed (upper bound), times its probability, ``[J]``."""
        worth = self._revealed[turns_left][belief.member, belief.context[belief.row]]
        return self._sum_members(belief, turns_left, worth)

    def _sum_members(self, belief: Belief, turns_left: int, worth: Doubles) -> Doubles:
        """The members' ``worth[E]`` times their probability, summed by belief, ``[J]``."""
        weighted = worth * self.probabilities(belief, turns_left)
        return np.bincount(belief.row, weighted, belief.size).astype(np.float64, copy=False)

    # Solving

    def _solve(self) -> Doubles:
        """The value of each context, ``[C]``: expansion from the first turn on, then values from the last turn back."""
        automaton, belief = self.automaton, self.initial_beliefs()
        turns_left = automaton.rules.max_turns - automaton.seat  # at the seat's first turn
        values = np.zeros(len(self.points))
        if not belief.size:
            return values
        layers: list[tuple[int, Belief, Doubles, list[tuple[Index, Hashes]]]] = []
        while belief.size:
            worth, edges, following = self._expand_level(belief, turns_left)
            layers.append((turns_left, belief, worth, edges))
            belief, turns_left = following, turns_left - 2
        later = SolvedLevel(np.zeros(0, dtype=np.uint64), np.zeros(0))
        for turns_left, belief, worth, edges in reversed(layers):
            for origin, key in edges:
                np.add.at(worth.reshape(-1), origin, later.value[np.searchsorted(later.key, key)])
            value = np.maximum(self._agree_values(belief, turns_left), worth.max(axis=1, initial=0.0))
            key = self.keys(belief)
            order = np.argsort(key)
            later = self._solved[turns_left] = SolvedLevel(key[order], value[order])
        np.add.at(values, belief.context, value)  # the last of the loop is the first turn
        return values

    def _expand_level(self, belief: Belief, turns_left: int) -> tuple[Doubles, list[tuple[Index, Hashes]], Belief]:
        """All claims of a level: their certain values ``[J, H]``, the edges to following beliefs, those beliefs.

        Beyond ``effort`` the policy is revealed from the seat's next turn on: there are no edges, and the values are
        upper bounds.
        """
        claims, members = self.automaton.claims, 0
        worth = np.zeros((belief.size, claims))
        edges, parts = list[tuple[Index, Hashes]](), list[tuple[Belief, Hashes]]()
        for begin, end in _blocks(belief) if turns_left > 1 else ():
            result = self.expand(belief.block(begin, end), turns_left)
            worth[begin:end] = result.worth
            if result.after.size:
                edges.append((result.origin + begin * claims, result.key))
                key, first = np.unique(result.key, return_index=True)
                parts.append((_pick(result.after, first), key))
                members += len(parts[-1][0].member)
                if members > 4 * self.effort:  # far too many even without those that several blocks share
                    break
        following = _join(parts) if members <= 4 * self.effort else None
        if following is not None and len(following.member) <= self.effort:
            return worth, edges, following
        self.exact = False
        for begin, end in _blocks(belief):
            result = self.expand(belief.block(begin, end), turns_left)
            worth[begin:end] = result.worth
            np.add.at(worth.reshape(-1), result.origin + begin * claims, self._bounds(result.after, turns_left - 2))
        return worth, [], _NONE

    # Playing

    def best_acts(self, belief: Belief, turns_left: int) -> Index:
        """The best act in each belief by number, ``[J]``: 2N for AGREE. Every belief must have a member."""
        n = self.automaton.width
        if turns_left == 1:
            return np.full(belief.size, 2 * n)
        agree, worth = self.act_values(belief, turns_left)
        best = worth.max(axis=1)
        taste = self.points[belief.context][:, self._split]
        chosen = np.where(worth >= best[:, None] - SAME, taste, -1.0).argmax(axis=1)
        return np.where(agree >= best - SAME, 2 * n, chosen)

    def act_values(self, belief: Belief, turns_left: int) -> tuple[Doubles, Doubles]:
        """Value of AGREE, ``[J]``, -1 where there is no claim to agree to, and of each claim, ``[J, H]``.

        Both times the belief's probability, the best response being played from the next turn on; beliefs that were not
        solved count with their upper bound. Every belief must have a member. With one turn left claims are worth 0.
        """
        level, n = self.automaton.levels[turns_left], self.automaton.width
        claimed = level.claim[belief.member[belief.start[:-1]]] < n
        agree = np.where(claimed, self._agree_values(belief, turns_left), -1.0)
        if turns_left == 1:
            return agree, np.zeros((belief.size, self.automaton.claims))
        result = self.expand(belief, turns_left)
        if result.after.size:
            solved = self._solved.get(turns_left - 2, SolvedLevel(result.key[:0], agree[:0]))
            index = np.minimum(np.searchsorted(solved.key, result.key), max(len(solved.key) - 1, 0))
            is_solved = solved.key[index] == result.key if len(solved.key) else np.zeros(len(result.key), dtype=bool)
            value = self._bounds(result.after, turns_left - 2)
            value[is_solved] = solved.value[index[is_solved]]
            np.add.at(result.worth.reshape(-1), result.origin, value)
        return agree, result.worth

    # Filtering: the policies that explain a history

    def beliefs_after(self, context: Index, acts: Int8s, offers: Int8s) -> Belief:
        """The beliefs after R histories ``acts[R, t]``, ``offers[R, t, 3]`` on the seat's turn, ``[R]``.

        A row that no policy explains has no members.
        """
        return _of_states(context, self._states_after(context, self._act_numbers(acts, offers)))

    def beliefs_after_latest(self, context: Index, acts: Int8s, offers: Int8s) -> Belief:
        """The beliefs after R histories; if no policy fits a history, its longest recent part that one fits counts.

        Where no policy fits even the last answer, every policy counts that may ever make that claim on that turn.
        For policies without memory only, whose answers do not depend on earlier turns. A row may still have no members.
        Shapes are those of :meth:`beliefs_after`.
        """
        automaton, history, turns_taken = self.automaton, self._act_numbers(acts, offers), acts.shape[1]
        policy_states = self._states_after(context, history)
        for turn in range(automaton.seat + 2, turns_taken, 2):
            rows = np.flatnonzero((policy_states < 0).all(axis=1))
            anywhere = self._reachable_states(automaton.levels.get(automaton.rules.max_turns - turn))
            state = np.where(self.chances[context[rows]] > 0, anywhere, -1)
            policy_states[rows] = self._advance(state, history[rows], turn)
        level = automaton.levels.get(automaton.rules.max_turns - turns_taken)
        if not turns_taken or level is None:
            return _of_states(context, policy_states)
        for row in np.flatnonzero((policy_states < 0).all(axis=1)):
            states = np.flatnonzero(level.claim == history[row, -1] % automaton.width)
            policies = level.policy[states]
            policy_states[row, policies] = np.where(self.chances[context[row], policies] > 0, states, -1)
        return _of_states(context, policy_states)

    def _act_numbers(self, acts: Int8s, offers: Int8s) -> Index:
        """The acts of histories by number, ``[R, t]``."""
        return act_numbers(self.automaton.views.counts[0], acts, offers, self.automaton.width)

    def _states_after(self, context: Index, history: Index) -> Index:
        """The state of each policy after a history of numbered acts, ``[R, M]``; -1 if it deviates."""
        automaton = self.automaton
        state = np.where(self.chances[context] > 0, automaton.first, -1)
        if automaton.seat:
            state = np.where(automaton.opening == history[:, :1], state, -1)
        return self._advance(state, history, automaton.seat)

    def _advance(self, state: Index, history: Index, first_turn: int) -> Index:
        """Follow ``state[R, M]`` at the seat's ``turn`` to the end of the history; -1 for policies that deviate."""
        automaton, n = self.automaton, self.automaton.width
        for turn in range(first_turn, history.shape[1], 2):
            level = automaton.levels[automaton.rules.max_turns - turn]
            row, policy = np.nonzero(state >= 0)
            current, claim = state[row, policy], history[row, turn] % automaton.claims
            fits = (level.answer[current, claim] == history[row, turn + 1]) & (history[row, turn] < 2 * n)
            state[row, policy] = np.where(fits, level.following[current, claim], -1)
        return state

    def _reachable_states(self, level: Level | None) -> Index:
        """State of each policy at this turn, ``[M]``; -1 if unreachable."""
        states = np.full(self.chances.shape[1], -1)
        if level is not None:
            states[level.policy] = np.arange(len(level.policy))
        return states


class Adaptive:
    """The best response of one seat to one partner over some contexts, solved pool by pool on first use.

    Raises :class:`NotComputable` where ``partner`` is not :func:`enumerable <is_enumerable>` under ``rules``, and
    :class:`~dond_marl.solvers.best_response.OutOfReach`.
    """

    def __init__(
        self, partner: Partner, contexts: Contexts, seat: int, rules: Rules, prior: str, *, effort: int = EFFORT
    ) -> None:
        personas = personas_of(partner)
        if personas is None or not is_enumerable(partner, rules):
            raise NotComputable(
                f"a Bayes-adaptive response needs a partner that is deterministic, or drawn for each game from such, "
                f'and declares its memory (summary), and disagree="ends"; got {partner_name(partner)} under {rules}'
            )
        self.personas, self.contexts, self.seat, self.rules, self.prior = personas, contexts, seat, rules, prior
        self.effort = effort
        pools, self.pool_of = np.unique(contexts.own_views.counts, axis=0, return_inverse=True)
        self.pool_of = self.pool_of.reshape(-1)  # [C] number of each context's pool
        self.pools = len(pools)
        in_pool = self.pool_of == np.arange(self.pools)[:, None]
        self.index_in_pool = (in_pool.cumsum(axis=1) - 1)[self.pool_of, np.arange(contexts.size)]  # [C]
        self._cache: dict[int, Pool] = {}

    def pool(self, number: int) -> Pool:
        """The solved games of a pool."""
        if number not in self._cache:
            self._cache[number] = self._solve(number)
        return self._cache[number]

    def _solve(self, number: int) -> Pool:
        rows = np.flatnonzero(self.pool_of == number)
        types, weights = self.contexts.types[rows], self.contexts.weights[rows]
        views, view_index = np.unique(types[weights > 0], return_inverse=True)
        size = len(views)
        chances = np.zeros((len(rows), len(self.personas) * size))
        context, _ = np.nonzero(weights > 0)
        for i, persona in enumerate(self.personas):
            np.add.at(chances, (context, i * size + view_index.reshape(-1)), weights[weights > 0] * persona.chance)
        partner_views = Views(self.contexts.partner_views.counts[views], self.contexts.partner_views.utilities[views])
        automaton = Automaton(self.personas, partner_views, self.seat, self.rules, self.prior)
        own_views = Views(self.contexts.own_views.counts[rows], self.contexts.own_views.utilities[rows])
        return Pool(automaton, own_views, chances, self.effort)

    def value(self) -> tuple[float, bool]:
        """Expected points of ten over the contexts, and whether they are exact rather than an upper bound."""
        total, exact = 0.0, True
        for number in range(self.pools):
            pool = self.pool(number)
            total += float(pool.values @ self.contexts.shares[self.pool_of == number])
            exact &= pool.exact
        return total, exact


def is_enumerable(partner: Partner, rules: Rules) -> bool:
    """Whether the policies of ``partner`` can be enumerated, so that :class:`Adaptive` solves or bounds the response.

    It must be deterministic, or drawn for each game from such, under ``disagree="ends"``; declare what it remembers in
    games of more than ``SHORT`` turns; and be without memory where messages pass, which it might react to.
    """
    personas = personas_of(partner)
    if personas is None or rules.disagree != "ends":
        return False
    memoryless = [persona.partner.traits.memoryless for persona in personas]
    if rules.message_length and not all(memoryless):
        return False
    declared = (
        forgets or isinstance(persona.partner, Remembers) for forgets, persona in zip(memoryless, personas, strict=True)
    )
    return rules.max_turns <= SHORT or all(declared)


_NONE = Belief(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64))


def _blocks(belief: Belief) -> list[tuple[int, int]]:
    """Ranges of neighbouring beliefs with about ``BLOCK`` members together."""
    cuts = np.searchsorted(belief.start, np.arange(0, belief.start[-1], BLOCK), side="right") - 1
    return list(pairwise([*np.unique(cuts).tolist(), belief.size]))


def _of_states(context: Index, state: Index) -> Belief:
    """R beliefs of the policies that are in some ``state[R, M]``, not -1."""
    row, policy = np.nonzero(state >= 0)
    return Belief(context, np.searchsorted(row, np.arange(len(context) + 1)), state[row, policy])


def _group(group: Index, context: Index, member: Index) -> Belief:
    """Beliefs from members: those of one group number form one belief. All arguments are ``[E]``."""
    order = np.argsort(group, kind="stable")
    first = _first_of_runs(group[order])
    return Belief(context[order[first]], np.append(first, len(group)), member[order])


def _first_of_runs(group: Index) -> Index:
    """The index at which each run of equal numbers begins in ``group[R]``, which is sorted and not negative."""
    return np.flatnonzero(np.diff(group, prepend=-1))


def _pick(belief: Belief, index: Index) -> Belief:
    sizes = np.diff(belief.start)[index]
    start = np.concatenate([[0], np.cumsum(sizes)])
    member_index = np.arange(start[-1]) - np.repeat(start[:-1] - belief.start[index], sizes)
    return Belief(belief.context[index], start, belief.member[member_index])


def _join(parts: list[tuple[Belief, Hashes]]) -> Belief:
    """Concatenate and drop duplicates (by key)."""
    if not parts:
        return _NONE
    sizes = np.concatenate([np.diff(belief.start) for belief, _ in parts])
    joined = Belief(
        np.concatenate([belief.context for belief, _ in parts]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([belief.member for belief, _ in parts]),
    )
    _, first = np.unique(np.concatenate([key for _, key in parts]), return_index=True)
    return _pick(joined, first)
