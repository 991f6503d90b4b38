"""The rules of Deal or No Deal over dialogue acts: one game, frozen values, no dependencies.

Two seats split a pool of three item types; each seat privately values each type and is paid its own values for the
items it gets, if a deal closes. The negotiation is the five-act reduction of Lewis et al. 2017 (*Deal or No Deal?
End-to-End Learning for Negotiation Dialogues*, arXiv 1706.05125, section 2) used by Kwon et al. 2023 (arXiv
2303.00001, section 4.3): PROPOSE, INSIST, AGREE, DISAGREE, END.

==================  =================================================================================================
Order of acts       ``seat_0`` opens, then strictly alternating; every act uses one of ``max_turns``.
PROPOSE, INSIST     Put the seat's claim ``oA`` (what the *acting* seat keeps) on the table. Legal within the pool.
AGREE               Legal only if the partner's last act was an offer. Closes the deal at that offer.
DISAGREE            Always legal. Ends the game without a deal, or (``disagree="rejects"``) only refuses the offer.
END                 Always legal. Final selection: each seat's latest own claim is its selection; the two claims are a
                    deal if they add up to exactly the pool, otherwise both seats get 0.
No turn left        The same final selection.
==================  =================================================================================================

A variant, off by default: *talk* (``message_length``). Each act carries a message of free text, which changes no rule.

Standard library only: everything else in the project is built on this file.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from enum import IntEnum
from operator import index
from typing import Literal, NamedTuple

SEATS = ("seat_0", "seat_1")
ITEMS = ("book", "hat", "ball")  # Lewis et al. 2017, section 2.1
MAX_VALUE = 10  # points; the largest private value of one item (Lewis et al. 2017, section 2.1)
MAX_COUNT = 10  # items of one type; keeps value times count within a signed byte, which the batched engine relies on
DEFAULT_MAX_TURNS = 10  # acts of both seats together (Lewis et al. 2017 let people walk away after ten)
MESSAGE_CHARACTERS = "".join(map(chr, range(32, 127)))  # of a message: printable ASCII, space included
MESSAGE_LENGTH = 200  # characters; the commands' default in games with messages
MAX_MESSAGE_LENGTH = 2000  # characters
_CHARACTERS = frozenset(MESSAGE_CHARACTERS)

Triple = tuple[int, int, int]
Disagree = Literal["ends", "rejects"]


def as_integer(value: object) -> int | None:
    """``value`` as an ``int`` if it is an integer of any library; ``None`` for anything else, ``bool`` included."""
    if isinstance(value, bool):
        return None
    try:
        return index(value)  # type: ignore[arg-type]  # a TypeError is the answer no
    except TypeError:
        return None


def as_seat(value: object) -> int:
    """The seat number 0 or 1 of a number or a name (``"seat_0"``, ``"seat_1"``). Raises ``ValueError``."""
    number = int(value[-1]) if isinstance(value, str) and value in ("0", "1", *SEATS) else as_integer(value)
    if number not in (0, 1):
        raise ValueError(f"a seat is 0, 1, {' or '.join(map(repr, SEATS))}; got {_short(value)}")
    return number


class Act(IntEnum):
    """The five dialogue acts, numbered as in the action space."""

    PROPOSE = 0
    INSIST = 1
    AGREE = 2
    DISAGREE = 3
    END = 4

    @property
    def is_offer(self) -> bool:
        """Whether the act puts an offer on the table, so that its ``oA`` counts."""
        return self <= Act.INSIST


class Ending(IntEnum):
    """Ending of a game; ``OPEN`` while it goes on."""

    OPEN = 0
    AGREE = 1
    END = 2
    DISAGREE = 3
    TURN_LIMIT = 4
    ILLEGAL = 5  # a seat broke a rule in an environment that forfeits instead of raising


class IllegalAct(ValueError):
    """An act that the rules forbid here. The message names the rule; the state is unchanged."""


class Action(NamedTuple):
    """One dialogue act. ``oA``: items that the acting seat keeps; it counts only for PROPOSE and INSIST."""

    act_type: Act
    oA: Triple = (0, 0, 0)


def _short(value: object) -> str:
    """A short ``repr`` on one line; this file imports nothing of the project, so no ``errors.quote``."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # Python prints no integer of more than 4,300 digits
        return "a number too long to print"


