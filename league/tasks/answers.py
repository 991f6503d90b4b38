"""Who answered for a member: its own acts, and those that a fallback played in its place, by cause.

A game in which a seat could not be reached (:data:`dond_marl.seats.UNREACHED`) says nothing of whom it was played for,
and nothing of the partner against it: it counts for nobody. N = games, C = causes of a fallback, numbered as in
:class:`dond_marl.seats.Cause` less one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dond_marl.batch import Games
from dond_marl.seats import UNREACHED, Bools, Cause, Int8s

CAUSES = tuple(cause for cause in Cause if cause != Cause.FREE)
NOT_KEPT = "cause not kept"  # ledgers of before kept no causes
WORDS: Mapping[Cause, str] = {
    Cause.UNREACHABLE: "not reached",
    Cause.UNPARSABLE: "not readable",
    Cause.ILLEGAL: "illegal",
    Cause.BUDGET: "budget spent",
    Cause.MISSING: "checkpoint missing",
    Cause.FORFEIT: "given up",
}
_UNREACHED = [cause - 1 for cause in UNREACHED]  # their places among CAUSES


@dataclass(frozen=True, slots=True)
class Answers:
    """What one member was asked, and who answered."""

    games: int = 0
    left_out: int = 0  # of them: it was not reached in them, so that they count for nobody
    asked: int = 0  # decisions
    fallen: int = 0  # of them: a fallback played
    causes: tuple[int, ...] = (0,) * len(CAUSES)  # of them, by CAUSES; those of an older ledger are not known

    @property
    def answered(self) -> int:
        """Decisions of its own."""
        return self.asked - self.fallen

    def by_cause(self) -> dict[str, int]:
        """The fallback's decisions by the words of their cause, those that occurred."""
        known = {WORDS[cause]: times for cause, times in zip(CAUSES, self.causes, strict=True) if times}
        unknown = self.fallen - sum(self.causes)
        return {**known, NOT_KEPT: unknown} if unknown else known

    def __add__(self, other: Answers) -> Answers:
        causes = tuple(own + more for own, more in zip(self.causes, other.causes, strict=True))
        return Answers(
            self.games + other.games,
            self.left_out + other.left_out,
            self.asked + other.asked,
            self.fallen + other.fallen,
            causes,
        )

    def __str__(self) -> str:
        """``answered 30 of 34, not reached 4``."""
        return ", ".join([f"answered {self.answered:,} of {self.asked:,}", *causes_in_words(self)])

    def sentence(self, name: str) -> str:
        """What a reader of figures must know first."""
        fallen = f"; a fallback made {self.fallen:,} ({', '.join(causes_in_words(self))})" if self.fallen else ""
        out = (
            f"; {self.left_out:,} of {self.games:,} games are left out, as it was not reached" if self.left_out else ""
        )
        return f"{name} made {self.answered:,} of its {self.asked:,} decisions itself{fallen}{out}."

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "games": self.games,
            "games_left_out": self.left_out,
            "asked": self.asked,
            "answered": self.answered,
            "fallen_back": self.fallen,
            "causes": self.by_cause(),
        }


def causes_in_words(answers: Answers) -> list[str]:
    """``not reached 4``, and so on."""
    return [f"{words} {times:,}" for words, times in answers.by_cause().items()]


def causes_of(games: Games) -> Int8s | None:
    """Why each seat fell back in each game, and how often: ``[N, 2, C]``; ``None`` where nobody did."""
    if not games.cause.any():
        return None
    both = (games.cause[:, seat::2] for seat in (0, 1))
    counted = [np.stack([(own == cause).sum(axis=1) for cause in CAUSES], axis=1) for own in both]
    return np.stack(counted, axis=1).astype(np.int8)


def unreached_in(causes: Int8s) -> Bools:
    """In which games each seat was not reached, ``[N, 2]``, by ``causes[N, 2, C]``."""
    missing: Bools = (causes[:, :, _UNREACHED] > 0).max(axis=2)
    return missing


def counted_in(turns: Int8s, fallbacks: Int8s, causes: Int8s | None) -> tuple[Answers, Answers]:
    """The answers of both seats: ``turns[N]`` acts said, ``fallbacks[N, 2]`` of them by a fallback."""
    said = turns.astype(np.int64)
    asked = [int(((said + 1 - seat) // 2).sum()) for seat in (0, 1)]
    fallen = fallbacks.sum(axis=0, dtype=np.int64).tolist()
    if causes is None:
        first, second = (Answers(len(turns), 0, asked[seat], fallen[seat]) for seat in (0, 1))
        return first, second
    left_out = unreached_in(causes).sum(axis=0).tolist()
    by_cause = causes.sum(axis=0, dtype=np.int64).tolist()
    first, second = (
        Answers(len(turns), left_out[seat], asked[seat], fallen[seat], tuple(by_cause[seat])) for seat in (0, 1)
    )
    return first, second


def answers_in(games: Games) -> tuple[Answers, Answers]:
    """The answers of both seats in finished games."""
    causes = causes_of(games)
    fallbacks = np.zeros((games.size, 2), dtype=np.int8) if causes is None else causes.sum(axis=2, dtype=np.int8)
    return counted_in(games.turns, fallbacks, causes)


def too_seldom(answers: Mapping[str, Answers], lost: int, games: int, bound: float) -> tuple[str, str] | None:
    """Who could not be reached too often, and that in words; ``None`` where at most ``bound`` (0..1) was ``lost``.

    ``lost`` of the ``games`` hold somebody who was not reached.
    """
    if lost <= bound * games:
        return None
    who = max(answers, key=lambda name: answers[name].left_out)
    own = answers[who]
    return who, f"it could not be reached in {own.left_out:,} of {own.games:,} games ({bound:.0%} may be): it {own}"
