"""Views of the environments for libraries without ``Dict`` spaces: actions and observations as flat arrays.

=========================  =========================================================================================
``actions="flat"``         ``MultiDiscrete([5, n+1, n+1, n+1])``: act type, then ``oA``; ``n`` is ``max_count``.
``actions="discrete"``     One ``Discrete`` number per act, as :mod:`dond_marl.splits` numbers them.
``observations="box"``     One float32 vector in [0, 1], as :mod:`dond_marl.envs.features` lays it out.
``observations="masked"``  ``{"observation": that vector, "action_mask": int8}``, as PettingZoo's classic games have it,
                           for discrete actions; ``key="observations"`` names the vector as RLlib's masking module does.
``infos="arrays"``         Numeric arrays only, the same keys and shapes from ``reset`` to the end, for libraries that
                           stack infos (TorchRL, Tianshou): see :func:`as_arrays`.
``"dict"``                 Actions, observations or infos as the environment has them.
``history=True``           The vector also holds the acts of both seats so far and the seat's own claim; ``layout`` of
                           the view names its pieces.
=========================  =========================================================================================

:func:`view` takes the AEC environment, the parallel one or a :class:`SingleAgentView` (also out of ``gymnasium.make``)
and keeps its API. ``info["action_mask"]`` has the shape of the view's action space, so ``space.sample(mask)`` is legal;
``action_masks()`` returns the same as one bool vector, for sb3-contrib; it raises :class:`OrderError` where no game
goes on. Illegal acts forfeit unless the environment was built with an explicit ``illegal``, because such libraries
sample without masks. In the parallel view the inactive seat's action is ignored, and its flat or discrete mask allows
one action only, the first: a learner that uses masks learns nothing from such steps. One that does not must leave them
out by ``info["active_agent"]``, see :class:`dond_marl.envs.aec.ParallelNegotiationEnv`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray
from pettingzoo.utils import BaseParallelWrapper, BaseWrapper
from pettingzoo.utils.env import AECEnv, ParallelEnv

from dond_marl.envs.aec import NegotiationEnv, OrderError, ParallelNegotiationEnv, Results
from dond_marl.envs.features import BaseLayout, ObservationEncoder, encode_history
from dond_marl.envs.single_agent import SingleAgentView
from dond_marl.envs.spaces import Info, InvalidAction, Observation, agent_entry, describe_value, read_integers
from dond_marl.envs.turn import acts_of
from dond_marl.errors import quote
from dond_marl.game import ITEMS, SEATS, Act, State
from dond_marl.seats import Bools, Floats
from dond_marl.splits import action_at, action_count

ActionView = Literal["flat", "discrete", "dict"]
ObservationView = Literal["box", "masked", "dict"]
InfoView = Literal["dict", "arrays"]
Key = Literal["observation", "observations"]


class Forms(NamedTuple):
    """The forms of a view's actions, observations and infos. :meth:`check` raises ``ValueError``."""

    actions: ActionView = "flat"
    observations: ObservationView = "box"
    infos: InfoView = "dict"
    key: Key = "observation"
    history: bool = False

    def check(self) -> None:
        for name, allowed in zip(self._fields, (ActionView, ObservationView, InfoView, Key), strict=False):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in get_args(allowed):
                raise ValueError(f"a view has {name} {' or '.join(get_args(allowed))}; got {name}={quote(value)}")
        if self.observations == "masked" and self.actions != "discrete":
            raise ValueError(
                f"masked observations hold the mask of discrete actions; got actions={self.actions!r}. Take the masks "
                "from info['action_mask'] or action_masks(), or say actions='discrete'"
            )
        if self.key != "observation" and self.observations != "masked":
            raise ValueError(
                f"key names the vector within masked observations; got key={self.key!r} with "
                f"observations={self.observations!r}. Say observations='masked', or leave key out"
            )
        if not isinstance(self.history, bool) or (self.history and self.observations == "dict"):
            raise ValueError(
                f"history is True or False, and its numbers are part of a Box; got history={quote(self.history)} with "
                f"observations={self.observations!r}. Say observations='box', or leave history out"
            )


