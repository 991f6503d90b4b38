"""Analysis of a study as in Li et al. 2023: points to the human, to the agent, joint, and the Nash product.

Source: Li et al. 2023, *Combining Tree-Search, Generative Models, and Nash Bargaining Concepts in Game-Theoretic
Reinforcement Learning* (arXiv 2302.00797), the table of agents with people in Deal or No Deal. Their joint figure is
the mean of both sides' points. Points are points of ten; 95 % intervals are over clusters of participants with common
games, with Student's quantile (number of clusters minus one). The Nash product is that of the two means (the published
figures are near theirs), with the interval of its linearization; the mean product of a game is another column.

The number of participants that a study needs is by formula. Points of two games of one participant have the correlation
``icc``, so the mean of K games has the variance ``sd**2 * (1 + (K - 1) * icc) / K`` (Kish 1965, *Survey Sampling*,
section 5.4). Between participants the difference of two conditions has the sum of two such variances over n; within,
the participant's own level cancels and ``2 * sd**2 * (1 - icc) / K`` is left. n gives a two-sided test the power (Cohen
1988, *Statistical Power Analysis*, section 2.4, normal quantiles).
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond.study.export import COLUMNS, GAMES, ExportedStudy, game_cells
from dond_marl.errors import InputError
from dond_marl.files import read_text
from dond_marl.statistics import TEN, Estimate, mean_of_cells
from league.tables.figures import with_interval
from league.tables.markdown import grid_markdown

MEASURES = ("to the human", "to the agent", "joint", "Nash product", "product of a game")
CONFIDENCE = 0.95
# Number of the 12,234 perspectives of the published dialogues (Lewis et al. 2017) with 0, 1, ... 10 points; no deal
# counts 0. A test computes them again.
PEOPLE = (2703, 10, 21, 37, 229, 651, 2262, 1509, 2237, 913, 1662)


class StudyGame(NamedTuple):
    """One finished game of one participant; points of ten."""

    cluster: int
    participant: int
    condition: str
    human: float
    agent: float
    deal: bool


class ConditionSummary(NamedTuple):
    """Figures of one condition."""

    participants: int
    clusters: int
    games: int
    deals: Estimate  # share
    figures: Mapping[str, Estimate]  # by measure


def summarise(played: Iterable[StudyGame]) -> dict[str, ConditionSummary]:
    """The summary of each condition, by name."""
    games = list(played)
    return {
        name: _summary([game for game in games if game.condition == name])
        for name in sorted({g.condition for g in games})
    }


def _summary(games: Sequence[StudyGame]) -> ConditionSummary:
    """Figures of the games of one condition."""
    clusters = [game.cluster for game in games]
    human, agent = (np.array([getattr(game, side) for game in games]) for side in ("human", "agent"))
    means = float(human.mean()), float(agent.mean())
    # Its mean is the product of the means, and its spread over clusters that of the product's linearization.
    product = means[0] * means[1] + means[1] * (human - means[0]) + means[0] * (agent - means[1])
    values = (human, agent, (human + agent) / 2, product, human * agent)
    figures = {name: clustered_mean(measured, clusters) for name, measured in zip(MEASURES, values, strict=True)}
    people = len({game.participant for game in games})
    deals = clustered_mean(np.array([game.deal for game in games], dtype=np.float64), clusters)
    return ConditionSummary(people, len(set(clusters)), len(games), deals, figures)


def clustered_mean(values: NDArray[np.float64], clusters: Sequence[int]) -> Estimate:
    """The mean of ``values[N]`` with a two-sided interval over clusters, by Student's quantile."""
    names, places = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(places, values, len(names)).astype(np.float64)
    games = np.bincount(places, minlength=len(names)).astype(np.float64)
    return mean_of_cells(sums[None], games[None], CONFIDENCE)


def finished_games(exported: ExportedStudy) -> list[StudyGame]:
    """The finished games of a study."""
    rows = (map(str, game_cells(row, exported)) for row in exported.games)
    return _study_games(dict(zip(COLUMNS[GAMES], row, strict=True)) for row in rows)


def read_games(folder: Path) -> list[StudyGame]:
    """The finished games of an export. Raises :class:`InputError`."""
    path = folder / GAMES
    try:
        return _study_games(csv.DictReader(io.StringIO(read_text(path), newline="")))
    except FileNotFoundError:
        raise InputError(f"{folder} holds neither a study nor an export: there is no {GAMES}") from None
    except (OSError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as the games of an export ({error})") from None


def _study_games(rows: Iterable[Mapping[str, str]]) -> list[StudyGame]:
    """The finished games among the rows of an export's table of games."""
    return [
        StudyGame(
            int(row["cluster"]),
            int(row["participant"]),
            row["condition"],
            int(row["points"]) * TEN / max(int(row["whole"]), 1),
            int(row["points_other"]) * TEN / max(int(row["whole_other"]), 1),
            row["deal"] == "1",
        )
        for row in rows
        if row["ended"] == "finished"
    ]


def analysis_table(lines: Mapping[str, ConditionSummary]) -> str:
    """The analysis as a Markdown table."""
    heads = ("condition", "people", "clusters", "games", "deals", *MEASURES)
    rows = []
    for name, summary in lines.items():
        counts = (
            name,
            str(summary.participants),
            str(summary.clusters),
            str(summary.games),
            f"{summary.deals.mean:.0%}",
        )
        rows.append((*counts, *(with_interval(summary.figures[measure]) for measure in MEASURES)))
    return grid_markdown(heads, rows)


class PowerQuestion(NamedTuple):
    """The difference that a study shall detect, and its design."""

    difference: float = 0.3  # points of ten between two conditions, above 0
    games: int = 5  # of a participant in each condition
    icc: float = 0.1  # correlation of a participant's games, 0..1 and below 1
    power: float = 0.8  # probability to detect the difference, between 0 and 1
    confidence: float = 0.95  # of the two-sided test, between 0 and 1
    design: Literal["between", "within"] = "between"


def sd_of_people() -> float:
    """The standard deviation of people's points in one game of the published dialogues."""
    return float(np.repeat(np.arange(len(PEOPLE)), PEOPLE).std())


def sample_size(question: PowerQuestion, sd: float) -> int:
    """Participants: per condition between participants, in all within them. ``sd``: of the points of one game."""
    from scipy.special import ndtri  # slow to import, and only needed here

    games, icc = question.games, question.icc
    share = 1 - icc if question.design == "within" else 1 + (games - 1) * icc
    variance = 2 * sd**2 * share / games  # of the difference, times n
    quantiles = float(ndtri(0.5 + question.confidence / 2) + ndtri(question.power))
    return max(2, math.ceil(variance * (quantiles / question.difference) ** 2))
