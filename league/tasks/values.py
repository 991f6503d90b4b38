"""Data types of a league's work: members, the two kinds of task, their results, and the content of a round.

A task is a match (two members over one block of scenarios, in both seat orders) or one learner's practice of a round.
A task is a value and its result a function of it, so that it can run anywhere, twice, and in any order. Reading this
module loads no PyTorch.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.occupants import Permission, Spec, missing_needs
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import UNREACHED_BOUND, Bools, Int8s
from league.tasks.answers import Answers, count_answers, unreached_in
from league.tasks.occupant_kinds import is_costly
from partners.scripted.generated import describe_spec

if TYPE_CHECKING:
    from league.settings.learners import LearnerConfig
    from league.settings.sections import EnvConfig
    from league.settings.training import HintsConfig

# One game as the ledger stores it: both scores in points, its Ending, whether it closed with a deal, the number of
# acts, and how many of them were played by each seat's fallback instead of its own choice.
FACTS = np.dtype(
    [("scores", "<i2", (2,)), ("ending", "<i1"), ("deal", "<i1"), ("turns", "<i1"), ("fallbacks", "<i1", (2,))]
)
PINS = ("numpy", "torch", "dond-marl")  # libraries that the figures may depend on

Role = Literal["fixed", "main", "main_exploiter", "league_exploiter", "snapshot", "oracle", "sampled_oracle"]
EXPLOITERS = ("main_exploiter", "league_exploiter")
ORACLE_ROLES: Mapping[str, Role] = {"likeliest": "oracle", "sampled": "sampled_oracle"}  # by the play of the learner
ORACLES = tuple(ORACLE_ROLES.values())
Split = Literal["train", "gate", "heldout"]


@dataclass(frozen=True, slots=True)
class Member:
    """A participant of the league: a unique name, and the occupant's spec unless it is a network of this league.

    A snapshot is a frozen copy of its ``parent``: it takes part from round ``born`` on, ``blob`` names its weights. An
    oracle is the best response to its ``parent`` after round ``born``, with the weights that ``blob`` names.
    Learners practice against the split ``train``, are also judged by ``gate`` before a snapshot joins, and play
    ``heldout`` only in the final evaluation.
    """

    name: str
    spec: Spec | None
    role: Role = "fixed"
    split: Split = "train"
    parent: str | None = None
    born: int = 0
    blob: str | None = None

    @property
    def live(self) -> bool:
        return self.role not in ("fixed", "snapshot", *ORACLES)

    @property
    def has_network(self) -> bool:
        """Whether it plays as a network of this league: a learner or a snapshot."""
        return self.live or self.role == "snapshot"

    @property
    def origin(self) -> str:
        """Its relation to its parent in words; empty without a parent."""
        kinds = {"oracle": "exact best response to", "sampled_oracle": "best response to the sampled acts of"}
        return "" if self.parent is None else f"{kinds.get(self.role, 'snapshot of')} {self.parent}"

    @property
    def description(self) -> str:
        """A snapshot, a best response or a generated partner in words; empty for all others."""
        return describe_spec(self.spec) if self.parent is None else f"{self.origin} after round {self.born}"

    @property
    def costly(self) -> bool:
        """Whether it is expensive to query: see :func:`league.tasks.occupant_kinds.is_costly`."""
        return self.spec is not None and is_costly(self.spec)

    def maybe_costly(self, allow: Permission) -> bool:
        """Whether it may be expensive to query: also code that ``allow`` lacks, which is not run to find out."""
        return self.spec is not None and ("code" in missing_needs(self.spec, allow) or self.costly)


def oracles_among(members: Iterable[Member]) -> list[str]:
    """The names of best responses, which know the weights of their target."""
    return [member.name for member in members if member.role in ORACLES]


class Entrant(NamedTuple):
    """A member with the weights (a blob) that it plays with; ``None`` for a member without a network of this league."""

    member: Member
    blob: str | None = None

    @property
    def name(self) -> str:
        return self.member.name


class LearnerState(NamedTuple):
    """The state of a learner: its weights and optimizer state (a blob), and counters since its last restart."""

    blob: str
    updates: int
    decisions: int
    games: int
    life: int = 0  # number of restarts so far


class Place(NamedTuple):
    """The folder with a run's weights; not part of any task, so that a run can be moved."""

    blobs: Path


@dataclass(frozen=True, slots=True)
class Block:
    """Scenarios ``start`` to ``start + size`` of the run's sequence, common to all matches of a round."""

    start: int
    size: int


@dataclass(frozen=True, slots=True)
class MatchTask:
    """Two members over a block of scenarios, in both seat orders (one seat order for a member against itself)."""

    round: int
    number: int  # within the round
    members: tuple[Entrant, Entrant]
    block: Block
    env: EnvConfig
    seed: int
    reason: str  # why the planner chose this match
    unreached: float = UNREACHED_BOUND  # share of the games, 0..1, in which a member may be unreachable

    def __str__(self) -> str:
        return f"the match of {self.members[0].name} and {self.members[1].name} in round {self.round + 1}"

    @property
    def legs(self) -> tuple[tuple[Entrant, Entrant], ...]:
        """The entrants in seat_0 and seat_1, for each seat order."""
        first, second = self.members
        return ((first, second),) if first.name == second.name else ((first, second), (second, first))

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """All entrants whose decisions are queried."""
        return self.members

    @property
    def blobs(self) -> set[str]:
        """The names of the blobs that the task reads."""
        return {seat.blob for seat in self.entrants if seat.blob is not None}

    def forfeit(self, member: str, cause: str) -> MatchResult:
        """The result if ``member`` made the match impossible: no games at all."""
        return MatchResult(self, (), member, cause)


