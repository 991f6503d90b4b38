"""Learning of the policy network: experience, losses, rewards and the learners PPO, REINFORCE and cloning."""
