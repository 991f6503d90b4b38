"""The values of a league's work: its members, the two kinds of task, their results, and what a round leaves behind.

A task is a match (two members over one block of scenarios, in both seat orders) or one learner's practice of a round.
It is a value and its result a function of it, so that it may run anywhere, twice, and in any order. Reading this
module loads no PyTorch.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.occupants import OccupantNameError, catalogue, in_file, parse_spec, seat_occupant
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Bools, Int8s, Partner, costs_to_ask
from league.settings.sections import UNREACHED_BOUND, EnvConfig
from league.settings.training import HintsConfig
from league.tasks.answers import Answers, counted_in, unreached_in
from league.tasks.blame import Within, asking, watched
from league.tasks.contained import contained
from partners.catalogue import PARTNERS

if TYPE_CHECKING:
    from league.settings.learner import LearnerConfig

# One game as the ledger keeps it: both scores in points, how it ended (an Ending), whether a deal closed, acts said,
# and how many of them each seat played as a fallback instead of its own choice.
FACTS = np.dtype(
    [("scores", "<i2", (2,)), ("ending", "<i1"), ("deal", "<i1"), ("turns", "<i1"), ("fallbacks", "<i1", (2,))]
)
PINS = ("numpy", "torch", "dond-marl")  # libraries that the figures may depend on
COSTLY = frozenset(("human", "llm"))  # the project's occupants that cost something to ask

Role = Literal["fixed", "main", "main_exploiter", "league_exploiter", "snapshot"]
Split = Literal["train", "gate", "heldout"]


@dataclass(frozen=True, slots=True)
class Member:
    """Who takes part: a unique name, and the occupant's spec where it is not a network of this league.

    A snapshot takes part from round ``born`` on and is what its ``parent`` was, for good: ``blob`` names its weights.
    A learner practices against the split ``train``, is judged for a snapshot by ``gate`` too, and meets ``heldout``
    only once the league is over.
    """

    name: str
    spec: str | None
    role: Role = "fixed"
    split: Split = "train"
    parent: str | None = None
    born: int = 0
    blob: str | None = None

    @property
    def live(self) -> bool:
        return self.role not in ("fixed", "snapshot")

    @property
    def costly(self) -> bool:
        """Whether it costs something to ask: see :func:`dond_marl.seats.costs_to_ask`."""
        return self.spec is not None and _costs(self.spec)


class Seated(NamedTuple):
    """A member with the weights that it plays a match with, ``None`` where it has none."""

    member: Member
    blob: str | None = None

    @property
    def name(self) -> str:
        return self.member.name


class LearnerState(NamedTuple):
    """Where a learner stands: its weights and its optimizer's (a blob), and counters of its present life."""

    blob: str
    updates: int
    decisions: int
    games: int
    life: int = 0  # how often it has started over


class Place(NamedTuple):
    """Where a run's weights lie; not part of any task, so that a run may be moved."""

    blobs: Path


