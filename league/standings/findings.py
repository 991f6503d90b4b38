"""Findings of a league: each member's ratings and the stable mixtures of members, all with intervals.

Everything is a fold over the ledger: ratings (:mod:`league.standings.ratings`,
:mod:`league.standings.duplicate_rating` and :func:`league.standings.meta_game.deviation_rating`) and the meta-game
(:mod:`league.standings.meta_game`, :mod:`league.standings.evolution`). Intervals are over scenarios: groups of them get
random weights, every table of means is made again, and so is all that follows from it. Cells that were never played
are predicted as in :func:`league.standings.payoffs.complete`. N = members that have played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dond_marl.randomness import generator
from dond_marl.statistics import TEN, Estimates
from league.ledger.ledger import Ledger
from league.standings.crossplay import CrossPlay
from league.standings.duplicate_rating import Session, duplicate_rating, sessions
from league.standings.evolution import Drift, alpha_rank, replicators
from league.standings.linear_programs import Pairs
from league.standings.meta_game import (
    Equilibria,
    Game,
    Joint,
    deviation_rating,
    game_of,
    max_welfare_cce,
    nash_bargaining_cce,
)
from league.standings.ratings import Table, distinctness, scenario_weights, take_give, with_interval, with_wide_interval

REPLICATES = 100
MANY, FEWER = 64, 40  # members, and the replicates among more of them: a game of 200 takes seconds to solve
Bounds = tuple[float, float]
WithDoubt = Callable[[Table, Sequence[Table], Bounds], Estimates]  # value, draws and bounds -> interval
POINTS, BOTH, SHARE = (0.0, TEN), (0.0, 2 * TEN), (0.0, 1.0)
WELFARE, NASH, DRIFT = "max-welfare CCE", "Nash-bargaining CCE", "replicator"


class Solution(NamedTuple):
    """A mixture of pairs of members, and what it is worth."""

    name: str
    values: Estimates  # [2] of the seats, points of ten
    welfare: Estimates  # [] of both together
    gap: Estimates  # [] a seat's gain from committing to one member; summed over seats for independent mixtures
    shares: Estimates  # [2, N] how often each member sits in each seat
    chances: Table  # [N, N] of seat_0's member and seat_1's


class Findings(NamedTuple):
    """Ratings ``[N]``, deviation ratings ``[2, N]`` by seat, and the meta-game, all with two-sided intervals."""

    members: tuple[str, ...]
    take: Estimates  # points of ten
    give: Estimates
    duplicates: Estimates  # log-odds
    deviation: Estimates  # points of ten, at most 0
    solutions: tuple[Solution, ...]
    alpha_rank: Estimates  # shares
    played: float  # share of the cells that were played; the others are predicted
    replicates: int
    confidence: float


class _Solved(NamedTuple):
    """The game of one table of means, and what solves it."""

    game: Game
    welfare: Joint
    nash: Joint
    deviation: Table  # [2, N]
    alpha_rank: Table  # [N]
    looked_at: Pairs  # with a chance in one of the two equilibria


def findings_of(
    ledger: Ledger, cross: CrossPlay, *, seed: int, confidence: float, replicates: int | None = None
) -> Findings | None:
    """The findings of a ledger and of its fold; ``None`` where nothing was played."""
    live, place = [member.name for member in ledger.members() if member.live], cross.place
    rounds = (  # one at a time
        sessions(ledger.scenarios(number), (leg for leg in ledger.legs(number) if place.keys() >= {*leg.seats}), place)
        for number in range(ledger.next_round)
    )
    return findings(cross, rounds, live, seed=seed, confidence=confidence, replicates=replicates)


def findings(
    cross: CrossPlay,
    rounds: Iterable[Sequence[Session]],
    live: Iterable[str] = (),
    *,
    seed: int,
    confidence: float,
    replicates: int | None = None,
) -> Findings | None:
    """The findings of ``cross`` and of the sessions of each round, whose entrants are numbered as in ``cross``.

    ``live`` members have changed from round to round. Takes 5 s among 20 or 50 members.
    """
    payoffs = cross.payoffs()
    met = np.flatnonzero(payoffs.games.any(axis=(1, 2)))
    if not len(met):
        return None
    if replicates is None:
        replicates = REPLICATES if len(met) <= MANY else FEWER
    part = np.ix_(met, np.arange(2), met)
    games, counted = payoffs.games[part], distinctness(type(payoffs)(*(table[part] for table in payoffs)))

    def filled(table: Table) -> Table:
        played = ~np.isnan(table)
        return table if played.all() else np.where(played, table, take_give(table, games).predicted())

    def rated(table: Table) -> Table:
        fit = take_give(table, games, counted)
        return np.stack([fit.take, fit.give])

    enough = cross.cells.occupied > 1

    def with_doubt(value: Table, draws: Sequence[Table], within: Bounds) -> Estimates:
        return with_wide_interval(value, np.stack(draws), confidence, enough=enough, within=within)

    weights = scenario_weights(generator(seed, "findings"), replicates)
    mean = payoffs.mean[part]
    value, solved = rated(mean), _solved(filled(mean))
    rates, draws = [], []
    for table in cross.cells.resampled(weights):
        rates.append(rated(table[part]))
        draws.append(_solved(filled(table[part]), solved.looked_at))
    take, give = (
        with_interval(value[row], np.stack([rate[row] for rate in rates]), confidence, enough=enough) for row in (0, 1)
    )
    duplicates = duplicate_rating(
        rounds,
        len(cross.members),
        generator(seed, "duplicates"),
        live=[cross.place[name] for name in live if name in cross.place],
        replicates=replicates,
        confidence=confidence,
    )
    drift, *drifts = replicators([solved.game, *(draw.game for draw in draws)])
    joints = {
        WELFARE: (solved.welfare, [draw.welfare for draw in draws]),
        NASH: (solved.nash, [draw.nash for draw in draws]),
        DRIFT: (_joint(drift), [_joint(drawn) for drawn in drifts]),
    }
    return Findings(
        members=tuple(cross.members[number] for number in met),
        take=take,
        give=give,
        duplicates=Estimates(*(bound[met] for bound in duplicates)),
        deviation=with_doubt(solved.deviation, [draw.deviation for draw in draws], (-TEN, 0.0)),
        solutions=tuple(_solution(name, joint, drawn, with_doubt) for name, (joint, drawn) in joints.items()),
        alpha_rank=with_doubt(solved.alpha_rank, [draw.alpha_rank for draw in draws], SHARE),
        played=float(np.count_nonzero(games)) / games.size,
        replicates=replicates,
        confidence=confidence,
    )


def _solved(table: Table, start: Pairs | None = None) -> _Solved:
    """Everything about the game of a full table ``[N, 2, N]``; ``start``: pairs that mattered in one much like it."""
    equilibria = Equilibria(game_of(table), start)
    welfare, nash = max_welfare_cce(equilibria), nash_bargaining_cce(equilibria)
    strictest = np.stack(deviation_rating(equilibria))
    ranked = alpha_rank(table.mean(axis=1))
    return _Solved(equilibria.game, welfare, nash, strictest, ranked, np.flatnonzero(welfare.chances + nash.chances))


def _joint(drift: Drift) -> Joint:
    """Independent mixtures as a distribution over pairs."""
    return Joint(np.outer(drift.first, drift.second), drift.values, drift.gap)


def _solution(name: str, joint: Joint, draws: Sequence[Joint], with_doubt: WithDoubt) -> Solution:
    def figure(of: Callable[[Joint], ArrayLike], within: Bounds) -> Estimates:
        return with_doubt(np.array(of(joint)), [np.array(of(drawn)) for drawn in draws], within)

    return Solution(
        name,
        figure(lambda joint: joint.values, POINTS),
        figure(lambda joint: joint.welfare, BOTH),
        figure(lambda joint: joint.gap, BOTH),
        figure(lambda joint: joint.mixtures, SHARE),
        joint.chances,
    )
