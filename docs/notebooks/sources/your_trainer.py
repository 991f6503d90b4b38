# %% [markdown]
# # Plug in your trainer
#
# Stable-Baselines3's masked PPO learns this game in self-play, one policy in both seats; its score against a partner
# that is not in its training is measured before and after. About two minutes on a quiet core. It needs
# `pip install -e '.[examples]'`.

# %%
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a small network: several threads mostly wait for each other

import warnings

warnings.filterwarnings("ignore")

import supersuit
from sb3_contrib import MaskablePPO
from supersuit.vector.sb3_vector_wrapper import SB3VecEnvWrapper

from dond_marl import deal_or_no_dialog_v0
from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.envs.views import as_bools, view
from league.evaluation.heldout_score import heldout_score

# %% [markdown]
# ## The vector, and its masks
#
# The flat view turns the game's `Dict` spaces into a `Box` and a `MultiDiscrete`; SuperSuit batches 16 games.
# Masks travel in the infos: these few lines hand them to sb3-contrib. The seat that is not to move has one legal
# action, so that its steps have no gradient.


# %%
class Masked(SB3VecEnvWrapper):
    """SuperSuit's vector with what sb3-contrib asks of it: the masks, and a seed."""

    def step_wait(self):
        obs, rewards, ended, infos = super().step_wait()
        self.reset_infos = infos
        return obs, rewards, ended, infos

    def has_attr(self, attr_name):
        return attr_name == "action_masks"

    def env_method(self, *_, **__):
        return [as_bools(info["action_mask"]) for info in self.reset_infos]

    def seed(self, seed=None):
        self.venv.reset(seed=seed)


both = view(deal_or_no_dialog_v0.parallel_env(scenarios="lewis", split="train"))
games = supersuit.concat_vec_envs_v1(supersuit.pettingzoo_env_to_vec_env_v1(both), 16)
settings = {"n_steps": 256, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.02, "learning_rate": 1e-3}
model = MaskablePPO("MlpPolicy", Masked(games), seed=1, device="cpu", **settings)

# %% [markdown]
# ## Before
#
# `PolicyPartner` makes a partner of any function from observations and masks to actions, so that the policy of
# any library can take a seat. Points of ten against the default heuristic, on held-out scenarios, in both seats:

# %%
player = PolicyPartner(lambda obs, masks: model.predict(obs, action_masks=masks, deterministic=True)[0])
before = heldout_score(player).points
print(f"before: {before.mean:.2f} ±{before.margin:.2f} points of ten")

# %% [markdown]
# ## After
#
# Own points are the only reward, paid at the end: no discount (`gamma=1`).

# %%
STEPS = 200_000  # of both seats
model.learn(STEPS)
after = heldout_score(player).points
print(f"before: {before.mean:.2f} ±{before.margin:.2f}, after {STEPS:,} steps: {after.mean:.2f} ±{after.margin:.2f}")
assert after.low > before.high, "it has not learned for sure"

# %% [markdown]
# ## A look at one game with itself

# %%
from dond_marl.game import Rules
from dond_marl.records.record import records_of
from dond_marl.records.transcript import transcript
from dond_marl.rollout import rollout
from dond_marl.scenarios import open_source

dealt = open_source("lewis", split="test").block(1, 0, 2)
print(next(transcript(game) for game in records_of(rollout((player, player), dealt, Rules(), seed=1), ("sb3", "sb3"))))

# %% [markdown]
# Other libraries, faster vectors (`DealVectorEnv`) and the way to give such a policy a name in configs:
# [Other libraries](../PLUG_IN.md).
