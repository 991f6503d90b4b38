"""The project's own small language model, distilled from a partner: its recipe, and where it is cached.

It needs no download: the first process that needs it trains it (:mod:`partners.llm.distill`), in a cache folder named
by a digest of everything that shapes it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dond_marl.files import read_text, user_path
from dond_marl.occupants import seat_occupant
from partners.llm.prompt import HISTORY_CAP, Template
from partners.parameters import check_whole_number
from partners.provenance import NO_PAST, Ancestry, held_out_scenarios, provenance_of

CARD = "distilled.json"
ITSELF = "itself"  # the teacher, in the other seat
FORMAT = 1  # raised whenever the same recipe would make another model


@dataclass(frozen=True, slots=True)
class LessonGames:
    """A set of games that provides lessons."""

    against: str  # a partner by name, or ITSELF
    strays: float  # probability that a random legal act is played in place of the teacher's
    scenarios: str = "lewis"
    split: str | None = "train"
    number: int | None = None  # of scenarios; None: each scenario of a source that can be listed, once


LESSON_GAMES = (
    LessonGames("heuristic", 0.0),
    LessonGames("heuristic", 0.1),
    LessonGames("heuristic", 0.3),
    LessonGames(ITSELF, 0.1),
    LessonGames("mixture(of=zoo)", 0.1),
    LessonGames("mixture(of=zoo)", 0.5),
    LessonGames("random", 0.1),
    LessonGames("heuristic", 0.1, "uniform", "near", 2000),
)


@dataclass(frozen=True, slots=True)
class StudentSettings:
    """Size and training of a student."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    inner: int = 192  # width of the feed-forward layers
    steps: int = 2_500
    batch: int = 64  # lessons per step
    lr: float = 3e-3  # after a short warm-up it falls along a cosine
    decay: float = 0.01  # weight decay
    grad_norm: float = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a distilled model depends on, besides the prompt.

    ``history_cap``: acts of the history in its prompts, by default none if the teacher has no memory. ``threads`` of
    PyTorch: another number makes a slightly different model.
    """

    teacher: str = "expert"  # the partner that is imitated, by name
    games: tuple[LessonGames, ...] = LESSON_GAMES
    history_cap: int | None = None
    max_turns: int = 10
    student: StudentSettings = field(default_factory=StudentSettings)
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        if self.history_cap is not None:
            check_whole_number("history_cap", self.history_cap, 0, 100)
        check_whole_number("threads", self.threads, 1, 256)

    def prompt_history(self) -> int:
        """Acts of the history in the prompts."""
        if self.history_cap is not None:
            return self.history_cap
        return 0 if seat_occupant(self.teacher).traits.memoryless else HISTORY_CAP

    def ancestry(self) -> Ancestry:
        """The provenance of the model: its teacher, the opponents in its games, and the opponents of those."""
        others = dict.fromkeys(games.against for games in self.games if games.against != ITSELF)
        held_out = [source for games in self.games for source in held_out_scenarios(games.scenarios, games.split)]
        return NO_PAST.add_parent(provenance_of(self.teacher)).add_opponents([*map(provenance_of, others), *held_out])

    def digest(self, template: Template) -> str:
        """The name of the model: a hash of recipe, prompt and players (with their weights), 16 hex digits."""
        inputs = {
            "format": FORMAT,
            "recipe": asdict(self),
            "prompt": template.text,
            "players": self.ancestry().opponents,
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def is_complete(folder: Path) -> bool:
    """Whether ``folder`` holds a distilled model; the card is moved there with it."""
    return (folder / CARD).is_file()


def read_card(folder: str | Path) -> dict[str, Any]:
    """The card of the distilled model in ``folder``; empty for any other model."""
    try:
        card: dict[str, Any] = json.loads(read_text(user_path(folder) / CARD))
    except (OSError, ValueError):
        return {}
    return card
