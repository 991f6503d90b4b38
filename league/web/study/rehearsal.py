"""Rehearsal of a study's analysis on simulated participants whose true figures are known exactly.

Simulated participants are deterministic occupants, drawn from ``TYPES``; so are their opponents. Every game of a pair
of types is therefore known, over every scenario and in both seats, and the truth of a condition is the mean over
types, scenarios and seats. Each repeat is a whole study with another seed: assignment, scenarios and seats are the
study's own, the games are looked up, and the analysis is the study's own. A test compares the looked-up games with
games played through the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.statistics import points_of_ten
from league.web.study.analysis import MEASURES, StudyGame, summarise
from league.web.study.assignment import Assignment, assignment
from league.web.study.settings import PERSON, StudyConfig

TYPES = {  # policies of simulated participants with their probability
    "heuristic": 0.3,
    "nash_seeker": 0.2,
    "conceder": 0.2,
    "boulware": 0.15,
    "first_acceptable_offer": 0.15,
}
PARTICIPANTS = 129  # as many as played in Li et al. 2023
Scores = NDArray[np.float64]  # [scenarios, seat of the first, (first, second)], points of ten


class Coverage(NamedTuple):
    """Share of the intervals that contain the truth."""

    condition: str
    measure: str
    truth: float
    mean: float  # of the estimates
    width: float  # the intervals' mean
    covered: float  # share of the repeats


class Rehearsal:
    """All games of simulated participants under a study's settings.

    Raises :class:`InputError` if an opponent is random, or the scenarios are no finite table.
    """

    def __init__(self, config: StudyConfig, types: Mapping[str, float] = TYPES) -> None:
        self.config, self.types = config, dict(types)
        self._source = config.env.open_source()
        if self._source.table is None:
            raise InputError(f"a rehearsal needs scenarios of a finite table, such as lewis; got {self._source.label}")
        self._scores: dict[tuple[str, str], Scores] = {}
        for condition in config.conditions:
            for mine in self.types:
                for theirs in self.types if condition.with_a_person else (condition.opponent,):
                    self._play(mine, theirs)

    def type_of(self, seed: int, number: int) -> str:
        """The policy of simulated participant ``number``."""
        names = list(self.types)
        shares = np.array(list(self.types.values()))
        return names[int(generator(seed, "study rehearsal", number).choice(len(names), p=shares / shares.sum()))]

    def truth(self, condition: str) -> dict[str, float]:
        """The exact expected figures of a condition, by measure."""
        partner = self.config.condition(condition).opponent
        opponents = self.types if partner == PERSON else {partner: 1.0}
        human = agent = product = whole = 0.0
        for mine, share in self.types.items():
            for theirs, chance in opponents.items():
                scores, weight = self._scores[mine, theirs], share * chance
                whole += weight
                human += weight * float(scores[..., 0].mean())
                agent += weight * float(scores[..., 1].mean())
                product += weight * float((scores[..., 0] * scores[..., 1]).mean())
        human, agent, product = human / whole, agent / whole, product / whole
        if partner == PERSON:  # both of a table are the human of one row, and the agent of the other
            human = agent = (human + agent) / 2
        return dict(zip(MEASURES, (human, agent, (human + agent) / 2, human * agent, product), strict=True))

    def study(self, seed: int, participants: int = PARTICIPANTS) -> list[StudyGame]:
        """The games of one study with another seed; a participant without a second person plays none."""
        config = self.config.model_copy(update={"study": self.config.study.model_copy(update={"seed": seed})})
        games, waiting = list[StudyGame](), dict[str, int]()
        plans = [assignment(config, number) for number in range(participants)]
        for number, plan in enumerate(plans):
            for place, condition in enumerate(plan.conditions):
                first = place * config.study.games
                partner = config.condition(condition).opponent
                if partner != PERSON:
                    games += self._with(
                        seed, number, plan, range(first, first + config.study.games), condition, partner
                    )
                elif condition in waiting:
                    games += self._pair(seed, waiting.pop(condition), number, plans, condition, place)
                else:
                    waiting[condition] = number
        return games

    def coverage(self, repeats: int, participants: int = PARTICIPANTS, seed: int = 0) -> list[Coverage]:
        """Coverage of the interval of each figure over ``repeats`` studies.

        Raises :class:`InputError` if a condition of a study has fewer than two clusters, and so no interval.
        """
        truths = {condition.name: self.truth(condition.name) for condition in self.config.conditions}
        found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        for repeat in range(repeats):
            lines_of = summarise(self.study(seed + repeat, participants))
            thin = [name for name in truths if name not in lines_of or lines_of[name].clusters < 2]
            if thin:
                raise InputError(
                    f"{participants} participants are too few: fewer than two, or two pairs, had {thin[0]} in the "
                    f"study of seed {seed + repeat}, and an interval needs two; take more"
                )
            for name, line in lines_of.items():
                for measure, figure in line.figures.items():
                    found.setdefault((name, measure), []).append((figure.mean, figure.low, figure.high))
        lines = []
        for (name, measure), figures in sorted(
            found.items(), key=lambda item: (item[0][0], MEASURES.index(item[0][1]))
        ):
            mean, low, high = np.array(figures).T
            truth = truths[name][measure]
            covered = float(((low <= truth) & (truth <= high)).mean())
            lines.append(Coverage(name, measure, truth, float(mean.mean()), float((high - low).mean()), covered))
        return lines

    def points(self, mine: str, theirs: str, row: int, seat: int) -> tuple[float, float]:
        """Points of ten of ``mine`` in ``seat`` and of ``theirs`` over a row of the source."""
        human, agent = self._scores[mine, theirs][row, seat].tolist()
        return human, agent

    def _with(
        self, seed: int, number: int, plan: Assignment, games: range, condition: str, partner: str
    ) -> list[StudyGame]:
        mine = self.type_of(seed, number)
        rows = self._source.places(seed, plan.start + games.start, len(games)).tolist()
        pairs = [self.points(mine, partner, row, plan.seat(game)) for row, game in zip(rows, games, strict=True)]
        return [StudyGame(number, number, condition, human, agent, human + agent > 0) for human, agent in pairs]

    def _pair(
        self, seed: int, first: int, second: int, plans: list[Assignment], condition: str, place: int
    ) -> list[StudyGame]:
        """The games of two participants at the tables of the one with the lower number."""
        start, count = place * self.config.study.games, self.config.study.games
        plan, types = plans[first], (self.type_of(seed, first), self.type_of(seed, second))
        played = []
        for row, game in zip(
            self._source.places(seed, plan.start + start, count).tolist(), range(start, start + count), strict=True
        ):
            mine, theirs = self.points(*types, row, plan.seat(game))
            deal = mine + theirs > 0
            played += [
                StudyGame(first, first, condition, mine, theirs, deal),
                StudyGame(first, second, condition, theirs, mine, deal),
            ]
        return played

    def _play(self, mine: str, theirs: str) -> None:
        """Play all games of ``mine`` against ``theirs``, over every scenario and in both seats."""
        pair = seat_occupant(mine), seat_occupant(theirs)
        if not all(partner.traits.deterministic for partner in pair):
            raise InputError(f"the truth is known only for deterministic occupants; {mine} or {theirs} is random")
        rows, rules = self._source.table, self.config.env.rules()
        assert rows is not None
        wholes = np.einsum("nsi,ni->ns", rows.utilities, rows.counts, dtype=np.int16)
        scores = np.zeros((rows.size, 2, 2))
        for seat in (0, 1):
            games = rollout(pair if seat == 0 else (pair[1], pair[0]), rows, rules, seed=0, prior=self._source.prior)
            both = points_of_ten(games.scores, wholes)
            scores[:, seat] = both if seat == 0 else both[:, ::-1]
        self._scores[mine, theirs] = scores


def coverage_table(lines: list[Coverage]) -> str:
    """A rehearsal as a Markdown table."""
    rows = [
        "| condition | figure | truth | mean of the estimates | mean width | covered |",
        "|---|---|---|---|---|---|",
    ]
    for each in lines:
        figures = (f"{number:.3f}" for number in (each.truth, each.mean, each.width))
        rows.append(f"| {each.condition} | {each.measure} | {' | '.join(figures)} | {each.covered:.1%} |")
    return "\n".join(rows)
