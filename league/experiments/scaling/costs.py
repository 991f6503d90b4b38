"""What the parts of a league cost on this machine: practice, matches, planning, folding, committing, handing out.

Everything is done for real on a small scale: the settings' own learners practice, some of their matches are played, a
ledger is written, leagues of up to 200 members are planned, tasks go to another process and back. Nothing is kept.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from dond_marl.randomness import generator
from league.experiments.scaling.simulation import Costs, Shape
from league.ledger.ledger import Ledger
from league.rounds.planner import Plan, block_of, first_states, members_of, plan_round
from league.settings.read import Config
from league.settings.sections import MemberConfig
from league.standings.history import History
from league.tasks.blobs import SUFFIX, read_blob
from league.tasks.match import play
from league.tasks.train_task import train
from league.tasks.values import (
    FACTS,
    LearnerState,
    Leg,
    MatchResult,
    Meeting,
    Member,
    Place,
    Round,
    Seated,
    TrainResult,
    TrainTask,
    block_scenarios,
)

MATCHES = 24  # that are played for the clock, spread over the first round
SIZES = ((25, 2), (50, 4), (100, 8), (200, 16))  # members and learners of the leagues that are planned
MET = 64  # legs that each of their members has played
LEGS = (64, 1024)  # in rounds that are folded and committed
MEETINGS = 512  # members of the league that these are of, and opponents of a practice in it
FEW = 16  # scenarios of a match whose points do not matter
REPEATS = 3  # of what is quick; the shortest counts
TRIPS = 200  # of a task to another process and back


def measured(
    config: Config, tell: Callable[[str], None] = lambda _: None, sizes: Sequence[tuple[int, int]] = SIZES
) -> tuple[Costs, Shape]:
    """The costs and the shape of a league with learners, on one core of this machine; takes a minute or two.

    ``tell`` is called with what is being measured; ``sizes``: members and learners of the leagues that are planned.
    """
    assert config.learners, "a league in which nobody learns has nothing to wait for"
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        states = first_states(config, place.blobs)
        history = History(members_of(config), config.league.decay)
        first = plan_round(config, history, states)
        tell("matches")
        matches, result = _matches(first, place)
        practice = []
        for task in first.training:
            tell(f"the practice of {task.learner.name}")
            practice.append(_practice(task, place))
        blob = states[config.learners[0].name].blob
        load = _shortest(lambda: read_blob(place.blobs, blob).network())
        size = (place.blobs / (blob + SUFFIX)).stat().st_size
        tell("folding and committing")
        fold, commit = _rounds(config, Path(folder), first, result)
    tell("planning")
    plans = [(members, learners, _planning(config, members, learners)) for members, learners in sizes]
    tell("a task to another process and back")
    costs = Costs(
        practice=tuple(practice),
        matches=matches,
        hand_out=_handing(result),
        plan=_fitted(plans),
        fold=fold,
        commit=commit,
        leg_bytes=config.league.block_size * FACTS.itemsize,
        weights_bytes=size,
        load=load,
    )
    shape = Shape(
        learners=len(first.training),
        members=len(history.members),
        matches=len(first.matches),
        decisions=tuple(task.learner.decisions for task in first.training),
        games=2 * config.league.block_size,
        opponents=len(first.training[0].meetings),
        met=len(first.training),
    )
    return costs, shape


def _shortest(work: Callable[[], object]) -> float:
    """Seconds; the first time, which loads and caches, does not count."""
    work()
    return min(_seconds(work) for _ in range(REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    """Seconds of processor time of this process, all of its threads: what else the machine does changes little."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _matches(first: Plan, place: Place) -> tuple[tuple[float, ...], MatchResult]:
    """Seconds of some matches of the first round, and one result."""
    some = first.matches[:: max(len(first.matches) // MATCHES, 1)]
    results = [play(task, place) for task in some]
    return tuple(min(_seconds(partial(play, task, place)) for _ in range(2)) for task in some), results[-1]


def _practice(task: TrainTask, place: Place) -> float:
    """Seconds of a learner's first round of practice; a short one goes before, which seats everybody."""
    train(dataclasses.replace(task, learner=task.learner.model_copy(update={"decisions": 1})), place)
    return _seconds(lambda: train(task, place))


def _rounds(
    config: Config, folder: Path, first: Plan, result: MatchResult
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """What folding costs, a round and a leg; and committing: a round, a leg with its share of a match, a meeting."""
    folds = [_folding(config, legs, result) for legs in LEGS]
    few, many = (_committing(config, folder, first, result, legs, meetings=1) for legs in LEGS)
    met = _committing(config, folder, first, result, LEGS[0], meetings=MEETINGS)
    fold, a_leg = (max(more, 0.0) / (LEGS[1] - LEGS[0]) for more in (folds[1] - folds[0], many - few))
    a_meeting = max(met - few, 0.0) / (MEETINGS - 1)
    return (max(folds[0] - fold * LEGS[0], 0.0), fold), (max(few - a_leg * LEGS[0], 0.0), a_leg, a_meeting)


def _named(number: int) -> Member:
    return Member(f"member {number}", "random")


def _legs(legs: int, result: MatchResult) -> list[Leg]:
    """Different pairs of ``MEETINGS`` members, all with the games of one."""
    pairs = [(k % MEETINGS, (k % MEETINGS + k // MEETINGS) % MEETINGS) for k in range(legs)]
    return [Leg((_named(a).name, _named(b).name), result.legs[0].facts) for a, b in pairs]


def _folding(config: Config, legs: int, result: MatchResult) -> float:
    """Seconds of adding a round of so many legs to what is known of a league of ``MEETINGS`` members."""
    scenarios = block_scenarios(config.env, config.league.seed, block_of(config, 0))
    history = History([_named(number) for number in range(MEETINGS)], config.league.decay)
    played = _legs(legs, result)
    return _shortest(lambda: history.add_round(0, scenarios, played, ()))


def _committing(config: Config, folder: Path, first: Plan, result: MatchResult, legs: int, meetings: int) -> float:
    """Seconds of committing a round of so many legs, and of one practice against so many opponents."""
    block, played, task = block_of(config, 0), _legs(legs, result), first.training[0]
    scenarios = block_scenarios(config.env, config.league.seed, block)
    number = len(first.training)
    matches = []
    for k in range(0, legs, 2):
        pair = Seated(_named(k % MEETINGS)), Seated(_named((k + 1) % MEETINGS))
        match = dataclasses.replace(result.task, number=number + k, members=pair)
        matches.append(MatchResult(match, tuple(played[k : k + 2])))
    crowd = tuple(Meeting(Seated(_named(k)), 1 / meetings, task.meetings[0].reason) for k in range(meetings))
    learner = task.learner.model_copy(update={"name": _named(0).name})
    practiced = dataclasses.replace(task, number=0, meetings=crowd, learner=learner)
    trained = [TrainResult(practiced, task.state, b"", 5.0, 0.9)]
    played_round = Round(0, 0, block, scenarios, matches, trained, {learner.name: task.state})
    seconds = []
    for attempt in range(REPEATS):
        with Ledger(folder / f"{legs}-{meetings}-{attempt}.sqlite") as ledger:
            ledger.begin({}, {}, [_named(k) for k in range(MEETINGS)], {})
            seconds.append(_seconds(partial(ledger.commit_round, played_round, 0.0)))
    return min(seconds)


def _planning(config: Config, members: int, learners: int) -> float:
    """Seconds of planning a round of a league of so many members, of which so many learn."""
    scripted = tuple(MemberConfig.model_validate(f"boulware(exponent={k + 1})") for k in range(members - learners))
    like = config.learners[0].model_copy(update={"gate": None})
    learning = tuple(like.model_copy(update={"name": f"learner_{k}"}) for k in range(learners))
    grown = config.model_copy(
        update={"members": scripted, "gate": (), "heldout": (), "learners": learning, "stages": ()}
    )
    history = History(members_of(grown), config.league.decay)
    names = [member.name for member in history.members]
    facts = np.zeros(FEW, dtype=FACTS)
    facts["scores"] = generator(0, "scaling costs").integers(0, 11, (FEW, 2))
    legs = [Leg((names[a], names[(a + k) % members]), facts) for a in range(members) for k in range(min(MET, members))]
    block = dataclasses.replace(block_of(config, 0), size=FEW)
    history.add_round(0, block_scenarios(config.env, config.league.seed, block), legs, ())
    states = {learner.name: LearnerState("0" * 64, 0, 0, 0) for learner in learning}
    return _shortest(lambda: plan_round(grown, history, states))


def _fitted(plans: Sequence[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Planning as a sum of a round, pairs of members, and learners times pairs of members; least squares, none < 0."""
    from scipy.optimize import nnls  # slow to import

    size, learners, seconds = (np.array(column, dtype=float) for column in zip(*plans, strict=True))
    columns = np.stack([np.ones(len(size)), size**2, learners * size**2], axis=1)
    fitted = nnls(columns / seconds[:, None], np.ones(len(size)))[0]  # relative errors: small leagues count as much
    return float(fitted[0]), float(fitted[1]), float(fitted[2])


def _handing(result: MatchResult) -> float:
    """Seconds of this process for a task to another process and its result back, besides the work."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as pool:

        def trips() -> None:
            for _ in range(TRIPS):
                pool.submit(_echo, result).result()

        trips()
        return min(_seconds(trips) for _ in range(REPEATS)) / TRIPS


def _echo(result: MatchResult) -> MatchResult:
    return result
