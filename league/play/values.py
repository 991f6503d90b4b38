"""Data types of a league's work: members, the two kinds of task, their results, and the content of a round.

A task is a match (two members over one block of scenarios, in both seat orders) or one learner's practice of a round.
A task is a value and its result a function of it, so that it can run anywhere, twice, and in any order. Reading this
module loads no PyTorch.

A game in which a seat could not be reached (:data:`dond_marl.seats.UNREACHED`) measures neither that member nor its
partner: it counts for neither. N = games, C = causes of a fallback, numbered as in :class:`dond_marl.seats.Cause`
minus one.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.occupants import Permission, Spec, missing_needs
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import UNREACHED, UNREACHED_BOUND, Bools, Cause, Int8s
from league.play.occupant_kinds import is_costly
from partners.scripted.generated import describe_spec

if TYPE_CHECKING:
    from league.settings.learners import LearnerConfig
    from league.settings.sections import EnvConfig, HintsConfig

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
CAUSES = tuple(cause for cause in Cause if cause != Cause.FREE)
PHRASES: Mapping[Cause, str] = {
    Cause.UNREACHABLE: "not reached",
    Cause.UNPARSABLE: "not readable",
    Cause.ILLEGAL: "illegal",
    Cause.BUDGET: "budget spent",
    Cause.MISSING: "checkpoint missing",
    Cause.FORFEIT: "given up",
}
_UNREACHED = [cause - 1 for cause in UNREACHED]  # their indices in CAUSES


@dataclass(frozen=True, slots=True)
class Answers:
    """Decision counts of one member; sums over games add up with ``+``."""

    games: int = 0
    left_out: int = 0  # games in which it was unreachable: they count for neither seat
    decisions: int = 0
    fallbacks: int = 0  # decisions made by its fallback
    causes: tuple[int, ...] = (0,) * len(CAUSES)  # fallbacks by cause, in the order of CAUSES

    @property
    def own_decisions(self) -> int:
        return self.decisions - self.fallbacks

    def by_cause(self) -> dict[str, int]:
        """The fallback's decisions by the phrase of their cause, without zeros."""
        return {PHRASES[cause]: times for cause, times in zip(CAUSES, self.causes, strict=True) if times}

    def __add__(self, other: Answers) -> Answers:
        return Answers(
            self.games + other.games,
            self.left_out + other.left_out,
            self.decisions + other.decisions,
            self.fallbacks + other.fallbacks,
            tuple(first + second for first, second in zip(self.causes, other.causes, strict=True)),
        )

    def __str__(self) -> str:
        """``answered 30 of 34, not reached 4``."""
        return ", ".join([f"answered {self.own_decisions:,} of {self.decisions:,}", *cause_phrases(self)])

    def sentence(self, name: str) -> str:
        """The counts as a sentence about the member ``name``."""
        fallbacks = f"; a fallback made {self.fallbacks:,} ({', '.join(cause_phrases(self))})" if self.fallbacks else ""
        left_out = f"; {self.left_out:,} of {self.games:,} games are left out: it was not reached"
        return (
            f"{name} made {self.own_decisions:,} of its {self.decisions:,} decisions itself{fallbacks}"
            f"{left_out if self.left_out else ''}."
        )

    def document(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        return {
            "games": self.games,
            "games_left_out": self.left_out,
            "asked": self.decisions,
            "answered": self.own_decisions,
            "fallen_back": self.fallbacks,
            "causes": self.by_cause(),
        }


def cause_phrases(answers: Answers) -> list[str]:
    """``not reached 4``, and so on, one for each cause that occurred."""
    return [f"{phrase} {times:,}" for phrase, times in answers.by_cause().items()]


def causes_of(games: Games) -> Int8s | None:
    """Number of fallbacks of each seat in each game by cause, ``[N, 2, C]``; ``None`` if no fallback played."""
    if not games.cause.any():
        return None
    seats = (games.cause[:, seat::2] for seat in (0, 1))
    counts = [np.stack([(causes == cause).sum(axis=1) for cause in CAUSES], axis=1) for causes in seats]
    return np.stack(counts, axis=1).astype(np.int8)


def unreached_in(causes: Int8s) -> Bools:
    """The games in which each seat was unreachable, ``[N, 2]``, from ``causes[N, 2, C]``."""
    missing: Bools = (causes[:, :, _UNREACHED] > 0).max(axis=2)
    return missing


def _decisions_of_seat(acts: NDArray[np.int64], seat: int) -> Any:
    """The decisions of a seat in games of so many ``acts[..., N]``, ``[...]``."""
    return ((acts + 1 - seat) // 2).sum(axis=-1)


def count_answers(turns: Int8s, fallbacks: Int8s, causes: Int8s | None) -> tuple[Answers, Answers]:
    """The answers of both seats.

    ``turns[N]``: acts of each game; ``fallbacks[N, 2]``: those that each seat's fallback played; ``causes[N, 2, C]``.
    """
    acts = turns.astype(np.int64)
    decisions = [int(_decisions_of_seat(acts, seat)) for seat in (0, 1)]
    played = fallbacks.sum(axis=0, dtype=np.int64).tolist()
    if causes is None:
        causes = np.zeros((len(turns), 2, len(CAUSES)), dtype=np.int8)
    left_out = unreached_in(causes).sum(axis=0).tolist()
    by_cause = causes.sum(axis=0, dtype=np.int64).tolist()
    first, second = (
        Answers(len(turns), left_out[seat], decisions[seat], played[seat], tuple(by_cause[seat])) for seat in (0, 1)
    )
    return first, second


def answers_of(games: Games) -> tuple[Answers, Answers]:
    """The answers of both seats in finished games."""
    causes = causes_of(games)
    fallbacks = np.zeros((games.size, 2), dtype=np.int8) if causes is None else causes.sum(axis=2, dtype=np.int8)
    return count_answers(games.turns, fallbacks, causes)


def unreachable_member(answers: Mapping[str, Answers], lost: int, games: int, bound: float) -> tuple[str, str] | None:
    """The member that was unreachable too often, and a sentence; ``None`` if at most a share ``bound`` (0..1) is lost.

    ``lost`` of the ``games`` have an unreachable seat.
    """
    if lost <= bound * games:
        return None
    name = max(answers, key=lambda name: answers[name].left_out)
    worst = answers[name]
    missed = f"{worst.left_out:,} of {worst.games:,} games ({bound:.0%} may be)"
    return name, f"it could not be reached in {missed}: it {worst}"


@dataclass(frozen=True, slots=True)
class Member:
    """A participant of the league: a unique name, and the occupant's spec unless it is a network of this league.

    A learner of another library, and a snapshot of it, has the spec of its class and plays with the state in its blob.

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
        return self.spec is None and (self.live or self.role == "snapshot")

    @property
    def is_outside(self) -> bool:
        """Whether it is a learner of another library, or a snapshot of one."""
        return self.spec is not None and (self.live or self.parent is not None)

    @property
    def origin(self) -> str:
        """Relation to its parent in words; empty without a parent."""
        kinds = {"oracle": "exact best response to", "sampled_oracle": "best response to the sampled acts of"}
        return "" if self.parent is None else f"{kinds.get(self.role, 'snapshot of')} {self.parent}"

    @property
    def description(self) -> str:
        """A snapshot, a best response or a generated partner in words; empty for all others."""
        return describe_spec(self.spec) if self.parent is None else f"{self.origin} after round {self.born}"

    @property
    def costly(self) -> bool:
        """Whether it is expensive to query: see :func:`league.play.occupant_kinds.is_costly`."""
        return self.spec is not None and not self.is_outside and is_costly(self.spec)

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
    # [size, 2, C] why each seat's fallback played, of CAUSES; None: no fallback played
    causes: Int8s | None = None

    @property
    def valid_games(self) -> Bools | None:
        """Mask of the games that count, ``[size]``; ``None``: all. One with an unreachable seat counts for neither."""
        if self.causes is None:
            return None
        missing: Bools = unreached_in(self.causes).max(axis=1)
        return ~missing if missing.any() else None

    @property
    def answers(self) -> tuple[Answers, Answers]:
        """The answer statistics of each seat."""
        return count_answers(self.facts["turns"], self.facts["fallbacks"], self.causes)


def answers_by_member(legs: Sequence[SeatOrderResult]) -> dict[str, Answers]:
    """The answers of each member in the ``legs`` of a round; those without fallbacks are counted together."""
    counted: dict[str, Answers] = {}
    if plain := [leg for leg in legs if leg.causes is None]:
        acts = np.stack([leg.facts["turns"] for leg in plain]).astype(np.int64)  # [legs, games]
        decisions = np.stack([_decisions_of_seat(acts, seat) for seat in (0, 1)], axis=1)
        names, member = np.unique([leg.seats for leg in plain], return_inverse=True)
        games = np.bincount(member.ravel()) * acts.shape[1]
        made = np.bincount(member.ravel(), weights=decisions.ravel())
        for name, n, decided in zip(names.tolist(), games.tolist(), made.tolist(), strict=True):
            counted[name] = Answers(n, 0, int(decided))
    for leg in legs:
        if leg.causes is not None:
            for name, answers in zip(leg.seats, leg.answers, strict=True):
                counted[name] = counted.get(name, Answers()) + answers
    return counted


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
        remainder = replace(self, faults=(*self.faults, (member, cause)))
        if member == self.learner.name or not remainder.playable_meetings:
            return remainder.unfinished_result()
        return remainder

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

    @property
    def in_words(self) -> str:
        """The decision without its reason."""
        words = {
            "snapshot": ("leaves no snapshot yet", "leaves a snapshot"),
            "reset": ("goes on", "starts over"),
            "stage": ("goes on", "is over"),
        }
        return f"{self.subject} {words[self.kind][self.taken]}"


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
