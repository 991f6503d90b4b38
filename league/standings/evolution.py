"""Where a population of members drifts: replicator dynamics, with the regret that they leave, and alpha-rank.

Both describe how imitation moves a population; neither promises an equilibrium. On random two-seat games plain
replicator dynamics end points of regret away from one, so that the gap is part of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.standings.meta_game import Game, MetaGameError, checked

Table = NDArray[np.float64]
STEP = 0.05  # of an exponential step per point of ten of advantage
SETTLED = 1e-12  # points of ten that the best single member would gain: nobody moves any more
CHECKED = 50  # steps between two looks at that
POPULATION = 50  # individuals: Omidshafiei et al. 2019, section 3
SELECTION = 10.0  # per point of ten: near the limit in which the better of two members always takes over


class Drift(NamedTuple):
    """The mixtures at which replicator dynamics ended, and what they are worth."""

    first: Table  # [A] shares of the members in seat_0
    second: Table  # [B] in seat_1
    values: tuple[float, float]  # of both seats there, points of ten
    gap: float  # what the best single member of each seat would gain there, both seats added: 0 at a Nash equilibrium


def replicator(
    game: Game, *, steps: int = 20_000, floor: float = 0.0, start: tuple[Table, Table] | None = None
) -> Drift:
    """Two populations, one per seat, in which members grow by how much more than the average they get.

    No share falls below ``floor / members``, ``floor`` at least 0 and less than 1 (as projected replicator dynamics:
    Lanctot et al. 2017, section 3.1); ``start`` is uniform unless given. In exponential steps of ``STEP`` (Hofbauer &
    Sigmund 1998, chapter 7). Raises :class:`league.standings.meta_game.MetaGameError`.
    """
    first, second = checked(game)
    begin = tuple(np.full(size, 1.0 / size) for size in first.shape) if start is None else start
    return _drifted(first[None], second[None], steps, floor, (begin[0][None], begin[1][None]))[0]


def replicators(games: Sequence[Game], *, steps: int = 20_000) -> list[Drift]:
    """:func:`replicator` of several games of one shape, from uniform mixtures and without a floor, in one sweep."""
    first, second = (np.stack(tables) for tables in zip(*map(checked, games), strict=True))
    start = tuple(np.full((len(games), size), 1.0 / size) for size in first.shape[1:])
    return _drifted(first, second, steps, 0.0, (start[0], start[1]))


def _drifted(first: Table, second: Table, steps: int, floor: float, start: tuple[Table, Table]) -> list[Drift]:
    """Where G games ``[G, A, B]`` end, from mixtures ``[G, A]`` and ``[G, B]``.

    From a mixture in which nobody would gain no step leads away, so that such a game needs no more of them.
    """
    ends: list[Drift | None] = [None] * len(first)
    moving, (x, y) = np.arange(len(first)), start
    for step in range(steps + 1):
        opening, answering = (first @ y[:, :, None])[:, :, 0], (x[:, None, :] @ second)[:, 0]
        if step % CHECKED == 0 or step == steps:
            values = (x * opening).sum(axis=1), (y * answering).sum(axis=1)
            gaps = np.maximum(opening.max(axis=1) - values[0] + answering.max(axis=1) - values[1], 0.0)
            still = gaps > SETTLED if step < steps else np.zeros(len(gaps), dtype=bool)
            for row in np.flatnonzero(~still).tolist():
                value = float(values[0][row]), float(values[1][row])
                ends[moving[row]] = Drift(x[row], y[row], value, float(gaps[row]))
            if not still.all():
                moving, first, second, x, y = moving[still], first[still], second[still], x[still], y[still]
                opening, answering = opening[still], answering[still]
            if not len(moving):
                break
        x, y = _step(x, opening, floor), _step(y, answering, floor)
    return [end for end in ends if end is not None]


def _step(shares: Table, worth: Table, floor: float) -> Table:
    """The next shares ``[G, A]`` of members that are worth ``worth[G, A]``."""
    grown = shares * np.exp(STEP * (worth - worth.max(axis=1, keepdims=True)))
    least = floor / shares.shape[1]
    above = np.maximum(grown / grown.sum(axis=1, keepdims=True) - least, 0.0)
    moved: Table = least + (1 - floor) * above / above.sum(axis=1, keepdims=True)
    return moved


def alpha_rank(payoff: Table, *, selection: float = SELECTION, population: int = POPULATION) -> Table:
    """How long a population that imitates whoever does better stays with each member, ``[N]``, adds up to 1.

    ``payoff[i, j]`` is what ``i`` gets against ``j``, points of ten, the mean of both seats: one population sits in
    either seat. Now and then one individual tries another member, which takes over or dies out before the next does;
    ``selection`` says how much a point matters. Everything is summed in logarithms, so that no ``selection``
    underflows. Source: Omidshafiei et al. 2019, *alpha-Rank*, equations 4 to 9 (one population, general-sum). Raises
    :class:`league.standings.meta_game.MetaGameError`.
    """
    if payoff.ndim != 2 or payoff.shape[0] != payoff.shape[1] or not np.isfinite(payoff).all() or not payoff.size:
        raise MetaGameError(f"alpha-rank needs a full table [N, N], got {payoff.shape}; complete it first")
    return _stationary(_log_takeover(payoff, selection, population))


def _log_takeover(payoff: Table, selection: float, population: int) -> Table:
    """The logarithm of the chance that one individual of ``j`` takes a population of ``i`` over, ``[i, j]``."""
    own = np.diagonal(payoff)
    total = np.zeros_like(payoff)  # of log(1 + sum over l of the product over k <= l of the odds of dying out)
    odds = np.zeros_like(payoff)
    for newcomers in range(1, population):
        others = population - newcomers
        new = ((newcomers - 1) * own[None, :] + others * payoff.T) / (population - 1)
        old = (newcomers * payoff + (others - 1) * own[:, None]) / (population - 1)
        odds = odds + selection * (old - new)
        total = np.logaddexp(total, odds)
    return -total


def _stationary(log_rates: Table) -> Table:
    """The long-run shares of a chain whose rates to other states are given in logarithms; the diagonal is not read.

    Grassmann, Taksar & Heyman 1985: states are taken out one by one, with no subtraction that could cancel.
    """
    rates = log_rates.copy()
    np.fill_diagonal(rates, -np.inf)
    size = len(rates)
    for last in range(size - 1, 0, -1):
        leaving = np.logaddexp.reduce(rates[last, :last])
        rates[:last, last] -= leaving
        rates[:last, :last] = np.logaddexp(rates[:last, :last], rates[:last, last, None] + rates[last, :last])
    shares = np.zeros(size)
    for state in range(1, size):
        shares[state] = np.logaddexp.reduce(shares[:state] + rates[:state, state])
    chances: Table = np.exp(shares - np.logaddexp.reduce(shares))
    return chances