class Translation:
    """Translates a view's actions to those of its environment, and observations and infos back."""

    def __init__(self, game: NegotiationEnv, forms: Forms) -> None:
        forms.check()
        game.prefer_illegal("forfeit")
        readers: dict[str, type[FlatActions | DiscreteActions]] = {"flat": FlatActions, "discrete": DiscreteActions}
        self.game, self.forms = game, forms
        self.form = readers[forms.actions](game.max_count) if forms.actions in readers else None
        self.layout = BaseLayout(game.max_count, game.rules.max_turns, game.reveal_partner_utilities, forms.history)
        self.encode: ObservationEncoder | None = None
        if forms.observations != "dict":
            self.encode = ObservationEncoder(replace(self.layout, history=False))

    def action_space(self, space: Any) -> Any:
        _check_dict(space, "actions")
        return space if self.form is None else self.form.space()

    def observation_space(self, space: Any) -> Any:
        _check_dict(space, "observations")
        if self.encode is None:
            return space
        box = spaces.Box(0.0, 1.0, (self.layout.width,), np.float32)
        if self.forms.observations == "box":
            return box
        numbers = action_count(self.game.max_count)
        return spaces.Dict({self.forms.key: box, "action_mask": spaces.Box(0, 1, (numbers,), np.int8)})

    def observation(self, observation: Observation, info: Info, agent: str) -> Any:
        """The view's observation; ``[width]`` in a box. ``info``: :meth:`info` of the same agent and moment."""
        if self.encode is None:
            return observation
        row = self.encode(observation)
        if self.layout.history:
            row = np.concatenate([row, self._history(SEATS.index(agent))])
        if self.forms.observations == "box":
            return row
        return {self.forms.key: row, "action_mask": info["action_mask"].copy()}

    def _history(self, seat: int) -> Floats:
        state = self.game.negotiation
        counts = np.array([state.scenario.counts], dtype=np.int8).T
        row: Floats = encode_history(*acts_of(state), counts, seat, self.layout)[0]
        return row

    def action(self, action: object) -> object:
        return action if self.form is None else self.form.read(action)

    def info(self, info: Info) -> Info:
        return info if self.form is None else {**info, "action_mask": self.form.mask(info["action_mask"])}

    def idle_info(self, info: Info) -> Info:
        """The info of the inactive seat: a flat or discrete mask allows it one action only, so there is no choice."""
        return info if self.form is None else {**info, "action_mask": self.form.idle()}

    def user_info(self, info: Info, agent: str) -> Info:
        """The user's form of :meth:`info` or :meth:`idle_info` of ``agent``."""
        if self.forms.infos == "dict":
            return info
        arrays = as_arrays(info, self.game.negotiation, SEATS.index(agent))
        if self.forms.observations != "masked":
            name = "action_mask" if self.forms.actions == "discrete" else "action_masks"
            arrays[name] = as_bools(info["action_mask"]).astype(np.int8)
        return arrays

    def check_game(self, infos: Info) -> None:
        """Raise :class:`OrderError` unless a game is going on; ``infos`` is empty before the view's first reset."""
        if not infos:
            raise OrderError("there is no game yet: call reset() first")
        if self.game.negotiation.is_over:
            raise OrderError("the game is over, no act is legal any more: call reset() for a new one")


class _BothSeats:
    """Spaces and masks of both seats, for the views of PettingZoo's two APIs."""

    def _set_up(self, env: Any, translation: Translation) -> None:
        self.translation = translation
        self._mask_infos: dict[str, Info] = {}  # infos with masks, also where the user's infos are arrays
        self.infos: dict[str, Info] = {}
        self.action_spaces = {agent: translation.action_space(env.action_space(agent)) for agent in SEATS}
        self.observation_spaces = {
            agent: translation.observation_space(env.observation_space(agent)) for agent in SEATS
        }

    @property
    def layout(self) -> BaseLayout:
        """The pieces of the Box observations, for :class:`dond_marl.envs.policy_partner.PolicyPartner`."""
        return self.translation.layout

    def action_space(self, agent: str) -> Any:
        return agent_entry(self.action_spaces, agent)

    def observation_space(self, agent: str) -> Any:
        return agent_entry(self.observation_spaces, agent)

    def action_masks(self, agent: str | None = None) -> Bools:
        """The mask of ``agent``, by default the seat to move, as one bool vector. Raises :class:`OrderError`."""
        self.translation.check_game(self._mask_infos)
        agent = self.translation.game.agent_selection if agent is None else agent
        return as_bools(agent_entry(self._mask_infos, agent)["action_mask"])


