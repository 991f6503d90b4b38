"""What the project's own language model is made from: the teacher, the games, the size, the training."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field

from dond_marl.occupants import seat_occupant
from partners.llm.prompt import HISTORY_CAP, Template
from partners.parameters import check_whole_number
from partners.provenance import NO_PAST, Ancestry, held_out_scenarios, provenance_of

CARD = "distilled.json"
ITSELF = "itself"  # the teacher, in the other seat
FORMAT = 1  # raised whenever the same recipe would make another model


@dataclass(frozen=True, slots=True)
class LessonGames:
    """Some of the games that are learned from."""

    against: str  # a partner by name, or ITSELF
    strays: float  # probability of another act in place of the teacher's own
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
    """How large a student is, and how it is taught."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    inner: int = 192  # width of the layers between
    steps: int = 2_500
    batch: int = 64  # lessons per step
    lr: float = 3e-3  # after a short start it falls along a cosine
    decay: float = 0.01  # of weights
    grad_norm: float = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a local model is made from.

    ``history_cap``: acts of the history that its prompts show, by default none where the teacher has no memory.
    ``threads``: of PyTorch; another number makes a slightly different model.
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
        if self.history_cap is not None:
            return self.history_cap
        return 0 if seat_occupant(self.teacher).traits.memoryless else HISTORY_CAP

    def ancestry(self) -> Ancestry:
        """Everybody in the past of what comes out: its teacher, those whom it sees play, and whom they met."""
        others = dict.fromkeys(games.against for games in self.games if games.against != ITSELF)
        held_out = [source for games in self.games for source in held_out_scenarios(games.scenarios, games.split)]
        return NO_PAST.add_parent(provenance_of(self.teacher)).add_opponents([*map(provenance_of, others), *held_out])

    def digest(self, template: Template) -> str:
        """A name for what comes out, the same for the same recipe, prompt and players, whose weights count too."""
        made_of = {
            "format": FORMAT,
            "recipe": asdict(self),
            "prompt": template.text,
            "players": self.ancestry().opponents,
        }
        return hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()[:16]