def _valid_triple(name: str, numbers: object, low: int, high: int) -> Triple:
    try:
        values = tuple(int(v) for v in numbers)  # type: ignore[attr-defined]
        exact = all(v == w for v, w in zip(values, numbers, strict=True))  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        values, exact = (), False
    if not exact or len(values) != len(ITEMS) or not all(low <= v <= high for v in values):
        raise ValueError(
            f"{name} must be {len(ITEMS)} integers in {low}..{high}, one per {'/'.join(ITEMS)}; got {_short(numbers)}"
        )
    return values  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Scenario:
    """The pool and both seats' private values.

    ``counts``: items of each type, 0..10, at least one in all. ``utilities[seat]``: points per item, 0..10.
    """

    counts: Triple
    utilities: tuple[Triple, Triple]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _valid_triple("counts", self.counts, 0, MAX_COUNT))
        try:
            vectors = dict(zip(SEATS, self.utilities, strict=True))
        except (TypeError, ValueError):
            raise ValueError(
                f"utilities must hold one vector per seat ({len(SEATS)}); got {_short(self.utilities)}"
            ) from None
        pair = tuple(_valid_triple(f"utilities of {seat}", u, 0, MAX_VALUE) for seat, u in vectors.items())
        object.__setattr__(self, "utilities", pair)
        if not any(self.counts):
            raise ValueError("counts must hold at least one item; got (0, 0, 0)")

    def pool_value(self, seat: int) -> int:
        """The value of the whole pool to ``seat``, in points."""
        return worth(self.utilities[seat], self.counts)

    def swap_seats(self) -> Scenario:
        """The same pool with the seats' values exchanged."""
        return Scenario(self.counts, (self.utilities[1], self.utilities[0]))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rule variant of a game.

    ``max_turns``: acts of both seats together, 1..100. ``disagree``: DISAGREE ``"ends"`` the game or only ``"rejects"``
    the offer on the table. ``message_length``: maximum characters of an act's message, 0 for games without messages.
    """

    max_turns: int = DEFAULT_MAX_TURNS
    disagree: Disagree = "ends"
    message_length: int = 0

    def __post_init__(self) -> None:
        turns = as_integer(self.max_turns)
        if turns is None or not 1 <= turns <= 100:
            raise ValueError(f"max_turns must be an integer in 1..100; got {_short(self.max_turns)}")
        object.__setattr__(self, "max_turns", turns)
        if self.disagree not in ("ends", "rejects"):
            raise ValueError(f"disagree must be 'ends' or 'rejects'; got {_short(self.disagree)}")
        length = as_integer(self.message_length)
        if length is None or not 0 <= length <= MAX_MESSAGE_LENGTH:
            raise ValueError(
                f"message_length must be an integer in 0..{MAX_MESSAGE_LENGTH}, 0 for no messages; "
                f"got {_short(self.message_length)}"
            )
        object.__setattr__(self, "message_length", length)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a game: its ending, the items of each seat (``None`` without a deal) and both scores in points."""

    ending: Ending
    allocation: tuple[Triple, Triple] | None
    scores: tuple[int, int]
    rule_broken: str | None = None  # the rule behind an ILLEGAL ending

    @property
    def deal(self) -> bool:
        """Whether a deal closed."""
        return self.allocation is not None


@dataclass(frozen=True, slots=True)
class State:
    """A negotiation as a value: the scenario, the rules and the acts so far.

    ``claims`` and ``outcome`` follow from ``history``; :func:`apply` updates them so that nothing is searched twice.
    ``claims[seat]``: the seat's latest own claim, ``None`` before its first offer.
    ``messages[i]``: the message of ``history[i]``, ``""`` for none; empty in games without messages.
    """

    scenario: Scenario
    rules: Rules = Rules()
    history: tuple[Action, ...] = ()
    claims: tuple[Triple | None, Triple | None] = (None, None)
    outcome: Outcome | None = None
    messages: tuple[str, ...] = ()

    @property
    def mover(self) -> int:
        """The seat to move: 0 opens, then strictly alternating."""
        return len(self.history) % 2

    @property
    def turns_remaining(self) -> int:
        """Acts left to both seats together."""
        return self.rules.max_turns - len(self.history)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.outcome is not None

    def last_act(self, seat: int) -> Act | None:
        """The latest act of ``seat``, ``None`` before its first."""
        size = len(self.history)
        index = size - 1 if (size - 1) % 2 == seat else size - 2
        return self.history[index].act_type if index >= 0 else None


def worth(utilities: Triple, items: Triple) -> int:
    """The value of ``items`` under ``utilities``, in points."""
    return utilities[0] * items[0] + utilities[1] * items[1] + utilities[2] * items[2]


def rest(counts: Triple, oA: Triple) -> Triple:
    """The items of the pool ``counts`` that remain for the other seat after ``oA``."""
    return counts[0] - oA[0], counts[1] - oA[1], counts[2] - oA[2]


def may_agree(state: State, seat: int) -> bool:
    """Whether AGREE is legal for ``seat``: the partner's last act was an offer."""
    last = state.last_act(1 - seat)
    return last is not None and last <= Act.INSIST


