"""Partners of one game at a time: ``one_game`` makes a partner of a function, a generator or a class.

Inside, partners answer thousands of games at once (:mod:`dond_marl.seats`). A program of one game answers a
:class:`Position`, plain numbers from the view of its seat, with an act. Generators and classes may remember: each game
has an object of its own. Since a partner is a function of its turns, an object that is not at hand is rebuilt from the
history: a new one gets the earlier positions of its seat, and its answers to these are ignored.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial, update_wrapper
from operator import index
from typing import Any, NamedTuple, overload

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Act, Action, Rules, Triple, rest, worth
from dond_marl.randomness import derive_uniforms
from dond_marl.seats import NO_ACT_YET, Decisions, Traits, Turns, decide

# Objects that wait for the next turns of their games, as a multiple of the latest batch. Some wait in vain: of a game
# that the other seat has ended, nothing arrives here.
WAITING, LEAST_WAITING = 4, 200

remainder = rest  # under the name that programs import
Reply = Callable[["Position"], Any]  # of one game: an Act, or an act with the items to keep


class Position(NamedTuple):
    """The view of one seat on its turn: plain numbers, items as (books, hats, balls).

    ``values`` are points per item to this seat; ``turns_left`` counts the acts of both seats, this one included.
    """

    pool: Triple
    values: Triple
    turns_left: int
    rules: Rules
    last_act: int | None  # the other's last act; None before its first
    offer: Triple  # what the other's latest claim leaves to this seat; zeros before its first
    can_agree: bool
    # (whether it is this seat's, act, what the acting seat would keep), in order; empty for a program without memory
    acts: tuple[tuple[bool, int, Triple | None], ...]
    luck: tuple[float, ...]  # 8 uniforms in [0, 1), fresh at every act; empty for a deterministic program
    character: tuple[float, ...]  # 8 uniforms in [0, 1), constant through the game; empty for a deterministic program

    @property
    def max_turns(self) -> int:
        """The acts that a game may have."""
        return self.rules.max_turns

    @property
    def whole(self) -> int:
        """The worth of the pool to this seat, in points."""
        return self.worth(self.pool)

    @property
    def talk(self) -> list[tuple[bool, Act, Triple | None]]:
        """The acts so far, in order: whether it is this seat's, the act, and what it offers to *this* seat."""
        return [
            (is_own, Act(act), keep if is_own or keep is None else rest(self.pool, keep))
            for is_own, act, keep in self.acts
        ]

    def worth(self, items: Triple) -> int:
        """The worth of ``items`` to this seat, in points."""
        return worth(self.values, items)

    def splits(self) -> list[Triple]:
        """All that the seat may keep, ordered by books, then hats, then balls."""
        return _splits(self.pool)

    def legal(self) -> list[Action]:
        """All legal actions."""
        offers = [Action(act, keep) for act in (Act.PROPOSE, Act.INSIST) for keep in self.splits()]
        return [*offers, *[Action(Act.AGREE)] * self.can_agree, Action(Act.DISAGREE), Action(Act.END)]

    def own_claims(self) -> list[Triple]:
        """The items that this seat has claimed so far, in order."""
        return [keep for is_own, _, keep in self.acts if is_own and keep is not None]

    def other_claims(self) -> list[Triple]:
        """The items that the other seat has claimed for itself so far, in order."""
        return [keep for is_own, _, keep in self.acts if not is_own and keep is not None]

    def before(self, turn: int) -> Position:
        """The position of this seat at an earlier turn of its own, counted from 0."""
        acts = self.acts[:turn]
        past = self._replace(acts=acts, turns_left=self.max_turns - turn, last_act=acts[-1][1] if acts else None)
        claims = past.other_claims()
        return past._replace(
            offer=rest(self.pool, claims[-1]) if claims else (0, 0, 0),
            can_agree=past.last_act is not None and past.last_act <= Act.INSIST,
            luck=tuple(derive_uniforms(np.array(self.character), turn).tolist()),
        )


