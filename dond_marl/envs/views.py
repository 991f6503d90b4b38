"""The game for libraries that take no ``Dict`` actions or observations: the same turns in flat arrays.

=========================  =========================================================================================
``actions="flat"``         ``MultiDiscrete([5, n+1, n+1, n+1])``: act type, then ``oA``; ``n`` is ``max_count``.
``actions="discrete"``     One ``Discrete`` number per act, as :mod:`dond_marl.splits` numbers them.
``observations="box"``     One float32 vector in [0, 1], as :mod:`dond_marl.envs.features` lays it out.
``observations="masked"``  ``{"observation": that vector, "action_mask": int8}``, as PettingZoo's classic games have it,
                           for discrete actions.
``"dict"``                 Actions, or observations, as the environment has them.
=========================  =========================================================================================

:func:`view` takes the AEC environment, the parallel one or a :class:`SingleAgentView` (also out of ``gymnasium.make``)
and keeps its API. ``info["action_mask"]`` has the shape of the view's action space, so ``space.sample(mask)`` is legal;
``action_masks()`` gives the same as one bool vector, as sb3-contrib asks; it raises :class:`OrderError` where there is
no game and nothing may be said. Illegal acts forfeit unless the environment was built with an ``illegal`` of its own:
such libraries sample without masks. In the parallel view the inactive seat's action is ignored, and its flat or
discrete mask leaves it one action, the first: a learner that masks learns no play from such steps. One that does not
must leave them out over SuperSuit's vectors by ``info["active_agent"]``, see :mod:`dond_marl.envs.parallel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray
from pettingzoo.utils import BaseParallelWrapper, BaseWrapper
from pettingzoo.utils.env import AECEnv, ParallelEnv

from dond_marl.envs.aec import NegotiationEnv, OrderError
from dond_marl.envs.features import BaseLayout, ObservationEncoder
from dond_marl.envs.parallel import ParallelNegotiationEnv, Results
from dond_marl.envs.single_agent import SingleAgentView
from dond_marl.envs.spaces import Info, InvalidAction, Observation, described, of_agent, wholes
from dond_marl.game import ITEMS, SEATS, Act, as_integer
from dond_marl.seats import Bools
from dond_marl.splits import action_at, action_count

ActionView = Literal["flat", "discrete", "dict"]
ObservationView = Literal["box", "masked", "dict"]


class FlatActions:
    """``[act type, oA]``. The mask is one array per entry, which says all there is to say: caps do not hang on acts."""

    def __init__(self, max_count: int) -> None:
        self._sizes = [len(Act), *[max_count + 1] * len(ITEMS)]

    def space(self) -> spaces.Space[Any]:
        return spaces.MultiDiscrete(self._sizes)

    def read(self, action: object) -> object:
        """The action as the environment takes it. Raises :class:`InvalidAction`."""
        entries = wholes(action, len(self._sizes))
        if entries is None or not all(0 <= n < size for n, size in zip(entries, self._sizes, strict=True)):
            raise InvalidAction(
                f"a flat action is 4 whole numbers, the act type and oA, each less than {self._sizes}; "
                f"got {described(action)}"
            )
        return {"act_type": entries[0], "oA": entries[1:]}

    def mask(self, mask: Any) -> tuple[NDArray[np.int8], ...]:
        """The environment's mask as ``space().sample`` takes it: ``int8`` of the acts, and of each entry of ``oA``."""
        return (mask["act_type"], *mask["oA"])

    def idle(self) -> tuple[NDArray[np.int8], ...]:
        """The mask of a seat that is not to move: the first action alone."""
        return tuple(_first(size) for size in self._sizes)


class DiscreteActions:
    """Every act as one number, with a mask entry each."""

    def __init__(self, max_count: int) -> None:
        self._max_count, self._count = max_count, action_count(max_count)

    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(self._count)

    def read(self, action: object) -> object:
        number = as_integer(action)
        if number is None or not 0 <= number < self._count:
            top, text = self._count - 1, described(action)
            raise InvalidAction(f"a numbered action is one whole number in 0..{top}; got {text}")
        act, oA = action_at(number, self._max_count)
        return {"act_type": int(act), "oA": oA}

    def mask(self, mask: Any) -> NDArray[np.int8]:
        """``int8[2K + 3]``, K offers."""
        first, second, third = mask["oA"]
        within = (first[:, None, None] & second[:, None] & third).ravel()  # in the order of the grid
        return np.concatenate([within, within, mask["act_type"][Act.AGREE :]])

    def idle(self) -> NDArray[np.int8]:
        return _first(self._count)


