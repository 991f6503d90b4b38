"""Computation of the shipped tables (``dond ship equilibria``), deterministic to the byte.

Escape from agent-form equilibria, in which no single deviation gains but a joint plan does.

With imperfect recall a mover's beliefs depend on its own earlier acts. So mirror descent may end where each act is
optimal but a joint plan pays more. Such plans are found by the ascents of :mod:`.exploitability`. Both seats move part
of the way towards theirs and descend for a few sweeps, too few to return; this is repeated, as in fictitious play
(Brown 1951, *Iterative solution of games by fictitious play*), and the least exploitable policy is selected. It is a
search with an exact objective.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.seats import Doubles
from dond_marl.solvers.equilibria import (
    STORED,
    TEMPERATURES,
    Equilibrium,
    Policy,
    Pool,
    file_name,
    lewis_pools,
    representatives,
    spread,
)
from experiments.equilibrium_solver.exploitability import agent_gains, memory_gains, memory_response, recall_response
from experiments.equilibrium_solver.mirror_descent import Stage, anneal, settle
from experiments.equilibrium_solver.tree import Tree, average_renamings

FAR = 0.3  # how far towards the plans, of 1
TREMBLE = 1e-3  # of every act that counts, mixed into where the descent begins
SWEEPS = 5  # of descent after each move


def escape(tree: Tree, stage: Stage, steps: int, enough: float) -> Stage:
    """The least exploitable of a stage and of ``steps`` policies at its temperature, reached by moving towards plans.

    Stops where both seats together gain at most ``enough`` points of ten.
    """
    share = float(tree.pool.prior.sum())
    best, least, now = stage, memory_gains(tree, stage.policy).nash_conv, stage
    for _ in range(steps):
        if least <= enough * share:
            break
        plans = [memory_response(tree, now.policy, seat)[0] for seat in (0, 1)]
        moved = [(1 - FAR) * old + FAR * plans[turn % 2][turn] for turn, old in enumerate(now.policy)]
        begun = [
            (1 - TREMBLE) * chances + TREMBLE * uniform_chances
            for chances, uniform_chances in zip(average_renamings(tree.pool, moved), tree.uniform(), strict=True)
        ]
        now = settle(tree, begun, stage.temperature, sweeps=SWEEPS)
        gained = memory_gains(tree, now.policy).nash_conv
        if gained < least:
            best, least = now, gained
    return best


LEAST = 1e-4  # probabilities below this are stored as 0
ENOUGH = dict.fromkeys(TEMPERATURES, 0.005) | dict.fromkeys(range(1, 5), 0.04)  # points of a pool's games: stop there
STEPS = 30  # of escape from the coldest policy of each horizon, per pool
LADDER = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015)  # points of ten


class TableFile(NamedTuple):
    """One table and its note."""

    turns: int
    temperature: float
    note: dict[str, Any]
    data: bytes


def make_tables(out: Path = STORED, horizons: Sequence[int] = tuple(TEMPERATURES)) -> Iterator[TableFile]:
    """Make the tables of the given numbers of turns, and write each into the folder ``out`` at once."""
    out.mkdir(parents=True, exist_ok=True)
    for turns in horizons:
        for made in tables_of(turns, TEMPERATURES[turns]):
            (out / file_name(made.turns, made.temperature)).write_bytes(made.data)
            yield made


def tables_of(turns: int, temperatures: Sequence[float]) -> Iterator[TableFile]:
    """The tables of one horizon, from the hottest to the coldest; ``temperatures`` are some of :data:`LADDER`."""
    parts = [solve_pool(pool, turns, temperatures) for pool in lewis_pools()]
    for number, temperature in enumerate(sorted(temperatures, reverse=True)):
        found = [of_pool[number] for of_pool in parts]
        note = {"turns": turns, "temperature": temperature, **_sum_over_pools([part.measures for part in found])}
        yield TableFile(turns, temperature, note, pack(note, [part.policy for part in found]))


def pool_gains(turns: int, temperature: float) -> Iterator[dict[str, Any]]:
    """NashConv of a shipped table in each pool: its bounds, points of ten of the pool's games, and their share."""
    table = Equilibrium.load(turns=turns, temperature=temperature)
    for pool, policy in zip(lewis_pools(), table.policies, strict=True):
        tree, share = Tree(pool, turns), float(pool.prior.sum())
        values = tree.values(policy)
        ends = np.sum([recall_response(tree, policy, seat) for seat in (0, 1)], axis=0) - sum(values)
        counts = [int(number) for number in pool.counts]
        yield {"turns": turns, "counts": counts, "share": round(share, 6), "nashconv": (ends / share).round(6).tolist()}


