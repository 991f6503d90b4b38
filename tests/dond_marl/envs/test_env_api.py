"""The checkers of PettingZoo and Gymnasium, the registries, and import: what other libraries expect of us.

The checkers warn where an environment is legal but unusual. Ours is so on purpose, and each such warning is named here.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from functools import partial
from pathlib import Path

import gymnasium
import pettingzoo
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import (
    api_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

import dond_marl
from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.views import view

# Actions are a Dict, a MultiDiscrete in the flat view: an act and its offer are several numbers.
dict_actions = pytest.mark.filterwarnings("ignore:Action space for each agent probably should be:UserWarning")
# Observations are a Dict of named pieces; the box view is for those who want one array.
dict_observations = pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
)
# A Gymnasium view is a wrapper, and check_env prefers to be given what is inside it.
wrapped = pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")

MODULES = 600  # in memory after the import; 344 when this was written, PyTorch alone is 1,500

VIEWS = [(actions, seen) for actions in ("flat", "discrete", "dict") for seen in ("box", "dict")]
VIEWS.append(("discrete", "masked"))


@dict_actions
@dict_observations
@pytest.mark.parametrize("settings", [{}, {"disagree": "rejects"}, {"max_turns": 1}, {"scenarios": "lewis"}], ids=str)
@pytest.mark.parametrize("illegal", ["raise", "forfeit"])
def test_the_aec_environment_passes_pettingzoos_api_and_seed_tests(settings, illegal):
    api_test(deal_or_no_dialog_v0.env(illegal=illegal, **settings), num_cycles=1000)
    seed_test(lambda: deal_or_no_dialog_v0.env(illegal=illegal, **settings), num_cycles=500)


@dict_actions
@dict_observations
@pytest.mark.parametrize(("actions", "seen"), VIEWS)
def test_every_view_of_the_aec_environment_passes_too(actions, seen):
    api_test(view(deal_or_no_dialog_v0.env(illegal="raise"), actions, seen), num_cycles=1000)
    seed_test(lambda: view(deal_or_no_dialog_v0.env(), actions, seen), num_cycles=200)


def test_the_aec_environment_and_its_views_pass_pettingzoos_render_test():
    render_test(partial(deal_or_no_dialog_v0.env, illegal="forfeit"))
    for actions, seen in VIEWS:  # views forfeit by default
        render_test(lambda actions=actions, seen=seen, **mode: view(deal_or_no_dialog_v0.env(**mode), actions, seen))


def test_the_parallel_environment_passes_pettingzoos_api_and_seed_tests():
    parallel_api_test(deal_or_no_dialog_v0.parallel_env(), num_cycles=1000)
    parallel_seed_test(deal_or_no_dialog_v0.parallel_env, num_cycles=500)


@pytest.mark.parametrize(("actions", "seen"), VIEWS)
def test_parallel_views_pass_pettingzoos_tests(actions, seen):
    parallel_api_test(view(deal_or_no_dialog_v0.parallel_env(), actions, seen), num_cycles=1000)
    parallel_seed_test(lambda: view(deal_or_no_dialog_v0.parallel_env(), actions, seen), num_cycles=200)


def test_pettingzoos_own_turn_based_wrapper_takes_the_aec_environment():
    env = turn_based_aec_to_parallel(deal_or_no_dialog_v0.env())
    _, infos = env.reset(seed=1)
    active = "seat_0"
    while env.agents:
        action = env.action_space(active).sample(infos[active]["action_mask"])
        _, _, _, _, infos = env.step({active: action})
        active = infos["seat_0"].get("active_agent", active)


@pytest.mark.parametrize("seat", [None, 0, 1])
def test_the_single_seat_environment_passes_gymnasiums_checker(seat):
    check_env(gymnasium.make("DealOrNoDialog-v0", partner="heuristic", seat=seat).unwrapped)


@wrapped
@pytest.mark.parametrize(("actions", "seen"), VIEWS)
def test_single_seat_views_pass_gymnasiums_checker(actions, seen):
    env = view(gymnasium.make("DealOrNoDialog-v0").unwrapped, actions, seen)
    check_env(env, skip_render_check=True)
    assert gymnasium.make(env.spec).observation_space == env.observation_space


def test_both_registries_know_the_environment():
    env = gymnasium.make("dond_marl:DealOrNoDialog-v0", partner="tough", max_turns=4, seat=1, render_mode="ansi")
    assert isinstance(env.unwrapped, SingleAgentView) and env.observation_space["turns_remaining"].n == 5
    _, info = env.reset(seed=1)
    assert info["seat"] == "seat_1" and "I would keep" in env.render()
    aec = pettingzoo.make("aec", "dond/DealOrNoDialog-v0", max_turns=4)
    assert isinstance(aec, deal_or_no_dialog_v0.NegotiationEnv) and aec.rules.max_turns == 4 and aec.illegal == "raise"
    parallel = pettingzoo.make("parallel", "dond/DealOrNoDialog-v0")
    assert isinstance(parallel, deal_or_no_dialog_v0.ParallelNegotiationEnv)
    with pytest.raises(TypeError, match="unexpected keyword argument 'parter'"):
        gymnasium.make("DealOrNoDialog-v0", parter="tough")
    dond_marl._register()  # a second time changes nothing, and warns of nothing


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_gymnasium_makes_vectors_of_it(mode):
    vector = gymnasium.make_vec("DealOrNoDialog-v0", num_envs=2, vectorization_mode=mode, partner="boulware")
    vector.action_space.seed(0)
    _, infos = vector.reset(seed=3)
    assert infos["action_mask"]["act_type"].shape == (2, 5)
    endings = set()
    for _ in range(60):
        seen, rewards, _, cut, infos = vector.step(vector.action_space.sample())
        assert seen["counts"].shape == (2, 3) and rewards.shape == (2,) and not cut.any()
        endings |= {ending for ending in infos.get("outcome", {}).get("ending", ()) if ending is not None}
    vector.close()
    assert len(endings) >= 2


def test_import_loads_no_heavy_module():
    heavy = "torch transformers groq ray supersuit scipy pandas"
    code = f"""
import sys
before = set(sys.modules)
import dond_marl
print(len(set(sys.modules) - before))
assert "dond_marl.envs.aec" not in sys.modules
from dond_marl import deal_or_no_dialog_v0, SingleAgentView
assert callable(deal_or_no_dialog_v0.env) and SingleAgentView and dond_marl.NegotiationEnv and dond_marl.__version__
print(len(set(sys.modules) - before))
print([name for name in {heavy.split()} if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    package, environment, loaded = out
    assert loaded == "[]"
    assert int(package) <= int(environment) < MODULES


def test_every_public_name_exists_and_unknown_ones_do_not():
    assert [name for name in dond_marl.__all__ if not hasattr(dond_marl, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'dond'"):
        dond_marl.dond  # noqa: B018


def test_public_names_are_those_that_type_checkers_see():
    """A package looks its names up in several modules: two of them may have a name in common."""
    declared = ast.parse(Path(dond_marl.__file__).read_text(encoding="utf-8"))
    for line in ast.walk(declared):
        if isinstance(line, ast.ImportFrom) and (line.module or "").startswith("dond_marl."):
            for name in line.names:
                assert getattr(dond_marl, name.name) is getattr(importlib.import_module(line.module), name.name)
