"""The bargaining plane: the member's points against its partner's, outcomes of games, and the Pareto frontier.

A circle's area grows with the number of games that ended there. All other marks are means over games, and so is the
frontier: no policy has its mean beyond it, though single games may be. Matplotlib, an optional extra,
is loaded only when a figure is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dond_marl.errors import InputError, require_library
from dond_marl.files import atomic_replace
from dond_marl.occupants import short_names
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Doubles
from dond_marl.solvers.solve import solve, split_scores
from dond_marl.statistics import TEN
from league.evaluation.evaluate import FAIR, HUMANS, LARGEST, LAST, NASH, Evaluation, ultimatum_seat
from league.evaluation.exploitability import BEST, FOUND
from league.evaluation.matches import BOTH
from league.figures.measures import PlayedFigures, score_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = (".png", ".svg", ".pdf")
SIZE = (10.4, 6.4)  # inches
DOTS = 160  # per inch
DIRECTIONS = 361  # of the search for the frontier; the sides of a polygon of means
LARGEST_CIRCLE, SMALLEST_CIRCLE = 900, 10  # square points of ink, for the commonest outcome and for the rarest
LONGEST_NAME = 34  # characters
BIN = 0.25  # points of ten: outcomes nearer than that share a circle where scores are no whole points of ten
MOST_PLACES = 121  # different outcomes that are shown one by one, as where every score is a whole point of ten
INK, FAINT, PAPER, GRID = "#22272e", "#59636e", "#ffffff", "#e6e8eb"
GAMES, REACHABLE = "#9db8d2", "#f4f7fa"


class PlotError(InputError):
    """The figure cannot be drawn; the message says what to do."""


class Style(NamedTuple):
    """Look of a point. Colours: Okabe and Ito 2008, distinct to colour-blind eyes."""

    marker: str
    colour: str
    size: float  # points
    hollow: bool = False


MEMBER_STYLE = Style("o", "#0072b2", 10)
STYLES: dict[str, Style] = {
    BEST: Style("D", "#d55e00", 8.5),
    FOUND: Style("D", "#d55e00", 8.5),
    NASH: Style("*", "#000000", 9),
    FAIR: Style("o", "#009e73", 13, hollow=True),
    LARGEST: Style("s", "#cc79a7", 11, hollow=True),
    LAST: Style("v", "#8a6d00", 8),
    HUMANS: Style("P", "#6e3fa3", 9),
}


def check_drawable(path: Path) -> None:
    """Raise :class:`PlotError` if no figure can be drawn into ``path``, before anything is played for it."""
    if path.suffix.lower() not in KINDS:
        raise PlotError(f"--plot {path}: a figure is written as {', '.join(KINDS)}; give the file one of these endings")
    require_library("matplotlib", "--plot")


def open_axes(axes: Axes, title: str) -> None:
    """A grid, a title on the left, and no frame but the two axes: for figures of curves."""
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=FAINT, labelsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(GRID)


def frontier(scenarios: Scenarios) -> Doubles:
    """The most that mean points of both seats' games can reach, ``[M, 2]``: the member's and its partner's, of ten.

    Every direction's best split of each scenario, the member in either seat; corners of a convex polygon, in the order
    of the member's points.
    """
    angles = np.linspace(0, np.pi / 2, DIRECTIONS + 2)[1:-1]  # at the ends a tie would be broken against one seat
    solutions = solve(scenarios)
    scores, splits = split_scores(scenarios, solutions.max_count)
    points = scores * (TEN / np.maximum(scenarios.pool_values.T[:, :, None], 1))
    means = np.zeros((len(angles), 2))
    for own_points, partner_points in (points, points[::-1]):
        for i, angle in enumerate(angles):
            worth = np.where(splits, np.cos(angle) * own_points + np.sin(angle) * partner_points, -1.0)
            best = worth.argmax(axis=1)[:, None]
            means[i] += [
                np.take_along_axis(own_points, best, 1).mean() / 2,
                np.take_along_axis(partner_points, best, 1).mean() / 2,
            ]
    corners: Doubles = np.unique(means.round(9), axis=0)
    return corners


def draw(path: Path, evaluation: Evaluation, human: Mapping[str, PlayedFigures]) -> None:
    """Write the figure to ``path``. Raises :class:`PlotError`."""
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    plane = picture.add_axes((0.07, 0.095, 0.5, 0.775))
    open_axes(plane, "")
    pair, terms = (evaluation.member, evaluation.against), evaluation.terms
    names = [_short_name(evaluation, name) for name in pair]
    edge = _close_edge(frontier(terms.scenarios))
    plane.fill_between(*edge.T, color=REACHABLE, linewidth=0, zorder=0)
    plane.plot(*edge.T, color=INK, linewidth=1.4, zorder=2, label="frontier of means: single games may lie beyond")
    for name, figures, style in _marks(evaluation, human):
        _mark(plane, name, figures, style)
    _circles(plane, evaluation)
    plane.set(xlim=(-0.6, 10.6), ylim=(-0.6, 10.6), xticks=range(11), yticks=range(11), aspect="equal", anchor="W")
    plane.set_xlabel(f"points of ten of {names[0]}", color=INK)
    plane.set_ylabel(f"points of ten of {names[1]}, its partner", color=INK)
    title, corner = "points: its own, its partner's", (1.03, 1.0)
    plane.legend(loc="upper left", bbox_to_anchor=corner, frameon=False, fontsize=8.8, title=title, alignment="left")
    note = f"crosses: {terms.confidence:.0%} intervals, over scenarios"
    picture.text(0.07, 0.012, note, fontsize=8.8, color=FAINT)
    played, best = evaluation.played.figures[BOTH], evaluation.best
    of_best = "" if best is None else f", {evaluation.shares[best.name][BOTH].mean:.1%} of the {best.name}'s"
    played_by = (f" ({evaluation.protocols[x]})" if x in evaluation.protocols else "" for x in pair)
    title = " against ".join(f"{name}{how}" for name, how in zip(names, played_by, strict=True))
    picture.text(0.07, 0.945, title, fontsize=14, color=INK, weight="bold")
    picture.text(
        0.07,
        0.91,
        f"{played.points.mean:.2f} points of ten{of_best}, {played.deals.mean:.1%} deals on {terms.source.label}: "
        f"{terms.scenarios.size:,} scenarios, both seats; max_turns {terms.rules.max_turns}, "
        f"disagree {terms.rules.disagree}",
        fontsize=9.5,
        color=FAINT,
    )
    try:
        with atomic_replace(path) as temporary:
            picture.savefig(temporary, facecolor=PAPER, format=path.suffix[1:])
    except OSError as error:
        raise PlotError(f"--plot {path}: cannot be written ({error.strerror})") from error


def _marks(evaluation: Evaluation, human: Mapping[str, PlayedFigures]) -> Iterator[tuple[str, PlayedFigures, Style]]:
    """Every mean point: its name in the legend, its figures and how it is drawn, the member last and so on top."""
    last = ultimatum_seat(evaluation.terms.rules)
    for line in evaluation.points:
        if line.name == LAST and last is not None:  # one seat has the ultimatum: the mean over seats has no meaning
            yield f"ultimatum: its own, as seat_{last}", line.figures[f"seat_{last}"], STYLES[LAST]
            yield "ultimatum: its partner's", line.figures[f"seat_{1 - last}"], STYLES[LAST]._replace(marker="^")
        elif line.name != LAST:
            yield line.name, line.figures[BOTH], STYLES[line.name]
    yield f"{HUMANS}, other scenarios", human[BOTH], STYLES[HUMANS]
    if evaluation.best is not None:
        yield evaluation.best.name, evaluation.best.figures[BOTH], STYLES[evaluation.best.name]
    yield _short_name(evaluation, evaluation.member), evaluation.played.figures[BOTH], MEMBER_STYLE


def _mark(axes: Axes, name: str, figures: PlayedFigures, style: Style) -> None:
    points, partner_points = figures.points, figures.left
    axes.errorbar(
        points.mean,
        partner_points.mean,
        xerr=np.nan_to_num(points.margin),
        yerr=np.nan_to_num(partner_points.margin),
        fmt=style.marker,
        label=f"{name}: {points.mean:.2f}, {partner_points.mean:.2f}",
        color=style.colour,
        markersize=style.size,
        markerfacecolor="none" if style.hollow else style.colour,
        markeredgecolor=style.colour if style.hollow else PAPER,
        markeredgewidth=1.6 if style.hollow else 0.8,
        elinewidth=0.9,
        zorder=6 if style.hollow else 7,
    )


def _circles(axes: Axes, evaluation: Evaluation) -> None:
    points = np.concatenate(evaluation.played.outcomes)
    places, number = score_pairs(points)
    if len(places) > MOST_PLACES:
        places, number = score_pairs(np.round(points / BIN) * BIN)
    most = int(number.max())
    if evaluation.played.figures[BOTH].deals.mean < 1:
        axes.annotate("no deal", (0, 0), (22, 0), textcoords="offset points", va="center", fontsize=8.8, color=FAINT)
    ink = np.maximum(LARGEST_CIRCLE * number / most, SMALLEST_CIRCLE)
    label = f"where games landed (largest circle: {most:,})"
    axes.scatter(places[:, 0], places[:, 1], s=ink, color=GAMES, alpha=0.75, linewidth=0, zorder=1, label=label)


def _close_edge(edge: Doubles) -> Doubles:
    """The frontier with the lines to both axes: less for one seat at the other's most."""
    first, last = edge[0], edge[-1]
    return np.concatenate([[[0.0, first[1]]], edge, [[last[0], 0.0]]])


def _short_name(evaluation: Evaluation, name: str) -> str:
    short = short_names((evaluation.member, evaluation.against)).get(name, name)
    return short if len(short) <= LONGEST_NAME else f"{short[: LONGEST_NAME - 1]}…"
