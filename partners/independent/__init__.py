"""Programs by independent authors, runs of a language model that knew the rules and the contract below alone.

They are the larger part of the roster test2: what one author finds natural, another does not, so that a policy which
fits the habits of this project's own partners does not fit these. Each author has one module of functions of one
:class:`Position`; ``independent(program="NAME")`` is the occupant. Nothing is trained or tuned on them.

Four programs were mended where they raised an error or agreed to nothing: ``a_loss_averse_anchorer`` in games of two
turns, ``b_pays_back_in_kind``, ``c_limit_tester`` and ``c_ritual_host`` where DISAGREE only rejects. In games of ten
turns that DISAGREE ends, all play as they were written.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

from dond_marl.errors import InputError, quote
from dond_marl.game import Act, Triple
from dond_marl.position import Position, action_of, decisions_of, positions_of
from dond_marl.seats import Decisions, Traits, Turns

AUTHORS = ("author_a", "author_b", "author_c", "author_d")  # modules of this package

MOST_TURNS = 10  # of the games that the authors knew

PROPOSE, INSIST, AGREE, DISAGREE, END = (int(act) for act in Act)

Items = Triple  # books, hats, balls
Answer = tuple[int, Items | None]  # an act, and what the seat would keep; None for acts that are no offers
Program = Callable[[Position], Answer]


def dot(values: Sequence[float], items: Items) -> float:
    """The worth of ``items`` under ``values``."""
    return values[0] * items[0] + values[1] * items[1] + values[2] * items[2]


class Declared(NamedTuple):
    """A program with its declared traits, which the tests verify."""

    play: Program
    memory: bool  # whether it reads ``acts``
    chance: bool  # whether it reads ``luck`` or ``character``


_PROGRAMS: dict[str, Declared] = {}


def program(*, memory: bool, chance: bool) -> Callable[[Program], Program]:
    """Register a function of a module ``author_x`` as ``x_NAME``. Without a trait its part of the position is empty."""

    def register(function: Program) -> Program:
        author = function.__module__.rpartition("_")[2]
        _PROGRAMS[f"{author}_{function.__name__}"] = Declared(function, memory, chance)
        return function

    return register


@lru_cache(maxsize=1)
def programs() -> dict[str, Declared]:
    """All programs by name, in the order of their authors and modules."""
    for author in AUTHORS:
        import_module(f"{__name__}.{author}")
    return dict(_PROGRAMS)


class Independent:
    """A program that a language model wrote knowing the rules alone.

    Source: modules ``author_a`` to ``author_d`` of this package, each with its author's own sources.

    - ``program``: the name of a program.
    """

    def __init__(self, program: str) -> None:
        declared = programs()
        if program not in declared:
            near = difflib.get_close_matches(str(program), declared, 3) or list(declared)[:3]
            raise ValueError(
                f"program is the name of one of {len(declared)} programs, as {', '.join(near)}; got {quote(program)}"
            )
        self.program = program
        self._declared = declared[program]

    def __repr__(self) -> str:
        return f"independent(program={self.program!r})"

    @property
    def traits(self) -> Traits:
        return Traits(deterministic=not self._declared.chance, memoryless=not self._declared.memory)

    def act(self, turns: Turns) -> Decisions:
        """One call of the program per game: these partners are for evaluation, not for training.

        Raises :class:`~dond_marl.errors.InputError` in longer games than those that the authors described.
        """
        if turns.rules.max_turns > MOST_TURNS:
            raise InputError(
                f"{self!r} plays games of at most {MOST_TURNS} turns; got max_turns={turns.rules.max_turns}"
            )
        return decisions_of(map(action_of, map(self._declared.play, positions_of(turns, self.traits))))