class SeatOrderResult(NamedTuple):
    """The games of a match in one seat order: names by seat, and the facts of each game, in the order of the block."""

    seats: tuple[str, str]
    facts: NDArray[np.void]  # [size] of FACTS
    # [size, 2, C] why each seat's fallback played, see league.tasks.answers; None: no fallback played
    causes: Int8s | None = None

    @property
    def valid_games(self) -> Bools | None:
        """Which games count, ``[size]``; ``None``: all. A game with an unreachable seat counts for neither seat."""
        if self.causes is None:
            return None
        missing: Bools = unreached_in(self.causes).max(axis=1)
        return ~missing if missing.any() else None

    @property
    def answers(self) -> tuple[Answers, Answers]:
        """The answer statistics of each seat."""
        return count_answers(self.facts["turns"], self.facts["fallbacks"], self.causes)


class MatchResult(NamedTuple):
    """The result of a match: its games by seat order, or the member whose fault made it fail.

    A match that failed because a member was unreachable has the games played until then; they count for no member.
    """

    task: MatchTask
    legs: tuple[SeatOrderResult, ...]
    failed: str | None = None  # the member at fault
    cause: str | None = None

    @property
    def games(self) -> int:
        return sum(len(leg.facts) for leg in self.legs)


class Meeting(NamedTuple):
    """An opponent of a practice, its probability, and the reason for it."""

    opponent: Entrant
    probability: float
    reason: str
    by_seat: tuple[float, float] | None = None  # probability in seat_0 and in seat_1, if they differ


@dataclass(frozen=True, slots=True)
class TrainTask:
    """One learner's practice of a round, against an opponent drawn for every game, under the rules of a stage."""

    round: int
    number: int  # within the round
    learner: LearnerConfig  # with the changes of the stage
    state: LearnerState
    meetings: tuple[Meeting, ...]
    env: EnvConfig  # of the stage
    hints: HintsConfig
    seed: int
    total_decisions: int  # over the whole league, for annealing
    unreached: float = UNREACHED_BOUND  # share of an update's games, 0..1, in which the opponent may be unreachable
    reservoir: str | None = None  # the blob of the reservoir buffer (NFSP); None: the learner has none
    faults: tuple[tuple[str, str], ...] = ()  # members that have made it fail, left out from now on, with the causes

    def __str__(self) -> str:
        return f"the practice of {self.learner.name} in round {self.round + 1}"

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """All entrants whose decisions are queried: the opponents; the learner itself only in self-play."""
        return tuple(meeting.opponent for meeting in self.playable_meetings)

    @property
    def playable_meetings(self) -> tuple[Meeting, ...]:
        """The meetings without those with members at fault; their probabilities then do not add up to 1."""
        at_fault = {member for member, _ in self.faults}
        return tuple(meeting for meeting in self.meetings if meeting.opponent.name not in at_fault)

    @property
    def blobs(self) -> set[str]:
        named = (self.state.blob, self.reservoir, *(seat.blob for seat in self.entrants))
        return {blob for blob in named if blob is not None}

    def forfeit(self, member: str, cause: str) -> TrainTask | TrainResult:
        """The practice without ``member``, from its beginning; the result if no opponent is left or it is the learner.

        What is learned against the others is the same as if ``member`` had not been an opponent of this practice.
        """
        left = replace(self, faults=(*self.faults, (member, cause)))
        if member == self.learner.name or not left.playable_meetings:
            return left.unfinished_result()
        return left

    def unfinished_result(self, cause: str | None = None) -> TrainResult:
        """The result if the practice could not be finished: the learner's state does not change."""
        causes = "; ".join(filter(None, (self.cause_of_faults, cause)))
        return TrainResult(self, self.state, None, math.nan, math.nan, self.learner.name, causes)

    @property
    def cause_of_faults(self) -> str | None:
        """The members at fault, with what each did; ``None`` if there are none."""
        return "; ".join(f"{member}: {cause}" for member, cause in self.faults) or None


class TrainResult(NamedTuple):
    """The result of a practice; one that could not be finished leaves the learner's state unchanged."""

    task: TrainTask
    state: LearnerState
    content: bytes | None  # of the new blob; None if it could not be finished
    points: float  # points of ten per game of practice, over all opponents
    deals: float  # share of the games of practice
    failed: str | None = None  # the first member at fault, which was left out; the learner if it could not be finished
    cause: str | None = None
    turns: float = math.nan  # acts of both seats per game of practice
    reservoir_content: bytes | None = None  # of the new blob of the reservoir buffer; None: it has none

    @property
    def games(self) -> int:
        return self.state.games - self.task.state.games

    @property
    def acts(self) -> int:
        """Acts of both seats in the games of practice; 0 if the practice could not be finished."""
        return 0 if math.isnan(self.turns) else round(self.turns * self.games)


Task = MatchTask | TrainTask
Result = MatchResult | TrainResult


class Decision(NamedTuple):
    """A decision, with its reason, on a learner (``snapshot``, ``reset``) or the curriculum (``stage``)."""

    kind: Literal["snapshot", "reset", "stage"]
    subject: str  # the learner, or the stage that ends
    taken: bool
    reason: str


class Round(NamedTuple):
    """The full content of a finished round, before it is written to the ledger."""

    number: int
    stage: int
    block: Block
    scenarios: Scenarios
    matches: Sequence[MatchResult]
    trained: Sequence[TrainResult] = ()
    states: Mapping[str, LearnerState] = {}  # of every learner, after the round
    born: Sequence[Member] = ()  # snapshots and oracles that take part from the next round on
    decisions: Sequence[Decision] = ()


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
