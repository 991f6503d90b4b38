"""Learners of other libraries in a league: the user's code practices, saves and loads, and makes a partner.

Its state is one blob, as the weights of the project's own learners are, so that matchmaking, gates, snapshots,
ratings and resuming serve both alike. docs/LEAGUE.md has an example.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from dond_marl.envs.aec import NegotiationEnv
from dond_marl.envs.vector import DealVectorEnv
from dond_marl.errors import Blame, MissingLibrary, error_line
from dond_marl.occupants import OccupantNameError, Spec, check_factory
from dond_marl.seats import Partner, worth
from dond_marl.statistics import points_of_ten
from league.play.blobs import BlobError, name_of, read_blob
from league.play.values import LearnerState
from league.settings.sections import SHAPING, EnvConfig
from partners.network.checkpoint import Weights, pack
from partners.provenance import Ancestry

CONTENT, GAME = "learner", "game"  # the tensor and the entry of the note of such a learner's blob
_UNUSED = ("illegal", "render_mode")  # settings of an environment that a vector does without


@runtime_checkable
class OutsideLearner(Protocol):
    """The class that ``learners: [{name: mine, train: 'mine.py:Name(lr=0.001)'}]`` names.

    It is made as ``Name(seed=..., game=..., lr=0.001)``, anew for every practice; ``seed`` is in 0..2**31 - 1, ``game``
    holds the settings of an environment that its spaces depend on. What it learns is a function of the seed, of what it
    loads and of the games.
    """

    def practice(self, games: PracticeGames, decisions: int) -> object:
        """Learn from about ``decisions`` own decisions in games against the opponents of the round."""

    def save(self) -> bytes:
        """The learned state, that of an optimizer included: the same bytes for the same state."""

    def load(self, content: bytes) -> object:
        """Go on from what :meth:`save` returned."""

    def partner(self) -> Partner:
        """The policy as a partner, a pure function of its turns; in self-play it is asked while it learns."""


class PracticeGames:
    """Makes the vectors of a practice, and counts what is played in them; ``tick`` is called before every step."""

    def __init__(self, env: EnvConfig, partner: Partner, seed: int, tick: Callable[[], None]) -> None:
        names = inspect.signature(NegotiationEnv).parameters.keys() - set(_UNUSED)
        self.settings = {name: getattr(env, name) for name in names}
        self.partner, self.seed, self.tick = partner, seed, tick
        self.decisions = self.games = 0
        self.points = self.deals = 0.0  # sums over the games, in points of ten

    def __call__(self, num_envs: int, **forms: Any) -> DealVectorEnv:
        """``num_envs`` games against the round's opponents, one drawn for every game; both seats are played.

        ``forms``: those of :class:`DealVectorEnv`, such as ``actions="discrete"``. The first ``reset`` has the seed of
        the practice unless it is given one.
        """
        return _CountedGames(self, num_envs, forms)


class _CountedGames(DealVectorEnv):
    def __init__(self, practice: PracticeGames, num_envs: int, forms: Mapping[str, Any]) -> None:
        super().__init__(num_envs, practice.partner, **practice.settings, **forms)
        self._practice = practice

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        first = self._practice.seed if seed is None and self._seed is None else seed
        return super().reset(seed=first, options=options)

    def step(self, actions: Any) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        practice, playing = self._practice, int((~self._over).sum())
        practice.tick()
        wholes = worth(self._seen["my_utilities"], self._seen["counts"])
        observations, rewards, ended, cut, infos = super().step(actions)
        practice.decisions += playing
        practice.games += int(ended.sum())
        practice.points += float(points_of_ten(rewards[ended], wholes[ended]).sum())
        practice.deals += int(infos["deal"][ended].sum())
        return observations, rewards, ended, cut, infos


def make_learner(spec: Spec, seed: int, game: Mapping[str, Any], content: bytes | None = None) -> OutsideLearner:
    """The learner that ``spec`` names, with the ``content`` that it saved. Raises :class:`OccupantNameError`."""
    needed = {"seed": seed % 2**31, "game": dict(game)}  # NumPy's global generator takes 32 bits, libraries add to it
    with Blame(partial(_failure, spec), OccupantNameError, MissingLibrary):
        learner = check_factory("learner", {}, spec.with_parameters(**needed))(**needed, **spec.arguments)
        if not isinstance(learner, OutsideLearner):
            raise OccupantNameError(
                f"{spec} is no learner: it needs practice(games, decisions), save(), load(content) and partner() "
                "(docs/LEAGUE.md)"
            )
        if content is not None:
            learner.load(content)
    return learner


def first_outside_state(spec: Spec, seed: int, env: EnvConfig, past: Ancestry) -> tuple[LearnerState, bytes]:
    """The state of a learner before its first round, and the content of its blob. Raises :class:`OccupantNameError`."""
    game = {name: getattr(env, name) for name in SHAPING}
    with Blame(partial(_failure, spec), OccupantNameError, MissingLibrary):
        content = pack_learner(make_learner(spec, seed, game), {GAME: game, **past.note()})
    return LearnerState(name_of(content), 0, 0, 0), content


def pack_learner(learner: OutsideLearner, about: Mapping[str, Any]) -> bytes:
    """The content of the blob of a learner as it is now, under the note of its blob before."""
    saved = np.frombuffer(bytes(learner.save()), dtype=np.uint8).copy()
    return pack({CONTENT: torch.from_numpy(saved)}, about)


def load_learner(spec: Spec, weights: Weights, seed: int) -> OutsideLearner:
    """The learner of a blob. Raises :class:`OccupantNameError`."""
    return make_learner(spec, seed, weights.about[GAME], weights.tensors[CONTENT].numpy().tobytes())


def outside_partner(spec: Spec, blob: str, blobs: Path) -> Partner:
    """The partner of a learner's blob. Raises :class:`OccupantNameError`."""
    with Blame(partial(_failure, spec), OccupantNameError, MissingLibrary, BlobError):
        return load_learner(spec, read_blob(blobs, blob), 0).partner()


def _failure(spec: Spec, error: BaseException) -> OccupantNameError:
    return OccupantNameError(f"the learner {spec} cannot be made, saved or loaded: {error_line(error)}")
