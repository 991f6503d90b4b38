"""A policy trained with another library as a partner.

Training on ``view(..., observations="box")`` gives a function from observations and masks to actions.
:class:`PolicyPartner` calls it on batches of turns, so that the policy can play in a league, be evaluated and be hinted
like any other partner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.spaces import action_mask_arrays, read_action_arrays
from dond_marl.errors import InputError, quote
from dond_marl.game import Act
from dond_marl.seats import Bools, Cause, Decisions, Floats, Traits, Turns, constant, is_legal

Policy = Callable[[Floats, Bools], Any]
_DEFAULT = BaseLayout(max_count=4, max_turns=10)
_PURE = Traits(deterministic=True, memoryless=True, learned=True)


@dataclass(frozen=True)
class PolicyPartner:
    """A partner that plays the actions of ``policy(observations, masks)``.

    The policy gets the view's observations, ``float32[B, W]``, and ``action_masks()``, ``bool[B, M]``, and returns the
    view's actions: ``[B, 4]`` whole numbers for ``actions="flat"``, ``[B]`` for ``"discrete"``. ``layout``: that of the
    training environment, by default games of up to 4 items of a type and 10 turns. ``name``: that of its row in tables.
    An illegal action is replaced by END with cause ``ILLEGAL``: in the view it would have forfeited.

    Raises ``ValueError`` for no function, games that do not fit the layout, and actions outside the action space.
    """

    policy: Policy
    actions: Literal["flat", "discrete"] = "flat"
    layout: BaseLayout = _DEFAULT
    traits: Traits = _PURE
    name: str = "policy"

    def __post_init__(self) -> None:
        if not callable(self.policy):
            raise InputError(f"policy must be a function of (observations, masks); got {quote(self.policy)}")

    def act(self, turns: Turns) -> Decisions:
        self._check_room(turns)
        masks = view_masks(turns, self.layout.max_count, self.actions)
        answer = self.policy(encode(turns, self.layout), masks)
        act, oA = read_action_arrays(answer, self.actions, turns.size, self.layout.max_count)
        legal, offers = is_legal(turns, act, oA), act <= Act.INSIST
        return Decisions(
            np.where(legal, act, np.int8(Act.END)),
            np.where((legal & offers)[:, None], oA, np.int8(0)),
            constant(1.0, np.float32, turns.size),
            np.where(legal, np.int8(Cause.FREE), np.int8(Cause.ILLEGAL)),
        )

    def _check_room(self, turns: Turns) -> None:
        most, layout = int(turns.counts.max(initial=0)), self.layout
        if most > layout.max_count or turns.rules.max_turns > layout.max_turns:
            raise ValueError(
                f"the policy learned games of up to {layout.max_count} items of a type and {layout.max_turns} turns; "
                f"these have {most} and {turns.rules.max_turns}. Give PolicyPartner the layout that it learned with"
            )


def view_masks(turns: Turns, max_count: int, actions: Literal["flat", "discrete"] = "flat") -> Bools:
    """The view's action masks, ``[B, 5 + 3 * (max_count + 1)]`` for flat actions, ``[B, 2K + 3]`` for discrete ones."""
    return action_mask_arrays(turns.counts, turns.act_mask, actions, max_count)
