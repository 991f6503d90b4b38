"""Infos for libraries that stack them: numeric arrays alone, with the same keys and shapes from ``reset`` to the end.

=================  ==================================================================================================
``action_mask``    int8 ``[2K + 3]``, which numbers may be said, with discrete actions; masked observations hold it
                   in its place. Flat and Dict actions have ``action_masks``, ``[5 + 3 * (max_count + 1)]``, ordered as
                   the method of that name does it: libraries read the other as the mask of one number.
``oA_max``         int64 ``[3]``, the most that may be kept.
``seat``           int64, whose info this is, 0 or 1.
``active_seat``    int64, who is to move, 0 or 1; -1 when the game is over.
``ending``         int64, as :class:`dond_marl.game.Ending` numbers it; 0 while the game goes on.
``deal``           int8, 1 if a deal has closed.
``illegal``        int8, 1 if the game was forfeited by an act that the rules forbid.
``allocation``     int64 ``[2, 3]``, what each seat got; zeros without a deal.
``scores``         int64 ``[2]``, points of both seats; zeros without a deal.
=================  ==================================================================================================

Further numbers and arrays that a wrapper has put in, such as ``hint_features``, stay; anything else is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.envs.spaces import Info
from dond_marl.game import ITEMS, SEATS, State

Arrays = dict[str, NDArray[Any]]
_NOTHING = tuple((0,) * len(ITEMS) for _ in SEATS)
_TOLD = frozenset(("action_mask", "active_agent", "outcome", "illegal", "seat"))  # said by the keys above


def as_arrays(info: Info, state: State, seat: int) -> Arrays:
    """The ``info`` that a view has for ``seat`` when the game stands at ``state``, as fresh arrays, without a mask."""
    outcome = state.outcome
    shown: dict[str, object] = {
        "seat": seat,
        "active_seat": state.mover if outcome is None else -1,
        "ending": 0 if outcome is None else outcome.ending,
        "allocation": _NOTHING if outcome is None or outcome.allocation is None else outcome.allocation,
        "scores": (0, 0) if outcome is None else outcome.scores,
    }
    arrays: Arrays = {
        "deal": np.array(outcome is not None and outcome.deal, dtype=np.int8),
        "illegal": np.array(outcome is not None and outcome.rule_broken is not None, dtype=np.int8),
        **{name: np.array(value, dtype=np.int64) for name, value in shown.items()},
    }
    for name, value in info.items():
        if name not in _TOLD and isinstance(value, np.ndarray | np.generic | int | float):
            array = np.array(value)
            if array.dtype.kind in "biuf":
                arrays[name] = array
    return arrays
