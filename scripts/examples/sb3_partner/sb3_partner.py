"""The way back: what sb3_maskable_ppo.py saved plays in the league as ``{kind: sb3, path: model.zip}``."""

from dond_marl.envs.policy_partner import PolicyPartner


def sb3(path: str) -> PolicyPartner:
    """A policy of sb3-contrib's MaskablePPO, played greedily."""
    from sb3_contrib import MaskablePPO  # here: listing the occupants must not load PyTorch

    model = MaskablePPO.load(path, device="cpu")
    return PolicyPartner(lambda obs, masks: model.predict(obs, action_masks=masks, deterministic=True)[0])
