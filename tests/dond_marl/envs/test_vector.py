"""Thousands of games as Gymnasium's vector environment: the games of the single view, begun anew when they end."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.single_agent import PartnerError
from dond_marl.envs.spaces import InvalidAction
from dond_marl.envs.views import as_bools, view
from dond_marl.errors import InputError
from dond_marl.game import Act
from dond_marl.seats import Traits, decide

SETTINGS = {"scenarios": "lewis", "reveal_partner_utilities": True}


def drawn(infos, rng, actions, illegal=0.0):
    """Uniform over each mask's entries, but for a share that is drawn without it."""
    mask = infos["action_mask"] | (rng.random((len(infos["action_mask"]), 1)) < illegal)
    chance = rng.random(mask.shape) * mask
    if actions == "discrete":
        return chance.argmax(axis=1)
    act, oA = chance[:, :5].argmax(axis=1), chance[:, 5:].reshape(len(mask), 3, -1).argmax(axis=2)
    return np.column_stack([act, oA]) if actions == "flat" else {"act_type": act, "oA": oA}


def row(values, number):
    return {name: value[number] for name, value in values.items()} if isinstance(values, dict) else values[number]


def same(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    return np.array_equal(one, other)


@pytest.mark.parametrize(
    ("partner", "actions", "observations", "more"),
    [
        ("heuristic", "dict", "dict", {}),
        ("boulware(exponent=2)", "discrete", "box", {"disagree": "rejects"}),
        ("concession_rule", "flat", "box", {"max_turns": 5}),
        ("listener", "discrete", "box", {"disagree": "rejects", "history": True}),
        ("tough", "discrete", "dict", {"max_turns": 2, "max_count": 3, "scenarios": "uniform"}),
    ],
)
def test_every_game_is_that_of_the_single_view(partner, actions, observations, more):
    settings, n = {**SETTINGS, **more}, 12
    history = settings.pop("history", False)
    many = DealVectorEnv(n, partner, actions=actions, observations="dict", **settings)
    shown = DealVectorEnv(n, partner, actions=actions, observations=observations, history=history, **settings)
    seen, infos = many.reset(seed=3)
    ours, _ = shown.reset(seed=3)
    rng, alone, checked = np.random.default_rng(3), [None] * n, 0
    env = deal_or_no_dialog_v0.env(**settings)
    for _ in range(12):
        for number in range(n):
            if alone[number] is None:  # the game has begun: lay the same table
                one = SingleAgentView(deal_or_no_dialog_v0.env(**settings), partner, seat=int(infos["seat"][number]))
                whose = (seen["my_utilities"][number].tolist(), seen["partner_utilities"][number].tolist())
                table = {
                    "counts": seen["counts"][number].tolist(),
                    "utilities": whose[:: 1 - 2 * infos["seat"][number]],
                }
                alone[number] = view(one, actions, observations, history=history)
                first, info = alone[number].reset(seed=0, options={"scenario": table})
                assert same(first, row(ours, number))
                assert np.array_equal(as_bools(info["action_mask"]), infos["action_mask"][number].astype(bool))
        said = drawn(infos, rng, actions, illegal=0.1)
        seen, _, _, _, infos = many.step(said)
        ours, rewards, terminated, truncated, again = shown.step(said)
        assert same(again["scores"], infos["scores"]) and not truncated.any()
        for number in range(n):
            mine = (
                {"act_type": int(said["act_type"][number]), "oA": said["oA"][number]}
                if actions == "dict"
                else said[number]
            )
            last, reward, over, _, info = alone[number].step(mine)
            assert (reward, over) == (rewards[number], terminated[number])
            assert same(last, row(again["final_obs"] if over else ours, number))
            if over:
                assert again["_scores"][number] and info["outcome"]["scores"] == tuple(again["scores"][number])
                assert info["outcome"]["deal"] == bool(again["deal"][number])
                alone[number], checked = None, checked + 1
            else:
                assert np.array_equal(as_bools(info["action_mask"]), again["action_mask"][number].astype(bool))
    assert checked > 2 * n
    env.close()


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_gymnasium_wrappers_take_both_autoreset_modes(mode):
    env = gymnasium.make_vec(
        "DealOrNoDialog-v0", 16, partner="boulware", autoreset=mode, observations="box", actions="discrete"
    )
    assert isinstance(env.unwrapped, DealVectorEnv) and env.metadata["autoreset_mode"] is AutoresetMode[mode.upper()]
    env = RecordEpisodeStatistics(env)
    seen, infos = env.reset(seed=1)
    rng, length, games = np.random.default_rng(1), np.zeros(16, dtype=int), 0
    was_over = np.zeros(16, dtype=bool)
    for _ in range(30):
        assert seen in env.observation_space and seen.dtype == env.observation_space.dtype
        seen, rewards, terminated, _, infos = env.step(drawn(infos, rng, "discrete"))
        heard = ~was_over
        length += heard
        assert (rewards[was_over] == 0).all() and not terminated[was_over].any()
        if terminated.any():
            assert np.array_equal(infos["episode"]["l"][terminated], length[terminated])
            assert np.array_equal(infos["episode"]["r"][terminated], rewards[terminated])
            games += int(terminated.sum())
        length[terminated] = 0
        was_over = terminated if mode == "next_step" else np.zeros(16, dtype=bool)
    assert games > 16
    env.close()


def test_rendering_vector_is_gymnasiums_own():
    with pytest.raises(InputError, match="vectorization_mode='sync'"):
        gymnasium.make_vec("DealOrNoDialog-v0", 2, render_mode="rgb_array")
    assert gymnasium.make_vec("DealOrNoDialog-v0", 2, render_mode=None).render_mode is None
    env = gymnasium.make_vec("DealOrNoDialog-v0", 2, "sync", render_mode="ansi")
    env.reset(seed=1)
    assert len(env.render()) == 2
    env.close()


@pytest.mark.parametrize("partner", ["random", "expert"])
def test_vector_seeds(partner):
    def played(seed):
        env, rng = (
            DealVectorEnv(32, partner, actions="discrete", observations="box", scenarios="lewis"),
            np.random.default_rng(0),
        )
        seen, infos = env.reset(seed=seed)
        told = [seen]
        for _ in range(6):
            seen, rewards, *_, infos = env.step(drawn(infos, rng, "discrete"))
            told += [seen, rewards]
        return told

    first, again, other = played(5), played(5), played(6)
    assert all(map(np.array_equal, first, again)) and not all(map(np.array_equal, first, other))


def test_vector_seats_and_skipped_games():
    _, infos = DealVectorEnv(400, "random", scenarios="lewis").reset(seed=0)
    assert 110 < infos["seat"].sum() < 190  # a game that chance ends at once is replaced, and its seat drawn again
    assert infos["skipped_games"].max() >= 2
    _, infos = DealVectorEnv(8, seat="seat_1").reset(seed=0)
    assert (infos["seat"] == 1).all()
    with pytest.raises(PartnerError, match="max_turns=1"):
        DealVectorEnv(4, seat=1, max_turns=1).reset(seed=0)


class Failing:
    """Answers an illegal act."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns):
        return decide(np.full(turns.size, Act.PROPOSE), turns.counts + np.int8(1))


def test_invalid_input_changes_nothing():
    env = DealVectorEnv(4, actions="discrete", observations="box", scenarios="lewis")
    with pytest.raises(Exception, match="call reset"):
        env.step(np.zeros(4, dtype=int))
    seen, _ = env.reset(seed=0)
    for wrong in (np.zeros(3, dtype=int), np.full(4, 1000), np.zeros(4)):
        with pytest.raises(InvalidAction, match=r"0\.\.252"):
            env.step(wrong)
    assert np.array_equal(env._observation(), seen)
    for settings in ({"num_envs": 0}, {"autoreset": "never"}, {"observations": "masked", "actions": "discrete"}):
        with pytest.raises(InputError):
            DealVectorEnv(**settings)
    with pytest.raises(TypeError, match="unexpected keyword argument 'scenario'"):
        DealVectorEnv(4, scenario="lewis")
    with pytest.raises(InputError, match="share one seed"):
        env.reset(seed=[1, 2, 3, 4])
    with pytest.raises(PartnerError, match="seat_0 answered an illegal act"):
        DealVectorEnv(4, Failing(), seat=1).reset(seed=0)
