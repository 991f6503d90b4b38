"""Random policies, and a policy of the memory "last offer" as one with perfect recall, for exact checks."""

from __future__ import annotations

import numpy as np

from dond_marl.randomness import generator
from dond_marl.seats import Doubles
from dond_marl.solvers.equilibria import Policy
from experiments.equilibrium_solver.tree import Tree


def with_perfect_recall(tree: Tree, policy: Policy) -> tuple[Tree, list[Doubles]]:
    """A tree with perfect recall over the same pool, and the policy that plays the same in it."""
    perfect = Tree(tree.pool, tree.turns, "perfect")
    last = [np.arange(perfect.memories(turn)) % tree.memories(turn) for turn in range(tree.turns)]
    return perfect, [chances[:, which] for chances, which in zip(policy, last, strict=True)]


def anything(tree: Tree, seed: int, peak: float = 1.0) -> list[Doubles]:
    """A policy drawn at random among all; with a large ``peak`` it is nearly certain of its acts."""
    rng = generator(seed, "policies of tests")
    drawn = [rng.exponential(size=chances.shape) ** peak * (chances > 0) for chances in tree.uniform()]
    return [chances / chances.sum(axis=-1, keepdims=True) for chances in drawn]
