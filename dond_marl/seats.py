"""The interfaces between the game and the occupants of its seats.

A *partner* is an object with ``act(turns) -> Decisions``, always batched, one row per game. It is a pure function of
its turns: they hold the history, and random numbers as noise. A *hinter* gives advice in the same way:
``hint(turns) -> Hints``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import quote
from dond_marl.game import Act, Rules
from dond_marl.randomness import NOISE_WIDTH

_INSIST = int(Act.INSIST)
HINT_WIDTH = 10  # act one-hot 5, oA divided by the caps 3, confidence 1, available 1

Int8s = NDArray[np.int8]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]
Texts = NDArray[np.object_]  # of str, "" for none


class Cause(IntEnum):
    """Why a decision was played: the occupant's own choice (``FREE``), or a fallback and its reason.

    With a cause of :data:`UNREACHED` the occupant gave no answer, so the game measures nothing and is not valid. Games
    with the other causes count: the occupant answered badly (``UNPARSABLE``, ``ILLEGAL``), or its settings make it
    forfeit where it cannot answer (``FORFEIT``).
    """

    FREE = 0
    UNREACHABLE = 1  # the model or service could not be reached
    UNPARSABLE = 2  # its answer could not be read
    ILLEGAL = 3  # its answer was read, and illegal
    BUDGET = 4  # its budget is spent
    MISSING = 5  # its checkpoint is missing
    FORFEIT = 6  # it could not be reached or its budget is spent, and it is set to forfeit then


UNREACHED = (Cause.UNREACHABLE, Cause.BUDGET, Cause.MISSING)
UNREACHED_BOUND = 0.05  # share of the games; leaving out more of them would bias the rest


class History:
    """The acts of both seats in B games, ``act[B, t]`` and ``oA[B, t, 3]``; turn ``i`` is of seat ``i % 2``.

    The arrays are gathered when they are first read: occupants without memory cost nothing.
    """

    __slots__ = ("_act", "_acts", "_messages", "_oA", "_offers", "_rows", "turns_taken")

    def __init__(
        self, acts: Int8s, offers: Int8s, turns_taken: int, rows: Rows | None = None, messages: Texts | None = None
    ) -> None:
        self._acts, self._offers = acts, offers  # [T, N] and [T, 3, N]
        self._rows = rows  # columns of the games at the table, None for all
        self._messages = messages  # [T, N], None where there are none
        self.turns_taken = turns_taken
        self._act: Int8s | None = None
        self._oA: Int8s | None = None

    @property
    def act(self) -> Int8s:
        """The acts, ``[B, t]``."""
        if self._act is None:
            acts = self._acts[: self.turns_taken]
            self._act = (acts if self._rows is None else acts.take(self._rows, axis=-1)).T
        return self._act

    @property
    def oA(self) -> Int8s:
        """The items that each act's seat would keep, ``[B, t, 3]``; zeros where the act is no offer."""
        if self._oA is None:
            offers = self._offers[: self.turns_taken]
            self._oA = (offers if self._rows is None else offers.take(self._rows, axis=-1)).transpose(2, 0, 1)
        return self._oA

    @property
    def has_messages(self) -> bool:
        """Whether these games may hold messages; false means that there are none."""
        return self._messages is not None

    @property
    def messages(self) -> Texts:
        """The messages with the acts, ``[B, t]`` of ``str``, ``""`` for none."""
        if self._messages is None:
            size = self._acts.shape[-1] if self._rows is None else len(self._rows)
            return np.full((size, self.turns_taken), "", dtype=np.object_)
        messages = self._messages[: self.turns_taken]
        return (messages if self._rows is None else messages.take(self._rows, axis=-1)).T

    def rows(self, index: Rows | slice) -> History:
        """The history of some games, in the order of ``index``."""
        messages = self._messages
        if self._rows is not None:
            return History(self._acts, self._offers, self.turns_taken, self._rows[index], messages)
        if isinstance(index, slice):
            messages = None if messages is None else messages[..., index]
            return History(self._acts[..., index], self._offers[..., index], self.turns_taken, None, messages)
        return History(self._acts, self._offers, self.turns_taken, index, messages)


