"""How near CFR+ comes to a Nash equilibrium of spite, the game of zero sum in which a seat is paid the difference.

Solved pool by pool with perfect recall; what a best response gains against the averages is exact
(:mod:`dond_marl.yardsticks.equilibria.regret`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.yardsticks.equilibria.exploitability import nash_conv
from dond_marl.yardsticks.equilibria.pools import Pool, lewis_pools
from dond_marl.yardsticks.equilibria.regret import regret_matching
from dond_marl.yardsticks.equilibria.tree import Tree
from league.bench.lines import replace, rows_in

DIGITS = 6


def solved(
    turns: int,
    iterations: int,
    pools: Sequence[Pool] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """One line of the results file: every pool after so many iterations, figures a game of that pool.

    ``gain`` is NashConv; ``value`` what seat_0 gets more than seat_1; both points of ten.
    """
    began, found = time.process_time(), []
    for pool in lewis_pools() if pools is None else pools:
        tree, share = Tree(pool, turns, "perfect", spite=True), float(pool.prior.sum())
        gains = nash_conv(tree, regret_matching(tree, iterations).average)
        name = " ".join(map(str, pool.counts.tolist()))
        value, gain = gains.values[0] / share, gains.nash_conv / share
        found.append({"pool": name, "share": share, "value": round(value, DIGITS), "gain": round(gain, DIGITS)})
        tell(f"pool {name}: seat_0 gets {value:+.4f} more, best responses gain {gain:.4f}")
    return {
        "turns": turns,
        "iterations": iterations,
        "pools": found,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def over_all(row: Mapping[str, Any], key: str) -> float:
    """A figure over all games, each pool as often as it comes up."""
    shares = [pool["share"] for pool in row["pools"]]
    return float(np.average([pool[key] for pool in row["pools"]], weights=shares))


def read(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`~dond_marl.errors.InputError`."""
    return rows_in(path, lambda row: (over_all(row, "gain"), row["processor_seconds"], row["turns"]), "games of spite")


def keep(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, in the place of an older one of the same turns."""
    replace(path, read(path), row, lambda each: (each["turns"],))
