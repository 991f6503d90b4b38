"""A policy trained with another library as a partner.

Training on ``view(..., observations="box")`` gives a function from observations and masks to actions.
:class:`PolicyPartner` calls it on batches of turns, so that the policy can play in a league, be evaluated and be hinted
like any other partner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.spaces import action_mask_arrays, read_action_arrays
from dond_marl.errors import InputError, quote
from dond_marl.game import ITEMS, Act, as_integer
from dond_marl.seats import (
    Bools,
    Cause,
    Decisions,
    Floats,
    Traits,
    Turns,
    are_offers,
    constant,
    is_legal,
    turns_after,
)

Policy = Callable[..., Any]
_DEFAULT = BaseLayout(max_count=4, max_turns=10)
_PURE = Traits(deterministic=True, memoryless=True, learned=True)


@dataclass(frozen=True)
class PolicyPartner:
    """A partner that plays the actions of ``policy(observations, masks)``.

    The policy gets the view's observations, ``float32[B, W]``, and ``action_masks()``, ``bool[B, M]``, and returns the
    view's actions: ``[B, 4]`` whole numbers for ``actions="flat"``, ``[B]`` for ``"discrete"``. ``layout``: that of the
    training environment, ``view(...).layout``, by default games of up to 4 items of a type and 10 turns. ``name``: that
    of its row in tables. An illegal action is replaced by END with cause ``ILLEGAL``: in the view it would have
    forfeited.

    ``frames``: the latest observations of the seat's own turns, oldest first, ``float32[B, frames, W]``, as Gymnasium's
    ``FrameStackObservation``; where there are fewer, the first is repeated (``padding="reset"``) or zeros come before
    it (``"zero"``, as Stable-Baselines3's ``VecFrameStack``, whose rows are these joined).

    ``recurrent``: the policy is called as ``policy(observations, masks, state, episode_start)`` for each of the seat's
    own turns so far and returns actions and the next state, as ``predict`` of Stable-Baselines3 does. ``state`` is
    ``None`` and ``episode_start``, ``bool[B]``, true at the first. It must be a function of the observations.

    Raises ``ValueError`` for no function, games that do not fit the layout, and actions outside the action space.
    """

    policy: Policy
    actions: Literal["flat", "discrete"] = "flat"
    layout: BaseLayout = _DEFAULT
    traits: Traits = _PURE
    name: str = "policy"
    frames: int = 1
    padding: Literal["reset", "zero"] = "reset"
    recurrent: bool = False

    def __post_init__(self) -> None:
        if not callable(self.policy):
            raise InputError(f"policy must be a function of (observations, masks); got {quote(self.policy)}")
        if (as_integer(self.frames) or 0) < 1 or self.padding not in ("reset", "zero"):
            raise InputError(
                f"frames is a whole number of at least 1, padding 'reset' or 'zero'; got {quote(self.frames)} and "
                f"{quote(self.padding)}"
            )
        if self.layout.history or self.frames > 1 or self.recurrent:
            object.__setattr__(self, "traits", replace(self.traits, memoryless=False))

    def act(self, turns: Turns) -> Decisions:
        self._check_room(turns)
        answer = self._answer(turns)
        act, oA = read_action_arrays(answer, self.actions, turns.size, self.layout.max_count)
        legal, offers = is_legal(turns, act, oA), act <= Act.INSIST
        return Decisions(
            np.where(legal, act, np.int8(Act.END)),
            np.where((legal & offers)[:, None], oA, np.int8(0)),
            constant(1.0, np.float32, turns.size),
            np.where(legal, np.int8(Cause.FREE), np.int8(Cause.ILLEGAL)),
        )

    def _answer(self, turns: Turns) -> Any:
        """The policy's actions, its memory rebuilt from the history."""
        remembers = self.frames > 1 or self.recurrent
        observed: list[Floats] = []
        answer, state = None, None
        for turn in own_turns(turns) if remembers else (turns,):
            observed.append(encode(turn, self.layout))
            if not self.recurrent and turn is not turns:
                continue
            shown = observed[-1] if self.frames == 1 else self._stacked(observed)
            masks = view_masks(turn, self.layout.max_count, self.actions)
            if not self.recurrent:
                return self.policy(shown, masks)
            answer = self.policy(shown, masks, state, constant(len(observed) == 1, np.bool_, turns.size))
            if not isinstance(answer, tuple) or len(answer) != 2:
                raise InputError(f"a recurrent policy returns its actions and the next state; got {quote(answer)}")
            answer, state = answer
        return answer

    def _stacked(self, observed: list[Floats]) -> Floats:
        missing = self.frames - len(observed)
        first = observed[0] if self.padding == "reset" else np.zeros_like(observed[0])
        return np.stack([*[first] * missing, *observed[-self.frames :]], axis=1)

    def _check_room(self, turns: Turns) -> None:
        most, layout = int(turns.counts.max(initial=0)), self.layout
        if most > layout.max_count or turns.rules.max_turns > layout.max_turns:
            raise ValueError(
                f"the policy learned games of up to {layout.max_count} items of a type and {layout.max_turns} turns; "
                f"these have {most} and {turns.rules.max_turns}. Give PolicyPartner the layout that it learned with"
            )


def own_turns(turns: Turns) -> Iterator[Turns]:
    """The earlier turns of the seats to move, the first first, then ``turns``; without hints or noise."""
    acts, keeps = turns.history.act.T, turns.history.oA.transpose(1, 2, 0)
    offer = np.zeros((len(ITEMS), turns.size), dtype=np.int8)
    for turn_number in range(turns.seat, turns.turns_taken, 2):
        if turn_number:
            offer = np.where(are_offers(acts[turn_number - 1]), turns.counts.T - keeps[turn_number - 1], offer)
        known = turns.rules, turns.prior, turns.counts, turns.my_utilities
        yield turns_after(*known, acts[:turn_number], keeps[:turn_number], offer.T, turns.partner_utilities)
    yield turns


def view_masks(turns: Turns, max_count: int, actions: Literal["flat", "discrete"] = "flat") -> Bools:
    """The view's action masks, ``[B, 5 + 3 * (max_count + 1)]`` for flat actions, ``[B, 2K + 3]`` for discrete ones."""
    return action_mask_arrays(turns.counts, turns.act_mask, actions, max_count)
