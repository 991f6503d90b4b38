"""Measure equilibria of games of every length: points by seat, next to people, policies and bargaining solutions.

All figures but people's are exact expectations over the 5,295 scenarios of ``lewis``, in points of ten, with the same
player in both seats; people's come with the package. Members of leagues that are in the results file stay in it; with
--run a member is measured, or measured again.

examples:
  dond experiment equilibria
  dond experiment equilibria --results docs/results/equilibria.jsonl --plot docs/equilibria.png
  dond experiment equilibria --run runs/league --member main --name "default league"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError
from dond_marl.game import SEATS, Disagree, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.equilibria import (
    SMALL,
    TEMPERATURES,
    Equilibrium,
    Pair,
    lewis_pools,
    reach_probabilities,
)
from dond_marl.yardsticks.solve import solve
from dond_marl.yardsticks.values import policy_value
from experiments.kit import experiment_command, json_lines, table_section, write_results
from league.bench.results import check_writable
from league.bench.run import Submission, submission_of_run
from league.cli.shell import FILE, WritableFile, print_line
from league.display.plane import DOTS, FAINT, GRID, INK, PAPER, REACHABLE, check_drawable, frontier, open_axes
from league.tables.blocks import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes


DIGITS = 4  # of a point in the results file
EQUILIBRIUM, PEOPLE, NASH = "equilibrium", "people", "the Nash point"
LARGEST, FAIR, ULTIMATUM = "the largest sum", "the fairest split", "with all values known, an ultimatum of"
LENGTH = 10  # turns of the games in which players are compared
PLAYERS = ("expert", "heuristic", "boulware")  # each against itself
IN_EVERY_GAME = ("expert",)  # in games of every length
DISAGREE: tuple[Disagree, ...] = ("ends", "rejects")


@dataclass(frozen=True)
class SelfPlayValue:
    """Points of a player against itself, or of a solution of bargaining theory."""

    player: str
    turns: int | None  # of the game; None if unknown or irrelevant
    points: Pair  # of ten, by seat
    deals: float  # share of games
    temperature: float | None = None  # of an equilibrium, points of ten
    closes: tuple[float, ...] = ()  # share of games that close with a deal on each turn
    gains: tuple[Pair, Pair] | None = None  # of a best response with perfect recall, by seat: lower and upper bound
    disagree: Disagree = "ends"  # what DISAGREE does in its games
    identity: str = ""  # of a league member: its weights

    @property
    def welfare(self) -> float:
        """Points of both seats together."""
        return sum(self.points)


def measure_all(
    horizons: Sequence[int] = tuple(TEMPERATURES), players: Sequence[str] = PLAYERS
) -> Iterator[SelfPlayValue]:
    """Measure everything, the equilibria first."""
    for disagree in DISAGREE:
        for turns in horizons:
            for temperature in TEMPERATURES[turns]:
                yield measure_table(turns, temperature, disagree)
    for player in players:
        for turns in horizons if player in IN_EVERY_GAME else (LENGTH,):
            yield measure_player(player, turns)
    figures = stored_human_line().figures
    yield SelfPlayValue(
        PEOPLE, None, _round_pair((figures["first"].mean, figures["second"].mean)), figures["deals"].mean
    )
    solutions = solve(lewis_space())
    concepts = {
        NASH: solutions.nash,
        FAIR: solutions.egalitarian,
        LARGEST: solutions.utilitarian,
        **{f"{ULTIMATUM} {seat}": solutions.ultimatum[number] for number, seat in enumerate(SEATS)},
    }
    for name, concept in concepts.items():
        means = concept.means()
        yield SelfPlayValue(
            name, None, _round_pair((means.seat_0, means.seat_1)), round(float((concept.ties > 0).mean()), DIGITS)
        )


def measure_table(turns: int, temperature: float = SMALL, disagree: Disagree = "ends") -> SelfPlayValue:
    """The shipped equilibrium of games of ``turns`` turns."""
    table = Equilibrium.load(turns, temperature, disagree)
    closes = list(table.end_deals.closes)
    for pool, policy in zip(lewis_pools(), table.policies, strict=True):
        for turn, reach in enumerate(reach_probabilities(pool, policy)):
            closes[turn] += float((reach.sum(axis=1) * policy[turn][..., pool.width]).sum())
    first, second = table.gains
    return SelfPlayValue(
        EQUILIBRIUM,
        turns,
        _round_pair(table.values),
        round(table.deals, DIGITS),
        temperature,
        tuple(round(share, DIGITS) for share in closes),
        (_round_pair(first), _round_pair(second)),
        disagree,
    )


def measure_player(player: str, turns: int) -> SelfPlayValue:
    """A memoryless occupant with known action probabilities, against itself."""
    return _measure(player, seat_occupant(player), turns)


def measure_member(member: Submission, league: str) -> SelfPlayValue:
    """A league's member against itself, playing its most probable acts. Raises what loading its weights raises."""
    found = _measure(f"{league}: {member.name}", member.player.partner(), LENGTH)
    return replace(found, identity=member.known.identity)


