"""Who may sit in a seat: the contracts between the game and its occupants.

A *partner* is anything that answers turns: ``act(turns) -> Decisions``, always batched, one row per game. It is a pure
function of what it sees: what it remembers is in the history, what it gambles with arrives as noise. A *hinter* is the
same for advice: ``hint(turns) -> Hints``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act, Rules
from dond_marl.randomness import NOISE_WIDTH

HINT_WIDTH = 10  # act one-hot 5, oA divided by the caps 3, confidence 1, available 1

Int8s = NDArray[np.int8]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]
Texts = NDArray[np.object_]  # of str, "" for none


class Cause(IntEnum):
    """Why a decision was played: the occupant's own free choice, or a stated fallback and what led to it.

    After the causes of :data:`UNREACHED` the fallback speaks for an occupant that said nothing, so that the game says
    nothing of it and counts for nobody. The others are its own: it answered, but badly (``UNPARSABLE``, ``ILLEGAL``),
    or whoever set it up chose that it loses where it cannot answer (``FORFEIT``). Their games count.
    """

    FREE = 0
    UNREACHABLE = 1  # the model or service could not be reached
    UNPARSABLE = 2  # its answer could not be read
    ILLEGAL = 3  # its answer was read, and illegal
    BUDGET = 4  # its budget is spent
    MISSING = 5  # its checkpoint is missing
    FORFEIT = 6  # it could not be reached or its budget is spent, and it is set to give the game up then


UNREACHED = (Cause.UNREACHABLE, Cause.BUDGET, Cause.MISSING)


class History:
    """What both seats have said in B games, ``act[B, t]`` and ``oA[B, t, 3]``, turn ``i`` said by seat ``i % 2``.

    It is gathered when it is read, so that occupants without memory cost nothing. A secret claim of the partner's is
    told as END, which is no offer.
    """

    __slots__ = ("_acts", "_messages", "_offers", "_rows", "turns_taken")

    def __init__(
        self, acts: Int8s, offers: Int8s, taken: int, rows: Rows | None = None, messages: Texts | None = None
    ) -> None:
        self._acts, self._offers = acts, offers  # [T, N] and [T, 3, N]
        self._rows = rows  # columns of the games at the table, None for all
        self._messages = messages  # [T, N], None where nobody has said any
        self.turns_taken = taken

    @property
    def act(self) -> Int8s:
        """The acts, ``[B, t]``."""
        acts = self._acts[: self.turns_taken]
        return (acts if self._rows is None else acts.take(self._rows, axis=-1)).T

    @property
    def oA(self) -> Int8s:
        """What each act's speaker would keep, ``[B, t, 3]``; zeros where it made no offer."""
        offers = self._offers[: self.turns_taken]
        return (offers if self._rows is None else offers.take(self._rows, axis=-1)).transpose(2, 0, 1)

    @property
    def has_messages(self) -> bool:
        """Whether any message may have been said in these games: where it is false there is none to look at."""
        return self._messages is not None

    @property
    def messages(self) -> Texts:
        """The messages beside the acts, ``[B, t]`` of ``str``, ``""`` for none."""
        if self._messages is None:
            size = self._acts.shape[-1] if self._rows is None else len(self._rows)
            return np.full((size, self.turns_taken), "", dtype=np.object_)
        said = self._messages[: self.turns_taken]
        return (said if self._rows is None else said.take(self._rows, axis=-1)).T

    def rows(self, index: Rows | slice) -> History:
        """Some of the games, in the order of ``index``."""
        said = self._messages
        if self._rows is not None:
            return History(self._acts, self._offers, self.turns_taken, self._rows[index], said)
        if isinstance(index, slice):
            said = None if said is None else said[..., index]
            return History(self._acts[..., index], self._offers[..., index], self.turns_taken, None, said)
        return History(self._acts, self._offers, self.turns_taken, index, said)


class Turns(NamedTuple):
    """What the seats to move can see, one row per game; all rows are at the same turn of games under the same rules.

    Small integers are int8: a product of one count and one value fits, a sum of them does not, so sum with ``.sum``,
    which widens, or use :func:`worth`.
    """

    rules: Rules
    prior: str  # the scenario distribution's name, known to both seats
    counts: Int8s  # [B, 3] the pool; also the caps of oA
    my_utilities: Int8s  # [B, 3]
    partner_utilities: Int8s  # [B, 3] zeros unless revealed
    history: History
    last_partner_act: Int8s  # [B] END stands for "none yet": it is never seen otherwise while acting
    last_partner_offer_for_me: Int8s  # [B, 3] what the partner's latest claim leaves me; zeros before its first
    turns_remaining: Int8s  # [B]
    act_mask: Bools  # [B, 5]
    hint_features: Floats  # [B, 10] zeros without a hint
    noise: Doubles  # [B, 8] uniforms in [0, 1), fresh each turn: 0 for the act, 1-3 for oA, the rest free
    game_noise: Doubles  # [B, 8] uniforms private to the seat, constant through the game

    @property
    def size(self) -> int:
        """How many games, B."""
        return len(self.counts)

    @property
    def turns_taken(self) -> int:
        """How many acts both seats have said so far."""
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
        some: dict[str, Any] = {name: _some(getattr(self, name), index) for name in _ROW_FIELDS}
        return self._replace(history=self.history.rows(index), **some)