def as_bools(mask: Any) -> Bools:
    """A mask of any view as one bool vector, in the order of the action space's parts."""
    if isinstance(mask, Mapping):
        mask = (mask["act_type"], *mask["oA"])
    return np.concatenate(mask).astype(bool) if isinstance(mask, tuple) else np.asarray(mask, dtype=bool)


@lru_cache(maxsize=32)
def _first(size: int) -> NDArray[np.int8]:
    mask = np.zeros(size, dtype=np.int8)
    mask[0] = 1
    mask.flags.writeable = False
    return mask


class Translation:
    """Between the forms of a view and those of its environment: actions one way, observations and infos the other."""

    def __init__(self, game: NegotiationEnv, actions: ActionView, observations: ObservationView) -> None:
        if actions not in get_args(ActionView) or observations not in get_args(ObservationView):
            raise ValueError(
                f"a view has actions {' or '.join(get_args(ActionView))} and observations "
                f"{' or '.join(get_args(ObservationView))}; got actions={actions!r}, observations={observations!r}"
            )
        if observations == "masked" and actions != "discrete":
            raise ValueError(
                f"masked observations hold the mask of discrete actions; got actions={actions!r}. Take the masks from "
                "info['action_mask'] or action_masks(), or say actions='discrete'"
            )
        game.prefer_illegal("forfeit")
        forms: dict[str, type[FlatActions | DiscreteActions]] = {"flat": FlatActions, "discrete": DiscreteActions}
        self.game = game
        self.form = forms[actions](game.max_count) if actions in forms else None
        self.masked = observations == "masked"
        self.encode: ObservationEncoder | None = None
        if observations != "dict":
            layout = BaseLayout(game.max_count, game.rules.max_turns, game.reveal_partner_utilities)
            self.encode = ObservationEncoder(layout)

    def action_space(self, space: Any) -> Any:
        _check_dict(space, "actions")
        return space if self.form is None else self.form.space()

    def observation_space(self, space: Any) -> Any:
        _check_dict(space, "observations")
        if self.encode is None:
            return space
        box = spaces.Box(0.0, 1.0, (self.encode.width,), np.float32)
        if not self.masked:
            return box
        numbers = action_count(self.game.max_count)
        return spaces.Dict({"observation": box, "action_mask": spaces.Box(0, 1, (numbers,), np.int8)})

    def observation(self, observation: Observation, info: Info) -> Any:
        """The view's observation; ``[width]`` in a box. ``info``: the view's info of the same seat and moment."""
        if self.encode is None:
            return observation
        row = self.encode(observation)
        return {"observation": row, "action_mask": info["action_mask"].copy()} if self.masked else row

    def action(self, action: object) -> object:
        return action if self.form is None else self.form.read(action)

    def info(self, info: Info) -> Info:
        return info if self.form is None else {**info, "action_mask": self.form.mask(info["action_mask"])}

    def idle_info(self, info: Info) -> Info:
        """The info of a seat whose action is not read: in the forms of a view its mask leaves it one action.

        So it is drawn with certainty, and gives a masked learner that learns from every step nothing to learn.
        """
        return info if self.form is None else {**info, "action_mask": self.form.idle()}

    def check_game(self, infos: Info) -> None:
        """Raise :class:`OrderError` unless a game is going on; ``infos`` is empty before the view's first reset."""
        if not infos:
            raise OrderError("there is no game yet: call reset() first")
        if self.game.negotiation.over:
            raise OrderError("the game is over, nothing may be said any more: call reset() for a new one")


class _BothSeats:
    """What the views of PettingZoo's two APIs share: spaces and masks of both seats."""

    def _set_up(self, env: Any, translation: Translation) -> None:
        self.translation = translation
        self.infos: dict[str, Info] = {}
        self.action_spaces = {agent: translation.action_space(env.action_space(agent)) for agent in SEATS}
        self.observation_spaces = {
            agent: translation.observation_space(env.observation_space(agent)) for agent in SEATS
        }

    def action_space(self, agent: str) -> Any:
        return of_agent(self.action_spaces, agent)

    def observation_space(self, agent: str) -> Any:
        return of_agent(self.observation_spaces, agent)

    def action_masks(self, agent: str | None = None) -> Bools:
        """What ``agent``, by default the seat to move, may say, as one vector. Raises :class:`OrderError`."""
        self.translation.check_game(self.infos)
        asked = self.translation.game.agent_selection if agent is None else agent
        return as_bools(of_agent(self.infos, asked)["action_mask"])


