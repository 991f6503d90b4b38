"""One learner outside a league, as `scripts/train.py` runs it: PPO, REINFORCE or behaviour cloning."""
