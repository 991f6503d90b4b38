"""How a league behaves with more workers than this machine has: a discrete-event simulation of its rounds.

One head plans, hands tasks out and commits; workers fetch weights and work. What everything costs is measured
(:mod:`league.experiments.scaling.costs`); what is simulated is who waits for whom. A round is committed when all its
tasks are done, and planned once the round ``lag`` before it is committed. With a lag of 1, as in the league, everybody
waits for the slowest task; a larger lag keeps workers busy, but plans from an older state of the ledger.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dond_marl.randomness import generator

if TYPE_CHECKING:
    import simpy

    Process = Generator[simpy.Event, object, None]

ROUNDS = 8  # that are simulated
SETTLING = 2  # of them at the beginning, when weights are fetched for the first time, that are not counted
NETWORK = 1.25e9  # bytes a second from the head to all workers: ten gigabits, assumed and not measured
CACHED = 64  # networks that a worker keeps: league.tasks


class Costs(NamedTuple):
    """What things cost, in seconds of one core unless they say something else; measured."""

    practice: tuple[float, ...]  # a round of practice, by learner as in :class:`Shape`
    matches: tuple[float, ...]  # of some matches; others are drawn from them
    hand_out: float  # of the head: a task and its result, to a worker and back
    plan: tuple[float, float, float]  # a round; per pair of members; per learner and pair of members
    fold: tuple[float, float]  # a round; per leg
    commit: tuple[float, float, float]  # a round; per leg; per opponent of a practice
    leg_bytes: int  # of one row of the ledger
    weights_bytes: int  # of one learner's blob
    load: float  # to read one blob and make a network of it


class Shape(NamedTuple):
    """What a round of a league holds."""

    learners: int
    members: int  # all of them
    matches: int  # a round, each of two legs
    decisions: tuple[int, ...]  # own, of one round of practice: of the first learner, the second, ... and so again
    games: int  # of one match, both legs
    opponents: int  # of one practice
    met: int  # of them, those that learn: their weights are new every round

    @property
    def decisions_of_all(self) -> int:
        """Own decisions of one round of practice of every learner."""
        return sum(self.decisions[learner % len(self.decisions)] for learner in range(self.learners))


class Load(NamedTuple):
    """What a simulated league came to."""

    workers: int
    seconds: float  # a round
    decisions: float  # own, per second, of all learners
    games: float  # of matches, per second
    busy: float  # share of the workers' time in tasks
    head: float  # share of the head's time
    planning: float  # of it, and so the next two
    handing: float
    writing: float  # commits and folds
    network: float  # share of the time in which the head's link is in use
    stale: float  # seconds since the weights of an opponent were committed, when a practice is over, mean
    rows: float  # of matches, per second
    ledger_bytes: float  # per second


class Task(NamedTuple):
    """A task of a round; ``learner`` is ``None`` for a match."""

    round: int
    learner: int | None
    seconds: float


def planned(costs: Costs, shape: Shape) -> float:
    """Seconds that planning a round takes."""
    a_round, a_pair, a_learner = costs.plan
    pairs = shape.members**2
    return a_round + a_pair * pairs + a_learner * shape.learners * pairs


def written(costs: Costs, shape: Shape) -> float:
    """Seconds that folding and committing a round takes."""
    legs, met = 2 * shape.matches, shape.learners * shape.opponents
    fold, commit = costs.fold[0] + costs.fold[1] * legs, costs.commit[0] + costs.commit[1] * legs
    return fold + commit + costs.commit[2] * met


def alone(costs: Costs, shape: Shape) -> float:
    """Own decisions per second of one core that does nothing but practice, all learners in turn."""
    seconds = sum(costs.practice[learner % len(costs.practice)] for learner in range(shape.learners))
    return shape.decisions_of_all / seconds


def simulate(
    costs: Costs, shape: Shape, workers: int, *, lag: int = 1, together: int = 1, rounds: int = ROUNDS
) -> Load:
    """A league of ``rounds`` rounds on so many workers, ``together`` matches being one task.

    The same arguments give the same figures.
    """
    assert rounds > SETTLING
    return _League(costs, shape, workers, lag, together, rounds).run()


class _League:
    """The clockwork: the head, its link, the workers, and who waits for whom."""

    def __init__(self, costs: Costs, shape: Shape, workers: int, lag: int, together: int, rounds: int) -> None:
        import simpy  # only needed here

        self.costs, self.shape, self.workers, self.lag, self.rounds = costs, shape, workers, lag, rounds
        self.together = together
        self.fetch = costs.weights_bytes / NETWORK
        self.clock = simpy.Environment()
        self.head, self.link = simpy.Resource(self.clock), simpy.Resource(self.clock)
        self.tasks: simpy.Store = simpy.Store(self.clock)
        self.committed = [self.clock.event() for _ in range(rounds)]
        self.practiced = [[self.clock.event() for _ in range(shape.learners)] for _ in range(rounds)]
        self.left = [0] * rounds  # tasks of each round that are not done
        self.finished = [self.clock.event() for _ in range(rounds)]
        self.at: list[float] = [0.0] * rounds  # when each was committed
        self.spent = dict.fromkeys(("busy", "planning", "handing", "writing", "network"), 0.0)
        self.stale: list[float] = []
        self.chance = generator(0, "scaling", workers, shape.learners, shape.matches, lag)

    def run(self) -> Load:
        for number in range(self.rounds):
            self.clock.process(self._round(number))
        for _ in range(self.workers):
            self.clock.process(self._worker())
        self.clock.run(until=self.committed[SETTLING - 1])
        began, before = self.clock.now, dict(self.spent)
        self.stale.clear()
        self.clock.run(until=self.committed[-1])
        seconds, counted = self.clock.now - began, self.rounds - SETTLING
        share = {name: (spent - before[name]) / seconds for name, spent in self.spent.items()}
        share["busy"] /= self.workers
        legs = 2 * self.shape.matches * counted / seconds
        return Load(
            workers=self.workers,
            seconds=seconds / counted,
            decisions=self.shape.decisions_of_all * counted / seconds,
            games=self.shape.matches * self.shape.games * counted / seconds,
            head=share["planning"] + share["handing"] + share["writing"],
            stale=float(np.mean(self.stale)) if self.stale else 0.0,
            rows=legs,
            ledger_bytes=legs * self.costs.leg_bytes,
            **share,
        )

    def _round(self, number: int) -> Process:
        """Plan, hand out, wait for all, fold and commit; rounds are planned and committed in their order."""
        if number >= self.lag:
            yield self.committed[number - self.lag]
        yield from self._at_head("planning", planned(self.costs, self.shape))
        tasks = [
            Task(number, learner, self.costs.practice[learner % len(self.costs.practice)])
            for learner in range(self.shape.learners)
        ]
        seconds_of = self.chance.choice(self.costs.matches, self.shape.matches)
        starts = np.arange(0, len(seconds_of), self.together)
        tasks += [Task(number, None, seconds) for seconds in np.add.reduceat(seconds_of, starts).tolist()]
        self.left[number] = len(tasks)
        for task in tasks:  # the long ones first
            yield from self._at_head("handing", self.costs.hand_out)
            if task.learner is not None and number:
                self.clock.process(self._when_ready(task))
            else:
                self.tasks.put(task)
        yield self.finished[number]
        if number:
            yield self.committed[number - 1]
        yield from self._at_head("writing", written(self.costs, self.shape))
        self.at[number] = self.clock.now
        self.committed[number].succeed()

    def _when_ready(self, task: Task) -> Process:
        """A learner goes on from its own last practice, which with a lag may not be over yet."""
        assert task.learner is not None
        yield self.practiced[task.round - 1][task.learner]
        self.tasks.put(task)

    def _worker(self) -> Process:
        """Take a task, fetch the weights that it needs and that are new, and work."""
        everybody = -1  # the round of which this worker has all weights
        while True:
            task = yield self.tasks.get()
            assert isinstance(task, Task)
            needed = self.shape.met if task.learner is not None else 1
            if everybody < task.round and self.shape.learners:
                with self.link.request() as turn:
                    yield turn
                    yield self.clock.timeout(needed * self.fetch)
                    self.spent["network"] += needed * self.fetch
                yield self.clock.timeout(needed * self.costs.load)
                if task.learner is not None and needed <= CACHED:
                    everybody = task.round
            yield self.clock.timeout(task.seconds)
            self.spent["busy"] += task.seconds
            if task.learner is not None:
                known = task.round - self.lag  # the last round committed when this one was planned
                self.stale.append(self.clock.now - (self.at[known] if known >= 0 else 0.0))
                self.practiced[task.round][task.learner].succeed()
            self.left[task.round] -= 1
            if not self.left[task.round]:
                self.finished[task.round].succeed()

    def _at_head(self, what: str, seconds: float) -> Process:
        with self.head.request() as turn:
            yield turn
            yield self.clock.timeout(seconds)
            self.spent[what] += seconds
