"""What a round leaves behind, before it is written: results, where learners stand, who joins, what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from dond_marl.scenarios.sources import Scenarios
from league.tasks.values import Block, LearnerState, MatchResult, Member

if TYPE_CHECKING:
    from league.tasks.practice import TrainResult


class Decision(NamedTuple):
    """What was decided of a learner (``snapshot``, ``reset``) or of the curriculum (``stage``), and why."""

    kind: Literal["snapshot", "reset", "stage"]
    subject: str  # the learner, or the stage that ends
    taken: bool
    reason: str


class Round(NamedTuple):
    """Everything that a round leaves behind."""

    number: int
    stage: int
    block: Block
    scenarios: Scenarios
    matches: Sequence[MatchResult]
    trained: Sequence[TrainResult] = ()
    states: Mapping[str, LearnerState] = {}  # of every learner, once the round is over
    born: Sequence[Member] = ()  # who takes part from the next round on
    decisions: Sequence[Decision] = ()
