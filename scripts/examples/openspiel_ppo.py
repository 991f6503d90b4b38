"""OpenSpiel's own PPO learns this game in both seats, against the default heuristic, over OpenSpiel's environments.

example: python scripts/examples/openspiel_ppo.py --steps 400000
"""

import argparse

import torch
from open_spiel.python.pytorch.ppo import PPO, PPOAgent
from open_spiel.python.rl_environment import Environment, TimeStep
from open_spiel.python.vector_env import SyncVectorEnv

from dond_marl.envs.openspiel.game import DealGame, answer
from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.occupants import seat_occupant
from league.evaluation.heldout_score import before_and_after

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
steps, partner, n, length = parser.parse_args().steps, seat_occupant("heuristic"), 16, 256
game = DealGame()  # or pyspiel.load_game("python_deal_or_no_dialog"), once dond_marl.envs.openspiel.game is imported


class Against(Environment):
    """One seat is the learner's, whose observations and rewards come first; the partner plays the other."""

    def __init__(self, seat: int) -> None:
        super().__init__(game, chance_event_sampler=lambda _: int(torch.randint(game.max_chance_outcomes(), ())))
        self.seat, self.own_first = seat, slice(None, None, 1 - 2 * seat)

    def _sample_external_events(self) -> None:
        super()._sample_external_events()
        while not self._state.is_terminal() and self._state.current_player() != self.seat:
            self._state.apply_action(answer(partner, self._state))

    def _ordered(self, step: TimeStep) -> TimeStep:
        own = {key: step.observations[key][self.own_first] for key in ("info_state", "legal_actions")}
        return step._replace(observations=own, rewards=step.rewards and step.rewards[self.own_first])

    def reset(self) -> TimeStep:  # OpenSpiel's
        return self._ordered(super().reset())

    def get_time_step(self) -> TimeStep:  # OpenSpiel's
        return self._ordered(super().get_time_step())


torch.manual_seed(1)
settings = {"learning_rate": 1e-3, "gamma": 1.0, "entropy_coef": 0.02, "clip_vloss": False, "agent_fn": PPOAgent}
ppo, games = PPO((15,), 253, 2, 0, n, length, 8, **settings), SyncVectorEnv([Against(k % 2) for k in range(n)])
actor, as_tensor = ppo.network.actor, torch.as_tensor
policy = PolicyPartner(lambda o, m: actor(as_tensor(o)).masked_fill(~as_tensor(m), -1e8).argmax(1).numpy(), "discrete")
with before_and_after(policy):
    step = games.reset()
    for turn in range(1, 1 + max(steps // n, length)):
        step, rewards, ended, _ = games.step(ppo.step(step), reset_if_done=True)
        ppo.post_step([own for own, _ in rewards], ended)
        if turn % length == 0:
            ppo.learn(step)
