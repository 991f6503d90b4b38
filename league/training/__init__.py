"""Training of one learner outside a league, for `dond train`: PPO, REINFORCE or behaviour cloning."""