class AECView(_BothSeats, BaseWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A view of the AEC environment; made by :func:`view`."""

    def __init__(self, env: Any, forms: Forms) -> None:
        super().__init__(env)
        self._set_up(env, Translation(env.unwrapped, forms))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.env.reset(seed=seed, options=options)
        self._update()

    def step(self, action: object) -> None:
        playing = bool(self.env.agents)  # without agents the environment raises
        self.env.step(self.translation.action(action) if playing and action is not None else action)
        self._update()

    def observe(self, agent: str) -> Any:
        return self.translation.observation(self.env.observe(agent), self._mask_infos[agent], agent)

    def _update(self) -> None:
        infos = {agent: self.translation.info(info) for agent, info in self.env.infos.items()}
        self._mask_infos = {**self._mask_infos, **infos}  # also of seats that have left
        self.infos = {agent: self.translation.user_info(info, agent) for agent, info in infos.items()}


class ParallelView(_BothSeats, BaseParallelWrapper):  # type: ignore[misc]  # PettingZoo ships no types
    """A view of the parallel environment; made by :func:`view`."""

    def __init__(self, env: Any, forms: Forms) -> None:
        super().__init__(env)
        self._set_up(env, Translation(env.unwrapped.negotiation_env, forms))

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        return self._translate(*self.env.reset(seed=seed, options=options))

    def step(self, actions: Mapping[str, object]) -> Results:
        """Apply the active seat's action; the other's is ignored."""
        active = self._mask_infos.get(SEATS[0], {}).get("active_agent")
        if active is not None and isinstance(actions, Mapping) and active in actions:
            actions = {active: self.translation.action(actions[active])}
        observations, rewards, ended, cut, infos = self.env.step(actions)
        observations, infos = self._translate(observations, infos)
        return observations, rewards, ended, cut, infos

    def _translate(
        self, observations: dict[str, Any], infos: dict[str, Info]
    ) -> tuple[dict[str, Any], dict[str, Info]]:
        translation = self.translation
        self._mask_infos |= {  # the same infos where none are new, as after the end
            agent: translation.info(info) if info["active_agent"] in (agent, None) else translation.idle_info(info)
            for agent, info in infos.items()
        }
        self.infos = {agent: translation.user_info(self._mask_infos[agent], agent) for agent in infos}
        translated = {
            a: translation.observation(observation, self._mask_infos[a], a) for a, observation in observations.items()
        }
        return translated, dict(self.infos)


class SeatView(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A view of a :class:`SingleAgentView`; made by :func:`view`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        actions: ActionView = "flat",
        observations: ObservationView = "box",
        infos: InfoView = "dict",
        key: Key = "observation",
        history: bool = False,
    ) -> None:
        forms = Forms(actions, observations, infos, key, history)
        RecordConstructorArgs.__init__(self, **forms._asdict())
        gymnasium.Wrapper.__init__(self, env)
        self.translation = Translation(env.unwrapped.game, forms)  # type: ignore[attr-defined]
        self.action_space = self.translation.action_space(env.action_space)
        self.observation_space = self.translation.observation_space(env.observation_space)
        self._info: Info = {}

    @property
    def layout(self) -> BaseLayout:
        """The pieces of the Box observations, for :class:`dond_marl.envs.policy_partner.PolicyPartner`."""
        return self.translation.layout

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        return self._translate(*self.env.reset(seed=seed, options=options))

    def step(self, action: object) -> tuple[Any, Any, bool, bool, Info]:
        self.translation.check_game(self._info)
        observation, reward, ended, cut, info = self.env.step(self.translation.action(action))
        observation, info = self._translate(observation, info)
        return observation, reward, ended, cut, info

    def action_masks(self) -> Bools:
        """The agent's mask as one bool vector. Raises :class:`OrderError`."""
        self.translation.check_game(self._info)
        return as_bools(self._info["action_mask"])

    def _translate(self, observation: Any, info: Info) -> tuple[Any, Info]:
        self._info = self.translation.info(info)
        view: SingleAgentView = self.env.unwrapped  # type: ignore[assignment]  # checked by ``view``
        full = self._info if self.translation.forms.infos == "dict" else {"skipped_games": 0, **self._info}
        shown = self.translation.observation(observation, self._info, view.agent)
        return shown, dict(self.translation.user_info(full, view.agent))


def view(
    env: Any,
    actions: ActionView = "flat",
    observations: ObservationView = "box",
    infos: InfoView = "dict",
    key: Key = "observation",
    history: bool = False,
) -> Any:
    """``env`` with actions, observations and infos in the given forms, under the same API. Raises ``TypeError``."""
    forms = Forms(actions, observations, infos, key, history)
    kinds = (
        (AECEnv, NegotiationEnv, lambda: AECView(env, forms)),
        (ParallelEnv, ParallelNegotiationEnv, lambda: ParallelView(env, forms)),
        (gymnasium.Env, SingleAgentView, lambda: SeatView(env, *forms)),
    )
    for kind, unwrapped_kind, make in kinds:
        if isinstance(env, kind) and isinstance(env.unwrapped, unwrapped_kind):
            return make()
    raise TypeError(
        "a view takes an environment of dond_marl, wrapped or not: deal_or_no_dialog_v0.env() or .parallel_env(), a "
        f"SingleAgentView, or gymnasium.make('DealOrNoDialog-v0'); got {type(env).__name__}"
    )


def _check_dict(space: object, part: str) -> None:
    if not isinstance(space, spaces.Dict):
        raise TypeError(
            f"a view is taken of the environment's own Dict {part}, but these are a {type(space).__name__} already: "
            "give both forms in one view(env, actions=..., observations=...)"
        )


Arrays = dict[str, NDArray[Any]]
_NOTHING = tuple((0,) * len(ITEMS) for _ in SEATS)
_REPLACED = frozenset(("action_mask", "active_agent", "outcome", "illegal", "seat"))  # keys with an array of their own


def as_arrays(info: Info, state: State, seat: int) -> Arrays:
    """The ``info`` of ``seat`` at ``state`` as fresh numeric arrays, with the same keys and shapes in every state.

    =================  ================================================================================================
    ``action_mask``    int8 ``[2K + 3]``, added by the view with discrete actions. Flat and Dict actions have
                       ``action_masks``, ``[5 + 3 * (max_count + 1)]``, ordered as that method's result.
    ``oA_max``         int64 ``[3]``, the largest legal ``oA``.
    ``seat``           int64, 0 or 1: the seat of this info.
    ``active_seat``    int64, 0 or 1: the seat to move; -1 when the game is over.
    ``ending``         int64, as :class:`dond_marl.game.Ending` numbers it; 0 while the game goes on.
    ``deal``           int8, 1 if a deal has closed.
    ``illegal``        int8, 1 if the game was forfeited by an illegal act.
    ``allocation``     int64 ``[2, 3]``, items of each seat; zeros without a deal.
    ``scores``         int64 ``[2]``, points of both seats; zeros without a deal.
    =================  ================================================================================================

    Numbers and arrays added by wrappers, such as ``hint_features``, stay; other values are left out.
    """
    outcome = state.outcome
    fields: dict[str, object] = {
        "seat": seat,
        "active_seat": state.mover if outcome is None else -1,
        "ending": 0 if outcome is None else outcome.ending,
        "allocation": _NOTHING if outcome is None or outcome.allocation is None else outcome.allocation,
        "scores": (0, 0) if outcome is None else outcome.scores,
    }
    arrays: Arrays = {
        "deal": np.array(outcome is not None and outcome.deal, dtype=np.int8),
        "illegal": np.array(outcome is not None and outcome.rule_broken is not None, dtype=np.int8),
        **{name: np.array(value, dtype=np.int64) for name, value in fields.items()},
    }
    for name, value in info.items():
        if name not in _REPLACED and isinstance(value, np.ndarray | np.generic | int | float):
            array = np.array(value)
            if array.dtype.kind in "biuf":
                arrays[name] = array
    return arrays


class FlatActions:
    """Actions as ``[act type, oA]``. The mask has one array per entry; bounds of ``oA`` do not depend on it."""

    def __init__(self, max_count: int) -> None:
        self._sizes = [len(Act), *[max_count + 1] * len(ITEMS)]

    def space(self) -> spaces.Space[Any]:
        return spaces.MultiDiscrete(self._sizes)

    def read(self, action: object) -> object:
        """The environment's form of an action. Raises :class:`InvalidAction`."""
        entries = read_integers(action, len(self._sizes))
        if entries is None or not all(0 <= n < size for n, size in zip(entries, self._sizes, strict=True)):
            raise InvalidAction(
                f"a flat action is 4 whole numbers, the act type and oA, each less than {self._sizes}; "
                f"got {describe_value(action)}"
            )
        return {"act_type": entries[0], "oA": entries[1:]}

    def mask(self, mask: Any) -> tuple[NDArray[np.int8], ...]:
        """The environment's mask for ``space().sample``: ``int8`` of the acts, and of each entry of ``oA``."""
        return (mask["act_type"], *mask["oA"])

    def idle(self) -> tuple[NDArray[np.int8], ...]:
        """The mask of a seat that is not to move: the first action only."""
        return tuple(_first_only(size) for size in self._sizes)


class DiscreteActions:
    """Actions as numbers, with one mask entry each."""

    def __init__(self, max_count: int) -> None:
        self._max_count, self._count = max_count, action_count(max_count)

    def space(self) -> spaces.Space[Any]:
        return spaces.Discrete(self._count)

    def read(self, action: object) -> object:
        [number] = read_integers([action], 1) or [-1]
        if not 0 <= number < self._count:
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
        return _first_only(self._count)


def as_bools(mask: Any) -> Bools:
    """A mask of any view as one bool vector, in the order of the action space's parts."""
    if isinstance(mask, Mapping):
        mask = (mask["act_type"], *mask["oA"])
    return np.concatenate(mask).astype(bool) if isinstance(mask, tuple) else np.asarray(mask, dtype=bool)


@lru_cache(maxsize=32)
def _first_only(size: int) -> NDArray[np.int8]:
    """A mask of ``size`` actions that allows the first only; shared and read-only."""
    mask = np.zeros(size, dtype=np.int8)
    mask[0] = 1
    mask.flags.writeable = False
    return mask
