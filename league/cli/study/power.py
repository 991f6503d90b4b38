"""Say how many participants a study needs to find a difference between two conditions: by formula, and simulated.

The spread of points is that of people in the published dialogues (Lewis et al. 2017), or --sd. How much the games of a
participant go together (--icc, the correlation of two of them) is not in the published data, for nobody knows there who
played twice: give what a pilot shows, or plan for several.

examples:
  dond study power                                  # 0.3 points, 5 games, two-sided 95 %, power 80 %
  dond study power --difference 0.5 --games 10 --icc 0.2
  dond study power --sd 3.1 --design within
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
from rich.markdown import Markdown

from league.cli.shell import FILE, SEED, Command, Number, console_for_people, say, whole

POSITIVE = Number(float, lambda number: 0 < number <= 10, "a number of points above 0, up to 10")
SHARE = Number(float, lambda number: 0 <= number < 1, "a number of at least 0, below 1")
INSIDE = Number(float, lambda number: 0.5 < number < 1, "a number between 0.5 and 1")
ICC = (0.0, 0.1, 0.3)


@click.command(cls=Command, help=__doc__)
@click.option(
    "--difference", type=POSITIVE, default=0.3, metavar="X", help="the difference to be found, in points of ten (0.3)"
)
@click.option(
    "--games", type=whole(1, 100), default=5, metavar="N", help="games of a participant in each condition (5)"
)
@click.option(
    "--icc",
    type=SHARE,
    multiple=True,
    metavar="X",
    help="how alike a participant's games are, a correlation (0, 0.1, 0.3)",
)
@click.option("--power", type=INSIDE, default=0.8, metavar="P", help="the chance to find the difference (0.8)")
@click.option(
    "--confidence", type=INSIDE, default=0.95, metavar="P", help="how sure the two-sided test is to be (0.95)"
)
@click.option(
    "--design",
    type=click.Choice(("between", "within")),
    default="between",
    help="whether each person meets one condition or all (between)",
)
@click.option(
    "--sd",
    type=POSITIVE,
    metavar="X",
    help="standard deviation of one game's points (that of people in the published dialogues)",
)
@click.option(
    "--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (none: the counts in the package)"
)
@click.option("--seed", type=SEED, default=0, metavar="N", help="of the simulation (0)")
def command(
    difference: float,
    games: int,
    icc: tuple[float, ...],
    power: float,
    confidence: float,
    design: Literal["between", "within"],
    sd: float | None,
    data_dir: Path | None,
    seed: int,
) -> None:
    """Print the table."""
    from league.web.study.power import LARGEST, STUDIES, Points, Question, needed, of_people, simulated

    points = of_people(data_dir) if sd is None else Points(sd)
    of = "of people in the published dialogues" if sd is None else "given"
    many = "n in each condition" if design == "between" else "n in all"
    rows = [f"| icc | {many} | power simulated | found where there is none |", "|---|---|---|---|"]
    for each in icc or ICC:
        asked = Question(difference, games, each, power, confidence, design)
        n = needed(asked, points.sd)
        if 2 * n * games > LARGEST:
            rows.append(f"| {each:g} | {n:,} | too large to simulate | |")
            continue
        found = simulated(asked, points, n, seed)
        by_chance = simulated(asked._replace(difference=1e-12), points, n, seed + 1)
        rows.append(f"| {each:g} | {n:,} | {found:.1%} | {by_chance:.1%} |")
    say(
        f"To find {difference:g} points of ten between two conditions ({design} participants, {games} games in each, "
        f"two-sided {confidence:.0%}, power {power:.0%}); standard deviation of a game {points.sd:.2f}, {of}."
    )
    console_for_people().print(Markdown("\n".join(rows)))
    say(f"Each simulated share is of {STUDIES:,} studies: 95 % of such shares lie within 2 points of the true one.")
