"""OpenSpiel's own PPO learns this game in both seats, against any partner, over OpenSpiel's environments.

example: python scripts/examples/openspiel_ppo.py --steps 400000 --partner "mixture(of=zoo)" --save actor.pt
"""

import argparse

import torch
from open_spiel.python.pytorch.ppo import PPO, PPOAgent
from open_spiel.python.rl_environment import Environment, TimeStep
from open_spiel.python.vector_env import SyncVectorEnv

from dond_marl.envs.policy_partner import PolicyPartner
from dond_marl.occupants import seat_occupant
from league.evaluation.heldout_score import before_and_after
from partners.adapters.openspiel_game import DealGame, answer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--steps", type=int, default=400_000, help="own decisions (default %(default)s)")
parser.add_argument("--partner", default="heuristic", help="who is met (default %(default)s)")
parser.add_argument("--save", default="/dev/null", help="keep the network there, as a .pt")
options, n, length, _ = parser.parse_args(), 16, 256, torch.manual_seed(1)
game, partner = DealGame(), seat_occupant(options.partner)  # or pyspiel.load_game("python_deal_or_no_dialog")


class Against(Environment):  # noqa: D101  # one seat is the learner's, whose observations and rewards come first
    def __init__(self, seat: int) -> None:
        super().__init__(game, chance_event_sampler=lambda _: int(torch.randint(game.max_chance_outcomes(), ())))
        self.seat, self.own_first = seat, slice(None, None, 1 - 2 * seat)

    def _sample_external_events(self) -> None:
        super()._sample_external_events()
        while not self._state.is_terminal() and self._state.current_player() != self.seat:
            self._state.apply_action(answer(partner, self._state, self.chance))

    def _put_own_first(self, step: TimeStep) -> TimeStep:
        first = {key: step.observations[key][self.own_first] for key in ("info_state", "legal_actions")}
        return step._replace(observations=first, rewards=step.rewards and step.rewards[self.own_first])

    def reset(self) -> TimeStep:  # OpenSpiel's; again where the partner walks away at once
        self.chance = int(torch.randint(2**31, ()))
        step = super().reset()
        return self.reset() if self._state.is_terminal() else self._put_own_first(step)

    def get_time_step(self) -> TimeStep:  # OpenSpiel's
        return self._put_own_first(super().get_time_step())


settings = {"learning_rate": 1e-3, "gamma": 1.0, "entropy_coef": 0.02, "clip_vloss": False, "agent_fn": PPOAgent}
ppo, games = PPO((15,), 253, 2, 0, n, length, 8, **settings), SyncVectorEnv([Against(k % 2) for k in range(n)])
actor, tensor = ppo.network.actor, torch.as_tensor
policy = PolicyPartner(lambda o, m: actor(tensor(o)).masked_fill(~tensor(m), -1e8).argmax(1).numpy(), "discrete")
with before_and_after(policy):
    step = games.reset()
    for turn in range(1, 1 + max(options.steps // n, length)):
        step, rewards, ended, _ = games.step(ppo.step(step), reset_if_done=True)
        ppo.post_step([reward for reward, _ in rewards], ended)
        if turn % length == 0:
            ppo.learn(step)
torch.save(ppo.network.state_dict(), options.save)
