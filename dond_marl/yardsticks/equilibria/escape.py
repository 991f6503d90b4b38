"""Away from equilibria in which nobody gains in a single place, but by a plan for several places at once.

A mover that forgets believes of a place what its own earlier acts make likely there. So mirror descent may end where
each act is right and the whole is not: a more patient plan would pay more. Such plans are found by the ascents of
:mod:`.exploitability`. Both seats are moved part of the way towards theirs and descend for a few sweeps, too few to
come back to where they were; this again and again, as in fictitious play (Brown 1951, *Iterative solution of games by
fictitious play*), and the policy against which least is gained is kept. Which plans are there changes each time, so
this is a search, with an exact measure of what it found.
"""

from __future__ import annotations

from dond_marl.yardsticks.equilibria.exploitability import memory_gains, memory_response
from dond_marl.yardsticks.equilibria.mirror_descent import Stage, settle
from dond_marl.yardsticks.equilibria.tree import Tree, even

FAR = 0.3  # how far towards the plans, of 1
TREMBLE = 1e-3  # of every act that counts, mixed into where the descent begins
SWEEPS = 5  # of descent after each move


def escape(tree: Tree, stage: Stage, steps: int, enough: float) -> Stage:
    """The best of a stage and of ``steps`` policies at its temperature that moves towards better plans lead to.

    Where both seats together gain at most ``enough`` points of ten, nothing more is tried.
    """
    share = float(tree.pool.prior.sum())
    best, least, now = stage, memory_gains(tree, stage.policy).nash_conv, stage
    for _ in range(steps):
        if least <= enough * share:
            break
        plans = [memory_response(tree, now.policy, seat)[0] for seat in (0, 1)]
        moved = [(1 - FAR) * old + FAR * plans[turn % 2][turn] for turn, old in enumerate(now.policy)]
        begun = [
            (1 - TREMBLE) * chances + TREMBLE * any_
            for chances, any_ in zip(even(tree.pool, moved), tree.uniform(), strict=True)
        ]
        now = settle(tree, begun, stage.temperature, sweeps=SWEEPS)
        gained = memory_gains(tree, now.policy).nash_conv
        if gained < least:
            best, least = now, gained
    return best
