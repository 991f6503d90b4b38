"""What planning needs of the rounds so far: a fold over the ledger, updated round by round."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import points_of_ten
from league.ledger.ledger import Ledger
from league.settings.read import Config
from league.standings.cells import Payoffs
from league.standings.crossplay import CrossPlay
from league.tasks.values import Leg, Member


class History:
    """Cross-play so far, each learner's score against each opponent by round, and the stages played."""

    def __init__(self, members: Sequence[Member], decay: float, oracles: Collection[str] = ()) -> None:
        self.members = tuple(member for member in members if member.born == 0 and member.split != "heldout")
        self.cross = CrossPlay([member.name for member in self.members])
        self.stages: list[int] = []  # of each round
        # Cross-play once the last snapshot of each of the ``oracles`` had played its first matches: what an oracle
        # answers is worked out from that, and so fixed for its life.
        self.settled: dict[str, Payoffs] = {}
        self._oracles = tuple(oracles)
        self._decay = decay
        self._scored: list[dict[tuple[str, str], float]] = []  # by round: learner and opponent to points of ten

    @property
    def round(self) -> int:
        return len(self.stages)  # rounds it holds: the number of the next one

    def admit(self, members: Iterable[Member]) -> None:
        """Make room for members that take part from the next round on."""
        self.members += tuple(members)
        self.cross.admit(member.name for member in self.members[len(self.cross.members) :])

    def add_round(
        self,
        stage: int,
        scenarios: Scenarios,
        legs: Sequence[Leg],
        at_fault: Iterable[str],
        measured: bool = False,
        lost: Iterable[Leg] = (),
    ) -> None:
        """Add a round. What learners scored before counts for less, or nothing where the round only ``measured``.

        ``at_fault`` and the ``lost`` legs: as in :meth:`league.standings.crossplay.CrossPlay.add_round`.
        """
        live = [member.name for member in self.members if member.live]
        self.cross.cells.decay([self.cross.place[name] for name in live], 0.0 if measured else self._decay)
        self.cross.add_round(scenarios, legs, at_fault, lost)
        for name in self._oracles:
            last = self.last_snapshot(name)
            if last is not None and last.born == self.round:
                self.settled[name] = self.cross.payoffs()
        self.stages.append(stage)
        self._scored.append(_scored(set(live), scenarios, legs))

    def rounds_of(self, learner: str, opponents: Sequence[str]) -> NDArray[np.float64]:
        """What ``learner`` scored against each of ``opponents`` in each round, ``[R, N]``; ``nan``: not met."""
        rows = [[scored.get((learner, name), np.nan) for name in opponents] for scored in self._scored]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(opponents))

    def last_snapshot(self, learner: str) -> Member | None:
        """The newest snapshot of a learner, of one round the one listed last; ``None`` before its first."""
        own = [member for member in self.members if member.role == "snapshot" and member.parent == learner]
        return max(reversed(own), key=lambda member: member.born, default=None)


def history_of(ledger: Ledger, config: Config) -> History:
    """The history that a ledger holds, of a run with these settings."""
    members = ledger.members()
    history = History(members, config.league.decay, oracles_of(config))
    for _ in range(ledger.next_round):
        read_round(history, ledger, members, config)
    history.admit(member for member in members if member.born == ledger.next_round > 0)
    return history


def oracles_of(config: Config) -> tuple[str, ...]:
    """The learners that practice against a solution of the meta-game, in some stage or in all."""
    stages = [config.learners, *([stage.learner(each) for each in config.learners] for stage in config.curriculum)]
    every = [learner for stage in stages for learner in stage if learner is not None]
    return tuple(dict.fromkeys(learner.name for learner in every if learner.is_oracle))


def read_round(history: History, ledger: Ledger, members: Sequence[Member], config: Config) -> None:
    """Add the next committed round; ``members`` are all that the ledger knows."""
    number = history.round
    if number:
        history.admit(member for member in members if member.born == number)
    legs, measured = list(ledger.legs(number)), config.schedule.phase(number) == "measures"
    lost = ledger.legs(number, failed=True)
    history.add_round(ledger.stage(number), ledger.scenarios(number), legs, ledger.at_fault(number), measured, lost)


def points_of(scenarios: Scenarios, legs: Iterable[Leg]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Points of ten of both seats by the members who sat in them, ``[K, 2]`` each; a round plays no leg twice.

    ``nan`` in games that count for nobody.
    """
    wholes, points = scenarios.pool_values, {}  # worked out once: a round may hold thousands of legs
    for leg in legs:
        own = points_of_ten(leg.facts["scores"], wholes)
        if (counted := leg.counted) is not None:
            own[~counted] = np.nan
        points[leg.seats] = own
    return points


def _scored(learners: set[str], scenarios: Scenarios, legs: Sequence[Leg]) -> dict[tuple[str, str], float]:
    """Mean points of ten of each learner against each opponent, over both seats; ``nan``: unreached in a whole leg."""
    met = points_of(scenarios, (leg for leg in legs if not learners.isdisjoint(leg.seats)))
    if not met:
        return {}
    by_pair: dict[tuple[str, str], list[float]] = {}
    points = np.stack(list(met.values()))
    missing = np.isnan(points)
    heard = ~missing.all(axis=(1, 2))
    every = np.full((len(points), 2), np.nan)
    every[heard] = (np.nanmean if missing.any() else np.mean)(points[heard], axis=1)
    for seats, means in zip(met, every.tolist(), strict=True):
        for seat in (0, 1):
            if seats[seat] in learners:
                by_pair.setdefault((seats[seat], seats[1 - seat]), []).append(means[seat])
    return {pair: math.fsum(means) / len(means) for pair, means in by_pair.items()}