@dataclass(frozen=True, slots=True)
class Block:
    """Scenarios ``start`` to ``start + size`` of the run's sequence, common to all matches of a round."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class MatchTask:
    """Two members over a block, both seat orders (one, where a member meets itself)."""

    round: int
    number: int  # within the round
    members: tuple[Seated, Seated]
    block: Block
    env: EnvConfig
    seed: int
    reason: str  # why the planner chose this match
    unreached: float = UNREACHED_BOUND  # share of the games, 0..1, in which somebody may be out of reach

    def __str__(self) -> str:
        return f"the match of {self.members[0].name} and {self.members[1].name} in round {self.round + 1}"

    @property
    def legs(self) -> tuple[tuple[Seated, Seated], ...]:
        """Who sits in seat_0 and seat_1 of each leg."""
        first, second = self.members
        return ((first, second),) if first.name == second.name else ((first, second), (second, first))

    @property
    def asked(self) -> tuple[Seated, ...]:
        """Everybody who is asked for decisions; in a practice its learner only where it meets itself."""
        return self.members

    @property
    def blobs(self) -> set[str]:
        """The names of the weights that it needs."""
        return {seat.blob for seat in self.asked if seat.blob is not None}

    def forfeited(self, member: str, cause: str) -> MatchResult:
        """The result where ``member`` made the match impossible: no leg at all."""
        return MatchResult(self, (), member, cause)


class Leg(NamedTuple):
    """One seat order of a match: names in seat order and the facts of each game, in the order of the block."""

    seats: tuple[str, str]
    facts: NDArray[np.void]  # [size] of FACTS
    causes: Int8s | None = (
        None  # [size, 2, C] why each seat fell back, see league.tasks.answers; None: nobody, or unkept
    )

    @property
    def counted(self) -> Bools | None:
        """Which games count, ``[size]``; ``None``: all. Where a seat was not reached, a game counts for nobody."""
        if self.causes is None:
            return None
        missing: Bools = unreached_in(self.causes).max(axis=1)
        return ~missing if missing.any() else None

    @property
    def answers(self) -> tuple[Answers, Answers]:
        """Who answered for each seat."""
        return counted_in(self.facts["turns"], self.facts["fallbacks"], self.causes)


class MatchResult(NamedTuple):
    """What came of a task: its legs, or whose fault it was that it came to nothing.

    A failed match keeps the legs that were played where somebody could not be reached: they count for nobody.
    """

    task: MatchTask
    legs: tuple[Leg, ...]
    failed: str | None = None  # the member at fault
    cause: str | None = None

    @property
    def games(self) -> int:
        return sum(len(leg.facts) for leg in self.legs)


class Meeting(NamedTuple):
    """Somebody to practice against, how often, and why."""

    opponent: Seated
    probability: float
    reason: str
    by_seat: tuple[float, float] | None = None  # how often in seat_0 and in seat_1, where that differs


@dataclass(frozen=True, slots=True)
class TrainTask:
    """One learner's practice of a round, against opponents drawn for every game, by the rules of a stage."""

    round: int
    number: int  # within the round
    learner: LearnerConfig  # as the stage has it
    state: LearnerState
    meetings: tuple[Meeting, ...]
    env: EnvConfig  # of the stage
    hints: HintsConfig
    seed: int
    total_decisions: int  # over the whole league, for annealing
    unreached: float = UNREACHED_BOUND  # share of an update's games, 0..1, in which the opponent may be out of reach
    repaired: Decision | None = None  # what the league repairs of the learner in this practice; None: it repairs nobody
    reservoir: str | None = None  # the blob of the acts that the learner's average is learned from; None: it has none

    def __str__(self) -> str:
        return f"the practice of {self.learner.name} in round {self.round + 1}"

    @property
    def asked(self) -> tuple[Seated, ...]:
        return tuple(meeting.opponent for meeting in self.meetings)

    @property
    def blobs(self) -> set[str]:
        named = (self.state.blob, self.reservoir, *(seat.blob for seat in self.asked))
        return {blob for blob in named if blob is not None}

    def forfeited(self, member: str, cause: str) -> TrainResult:
        return self.unfinished(f"{member}: {cause}")

    def unfinished(self, cause: str) -> TrainResult:
        """The result where the practice could not be finished: the learner stays as it was."""
        return TrainResult(self, self.state, None, math.nan, math.nan, self.learner.name, cause)


class TrainResult(NamedTuple):
    """What came of a train task; a failed one leaves the learner as it was."""

    task: TrainTask
    state: LearnerState
    content: bytes | None  # of the new blob; None where it failed
    points: float  # of ten per game while it practiced, whoever it met
    deals: float  # share of the games that it practiced
    failed: str | None = None  # the learner, whose practice could not be finished
    cause: str | None = None
    turns: float = math.nan  # acts of both seats per game that it practiced
    acts_kept: bytes | None = None  # of the blob of the acts that its average is learned from; None: it has none

    @property
    def games(self) -> int:
        return self.state.games - self.task.state.games

    @property
    def acts(self) -> int:
        """Acts of both seats in the games that it practiced; 0 where the practice could not be finished."""
        return 0 if math.isnan(self.turns) else round(self.turns * self.games)