class AECView(_BothSeats, BaseWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A view of the AEC environment; made by :func:`view`."""

    def __init__(self, env: Any, actions: ActionView, observations: ObservationView) -> None:
        super().__init__(env)
        self._set_up(env, Translation(env.unwrapped, actions, observations))
        self._info: dict[str, Info] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        self._update()

    def step(self, action: object) -> None:
        self.env.step(None if action is None else self.translation.action(action))
        self._update()

    def observe(self, agent: str) -> Any:
        return self.translation.observation(self.env.observe(agent), self._info[agent])

    def _update(self) -> None:
        self.infos = {agent: self.translation.info(info) for agent, info in self.env.infos.items()}
        self._info = {**self._info, **self.infos}  # also of seats that have left


class ParallelView(_BothSeats, BaseParallelWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A view of the parallel environment; made by :func:`view`."""

    def __init__(self, env: Any, actions: ActionView, observations: ObservationView) -> None:
        super().__init__(env)
        self._set_up(env, Translation(env.unwrapped.negotiation_env, actions, observations))

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        return self._shown(*self.env.reset(seed=seed, options=options))

    def step(self, actions: Mapping[str, object]) -> Results:
        """The active seat says its action; the other's is not read."""
        active = self.infos.get(SEATS[0], {}).get("active_agent")
        heard = actions
        if active is not None and isinstance(actions, Mapping) and active in actions:
            heard = {active: self.translation.action(actions[active])}
        seen, rewards, ended, cut, infos = self.env.step(heard)
        seen, infos = self._shown(seen, infos)
        return seen, rewards, ended, cut, infos

    def _shown(self, seen: dict[str, Any], infos: dict[str, Info]) -> tuple[dict[str, Any], dict[str, Info]]:
        info_of, idle = self.translation.info, self.translation.idle_info
        self.infos = {
            agent: info_of(info) if info["active_agent"] in (agent, None) else idle(info)
            for agent, info in infos.items()
        }
        return {a: self.translation.observation(shown, self.infos[a]) for a, shown in seen.items()}, dict(self.infos)


class SeatView(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A view of a :class:`SingleAgentView`; made by :func:`view`."""

    def __init__(self, env: gymnasium.Env[Any, Any], actions: ActionView, observations: ObservationView) -> None:
        RecordConstructorArgs.__init__(self, actions=actions, observations=observations)
        gymnasium.Wrapper.__init__(self, env)
        self.translation = Translation(env.unwrapped.game, actions, observations)  # type: ignore[attr-defined]
        self.action_space = self.translation.action_space(env.action_space)
        self.observation_space = self.translation.observation_space(env.observation_space)
        self._info: Info = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        return self._shown(*self.env.reset(seed=seed, options=options))

    def step(self, action: object) -> tuple[Any, Any, bool, bool, Info]:
        seen, reward, ended, cut, info = self.env.step(self.translation.action(action))
        seen, info = self._shown(seen, info)
        return seen, reward, ended, cut, info

    def action_masks(self) -> Bools:
        """What the agent may say, as one vector. Raises :class:`OrderError`."""
        self.translation.check_game(self._info)
        return as_bools(self._info["action_mask"])

    def _shown(self, seen: Any, info: Info) -> tuple[Any, Info]:
        self._info = self.translation.info(info)
        return self.translation.observation(seen, self._info), dict(self._info)


def view(env: Any, actions: ActionView = "flat", observations: ObservationView = "box") -> Any:
    """``env`` with actions and observations written as asked, under the API it has. Raises ``TypeError``."""
    kinds = (
        (AECEnv, NegotiationEnv, AECView),
        (ParallelEnv, ParallelNegotiationEnv, ParallelView),
        (gymnasium.Env, SingleAgentView, SeatView),
    )
    for kind, ours, made in kinds:
        if isinstance(env, kind) and isinstance(env.unwrapped, ours):
            return made(env, actions, observations)
    raise TypeError(
        "a view takes an environment of dond_marl, wrapped or not: deal_or_no_dialog_v0.env() or .parallel_env(), a "
        f"SingleAgentView, or gymnasium.make('DealOrNoDialog-v0'); got {type(env).__name__}"
    )


def _check_dict(space: object, what: str) -> None:
    if not isinstance(space, spaces.Dict):
        raise TypeError(
            f"a view is taken of the environment's own Dict {what}, but these are a {type(space).__name__} already: "
            "say both forms in one view(env, actions=..., observations=...)"
        )
