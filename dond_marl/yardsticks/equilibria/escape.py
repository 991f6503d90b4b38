"""Away from equilibria in which nobody gains in a single place, but by a plan for several places at once.

A mover that forgets believes of a place what its own earlier acts make likely there. So mirror descent may end where
each act is right and the whole is not: a more patient plan would pay more. Such plans are found by the ascents of
:mod:`.exploitability`. Both seats are moved towards theirs, the game is warmed up a little and annealed again, and the
policy against which least is gained is kept. Which plans are there changes each time, so this is a search, with an
exact measure of what it found.
"""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.yardsticks.equilibria.exploitability import memory_gains, memory_response
from dond_marl.yardsticks.equilibria.mirror_descent import Stage, settle
from dond_marl.yardsticks.equilibria.tree import Tree, even

# How far towards the plans, and how many times as warm, in turn: the last is a fresh start.
WAYS = ((0.5, 4.0), (0.3, 1.5), (0.5, 4.0), (0.3, 1.5), (1.0, 10.0))
TREMBLE = 0.02  # of the plans that are moved to
_SWEEPS = 50  # at each temperature


def escape(tree: Tree, stage: Stage, ladder: Sequence[float], tries: int, enough: float) -> Stage:
    """The best of a stage and of ``tries`` others at its temperature; ``ladder`` holds warmer temperatures to use.

    Where both seats together gain at most ``enough`` points of ten, nothing more is tried.
    """
    share = float(tree.pool.prior.sum())
    best, least, now = stage, memory_gains(tree, stage.policy).nash_conv, stage
    for number in range(tries):
        if least <= enough * share:
            break
        far, warmer = WAYS[number % len(WAYS)]
        plans = [memory_response(tree, now.policy, seat)[0] for seat in (0, 1)]
        moved = [
            (1 - far) * old + far * ((1 - TREMBLE) * plans[turn % 2][turn] + TREMBLE * uniform)
            for turn, (old, uniform) in enumerate(zip(now.policy, tree.uniform(), strict=True))
        ]
        policy = even(tree.pool, moved)
        for temperature in ladder:
            if stage.temperature <= temperature <= warmer * stage.temperature:
                now = settle(tree, policy, temperature, sweeps=_SWEEPS)
                policy = now.policy
        gained = memory_gains(tree, now.policy).nash_conv
        if gained < least:
            best, least = now, gained
    return best
