"""Whom a learner practices against: pure functions of the payoffs, in their general-sum forms.

Source: prioritized fictitious self-play of AlphaStar (Vinyals et al. 2019, Methods, "Prioritized fictitious self-play")
with regret in place of the loss rate, because in bargaining the other side's loss is nobody's gain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FLOOR = 0.1  # of the probability is spread evenly, so that nobody is forgotten
POWER = 2.0  # of the regret, as AlphaStar's (1 - x)**2
RANGE = 10.0  # points of ten
NOTHING = 1e-12  # a sum of weights that says nothing


def uniform(opponents: int) -> NDArray[np.float64]:
    """Everybody equally often, ``[opponents]``."""
    return np.full(opponents, 1.0 / opponents)


def regret(scored: NDArray[np.float64], reachable: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those more often against whom more is left to gain, ``[opponents]`` probabilities.

    ``scored``: what the learner scores against each, points of ten, ``nan`` where it has not met it;
    ``reachable``: what somebody is known to score against it (a lower bound), ``nan`` where nobody is. What is not
    known counts as if everything were left to gain. The weight is ``((reachable - scored) / range) ** 2`` where
    positive; with 0/1 payoffs and ``reachable`` 1 this is AlphaStar's ``(1 - x) ** 2``.
    """
    gap = np.maximum(np.nan_to_num(reachable, nan=RANGE) - np.nan_to_num(scored, nan=0.0), 0.0) / RANGE
    gap[np.isnan(scored)] = 1.0
    weight = gap**POWER
    total = weight.sum()
    if total < NOTHING:
        return uniform(len(weight))
    chances: NDArray[np.float64] = (1 - FLOOR) * weight / total + FLOOR / len(weight)
    return chances
