"""What a learner may be set to, apart from the learner: no PyTorch is loaded to read settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """How a network is improved; the defaults are those of PPO as it is commonly set."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    lr: float = 3e-4
    gamma: float = 0.99  # per own decision
    lam: float = 0.95  # PPO: of the generalized advantages
    clip: float = 0.2  # PPO
    epochs: int = 4  # PPO
    minibatch: int = 64  # PPO: decisions; the last one may be short
    ent: float = 0.0  # weight of the entropy
    vf: float = 0.5  # PPO: weight of the value loss
    grad_norm: float = 0.5  # PPO: the gradient is scaled down to this norm
    kl: float = 0.0  # weight of the divergence from a reference policy, nats per decision
    magnet: float = 0.0  # how far that reference follows the learner after each update; 0: it stays, 1: all the way
    belief: float = 0.0  # weight of what it is surprised by in the partner's values and in who it is, nats
    exact_reply: float = 0.0  # PPO: weight of what each act loses to the best reply, not of rewards, where it is known
    critic: Literal["own", "both"] = "own"  # PPO: both: the value that it learns by sees both seats' values
    anneal: bool = False  # lr and ent fall linearly to zero over ``total_decisions``
    total_decisions: int = 0
