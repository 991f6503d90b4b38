"""History of a league, rebuilt from its ledger round by round: cross-play, learners' scores by round, learning curves.

Planning is a function of this history and the settings.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.scenarios.sources import Scenarios
from dond_marl.statistics import UNKNOWN, Estimate, points_of_ten, scenario_groups
from league.figures.rows import write_csv
from league.figures.tally import Tally
from league.play.values import ORACLES, Member, SeatOrderResult, oracles_among
from league.standings.crossplay import CrossPlay
from league.standings.ratings import Payoffs

if TYPE_CHECKING:
    from league.ledger.ledger import Ledger
    from league.settings.read import Config


class History:
    """Cross-play so far, each learner's points against each opponent by round, and the stage of each round."""

    def __init__(self, members: Sequence[Member], decay: float, oracles: Collection[str] = ()) -> None:
        self.members: tuple[Member, ...] = ()
        self.cross = CrossPlay(())
        self.add_members(member for member in members if member.born == 0 and member.split != "heldout")
        self.stages: list[int] = []  # by round
        # Payoffs at the time when the newest snapshot of each of the ``oracles`` had played its first matches. An
        # oracle's target mixture is computed from them, so it does not change until the next snapshot.
        self.settled: dict[str, Payoffs] = {}
        self._oracles = tuple(oracles)
        self._decay = decay

    @property
    def round(self) -> int:
        """Number of rounds in the history, which is the number of the next round."""
        return len(self.stages)

    def add_members(self, members: Iterable[Member]) -> None:
        """Add members that take part from the next round on."""
        self.members += tuple(members)
        joined = self.members[len(self.cross.members) :]
        self.cross.add_members((member.name for member in joined), oracles_among(joined))

    def add_round(
        self,
        stage: int,
        scenarios: Scenarios,
        legs: Sequence[SeatOrderResult],
        at_fault: Iterable[str],
        measured: bool = False,
        lost: Iterable[SeatOrderResult] = (),
    ) -> None:
        """Add a round. Earlier games of learners get less weight, or none if the round only ``measured``.

        ``at_fault`` and the ``lost`` legs: see :meth:`league.standings.crossplay.CrossPlay.add_round`.
        """
        live = [member.name for member in self.members if member.live]
        self.cross.decay(live, 0.0 if measured else self._decay)
        self.cross.add_round(scenarios, legs, at_fault, lost)
        for name in self._oracles:
            last = self.last_snapshot(name)
            if last is not None and last.born == self.round:
                self.settled[name] = self.cross.payoffs()
        self.stages.append(stage)

    def last_snapshot(self, learner: str) -> Member | None:
        """The newest snapshot of a learner, of one round the one listed last; ``None`` before its first."""
        return max(reversed(self.snapshots_of(learner)), key=lambda member: member.born, default=None)

    def snapshots_of(self, learner: str) -> list[Member]:
        """The snapshots of a learner, in the order of joining."""
        return [member for member in self.members if member.role == "snapshot" and member.parent == learner]


def history_of(ledger: Ledger, config: Config) -> History:
    """The history in a ledger, of a run with these settings."""
    members = ledger.members()
    history = History(members, config.league.decay, oracles_of(config))
    for _ in range(ledger.next_round):
        read_round(history, ledger, members, config)
    history.add_members(member for member in members if member.born == ledger.next_round > 0)
    return history


def oracles_of(config: Config) -> tuple[str, ...]:
    """The learners that practice against a solution of the meta-game, in any stage."""
    learners = config.learners
    return tuple(entry.name for entry in learners if any(version.is_oracle for version in config.versions(entry)))


def read_round(history: History, ledger: Ledger, members: Sequence[Member], config: Config) -> None:
    """Add the next committed round to ``history``; ``members`` are all those of the ledger."""
    number = history.round
    if number:
        history.add_members(member for member in members if member.born == number)
    legs, measured = list(ledger.legs(number)), number >= config.league.rounds
    lost = ledger.legs(number, failed=True)
    history.add_round(ledger.stage(number), ledger.scenarios(number), legs, ledger.at_fault(number), measured, lost)


def points_by_seats(
    scenarios: Scenarios, legs: Iterable[SeatOrderResult]
) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Points of ten of both seats, ``[K, 2]``, by the members in them; a round plays no leg twice.

    ``nan`` in games that are left out because a seat could not be reached.
    """
    wholes, points = scenarios.pool_values, {}  # computed once: a round may have thousands of legs
    for leg in legs:
        of_leg = points_of_ten(leg.facts["scores"], wholes)
        if (counted := leg.valid_games) is not None:
            of_leg[~counted] = np.nan
        points[leg.seats] = of_leg
    return points


class CurvePoint(NamedTuple):
    """A learner in one round, as it was when the round began."""

    round: int  # from 0: rounds of practice before it
    member: str
    decisions: int  # own, before the round
    points: Estimate  # of ten, mean of both seats from all fixed members that take part; nan where it played none
    gain: Estimate  # of the best response to it over its self-play, points of ten, sum of both seats; nan without one


def learning_curves(ledger: Ledger, confidence: float) -> list[CurvePoint]:
    """Every learner's figures, round by round; rounds without any are left out."""
    members = ledger.members()
    rounds = range(ledger.next_round) if any(member.live for member in members) else ()
    return [point for number in rounds for point in round_curves(ledger, number, members, confidence)]


def round_curves(ledger: Ledger, number: int, members: Sequence[Member], confidence: float) -> list[CurvePoint]:
    """The figures of one committed round."""
    learners = {member.name for member in members if member.live}
    fixed = [member.name for member in members if member.role == "fixed" and member.split == "train"]
    scenarios, before = ledger.scenarios(number), ledger.states(number - 1)
    groups = scenario_groups(scenarios)
    points = points_by_seats(scenarios, (leg for leg in ledger.legs(number) if learners & {*leg.seats}))

    def both_seats(name: str, opponent: str) -> list[NDArray[np.float64]]:
        pairs = ((name, opponent), (opponent, name))
        return [points[pair][:, seat] for seat, pair in enumerate(pairs) if pair in points]

    def estimate(cells: Sequence[NDArray[np.float64]]) -> Estimate:
        return Tally.of(np.stack(cells), groups).mean(confidence) if len(cells) else UNKNOWN

    curves = []
    for name in (member.name for member in members if member.name in learners):
        mean = estimate([cell for opponent in fixed for cell in both_seats(name, opponent)])
        newest = [m.name for m in members if m.role in ORACLES and m.parent == name and m.born == number]
        responses = [cells for oracle in newest if len(cells := both_seats(oracle, name)) == 2]
        alone = both_seats(name, name)
        gains = [estimate([np.sum(cells, axis=0) - np.sum(alone, axis=0)]) for cells in responses if alone]
        gain = max(gains, key=lambda gain: gain.mean, default=UNKNOWN)
        if not (math.isnan(mean.mean) and math.isnan(gain.mean)):
            curves.append(CurvePoint(number, name, before[name].decisions, mean, gain))
    return curves


def write_curves(path: Path, curves: Iterable[CurvePoint]) -> None:
    """Write the learning curves, a row per learner and round; ``after_rounds`` of practice, 0 being the start."""
    points = ("games", "points", "points_low", "points_high")
    gain = ("gain_games", "gain", "gain_low", "gain_high")
    rows = [(*point[:3], *(value for mean, n, *ends in point[3:] for value in (n, mean, *ends))) for point in curves]
    write_csv(path, ("after_rounds", "member", "decisions", *points, *gain), rows)
