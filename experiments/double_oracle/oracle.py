"""Double oracle with exact oracles, in each pool by itself: who joins, and how much either seat could still gain.

The members of each seat are a restricted game. Its coarse correlated equilibrium (CCE) is solved by linear programs;
each seat's exact best response to what the other seat then plays joins it where it gains; and so on until neither does
(McMahan, Gordon, Blum 2003, *Planning in the Presence of Cost Functions Controlled by an Adversary*; with CCEs of
general-sum games: Marris et al. 2021, *Multi-Agent Training beyond Zero-Sum with Correlated Equilibrium Meta-Solvers*).
The oracle is exact among all policies with perfect recall, so that the gap is certain: no policy gains more by being
named before the draw. Once it is nothing, the CCE is one of the whole game.

The pool is public, so that the game of each pool is played for itself, and pools that differ by the order of items are
one game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.space import Scenarios, lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.contexts import contexts_in
from experiments.double_oracle.payoffs import Games
from experiments.double_oracle.written import Written
from league.standings.linear_programs import Table
from league.standings.meta_game import JointMixture, MetaGame
from partners.best_response import BestResponse
from partners.mixture import Mixture

PRIOR = "lewis"
PLAYED = 1e-9  # chances below are rounding of the linear program
CLOSED = 1e-6  # points of ten; smaller gains are none

Solver = Callable[[MetaGame], JointMixture]


class Iteration(NamedTuple):
    """The restricted game of one pool, solved, and the oracle's word on it."""

    members: tuple[int, int]  # in each seat
    values: tuple[float, float]  # of the CCE, points of ten
    gaps: tuple[float, float]  # what the best response of each seat gains by being named beforehand
    apart: tuple[float, float]  # the same where both seats draw from their mixtures independently
    played: tuple[int, int]  # members with a chance
    joining: tuple[str, ...]
    mixtures: tuple[dict[str, float], dict[str, float]]  # by member, those with a chance


def pool_kinds(space: Scenarios) -> list[tuple[Scenarios, float]]:
    """The scenarios of one pool of each kind up to the order of items, and the share of all that are of that kind."""
    kinds = np.sort(space.counts, axis=1)
    found = []
    for kind in np.unique(kinds, axis=0):
        rows = np.flatnonzero((space.counts == kind).all(axis=1))
        assert len(rows), "with a pool its renamings are in the space"
        found.append((Scenarios(*(array[rows] for array in space)), float((kinds == kind).all(axis=1).mean())))
    return found


def double_oracle(
    space: Scenarios, members: Sequence[str], rules: Rules, solver: Solver, *, most: int
) -> Iterator[Iteration]:
    """Every iteration on the scenarios of one pool, at most ``most``; the last one's gaps are certified all the same.

    ``members``: specs of deterministic partners without memory.
    """
    contexts = contexts_in(space, 0), contexts_in(space, 1)
    games = Games(space, contexts, rules)

    def written(name: str, partner: Partner, seat: int) -> Written:
        return Written(name, partner, seat, rules, contexts[seat].own, PRIOR)

    sides = [[written(name, seat_occupant(name), seat) for name in members] for seat in (0, 1)]
    table = games.payoffs(*sides)
    for number in range(1, most + 1):
        joint = solver(MetaGame(table[..., 0], table[..., 1]))
        replies = [
            BestResponse(_opposite(sides[1 - seat], joint.mixtures[1 - seat]), contexts[seat]) for seat in (0, 1)
        ]
        worth = [reply.value(seat, rules, PRIOR) for seat, reply in enumerate(replies)]
        gaps = worth[0] - joint.values[0], worth[1] - joint.values[1]
        alone = [float(joint.mixtures[0] @ table[..., seat] @ joint.mixtures[1]) for seat in (0, 1)]
        gaining = [seat for seat in (0, 1) if gaps[seat] > CLOSED]
        new = [written(f"reply {number} of seat_{seat}", replies[seat], seat) for seat in gaining]
        chances = _chances(sides[0], joint.mixtures[0]), _chances(sides[1], joint.mixtures[1])
        yield Iteration(
            (len(sides[0]), len(sides[1])),
            joint.values,
            gaps,
            (worth[0] - alone[0], worth[1] - alone[1]),
            (len(chances[0]), len(chances[1])),
            tuple(map(repr, new)),
            chances,
        )
        if not new:
            return
        for seat, member in zip(gaining, new, strict=True):
            more = games.payoffs([member], sides[1]) if seat == 0 else games.payoffs(sides[0], [member])
            table = np.concatenate([table, more], axis=seat)
            sides[seat].append(member)


def _opposite(side: Sequence[Written], mixture: Table) -> Mixture:
    played = np.flatnonzero(mixture > PLAYED).tolist()
    return Mixture([side[number] for number in played], mixture[played].tolist())


def _chances(side: Sequence[Written], mixture: Table) -> dict[str, float]:
    return {repr(side[number]): float(mixture[number]) for number in np.flatnonzero(mixture > PLAYED).tolist()}


def everybody() -> list[tuple[Scenarios, float]]:
    """The kinds of pools of the legal space."""
    return pool_kinds(lewis_space())
