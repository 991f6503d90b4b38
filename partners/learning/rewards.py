"""Rewards of learners: own points, or functions that also use the partner's points.

A reward is a pure function of finished games, in points of ten. It is used in learning only: payoffs, ratings and all
reported scores are own points. Rewards are named as occupants are: ``own``, ``svo(angle=45)``, in short ``svo(45)``, or
``my_file.py:FairBonus``; results of learners with another reward than ``own`` are reported with its name.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import Blame, InputError, RunFailure, error_line, quote
from dond_marl.occupants import (
    ANYTHING,
    OccupantNameError,
    Permission,
    Spec,
    check_factory,
    missing_needs,
    names_file,
    parse_spec,
    pin_spec,
)
from dond_marl.scenarios.sources import Scenarios
from partners.judges.language_model import llm_judge
from partners.judges.styles import StyleReward
from partners.parameters import check_number

Points = NDArray[np.float64]
OWN = Spec("own")
MOST_PAY = 1e6  # points of ten; far less than what overflows a network's numbers
_LONGEST = 1_000  # characters of a spec


class RewardError(InputError):
    """An unknown reward or parameter; the message says what was given and what is allowed."""


class RewardFailure(RunFailure):
    """A reward raised an error, or returned no finite numbers ``[N, 2]``. Nothing is learned from such games."""


@runtime_checkable
class Reward(Protocol):
    """A function from finished games to the reward of each seat."""

    def __call__(self, games: Games, earned: Points, scenarios: Scenarios, /) -> Points:
        """Rewards ``[N, 2]``, finite, from read-only ``earned[N, 2]``, the points of ten of both seats, in 0..10."""
        ...


@runtime_checkable
class RewardPerSeat(Protocol):
    """A reward with costs per seat, such as a judge's."""

    def for_seat(self, seat: int) -> Reward:
        """The same reward for one seat only; the other seat's values are undefined."""
        ...


def for_seat(reward: Reward, seat: int) -> Reward:
    """``reward`` for one seat only, without the costs of the other."""
    return reward.for_seat(seat) if isinstance(reward, RewardPerSeat) else reward


def pay(reward: Reward, seat: int, games: Games, earned: Points) -> Points:
    """The rewards of ``games``, ``[N, 2]``, valid in the column of ``seat``; ``earned`` as in :class:`Reward`.

    Raises :class:`RewardFailure` for an error of the reward and for other numbers; what judges raise is passed on.
    """
    name = getattr(reward, "__qualname__", type(reward).__qualname__)
    shown, paid = games.rows(slice(None)), earned.copy()
    for array in (paid, *shown, *shown.scenarios):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    with Blame(lambda error: RewardFailure(f"the reward {name} failed: {error_line(error)}"), RunFailure):
        answer = np.asarray(for_seat(reward, seat)(shown, paid, shown.scenarios))
        answer = answer.astype(np.float64, casting="same_kind")  # texts and complex numbers are refused
    if answer.shape != earned.shape or not (np.abs(answer[:, seat]) <= MOST_PAY).all():  # false for NaN
        raise RewardFailure(
            f"the reward {name} must return {earned.shape} numbers of {-MOST_PAY:,.0f}..{MOST_PAY:,.0f}, points of "
            f"ten; got {answer.shape}: {quote(answer)}"
        )
    return answer


@dataclass(frozen=True, slots=True)
class Own:
    """Own points, the payoff of the game. In 0..10."""

    def __call__(self, _games: Games, earned: Points, _scenarios: Scenarios, /) -> Points:
        return earned


@dataclass(frozen=True, slots=True)
class SocialValue:
    """``cos(angle) * own + sin(angle) * other``: at 0 degrees own points, at 45 the sum, at 90 the other's points.

    ``angle`` in -180..180 degrees; -45: the difference of points. In -14.2..14.2. Source: social value orientation,
    Liebrand & McClintock 1988 ("The ring measure of social values"); as a reward, McKee et al. 2020 (arXiv 2002.02325).
    """

    angle: float

    def __post_init__(self) -> None:
        check_number("angle", self.angle, -180, 180)

    def __call__(self, _games: Games, earned: Points, _scenarios: Scenarios, /) -> Points:
        angle = math.radians(self.angle)
        return math.cos(angle) * earned + math.sin(angle) * _partner_points(earned)


