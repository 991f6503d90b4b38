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
import itertools
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Act
from dond_marl.seats import NO_ACT_YET, Decisions, Traits, Turns, decide

AUTHORS = ("author_a", "author_b", "author_c", "author_d")  # modules of this package

MOST_TURNS = 10  # of the games that the authors knew

PROPOSE, INSIST, AGREE, DISAGREE, END = (int(act) for act in Act)

Items = tuple[int, int, int]  # books, hats, balls
Answer = tuple[int, Items | None]  # an act, and what the seat would keep; None for acts that are no offers
Program = Callable[["Position"], Answer]


class Position(NamedTuple):
    """The view of one seat on its turn. All chance of a program comes from ``luck`` and ``character``."""

    pool: Items
    values: Items  # points per item to this seat
    turns_left: int  # acts left to both seats together, this one included
    max_turns: int
    last_act: int | None  # the other's last act; None before its first
    offer: Items  # what the other's latest claim leaves to this seat; zeros before its first
    can_agree: bool
    acts: tuple[
        tuple[bool, int, Items | None], ...
    ]  # (whether it is this seat's, act, what the acting seat would keep), in order
    luck: tuple[float, ...]  # 8 uniforms in [0, 1), fresh at every act
    character: tuple[float, ...]  # 8 uniforms in [0, 1), constant through the game

    @property
    def whole(self) -> int:
        """The worth of the pool to this seat, in points."""
        return self.worth(self.pool)

    def worth(self, items: Items) -> int:
        """The worth of ``items`` to this seat, in points."""
        return sum(value * number for value, number in zip(self.values, items, strict=True))

    def splits(self) -> list[Items]:
        """All that the seat may keep, ordered by books, then hats, then balls."""
        return _splits(self.pool)

    def own_claims(self) -> list[Items]:
        """The items that this seat has claimed so far, in order."""
        return [keep for is_own, _, keep in self.acts if is_own and keep is not None]

    def other_claims(self) -> list[Items]:
        """The items that the other seat has claimed for itself so far, in order."""
        return [keep for is_own, _, keep in self.acts if not is_own and keep is not None]


def dot(values: Sequence[float], items: Items) -> float:
    """The worth of ``items`` under ``values``."""
    return values[0] * items[0] + values[1] * items[1] + values[2] * items[2]


def remainder(pool: Items, items: Items) -> Items:
    """The part of the pool that ``items`` leave."""
    return pool[0] - items[0], pool[1] - items[1], pool[2] - items[2]


@lru_cache(maxsize=1024)
def _splits(pool: Items) -> list[Items]:
    books, hats, balls = (range(number + 1) for number in pool)
    return list(itertools.product(books, hats, balls))


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
    """Plays one of the programs that a language model wrote knowing the rules alone.

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
        play, memory, chance = self._declared
        history = _histories(turns) if memory else [()] * turns.size
        luck, character = (noise.tolist() if chance else [()] * turns.size for noise in (turns.noise, turns.game_noise))
        columns = zip(
            map(tuple, turns.counts.tolist()),
            map(tuple, turns.my_utilities.tolist()),
            turns.turns_remaining.tolist(),
            [None if act == NO_ACT_YET else act for act in turns.last_partner_act.tolist()],
            map(tuple, turns.last_partner_offer_for_me.tolist()),
            turns.act_mask[:, AGREE].tolist(),
            history,
            map(tuple, luck),
            map(tuple, character),
            strict=True,
        )
        most = turns.rules.max_turns
        answers = [
            play(Position(pool, values, turns_left, most, *fields)) for pool, values, turns_left, *fields in columns
        ]
        acts = np.array([act for act, _ in answers], dtype=np.int8)
        return decide(acts, np.array([keep or (0, 0, 0) for _, keep in answers], dtype=np.int8).reshape(-1, 3))


def _histories(turns: Turns) -> list[tuple[tuple[bool, int, Items | None], ...]]:
    """The acts of each game so far, as :attr:`Position.acts`."""
    own_turns = [turn % 2 == turns.seat for turn in range(turns.turns_taken)]
    games = zip(turns.history.act.tolist(), turns.history.oA.tolist(), strict=True)
    return [
        tuple(
            (is_own, act, tuple(keep) if act <= INSIST else None)
            for is_own, act, keep in zip(own_turns, acts, offers, strict=True)
        )
        for acts, offers in games
    ]