class Turns(NamedTuple):
    """Observations of the seats to move, one row per game; all rows are at the same turn of games under the same rules.

    Small integers are int8: a product of one count and one value fits, a sum of them does not, so sum with ``.sum``,
    which widens, or use :func:`worth`.
    """

    rules: Rules
    prior: str  # the scenario distribution's name, known to both seats
    counts: Int8s  # [B, 3] the pool; also the caps of oA
    my_utilities: Int8s  # [B, 3]
    partner_utilities: Int8s  # [B, 3] zeros unless revealed
    history: History
    last_partner_act: Int8s  # [B] END stands for "none yet": it does not occur otherwise
    last_partner_offer_for_me: Int8s  # [B, 3] what the partner's latest claim leaves me; zeros before its first
    turns_remaining: Int8s  # [B]
    act_mask: Bools  # [B, 5]
    hint_features: Floats  # [B, 10] zeros without a hint
    noise: Doubles  # [B, 8] uniforms in [0, 1), fresh each turn: 0 for the act, 1-3 for oA, the rest free
    game_noise: Doubles  # [B, 8] uniforms private to the seat, constant through the game

    @property
    def size(self) -> int:
        """Number of games, B."""
        return len(self.counts)

    @property
    def turns_taken(self) -> int:
        """The number of acts of both seats so far."""
        return self.history.turns_taken

    @property
    def seat(self) -> int:
        """The seat to move."""
        return self.history.turns_taken % 2

    @property
    def caps(self) -> Int8s:
        """The most that ``oA`` may ask, ``[B, 3]``: the pool."""
        return self.counts

    def rows(self, index: Rows | slice) -> Turns:
        """Some of the games, in the order of ``index``; a slice copies nothing."""
        rules, prior, counts, my_values, partner_values, history, *columns = self
        before, after = (
            [_take_rows(array, index) for array in arrays] for arrays in ((counts, my_values, partner_values), columns)
        )
        return Turns._make((rules, prior, *before, history.rows(index), *after))


def _take_rows(array: NDArray[Any], index: Rows | slice) -> NDArray[Any]:
    """``array[index]``, without a copy where all rows are the same memory (:func:`constant`)."""
    if isinstance(index, np.ndarray) and array.strides[0] == 0 and len(index) <= len(array):
        index = slice(len(index))
    return array[index]


class Decisions(NamedTuple):
    """The decisions of the seats to move, one row per game; ``oA`` counts only for PROPOSE and INSIST."""

    act_type: Int8s  # [B]
    oA: Int8s  # [B, 3] what the acting seat keeps
    confidence: Floats  # [B] in [0, 1]: the probability of the choice, or the occupant's own statement
    cause: Int8s  # [B] a Cause
    messages: Texts | None = None  # [B] the messages of the acts, None: none. Dropped where the rules have none


class Hints(NamedTuple):
    """Hints for the seats to move, one row per game."""

    act_type: Int8s  # [B]
    oA: Int8s  # [B, 3]
    confidence: Floats  # [B] in [0, 1]
    available: Bools  # [B] where False the rest is neutral
    cause: Int8s | None = None  # [B] a Cause: why it is unavailable, or a fallback (MISSING); None: not stated


@dataclass(frozen=True, slots=True)
class Traits:
    """Declared properties of an occupant; the conformance suite verifies them."""

    deterministic: bool = False  # reads no noise (none is given)
    memoryless: bool = False  # depends on pool, own values, last partner act and offer, turns remaining alone
    learned: bool = False  # has weights
    remote: bool = False  # queries a service: exempt from purity, its decisions are recorded
    human: bool = False  # asks a person: as remote
    privileged: bool = False  # observes what its seat cannot observe
    costly: bool = False  # an answer takes money or much time, as from a language model (local ones too)


def expensive_to_query(traits: Traits) -> bool:
    """Whether queries to an occupant are expensive (a language model, a service, a person) and so are kept few."""
    return traits.costly or traits.remote or traits.human


@runtime_checkable
class Partner(Protocol):
    """An occupant of a seat: chooses acts for a batch of turns."""

    @property
    def traits(self) -> Traits:
        """The declared properties of the occupant."""
        ...

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each legal; a row's answer does not depend on the other rows."""
        ...


def partner_name(partner: object) -> str:
    """The name of a partner for people: its ``name`` or its ``repr``, of one without these its class."""
    name, plain = getattr(partner, "name", None), type(partner).__repr__ is object.__repr__
    return name if isinstance(name, str) and name else type(partner).__name__ if plain else repr(partner)


@runtime_checkable
class Hinter(Protocol):
    """A provider of hints for a batch of turns."""

    def hint(self, turns: Turns) -> Hints:
        """One hint per row. ``turns`` holds only what the hinted seat observes."""
        ...


