"""What each act loses to the exact best reply to the partners that can be followed, and who and what these may be.

A reward says how good the act was that was taken, in the game that came of it. The best reply to a crowd knows more: at
every state, however it was reached, what every act is worth on average over all whom the history leaves possible and
all their values, the best reply being played from then on (:mod:`dond_marl.yardsticks.adaptive`). A network that is
told so at the states that it comes to itself learns from all acts at once and from no luck (Ross and Bagnell 2014,
arXiv 1406.5979: AggreVaTe; beside rewards: Schmitt et al. 2018, arXiv 1803.03835: kickstarting). What it holds possible
is the exact belief about the partner, by which a network's own beliefs may be taught. The values that a partner may
have are those of the scenario prior, which both seats know. No PyTorch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Doubles, Floats, Int8s, Partner, Rows, Turns
from dond_marl.splits import action_count, grid_size
from dond_marl.statistics import TEN
from dond_marl.yardsticks.adaptive import EFFORT, Adaptive, Pool, has_minds
from dond_marl.yardsticks.automata import drawn_from, personas_of
from dond_marl.yardsticks.beliefs import numbers_of
from dond_marl.yardsticks.contexts import Index, contexts_in
from dond_marl.yardsticks.recognition import LEVELS
from partners.mixture import Mixture, privileged_targets

BLOCK = 1 << 11  # histories that are looked at together
KEPT = 1 << 15  # histories of one pool and seat that are remembered, some 500 bytes each
VALUES = 3 * LEVELS  # of a belief about values: three distributions over 0..10 points


class Followed(NamedTuple):
    """A partner that can be followed exactly, and how often it is met."""

    name: str
    partner: Partner
    share: float


def followed(partner: Partner, rules: Rules, name: str = "partner") -> list[Followed]:
    """Whom of a mixture, mixtures in it too, the best reply is known to: no memory, no gambling from act to act."""
    if isinstance(partner, Mixture):
        found = []
        for of, (share, one) in zip(partner.names, partner.personas(), strict=True):
            found += [each._replace(share=each.share * share) for each in followed(one, rules, of)]
        return found
    minds = personas_of(partner)
    if minds is None or not has_minds(partner, rules) or not all(mind.partner.traits.memoryless for mind in minds):
        return []
    return [Followed(name, partner, 1.0)]


class ExactReply:
    """The best reply of both seats to a crowd, solved pool by pool where it is asked for.

    ``table``: all scenarios that the prior holds possible; ``effort``: see :mod:`dond_marl.yardsticks.adaptive`. Raises
    :class:`InputError` where nobody of ``partner`` can be followed.
    """

    def __init__(self, partner: Partner, rules: Rules, table: Scenarios, prior: str, *, effort: int = EFFORT) -> None:
        self.crowd = followed(partner, rules)
        if not self.crowd:
            raise InputError(
                "exact_reply: nobody whom this learner meets can be followed; name a partner without memory that does "
                'not gamble, such as heuristic, or a mixture with some, under disagree="ends"'
            )
        self.rules, self.table, self.prior, self.effort = rules, table, prior, effort
        members, shares = [each.partner for each in self.crowd], [each.share for each in self.crowd]
        self._mixture = Mixture(members, shares, [each.name for each in self.crowd])
        self._names = sorted({each.name for each in self.crowd})
        met = [each for each in self.crowd if each.share > 0]  # nobody else is among the personas that are followed
        self._who: Index = np.array([self._names.index(each.name) for each in met for _ in drawn_from(each.partner)])
        self._pools: dict[tuple[int, ...], _PoolOfSeat] = {}

    @property
    def follows_all(self) -> bool:
        """Whether nobody else is met."""
        return math.isclose(sum(each.share for each in self.crowd), 1.0)

    def meets(self, partner: Partner, utilities: Int8s, game_noise: Doubles) -> Bools:
        """In which games ``[N]`` of whom it was made for, or of a past self, somebody of the crowd sits opposite.

        ``utilities[N, 3]``, ``game_noise[N, 8]``: the partner's, as in :func:`partners.mixture.privileged_targets`.
        """
        if not isinstance(partner, Mixture):
            return np.full(len(utilities), bool(followed(partner, self.rules)))
        known: Bools = privileged_targets(partner, self._names, utilities, game_noise)[:, 3] >= 0
        return known

    def losses(self, turns: Turns, max_count: int) -> Floats:
        """What every numbered act loses, shares of the whole, ``[B, 2K + 3]``; infinite for what cannot be said.

        NaN where nobody of the crowd would have said what was said. Raises :class:`InputError` where the best reply is
        only known within bounds.
        """
        lost = np.full((turns.size, action_count(max_count)), np.nan, dtype=np.float32)
        for rows, pool in self._by_pool(turns):
            lost[rows] = pool.losses(turns.rows(rows), max_count)
        return lost

    def beliefs(self, turns: Turns, members: Sequence[str]) -> Floats:
        """Who of ``members`` [M] sits opposite and what it wants, if it is one of the crowd: ``[B, 33 + M]``.

        First how probable it is that each item is worth 0..10 points to it, then that it is each member (0 for one that
        is none of the crowd; one of the crowd that is no member is left out). NaN where nobody of the crowd would have
        said what was said.
        """
        found = np.full((turns.size, VALUES + len(self._names) + 1), np.nan, dtype=np.float32)
        for rows, pool in self._by_pool(turns):
            found[rows, :-1] = pool.beliefs(turns.rows(rows))
        found[:, -1] = 0.0 * found[:, 0]  # of a member that is none of the crowd; NaN where nothing is known
        numbers = {name: VALUES + number for number, name in enumerate(self._names)}
        columns: Floats = found[:, [*range(VALUES), *(numbers.get(name, -1) for name in members)]]
        return columns

    def _by_pool(self, turns: Turns) -> Iterator[tuple[Rows, _PoolOfSeat]]:
        pools, which = np.unique(turns.counts, axis=0, return_inverse=True)
        for number, counts in enumerate(pools):
            yield np.flatnonzero(which.reshape(-1) == number), self._pool(counts, turns.taken % 2)

    def _pool(self, counts: Int8s, seat: int) -> _PoolOfSeat:
        key = (*counts.tolist(), seat)
        if key not in self._pools:
            rows = np.flatnonzero((self.table.counts == counts).all(axis=1))
            contexts = contexts_in(self.table.rows(rows), seat)
            pool = Adaptive(self._mixture, contexts, seat, self.rules, self.prior, effort=self.effort).pool(0)
            if not pool.exact:
                games = f"{len(self.crowd)} partners in games of {self.rules.max_turns} turns"
                raise InputError(
                    f"exact_reply: the best reply to {games} is only known within bounds; name fewer partners, or a "
                    "smaller env.max_turns"
                )
            self._pools[key] = _PoolOfSeat(
                pool, numbers_of(contexts.own.counts, contexts.own.utilities), self._who, len(self._names)
            )
        return self._pools[key]


class _PoolOfSeat:
    """One seat's games over one pool, and what was asked of them already; ``who``: each persona's name, by number."""

    def __init__(self, pool: Pool, views: Index, who: Index, names: int) -> None:
        self._pool, self._who, self._names = pool, who, names
        self._acts = 2 * pool.automaton.width + 2
        self._order = np.argsort(views)
        self._views = views[self._order]
        self._known: dict[bytes, Floats] = {}

    def losses(self, turns: Turns, max_count: int) -> Floats:
        return self._numbered(self._looked_up(turns)[:, : self._acts], max_count)

    def beliefs(self, turns: Turns) -> Floats:
        return self._looked_up(turns)[:, self._acts :]

    def _looked_up(self, turns: Turns) -> Floats:
        """Losses of both kinds of claims, AGREE, and ending, then beliefs about values and names, of each row."""
        place = np.searchsorted(self._views, numbers_of(turns.counts, turns.my_utilities))
        context = self._order[place]
        acts, offers = turns.history.act, turns.history.oA
        columns = np.column_stack([context.astype(np.int16), acts, offers.reshape(len(acts), -1)]).astype(np.int16)
        keys = [row.tobytes() for row in columns]
        new = {key: row for row, key in enumerate(keys) if key not in self._known}
        if new:
            if len(self._known) + len(new) > KEPT:
                self._known.clear()
                new = {key: row for row, key in enumerate(keys)}
            rows = np.array(list(new.values()))
            for begin in range(0, len(rows), BLOCK):
                some = rows[begin : begin + BLOCK]
                found = self._found(context[some], acts[some], offers[some], turns)
                self._known.update((keys[row], each) for row, each in zip(some.tolist(), found, strict=True))
        return np.stack([self._known[key] for key in keys])

    def _numbered(self, lost: Floats, max_count: int) -> Floats:
        """Losses ``[B, 2N + 2]`` of both kinds of claims, AGREE, and ending, by the numbers of all acts."""
        splits, size = self._pool.automaton.splits, grid_size(max_count)
        n, places = self._pool.automaton.width, splits.oA[0].astype(np.int64) @ [(max_count + 1) ** 2, max_count + 1, 1]
        every = np.full((len(lost), action_count(max_count)), np.inf, dtype=np.float32)
        every[:, places], every[:, size + places] = lost[:, :n], lost[:, n : 2 * n]
        every[:, 2 * size], every[:, 2 * size + 1 :] = lost[:, 2 * n], lost[:, 2 * n + 1 :]
        every[np.isnan(lost[:, -1])] = np.nan
        return every

    def _found(self, context: Index, acts: Int8s, offers: Int8s, turns: Turns) -> Floats:
        pool, left, names = self._pool, turns.rules.max_turns - turns.taken, self._names
        found = np.full((len(context), self._acts + VALUES + names), np.nan, dtype=np.float32)
        held = pool.after(context, acts, offers)
        explained = np.flatnonzero(np.diff(held.start))
        if not len(explained):
            return found
        belief = held._replace(context=context[explained], start=np.append(held.start[explained], held.start[-1]))
        weights, row = pool.weights(belief, left), belief.row
        agree, claims = pool.worths(belief, left)
        chance = np.bincount(row, weights, belief.size)
        claims = np.tile(claims, 2 * pool.automaton.width // pool.automaton.claims)
        worth = np.column_stack([claims, np.where(agree < 0, -np.inf, agree), np.zeros(len(agree))]) / chance[:, None]
        found[explained, : self._acts] = (worth.max(axis=1, keepdims=True) - worth) / TEN
        views = pool.automaton.views
        mind = pool.automaton.levels[left].mind[belief.member]
        persona, values = mind // views.size, views.utilities[mind % views.size].T
        parts = [*((each, LEVELS) for each in values.astype(np.int64)), (self._who[persona], names)]
        of_each = [np.bincount(row * n + at, weights, belief.size * n).reshape(belief.size, n) for at, n in parts]
        found[explained, self._acts :] = np.column_stack(of_each) / chance[:, None]
        return found