@lru_cache(maxsize=1024)
def _splits(pool: Triple) -> list[Triple]:
    books, hats, balls = (range(number + 1) for number in pool)
    return list(itertools.product(books, hats, balls))


def positions_of(turns: Turns, traits: Traits, *, replayed: bool = False) -> list[Position]:
    """The position of each row: without ``acts`` for memoryless ``traits``, without luck for deterministic ones.

    ``replayed``: with luck derived from the game's, since the noise of earlier turns is gone when a game is replayed.
    """
    nothing: list[tuple[Any, ...]] = [()] * turns.size
    luck = character = nothing
    if not traits.deterministic:
        noise = derive_uniforms(turns.game_noise, turns.turns_taken) if replayed else turns.noise
        luck, character = (list(map(tuple, uniforms.tolist())) for uniforms in (noise, turns.game_noise))
    columns = zip(
        map(tuple, turns.counts.tolist()),
        map(tuple, turns.my_utilities.tolist()),
        turns.turns_remaining.tolist(),
        [turns.rules] * turns.size,
        [None if act == NO_ACT_YET else act for act in turns.last_partner_act.tolist()],
        map(tuple, turns.last_partner_offer_for_me.tolist()),
        turns.act_mask[:, Act.AGREE].tolist(),
        nothing if traits.memoryless else _acts_so_far(turns),
        luck,
        character,
        strict=True,
    )
    return list(map(Position._make, columns))


def _acts_so_far(turns: Turns) -> list[tuple[tuple[bool, int, Triple | None], ...]]:
    """The acts of each game so far, as :attr:`Position.acts`."""
    own_turns = [turn % 2 == turns.seat for turn in range(turns.turns_taken)]
    games = zip(turns.history.act.tolist(), turns.history.oA.tolist(), strict=True)
    return [
        tuple(
            (is_own, act, tuple(keep) if act <= Act.INSIST else None)
            for is_own, act, keep in zip(own_turns, acts, offers, strict=True)
        )
        for acts, offers in games
    ]


def action_of(answer: Any) -> Action:
    """The action that a program answered with: an act, or for offers an act with the items that its seat would keep.

    Raises :class:`~dond_marl.errors.InputError` for anything else; whether it is legal is not checked.
    """
    act, keep = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
    try:
        if (act := Act(act)) > Act.INSIST:
            return Action(act)
        books, hats, balls = map(index, keep)  # type: ignore[arg-type]  # None is answered with a TypeError
        return Action(act, (books, hats, balls))
    except (TypeError, ValueError):
        raise InputError(
            "the answer of a program is Act.AGREE, Act.DISAGREE or Act.END, or an offer, (Act.PROPOSE, items) or "
            f"(Act.INSIST, items), with the three numbers of items to keep; got {quote(answer)}"
        ) from None


def decisions_of(actions: Iterable[Action]) -> Decisions:
    """The decisions of these actions, one per game. ``ValueError`` for numbers of items that int8 cannot hold."""
    played = np.array([(act, *keep) for act, keep in actions]).reshape(-1, 4)
    return decide(played[:, 0], played[:, 1:])


