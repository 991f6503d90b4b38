"""``DealVectorEnv`` as a vector of Stable-Baselines3, with masks for sb3-contrib. Needs ``stable_baselines3``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from dond_marl.envs.vector import DealVectorEnv
from dond_marl.errors import InputError

Indices = int | Iterable[int] | None


class SB3VectorEnv(VecEnv):  # type: ignore[misc]  # its types are not installed here
    """The games of ``games``, which is built with ``actions="discrete"`` or ``"flat"`` and the default ``autoreset``.

    Rewards are points, at the end of a game; ``infos[i]["terminal_observation"]`` is the last observation of a game
    that has ended. ``MaskablePPO`` finds the masks of discrete actions. Raises :class:`InputError` for other forms.
    """

    def __init__(self, games: DealVectorEnv) -> None:
        if "act_type" in getattr(games.single_action_space, "spaces", ()):
            raise InputError(
                "Stable-Baselines3 has no dictionaries of actions: build the games with actions='discrete'"
            )
        if games.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            raise InputError("Stable-Baselines3 resets in the step that ends a game: leave autoreset out")
        self.games = games
        super().__init__(games.num_envs, games.single_observation_space, games.single_action_space)

    def reset(self) -> Any:
        observations, _ = self.games.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, ended, _, infos = self.games.step(self._actions)
        last: list[dict[str, Any]] = [{} for _ in ended]
        for row in np.flatnonzero(ended):
            final = infos["final_obs"]
            final_row = {name: values[row] for name, values in final.items()} if isinstance(final, dict) else final[row]
            last[row]["terminal_observation"] = final_row
        return observations, rewards, ended, last

    def env_method(self, method_name: str, *arguments: Any, indices: Indices = None, **options: Any) -> list[Any]:
        """The entry of each game in what the method of ``games`` returns for all, such as ``action_masks``."""
        answers = getattr(self.games, method_name)(*arguments, **options)
        return [answers[row] for row in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.games, attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        return [getattr(self.games, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        raise NotImplementedError("the games are one object: set the attribute of `games`")

    def env_is_wrapped(self, wrapper_class: type, indices: Indices = None) -> list[bool]:  # noqa: ARG002  # as VecEnv
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        self.games.close()