def _measure(player: str, partner: Partner, turns: int) -> SelfPlayValue:
    found = policy_value((partner, partner), lewis_space(), Rules(turns), "lewis")
    first, second = found.points.mean(axis=0).tolist()
    return SelfPlayValue(player, turns, _round_pair((first, second)), round(float(found.deals.mean()), DIGITS))


def equilibria_lines(found: Iterable[SelfPlayValue]) -> str:
    """The results file: one JSON line each."""
    rows = (asdict(value) for value in found)
    return json_lines({"who": row.pop("player"), **row} for row in rows)


def parse_equilibria(text: Iterable[str]) -> list[SelfPlayValue]:
    """The inverse of :func:`equilibria_lines`. Raises :class:`~dond_marl.errors.InputError` for other lines."""
    try:
        return [_parse_row(json.loads(line)) for line in text]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no values of equilibria ({error}); make them again: dond experiment equilibria") from None


def _parse_row(row: dict[str, Any]) -> SelfPlayValue:
    gains = row.pop("gains")
    pairs = None if gains is None else (_pair(gains[0]), _pair(gains[1]))
    return SelfPlayValue(
        player=row.pop("who"), points=_pair(row.pop("points")), closes=tuple(row.pop("closes")), gains=pairs, **row
    )


def _pair(values: Iterable[float]) -> Pair:
    first, second = values
    return first, second


def _round_pair(values: Pair) -> Pair:
    return round(values[0], DIGITS), round(values[1], DIGITS)


SIZE = (11.4, 5.2)  # inches
OPENS, ANSWERS, EXPERT, THIRD, LEAGUE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"  # Okabe and Ito 2008

MARKS = {  # marker, colour, label, and its offset in points
    PEOPLE: ("s", INK, "people", (-14, 9)),
    "expert": ("D", EXPERT, "shipped expert", (-88, -2)),
    "heuristic": ("D", THIRD, "heuristic", (8, -3)),
    NASH: ("*", INK, "the Nash point", (-78, -4)),
}


def draw_equilibria(path: Path, found: Sequence[SelfPlayValue]) -> None:
    """Write the figure. Raises :class:`league.display.plane.PlotError`."""
    check_drawable(path)
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    picture = Figure(figsize=SIZE, dpi=DOTS, facecolor=PAPER)
    FigureCanvasAgg(picture)
    lengths, plane = picture.subplots(1, 2, width_ratios=(1, 1))
    picture.subplots_adjust(left=0.06, right=0.985, bottom=0.11, top=0.86, wspace=0.17)
    _draw_lengths(lengths, found)
    _plane(plane, found)
    picture.suptitle(
        "The last seat that can make an offer gets nearly all in equilibrium; "
        "people and most learned policies differ",
        color=INK, fontsize=12, x=0.06, ha="left",
    )  # fmt: skip
    picture.savefig(path)


def _draw_lengths(axes: Axes, found: Sequence[SelfPlayValue]) -> None:
    """Points of both seats against the number of turns."""
    _style(axes, "an equilibrium against itself, by the length of the game", "turns in the game", "points of ten")
    turns = [value.turns or 0 for value in _coldest_of(found, "ends")]
    for seat, (colour, words) in enumerate(((OPENS, "opens (seat_0)"), (ANSWERS, "answers (seat_1)"))):
        points = [value.points[seat] for value in _coldest_of(found, "ends")]
        axes.plot(turns, points, color=colour, marker="o", linewidth=1.8, label=f"equilibrium, {words}")
    refusing = _coldest_of(found, "rejects")
    for seat, label in enumerate(("either, where DISAGREE only refuses", None)):
        points = [value.points[seat] for value in refusing]
        lengths = [value.turns or 0 for value in refusing]
        axes.plot(lengths, points, color=INK, marker="o", fillstyle="none", markersize=9, linestyle="", label=label)
    experts = [value for value in found if value.player == "expert"]
    for seat, colour in enumerate((OPENS, ANSWERS)):
        axes.plot(
            [value.turns or 0 for value in experts],
            [value.points[seat] for value in experts],
            color=colour, linewidth=1.2, linestyle=(0, (1, 1.6)), label=f"shipped expert, seat_{seat}",
        )  # fmt: skip
    axes.set_xticks(turns)
    axes.set_ylim(0, 10)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="lower right", ncols=2, handlelength=2.6)


