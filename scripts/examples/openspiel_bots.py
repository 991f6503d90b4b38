"""Any partner in OpenSpiel's own ``bargaining``, as a bot, against OpenSpiel's uniform random and MCTS bots.

example: python scripts/examples/openspiel_bots.py --partner boulware --games 200
"""

import argparse
import re

import numpy as np
import pyspiel
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
from open_spiel.python.algorithms.mcts import MCTSBot, RandomRolloutEvaluator

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Partner
from partners.adapters.openspiel_bargaining import choose_act


class PartnerBot(pyspiel.Bot):
    """An OpenSpiel bot that reads only its player's information state."""

    def __init__(self, partner: Partner, player: int) -> None:
        super().__init__()
        self.partner, self.player, self.game_number = partner, player, 0

    def restart_at(self, _state: pyspiel.State) -> None:
        """Start a new game with new noise."""
        self.game_number += 1

    def step(self, state: pyspiel.State) -> int:
        """The action of this turn."""
        lines = state.information_state_string(self.player).splitlines()
        pool, values, *offers = filter(None, (tuple(map(int, re.findall(r"\w: (\d+)", line))) for line in lines))
        return choose_act(self.partner, pool, values, offers, seed=self.game_number)


def main(spec: str, games: int) -> None:
    """Play half of the games in each seat and print the mean points."""
    game, partner, rng = pyspiel.load_game("bargaining"), seat_occupant(spec), np.random.default_rng(0)
    look_ahead = RandomRolloutEvaluator(1, rng)
    bots = {
        "its uniform random bot": lambda player: pyspiel.make_uniform_random_bot(player, 1),
        "its MCTS bot, which sees everything": lambda _: MCTSBot(game, 2.0, 50, look_ahead, random_state=rng),
    }
    for name, other in bots.items():
        seats = [(PartnerBot(partner, 0), other(1)), (other(0), PartnerBot(partner, 1))]
        points = [evaluate_bots(game.new_initial_state(), seats[k % 2], rng)[k % 2] for k in range(games)]
        doubt = 1.96 * np.std(points, ddof=1) / games**0.5
        print(f"{spec} against {name}: {np.mean(points):.2f} ±{doubt:.2f} of 10 points, n = {games}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partner", default="boulware", help="any occupant (default %(default)s)")
    parser.add_argument("--games", type=int, default=200, help="half in each seat (default %(default)s)")
    arguments = parser.parse_args()
    main(arguments.partner, arguments.games)
