"""Any partner as an agent of Kaggle's game arena (``open_spiel_bargaining``), here against its random agent.

Its package pins another Gymnasium than this project: ``python scripts/plug_in.py --only kaggle_agent`` makes it
a place.

example: python scripts/examples/kaggle_agent.py --partner boulware --games 100
"""

import argparse
from statistics import mean, stdev

from kaggle_environments import make

from dond_marl.occupants import seat_occupant
from partners.adapters.openspiel_bargaining import agent


def main(spec: str, games: int) -> None:
    """Play ``games`` games, half in each seat, and print the mean points."""
    points: list[float] = []
    for number in range(games):
        arena, seat = make("open_spiel_bargaining", {"seed": number, "includeLegalActions": True}), number % 2
        agents = [agent(seat_occupant(spec), seed=number), "random"]
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