def rule_against(state: State, action: Action) -> str | None:
    """The rule that ``action`` of the seat to move would break, in words, or ``None`` if it is legal."""
    act, oA = action
    if state.outcome is not None:
        return "the game is over: no act is legal after it"
    if not 0 <= act <= 4:  # the numbers of PROPOSE and END: a plain comparison, this is the hot path
        return f"act_type must be in 0..{int(Act.END)}; got {_short(act)}"
    if act <= Act.INSIST:
        counts = state.scenario.counts
        if len(oA) != len(ITEMS):
            return f"{Act(act).name} needs oA to be {len(ITEMS)} integers; got {_short(oA)}"
        if not (0 <= oA[0] <= counts[0] and 0 <= oA[1] <= counts[1] and 0 <= oA[2] <= counts[2]):
            return f"{Act(act).name} must keep between (0, 0, 0) and the pool {counts}; got oA={tuple(oA)}"
    elif act == Act.AGREE and not may_agree(state, state.mover):
        last = state.last_act(1 - state.mover)
        latest = "has not acted yet" if last is None else f"last played {last.name}"
        return f"AGREE needs the partner's last act to be PROPOSE or INSIST; the partner {latest}"
    return None


def rule_against_message(rules: Rules, message: str) -> str | None:
    """The rule that an act's ``message`` breaks, in words, or ``None`` if it is legal."""
    if isinstance(message, str) and not message:
        return None
    if not rules.message_length:
        return f"these rules allow no messages (message_length is 0); got {_short(message)}"
    if not isinstance(message, str) or not _CHARACTERS.issuperset(message):
        return f"a message is text of printable ASCII characters; got {_short(message)}"
    if len(message) > rules.message_length:
        return f"a message holds at most {rules.message_length} characters; got {len(message)}"
    return None


def legal_actions(state: State) -> tuple[Action, ...]:
    """Every legal action of the seat to move, in the order of the act numbers, each ``oA`` counting up from zeros."""
    if state.is_over:
        return ()
    n0, n1, n2 = state.scenario.counts
    shares = [(a, b, c) for a in range(n0 + 1) for b in range(n1 + 1) for c in range(n2 + 1)]
    offers = [Action(act, oA) for act in (Act.PROPOSE, Act.INSIST) for oA in shares]
    agree = [Action(Act.AGREE)] if may_agree(state, state.mover) else []
    return (*offers, *agree, Action(Act.DISAGREE), Action(Act.END))


def apply(state: State, action: Action, message: str = "") -> State:
    """The negotiation after ``action`` of the seat to move. Raises :class:`IllegalAct` and changes nothing.

    ``message``: the act's message, in games with messages.
    """
    rule = rule_against(state, action) or rule_against_message(state.rules, message)
    if rule is not None:
        raise IllegalAct(rule)
    seat = len(state.history) % 2
    act = Act(action.act_type)
    claims: tuple[Triple | None, Triple | None]
    if act <= Act.INSIST:
        oA = action.oA
        try:
            action_played = Action(act, (index(oA[0]), index(oA[1]), index(oA[2])))
        except TypeError:
            raise IllegalAct(f"{act.name} needs oA to be {len(ITEMS)} integers; got {_short(oA)}") from None
        claims = (action_played.oA, state.claims[1]) if seat == 0 else (state.claims[0], action_played.oA)
    else:
        action_played = Action(act)  # oA is ignored: canonically zeros
        claims = state.claims
    outcome = _outcome(state, act, seat, claims)
    messages = (*state.messages, message) if state.rules.message_length else ()
    return State(state.scenario, state.rules, (*state.history, action_played), claims, outcome, messages)


def forfeit(state: State, rule_broken: str) -> State:
    """The negotiation ended by an act that broke a rule: both seats get 0."""
    outcome = Outcome(Ending.ILLEGAL, None, (0, 0), rule_broken)
    return State(state.scenario, state.rules, state.history, state.claims, outcome, state.messages)


def _outcome(state: State, act: Act, seat: int, claims: tuple[Triple | None, Triple | None]) -> Outcome | None:
    """The outcome of the game after ``act``, or ``None`` while it goes on."""
    counts = state.scenario.counts
    if act is Act.AGREE:
        offered = claims[1 - seat]
        assert offered is not None  # AGREE was legal
        share = rest(counts, offered)
        return _deal(state.scenario, Ending.AGREE, (share, offered) if seat == 0 else (offered, share))
    if act is Act.DISAGREE and state.rules.disagree == "ends":
        return Outcome(Ending.DISAGREE, None, (0, 0))
    if act is not Act.END and state.turns_remaining > 1:
        return None
    ending = Ending.END if act is Act.END else Ending.TURN_LIMIT
    first, second = claims
    if first is not None and second is not None and rest(counts, first) == second:
        return _deal(state.scenario, ending, (first, second))
    return Outcome(ending, None, (0, 0))


def _deal(scenario: Scenario, ending: Ending, allocation: tuple[Triple, Triple]) -> Outcome:
    scores = worth(scenario.utilities[0], allocation[0]), worth(scenario.utilities[1], allocation[1])
    return Outcome(ending, allocation, scores)
