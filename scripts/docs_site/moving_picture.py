"""Play one game and write it as an animated picture, docs/game.gif, shown in the README.

examples:
  python -m scripts.docs_site.moving_picture
  python -m scripts.docs_site.moving_picture --seed 7 --first boulware --second expert --out mine.gif
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from PIL import Image

from dond.cli.shell import SEED, Command, WritableFile, run
from dond_marl.envs.drawing import draw
from dond_marl.game import State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import records_of, replay
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source

OUT = Path(__file__).resolve().parents[2] / "docs" / "game.gif"
SHOWN, LAST = 1500, 4000  # milliseconds of each act, and of the end


@click.command(cls=Command, help=__doc__)
@click.option("--first", default="boulware", metavar="OCCUPANT", help="occupant of seat_0 (boulware)")
@click.option("--second", default="expert", metavar="OCCUPANT", help="occupant of seat_1 (expert)")
@click.option("--seed", type=SEED, default=3, metavar="N", help="random seed (3)")
@click.option("--out", type=WritableFile(path_type=Path), default=OUT, metavar="FILE", help="a .gif (docs/game.gif)")
def command(first: str, second: str, seed: int, out: Path) -> None:
    """Play the game and write the file."""
    source = open_source("lewis")
    players = (seat_occupant(first, one_game=True), seat_occupant(second, one_game=True))
    (record,) = records_of(rollout(players, source.block(seed, 0, 1), seed=seed), (first, second))
    states_of_game = replay(record)
    states = [State(states_of_game.scenario, states_of_game.rules)]
    for action in states_of_game.history:
        states.append(apply(states[-1], action))
    frames = [Image.fromarray(draw(state)).quantize(64) for state in states]
    times = [*[SHOWN] * (len(frames) - 1), LAST]
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)


if __name__ == "__main__":
    sys.exit(run(command, name="python -m scripts.docs_site.moving_picture"))
