"""Exact targets: the regret of every act against the best response to tractable partners, and the exact belief.

A reward only scores the act that was taken, in the one game that followed. The best response to a mixture of known
partners gives more: at every state the value of every act, averaged over the partners and values that the history
leaves possible, with the best response played from then on (:mod:`dond_marl.solvers.adaptive`). A network trained
with these values at the states that it visits learns from all acts at once and without sampling noise (Ross and Bagnell
2014, arXiv 1406.5979: AggreVaTe; added to rewards: Schmitt et al. 2018, arXiv 1803.03835: kickstarting). The posterior
over partners and values is a target for the network's belief heads. The prior of the partner's values is that of the
scenarios, which both seats know. No PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.scenarios.sources import Scenarios, numbers_of
from dond_marl.seats import Bools, Doubles, Floats, Int8s, Partner, Rows, Turns
from dond_marl.solvers.adaptive import EFFORT, Adaptive, Pool, is_enumerable
from dond_marl.solvers.automata import drawn_personas, personas_of
from dond_marl.solvers.contexts import Index, contexts_in
from dond_marl.solvers.recognition import LEVELS
from dond_marl.splits import action_count, grid_size
from dond_marl.statistics import TEN
from partners.mixture import Mixture, privileged_targets

BLOCK = 1 << 11  # histories that are computed in one call
CACHED = 1 << 15  # histories cached per pool and seat, some 500 bytes each
VALUES = 3 * LEVELS  # entries of a belief about values: three distributions over 0..10 points


class TractableMember(NamedTuple):
    """A partner whose decisions can be enumerated, with its share of the games."""

    name: str
    partner: Partner
    share: float


def tractable_members(partner: Partner, rules: Rules, name: str = "partner") -> list[TractableMember]:
    """The members of a partner, nested mixtures included, to which the best response is known.

    They are deterministic within a game and have no memory.
    """
    if isinstance(partner, Mixture):
        members = []
        for member, (share, persona) in zip(partner.names, partner.personas(), strict=True):
            members += [
                inner._replace(share=inner.share * share) for inner in tractable_members(persona, rules, member)
            ]
        return members
    minds = personas_of(partner)
    if minds is None or not is_enumerable(partner, rules) or not all(mind.partner.traits.memoryless for mind in minds):
        return []
    return [TractableMember(name, partner, 1.0)]


class ExactTargets:
    """Exact regrets and beliefs for both seats against a mixture, solved for each pool when it first occurs.

    ``table``: all scenarios that the prior holds possible; ``effort``: see :mod:`dond_marl.solvers.adaptive`. Raises
    :class:`InputError` if no member of ``partner`` is tractable.
    """

    def __init__(self, partner: Partner, rules: Rules, table: Scenarios, *, effort: int = EFFORT) -> None:
        self.members = tractable_members(partner, rules)
        if not self.members:
            raise InputError(
                "exact_reply: no opponent of this learner is tractable; name a deterministic partner without memory, "
                'such as heuristic, or a mixture that contains some, under disagree="ends"'
            )
        self.rules, self.table, self.effort = rules, table, effort
        members, shares = [member.partner for member in self.members], [member.share for member in self.members]
        self._mixture = Mixture(members, shares, [member.name for member in self.members])
        self._names = sorted({member.name for member in self.members})
        positive = [member for member in self.members if member.share > 0]  # the personas that the solver has
        numbers = [self._names.index(member.name) for member in positive for _ in drawn_personas(member.partner)]
        self._name_of_persona: Index = np.array(numbers)
        self._pools: dict[tuple[int, ...], _PoolOfSeat] = {}

    @property
    def covers_all(self) -> bool:
        """Whether every opponent is tractable."""
        return math.isclose(sum(member.share for member in self.members), 1.0)

    def covers(self, partner: Partner, utilities: Int8s, game_noise: Doubles) -> Bools:
        """The games ``[N]`` in which the drawn opponent is tractable.

        ``partner``: the mixture that this was made for, or a past self. ``utilities[N, 3]``, ``game_noise[N, 8]``: the
        partner's, as in :func:`partners.mixture.privileged_targets`.
        """
        if not isinstance(partner, Mixture):
            return np.full(len(utilities), bool(tractable_members(partner, self.rules)))
        covered: Bools = privileged_targets(partner, self._names, utilities, game_noise)[:, 3] >= 0
        return covered

    def regrets(self, turns: Turns, max_count: int) -> Floats:
        """The regret of every numbered act, as a share of the whole, ``[B, 2K + 3]``; infinite for illegal acts.

        NaN where no tractable member plays the history. Raises :class:`InputError` if the best response is only known
        within bounds.
        """
        result = np.full((turns.size, action_count(max_count)), np.nan, dtype=np.float32)
        for rows, pool in self._by_pool(turns):
            result[rows] = pool.regrets(turns.rows(rows), max_count)
        return result

    def beliefs(self, turns: Turns, members: Sequence[str]) -> Floats:
        """Posterior of the partner's values and identity, given that it is tractable: ``[B, 33 + M]``.

        First the probability of 0..10 points for each item, then that of each of ``members`` [M] (0 for intractable
        ones; tractable partners that are no member are left out). NaN where no tractable member plays the history.
        """
        result = np.full((turns.size, VALUES + len(self._names) + 1), np.nan, dtype=np.float32)
        for rows, pool in self._by_pool(turns):
            result[rows, :-1] = pool.beliefs(turns.rows(rows))
        result[:, -1] = 0.0 * result[:, 0]  # the column of intractable members: 0, or NaN where nothing is known
        numbers = {name: VALUES + number for number, name in enumerate(self._names)}
        columns: Floats = result[:, [*range(VALUES), *(numbers.get(name, -1) for name in members)]]
        return columns

    def _by_pool(self, turns: Turns) -> Iterator[tuple[Rows, _PoolOfSeat]]:
        pools, pool_of_row = np.unique(turns.counts, axis=0, return_inverse=True)
        for number, counts in enumerate(pools):
            yield np.flatnonzero(pool_of_row.reshape(-1) == number), self._pool(counts, turns.turns_taken % 2)

    def _pool(self, counts: Int8s, seat: int) -> _PoolOfSeat:
        key = (*counts.tolist(), seat)
        if key not in self._pools:
            rows = np.flatnonzero((self.table.counts == counts).all(axis=1))
            contexts = contexts_in(self.table.rows(rows), seat)
            pool = Adaptive(self._mixture, contexts, seat, self.rules, self.table.prior, effort=self.effort).pool(0)
            if not pool.exact:
                games = f"{len(self.members)} partners in games of {self.rules.max_turns} turns"
                raise InputError(
                    f"exact_reply: the best response to {games} is only known within bounds; name fewer partners, or a "
                    "smaller env.max_turns"
                )
            views = numbers_of(contexts.own_views.counts, contexts.own_views.utilities)
            self._pools[key] = _PoolOfSeat(pool, views, self._name_of_persona, len(self._names))
        return self._pools[key]


class _PoolOfSeat:
    """The solved games of one seat over one pool, with a cache by history.

    ``views``: the number of each context's private view; ``name_of_persona``: index of each persona's name.
    """

    # A cached row holds, for one history: regrets of the n splits proposed, of the n splits insisted on, of AGREE and
    # of ending (2n + 2), then probabilities: 3 x 11 of the partner's values and one per name.

    def __init__(self, pool: Pool, views: Index, name_of_persona: Index, names: int) -> None:
        self._pool, self._name_of_persona, self._names = pool, name_of_persona, names
        self._acts = 2 * pool.automaton.width + 2
        self._order = np.argsort(views)
        self._views = views[self._order]
        self._cache: dict[bytes, Floats] = {}

    def regrets(self, turns: Turns, max_count: int) -> Floats:
        return self._by_number(self._rows(turns)[:, : self._acts], max_count)

    def beliefs(self, turns: Turns) -> Floats:
        return self._rows(turns)[:, self._acts :]

    def _rows(self, turns: Turns) -> Floats:
        """The cached row of each turn's history, ``[B, 2n + 2 + 33 + names]``, computed where it is missing."""
        view = np.searchsorted(self._views, numbers_of(turns.counts, turns.my_utilities))
        context = self._order[view]
        acts, offers = turns.history.act, turns.history.oA
        columns = np.column_stack([context.astype(np.int16), acts, offers.reshape(len(acts), -1)]).astype(np.int16)
        keys = [row.tobytes() for row in columns]
        missing = {key: row for row, key in enumerate(keys) if key not in self._cache}
        if missing:
            if len(self._cache) + len(missing) > CACHED:
                self._cache.clear()
                missing = {key: row for row, key in enumerate(keys)}
            rows = np.array(list(missing.values()))
            for begin in range(0, len(rows), BLOCK):
                block = rows[begin : begin + BLOCK]
                computed = self._compute(context[block], acts[block], offers[block], turns)
                self._cache.update((keys[row], result) for row, result in zip(block.tolist(), computed, strict=True))
        return np.stack([self._cache[key] for key in keys])

    def _by_number(self, regrets: Floats, max_count: int) -> Floats:
        """Regrets ``[B, 2n + 2]`` by split of this pool, moved to the numbers of all acts, ``[B, 2K + 3]``."""
        splits, size = self._pool.automaton.splits, grid_size(max_count)
        n, places = self._pool.automaton.width, splits.oA[0].astype(np.int64) @ [(max_count + 1) ** 2, max_count + 1, 1]
        result = np.full((len(regrets), action_count(max_count)), np.inf, dtype=np.float32)
        result[:, places], result[:, size + places] = regrets[:, :n], regrets[:, n : 2 * n]
        result[:, 2 * size], result[:, 2 * size + 1 :] = regrets[:, 2 * n], regrets[:, 2 * n + 1 :]
        result[np.isnan(regrets[:, -1])] = np.nan
        return result

    def _compute(self, context: Index, acts: Int8s, offers: Int8s, turns: Turns) -> Floats:
        """The cached rows of B histories, ``acts[B, taken]`` and ``offers[B, taken, 3]``, in ``context[B]``."""
        pool, turns_left, names = self._pool, turns.rules.max_turns - turns.turns_taken, self._names
        result = np.full((len(context), self._acts + VALUES + names), np.nan, dtype=np.float32)
        held = pool.beliefs_after(context, acts, offers)
        explained = np.flatnonzero(np.diff(held.start))
        if not len(explained):
            return result
        belief = held._replace(context=context[explained], start=np.append(held.start[explained], held.start[-1]))
        weights, row = pool.probabilities(belief, turns_left), belief.row
        agree, claims = pool.act_values(belief, turns_left)
        chance = np.bincount(row, weights, belief.size)
        claims = np.tile(claims, 2 * pool.automaton.width // pool.automaton.claims)
        worth = np.column_stack([claims, np.where(agree < 0, -np.inf, agree), np.zeros(len(agree))]) / chance[:, None]
        result[explained, : self._acts] = (worth.max(axis=1, keepdims=True) - worth) / TEN
        views = pool.automaton.views
        mind = pool.automaton.levels[turns_left].policy[belief.member]
        persona, values = mind // views.size, views.utilities[mind % views.size].T
        parts = [*((value, LEVELS) for value in values.astype(np.int64)), (self._name_of_persona[persona], names)]
        of_each = [
            np.bincount(row * n + column, weights, belief.size * n).reshape(belief.size, n) for column, n in parts
        ]
        result[explained, self._acts :] = np.column_stack(of_each) / chance[:, None]
        return result
