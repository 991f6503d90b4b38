"""The AEC environment: what a seat sees, may say and earns, and what happens to everything else."""

from __future__ import annotations

import copy
import inspect
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl import deal_or_no_dialog_v0
from dond_marl.envs.aec import NegotiationEnv, OrderError
from dond_marl.envs.spaces import InvalidAction
from dond_marl.errors import InputError
from dond_marl.game import SEATS, Act, Action, Ending, IllegalAct, Rules, Scenario, State, apply, legal_actions
from league.settings.sections import EnvConfig

# What the tests below play on:
#            book  hat  ball
#     pool      1    2     2
#   seat_0      4    1     2
#   seat_1      0    4     1
TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
VARIANTS = list(itertools.product((1, 2, 3, 10), ("ends", "rejects"), ("raise", "forfeit")))


def say(act: Act, *oA: int) -> dict[str, object]:
    return {"act_type": int(act), "oA": np.array(oA or (0, 0, 0))}


def at_the_table(scenario: Scenario = TABLE, **settings: object) -> NegotiationEnv:
    env = deal_or_no_dialog_v0.env(**settings)
    env.reset(options={"scenario": scenario})
    return env


def same(one: object, other: object) -> bool:
    """Equal in values and types, through dicts, tuples and arrays."""
    if isinstance(one, dict):
        return type(one) is type(other) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


def everything(env: NegotiationEnv) -> tuple[object, ...]:
    """All that callers can see of the environment."""
    views = tuple(env.observe(agent) for agent in SEATS)
    tables = (env.rewards, env._cumulative_rewards, env.terminations, env.truncations, env.infos)
    return (env.negotiation, tuple(env.agents), env.agent_selection, views, copy.deepcopy(tables))


def step_legally(env: NegotiationEnv, rng: np.random.Generator, patience: float = 0.8) -> None:
    seen, info = env.observe(env.agent_selection), env.infos[env.agent_selection]
    if rng.random() < patience:
        oA = seen["last_partner_offer_for_me"] if rng.random() < 0.5 else rng.integers(0, info["oA_max"] + 1)
        env.step({"act_type": rng.integers(2), "oA": oA})
    else:
        env.step(env.action_space(env.agent_selection).sample(info["action_mask"]))


def test_deal_pays_own_points():
    env = at_the_table()
    env.step(say(Act.PROPOSE, 1, 0, 2))
    assert env.rewards == {"seat_0": 0.0, "seat_1": 0.0} and not any(env.terminations.values())
    env.step(say(Act.AGREE))
    assert env.rewards == {"seat_0": 8.0, "seat_1": 8.0}  # 4 + 2 * 2, and 2 * 4
    assert env.terminations == {"seat_0": True, "seat_1": True} and not any(env.truncations.values())
    expected = {"ending": "AGREE", "allocation": ((1, 0, 2), (0, 2, 0)), "scores": (8, 8), "deal": True}
    for agent in SEATS:
        assert env.infos[agent]["outcome"] == expected and "illegal" not in env.infos[agent]
    seen, earned = [], {}
    for agent in env.agent_iter():
        _, earned[agent], terminated, truncated, _ = env.last()
        assert terminated and not truncated
        env.step(None)
        seen.append(agent)
    assert sorted(seen) == list(SEATS) and earned == {"seat_0": 8.0, "seat_1": 8.0} and env.agents == []


def test_reveal_partner_utilities():
    env = at_the_table(reveal_partner_utilities=True)
    assert env.observe("seat_0")["partner_utilities"].tolist() == [0, 4, 1]
    assert env.observe("seat_1")["partner_utilities"].tolist() == [4, 1, 2]


