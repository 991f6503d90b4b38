"""Actions in flat arrays and as single numbers, with their masks: what the views read and show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dond_marl.envs.spaces import InvalidAction, describe_value, read_integers
from dond_marl.game import ITEMS, Act, as_integer
from dond_marl.seats import Bools
from dond_marl.splits import action_at, action_count


class FlatActions:
    """``[act type, oA]``. The mask is one array per entry, which says all there is to say: caps do not hang on acts."""

    def __init__(self, max_count: int) -> None:
        self._sizes = [len(Act), *[max_count + 1] * len(ITEMS)]

    def space(self) -> spaces.Space[Any]:
        return spaces.MultiDiscrete(self._sizes)

    def read(self, action: object) -> object:
        """The action as the environment takes it. Raises :class:`InvalidAction`."""
        entries = read_integers(action, len(self._sizes))
        if entries is None or not all(0 <= n < size for n, size in zip(entries, self._sizes, strict=True)):
            raise InvalidAction(
                f"a flat action is 4 whole numbers, the act type and oA, each less than {self._sizes}; "
                f"got {describe_value(action)}"
            )
        return {"act_type": entries[0], "oA": entries[1:]}

    def mask(self, mask: Any) -> tuple[NDArray[np.int8], ...]:
        """The environment's mask as ``space().sample`` takes it: ``int8`` of the acts, and of each entry of ``oA``."""
        return (mask["act_type"], *mask["oA"])

    def idle(self) -> tuple[NDArray[np.int8], ...]:
        """The mask of a seat that is not to move: the first action alone."""
        return tuple(first_alone(size) for size in self._sizes)


class DiscreteActions:
    """Every act as one number, with a mask entry each."""

    def __init__(self, max_count: int) -> None:
        self._max_count, self._count = max_count, action_count(max_count)

    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(self._count)

    def read(self, action: object) -> object:
        number = as_integer(action)
        if number is None or not 0 <= number < self._count:
            top, text = self._count - 1, describe_value(action)
            raise InvalidAction(f"a numbered action is one whole number in 0..{top}; got {text}")
        act, oA = action_at(number, self._max_count)
        return {"act_type": int(act), "oA": oA}

    def mask(self, mask: Any) -> NDArray[np.int8]:
        """``int8[2K + 3]``, K offers."""
        first, second, third = mask["oA"]
        within = (first[:, None, None] & second[:, None] & third).ravel()  # in the order of the grid
        return np.concatenate([within, within, mask["act_type"][Act.AGREE :]])

    def idle(self) -> NDArray[np.int8]:
        return first_alone(self._count)


def as_bools(mask: Any) -> Bools:
    """A mask of any view as one bool vector, in the order of the action space's parts."""
    if isinstance(mask, Mapping):
        mask = (mask["act_type"], *mask["oA"])
    return np.concatenate(mask).astype(bool) if isinstance(mask, tuple) else np.asarray(mask, dtype=bool)


@lru_cache(maxsize=32)
def first_alone(size: int) -> NDArray[np.int8]:
    """A mask that leaves one action of ``size``, the first; shared and read-only."""
    mask = np.zeros(size, dtype=np.int8)
    mask[0] = 1
    mask.flags.writeable = False
    return mask
