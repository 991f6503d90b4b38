"""Answer statistics of a member: its own decisions, and those that a fallback made in its place, by cause.

A game in which a seat could not be reached (:data:`dond_marl.seats.UNREACHED`) measures neither that member nor its
partner: it counts for neither. N = games, C = causes of a fallback, numbered as in :class:`dond_marl.seats.Cause`
minus one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import UNREACHED, Bools, Cause, Int8s

CAUSES = tuple(cause for cause in Cause if cause != Cause.FREE)
UNKNOWN_CAUSE = "cause not kept"
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
        counts = {PHRASES[cause]: times for cause, times in zip(CAUSES, self.causes, strict=True) if times}
        unknown = self.fallbacks - sum(self.causes)
        return {**counts, UNKNOWN_CAUSE: unknown} if unknown else counts

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


def count_answers(turns: Int8s, fallbacks: Int8s, causes: Int8s | None) -> tuple[Answers, Answers]:
    """The answers of both seats.

    ``turns[N]``: acts of each game; ``fallbacks[N, 2]``: those that each seat's fallback played; ``causes[N, 2, C]``.
    """
    acts = turns.astype(np.int64)
    decisions = [int(((acts + 1 - seat) // 2).sum()) for seat in (0, 1)]
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
