"""The figures of the README and of docs/RESULTS.md, as SVG, from arms of the results files.

Bars are 95 % intervals, for seeds and partners like these where a figure does not say otherwise. All arms play the same
partners: their differences are known better than these bars suggest.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dond.plane import FAINT, GRID, INK, PAPER, check_drawable, open_axes
from dond_marl.files import read_json_lines
from dond_marl.statistics import Estimate
from experiments.results.arms import (
    Measured,
    arms_in,
    by_family,
    describe,
    differences_in,
    first_measured,
    new_families,
    non_dominated,
    number,
    plane_arms,
    reference_points,
)
from experiments.results.files import FOLDER, ROOT, document
from league.bench.arms import NASHCONV
from partners.rosters import DEV2, TEST2, TEST3

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER_OF_FIGURES = ROOT / "docs" / "figures"
COLOURS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#59636e", "#e69f00")  # Okabe and Ito 2008
ROW = 0.21  # inches of a row of text
TEXT = 8.5  # points
POINTS = "points of ten"


class Picture(NamedTuple):
    """A figure: its size in inches, the values that it shows in words, and how it is drawn."""

    width: float
    height: float
    values: str
    draw: Callable[[Figure], None]


def svg(picture: Picture) -> str:
    """The figure as SVG, the same bytes each time; its values are also in its metadata."""
    check_drawable(FOLDER_OF_FIGURES / "plane.svg")
    from matplotlib import rc_context  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    figure = Figure(figsize=(picture.width, picture.height), facecolor=PAPER)
    picture.draw(figure)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "dond-marl"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Description": picture.values})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _usual_acts(arms: Sequence[Measured]) -> float:
    """The acts of a run of most arms that learn."""
    return float(np.median([arm.acts for arm in arms if arm.arm.learned and arm.acts]))


def _is_usual(arm: Measured, usual: float) -> bool:
    """Whether an arm that learns has between half and twice the usual acts; true of one that does not learn."""
    return not arm.acts or usual / 2 <= arm.acts <= 2 * usual


def _title(figure: Figure, title: str, note: str = "") -> None:
    """The title above the axes, and a small note below."""
    height = figure.get_figheight()
    figure.text(0.015, 1 - 0.27 / height, title, fontsize=11.5, color=INK, weight="bold")
    figure.text(0.015, 0.08 / height, note, fontsize=7, color=FAINT)


def _label(axes: Axes, y: float, text: str) -> None:
    """The label of a row, left of the axes."""
    axes.text(-0.015, y, text, fontsize=TEXT, color=INK, ha="right", va="center",
              transform=axes.get_yaxis_transform())  # fmt: skip


def _dot(axes: Axes, y: float, estimate: Estimate, colour: str) -> None:
    """A mean with its interval in a row."""
    if math.isnan(estimate.mean):
        return
    if not math.isnan(estimate.low):
        axes.plot([estimate.low, estimate.high], [y, y], color=colour, linewidth=1.0, solid_capstyle="butt")
    axes.plot(estimate.mean, y, "o", color=colour, markersize=5)


def _rows_axes(axes: Axes, places: Sequence[float], label: str) -> None:
    """Axes of rows from above, without their own labels."""
    open_axes(axes, "")
    axes.set_ylim(max(places, default=1) + 0.7, 0.1)
    axes.set_yticks(places, [""] * len(places))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.set_xlabel(label, color=INK, fontsize=TEXT)


def plane(folder: Path) -> Picture:
    """All arms by points (x) and NashConv (y), those joined that no other dominates; and the restricted Nash line."""
    arms = plane_arms(folder)
    best = non_dominated(arms)
    restricted = sorted(
        (row for row in read_json_lines(folder / "restricted.jsonl") if row["turns"] == 10), key=lambda row: row["p"]
    )
    values = "; ".join(f"{arm.name} {arm.points.mean:.2f} {arm.nashconv.mean:.2f}" for arm in arms)

    def draw(figure: Figure) -> None:
        near = figure.add_axes((0.06, 0.08, 0.56, 0.81))  # most arms lie close together, so these have the most room
        all_arms, line = figure.add_axes((0.7, 0.56, 0.285, 0.33)), figure.add_axes((0.7, 0.08, 0.285, 0.33))
        usual = _usual_acts(arms)
        shown = [row for row in restricted if row["p"] > 0]
        line.plot([sum(row["from_set"]) / 2 for row in restricted], [np.mean(row["nash_conv"]) for row in restricted],
                  "o-", color=COLOURS[1], markersize=5, linewidth=1)  # fmt: skip
        learned = [arm.nashconv.mean for arm in arms if arm.arm.learned]
        top = 1.08 * max([*learned, *(np.mean(row["nash_conv"]) for row in restricted), 1.0])
        inside = [arm for arm in arms if arm.nashconv.mean <= top]
        beyond = [
            f"{arm.name} {arm.points.mean:.2f}, {arm.nashconv.mean:.2f}" for arm in arms if arm.nashconv.mean > top
        ]
        least, most = min(arm.points.mean for arm in arms), max(arm.points.mean for arm in arms)
        close = [arm for arm in inside if arm.points.mean > most - NEAR]
        bottom = min(arm.nashconv.mean for arm in close) - 0.25
        unseen = "points of ten from partners not used in training"
        for axes, title, label in (
            (near, f"arms within {NEAR:g} points of the first, roster dev2", unseen),
            (all_arms, "all arms", unseen),
            (line, "restricted Nash responses", "points from 14 known partners"),
        ):
            open_axes(axes, title)
            axes.set_xlabel(label, color=INK, fontsize=TEXT)
            axes.set_ylim(-0.15, top)
        near.set_ylim(bottom, top)
        near.set_ylabel(f"{NASHCONV} (less is better)", color=INK, fontsize=TEXT)
        near.set_xlim(most - NEAR, most + NEAR / 4)
        all_arms.set_xlim(least - 0.9, most + 0.3)
        line.set_xlim(5, 7.8)
        for axes, labelled in ((near, close), (all_arms, [arm for arm in inside if arm not in close])):
            axes.plot([arm.points.mean for arm in best], [arm.nashconv.mean for arm in best], color=FAINT, linewidth=1)
            for arm in close if axes is near else inside:
                colour = COLOURS[4] if not arm.arm.learned else COLOURS[0] if arm in best else COLOURS[2]
                filled = colour if _is_usual(arm, usual) else PAPER
                axes.plot(arm.points.mean, arm.nashconv.mean, "o", color=colour, markersize=6 if axes is near else 4,
                          markerfacecolor=filled)  # fmt: skip
            spots = [(arm.points.mean, arm.nashconv.mean, _short(arm, usual)) for arm in labelled]
            _place_labels(axes, spots, [(arm.points.mean, arm.nashconv.mean) for arm in inside])
        _place_labels(line, [(sum(row["from_set"]) / 2, np.mean(row["nash_conv"]), f"p = {row['p']:g}")
                             for row in shown])  # fmt: skip
        note = "blue: not dominated; grey: nothing learned; hollow: another number of acts than most arms, in brackets"
        note = "; ".join([note, *(f"beyond the axis: {text}" for text in beyond)])
        _title(figure, "Points from unseen partners against exploitability; joined: not dominated", note)

    return Picture(10.4, 8.0, values, draw)


NEAR = 0.55  # points below the first arm that the large panel of the plane shows


def _short(arm: Measured, usual: float) -> str:
    name = arm.name.replace("PPO, ", "").replace(" on the train roster", "").replace(", last oracle", "")
    return name if _is_usual(arm, usual) else f"{name} ({number(arm.acts)})"


Box = tuple[float, float, float, float]  # left, bottom, right, top, in typographic points


def _place_labels(
    axes: Axes,
    spots: Sequence[tuple[float, float, str]],
    covered_points: Sequence[tuple[float, float]] = (),
    size: float = 7.2,
) -> None:
    """Label points so that no label covers another or a point: the first free place around each, nearest first.

    ``covered_points``: points that no label may cover either.
    """
    scale = 72 / axes.figure.dpi
    places = axes.transData.transform(np.reshape([spot[:2] for spot in spots], (-1, 2))) * scale
    (start, bottom), (right, top) = axes.transAxes.transform([(0, 0), (1, 1)]) * scale
    right = min(right + 30, axes.figure.bbox.width * scale - 4)
    points = axes.transData.transform(np.reshape([*(spot[:2] for spot in spots), *covered_points], (-1, 2))) * scale
    covered: list[Box] = [(x - 4, y - 4, x + 4, y + 4) for x, y in points.tolist()]
    for (x, y), (across, up, text) in zip(places.tolist(), spots, strict=True):
        boxes = list(_around(x, y, 0.53 * size * len(text), 1.15 * size))
        inside = [box for box in boxes if start <= box[0] and box[2] <= right and bottom <= box[1] and box[3] <= top]
        box = next((box for box in inside if not any(_overlap(box, other) for other in covered)), boxes[0])
        covered.append(box)
        far = math.hypot(min(abs(box[0] - x), abs(box[2] - x)), (box[1] + box[3]) / 2 - y) > 14
        line = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 3} if far else None
        axes.annotate(
            text, (across, up), (box[0] - x, (box[1] + box[3]) / 2 - y), textcoords="offset points", fontsize=size,
            color=INK, va="center", arrowprops=line,
        )  # fmt: skip


def _around(x: float, y: float, width: float, height: float) -> Iterable[Box]:
    """Boxes of a label around its point, nearest first: right, left, above, below, and between these."""
    for radius in (7, 14, 24, 36, 50, 66, 84, 104, 126):
        for angle in (0, 180, 90, 270, 30, 330, 150, 210, 60, 300, 120, 240):
            dx, dy = radius * math.cos(math.radians(angle)), radius * math.sin(math.radians(angle))
            start = x + dx - (0 if dx > 1 else width if dx < -1 else width / 2)
            yield start, y + dy - height / 2, start + width, y + dy + height / 2


def _overlap(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def finalists(folder: Path) -> Picture:
    """The 50 finalists by their published points, in order, and the arms that played against them in their places."""
    published = document(folder, "finals.json")["points"]
    arms = sorted(arms_in("people", folder, TEST3).values(), key=lambda arm: -arm.points.mean)
    values = "; ".join(f"{arm.name} {arm.points.mean:.2f}" for arm in arms)

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.07, 0.17, 0.91, 0.68))
        axes.plot(range(1, len(published) + 1), published, "o", color=GRID, markeredgecolor=FAINT, markersize=4.5)
        spots: list[tuple[float, float, str]] = []
        for arm in arms:
            place, points = place_among(arm.points.mean, published), arm.points.mean
            colour = COLOURS[0] if arm.arm.learned else COLOURS[4]
            axes.plot(place - 0.5, points, "D", color=colour, markersize=6)
            spots.append((place - 0.5, points, f"{arm.name}, {points:.2f}"))
        open_axes(axes, "")
        axes.set_xlim(0, len(published) + 8)
        axes.set_xticks([1, *range(10, len(published) + 1, 10)])
        axes.margins(y=0.1)
        _place_labels(axes, spots, list(enumerate(published, start=1)), TEXT)
        axes.set_xlabel("place in the finals", color=INK, fontsize=TEXT)
        axes.set_ylabel(POINTS, color=INK, fontsize=TEXT)
        note = "circles: published means of the finalists; diamonds: against the finalists, on scenarios of the finals"
        _title(figure, "Among the 50 finalists of a public contest in this game", note)

    return Picture(8.2, 4.2, values, draw)


def place_among(points: float, published: Sequence[float]) -> int:
    """The place of a mean among the published ones, from 1."""
    return 1 + sum(other > points for other in published)


def families(folder: Path) -> Picture:
    """Points from each family of partners of dev2: the arms COMPARED, and the mean best response; known ones above."""
    arms = [arm for names in COMPARED if (arm := first_measured(names, folder)) is not None]
    labels, unknown = list(by_family(arms[0].arm)), new_families(arms[0].arm)
    best = {family: reference_points(arms[0].arm, [family]) for family in labels}
    labels.sort(key=lambda family: (family in unknown, -best[family]))
    means = {arm.name: by_family(arm.arm) for arm in arms}
    values = "; ".join(f"{name}: " + ", ".join(f"{label} {points[label]:.2f}" for label in labels)
                       for name, points in means.items())  # fmt: skip
    height = 1.6 + ROW * (len(labels) + 1)

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.2, 0.92 / height, 0.77, 1 - 1.42 / height))
        places = [y + 1 + 0.8 * (label in unknown) for y, label in enumerate(labels)]
        for label, y in zip(labels, places, strict=True):
            _label(axes, y, label.replace("_", " "))
        axes.plot([best[label] for label in labels], places, "|", color=INK, markersize=10, label="mean best response")
        for colour, (name, points) in zip(COLOURS, means.items(), strict=False):
            x = [points[label] for label in labels]
            axes.plot(x, places, "o", color=colour, markersize=5, alpha=0.8, label=name)
        _rows_axes(axes, places, "points of ten, mean over the family's members and both seats")
        familiar = sum(label not in unknown for label in labels)
        for text, y in (("known families (program in the train roster)", 0.35), ("new families", familiar + 0.95)):
            axes.text(0.005, y, text, fontsize=7, color=FAINT, va="center", transform=axes.get_yaxis_transform())
        figure.legend(loc="lower center", ncols=3, frameon=False, fontsize=TEXT)
        _title(figure, "Where the points come from: families of partners, roster dev2")

    return Picture(8.2, height, values, draw)


COMPARED = (("pool_ppo",), ("league_itself_20_oracles_10", "league"), ("generated_50",), ("itself_100", "self_play"))


def known_new(folder: Path) -> Picture:
    """Points from known and from new families, by arm and roster."""
    rosters = {DEV2: arms_in("arms_4m", folder), TEST2: arms_in("arms_test2", folder, TEST2)}
    names = [name for name in rosters[DEV2] if name != "random"]
    pairs = {
        roster: {name: (arms[name].known, arms[name].new) for name in names if name in arms}
        for roster, arms in rosters.items()
    }
    values = "; ".join(f"{roster}, {describe(name)} {familiar.mean:.2f} {novel.mean:.2f}"
                       for roster, points in pairs.items() for name, (familiar, novel) in points.items())  # fmt: skip
    height = 1.25 + ROW * len(names)

    def draw(figure: Figure) -> None:
        width = 0.62 / len(rosters)
        for panel, (roster, points) in enumerate(pairs.items()):
            axes = figure.add_axes((0.36 + panel * (width + 0.02), 0.62 / height, width - 0.01, 1 - 1.12 / height))
            places = [y + 1.0 for y in range(len(names))]
            for y, name in zip(places, names, strict=True):
                if panel == 0:
                    _label(axes, y, describe(name))
                if name in points:
                    familiar, novel = points[name]
                    axes.plot([familiar.mean, novel.mean], [y, y], color=GRID, linewidth=2, zorder=1)
                    _dot(axes, y, familiar, COLOURS[0])
                    _dot(axes, y, novel, COLOURS[2])
            _rows_axes(axes, places, f"points of ten, roster {roster}")
        _title(figure, "Known families (blue) and new ones (orange)", "bars: 95 % over seeds, for these partners")

    return Picture(8.2, height, values, draw)


Curves = Mapping[str, Sequence[tuple[float, Measured]]]  # by label: a place on the x axis, and an arm

BUDGETS = ("arms_1m", "baselines", "ablation"), ("arms_4m",), ("arms_24m", "full_budget")  # the first that has an arm
GENERATED_ARMS = ("generated_25", "generated_50", "generated_100")
GROWN = {  # arms with several budgets, and their names in older files
    "pool_ppo": "pool_ppo_whole", "league": "league_whole", "itself_25": "itself_25", "both": "both",
    "league_itself_20_oracles_10": "league_itself_20_oracles_10",
    **{arm: arm for arm in GENERATED_ARMS},
}  # fmt: skip


def acts_curves(folder: Path, arms: Iterable[str] = tuple(GROWN)) -> Curves:
    """Arms of :data:`GROWN` that were trained with several numbers of acts, by acts."""
    by_label: dict[str, list[tuple[float, Measured]]] = {}
    for arm, older in ((arm, GROWN[arm]) for arm in arms):
        budgets = [
            measured for files in BUDGETS if (measured := first_measured((arm, older), folder, files)) is not None
        ]
        if len(budgets) > 1:
            by_label[describe(arm)] = [(measured.acts, measured) for measured in budgets]
    return by_label


def share_curves(folder: Path, kinds: Mapping[str, Mapping[int, str]]) -> Curves:
    """Arms by the share of their practice that is of a kind."""
    arms = arms_in("arms_4m", folder)
    by_label = {
        label: sorted(((float(share), arms[name]) for share, name in names.items() if name in arms), key=itemgetter(0))
        for label, names in kinds.items()
    }
    return {label: points for label, points in by_label.items() if len(points) > 1}


ORACLES = {  # by kind: arms by percent of the practice
    "exact oracles": {0: "pool_ppo", **{part: f"oracles_{part}" for part in (5, 10, 25, 50)}},
    "exact oracles, the rest half generated": {0: "generated_50", 10: "both", 25: "both_25"},
    "exact oracles, 10 % self-play": {0: "itself_10", 10: "oracles_10_itself", 25: "oracles_25_itself"},
    "exact oracles, 25 % self-play": {0: "itself_25", **{part: f"itself_25_oracles_{part}" for part in (10, 20)}},
    "self-play": {0: "pool_ppo", **{part: f"itself_{part}" for part in (5, 10, 25, 50, 75, 90, 100)}},
}
GENERATED = {"generated partners": {0: "pool_ppo", **{part: f"generated_{part}" for part in (25, 50, 100)}}}


TICKS = {acts: number(acts) for acts in (1e6, 4e6, 24e6)}  # of the acts
PROGRAMS = {24.0: "programs_24", 256.0: "programs_256", 4096.0: "programs_4096", 65536.0: "generated_50"}
PROGRAM_TICKS = dict(zip(PROGRAMS, ("24", "256", "4,096", "new"), strict=True))


def programs_curves(folder: Path) -> Curves:
    """Arms with generated partners in half of their games, by how many programs these are drawn from."""
    arms = arms_in("generated", folder)
    return {"half of the practice": [(count, arms[name]) for count, name in PROGRAMS.items() if name in arms]}


def curves(lines: Curves, title: str, label: str, ticks: Mapping[float, str] | None = None) -> Picture:
    """Points from known families, from new ones, and NashConv, along an x axis; with ``ticks`` a logarithmic one."""
    panels: tuple[tuple[str, Callable[[Measured], Estimate]], ...] = (
        ("points, known families", lambda arm: arm.known),
        ("points, new families", lambda arm: arm.new),
        (NASHCONV, lambda arm: arm.nashconv),
    )
    values = "; ".join(
        f"{name}: " + ", ".join(f"{number(x)} {arm.over_seeds.mean:.2f} {arm.nashconv.mean:.2f}" for x, arm in points)
        for name, points in lines.items()
    )

    def draw(figure: Figure) -> None:
        for panel, (head, estimate_of) in enumerate(panels):
            axes = figure.add_axes((0.055 + 0.33 * panel, 0.24, 0.265, 0.58))
            for colour, (name, points) in zip(COLOURS[: len(lines)], lines.items(), strict=True):
                estimates = [estimate_of(arm) for _, arm in points]
                bars = [np.nan_to_num(estimate.margin) for estimate in estimates]
                means = [estimate.mean for estimate in estimates]
                axes.errorbar([x for x, _ in points], means, yerr=bars, marker="o", markersize=4, color=colour,
                              linewidth=1.4, elinewidth=1, label=name)  # fmt: skip
            open_axes(axes, head)
            axes.set_xlabel(label, color=INK, fontsize=TEXT)
            if ticks is not None:
                axes.set_xscale("log")
                axes.set_xticks(list(ticks), list(ticks.values()))
                axes.minorticks_off()
        columns = 2 if len(lines) in (2, 4) else 3
        figure.legend(
            *axes.get_legend_handles_labels(), loc="lower center", ncols=columns, frameon=False, fontsize=TEXT
        )
        _title(figure, title)

    return Picture(9.8, 3.6, values, draw)


def literature(folder: Path) -> Picture:
    """Older league methods and parts of the league, compared with the league with exploiters at a million acts."""
    differences = list(differences_in("ablation", folder).values())
    values = "; ".join(
        f"{describe(difference.name)} {difference.points.difference.mean:+.2f}" for difference in differences
    )
    height = 1.25 + ROW * len(differences)

    def draw(figure: Figure) -> None:
        points_axes = figure.add_axes((0.36, 0.62 / height, 0.33, 1 - 1.12 / height))
        right = figure.add_axes((0.72, 0.62 / height, 0.26, 1 - 1.12 / height))
        places = [y + 1.0 for y in range(len(differences))]
        for y, difference in zip(places, differences, strict=True):
            _label(points_axes, y, describe(difference.name))
            _dot(points_axes, y, difference.points.difference, VERDICTS[difference.points.verdict])
            _dot(right, y, difference.nashconv, COLOURS[4])
        for axes, label in ((points_axes, "difference in points of ten"), (right, f"difference in {NASHCONV}")):
            axes.axvline(0, color=INK, linewidth=0.8)
            axes.locator_params(axis="x", nbins=5)
            _rows_axes(axes, places, label)
        note = "green: better, red: worse, blue: equivalent, grey: undecided; bars: 95 %, seeds and partners like these"
        _title(figure, "Compared with the league with exploiters: roster dev2, a million acts", note)

    return Picture(8.2, height, values, draw)


VERDICTS = {"better": "#009e73", "worse": "#d55e00", "equivalent": "#0072b2", "undecided": "#8a949e"}


def growth(folder: Path) -> Picture:
    """Seconds of the parts of a league by members, rounds and learners, both axes logarithmic."""
    seconds: dict[str, dict[str, list[tuple[int, float]]]] = {"members": {}, "rounds": {}, "learners": {}}
    for row in document(folder, "growth.json")["rows"]:
        if (named := re.fullmatch(r"(.+), (\d+) (members|rounds|learners)", row["what"])) is not None:
            seconds[named[3]].setdefault(named[1], []).append((int(named[2]), row["ours"]))
    values = "; ".join(
        f"{part} by {by}: " + ", ".join(f"{size} {value:.3g} s" for size, value in points)
        for by, parts in seconds.items()
        for part, points in parts.items()
    )

    def draw(figure: Figure) -> None:
        for i, (by, parts) in enumerate(seconds.items()):
            axes = figure.add_axes((0.06 + 0.325 * i, 0.17, 0.26, 0.62))
            for colour, (part, points) in zip(COLOURS, parts.items(), strict=False):
                axes.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour, linewidth=1.4, label=part)
            open_axes(axes, f"by {by}")
            axes.set(xscale="log", yscale="log")
            sizes = [size for size, _ in next(iter(parts.values()))]
            axes.set_xticks(sizes, list(map(str, sizes)))
            axes.minorticks_off()
            axes.set_xlabel(by, color=INK, fontsize=TEXT)
            axes.legend(frameon=False, fontsize=6.5)
        _title(figure, "Seconds of a league's parts")

    return Picture(9.8, 3.6, values, draw)


MORE = "More acts: points from dev2, and exploitability"
MORE_GENERATED = "More acts with generated partners: points from dev2, and exploitability"
MORE_PROGRAMS, NUMBER_OF_PROGRAMS = "More generated programs: points from dev2", "programs (new: in every game)"
OF_ROSTER = tuple(arm for arm in GROWN if arm not in GENERATED_ARMS)
FIGURES: dict[str, Callable[[Path], Picture]] = {  # by file name under docs/figures
    "finalists.svg": finalists,
    "plane.svg": plane,
    "families.svg": families,
    "known_new.svg": known_new,
    "acts.svg": lambda folder: curves(acts_curves(folder, OF_ROSTER), MORE, "acts of a run", TICKS),
    "acts_generated.svg": lambda folder: curves(
        acts_curves(folder, ("pool_ppo", *GENERATED_ARMS)), MORE_GENERATED, "acts of a run", TICKS
    ),
    "oracles.svg": lambda folder: _shares(folder, ORACLES, "Exact oracles or self-play in place of the roster"),
    "generated.svg": lambda folder: _shares(folder, GENERATED, "Generated partners in place of the roster"),
    "programs.svg": lambda folder: curves(programs_curves(folder), MORE_PROGRAMS, NUMBER_OF_PROGRAMS, PROGRAM_TICKS),
    "literature.svg": literature,
    "growth.svg": growth,
}


def _shares(folder: Path, kinds: Mapping[str, Mapping[int, str]], title: str) -> Picture:
    return curves(share_curves(folder, kinds), f"{title}: roster {DEV2}", "share of the practice, %")


def draw_all(folder: Path = FOLDER) -> dict[Path, str]:
    """Every figure as SVG, by its file."""
    return {FOLDER_OF_FIGURES / name: svg(make(folder)) for name, make in FIGURES.items()}
