"""How soon a member plays the best reply to a crowd: what each of its own turns loses, exact.

The best reply knows the programs of all members, but not which of them it faces (:mod:`league.bench.crowd`). What an
act loses is what the best reply would earn from here on less what it would earn after that act, given what the history
tells. These losses, summed over a game's own turns, are in expectation what the whole policy earns less than the best
reply (Kakade, Langford 2002, *Approximately optimal approximate reinforcement learning*, lemma 6.1), so that they say
when it is lost: before anything was heard, or after one, two, three answers. Members that gamble from act to act or
remember are not in the crowd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Doubles, Partner
from dond_marl.yardsticks.adaptive import Adaptive, Pool
from dond_marl.yardsticks.automata import personas_of
from dond_marl.yardsticks.contexts import Index, contexts_in, distinct_views
from league.bench.recognition.games import PRIOR, Asked, asked, together
from partners.mixture import Mixture

BLOCK = 1 << 11  # beliefs that are looked at together


class Lost(NamedTuple):
    """What one own turn of a member loses."""

    own: int  # own turns before it
    asked: float  # share of the games that go on for so long
    points: float  # of ten, per game of all
    exact: bool  # otherwise at most so many: the best reply is told whom it faces where beliefs are too many


def lost_by_turn(
    player: Partner, crowd: Sequence[str], partners: Sequence[Partner], seat: int, space: Scenarios, rules: Rules
) -> list[Lost]:
    """What ``player`` in ``seat`` loses to the best reply to ``partners``, which are equally likely, by own turn.

    Each scenario of ``space`` is played with each persona of each; exact for a player that is deterministic. No turns
    where there are no partners. Raises ``ValueError`` for partners that are not made of deterministic minds.
    """
    if not partners:
        return []
    by_turn: dict[int, list[tuple[float, Asked]]] = {}
    for name, partner in zip(crowd, partners, strict=True):
        for persona in personas_of(partner) or ():
            for each in asked(player, seat, persona.partner, name, space, rules):
                by_turn.setdefault(each.turns.taken, []).append((persona.chance / len(partners), each))
    points, share, exact = dict.fromkeys(by_turn, 0.0), dict.fromkeys(by_turn, 0.0), True
    _, pool_of = distinct_views(space.counts, np.zeros_like(space.counts))
    for number in range(int(pool_of.max(initial=-1)) + 1):
        rows = np.flatnonzero(pool_of == number)
        table = Scenarios(*(array[rows] for array in space))
        contexts = contexts_in(table, seat)
        pool = Adaptive(Mixture(partners), contexts, seat, rules, PRIOR).pool(0)
        exact &= pool.exact
        context = np.zeros(space.size, dtype=np.int64)
        context[rows] = distinct_views(table.counts, table.utilities[:, seat])[1]
        for taken, parts in by_turn.items():
            chosen = [np.flatnonzero(pool_of[each.scenario] == number) for _, each in parts]
            some = [(chance, each, at) for (chance, each), at in zip(parts, chosen, strict=True) if len(at)]
            if some:
                weight = np.concatenate([np.full(len(at), chance) for chance, _, at in some]) / space.size
                loss = _losses(pool, [(each, at) for _, each, at in some], context)
                points[taken] += float(weight @ loss)
                share[taken] += float(weight.sum())
    return [Lost(taken // 2, share[taken], points[taken], exact) for taken in sorted(by_turn)]


def _losses(pool: Pool, parts: Sequence[tuple[Asked, Index]], context: Index) -> Doubles:
    """What each row's act loses, ``[R]`` points of ten."""
    turns = together([each.turns.rows(at) for each, at in parts])
    act = np.concatenate([each.said.act_type[at] for each, at in parts]).astype(np.int64)
    oA = np.concatenate([each.said.oA[at] for each, at in parts])
    of = np.concatenate([context[each.scenario[at]] for each, at in parts])
    n, left = pool.automaton.width, turns.rules.max_turns - turns.taken
    said = np.where(act <= Act.INSIST, act * n + oA @ pool.automaton.strides, 2 * n + act - Act.AGREE)
    acts, offers = turns.history.act, turns.history.oA
    columns = np.column_stack([of, said, acts, offers.reshape(len(of), -1)])
    _, first, which = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    loss = np.empty(len(first))
    for begin in range(0, len(first), BLOCK):
        rows = first[begin : begin + BLOCK]
        belief = pool.after(of[rows], acts[rows], offers[rows])
        agree, claims = pool.worths(belief, left)
        best = np.maximum(np.maximum(agree, 0.0), claims.max(axis=1))
        agreed = np.maximum(agree, 0.0)
        closes = np.zeros(len(rows), dtype=bool)  # the seat's claim, as it stands after its act, is what is offered
        if turns.taken:
            mine = np.where((act[rows] <= Act.INSIST)[:, None], oA[rows], offers[rows, max(turns.taken - 2, 0)])
            closes = (mine == turns.counts[rows] - offers[rows, -1]).all(axis=1)
            closes &= (act[rows] <= Act.INSIST) | (turns.taken > 1)
        worth = claims[np.arange(len(rows)), said[rows] % pool.automaton.claims]
        final = (act[rows] == Act.END) | (left == 1)
        worth = np.where(final, agreed * closes, worth)
        worth = np.where(act[rows] == Act.AGREE, agreed, np.where(act[rows] == Act.DISAGREE, 0.0, worth))
        chance = np.bincount(belief.row, pool.weights(belief, left), belief.size)
        loss[begin : begin + BLOCK] = (best - worth) / chance
    return loss[which.reshape(-1)]