def _plane(axes: Axes, found: Sequence[SelfPlayValue]) -> None:
    """Points of seat_0 against those of seat_1."""
    _style(axes, f"both seats' points; players in games of {LENGTH} turns", "points of seat_0", "points of seat_1")
    edge = frontier(lewis_space())
    axes.fill([0, 0, *edge[:, 0], edge[-1, 0]], [0, edge[0, 1], *edge[:, 1], 0], color=REACHABLE)
    axes.plot(edge[:, 0], edge[:, 1], color=FAINT, linewidth=1.0)
    axes.annotate("attainable\nmeans", (8.15, 8.1), color=FAINT, fontsize=8.5)
    axes.plot((0, 10), (0, 10), color=GRID, linewidth=0.8)
    cold = {value.turns or 0: value for value in _coldest_of(found, "ends")}
    for turns, value in cold.items():
        if turns > 1:  # games of one turn end without points
            axes.plot(*value.points, marker="o", color=ANSWERS if turns % 2 else OPENS, markersize=6, linestyle="")
    longest = max(cold)
    for turns, words, shift in (
        (2, "equilibrium, 2 turns", (-9, -3)),
        (3, "equilibrium, 3 turns", (-9, -4)),
        (longest, f"{longest} turns", (-9, -6)),
        (longest - 1, f"{longest - 1} turns", (6, -14)),
    ):
        if turns in cold:
            _note(axes, cold[turns], words, shift, ha="left" if turns == longest - 1 else "right")
    warm = sorted(
        (value for value in found if (value.player, value.turns, value.disagree) == (EQUILIBRIUM, longest, "ends")),
        key=lambda value: value.temperature or 0,
    )
    axes.plot(*zip(*(value.points for value in warm), strict=True), color=OPENS, linewidth=1.2, linestyle="--")
    axes.plot(*warm[-1].points, marker="o", markerfacecolor=PAPER, color=OPENS, markersize=6)
    _note(axes, warm[-1], f"temperature {warm[-1].temperature}", (-8, -3), ha="right")
    for player, (marker, colour, words, shift) in MARKS.items():
        for value in found:
            if value.player == player and value.turns in (None, LENGTH):
                axes.plot(*value.points, marker=marker, color=colour, markersize=8, linestyle="")
                _note(axes, value, words, shift)
    for _, members in groupby((value for value in found if value.identity), lambda value: value.player.split(":")[0]):
        for number, value in enumerate(members):
            axes.plot(*value.points, marker="^", color=LEAGUE, markersize=7, linestyle="")
            _note(
                axes, value, value.player if number == 0 else value.player.split(": ")[-1], (9, 3 - 12 * (number > 0))
            )
    for value in found:
        if value.player.startswith(ULTIMATUM):
            axes.plot(*value.points, marker="x", color=FAINT, markersize=7, linestyle="")
    axes.annotate("x: ultimatum,\nall values known", (0.25, 0.3), color=FAINT, fontsize=8.5)
    axes.set_xlim(0, 10.4)
    axes.set_ylim(0, 10.4)
    axes.set_aspect("equal")


def _coldest_of(found: Sequence[SelfPlayValue], disagree: Disagree) -> list[SelfPlayValue]:
    """The equilibria of the lowest temperature, of every length, under one rule."""
    return [
        value for value in found if (value.player, value.temperature, value.disagree) == (EQUILIBRIUM, SMALL, disagree)
    ]


def _note(axes: Axes, value: SelfPlayValue, words: str, shift: tuple[int, int], ha: str = "left") -> None:
    axes.annotate(words, value.points, shift, textcoords="offset points", fontsize=8.5, color=INK, ha=ha)


def _style(axes: Axes, title: str, across: str, up: str) -> None:
    open_axes(axes, title)
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)


def lengths_section(values: Sequence[SelfPlayValue]) -> Section:
    """Equilibria by the length of the game."""
    rows = []
    for value in _coldest_of(values, "ends"):
        turns = value.turns or 0
        last = f"seat_{turns % 2}" if turns > 1 else "neither"
        rows.append([str(turns), last, *_point_cells(value), f"{value.closes[-1]:.1%}", *_gain_cells(value)])
    heads = ("turns", "last offer that can be answered", "points, seat_0", "seat_1", "together", "deals",
             "closed on the last turn, of all games", "gain, seat_0", "seat_1")  # fmt: skip
    return table_section("Equilibria by length", heads, rows)


