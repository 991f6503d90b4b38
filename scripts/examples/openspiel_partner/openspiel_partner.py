"""The way back: what openspiel_ppo.py saved plays here as ``{kind: openspiel, path: actor.pt}``."""

from dond_marl.envs.policy_partner import PolicyPartner


def openspiel(path: str) -> PolicyPartner:
    """A policy of OpenSpiel's PPO, played greedily."""
    import torch  # here: listing the occupants must not load PyTorch
    from open_spiel.python.pytorch.ppo import PPOAgent

    (agent := PPOAgent(253, (15,), "cpu")).load_state_dict(torch.load(path, weights_only=True))
    actor, tensor = agent.actor, torch.as_tensor
    return PolicyPartner(lambda o, m: actor(tensor(o)).masked_fill(~tensor(m), -1e8).argmax(1).numpy(), "discrete")
