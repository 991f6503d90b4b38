"""Playing a match: both seat orders of two members over one block of scenarios, and the raw facts of its games."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import error_line
from dond_marl.rollout import OccupantError, rollout
from league.tasks.answers import Answers, causes_of, unreachable_member
from league.tasks.seating import SEATING
from league.tasks.values import FACTS, MatchResult, MatchTask, Place, SeatOrderResult


def play_match(task: MatchTask, place: Place) -> MatchResult:
    """Play a match. A member that raises or gives an answer that cannot be played fails the whole match."""
    scenarios = SEATING.scenarios(task.env, task.seed, task.block)
    legs = []
    for order, leg in enumerate(task.legs):
        try:
            games = rollout(
                (SEATING.partner(leg[0], place), SEATING.partner(leg[1], place)),
                scenarios,
                task.env.rules(),
                seed=task.seed,
                index=match_index(task.round, [member.name for member in task.members], order),
                reveal_partner_utilities=task.env.reveal_partner_utilities,
                illegal=task.env.illegal or "raise",
            )
        except OccupantError as error:
            assert error.__cause__ is not None
            return MatchResult(task, (), leg[error.seat].name, error_line(error.__cause__))
        legs.append(SeatOrderResult((leg[0].name, leg[1].name), facts_of(games), causes_of(games)))
        failure = _unreachable(legs, len(task.legs) * task.block.size, task.unreached)
        if failure is not None:  # the rest is not played
            return MatchResult(task, tuple(legs), *failure)
    return MatchResult(task, tuple(legs))


def _unreachable(legs: Sequence[SeatOrderResult], games: int, bound: float) -> tuple[str, str] | None:
    """The member that was unreachable in too many of a match's games, and a sentence about it."""
    lost = sum(int((~counted).sum()) for leg in legs if (counted := leg.valid_games) is not None)
    if not lost:
        return None
    answers: dict[str, Answers] = {}
    for leg in legs:
        for name, seat_answers in zip(leg.seats, leg.answers, strict=True):
            answers[name] = answers.get(name, Answers()) + seat_answers
    return unreachable_member(answers, lost, games, bound)


def facts_of(games: Games) -> NDArray[np.void]:
    """The raw facts of finished games, ``[N]`` of FACTS."""
    facts = np.zeros(games.size, dtype=FACTS)
    facts["scores"] = games.scores
    facts["ending"] = games.ending
    facts["deal"] = games.deal
    facts["turns"] = games.turns
    if games.cause.any():
        for seat in (0, 1):
            facts["fallbacks"][:, seat] = (games.cause[:, seat::2] > 0).sum(axis=1)
    return facts


def match_index(number: int, names: Sequence[str], order: int) -> tuple[int, ...]:
    """Index of a match's random streams: its round, the names of its two members, and the seat order.

    It does not depend on the other members of the league.
    """
    return number, *(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) for name in names), order
