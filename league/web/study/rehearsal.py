"""A study whose truth is known, to see whether the intervals of its analysis hold what they say.

Simulated participants are occupants that gamble with nothing, each drawn by lot from ``TYPES``; so are those they meet.
So every game of a type is known beforehand, over every scenario and from both seats, and the mean of a condition over
types, scenarios and seats is its truth, exactly. A repeat is a whole study by another seed: who meets whom, over which
scenarios and from which seat are the study's own, the games are looked up, and the analysis is the study's own. A test
holds the games to those that are played through its pages.
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
from league.web.study.analysis import MEASURES, Played, table
from league.web.study.assignment import Assignment, assignment
from league.web.study.settings import PERSON, StudyConfig

TYPES = {  # who simulated participants are, and with which chance
    "heuristic": 0.3,
    "nash_seeker": 0.2,
    "conceder": 0.2,
    "boulware": 0.15,
    "first_acceptable_offer": 0.15,
}
PARTICIPANTS = 129  # as many as played in Li et al. 2023
Scores = NDArray[np.float64]  # [rows of the source, seat of the first, who: the first, the second], points of ten


class Coverage(NamedTuple):
    """How often an interval held the truth."""

    condition: str
    measure: str
    truth: float
    mean: float  # of the estimates
    width: float  # the intervals' mean
    held: float  # share of the repeats


class World:
    """Every game that simulated participants can play under a study's settings.

    Raises :class:`InputError` where a partner gambles, or the scenarios are no finite table.
    """

    def __init__(self, config: StudyConfig, types: Mapping[str, float] = TYPES) -> None:
        self.config, self.types = config, dict(types)
        self._source = config.env.open_source()
        if self._source.table is None:
            raise InputError(f"a rehearsal needs scenarios of a finite table, such as lewis; got {self._source.label}")
        self._scores: dict[tuple[str, str], Scores] = {}
        for condition in config.conditions:
            for mine in self.types:
                for theirs in self.types if condition.with_a_person else (condition.whom,):
                    self._play(mine, theirs)

    def type_of(self, seed: int, number: int) -> str:
        """Who simulated participant ``number`` is."""
        names = list(self.types)
        shares = np.array(list(self.types.values()))
        return names[int(generator(seed, "study rehearsal", number).choice(len(names), p=shares / shares.sum()))]

    def truth(self, condition: str) -> dict[str, float]:
        """The expected figures of a condition, by measure, exactly."""
        partner = self.config.condition(condition).whom
        whom = self.types if partner == PERSON else {partner: 1.0}
        human = agent = product = whole = 0.0
        for mine, share in self.types.items():
            for theirs, chance in whom.items():
                scores, weight = self._scores[mine, theirs], share * chance
                whole += weight
                human += weight * float(scores[..., 0].mean())
                agent += weight * float(scores[..., 1].mean())
                product += weight * float((scores[..., 0] * scores[..., 1]).mean())
        human, agent, product = human / whole, agent / whole, product / whole
        if partner == PERSON:  # both of a table are the human of one row, and the agent of the other
            human = agent = (human + agent) / 2
        return dict(zip(MEASURES, (human, agent, (human + agent) / 2, human * agent, product), strict=True))

    def study(self, seed: int, participants: int = PARTICIPANTS) -> list[Played]:
        """The games of one study with another seed, as its analysis reads them; an odd person waits in vain."""
        config = self.config.model_copy(update={"study": self.config.study.model_copy(update={"seed": seed})})
        games, waiting = list[Played](), dict[str, int]()
        plans = [assignment(config, number) for number in range(participants)]
        for number, plan in enumerate(plans):
            for place, condition in enumerate(plan.conditions):
                first = place * config.study.games
                partner = config.condition(condition).whom
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
        """How often the interval of each figure held the truth in so many studies.

        Raises :class:`InputError` where a condition of a study has fewer than two clusters, and so no interval.
        """
        truths = {condition.name: self.truth(condition.name) for condition in self.config.conditions}
        found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
        for repeat in range(repeats):
            lines_of = table(self.study(seed + repeat, participants))
            thin = [name for name in truths if name not in lines_of or lines_of[name].clusters < 2]
            if thin:
                raise InputError(
                    f"{participants} participants are too few: fewer than two, or two pairs, met {thin[0]} in the "
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
            held = float(((low <= truth) & (truth <= high)).mean())
            lines.append(Coverage(name, measure, truth, float(mean.mean()), float((high - low).mean()), held))
        return lines

    def points(self, mine: str, theirs: str, row: int, seat: int) -> tuple[float, float]:
        """Points of ten of ``mine`` in ``seat`` and of ``theirs`` over a row of the source."""
        human, agent = self._scores[mine, theirs][row, seat].tolist()
        return human, agent

    def _with(
        self, seed: int, number: int, plan: Assignment, games: range, condition: str, partner: str
    ) -> list[Played]:
        mine = self.type_of(seed, number)
        rows = self._source.places(seed, plan.start + games.start, len(games)).tolist()
        pairs = [self.points(mine, partner, row, plan.seat(game)) for row, game in zip(rows, games, strict=True)]
        return [Played(number, number, condition, human, agent, human + agent > 0) for human, agent in pairs]

    def _pair(
        self, seed: int, first: int, second: int, plans: list[Assignment], condition: str, place: int
    ) -> list[Played]:
        """Two people at the tables of the one who came first."""
        start, count = place * self.config.study.games, self.config.study.games
        plan, types = plans[first], (self.type_of(seed, first), self.type_of(seed, second))
        played = []
        for row, game in zip(
            self._source.places(seed, plan.start + start, count).tolist(), range(start, start + count), strict=True
        ):
            mine, theirs = self.points(*types, row, plan.seat(game))
            deal = mine + theirs > 0
            played += [
                Played(first, first, condition, mine, theirs, deal),
                Played(first, second, condition, theirs, mine, deal),
            ]
        return played

    def _play(self, mine: str, theirs: str) -> None:
        """All games of ``mine`` with ``theirs``, over every row and from both seats."""
        pair = seat_occupant(mine), seat_occupant(theirs)
        if not all(partner.traits.deterministic for partner in pair):
            raise InputError(f"the truth is known of occupants alone that gamble with nothing; {mine} or {theirs} does")
        rows, rules = self._source.table, self.config.env.rules()
        assert rows is not None
        wholes = np.einsum("nsi,ni->ns", rows.utilities, rows.counts, dtype=np.int16)
        scores = np.zeros((rows.size, 2, 2))
        for seat in (0, 1):
            games = rollout(pair if seat == 0 else (pair[1], pair[0]), rows, rules, seed=0, prior=self._source.prior)
            both = points_of_ten(games.scores, wholes)
            scores[:, seat] = both if seat == 0 else both[:, ::-1]
        self._scores[mine, theirs] = scores


def markdown(lines: list[Coverage]) -> str:
    """The table of a rehearsal."""
    rows = ["| condition | figure | truth | mean of the estimates | mean width | held |", "|---|---|---|---|---|---|"]
    for each in lines:
        figures = (f"{number:.3f}" for number in (each.truth, each.mean, each.width))
        rows.append(f"| {each.condition} | {each.measure} | {' | '.join(figures)} | {each.held:.1%} |")
    return "\n".join(rows)
