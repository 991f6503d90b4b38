"""Flat actions, numbered actions and box observations say the same as the Dict ones, under every API."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import supersuit

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.envs.aec import OrderError
from dond_marl.envs.features import BaseLayout, encode
from dond_marl.envs.spaces import InvalidAction
from dond_marl.envs.views import AECView, ParallelView, SeatView, view
from dond_marl.game import Act, IllegalAct, Scenario, legal_actions
from dond_marl.scenarios.sources import pack
from dond_marl.seats import decide
from dond_marl.splits import action_count, action_index

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
FORMS = ("flat", "discrete", "dict")


def number(act: Act, *oA: int) -> int:
    return int(action_index(np.array([act]), np.array([oA or (0, 0, 0)]), 4)[0])


def at_the_table(actions: str, observations: str = "box", **settings: object) -> AECView:
    env = view(deal_or_no_dialog_v0.env(**settings), actions, observations)
    env.reset(options={"scenario": TABLE})
    return env


def test_the_same_game_in_every_form():
    forms = {
        "flat": ([0, 1, 0, 2], np.array([2, 4, 4, 4])),
        "discrete": (number(Act.PROPOSE, 1, 0, 2), np.int64(number(Act.AGREE))),
        "dict": ({"act_type": 0, "oA": [1, 0, 2]}, {"act_type": 2, "oA": [0, 0, 0]}),
    }
    for form, acts in forms.items():
        env = at_the_table(form)
        for act in acts:
            env.step(act)
        assert env.rewards == {"seat_0": 8.0, "seat_1": 8.0}
        assert env.infos["seat_0"]["outcome"]["ending"] == "AGREE"
        for agent in env.agent_iter():
            seen, reward, ended, _, _ = env.last()
            assert seen in env.observation_space(agent) and reward == 8.0 and ended
            env.step(None)


@pytest.mark.parametrize("form", FORMS)
def test_masked_samples_are_the_legal_acts(form):
    env = at_the_table(form, illegal="raise", disagree="rejects")
    env.action_space("seat_1").seed(0)
    for opening in ([0, 1, 0, 2], [3, 0, 0, 0]):
        said = set()
        for _ in range(800):
            env.reset(options={"scenario": TABLE})
            act, oA = Act(opening[0]), opening[1:]
            env.step({"flat": opening, "discrete": number(act, *oA), "dict": {"act_type": act, "oA": oA}}[form])
            legal = legal_actions(env.unwrapped.negotiation)
            env.step(env.action_space("seat_1").sample(env.infos["seat_1"]["action_mask"]))  # raises if illegal
            said.add(env.unwrapped.negotiation.history[-1])
        assert said <= set(legal)
        # 2 * 18 offers, two or three other acts: 39 numbers are all met; free samples favor the plain acts.
        assert len(said) == len(legal)


def test_action_masks_as_sb3_contrib_reads_them():
    """One bool vector, the entries of the MultiDiscrete one after the other."""
    env = view(SingleAgentView(deal_or_no_dialog_v0.env(), "tough", seat=1))
    _, info = env.reset(options={"scenario": TABLE})
    expected = [*[1, 1, 1, 1, 1], *[1, 1, 0, 0, 0], *[1, 1, 1, 0, 0], *[1, 1, 1, 0, 0]]  # acts, then each of oA
    assert env.action_masks().dtype == bool and env.action_masks().astype(int).tolist() == expected
    assert len(expected) == env.action_space.nvec.sum()
    assert np.concatenate(info["action_mask"]).tolist() == expected
    for form, width in (("flat", 20), ("dict", 20), ("discrete", action_count(4))):
        assert at_the_table(form).action_masks().shape == (width,)


@pytest.mark.parametrize("reveal", [False, True])
def test_box_observation_equals_the_features(reveal):
    env = at_the_table("dict", reveal_partner_utilities=reveal, max_turns=6)
    table = GameBatch(pack([TABLE], "uniform"), env.unwrapped.rules, reveal_partner_utilities=reveal)
    layout = BaseLayout(4, 6, reveal)
    for oA in ([1, 1, 1], [0, 2, 0], [1, 0, 2]):
        seen = env.observe(env.agent_selection)
        assert seen.dtype == np.float32 and seen.shape == (layout.width,) == env.observation_space("seat_0").shape
        assert (seen == encode(table.turns(), layout)[0]).all()
        for agent in ("seat_0", "seat_1"):
            assert env.observe(agent) in env.observation_space(agent)
        env.step({"act_type": 1, "oA": oA})
        table.step(decide(np.array([1]), np.array([oA])))


WRONG = {
    "flat": [[0, 0, 0, 5], np.zeros(4), {"act_type": 0, "oA": [0, 0, 0]}],
    "discrete": [-1, 253, 1.0],
}


@pytest.mark.parametrize(("form", "action"), [(form, action) for form, wrong in WRONG.items() for action in wrong])
def test_invalid_actions_change_nothing(form, action):
    env = at_the_table(form)
    with pytest.raises(InvalidAction, match="got"):
        env.step(action)
    assert env.unwrapped.negotiation.history == ()


def test_views_forfeit_or_raise():
    for make in (deal_or_no_dialog_v0.env, deal_or_no_dialog_v0.parallel_env):
        env, agree = view(make()), [2, 0, 0, 0]
        env.reset()
        env.step(agree if isinstance(env, AECView) else {"seat_0": agree})
        assert "AGREE needs" in env.infos["seat_0"]["illegal"]
        env = view(make(illegal="raise"))
        env.reset()
        with pytest.raises(IllegalAct):
            env.step(agree if isinstance(env, AECView) else {"seat_0": agree})


def test_view_by_api_and_refusals():
    assert isinstance(view(deal_or_no_dialog_v0.env()), AECView)
    assert isinstance(view(deal_or_no_dialog_v0.parallel_env()), ParallelView)
    assert isinstance(view(gymnasium.make("DealOrNoDialog-v0")), SeatView)
    with pytest.raises(TypeError, match=r"takes an environment of dond_marl, wrapped or not: .*; got TimeLimit"):
        view(gymnasium.make("CartPole-v1"))
    with pytest.raises(TypeError, match=r"own Dict actions, but these are a MultiDiscrete already"):
        view(view(deal_or_no_dialog_v0.env()))
    with pytest.raises(ValueError, match="flat or discrete or dict"):
        view(deal_or_no_dialog_v0.env(), "round")
    with pytest.raises(ValueError, match=r"mask of discrete actions; got actions='flat'.*say actions='discrete'"):
        view(deal_or_no_dialog_v0.env(), "flat", "masked")


def test_action_masks_need_an_open_game():
    env = view(deal_or_no_dialog_v0.env())
    with pytest.raises(OrderError, match=r"there is no game yet: call reset\(\) first"):
        env.action_masks()
    env.reset()
    assert env.action_masks().any()
    env.step([4, 0, 0, 0])
    with pytest.raises(OrderError, match=r"the game is over, .* call reset\(\) for a new one"):
        env.action_masks()


def test_masked_observations():
    env, box = at_the_table("discrete", "masked"), at_the_table("discrete", "box")
    for act in (number(Act.PROPOSE, 1, 0, 2), number(Act.INSIST, 1, 2, 2), number(Act.END)):
        for agent in ("seat_0", "seat_1"):
            seen = env.observe(agent)
            assert seen in env.observation_space(agent) and (seen["observation"] == box.observe(agent)).all()
            assert (seen["action_mask"] == env.infos[agent]["action_mask"]).all()
        assert set(np.flatnonzero(seen["action_mask"]).tolist()) >= {number(Act.DISAGREE), number(Act.END)}
        seen["action_mask"][:] = 0  # the caller's own
        assert env.action_masks().any()
        env.step(act)
        box.step(act)
    for agent in env.agent_iter():  # seats that have left are still seen
        assert env.last()[0] in env.observation_space(agent)
        env.step(None)
    assert env.observe("seat_0") in env.observation_space("seat_0")


@pytest.mark.parametrize("form", ["flat", "discrete"])
def test_inactive_seat_of_a_parallel_view_has_one_action(form):
    """A masked learner that is handed both seats then learns nothing from steps in which nothing is decided."""
    env = view(deal_or_no_dialog_v0.parallel_env(disagree="rejects"), form, "masked" if form == "discrete" else "box")
    seen, infos = env.reset(seed=1)
    nothing = [0, 0, 0, 0] if form == "flat" else 0
    for turn in range(9):
        active, idle = f"seat_{turn % 2}", f"seat_{1 - turn % 2}"
        assert env.action_masks(idle).sum() == (4 if form == "flat" else 1)
        assert env.action_masks(active).sum() > 4
        for _ in range(3):
            assert np.all(env.action_space(idle).sample(infos[idle]["action_mask"]) == nothing)
        if form == "discrete":
            assert (seen[idle]["action_mask"] == infos[idle]["action_mask"]).all()
        said = env.action_space(active).sample(infos[active]["action_mask"])
        seen, _, ended, _, infos = env.step({active: said, idle: nothing})
        if ended[active]:
            break
    env.reset(seed=2)
    assert env.action_masks().sum() > 4


class TestParallel:
    """The parallel environment itself."""

    def test_only_the_active_action_is_used(self):
        env = deal_or_no_dialog_v0.parallel_env()
        seen, infos = env.reset(options={"scenario": TABLE})
        assert {info["active_agent"] for info in infos.values()} == {"seat_0"}
        assert seen["seat_1"]["my_utilities"].tolist() == [0, 4, 1]
        seen, rewards, ended, cut, infos = env.step(
            {"seat_0": {"act_type": 0, "oA": [1, 0, 2]}, "seat_1": "not even an action"}
        )
        assert {info["active_agent"] for info in infos.values()} == {"seat_1"} and env.agents == ["seat_0", "seat_1"]
        assert rewards == {"seat_0": 0.0, "seat_1": 0.0} and not any(ended.values()) and not any(cut.values())
        _, rewards, ended, cut, infos = env.step({"seat_1": {"act_type": 2, "oA": [0, 0, 0]}})
        assert rewards == {"seat_0": 8.0, "seat_1": 8.0} and all(ended.values()) and not any(cut.values())
        assert env.agents == [] and infos["seat_0"]["outcome"]["deal"] and infos["seat_0"]["active_agent"] is None

    def test_missing_action(self):
        for env in (deal_or_no_dialog_v0.parallel_env(), view(deal_or_no_dialog_v0.parallel_env())):
            env.reset()
            for actions in ({}, {"seat_1": [0, 0, 0, 0]}):
                with pytest.raises(InvalidAction, match="it is seat_0's turn"):
                    env.step(actions)


@pytest.mark.parametrize("form", ["flat", "discrete"])
def test_supersuits_black_death_plays_games_to_the_end(form):
    env = supersuit.black_death_v3(view(deal_or_no_dialog_v0.parallel_env(), form))
    _, infos = env.reset(seed=1)
    paid = {}
    while env.agents:
        actions = {
            agent: env.action_space(agent).sample(infos[agent]["action_mask"]) for agent in env.agents if infos[agent]
        }
        _, rewards, _, _, infos = env.step(actions)
        paid |= rewards
    assert paid.keys() == {"seat_0", "seat_1"}


@pytest.mark.parametrize("form", ["flat", "discrete"])
def test_supersuit_vectorizes_the_parallel_view(form):
    games = 2
    vector = supersuit.pettingzoo_env_to_vec_env_v1(view(deal_or_no_dialog_v0.parallel_env(), form))
    vector = supersuit.concat_vec_envs_v1(vector, games, base_class="gymnasium")
    seen, _ = vector.reset(seed=1)
    assert seen.shape == (2 * games, 15) and seen.dtype == np.float32
    rng, ended_games, paid = np.random.default_rng(0), 0, 0.0
    for _ in range(120):
        # Mostly offers, so that games last; often AGREE, so that deals close.
        act, oA = rng.choice(5, p=[0.5, 0.1, 0.3, 0.05, 0.05], size=2 * games), rng.integers(0, 2, size=(2 * games, 3))
        actions = np.column_stack([act, oA]) if form == "flat" else action_index(act, oA, 4)
        seen, rewards, ended, cut, infos = vector.step(actions)
        assert seen.shape == (2 * games, 15) and (seen >= 0).all() and (seen <= 1).all() and not np.any(cut)
        assert len(infos) >= games
        ended_games, paid = ended_games + int(np.sum(ended)), paid + float(rewards.sum())
    vector.close()
    assert ended_games > 20 and paid > 0
