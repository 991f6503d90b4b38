"""What strangers may hand in: wrong actions, seeds and options through every face, copies in mid-game, many resets.

Whatever is wrong is refused in words and leaves the game as it was; whatever lies in the action space but breaks a rule
forfeits, or raises where the environment was built to.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.aec import NegotiationEnv, OrderError
from dond_marl.envs.spaces import InvalidAction
from dond_marl.envs.views import view
from dond_marl.errors import InputError
from dond_marl.game import Ending, IllegalAct, Scenario, State, legal_actions
from dond_marl.splits import action_index
from hints import HintInjectorEnv

LONGEST = 700  # characters of a message


class Face(NamedTuple):
    """One way to play: how it is made, and the game inside."""

    make: Callable[[], Any]
    game: Callable[[Any], NegotiationEnv]
    form: str  # of its actions

    def say(self, env: Any, action: object) -> Any:
        return env.step({self.game(env).agent_selection: action} if self.game is _parallel else action)

    def legal(self, env: Any, rng: np.random.Generator) -> object:
        """Something that may be said, in the form of this face, offers above all."""
        legal = legal_actions(self.game(env).negotiation)
        act, oA = legal[int(rng.integers(len(legal) - 2 if rng.random() < 0.8 else len(legal)))]
        if self.form == "dict":
            return {"act_type": int(act), "oA": list(oA)}
        return [act, *oA] if self.form == "flat" else action_index(np.array([act]), np.array([oA]), 4)[0]


def _aec(env: Any) -> NegotiationEnv:
    return env.unwrapped


def _parallel(env: Any) -> NegotiationEnv:
    return env.unwrapped.negotiation_env


def _seat(env: Any) -> NegotiationEnv:
    return env.unwrapped.game


def _one_seat(**settings: Any) -> SingleAgentView:
    return SingleAgentView(deal_or_no_dialog_v0.env(**settings), "linear")


FACES = {
    "aec": Face(deal_or_no_dialog_v0.env, _aec, "dict"),
    "aec, forfeits": Face(lambda: deal_or_no_dialog_v0.env(illegal="forfeit", disagree="rejects"), _aec, "dict"),
    "aec, hints": Face(lambda: HintInjectorEnv(deal_or_no_dialog_v0.env()), _aec, "dict"),
    "parallel": Face(deal_or_no_dialog_v0.parallel_env, _parallel, "dict"),
    "one seat": Face(_one_seat, _seat, "dict"),
    "one seat, hints": Face(lambda: HintInjectorEnv(_one_seat()), _seat, "dict"),
}
for form, infos in itertools.product(("flat", "discrete"), ("dict", "arrays")):
    seen = "masked" if form == "discrete" else "box"
    shape = form, seen, infos
    FACES |= {
        f"aec, {form}, {infos}": Face(lambda s=shape: view(deal_or_no_dialog_v0.env(illegal="raise"), *s), _aec, form),
        f"parallel, {form}, {infos}": Face(
            lambda s=shape: view(deal_or_no_dialog_v0.parallel_env(), *s), _parallel, form
        ),
        f"one seat, {form}, {infos}": Face(lambda s=shape: view(_one_seat(), *s), _seat, form),
    }  # fmt: skip


def _locked() -> Any:
    array = np.array([1, 1, 1])
    array.flags.writeable = False
    return array


VALUES = (
    None, True, False, math.nan, math.inf, -math.inf, -1, 0, 1, 2, 5, 252, 253, 2**31, 2**63, -(2**63), 10**30,
    10**5000, -(10**5000), 0.0, 1.5, 1j, "", "0", "PROPOSE", "x" * 100_000, "\ud800\x00\n", b"\x00" * 100_000, (),
    [], {}, {1, 2}, range(3), range(4), int, Ellipsis, NotImplemented, Decimal("NaN"), Fraction(1, 2),
    np.float32(1), np.int8(3), np.uint64(2**64 - 1), np.bool_(True), np.datetime64("NaT"), np.str_("0"),
    np.array(3), np.array(3.0), np.array("x"), np.array([]), np.zeros(3), np.zeros(4), np.full(3, np.nan),
    np.full(3, np.inf), np.zeros((3, 3), int), np.zeros((1, 3), int), np.zeros((3, 0)), np.zeros(10**6, np.int8),
    np.full(3, 2**64 - 1, np.uint64), np.full(3, -1), np.ones(3, bool), np.array([1, None, "x"], object),
    np.array([1, 1, 1], object), np.array([1, 1, 1]),
    np.array([0, 1, 1, 1]), [1, 1, 1], [0, 1, 1, 1], (0, 1, 1, 1), [[1], [1], [1]], ["1", "1", "1"],
    [1.0, 1.0, 1.0], [[[[[[[[1]]]]]]]], bytearray(b"abc"),
)  # fmt: skip
ATOMS: tuple[Callable[[], object], ...] = (
    *(lambda value=value: copy.copy(value) for value in VALUES),
    *(object, _locked, lambda: memoryview(b"abc"), lambda: (n for n in (1, 1, 1)), lambda: np.zeros(3).__add__),
)


def hostile(rng: np.random.Generator) -> object:
    """Something that may, or may not, be an action."""
    atom = lambda: ATOMS[int(rng.integers(len(ATOMS)))]()  # noqa: E731
    kind = rng.integers(6)
    if kind == 0:
        return atom()
    if kind == 1:
        return [atom() for _ in range(rng.integers(6))]
    action = {"act_type": atom() if kind != 2 else 0, "oA": atom() if kind != 3 else [atom(), 1, atom()]}
    if kind == 4:
        action["confidence"] = atom()
    if kind == 5 and rng.random() < 0.3:
        del action[("act_type", "oA")[int(rng.integers(2))]]
    return action


def refused(call: Callable[[], Any], *allowed: type[Exception]) -> str | None:
    """The message of an error that was raised on purpose, which says what was given; ``None`` if nothing raised."""
    try:
        call()
    except allowed as error:
        text = str(error)
        assert len(text) <= LONGEST, text[:2000]
        assert "\n" not in text and ("got " in text or isinstance(error, IllegalAct | OrderError)), repr(error)
        return text
    return None


def attack(name: str, actions: int, seed: int) -> Counter[str]:
    """So many hostile actions through one face; what came of them."""
    face, rng, came = FACES[name], np.random.default_rng((seed, *name.encode())), Counter[str]()
    env = face.make()
    assert "call reset() first" in str(refused(lambda: env.step(hostile(rng)), OrderError))
    env.reset(seed=seed)
    for _ in range(actions):
        game = face.game(env)
        before: State = game.negotiation
        seats = list(game.agents)
        action = hostile(rng)
        whole = rng.random() < 0.2  # in place of the dict of both seats' actions, or of the action
        told = refused(lambda: env.step(action) if whole else face.say(env, action), InvalidAction, IllegalAct)  # noqa: B023
        after = game.negotiation
        if told is not None:
            assert after is before and game.agents == seats, "whatever raises leaves the game as it was"
            came["refused"] += 1
        else:
            assert after is not before
            came["forfeited" if after.is_over and after.outcome.ending is Ending.ILLEGAL else "said"] += 1
        if not after.is_over and rng.random() < 0.2:
            face.say(env, face.legal(env, rng))
        if game.negotiation.is_over:
            env.reset()
    return came


def wrong_resets(name: str, resets: int, seed: int) -> int:
    """So many hostile seeds and options through one face; how many were refused."""
    face, rng, count = FACES[name], np.random.default_rng((seed, *name.encode(), 1)), 0
    env = face.make()
    env.reset(seed=seed)
    for _ in range(resets):
        atom = lambda: ATOMS[int(rng.integers(len(ATOMS)))]()  # noqa: E731
        before = face.game(env).negotiation
        arguments: dict[str, Any] = {"seed": atom()} if rng.random() < 0.4 else {}
        if not arguments or rng.random() < 0.3:
            table = {"counts": atom(), "utilities": [atom(), atom()] if rng.random() < 0.5 else atom()}
            key = "scenario" if rng.random() < 0.8 else atom()
            options = {key if isinstance(key, str | int | float | None) else "other": table, 10**5000: 1}
            arguments["options"] = options if rng.random() < 0.8 else atom()
        told = refused(lambda: env.reset(**arguments), InputError, ValueError, TypeError)  # noqa: B023
        assert face.game(env).negotiation.scenario is not None
        if told is not None:
            assert face.game(env).negotiation is before
            count += 1
    env.reset(seed=seed)
    return count


@pytest.mark.parametrize("name", FACES)
def test_hostile_actions_are_refused_in_words_or_forfeit_and_change_nothing_else(name):
    came = attack(name, 120, seed=1)
    assert came["refused"] > 80


@pytest.mark.parametrize("name", FACES)
def test_hostile_seeds_and_options_of_reset_are_refused_and_the_game_goes_on(name):
    assert wrong_resets(name, 30, seed=1) > 10


def test_numbers_of_numpys_are_read_below_a_mask_and_as_seeds_too():
    masked = np.ma.array([1, 1, 1], mask=[0, 1, 0])
    env = HintInjectorEnv(deal_or_no_dialog_v0.env())
    env.reset(seed=np.uint64(1), options={"scenario": Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))})
    env.step({"act_type": 0, "oA": masked})
    assert env.unwrapped.negotiation.claims[0] == (1, 1, 1)
    with pytest.raises(InvalidAction, match="'act_type' must be one whole number"):
        env.step({"act_type": np.ma.masked, "oA": masked})


@pytest.mark.parametrize("name", FACES)
@pytest.mark.parametrize(
    "twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_a_twin_made_in_mid_game_plays_on_equally_and_into_the_next_games(name, twin_of):
    face, env = FACES[name], FACES[name].make()
    env.reset(seed=3)
    rng = np.random.default_rng(3)
    while len(face.game(env).negotiation.history) < 2:
        if face.game(env).negotiation.is_over:
            env.reset()
        face.say(env, face.legal(env, rng))
    twin = twin_of(env)
    first, second = play_on(face, env), play_on(face, twin)
    assert len({repr(game) for game in first}) > 3 and first == second


def play_on(face: Face, env: Any) -> list[State]:
    """The rest of the game and the five after it, by acts that are a function of the seed alone."""
    rng, games = np.random.default_rng(4), []
    while len(games) < 6:
        game = face.game(env)
        if game.negotiation.is_over:
            games.append(game.negotiation)
            env.reset()
        face.say(env, face.legal(env, rng)) if not game.negotiation.is_over else None
    return games


def growth(name: str, resets: int) -> int:
    """How many blocks of memory are left behind by so many resets, each with the first act of a game."""
    face, rng = FACES[name], np.random.default_rng(5)
    env = face.make()
    env.reset(seed=5)

    def play(number: int) -> int:
        for _ in range(number):
            env.reset()
            face.say(env, face.legal(env, rng))
        env.reset(options={"scenario": Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))})
        gc.collect()
        return sys.getallocatedblocks()

    before = play(1000)  # fills what is kept once for all games
    return play(resets) - before


@pytest.mark.parametrize("name", ["parallel, flat, arrays", "one seat, discrete, dict"])
def test_resets_leave_nothing_behind(name):
    assert growth(name, 1_500) < 1_200  # of which what is kept once for all games
