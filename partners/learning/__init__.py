"""How a network improves: experience, losses, rewards and the learners PPO, REINFORCE and cloning."""