class OneGame:
    """A partner whose program answers one :class:`Position` at a time; :func:`one_game` makes it.

    Calling it with parameters of the program gives the partner with these.
    """

    def __init__(
        self, program: Callable[..., Any], traits: Traits, parameters: Mapping[str, Any], made_of: OneGame | None = None
    ) -> None:
        self._program, self.traits, self._parameters, self._made_of = program, traits, dict(parameters), made_of
        self._is_function = not (inspect.isclass(program) or inspect.isgeneratorfunction(program))
        self._waiting: dict[tuple[Any, ...], Reply] = {}  # the objects of unfinished games, by their position so far
        update_wrapper(self, program, updated=())
        signature = inspect.signature(program)
        takes = list(signature.parameters.values())[not inspect.isclass(program) :]  # the first is the position
        self.__signature__ = signature.replace(parameters=takes, return_annotation=OneGame)

    def __call__(self, **parameters: Any) -> OneGame:
        """The same program with these parameters. Raises ``TypeError`` for others than it takes."""
        parameters = self._parameters | parameters
        self.__signature__.bind(**parameters)
        return OneGame(self._program, self.traits, parameters, self._made_of or self)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        return f"{self.__name__}({arguments})" if arguments else self.__name__  # type: ignore[attr-defined]  # of the program

    def __reduce__(self) -> Any:
        """The name in its module, so that the objects of unfinished games stay here."""
        return (partial(self._made_of, **self._parameters), ()) if self._made_of else self.__qualname__  # type: ignore[attr-defined]

    def act(self, turns: Turns) -> Decisions:
        """One call of the program per game, and one for each earlier turn of a game whose object is not here."""
        has_past = not (self._is_function or self.traits.memoryless)
        positions = positions_of(turns, self.traits, replayed=has_past)
        decisions = decisions_of(map(self._continue if has_past else self._answer, positions))
        for key in list(self._waiting)[: -max(LEAST_WAITING, WAITING * turns.size)]:
            del self._waiting[key]  # the oldest
        return decisions

    def _answer(self, position: Position) -> Action:
        return action_of(self._begin()(position))

    def _continue(self, position: Position) -> Action:
        """The answer of the object that has seen this game; a new one sees its earlier turns first."""
        game, acts = (position.rules, position.pool, position.values, position.character), position.acts
        reply = self._waiting.pop((game, acts[:-1]), None)
        if reply is None:
            reply = self._begin()
            for turn in range(len(acts) % 2, len(acts), 2):
                reply(position.before(turn))
        action = action_of(reply(position))
        keep = action.oA if action.act_type.is_offer else None
        self._waiting[game, (*acts, (True, action.act_type, keep))] = reply
        return action

    def _begin(self) -> Reply:
        """The program of a new game."""
        if self._is_function:
            return partial(self._program, **self._parameters)
        if inspect.isclass(self._program):
            game: Any = self._program(**self._parameters)
            return game.reply  # type: ignore[no-any-return]
        started: list[Any] = []  # the generator, once it has its first position

        def reply_of_generator(position: Position) -> Any:
            if started:
                return started[0].send(position)
            started.append(self._program(position, **self._parameters))
            return next(started[0])

        return reply_of_generator


@overload
def one_game(program: Callable[..., Any], /) -> OneGame: ...
@overload
def one_game(program: None = None, /, **traits: bool) -> Callable[[Callable[..., Any]], OneGame]: ...
def one_game(program: Callable[..., Any] | None = None, /, **traits: bool) -> Any:
    """A partner of a program that plays one game: a function, a generator or a class. A decorator.

    Each gets a :class:`Position`, the view of the seat to move, and answers ``Act.AGREE``, ``Act.DISAGREE`` or
    ``Act.END``, or an offer with the items to keep, ``(Act.PROPOSE, (1, 0, 2))``. A function ``play(view)`` gets it on
    every turn; a generator ``play(view)`` once, then ``view = yield answer``; a class has ``reply(view)``, and one
    object for each game. Parameters after the position (of a class: of its ``__init__``) are those of the partner.

    ``traits``: fields of :class:`~dond_marl.seats.Traits`, as in ``@one_game(deterministic=True)`` of a program that
    reads neither ``luck`` nor ``character``, ``memoryless`` of one that reads no ``acts`` and remembers nothing, or
    ``costly``.
    """
    if program is None:
        return partial(_declared, Traits(**traits))
    return _declared(Traits(), program)


def _declared(traits: Traits, program: Callable[..., Any]) -> OneGame:
    if not callable(program) or (inspect.isclass(program) and not callable(getattr(program, "reply", None))):
        raise InputError(f"a program of one game is a function or a class with reply(view); got {quote(program)}")
    return OneGame(program, traits, {})
