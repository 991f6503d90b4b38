"""Which arm comes to which equilibrium: the learners of an arm in one game as a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dond_marl.statistics import mean_of
from dond_marl.yardsticks.equilibria.table import Pair
from experiments.short_games.experiment import Experiment, Run
from experiments.short_games.shares import FOUND, Standing
from league.tables.figures import format_number, with_margin

CONFIDENCE = 0.95
HEADS = (
    "who", "own decisions", "points, seat_0", "seat_1", "distance", "NashConv", "conceded, seat_0", "seat_1",
    "weak, seat_0", "seat_1", "an equilibrium", "this one",
)  # fmt: skip


def markdown(experiment: Experiment, level: int = 3) -> str:
    """A table for each game under a heading of this ``level``, the equilibrium first, and how to read them."""
    seeds = len({run.seed for run in experiment.runs})
    parts = [
        f"Every figure is exact, over the 5,295 scenarios and sampled play; means over {seeds} seeds with 95 % "
        "intervals, in points of ten. Distance: of the points to the equilibrium's, in the seat where it is larger. "
        "NashConv: what both seats together would gain by a best response. It is the sum, over both seats, of what is "
        "conceded (a best response to a rational partner gets more than the learner takes itself) and what is weak (a "
        f"best response to the learner gets more than one to a rational partner). An equilibrium: seeds with a "
        f"NashConv of at most {FOUND}; this one: those whose distance is at most {FOUND}, too.",
        "\n".join(f"- `{name}`: {_otherwise(training)}" for name, training in experiment.arms.items()),
    ]
    for turns, equilibrium in experiment.equilibria.items():
        parts += [f"{'#' * level} {turns} turns", "\n".join(_table(experiment, turns, equilibrium))]
    return "\n\n".join(parts) + "\n"


def _otherwise(training: dict[str, object]) -> str:
    """What an arm does otherwise than the config's ``training``."""
    return ", ".join(f"{key} {value}" for key, value in training.items()) or "as the config says"


def _table(experiment: Experiment, turns: int, equilibrium: Standing) -> Iterator[str]:
    points = map(format_number, equilibrium.values)
    own = (*map(format_number, equilibrium.conceded(equilibrium)), *map(format_number, equilibrium.weak(equilibrium)))
    yield _line(HEADS)
    yield _line(["---"] * len(HEADS))
    yield _line(["the equilibrium", "", *points, "", format_number(equilibrium.nash_conv), *own, "", ""])
    for arm in experiment.arms:
        runs = [run for run in experiment.runs if (run.turns, run.arm) == (turns, arm)]
        if runs:
            yield _line(_cells(arm, runs, equilibrium))


def _cells(arm: str, runs: Sequence[Run], equilibrium: Standing) -> Iterator[str]:
    standings = [run.learned.standing for run in runs]
    pairs: tuple[Callable[[Standing], Pair], ...] = (
        lambda standing: standing.conceded(equilibrium),
        lambda standing: standing.weak(equilibrium),
    )
    yield f"`{arm}`"
    yield f"{sum(run.learned.decisions for run in runs) / len(runs):,.0f}"
    yield from _both(standings, lambda standing: standing.values)
    yield _mean([standing.distance(equilibrium) for standing in standings])
    yield _mean([standing.nash_conv for standing in standings])
    for pair in pairs:
        yield from _both(standings, pair)
    yield f"{sum(standing.is_equilibrium for standing in standings)} of {len(runs)}"
    yield f"{sum(standing.found(equilibrium) for standing in standings)} of {len(runs)}"


def _both(standings: Sequence[Standing], pair: Callable[[Standing], Pair]) -> Iterator[str]:
    for seat in (0, 1):
        yield _mean([pair(standing)[seat] for standing in standings])


def _mean(values: Sequence[float]) -> str:
    return with_margin(mean_of(values, CONFIDENCE))


def _line(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
