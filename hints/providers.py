"""Hint providers ``random``, ``expert`` and ``llm``: uniform random actions, or the action that a partner would choose.

A hint that cannot be made is never repaired: it is unavailable, all zeros, and its cause is counted.
"""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from dond_marl.errors import RunFailure
from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Hints, Partner, Traits, Turns, constant, is_legal


class HinterError(RunFailure):
    """A failure that needs a person, such as a refused key: it ends the run, because later hints would fail too."""


class RandomHinter:
    """Any legal act with equal probability, then each item type in any number: uninformed advice.

    The provider ``random``. It reads noise 0 for the act and 1 to 3 for ``oA``; its
    confidence is 0; it is always available.
    """

    traits: ClassVar[Traits] = Traits(memoryless=True)

    def hint(self, turns: Turns) -> Hints:
        may = np.cumsum(turns.act_mask.T, axis=0)  # [5, B] legal acts up to each
        chosen = (turns.noise[:, 0] * may[-1]).astype(np.int64)
        act = (may <= chosen).sum(axis=0).astype(np.int8)
        oA = (turns.noise[:, 1:4] * (turns.caps + 1)).astype(np.int8)
        return Hints(
            act,
            oA * (act <= Act.INSIST)[:, None],
            constant(0.0, np.float32, turns.size),
            constant(True, np.bool_, turns.size),
        )


class ExpertHinter:
    """Hints the action of ``partner``, with its confidence: the action's probability, or the stated confidence.

    The providers ``expert`` and ``llm``. Without a ``partner`` (its checkpoint is
    missing) it hints the action of ``fallback`` (the greedy heuristic): available, cause MISSING; a partner's own
    decisions with that cause count the same. Any other stated fallback of the partner is an unavailable hint of that
    cause; so are an act outside the mask or the caps (ILLEGAL), a confidence outside 0..1 or an answer of the wrong
    shape (UNPARSABLE), and an exception (UNREACHABLE, for every row of the batch), shown as a ``RuntimeWarning``.

    Raises ``ValueError`` without a partner and a fallback. A :class:`HinterError` of the partner is passed on.
    """

    def __init__(self, partner: Partner | None, fallback: Partner | None = None) -> None:
        queried = fallback if partner is None else partner
        if queried is None:
            raise ValueError(
                "an expert hinter needs a partner, or a fallback for a missing one; got neither. Pass the expert of "
                "your checkpoint, or the heuristic as fallback"
            )
        self._partner, self._missing = queried, partner is None

    @property
    def partner(self) -> Partner:
        return self._partner

    @property
    def traits(self) -> Traits:
        return self._partner.traits

    def hint(self, turns: Turns) -> Hints:
        try:
            decisions = self._partner.act(turns)
        except HinterError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a failing partner must not stop the hinted seat
            warnings.warn(
                f"{type(self._partner).__name__} failed to give hints: {type(error).__name__}: {error}; "
                "the hints are unavailable and counted as 'unreachable'",
                RuntimeWarning,
                stacklevel=2,
            )
            return unavailable(turns.size, Cause.UNREACHABLE)
        if not well_formed(decisions, turns.size):
            return unavailable(turns.size, Cause.UNPARSABLE)
        confidence = np.asarray(decisions.confidence, dtype=np.float32)
        in_range = (confidence >= 0) & (confidence <= 1)  # false for NaN
        cause = np.array(decisions.cause, dtype=np.int8)
        if self._missing:
            cause[cause == Cause.FREE] = Cause.MISSING
        is_own = (cause == Cause.FREE) | (cause == Cause.MISSING)
        cause[is_own & ~in_range] = Cause.UNPARSABLE
        hints = Hints(decisions.act_type, decisions.oA, confidence, is_own & in_range, cause)
        return without_illegal(turns, hints)


def without_illegal(turns: Turns, hints: Hints) -> Hints:
    """The hints with zeros in every row that is not available or illegal, and in ``oA`` where the act is no offer."""
    legal = is_legal(turns, hints.act_type, hints.oA)
    stated = constant(Cause.FREE, np.int8, turns.size) if hints.cause is None else hints.cause
    available = hints.available & legal
    offers = available & (hints.act_type <= Act.INSIST)
    return Hints(
        np.where(available, hints.act_type, 0).astype(np.int8),
        np.where(offers[:, None], hints.oA, 0).astype(np.int8),
        np.where(available, hints.confidence, 0).astype(np.float32),
        available,
        np.where(hints.available & ~legal, Cause.ILLEGAL, stated).astype(np.int8),
    )


def unavailable(size: int, cause: Cause) -> Hints:
    """``size`` unavailable hints of one cause."""
    act, oA = constant(0, np.int8, size), constant(0, np.int8, size, 3)
    confidence, available = constant(0.0, np.float32, size), constant(False, np.bool_, size)
    return Hints(act, oA, confidence, available, constant(cause, np.int8, size))


def well_formed(decisions: object, size: int) -> bool:
    """Whether decisions, or hints, are those of ``size`` games: of the right shapes and kinds, and of known causes."""
    if not isinstance(decisions, Decisions | Hints):
        return False
    act, oA, confidence = map(np.asarray, decisions[:3])
    stated = (decisions.available, decisions.cause) if isinstance(decisions, Hints) else (decisions.cause,)
    *others, cause = (np.asarray(column) for column in stated if column is not None)  # availability if none is stated
    shapes = oA.shape == (size, 3) and all(column.shape == (size,) for column in (act, confidence, *others, cause))
    kinds = act.dtype.kind in "iu" and oA.dtype.kind in "iu" and confidence.dtype.kind in "fiu"
    return bool(shapes and kinds and np.isin(cause, list(Cause)).all())