@dataclass(frozen=True, slots=True)
class Inequity:
    """``own - envy * max(other - own, 0) - guilt * max(own - other, 0)``.

    ``envy`` in 0..10, ``guilt`` in 0..1 (with 1 a lead has no value). In -100..10. Source: Fehr & Schmidt 1999 ("A
    theory of fairness, competition, and cooperation"), equation 1 for two players. There guilt is at most envy; here
    it need not be: guilt alone is used by Hughes et al. 2018 (arXiv 1803.08884).
    """

    envy: float
    guilt: float

    def __post_init__(self) -> None:
        check_number("envy", self.envy, 0, 10)
        check_number("guilt", self.guilt, 0, 1)

    def __call__(self, _games: Games, earned: Points, _scenarios: Scenarios, /) -> Points:
        lead = earned - _partner_points(earned)
        return earned - self.envy * np.maximum(-lead, 0) - self.guilt * np.maximum(lead, 0)


@dataclass(frozen=True, slots=True)
class Spite:
    """``own - weight * other``; with ``weight`` 1 bargaining becomes zero-sum, a stress test for exploitation.

    ``weight`` in 0..10. In -100..10.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_number("weight", self.weight, 0, 10)

    def __call__(self, _games: Games, earned: Points, _scenarios: Scenarios, /) -> Points:
        return earned - self.weight * _partner_points(earned)


@dataclass(frozen=True, slots=True)
class PartnerSeeker:
    """``own + other``, the joint points. In 0..20."""

    def __call__(self, _games: Games, earned: Points, _scenarios: Scenarios, /) -> Points:
        return earned + _partner_points(earned)


REWARDS: dict[str, Callable[..., Reward]] = {
    "inequity": Inequity,
    "llm_judge": llm_judge,
    OWN: Own,
    "partner_seeker": PartnerSeeker,
    "spite": Spite,
    "style": StyleReward,
    "svo": SocialValue,
}


def reward_of(spec: str) -> Reward:
    """The reward named by ``spec``, the same object for the same name. Raises :class:`RewardError`."""
    return _make_reward(reward_name(spec))


@lru_cache(maxsize=256)  # one judge, with its connection and its budget, per name and process
def _make_reward(spec: Spec) -> Reward:
    kind, factory = spec.kind, check_factory("reward", REWARDS, spec)

    def failure(error: BaseException) -> RewardError:
        reason = error if isinstance(error, ValueError) else error_line(error)
        return RewardError(f"the reward {kind} cannot be made: {reason}")

    with Blame(failure, RunFailure):
        reward = factory(**spec.arguments)
    if not callable(reward):
        raise RewardError(f"the reward {kind} is no function of (games, earned, scenarios), but {reward!r:.100}")
    return cast("Reward", reward)


def reward_name(spec: str, allow: Permission = ANYTHING) -> Spec:
    """The spec of a reward, ``svo(angle=45)``; values are not checked. Raises :class:`RewardError`.

    A name that needs more than ``allow`` is not looked up, as code in a file runs for it.
    """
    message = f"a reward is written name or name(parameter=value, ...), such as own or svo(angle=45); got {spec!r:.100}"
    if not isinstance(spec, str) or len(spec) > _LONGEST:
        raise RewardError(message)
    try:
        name = parse_spec(spec, _first_parameter)
    except OccupantNameError:
        raise RewardError(message) from None
    try:
        if missing_needs(name, allow):
            return name
        check_factory("reward", REWARDS, name)
        return pin_spec(name) if names_file(name.kind) else name
    except OccupantNameError as error:
        raise RewardError(str(error)) from None


def _first_parameter(kind: str) -> str:
    """The parameter of an unnamed first value: ``svo(45)`` is ``svo(angle=45)``."""
    return next(iter(inspect.signature(REWARDS.get(kind, Own)).parameters), "value")


def _partner_points(earned: Points) -> Points:
    """The points of the other seat, ``[N, 2]``."""
    return earned[:, ::-1]
