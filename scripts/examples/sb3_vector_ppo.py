"""MaskablePPO of sb3-contrib over ``DealVectorEnv``: hundreds of games, a partner in the other seat.

A small network wants one thread: set OMP_NUM_THREADS=1 where the cores have other work.

example: python scripts/examples/sb3_vector_ppo.py --steps 400000
"""

import argparse

from sb3_contrib import MaskablePPO

from dond_marl import DealVectorEnv
from dond_marl.envs.policy_partner import PolicyPartner
from league.evaluation.heldout_score import before_and_after
from partners.adapters.sb3_vector import SB3VectorEnv

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
table = {"scenarios": "lewis", "split": "train", "actions": "discrete", "observations": "box"}
settings = {"n_steps": 16, "batch_size": 512, "n_epochs": 4, "gamma": 1.0, "ent_coef": 0.02, "learning_rate": 1e-3}
model = MaskablePPO(
    "MlpPolicy", SB3VectorEnv(DealVectorEnv(256, "heuristic", **table)), seed=1, device="cpu", **settings
)
with before_and_after(PolicyPartner(lambda o, m: model.predict(o, action_masks=m, deterministic=True)[0], "discrete")):
    model.learn(parser.parse_args().steps)
