"""Games as a vector of Stable-Baselines3: the same as those of ``DealVectorEnv``, and its learners train on them."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl import DealVectorEnv
from dond_marl.errors import InputError

pytest.importorskip("stable_baselines3", reason="pip install -e '.[examples]' brings Stable-Baselines3")
pytestmark = pytest.mark.bench

from partners.adapters.sb3_vector import SB3VectorEnv  # noqa: E402  # needs stable_baselines3


def make(n=8, **forms):
    return DealVectorEnv(n, "heuristic", scenarios="lewis", **{"actions": "discrete", "observations": "box"} | forms)


def pick(masks):
    return np.array([np.flatnonzero(mask)[0] for mask in masks])


@pytest.mark.parametrize("observations", ["box", "dict"])
def test_steps_are_those_of_the_games(observations):
    plain, vector = make(observations=observations), SB3VectorEnv(make(observations=observations))
    vector.seed(5)
    np.testing.assert_equal(vector.reset(), plain.reset(seed=5)[0])
    finals = 0
    for _ in range(12):
        masks = vector.env_method("action_masks")
        assert vector.has_attr("action_masks") and (np.array(masks) == plain.action_masks()).all()
        expected = plain.step(pick(masks))
        seen, rewards, ended, infos = vector.step(pick(masks))
        np.testing.assert_equal((seen, rewards, ended), expected[:3])
        for row in np.flatnonzero(ended):
            final = expected[4]["final_obs"]
            one = {name: final[name][row] for name in final} if observations == "dict" else final[row]
            np.testing.assert_equal(infos[row]["terminal_observation"], one)
            finals += 1
        assert all("terminal_observation" not in infos[row] for row in np.flatnonzero(~ended))
    assert finals


def test_learners_train_on_it():
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecMonitor

    for learner, forms in ((MaskablePPO, {}), (PPO, {"actions": "flat"})):
        policy = "MlpPolicy"
        model = learner(policy, VecMonitor(SB3VectorEnv(make(**forms))), n_steps=8, batch_size=64, seed=1, device="cpu")
        model.learn(128)
        assert model.num_timesteps == 128 and model.ep_info_buffer


@pytest.mark.parametrize("forms", [{"actions": "dict"}, {"autoreset": "next_step"}])
def test_forms_that_it_cannot_read_are_refused(forms):
    with pytest.raises(InputError):
        SB3VectorEnv(make(**forms))
