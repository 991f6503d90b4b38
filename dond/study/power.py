"""Sample size of a study: number of participants by formula, checked by simulating studies of that size.

PointsDistribution of two games of one participant have the correlation ``icc``. So the mean of K games of a
participant has the variance ``sd**2 * (1 + (K - 1) * icc) / K`` (Kish 1965, *Survey Sampling*, section 5.4). Between
participants the difference of two conditions has the sum of two such variances over n; within, the participant's own
level cancels and ``2 * sd**2 * (1 - icc) / K`` is left. n gives a two-sided test the power (Cohen 1988,
*Statistical Power Analysis*, section 2.4, normal quantiles).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.randomness import generator

Design = Literal["between", "within"]
# Number of the 12,234 perspectives of the published dialogues (Lewis et al. 2017) with 0, 1, ... 10 points; no deal
# counts 0. A test computes them again.
PEOPLE = (2703, 10, 21, 37, 229, 651, 2262, 1509, 2237, 913, 1662)
STUDIES = 2000  # simulated for each figure
AT_ONCE = 4_000_000  # points that are drawn together
LARGEST = 500_000  # points of a study, of both conditions, up to which it is simulated in a minute
NODES = 80  # of the quadrature over a participant's level


class PowerQuestion(NamedTuple):
    """The difference that a study shall detect, and its design."""

    difference: float = 0.3  # points of ten between two conditions, above 0
    games: int = 5  # of a participant in each condition
    icc: float = 0.1  # correlation of a participant's games, 0..1 and below 1
    power: float = 0.8  # probability to detect the difference, between 0 and 1
    confidence: float = 0.95  # of the two-sided test, between 0 and 1
    design: Design = "between"


class PointsDistribution(NamedTuple):
    """Distribution of the points of one game: over ``values`` with ``shares``, or normal without them."""

    sd: float
    values: NDArray[np.float64] | None = None
    shares: NDArray[np.float64] | None = None


def human_points() -> PointsDistribution:
    """Distribution of people's points in the published dialogues."""
    counts = np.array(PEOPLE, dtype=np.float64)
    values, shares = np.arange(len(counts), dtype=np.float64), counts / counts.sum()
    mean = float(values @ shares)
    return PointsDistribution(math.sqrt(float(shares @ (values - mean) ** 2)), values, shares)


def sample_size(question: PowerQuestion, sd: float) -> int:
    """Participants: per condition between participants, in all within them."""
    from scipy.special import ndtri  # slow to import, and only needed here

    quantiles = float(ndtri(0.5 + question.confidence / 2) + ndtri(question.power))
    return max(2, math.ceil(_variance(question, sd) * (quantiles / question.difference) ** 2))


def simulated_power(
    question: PowerQuestion, points: PointsDistribution, participants: int, seed: int = 0, studies: int = STUDIES
) -> float:
    """The share of simulated studies of that size in which the difference is significant.

    Points are drawn from ``points`` with a normal copula whose correlation gives ``icc``; the second condition has
    ``difference`` more. The test is Student's of the participants' means (Welch's between, paired within).
    """
    from scipy.stats import ttest_ind, ttest_rel  # as above

    latent = _latent(question.icc, points)
    found, at_once = 0, max(1, AT_ONCE // (2 * participants * question.games))
    for start in range(0, studies, at_once):
        rng = generator(seed, "study power", start)
        means = _means(rng, min(at_once, studies - start), participants, question, latent, points)
        means[1] += question.difference
        if question.design == "within":
            test = ttest_rel(means[1], means[0], axis=1)
        else:
            test = ttest_ind(means[1], means[0], axis=1, equal_var=False)
        found += int((test.pvalue < 1 - question.confidence).sum())
    return found / studies


def _variance(question: PowerQuestion, sd: float) -> float:
    """The variance of the difference, times n."""
    if question.design == "within":
        return 2 * sd**2 * (1 - question.icc) / question.games
    return 2 * sd**2 * (1 + (question.games - 1) * question.icc) / question.games


def _means(
    rng: np.random.Generator, studies: int, n: int, question: PowerQuestion, latent: float, points: PointsDistribution
) -> NDArray[np.float64]:
    """Mean points of each participant in both conditions, ``[2, studies, n]``; within, of the same participants."""
    own, means = rng.standard_normal((studies, n, 1)), []
    for condition in (0, 1):
        if condition and question.design == "between":
            own = rng.standard_normal((studies, n, 1))
        means.append(_simulated_points(rng, own, question.games, latent, points).mean(axis=2))
    return np.stack(means)


def _simulated_points(
    rng: np.random.Generator, own: NDArray[np.float64], games: int, latent: float, points: PointsDistribution
) -> NDArray[np.float64]:
    drawn = math.sqrt(latent) * own + math.sqrt(1 - latent) * rng.standard_normal((*own.shape[:2], games))
    if points.values is None:
        return points.sd * drawn
    read: NDArray[np.float64] = points.values[np.searchsorted(_cuts(points), drawn)]
    return read


def _cuts(points: PointsDistribution) -> NDArray[np.float64]:
    from scipy.special import ndtri

    assert points.shares is not None
    cuts: NDArray[np.float64] = ndtri(np.cumsum(points.shares)[:-1])
    return cuts


def _latent(icc: float, points: PointsDistribution) -> float:
    """The correlation of the normal draws that gives the points the correlation ``icc``."""
    if points.values is None or icc == 0:
        return icc
    from scipy.optimize import brentq
    from scipy.special import ndtr

    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    cuts, steps = _cuts(points), np.diff(points.values)

    def excess(latent: float) -> float:
        """The correlation of the points, less ``icc``."""
        beyond = ndtr((math.sqrt(latent) * nodes[:, None] - cuts) / math.sqrt(1 - latent))  # [nodes, cuts]
        mean = beyond @ steps
        return float(weights @ mean**2 - (weights @ mean) ** 2) / points.sd**2 - icc

    return float(brentq(excess, 0.0, 1 - 1e-9))
