"""Quantal response equilibria by magnetic mirror descent with an annealed temperature.

At a temperature a mover takes each act in proportion to exp(value / temperature): the equilibrium of a game with an
entropy bonus (McKelvey, Palfrey 1998, *Quantal response equilibria for extensive form games*, section 2). Magnetic
mirror descent takes steps with two proximal terms, to the current policy and to a magnet, here the uniform policy
(Sokota et al. 2023, *A Unified Approach to Reinforcement Learning, Quantal Response Equilibria, and Two-Player Zero-Sum
Games*, sections 3 and 4). In a general-sum game convergence is not guaranteed: :func:`quantal_gap` measures the
distance, :mod:`.exploitability` the gains at the end.

Values are exact, and each step extrapolates their last change (optimistic mirror descent: Rakhlin, Sridharan
2013, *Optimization, learning, and games with predictable sequences*, section 2). A sweep goes from the last turn to the
first with the updated later turns, and with beliefs from the policy of the previous sweep. Annealing selects one
equilibrium among many, the limit of those at higher temperatures; it starts from the uniform policy and stays invariant
to the items' names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Bools, Doubles
from dond_marl.solvers.equilibria import Policy
from experiments.equilibrium_solver.tree import Tree, average_renamings

STEP = 3.0  # of mirror descent, in 1 / points
SWEEPS = 100  # at most, at one temperature
CLOSE = 1e-4  # points of ten: a quantal gap below which a temperature is done
LEAST = -35.0  # log of the smallest probability, so that Bayes' rule is defined after every act
_LOOK = 25  # sweeps between two measurements of the gap


class Stage(NamedTuple):
    """The state of mirror descent at the end of one temperature."""

    temperature: float  # points of ten
    policy: list[Doubles]
    gap: float  # of the quantal response, expected points over the pool's share
    sweeps: int


def anneal(tree: Tree, temperatures: Sequence[float], *, sweeps: int = SWEEPS) -> list[Stage]:
    """A stage for each temperature, each begun where the one before ended, the first at the uniform policy."""
    stages: list[Stage] = []
    for temperature in temperatures:
        policy = stages[-1].policy if stages else tree.uniform()
        stages.append(settle(tree, policy, temperature, sweeps=sweeps))
    return stages


def settle(tree: Tree, policy: Policy, temperature: float, *, sweeps: int = SWEEPS, step: float = STEP) -> Stage:
    """Mirror descent at one temperature until the quantal gap is at most ``CLOSE`` or ``sweeps`` are done."""
    legal = [tree.legal(turn) for turn in range(tree.turns)]
    now, gap, done, close = list(policy), np.inf, 0, CLOSE * float(tree.pool.prior.sum())
    logits = [_logarithm(chances) for chances in now]
    before: dict[int, Doubles] = {}

    def descend(turn: int, worths: Doubles) -> Doubles:
        worths = np.where(legal[turn], worths, 0)
        expected = 2 * worths - before.get(turn, worths)
        before[turn] = worths
        logits[turn] = _normal((logits[turn] + step * expected) / (1 + step * temperature), legal[turn])
        return _chances(logits[turn])

    while done < sweeps and gap > close:
        for _ in range(min(_LOOK, sweeps - done)):
            now, done = tree.sweep(tree.reach(now), descend).policy, done + 1
        now = average_renamings(tree.pool, now)  # removes asymmetry from rounding, which descent would amplify
        logits = [_logarithm(chances) for chances in now]
        gap = quantal_gap(tree, now, temperature)
    return Stage(temperature, now, gap, done)


def quantal_gap(tree: Tree, policy: Policy, temperature: float) -> float:
    """The distance of a policy from quantal response, expected points over the pool's share; 0 at an equilibrium.

    The sum over memories of reach probability * temperature * KL divergence of the policy from the quantal response.
    """
    reach, total = tree.reach(policy), 0.0

    def measure(turn: int, worths: Doubles) -> Doubles:
        nonlocal total
        best = _normal(worths / temperature, tree.legal(turn))
        chances = policy[turn]
        positive = chances > 0
        apart = (chances * (_logarithm(np.where(positive, chances, 1)) - np.where(positive, best, 0))).sum(axis=-1)
        total += temperature * float((reach[turn].sum(axis=1) * apart).sum())
        return chances

    tree.sweep(reach, measure)
    return total


def _logarithm(chances: Doubles) -> Doubles:
    """The natural logarithm, ``-inf`` of 0."""
    with np.errstate(divide="ignore"):
        logarithm: Doubles = np.log(chances)
    return logarithm


def _normal(logits: Doubles, legal: Bools) -> Doubles:
    """Log-probabilities, ``[..., A]``, at least :data:`LEAST`, ``-inf`` for illegal acts."""
    logits = np.where(legal, logits, -np.inf)
    logits = logits - logits.max(axis=-1, keepdims=True)
    logits = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return np.where(legal, np.maximum(logits, LEAST), -np.inf)


def _chances(logits: Doubles) -> Doubles:
    chances = np.exp(logits)
    normal: Doubles = chances / chances.sum(axis=-1, keepdims=True)
    return normal