class SolvedPool(NamedTuple):
    """One pool at one temperature: the policy and its measures, as stored in a table.

    ``measures`` are expected points of ten over the pool's share; by seat where they are two.
    """

    policy: list[Doubles]
    measures: dict[str, Any]


def solve_pool(pool: Pool, turns: int, temperatures: Sequence[float]) -> list[SolvedPool]:
    """One pool at each temperature, from the hottest to the coldest."""
    tree, ladder = Tree(pool, turns), [temperature for temperature in LADDER if temperature >= min(temperatures)]
    stages = anneal(tree, ladder)
    stages[-1] = escape(tree, stages[-1], STEPS, ENOUGH[turns])
    found = []
    for stage in stages:
        if stage.temperature in temperatures:
            measured = measures(tree, round_policy(pool, stage.policy))
            found.append(SolvedPool(stage.policy, {"quantal_gap": stage.gap, **measured}))
    return found


def round_policy(pool: Pool, policy: Policy) -> list[Doubles]:
    """The policy as a file stores it: invariant to the items' names, small probabilities set to 0."""
    views = representatives(pool)
    averaged = average_renamings(pool, policy)
    return spread(pool, [_as_halves(chances)[views].astype(np.float64) for chances in averaged])


def pack(note: dict[str, Any], policies: Sequence[Policy]) -> bytes:
    """The file of a policy for each of :func:`lewis_pools`; :func:`dond_marl.solvers.equilibria.unpack` reads it."""
    parts = []
    for pool, policy in zip(lewis_pools(), policies, strict=True):
        parts += [_as_halves(chances)[representatives(pool)].tobytes() for chances in average_renamings(pool, policy)]
    body = b"".join(parts)
    head = json.dumps({**note, "sha256": hashlib.sha256(body).hexdigest()}, sort_keys=True).encode()
    return lzma.compress(head + b"\n" + body, preset=9)


def _as_halves(chances: Doubles) -> np.ndarray[Any, np.dtype[np.float16]]:
    return np.where(chances < LEAST, 0, chances).astype("<f2")


def measures(tree: Tree, policy: Policy) -> dict[str, Any]:
    """The points of a policy and the gains of deviations, by seat.

    ``gain_in_one_place``: the sum of single deviations; ``gain_within_memory``: of the best response found that
    remembers the last offer; ``gain_remembering``: bounds for one with perfect recall.
    """
    within, places = memory_gains(tree, policy), agent_gains(tree, policy)
    found = [recall_response(tree, policy, seat) for seat in (0, 1)]
    return {
        "values": list(within.values),
        "welfare": sum(within.values),
        "deals": tree.deals(policy),
        "gain_in_one_place": list(places.gains),
        "gain_within_memory": list(within.gains),
        "gain_remembering": [
            [part.low - value, part.high - value] for part, value in zip(found, within.values, strict=True)
        ],
    }


def _sum_over_pools(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The sum over pools, rounded to a millionth of a point, so that it is equal on all machines."""
    return {name: (np.round(np.sum([part[name] for part in parts], axis=0), 6) + 0.0).tolist() for name in parts[0]}
