"""The shipped tables: what ``dond ship equilibria`` computes, measures and writes, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.yardsticks.equilibria.escape import escape
from dond_marl.yardsticks.equilibria.exploitability import Gains, agent_gains, memory_gains, total
from dond_marl.yardsticks.equilibria.mirror_descent import anneal
from dond_marl.yardsticks.equilibria.pools import Pool, lewis_pools
from dond_marl.yardsticks.equilibria.remembering import remembering_response
from dond_marl.yardsticks.equilibria.table import TEMPERATURES, file_name, pack, rounded
from dond_marl.yardsticks.equilibria.tree import Policy, Tree

STORED = Path(__file__).with_name("tables")
TRIES = 6  # of leaving the coldest policy, a pool
LADDER = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.015)  # points of ten


class Made(NamedTuple):
    """One table, and what its note says."""

    turns: int
    temperature: float
    note: dict[str, Any]
    data: bytes


def make_tables(out: Path = STORED, horizons: Sequence[int] = tuple(TEMPERATURES)) -> Iterator[Made]:
    """Make the tables of games of so many turns, and write each into the folder ``out`` as soon as it is known."""
    out.mkdir(parents=True, exist_ok=True)
    for turns in horizons:
        for made in tables_of(turns, TEMPERATURES[turns]):
            (out / file_name(made.turns, made.temperature)).write_bytes(made.data)
            yield made


def tables_of(turns: int, temperatures: Sequence[float]) -> Iterator[Made]:
    """The tables of one horizon, from the hottest to the coldest; ``temperatures`` are some of :data:`LADDER`."""
    ladder = [temperature for temperature in LADDER if temperature >= min(temperatures)]
    pools = lewis_pools()
    trees = [Tree(pool, turns) for pool in pools]
    stages = [anneal(tree, ladder) for tree in trees]
    for tree, of_pool in zip(trees, stages, strict=True):
        of_pool[-1] = escape(tree, of_pool[-1], ladder, TRIES)
    for number, temperature in enumerate(ladder):
        if temperature not in temperatures:
            continue
        found = [of_pool[number] for of_pool in stages]
        policies = [rounded(pool, stage.policy) for pool, stage in zip(pools, found, strict=True)]
        note = {
            "turns": turns,
            "temperature": temperature,
            "quantal_gap": _short(sum(stage.gap for stage in found)),
            **measures(pools, policies, turns),
        }
        yield Made(turns, temperature, note, pack(note, [stage.policy for stage in found]))


def measures(pools: Sequence[Pool], policies: Sequence[Policy], turns: int) -> dict[str, Any]:
    """What policies pay and could be had against them, by seat, in expected points of ten over all pools.

    ``gain_in_one_place``: the sum of what other acts gain, each alone; ``gain_within_memory``: of the best response
    found that remembers the last offer; ``gain_remembering``: of one that remembers everything, at least and at most.
    """
    trees = [Tree(pool, turns) for pool in pools]
    each = list(zip(trees, policies, strict=True))
    places: Gains = total([agent_gains(tree, policy) for tree, policy in each])
    within: Gains = total([memory_gains(tree, policy) for tree, policy in each])
    remembering = []
    for seat in (0, 1):
        found = [remembering_response(tree, policy, seat) for tree, policy in each]
        low, high = sum(part.low for part in found), sum(part.high for part in found)
        remembering.append([_short(low - within.values[seat]), _short(high - within.values[seat])])
    return {
        "values": [_short(value) for value in within.values],
        "welfare": _short(sum(within.values)),
        "deals": _short(sum(tree.deals(policy) for tree, policy in each)),
        "gain_in_one_place": [_short(gain) for gain in places.gains],
        "gain_within_memory": [_short(gain) for gain in within.gains],
        "gain_remembering": remembering,
    }


def _short(number: float) -> float:
    """To a millionth of a point, so that the last bits of a machine do not matter."""
    return float(np.round(number, 6)) + 0.0
