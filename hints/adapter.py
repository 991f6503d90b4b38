"""The input vector of the policy network: the base features of a turn and ten hint features.

The layout has a name, which a checkpoint stores and loading checks, so that a weight is never applied to a feature of
another meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dond_marl.envs.features import BaseLayout, ObservationEncoder, encode
from dond_marl.errors import InputError
from dond_marl.game import Act
from dond_marl.seats import HINT_WIDTH, Floats, Turns, no_hints

VERSION = 1  # increased whenever the same hint would give other numbers
PIECES = (("hint_act", len(Act)), ("hint_oA", 3), ("hint_confidence", 1), ("hint_available", 1))
assert sum(width for _, width in PIECES) == HINT_WIDTH


class LayoutError(InputError):
    """The feature layout of a checkpoint differs from the layout in use; the message names both."""


@dataclass(frozen=True, slots=True)
class HintAdapter:
    """Feature layout: ``base``, then with ``hints`` those of :func:`hints.schedule.hint_features`; all in [0, 1]."""

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