def refusing_section(values: Sequence[SelfPlayValue]) -> Section:
    """Equilibria by the length of the game, with the rule that DISAGREE only refuses."""
    rows = [[str(value.turns), *_point_cells(value), *_gain_cells(value)] for value in _coldest_of(values, "rejects")]
    heads = ("turns", "points, seat_0", "seat_1", "together", "deals", "gain, seat_0", "seat_1")
    return table_section("Equilibria by length, DISAGREE refuses", heads, rows)


def temperatures_section(values: Sequence[SelfPlayValue]) -> Section:
    """Equilibria by temperature, the lowest first."""
    rows = [
        [str(value.temperature), *_point_cells(value), *_gain_cells(value)]
        for value in values
        if (value.player, value.turns, value.disagree) == (EQUILIBRIUM, LENGTH, "ends")
    ]
    heads = ("temperature", "points, seat_0", "seat_1", "together", "deals", "gain, seat_0", "seat_1")
    return table_section("Equilibria by temperature", heads, rows)


def comparison_section(values: Sequence[SelfPlayValue]) -> Section:
    """All players and solutions in games of :data:`LENGTH` turns, the largest lead of seat_1 last."""
    coldest = _coldest_of(values, "ends")
    shown = [
        value for value in values if value.turns in (None, LENGTH) and (value.player != EQUILIBRIUM or value in coldest)
    ]
    rows = []
    for value in sorted(shown, key=lambda value: value.points[1] - value.points[0]):
        source = "people's dialogues" if value.player == PEOPLE else "by its definition"
        first, second, *others = _point_cells(value)
        difference = f"{value.points[0] - value.points[1]:+.2f}"
        source = source if value.turns is None else "against itself, exact"
        rows.append([value.player, first, second, difference, *others, source])
    heads = ("player", "points, seat_0", "seat_1", "difference", "together", "deals", "source")
    return table_section("Players next to an equilibrium", heads, rows)


def _point_cells(value: SelfPlayValue) -> list[str]:
    """Points by seat, their sum, and deals."""
    return [*(f"{points:.2f}" for points in value.points), f"{value.welfare:.2f}", f"{value.deals:.1%}"]


def _gain_cells(value: SelfPlayValue) -> list[str]:
    bounds = [[f"{end:.3f}" for end in gain] for gain in value.gains or ()]
    return [low if low == high else f"{low} to {high}" for low, high in bounds]


RESULTS = Path("runs/equilibria.jsonl")


@experiment_command(__doc__, stopped="nothing is written", results=False)
@click.option("--results", type=FILE, default=RESULTS, metavar="FILE", help=f"results file ({RESULTS})")
@click.option("--plot", type=WritableFile(), metavar="FILE", help="the figure, as .png, .svg or .pdf")
@click.option("--run", "folder", type=FILE, metavar="FOLDER", help="a league's folder, to measure a member of it too")
@click.option("--member", multiple=True, metavar="NAME", help="with --run: a member (its main one); may be repeated")
@click.option("--name", default="league", metavar="TEXT", help="with --run: its name in the results (league)")
def command(results: Path, plot: Path | None, folder: Path | None, member: tuple[str, ...], name: str) -> None:
    """Measure, print one line each, and write the results and the figure."""
    if folder is None and member:
        raise InputError("--member needs --run, a league's folder")
    check_writable(results)
    before = parse_equilibria(results.read_text(encoding="utf-8").splitlines()) if results.exists() else []
    members = [value for value in before if value.identity]
    if folder is not None:
        new = [measure_member(submission_of_run(folder.expanduser(), each), name) for each in member or (None,)]
        names = {value.player for value in new}
        members = [*(value for value in members if value.player not in names), *new]
    if plot is not None:
        check_drawable(plot)
    values = []
    for value in chain(measure_all(), members):
        values.append(value)
        first, second = value.points
        game = "" if value.turns is None else f", {value.turns} turns"
        game += "" if value.temperature is None else f" at {value.temperature}"
        game += ", DISAGREE refuses" if value.disagree == "rejects" else ""
        print_line(f"{value.player}{game}: {first:.2f} and {second:.2f} points, {value.deals:.1%} deals")
    write_results(results, equilibria_lines(values))
    if plot is not None:
        draw_equilibria(plot, values)
        print_line(f"written: {plot}")
