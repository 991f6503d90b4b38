"""Hint schedule: a seat gets a hint on its first and then every k-th own step; and hints as features of a network.

The batched play loop and the environments' wrapper both use it, so a seat gets the same hints in training and in play.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dond_marl.envs.features import BaseLayout, ObservationEncoder, encode
from dond_marl.errors import InputError, quote
from dond_marl.game import Act
from dond_marl.seats import HINT_WIDTH, Cause, Floats, Hinter, Hints, Int8s, Traits, Turns, no_hints
from hints.providers import unavailable, well_formed, without_illegal

VERSION = 1  # increased whenever the same hint would give other numbers
PIECES = (("hint_act", len(Act)), ("hint_oA", 3), ("hint_confidence", 1), ("hint_available", 1))
assert sum(width for _, width in PIECES) == HINT_WIDTH
_WITHHELD = 7  # index of the noise that decides on dropout; hinters read the first ones


class HintSchedule:
    """``hinter`` on a schedule, a :class:`dond_marl.seats.HintSource`; queried on every ``cadence_k``-th own step.

    The seat's own steps count from 0, so there is always a hint before its first act. ``dropout``: the probability
    that a due hint is dropped, independently for each by the noise of the hint, without a query; it keeps a learner
    from relying on hints. ``privileged``: the hinter observes the other seat's values.

    ``tally`` counts hints since construction: ``"asked"``, ``"available"``, and by cause ``"missing"`` (greedy hints in
    place of a missing expert's, available), ``"unreachable"``, ``"unparsable"``, ``"illegal"``, ``"budget"``,
    ``"unstated"`` (all unavailable); and those ``"withheld"``. Tallies add up with ``+``.

    Raises ``ValueError`` unless ``cadence_k`` is an integer >= 1 and ``dropout`` in 0..1, ``TypeError`` for a hinter
    that is none.
    """

    def __init__(self, hinter: Hinter, cadence_k: int = 1, *, dropout: float = 0.0, privileged: bool = False) -> None:
        if isinstance(cadence_k, bool) or not isinstance(cadence_k, int | np.integer) or cadence_k < 1:
            raise ValueError(
                f"cadence_k is the number of own steps between hints, an integer >= 1; got {quote(cadence_k)}"
            )
        if isinstance(hinter, type) or not isinstance(hinter, Hinter):
            raise TypeError(f"a hinter is an object with hint(turns); got {quote(hinter)}")
        if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
            raise ValueError(f"dropout is the probability that a hint is dropped, in 0..1; got {quote(dropout)}")
        self.hinter = hinter
        self.cadence_k = int(cadence_k)
        self.dropout, self.privileged = float(dropout), privileged
        self.tally: Counter[str] = Counter()

    @property
    def deterministic(self) -> bool:
        """Whether the hinter declares that it reads no noise, and no hint is dropped."""
        return self._traits.deterministic and not self.dropout

    @property
    def expensive(self) -> bool:
        """Whether the hinter is a service or a person. A local model is not: it is faster with more games at once."""
        return self._traits.remote or self._traits.human

    @property
    def _traits(self) -> Traits:
        traits: Traits = getattr(self.hinter, "traits", Traits())
        return traits

    def without_dropout(self) -> HintSchedule:
        """The same hinter and schedule without dropout, with a new tally: for measuring a trained policy."""
        return HintSchedule(self.hinter, self.cadence_k, privileged=self.privileged)

    def hint_features(self, turns: Turns) -> Floats:
        """The hint features of each row, ``[B, 10]`` in [0, 1]; zeros off the schedule and where none is available."""
        if turns.turns_taken // 2 % self.cadence_k:
            return no_hints(turns.size)
        if not self.dropout:
            return self._query(turns)
        features = np.zeros((turns.size, HINT_WIDTH), dtype=np.float32)
        due = np.flatnonzero(turns.noise[:, _WITHHELD] >= self.dropout)
        self.tally["withheld"] += turns.size - len(due)
        if len(due):
            features[due] = self._query(turns.rows(due))
        return features

    def _query(self, turns: Turns) -> Floats:
        hints = self.hinter.hint(turns)
        if well_formed(hints, turns.size):
            confidence = np.clip(np.nan_to_num(hints.confidence), 0, 1).astype(np.float32)
            hints = without_illegal(turns, hints._replace(confidence=confidence))
        else:
            hints = unavailable(turns.size, Cause.UNPARSABLE)
        available, cause = np.asarray(hints.available), np.asarray(hints.cause)
        self.tally["asked"] += len(available)
        self.tally["available"] += int(available.sum())
        for number, times in enumerate(np.bincount(cause, minlength=len(Cause)).tolist()):
            if times and number != Cause.FREE:
                self.tally[Cause(number).name.lower()] += times
        unstated = int((~available & (cause == Cause.FREE)).sum())
        if unstated:
            self.tally["unstated"] += unstated
        return hint_features(hints, turns.caps)


def hint_features(hints: Hints, caps: Int8s) -> Floats:
    """Hints as numbers in [0, 1], ``[B, 10]``: act one-hot 5, ``oA`` divided by ``caps`` 3, confidence 1, available 1.

    Rows that are not available are all zeros; ``oA`` is zero where the act is no offer and where the cap is 0. Their
    meaning is ``hints-v1`` of :class:`HintAdapter`.
    """
    features = np.zeros((len(caps), HINT_WIDTH), dtype=np.float32)
    rows = np.flatnonzero(hints.available)
    act = hints.act_type[rows]
    offered = hints.oA[rows] * (act <= Act.INSIST)[:, None]
    features[rows, act] = 1
    features[rows, 5:8] = offered / np.maximum(caps[rows], np.float32(1))
    features[rows, 8] = hints.confidence[rows]
    features[rows, 9] = 1
    return features


class LayoutError(InputError):
    """The feature layout of a checkpoint differs from the layout in use; the message names both."""


@dataclass(frozen=True, slots=True)
class HintAdapter:
    """Feature layout: ``base``, then with ``hints`` those of :func:`hint_features`; all in [0, 1].

    A checkpoint stores its name and loading checks it, so that a weight is never applied to a feature of another
    meaning.
    """

    base: BaseLayout
    hints: bool = True

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        return self.base.pieces + (PIECES if self.hints else ())

    @property
    def width(self) -> int:
        return self.base.width + self.hints * HINT_WIDTH

    @property
    def name(self) -> str:
        """The layout's name; equal names mean equal features."""
        return self.base.name + (f"+hints-v{VERSION}" if self.hints else "")

    def encode(self, turns: Turns) -> Floats:
        """The features of B turns, ``[B, width]`` float32."""
        features = encode(turns, self.base)
        if not self.hints:
            return features
        return np.concatenate([features, turns.hint_features], axis=1)

    def features(self, observation: Mapping[str, Any], info: Mapping[str, Any] | None = None) -> Floats:
        """The features of one seat of an environment, ``[width]`` float32, from its ``Dict`` observation and its info.

        An info without ``hint_features`` means no hint. Raises ``ValueError`` if they are not 10 numbers.
        """
        hint = (info or {}).get("hint_features")
        row = no_hints(1)[0] if hint is None else np.asarray(hint, dtype=np.float32)
        if row.shape != (HINT_WIDTH,):
            raise ValueError(f"info['hint_features'] must be {HINT_WIDTH} numbers; got shape {list(row.shape)}")
        features = ObservationEncoder(self.base)(observation)
        return np.concatenate([features, row]) if self.hints else features

    def check(self, stored_name: str) -> None:
        """Raise :class:`LayoutError` unless ``stored_name``, from a checkpoint, names this layout."""
        if stored_name != self.name:
            raise LayoutError(
                f"the checkpoint reads the feature layout {stored_name!r}, but this build and these settings make "
                f"{self.name!r}. Use the max_count, max_turns, revealed values and hints that it was trained with; if "
                "a version (-v...) differs, use the release that wrote it, or train anew"
            )
