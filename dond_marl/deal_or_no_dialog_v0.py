"""The environment under its PettingZoo name: ``env()``, ``raw_env()`` and ``parallel_env()``.

Settings, observations, actions and rewards: :class:`NegotiationEnv`. The version rises whenever the same actions on the
same scenario would give another game.
"""

from __future__ import annotations

from dond_marl.envs.aec import NegotiationEnv, ParallelNegotiationEnv

# Checks live in the class, so there is nothing to wrap: both names make the same environment.
env = NegotiationEnv
raw_env = NegotiationEnv
parallel_env = ParallelNegotiationEnv

__all__ = ["NegotiationEnv", "ParallelNegotiationEnv", "env", "parallel_env", "raw_env"]