@pytest.mark.parametrize(("max_turns", "disagree", "illegal"), VARIANTS)
def test_environment_plays_the_rules(max_turns, disagree, illegal):
    rng = np.random.default_rng([max_turns, disagree == "ends"])
    env = deal_or_no_dialog_v0.env(max_turns=max_turns, disagree=disagree, illegal=illegal)
    for game in range(60):
        env.reset(seed=game if game % 2 else None)
        state = State(env.negotiation.scenario, Rules(max_turns, disagree))
        while not state.is_over:
            assert env.agent_selection == SEATS[state.mover]
            step_legally(env, rng)
            state = apply(state, env.negotiation.history[-1])
            assert env.negotiation == state
            for agent in SEATS:
                assert env.observation_space(agent).contains(env.observe(agent))
        for seat, agent in enumerate(SEATS):
            assert env.rewards[agent] == state.outcome.scores[seat] and type(env.rewards[agent]) is float
            assert 0 <= env.rewards[agent] <= state.scenario.pool_value(seat)
            assert env.terminations[agent] is True and env.truncations[agent] is False
        if state.outcome.deal:
            kept = np.array(env.infos["seat_0"]["outcome"]["allocation"])
            assert kept.sum(axis=0).tolist() == list(state.scenario.counts)


@pytest.mark.parametrize("disagree", ["ends", "rejects"])
def test_mask_equals_brute_force_legality(disagree):
    rng = np.random.default_rng(3)
    env = deal_or_no_dialog_v0.env(disagree=disagree, max_count=2)
    every = [Action(act, oA) for act in Act for oA in itertools.product(range(3), repeat=3)]
    for _ in range(40):
        env.reset(seed=int(rng.integers(1000)))
        while not env.negotiation.is_over:
            mask, legal = env.infos[env.agent_selection]["action_mask"], set(legal_actions(env.negotiation))
            for act, oA in every:
                allowed = bool(mask["act_type"][act]) and (
                    not act.is_offer or all(part[n] for part, n in zip(mask["oA"], oA, strict=True))
                )
                assert allowed == (Action(act, oA if act.is_offer else (0, 0, 0)) in legal)
            for seat, agent in enumerate(SEATS):  # a function of the public history, for either seat
                last = env.negotiation.last_act(1 - seat)
                mask = env.infos[agent]["action_mask"]
                assert mask[Act.AGREE] == (last is not None and last.is_offer)
                assert env.infos[agent]["oA_max"].tolist() == list(env.negotiation.scenario.counts)
            step_legally(env, rng)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 1), st.tuples(*[st.integers(0, 10)] * 3), st.sampled_from(VARIANTS))
def test_observations_do_not_depend_on_the_other_seats_values(seed, seat, values, variant):
    max_turns, disagree, illegal = variant
    rng, agent = np.random.default_rng(seed), SEATS[seat]
    env = deal_or_no_dialog_v0.env(max_turns=max_turns, disagree=disagree, illegal=illegal)
    env.reset(seed=seed)
    drawn = env.negotiation.scenario
    utilities = (drawn.utilities[0], values) if seat == 0 else (values, drawn.utilities[1])
    twin = at_the_table(Scenario(drawn.counts, utilities), max_turns=max_turns, disagree=disagree, illegal=illegal)
    while not env.negotiation.is_over:
        assert same(env.observe(agent), twin.observe(agent)) and same(env.infos[agent], twin.infos[agent])
        step_legally(env, rng)
        twin.step({"act_type": int(env.negotiation.history[-1].act_type), "oA": env.negotiation.history[-1].oA})
    assert same(env.observe(agent), twin.observe(agent))
    assert env.rewards[agent] == twin.rewards[agent]


def test_action_mask_samples_and_arrays():
    env = at_the_table()
    env.action_space("seat_1").seed(0)
    env.step(say(Act.PROPOSE, 0, 0, 0))
    mask = env.infos["seat_1"]["action_mask"]
    assert np.asarray(mask).tolist() == [1, 1, 1, 1, 1] and np.asarray(mask).dtype == np.int8
    assert mask[Act.AGREE] == 1 and mask[np.int64(2)] == 1 and env.infos["seat_0"]["action_mask"][Act.AGREE] == 0
    for _ in range(200):
        assert (env.action_space("seat_1").sample(mask)["oA"] <= [1, 2, 2]).all()
    with pytest.raises(ValueError, match="read-only"):
        mask["act_type"][0] = 0


