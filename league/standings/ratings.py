"""What a member takes and what it leaves to whom it meets, points of ten, and intervals over scenarios for any rating.

Two other ratings suit bargaining: :mod:`league.standings.duplicate_rating` asks who does better with the same cards,
:func:`league.standings.meta_game.deviation_rating` whom it is worth to name. Intervals come from a Bayesian bootstrap
(Rubin 1981): groups of scenarios, the unit of doubt, get random weights and the rating is made again. N = members.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.statistics import GROUPS, Estimates
from league.standings.cells import Payoffs

Table = NDArray[np.float64]
RIDGE = 0.5  # cells that say "like everybody else": a member of 11 opponents in both seats is pulled by 2 %
RELIABLE = 8.0  # games with which a cell weighs half; see league.payoffs.STRENGTH
ALIKE = 0.25  # points of ten; members whose cells lie further apart than this are two members


class TakeGive(NamedTuple):
    """``base + seat[s] + take[i] + give[j]``: what ``i`` scores in seat ``s`` against ``j``, points of ten."""

    base: float
    seat: Table  # [2], of seat_0 and seat_1; adds up to 0
    take: Table  # [N], what a member gets more than others do; nan where it met nobody
    give: Table  # [N], what others get more from it; take + give is what it adds to welfare

    def predicted(self) -> Table:
        """Every cell ``[N, 2, N]``; a member that met nobody is like everybody else."""
        take, give = np.nan_to_num(self.take), np.nan_to_num(self.give)
        cells: Table = self.base + self.seat[None, :, None] + take[:, None, None] + give[None, None, :]
        return cells


def take_give(mean: Table, games: Table, shares: Table | None = None) -> TakeGive:
    """Fit what members take and leave to ``mean[N, 2, N]`` of ``games[N, 2, N]`` (0: not played, ``nan`` there).

    Ridge regression (Hoerl & Kennard 1970) in which a cell weighs ``games / (games + RELIABLE)``, so that opponents
    count about the same however often they were met. ``shares[N]`` above 0 say how much each member counts, alike if
    they are left out: see :func:`distinctness`. At least one cell must be played.
    """
    weight = np.where(np.isnan(mean), 0.0, games / (games + RELIABLE))
    assert weight.any(), "no cell was played"
    shares = np.ones(len(weight)) if shares is None else shares
    weight = weight * shares[:, None, None] * shares
    seat = weight * np.array([0.5, -0.5])[:, None]
    size = len(weight)
    of_take, of_give = np.diag(weight.sum(axis=(1, 2))), np.diag(weight.sum(axis=(0, 1)))
    # Unknowns: base, seat_0's advantage over seat_1, take, give.
    squares = np.zeros((2 + 2 * size, 2 + 2 * size))
    squares[0, 0], squares[0, 1], squares[1, 1] = weight.sum(), seat.sum(), weight.sum() / 4
    squares[0, 2 : 2 + size], squares[0, 2 + size :] = weight.sum(axis=(1, 2)), weight.sum(axis=(0, 1))
    squares[1, 2 : 2 + size], squares[1, 2 + size :] = seat.sum(axis=(1, 2)), seat.sum(axis=(0, 1))
    squares[2 : 2 + size, 2 : 2 + size], squares[2 + size :, 2 + size :] = of_take, of_give
    squares[2 : 2 + size, 2 + size :] = weight.sum(axis=1)
    ridge = RIDGE * np.concatenate([[1.0], shares, shares])
    squares = np.triu(squares) + np.triu(squares, 1).T + np.diag(np.append(0.0, ridge))
    points, advantage = weight * np.nan_to_num(mean), seat * np.nan_to_num(mean)
    sums = np.concatenate([[points.sum(), advantage.sum()], points.sum(axis=(1, 2)), points.sum(axis=(0, 1))])
    fit = np.linalg.solve(squares, sums)
    met = weight.any(axis=(1, 2)) | weight.any(axis=(0, 1))
    take, give = (np.where(met, part, np.nan) for part in (fit[2 : 2 + size], fit[2 + size :]))
    return TakeGive(float(fit[0]), fit[1] * np.array([0.5, -0.5]), take, give)


def distinctness(payoffs: Payoffs) -> Table:
    """How much each member counts, ``[N]`` in (0, 1]: members that play alike share one member's weight.

    So clones, and snapshots that hardly differ, do not decide what the others take and leave. Two members are alike by
    one less their mean squared distance over all cells that both have played, beyond what chance makes of it, in
    squares of ``ALIKE`` (similarity-sensitive abundance: Leinster & Cobbold 2012).
    """
    cells = np.concatenate([payoffs.mean, payoffs.mean.transpose(2, 1, 0)], axis=1).reshape(len(payoffs.mean), -1)
    errors = np.concatenate([payoffs.error, payoffs.error.transpose(2, 1, 0)], axis=1).reshape(cells.shape)
    errors = np.nan_to_num(errors)
    alike = np.zeros(len(cells))
    for member, (own, doubt) in enumerate(zip(cells, errors, strict=True)):
        both = ~np.isnan(own) & ~np.isnan(cells)
        beyond = np.where(both, (own - cells) ** 2, 0.0) - both * (doubt + errors)
        squares = np.maximum(beyond.sum(axis=1) / np.maximum(both.sum(axis=1), 1), 0.0)
        likeness = np.where(both.any(axis=1), np.maximum(1 - squares / ALIKE**2, 0.0), 0.0)
        likeness[member] = 1.0
        alike[member] = likeness.sum()
    shares: Table = 1 / alike
    return shares


def scenario_weights(generator: np.random.Generator, replicates: int) -> Table:
    """Random weights of the groups of scenarios, ``[replicates, GROUPS]``, exponential with mean 1 (Rubin 1981)."""
    return generator.standard_exponential((replicates, GROUPS))


def with_interval(value: Table, draws: Table, confidence: float, *, enough: bool) -> Estimates:
    """A rating with the interval of its draws ``[replicates, ...]``, or none where there is not ``enough`` to tell."""
    if not enough:
        return Estimates(value, np.full(value.shape, np.nan), np.full(value.shape, np.nan))
    low, high = np.quantile(draws, [0.5 - confidence / 2, 0.5 + confidence / 2], axis=0)
    return Estimates(value, low, high)


def with_wide_interval(
    value: Table, draws: Table, confidence: float, *, enough: bool, within: tuple[float, float]
) -> Estimates:
    """The same for a figure that turns where members are about equally good: what an equilibrium pays, who is in it.

    There the draws lie to one side of the value, and their percentiles cover too little or miss the value itself. The
    interval holds them and their reflection at the value (Davison & Hinkley 1997, *Bootstrap Methods*, section 5.2),
    so that the value is always in it; it covers more often than it says. ``within``: what the figure can be.
    """
    low, high = with_interval(value, draws, confidence, enough=enough)[1:]
    least, most = np.minimum(low, 2 * value - high), np.maximum(high, 2 * value - low)
    # A value may lie beyond what it can be by rounding.
    return Estimates(value, np.minimum(np.clip(least, *within), value), np.maximum(np.clip(most, *within), value))
