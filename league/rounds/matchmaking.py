"""How much meeting each opponent would teach: pure weights of figures per opponent, in their general-sum forms.

Source: prioritized fictitious self-play of AlphaStar (Vinyals et al. 2019, Methods, "Prioritized fictitious self-play")
with regret in place of the loss rate, because in bargaining the other side's loss is nobody's gain, and with the
variance of own points in place of x (1 - x). On wins and losses, within one scenario and seat, both are AlphaStar's.
Weights are 0 or more and need not add up to anything; :func:`chances` makes probabilities of them. Which weights a
learner uses, and why somebody is met: :mod:`league.rounds.branches`. N = opponents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dond_marl.yardsticks.metrics import TEN as RANGE  # points of ten

Figures = NDArray[np.float64]
FLOOR = 0.1  # of the probability is spread evenly, so that nobody is forgotten
POWER = 2.0  # of the regret, as AlphaStar's (1 - x)**2
NOTHING = 1e-12  # a sum of weights that says nothing
FAST, SLOW = 0.3, 0.05  # of an opponent's latest round in the two running means of learning progress


def uniform(opponents: int) -> Figures:
    """Everybody equally often, ``[N]``."""
    return np.full(opponents, 1.0 / opponents)


def regret(scored: Figures, reachable: Figures) -> Figures:
    """Those more often against whom more is left to gain, ``[N]`` probabilities: :func:`hard`, with the floor."""
    return chances(hard(scored, reachable))


def chances(weights: Figures, floor: float = FLOOR) -> Figures:
    """Probabilities ``[N]`` in proportion to ``weights``, of which ``floor`` (0..1) is spread evenly.

    Weights that say nothing, all of them 0, make everybody equally likely.
    """
    largest = weights.max()  # divided by first, so that neither a sum overflows nor a tiny one is lost
    if not largest > NOTHING:
        return uniform(len(weights))
    shares = weights / largest
    mixed: Figures = (1 - floor) * shares / shares.sum() + floor / len(shares)
    return mixed


def hard(scored: Figures, reachable: Figures, power: float = POWER) -> Figures:
    """``((reachable - scored) / range) ** power`` where positive: AlphaStar's ``(1 - x) ** power``.

    ``scored``: what the learner scores against each, points of ten, ``nan`` where it is not known; ``reachable``: what
    somebody is known to score there (a lower bound, :func:`league.standings.payoffs.best_replies`), ``nan`` where nobody is. What
    is not known counts as if everything were left to gain. Either ``[N]``, or ``[N, 2]`` by seat for the seats' mean.
    """
    gap = np.maximum(np.nan_to_num(reachable, nan=RANGE) - np.nan_to_num(scored, nan=0.0), 0.0) / RANGE
    weights: Figures = np.where(np.isnan(scored), 1.0, gap) ** power
    return _over_seats(weights)


def variance(given_scenario: Figures) -> Figures:
    """``Var(own points | scenario) / range ** 2``: AlphaStar's ``x (1 - x)``, opponents whose outcome is open.

    ``given_scenario``: squared points of ten, ``nan`` where it is not known, which counts as the most it can be, a
    quarter. ``[N]``, or ``[N, 2]`` by seat for the seats' mean.
    """
    return _over_seats(np.nan_to_num(given_scenario, nan=RANGE**2 / 4) / RANGE**2)


def learning_progress(rounds: Figures, fast: float = FAST, slow: float = SLOW) -> Figures:
    """How fast results against each opponent move, up or down: ``|fast - slow running mean| / range``, ``[N]``.

    ``rounds[R, N]`` is what the learner scored against each in each round so far, points of ten, ``nan`` where they did
    not meet. Against whom there are fewer than two rounds, nothing is known of progress: the most of all others, or
    else 1. Source: Oudeyer, Kaplan & Hafner 2007; absolute, so that forgetting counts too (Portelas et al. 2020).
    """
    quick, steady = (np.full(rounds.shape[1], np.nan) for _ in range(2))
    for scored in rounds:
        met, first = ~np.isnan(scored), np.isnan(quick)
        for running, rate in ((quick, fast), (steady, slow)):
            running[met & first] = scored[met & first]
            running[met & ~first] += rate * (scored - running)[met & ~first]
    moved = np.abs(quick - steady) / RANGE
    known = np.count_nonzero(~np.isnan(rounds), axis=0) > 1
    moved[~known] = moved[known].max() if known.any() else 1.0
    weights: Figures = moved
    return weights


def coverage(games: Figures) -> Figures:
    """Those met least: ``sqrt(log(1 + all games) / games)``, ``[N]``; ``games[N]`` may be fractions, less than 1 is 1.

    The width of an upper confidence bound (UCB1: Auer, Cesa-Bianchi & Fischer 2002).
    """
    weights: Figures = np.sqrt(np.log1p(games.sum()) / np.maximum(games, 1.0))
    return weights


def _over_seats(weights: Figures) -> Figures:
    mean: Figures = weights if weights.ndim == 1 else weights.mean(axis=1)
    return mean