def test_observations_are_copies():
    env = at_the_table()
    for _ in range(2):
        seen = env.observe("seat_0")
        assert seen["counts"].tolist() == [1, 2, 2] and seen["my_utilities"].tolist() == [4, 1, 2]
        for value in seen.values():
            if isinstance(value, np.ndarray):
                value += 5


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    ("action", "rule"),
    [(say(Act.AGREE), "AGREE needs the partner's last act"), (say(Act.PROPOSE, 2, 0, 0), "PROPOSE must keep between")],
)
def test_illegal_act_raises_or_forfeits(seat, action, rule):
    for illegal in ("raise", "forfeit"):
        env = at_the_table(illegal=illegal, disagree="rejects")
        if seat == 1:
            env.step(say(Act.DISAGREE))
        before = everything(env)
        if illegal == "raise":
            with pytest.raises(IllegalAct, match=rule):
                env.step(action)
            assert same(before, everything(env))
            env.step(say(Act.PROPOSE, 1, 1, 1))  # and the game goes on
            continue
        env.step(action)
        assert env.negotiation.outcome.ending is Ending.ILLEGAL and all(env.terminations.values())
        assert env.rewards == {"seat_0": 0.0, "seat_1": 0.0}
        for agent in SEATS:
            assert rule in env.infos[agent]["illegal"] and env.infos[agent]["outcome"]["ending"] == "ILLEGAL"


BAD = [
    *({"act_type": 0}, {"act_type": 0.0, "oA": [0, 0, 0]}, {"act_type": 5, "oA": [0, 0, 0]}),
    *({"act_type": 0, "oA": oA} for oA in ([1, 1], [0, 0, 5], np.ones(3))),
    {"act_type": 3, "oA": [0, 0, 99]},  # oA is not read here, but it is outside the space
]


@pytest.mark.parametrize("action", BAD, ids=lambda action: repr(action)[:60])
def test_action_outside_the_space_changes_nothing(action):
    env = at_the_table(illegal="forfeit")
    before = everything(env)
    with pytest.raises(InvalidAction, match=r"got .*\. An action is .* 3 integers in 0\.\.4, what the speaker keeps"):
        env.step(action)
    assert same(before, everything(env))


def test_integers_of_any_library_are_accepted():
    arrays = np.array([1, 0, 2], dtype=np.uint8), torch.tensor([1, 0, 2])
    for act in (0, np.int8(0), np.array([0]), torch.tensor([0])):
        for oA in ((1, 0, 2), *arrays):
            env = at_the_table()
            env.step({"act_type": act, "oA": oA})
            assert env.negotiation.history == (Action(Act.PROPOSE, (1, 0, 2)),)


def test_calls_out_of_order():
    env = deal_or_no_dialog_v0.env(render_mode="ansi")
    for call in (lambda: env.step(say(Act.END)), env.last, env.agent_iter, env.render, lambda: env.observe("seat_0")):
        with pytest.raises(OrderError, match=r"call reset\(\) first"):
            call()
    env.reset()
    env.step(say(Act.END))
    with pytest.raises(InvalidAction, match=r"can only leave, with step\(None\)"):
        env.step(say(Act.END))
    env.step(None)
    env.step(None)
    for call in (lambda: env.step(None), env.last):
        with pytest.raises(OrderError, match=r"call reset\(\) for a new one"):
            call()
    env.reset()
    assert env.agents == list(SEATS) and env.negotiation.history == ()