_ROW_FIELDS = tuple(name for name in Turns._fields if name not in ("rules", "prior", "history"))


def _some(array: NDArray[Any], index: Rows | slice) -> NDArray[Any]:
    """Some rows; of an array whose rows are one and the same (:func:`constant`) as many of them, without a copy."""
    if not isinstance(index, slice) and array.strides[0] == 0 and len(index) <= len(array):
        index = slice(len(index))
    rows: NDArray[Any] = array[index]
    return rows


class Decisions(NamedTuple):
    """What the seats say, one row per game; ``oA`` counts only for PROPOSE and INSIST."""

    act_type: Int8s  # [B]
    oA: Int8s  # [B, 3] what the acting seat keeps
    confidence: Floats  # [B] in [0, 1]: the probability of the choice, or what the occupant says of it
    cause: Int8s  # [B] a Cause
    messages: Texts | None = None  # [B] what is said beside the acts; None: nothing. Dropped where none may pass


class Hints(NamedTuple):
    """What the seats are told, one row per game."""

    act_type: Int8s  # [B]
    oA: Int8s  # [B, 3]
    confidence: Floats  # [B] in [0, 1]
    available: Bools  # [B] where False the rest is neutral


@dataclass(frozen=True, slots=True)
class Traits:
    """What an occupant declares of itself; the conformance suite verifies it."""

    deterministic: bool = False  # reads no noise (none is given)
    memoryless: bool = False  # depends on pool, own values, last partner act and offer, turns remaining alone
    learned: bool = False  # has weights
    remote: bool = False  # asks a service: exempt from purity, its decisions are recorded
    human: bool = False  # asks a person: likewise
    privileged: bool = False  # sees what its seat cannot see
    costly: bool = False  # an answer takes money or much time, as a language model's does, a local one's too


def expensive_to_query(traits: Traits) -> bool:
    """Whether an occupant costs something to ask, so that nobody asks it more often than needed: a model, a person."""
    return traits.costly or traits.remote or traits.human


@runtime_checkable
class Partner(Protocol):
    """Anything that answers turns."""

    @property
    def traits(self) -> Traits:
        """What it declares of itself."""
        ...

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, each legal; a row's answer does not depend on the other rows."""
        ...


@runtime_checkable
class Hinter(Protocol):
    """Anything that advises turns."""

    def hint(self, turns: Turns) -> Hints:
        """One hint per row; sees only what the hinted seat sees."""
        ...


@runtime_checkable
class HintSource(Protocol):
    """A hinter on its schedule: what a seat is told before it speaks, already as features."""

    @property
    def deterministic(self) -> bool:
        """Whether it reads no noise."""
        ...

    @property
    def privileged(self) -> bool:
        """Whether it is shown the other seat's values, which its seat does not see."""
        ...

    def hint_features(self, turns: Turns) -> Floats:
        """The hint features of each row, ``[B, 10]``; zeros where it tells nothing. Its noise is its own."""
        ...


def decide(act_type: NDArray[np.generic], oA: NDArray[np.generic]) -> Decisions:
    """Decisions of the occupant's own choice, with full confidence: ``act_type[B]``, ``oA[B, 3]``."""
    size = len(act_type)
    return Decisions(
        np.asarray(act_type).astype(np.int8, copy=False),
        np.asarray(oA).astype(np.int8, copy=False),
        constant(1.0, np.float32, size),
        constant(Cause.FREE, np.int8, size),
    )


def worth(utilities: Int8s, items: Int8s) -> NDArray[np.int16]:
    """The points that ``items[..., 3]`` are worth under ``utilities[..., 3]``, without overflow."""
    product = utilities * items  # at most 100 each: fits int8
    total: NDArray[np.int16] = product[..., 0].astype(np.int16) + product[..., 1] + product[..., 2]
    return total


def constant(value: float, dtype: type, *shape: int) -> NDArray:  # type: ignore[type-arg]
    """A read-only array of one value that takes no memory."""
    one = np.array(value, dtype=dtype).tobytes()  # nobody can write into it
    return np.ndarray(shape, dtype, buffer=one, strides=(0,) * len(shape))  # a tenth of what broadcast_to takes


def no_hints(size: int) -> Floats:
    """The hint features of ``size`` rows that were told nothing."""
    return constant(0.0, np.float32, size, HINT_WIDTH)


def no_noise(size: int) -> Doubles:
    """The noise that a deterministic occupant is given: NaN, so that reading it shows."""
    return constant(np.nan, np.float64, size, NOISE_WIDTH)


NO_ACT_YET = Act.END  # how "the partner has not spoken" is written in observations
