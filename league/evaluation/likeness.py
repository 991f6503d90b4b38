"""Human-likeness of a policy: its acts compared with those of people at the same positions.

All figures are measured on held-out positions (``test``), with intervals over scenarios. Accuracy looks at the
likeliest act alone, cross-entropy at the whole distribution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.dialogues.positions import Positions
from dond_marl.game import Act
from dond_marl.seats import Bools, Doubles, Int8s
from dond_marl.statistics import Estimate, mean_over_scenarios
from partners.learning.cloning import Examples, encode_examples
from partners.network.heads import ActionDistribution
from partners.network.network import PolicyNetwork

CONFIDENCE = 0.95  # two-sided, of every interval
BINS = 10  # of the reliability table, equally wide (Guo et al. 2017, arXiv 1706.04599, section 2)


class Accuracy(NamedTuple):
    """The share of positions at which a policy's likeliest act is that of people."""

    everywhere: Estimate  # the act
    replies: Estimate  # the act, where the partner had acted before
    offers: Estimate  # where people made an offer: all items of it


class ActCount(NamedTuple):
    """One act: how often people took it, how often it was predicted, and how often both."""

    act: str
    said: int
    expected: int
    both: int


class ReliabilityBin(NamedTuple):
    """Positions at which the likeliest act has a probability in ``low`` to ``high``."""

    low: float
    high: float
    n: int
    confidence: float  # mean probability of the likeliest act; NaN where there is none
    accuracy: float  # how often it was taken


class Likeness(NamedTuple):
    """Closeness of one policy to people."""

    accuracy: Accuracy  # of its likeliest act and split
    acts: tuple[ActCount, ...]
    act_nats: Estimate  # cross-entropy of people's acts
    oA_nats: Estimate  # what they would keep, where they made an offer
    calibration_error: float  # expected, of the act: the mean distance of confidence and accuracy
    reliability: tuple[ReliabilityBin, ...]


def accuracy(act: Int8s, oA: Int8s, positions: Positions) -> Accuracy:
    """The accuracy of the guesses ``act[N]`` and ``oA[N, 3]``."""
    right = act == positions.act
    offers = positions.act <= Act.INSIST
    same = (oA == positions.oA).all(axis=1) & (act <= Act.INSIST)
    return Accuracy(
        mean_over_positions(right, positions),
        mean_over_positions(right, positions, positions.replies),
        mean_over_positions(same, positions, offers),
    )


def majority(taught: Positions) -> Act:
    """The most frequent act of people."""
    return Act(int(np.bincount(taught.act, minlength=len(Act)).argmax()))


def always(act: Act, positions: Positions) -> Accuracy:
    """The accuracy of always taking ``act``, and of keeping everything in an offer."""
    return accuracy(np.full(positions.size, act, dtype=np.int8), positions.counts, positions)


def gain(act: Int8s, other: Int8s, positions: Positions) -> tuple[Estimate, Estimate]:
    """Accuracy of ``act[N]`` - accuracy of ``other[N]``, paired: everywhere, and in replies."""
    more = (act == positions.act).astype(np.int8) - (other == positions.act)
    return mean_over_positions(more, positions), mean_over_positions(more, positions, positions.replies)


@torch.no_grad()
def likeness(network: PolicyNetwork, positions: Positions) -> Likeness:
    """Compare ``network`` with the acts of people at ``positions``."""
    seen = encode_examples(positions, network)
    act_log, oA_log, _ = _distribution(network, seen).log_probs(seen.act, seen.oA)
    act, oA, confidence = likeliest(network, positions)
    bins = reliability(confidence, act == positions.act)
    return Likeness(
        accuracy(act, oA, positions),
        tuple(_act_count(each, act, positions) for each in Act),
        mean_over_positions(_array(-act_log), positions),
        mean_over_positions(_array(-oA_log), positions, positions.act <= Act.INSIST),
        calibration_error(bins),
        bins,
    )


@torch.no_grad()
def likeliest(network: PolicyNetwork, positions: Positions) -> tuple[Int8s, Int8s, Doubles]:
    """The likeliest act ``[N]``, the likeliest ``oA`` of an offer ``[N, 3]``, and the act's probability ``[N]``."""
    seen = encode_examples(positions, network)
    distribution = _distribution(network, seen)
    act, oA, _ = distribution.sample(None)
    confidence = distribution.log_probs(act, oA).act.exp()
    return act.cpu().numpy().astype(np.int8), oA.cpu().numpy().astype(np.int8), _array(confidence)


def _distribution(network: PolicyNetwork, seen: Examples) -> ActionDistribution:
    return network.distribution(network.evaluate(seen.inputs)[0], seen.mask, seen.inputs)


def reliability(confidence: Doubles, right: Bools) -> tuple[ReliabilityBin, ...]:
    """The reliability table of confidences ``[N]`` in 0..1 and of which guesses were right ``[N]``."""
    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    bins = []
    for number in range(BINS):
        here = place == number
        n = int(here.sum())
        sure, right_share = (float(values[here].mean()) if n else float("nan") for values in (confidence, right))
        bins.append(ReliabilityBin(number / BINS, (number + 1) / BINS, n, sure, right_share))
    return tuple(bins)


def calibration_error(bins: tuple[ReliabilityBin, ...]) -> float:
    """The expected calibration error: the distance of confidence and accuracy, weighed by the positions in a bin."""
    filled = [each for each in bins if each.n]
    return sum(each.n * abs(each.confidence - each.accuracy) for each in filled) / sum(each.n for each in filled)


def mean_over_positions(values: NDArray[Any], positions: Positions, of: Bools | None = None) -> Estimate:
    """The mean of ``values[N]`` over the positions ``of``, by default all, with its interval over scenarios."""
    return mean_over_scenarios(values, positions.group, CONFIDENCE, of)


def _act_count(act: Act, expected: Int8s, positions: Positions) -> ActCount:
    spoken, guessed = positions.act == act, expected == act
    return ActCount(act.name, int(spoken.sum()), int(guessed.sum()), int((spoken & guessed).sum()))


def _array(values: Tensor) -> Doubles:
    return values.cpu().double().numpy()