def test_same_seed_same_games():
    def tables(env, first_seed):
        env.reset(seed=first_seed)
        found = [env.negotiation.scenario]
        for _ in range(5):
            env.reset()
            found.append(env.negotiation.scenario)
        return found

    one, other = deal_or_no_dialog_v0.env(), deal_or_no_dialog_v0.env()
    assert tables(one, 7) == tables(other, 7) != tables(other, 8)
    assert len(set(tables(one, 7))) == 6
    other.action_space("seat_0").seed(1)
    assert tables(one, 7) == tables(other, 7)


def test_scenario_option():
    given = {"counts": [1, 2, 2], "utilities": np.array([[4, 1, 2], [0, 4, 1]])}
    for scenario in (TABLE, given):
        env = deal_or_no_dialog_v0.env()
        env.reset(seed=1, options={"scenario": scenario, "something": "else"})
        assert env.negotiation.scenario == TABLE
    env.reset(options={"options": 1})
    assert env.negotiation.scenario != TABLE


def test_invalid_reset_changes_nothing():
    env = at_the_table()
    before = everything(env)
    for scenario, complaint in (
        (Scenario((5, 1, 1), ((1, 1, 1), (1, 1, 1))), "build the environment with max_count=5"),
        ({"counts": [1, 1, 1]}, "must be a Scenario or"),
        ({"counts": [1, 1], "utilities": [[1, 1, 1], [1, 1, 1]]}, "counts must be 3 integers"),
    ):
        with pytest.raises(ValueError, match=complaint):
            env.reset(options={"scenario": scenario})
    with pytest.raises(ValueError, match="no option 'scenarios': did you mean 'scenario'"):
        env.reset(options={"scenarios": TABLE})
    with pytest.raises(InputError, match="a seed is a whole number of at least 0"):
        env.reset(seed=-1)
    assert same(before, everything(env))


def test_invalid_settings():
    with pytest.raises(ValueError, match="illegal must be one of None, 'raise', 'forfeit'"):
        deal_or_no_dialog_v0.env(illegal="ignore")
    with pytest.raises(ValueError, match=r"max_turns must be an integer in 1\.\.100"):
        deal_or_no_dialog_v0.env(max_turns=0)


def test_unknown_agent():
    env = at_the_table()
    for call in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(ValueError, match=r"the agents are 'seat_0' and 'seat_1'; got"):
            call("player_0")


def test_settings_equal_those_of_configs():
    config = {name: field.default for name, field in EnvConfig.model_fields.items() if name not in ("id", "partner")}
    config |= {"illegal": None, "render_mode": None}  # of the environments alone
    for make in (NegotiationEnv, NegotiationEnv.__init__, deal_or_no_dialog_v0.parallel_env):
        parameters = {name: given for name, given in inspect.signature(make).parameters.items() if name != "self"}
        assert {given.kind for given in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
        assert {name: given.default for name, given in parameters.items()} == config


def test_spaces_follow_the_settings():
    env = deal_or_no_dialog_v0.env(max_turns=3, max_count=2)
    space = env.observation_space("seat_0")
    assert space["counts"].nvec.tolist() == [3, 3, 3] and space["my_utilities"].nvec.tolist() == [11, 11, 11]
    assert space["turns_remaining"].n == 4 and space["last_partner_act"].n == 5
    assert env.action_space("seat_0")["oA"].nvec.tolist() == [3, 3, 3]
    assert env.action_space("seat_0") is env.action_space("seat_0") is not env.action_space("seat_1")


def test_human_mode_prints_new_lines(capsys):
    env = at_the_table(render_mode="human")
    assert len(capsys.readouterr().out.splitlines()) == 3
    env.step(say(Act.PROPOSE, 1, 0, 2))
    assert capsys.readouterr().out == " 1. seat_0: I would keep 1 book, 2 balls; you would get 2 hats.\n"
    assert env.render() is None and capsys.readouterr().out == ""
    with pytest.warns(UserWarning, match="build the environment with 'human', 'ansi' or 'rgb_array'"):
        at_the_table().render()