@runtime_checkable
class HintSource(Protocol):
    """A hinter with its schedule: gives the hint features that a seat gets before it acts."""

    @property
    def deterministic(self) -> bool:
        """Whether it reads no noise."""
        ...

    @property
    def privileged(self) -> bool:
        """Whether it observes the other seat's values, which its own seat does not."""
        ...

    @property
    def expensive(self) -> bool:
        """Whether a query that turns out not to be needed costs money or a person's time."""
        ...

    def hint_features(self, turns: Turns) -> Floats:
        """The hint features of each row, ``[B, 10]``; zeros where there is no hint. ``turns`` holds its own noise."""
        ...


def decide(act_type: NDArray[np.generic], oA: NDArray[np.generic]) -> Decisions:
    """Decisions ``act_type[B]``, ``oA[B, 3]`` of confidence 1, ``FREE``. ``ValueError`` for what int8 cannot hold."""
    act, items = (np.asarray(array).astype(np.int8, copy=False) for array in (act_type, oA))
    for narrow, array in ((act, act_type), (items, oA)):
        if narrow is not array and not np.array_equal(narrow, array):
            raise ValueError(f"decisions must be whole numbers in -128..127; got {quote(array)}")
    return Decisions(act, items, constant(1.0, np.float32, len(act)), constant(Cause.FREE, np.int8, len(act)))


def are_offers(act: NDArray[np.integer]) -> Bools:
    """Whether each of the acts puts an offer on the table.

    ``act <= Act.INSIST`` takes six times as long: NumPy converts the whole array to a member's type.
    """
    return act <= _INSIST


def is_legal(turns: Turns, act_type: NDArray[np.integer], oA: NDArray[np.integer]) -> Bools:
    """Whether each ``act_type[B]`` with ``oA[B, 3]`` is legal, ``[B]``; ``oA`` counts only for PROPOSE and INSIST."""
    valid = (act_type >= 0) & (act_type <= Act.END)
    open_ = turns.act_mask[np.arange(turns.size), np.where(valid, act_type, Act.END)]
    within = ((oA >= 0) & (oA <= turns.caps)).all(axis=1)
    return valid & open_ & (within | ~are_offers(act_type))


def worth(utilities: Int8s, items: Int8s) -> NDArray[np.int16]:
    """The points that ``items[..., 3]`` are worth under ``utilities[..., 3]``, without overflow."""
    product = utilities * items  # at most 100 each: fits int8
    # A sum over the last axis, of three, takes four times as long.
    total: NDArray[np.int16] = np.add(product[..., 0], product[..., 1], dtype=np.int16)
    total += product[..., 2]
    return total


def constant(value: float, dtype: type, *shape: int) -> NDArray:  # type: ignore[type-arg]
    """A read-only array of one value that takes no memory."""
    content = np.array(value, dtype=dtype).tobytes()  # bytes are read-only
    return np.ndarray(shape, dtype, buffer=content, strides=(0,) * len(shape))  # ten times as fast as broadcast_to


def no_hints(size: int) -> Floats:
    """The hint features of ``size`` rows without a hint: zeros."""
    return constant(0.0, np.float32, size, HINT_WIDTH)


def no_noise(size: int) -> Doubles:
    """The noise of deterministic occupants: NaN, so that any use of it shows."""
    return constant(np.nan, np.float64, size, NOISE_WIDTH)


def turns_after(
    rules: Rules,
    prior: str,
    counts: Int8s,
    my_utilities: Int8s,
    acts: Int8s,
    offers: Int8s,
    offer_for_me: Int8s,
    partner_utilities: Int8s | None = None,
    messages: Texts | None = None,
) -> Turns:
    """The turns after the histories ``acts[t, B]``, ``offers[t, 3, B]``, without hints or noise: queries outside games.

    The other arrays are ``[B, 3]``; ``offer_for_me``: what the partner's latest claim leaves, zeros before its first.
    ``messages[t, B]``: those of the acts, ``None`` for none.
    """
    turns_taken, size = acts.shape
    last = acts[-1] if turns_taken else constant(NO_ACT_YET, np.int8, size)
    mask = np.ones((size, len(Act)), dtype=bool)
    mask[:, Act.AGREE] = are_offers(last)
    return Turns(
        rules=rules,
        prior=prior,
        counts=counts,
        my_utilities=my_utilities,
        partner_utilities=constant(0, np.int8, size, 3) if partner_utilities is None else partner_utilities,
        history=History(acts, offers, turns_taken, messages=messages),
        last_partner_act=last,
        last_partner_offer_for_me=offer_for_me,
        turns_remaining=constant(rules.max_turns - turns_taken, np.int8, size),
        act_mask=mask,
        hint_features=no_hints(size),
        noise=no_noise(size),
        game_noise=no_noise(size),
    )


NO_ACT_YET = Act.END  # the code of "the partner has not acted" in observations
