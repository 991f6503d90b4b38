"""One learner outside a league, as `dond train` runs it: PPO, REINFORCE or behaviour cloning."""
