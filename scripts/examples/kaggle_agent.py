"""Any partner as an agent of Kaggle's game arena (``open_spiel_bargaining``), here against its random agent.

Its package pins another Gymnasium than this project: ``python -m scripts.plug_in --only kaggle_agent`` makes it
a place.

example: python scripts/examples/kaggle_agent.py --partner boulware --games 100
"""

import argparse
import json
from collections.abc import Callable
from statistics import mean, stdev
from typing import Any

from kaggle_environments import make

from dond_marl.envs.openspiel.seat import say
from dond_marl.occupants import seat_occupant

ITEMS = ("book", "hat", "basketball")


def agent_of(spec: str, seed: int = 0) -> Callable[[Any, Any], dict[str, int]]:
    """The agent that Kaggle calls with what its player may see."""
    partner = seat_occupant(spec)

    def agent(observation: Any, _configuration: Any) -> dict[str, int]:
        view = json.loads(observation.get("observationString") or "{}")
        if not view or view["current_player"] != view["viewing_player"]:
            return {"submission": -1}  # it is not the agent's turn
        pool, values = (tuple(view[key][item] for item in ITEMS) for key in ("pool", "my_values"))
        offers = [tuple(offer["items"][item] for item in ITEMS) for offer in view["offer_history"]]
        return {"submission": say(partner, pool, values, offers, max_turns=view["max_turns"], seed=seed)}

    return agent


def main(spec: str, games: int) -> None:
    """Play ``games`` games, half in each seat, and print the mean points."""
    points: list[float] = []
    for number in range(games):
        arena, seat = make("open_spiel_bargaining", {"seed": number, "includeLegalActions": True}), number % 2
        agents = [agent_of(spec, number), "random"]
        last = arena.run(agents if seat == 0 else agents[::-1])[-1]
        points.append(last[seat]["reward"])
    doubt = 1.96 * stdev(points) / games**0.5
    print(f"{spec} against Kaggle's random agent: {mean(points):.2f} ±{doubt:.2f} of 10 points, n = {games}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partner", default="boulware", help="any occupant (default %(default)s)")
    parser.add_argument("--games", type=int, default=100, help="half in each seat (default %(default)s)")
    arguments = parser.parse_args()
    main(arguments.partner, arguments.games)
