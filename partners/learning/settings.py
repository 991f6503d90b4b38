"""Settings of a learner, in a module that loads no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """Hyperparameters of PPO and REINFORCE; the defaults are PPO's common ones."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    lr: float = 3e-4
    gamma: float = 0.99  # per own decision
    lam: float = 0.95  # PPO: lambda of the generalized advantages
    clip: float = 0.2  # PPO
    epochs: int = 4  # PPO
    minibatch: int = 64  # PPO: decisions; the last one may be short
    ent: float = 0.0  # weight of the entropy
    vf: float = 0.5  # PPO: weight of the value loss
    grad_norm: float = 0.5  # PPO: the gradient is scaled down to this norm
    kl: float = 0.0  # weight of the KL penalty toward a reference policy, nats per decision
    magnet: float = 0.0  # 0..1, how far the reference moves toward the learner after each update; 0: it is fixed
    belief: float = 0.0  # weight of the belief heads' cross-entropy (partner's values, partner's identity), in nats
    exact_reply: float = 0.0  # PPO: weight of the acts' exact regrets, which replace rewards where they are known
    critic: Literal["own", "both"] = "own"  # PPO: both: advantages by a critic that sees both seats' values
    anneal: bool = False  # lr and ent fall linearly to zero over ``total_decisions``
    total_decisions: int = 0