Task = MatchTask | TrainTask
Result = MatchResult | TrainResult


class Decision(NamedTuple):
    """What was decided of a learner (``snapshot``, ``reset``, ``repair``) or the curriculum (``stage``), and why."""

    kind: Literal["snapshot", "reset", "repair", "stage"]
    subject: str  # the learner, or the stage that ends
    taken: bool
    reason: str


class Round(NamedTuple):
    """Everything that a round leaves behind, before it is written."""

    number: int
    stage: int
    block: Block
    scenarios: Scenarios
    matches: Sequence[MatchResult]
    trained: Sequence[TrainResult] = ()
    states: Mapping[str, LearnerState] = {}  # of every learner, once the round is over
    born: Sequence[Member] = ()  # who takes part from the next round on
    decisions: Sequence[Decision] = ()


def seated(who: Seated, place: Place, greedy: bool = False) -> Partner:
    """An occupant, made once per process: it is a pure function, so one may sit in every match.

    ``greedy``: a network of this league takes its likeliest act every time; others are as their spec says.
    """
    with asking(who.name):
        if who.blob is not None:
            return watched(who.name, _network(who.blob, place, greedy))
        assert who.member.spec is not None
        if _of_others(kinds_in(who.member.spec)):
            with contained(who.name):
                return watched(who.name, Within(partial(contained, who.name), _occupant(who.member.spec)))
        return watched(who.name, _occupant(who.member.spec))


@lru_cache(maxsize=256)
def _occupant(spec: str) -> Partner:
    return seat_occupant(spec)


@lru_cache(maxsize=64)
def _network(blob: str, place: Place, greedy: bool) -> Partner:
    from league.tasks.blobs import read_blob  # PyTorch is loaded only where a network plays
    from partners.network.partner import NetworkPartner

    return NetworkPartner(read_blob(place.blobs, blob).network(), greedy=greedy)


@lru_cache(maxsize=4096)
def kinds_in(spec: str) -> frozenset[str]:
    """The kind that a spec names and those in its parameters, as in a mixture; other words there count as kinds too."""
    try:
        kind, parameters = parse_spec(spec)
    except OccupantNameError:  # another text, such as a path
        return frozenset()
    inside = [item for value in parameters.values() for item in (value if isinstance(value, list | tuple) else [value])]
    return frozenset((kind,)).union(*(kinds_in(item) for item in inside if isinstance(item, str)))


def _of_others(kinds: frozenset[str]) -> bool:
    """Whether one of them is code of somebody else's: of another package, or of a file."""
    return bool(kinds & (catalogue().keys() - PARTNERS.keys())) or any(map(in_file, kinds))


@lru_cache(maxsize=4096)
def _costs(spec: str) -> bool:
    """By name, so that a report needs no key, model or file of whoever played; for other packages' by their traits."""
    kinds = kinds_in(spec)
    if kinds & COSTLY or not _of_others(kinds):
        return bool(kinds & COSTLY)
    try:
        return costs_to_ask(seat_occupant(spec).traits)
    except OccupantNameError:
        return False


@lru_cache(maxsize=8)
def open_source(env: EnvConfig) -> ScenarioSource:
    """The scenario source of an environment, opened once per process."""
    return env.open_source()


@lru_cache(maxsize=2)
def block_scenarios(env: EnvConfig, seed: int, block: Block) -> Scenarios:
    """The scenarios of a block; the matches of a round share one."""
    return open_source(env).block(seed, block.start, block.size)


def machine() -> str:
    """The versions and the instruction set that figures may depend on, as JSON."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return json.dumps(
        {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "instructions": sorted({*simd.get("baseline", []), *simd.get("found", [])}),
            **{name: _version(name) for name in PINS},
        },
        sort_keys=True,
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a checkout that was never installed, or a library that is not needed here
        return "absent"
