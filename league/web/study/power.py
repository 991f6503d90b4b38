"""How many participants a study needs: by formula, and checked by simulating studies of that size.

A participant's games go together: points of two games of one have the correlation ``icc``. So the mean of K games of a
participant has the variance ``sd**2 * (1 + (K - 1) * icc) / K`` (Kish 1965, *Survey Sampling*, section 5.4). Between
participants two conditions differ by the sum of two such variances over n; within, what is a participant's own falls
out of the difference and ``2 * sd**2 * (1 - icc) / K`` is left. n is what gives a two-sided test the power (Cohen 1988,
*Statistical Power Analysis*, section 2.4, normal quantiles).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.dialogues.human_line import selection
from dond_marl.errors import InputError
from dond_marl.game import worth
from dond_marl.randomness import generator
from dond_marl.scenarios.data import DIALOGUE_SPLITS, load_dialogues

Design = Literal["between", "within"]
# How many of the 12,234 perspectives of the published dialogues (Lewis et al. 2017) came to 0, 1, ... 10 points, no
# deal counting 0: `dond study power --data-dir data` computes them again.
PEOPLE = (2703, 10, 21, 37, 229, 651, 2262, 1509, 2237, 913, 1662)
STUDIES = 2000  # simulated for each figure
AT_ONCE = 4_000_000  # points that are drawn together
LARGEST = 500_000  # points of a study, of both conditions, up to which it is simulated in a minute
NODES = 80  # of the quadrature over what is a participant's own


class Question(NamedTuple):
    """What is asked of a study."""

    difference: float = 0.3  # points of ten between two conditions
    games: int = 5  # of a participant in each condition
    icc: float = 0.1
    power: float = 0.8
    confidence: float = 0.95
    design: Design = "between"


class Points(NamedTuple):
    """How points of one game are spread: over ``values`` with ``shares``, or normally where there are none."""

    sd: float
    values: NDArray[np.float64] | None = None
    shares: NDArray[np.float64] | None = None


def of_people(data_dir: Path | None = None) -> Points:
    """The spread of people's points in the published dialogues, by default as it is kept here."""
    counts = np.array(PEOPLE, dtype=np.float64) if data_dir is None else counted(data_dir)
    values, shares = np.arange(len(counts), dtype=np.float64), counts / counts.sum()
    mean = float(values @ shares)
    return Points(math.sqrt(float(shares @ (values - mean) ** 2)), values, shares)


def counted(data_dir: Path) -> NDArray[np.float64]:
    """How many perspectives of the published dialogues came to 0..10 points. Raises ``DataError``."""
    counts = np.zeros(11)
    for split in DIALOGUE_SPLITS:
        for row in load_dialogues(split, data_dir):
            kept = selection(row)
            first, second, third = row.my_values
            counts[0 if kept is None else worth((first, second, third), kept)] += 1
    return counts


def needed(asked: Question, sd: float) -> int:
    """Participants: of each of two conditions between participants, in all within them. Raises :class:`InputError`."""
    _check(asked)
    from scipy.special import ndtri  # slow to import, and only needed here

    quantiles = float(ndtri(0.5 + asked.confidence / 2) + ndtri(asked.power))
    return max(2, math.ceil(_variance(asked, sd) * (quantiles / asked.difference) ** 2))


def simulated(asked: Question, points: Points, participants: int, seed: int = 0, studies: int = STUDIES) -> float:
    """The share of simulated studies of so many participants in which the difference is found.

    Points are drawn from ``points`` with a normal copula whose correlation gives ``icc``; the second condition has
    ``difference`` more. The test is Student's of the participants' means (Welch's between, paired within).
    """
    _check(asked)
    from scipy.special import stdtrit  # as above

    latent = _latent(asked.icc, points)
    n, games = participants, asked.games
    found, at_once = 0, max(1, AT_ONCE // (2 * n * games))
    for start in range(0, studies, at_once):
        number = min(at_once, studies - start)
        rng = generator(seed, "study power", start)
        means = _means(rng, number, n, asked, latent, points)
        means[1] += asked.difference
        if asked.design == "within":
            gap = means[1] - means[0]
            error, freedom = gap.std(axis=1, ddof=1) / math.sqrt(n), np.full(number, n - 1.0)
            shift = gap.mean(axis=1)
        else:
            each = means.var(axis=2, ddof=1) / n
            error, shift = np.sqrt(each.sum(axis=0)), means[1].mean(axis=1) - means[0].mean(axis=1)
            freedom = each.sum(axis=0) ** 2 / ((each**2).sum(axis=0) / (n - 1))
        found += int((np.abs(shift) > stdtrit(freedom, 0.5 + asked.confidence / 2) * error).sum())
    return found / studies


def _variance(asked: Question, sd: float) -> float:
    """The variance of the difference, times n."""
    if asked.design == "within":
        return 2 * sd**2 * (1 - asked.icc) / asked.games
    return 2 * sd**2 * (1 + (asked.games - 1) * asked.icc) / asked.games


def _check(asked: Question) -> None:
    if not (asked.difference > 0 and asked.games >= 1 and 0 <= asked.icc < 1):
        raise InputError(f"a difference is above 0, games are 1 or more, icc is in 0..1 and below 1; got {asked}")
    if not (0 < asked.power < 1 and 0 < asked.confidence < 1):
        raise InputError(f"power and confidence are between 0 and 1; got {asked.power} and {asked.confidence}")


def _means(
    rng: np.random.Generator, studies: int, n: int, asked: Question, latent: float, points: Points
) -> NDArray[np.float64]:
    """The mean points of each participant of both conditions, ``[2, studies, n]``; within, they are the same people."""
    own, means = rng.standard_normal((studies, n, 1)), []
    for condition in (0, 1):
        if condition and asked.design == "between":
            own = rng.standard_normal((studies, n, 1))
        means.append(_points(rng, own, asked.games, latent, points).mean(axis=2))
    return np.stack(means)


def _points(
    rng: np.random.Generator, own: NDArray[np.float64], games: int, latent: float, points: Points
) -> NDArray[np.float64]:
    drawn = math.sqrt(latent) * own + math.sqrt(1 - latent) * rng.standard_normal((*own.shape[:2], games))
    if points.values is None:
        return points.sd * drawn
    read: NDArray[np.float64] = points.values[np.searchsorted(_cuts(points), drawn)]
    return read


def _cuts(points: Points) -> NDArray[np.float64]:
    from scipy.special import ndtri

    assert points.shares is not None
    cuts: NDArray[np.float64] = ndtri(np.cumsum(points.shares)[:-1])
    return cuts


def _latent(icc: float, points: Points) -> float:
    """The correlation of normal draws at which that of the points is ``icc``."""
    if points.values is None or icc == 0:
        return icc
    from scipy.special import ndtr

    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    cuts, steps = _cuts(points), np.diff(points.values)

    def correlation(latent: float) -> float:
        beyond = ndtr((math.sqrt(latent) * nodes[:, None] - cuts) / math.sqrt(1 - latent))  # [nodes, cuts]
        mean = beyond @ steps
        return float(weights @ mean**2 - (weights @ mean) ** 2) / points.sd**2

    low, high = 0.0, 1 - 1e-9
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if correlation(middle) < icc else (low, middle)
    return (low + high) / 2
