"""The figures of the README and of docs/RESULTS.md, as SVG, from the files under docs/results.

Bars are 95 % intervals, for seeds and partners like these where a figure does not say otherwise. All arms play the same
partners: their differences are known better than bars of points suggest.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dond.plane import FAINT, INK, PAPER, check_drawable, open_axes
from dond_marl.seats import Doubles
from dond_marl.statistics import Estimate
from experiments.hints import learning_curve, parse_hints
from experiments.results.arms import (
    DEFAULT,
    PLAIN,
    Measured,
    arms_in,
    describe,
    differences_in,
    first_measured,
    gain_of,
    non_dominated,
    number,
    older_methods,
    plane_arms,
)
from experiments.results.files import FOLDER, ROOT, document
from league.bench.arms import ADVERSARY, NASHCONV
from league.bench.run import OWN
from league.bench.table import AT_LEAST
from league.settings.read import Config, load_config
from partners.rosters import DEV2, TEST2, TEST3

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOLDER_OF_FIGURES = ROOT / "docs" / "figures"
WIDTH = 8.2  # inches: the column of a page, where a point of type is 1.4 pixels
ROW = 0.23  # inches of a row of text
TEXT, NOTE = 8.5, 7.5  # points
SPAN = 0.3  # least span of an axis, points of ten: no trend of a hundredth fills a panel
POINTS = "points of ten"
SEEDS = "95 % over seeds, for these partners"
# The methods: beginnings of their arms' names, and their colour in every figure (Okabe and Ito 2008, and three more).
# The first that fits counts; anything else is a program.
METHODS = {
    "default league": ("default_league|league_itself_20_oracles_10", "#009e73"),
    "other league methods": ("league|repair|alphastar|no_|with_|fcp|j?psro|nfsp", "#cc79a7"),
    "generated partners": ("generated|both", "#56b4e9"),
    "exact best responses": ("oracles|itself_25_oracles|best_response", "#d55e00"),
    "self-play": ("itself|self_play|mmd", "#e69f00"),
    "PPO, fixed partners": ("pool_|memory_people|stopped|ppo|none", "#0072b2"),
    "expert": ("expert|former_expert", "#6e3fa3"),
    "equilibrium": ("equilibrium", "#000000"),
    "language model": ("llm", "#8a6d00"),
    "programs": ("", FAINT),
}


def method_of(arm: str) -> str:
    """The method of an arm, in words."""
    return next(method for method, (names, _) in METHODS.items() if re.match(names, arm))


def colour_of(arm: str) -> str:
    """The colour of an arm's method."""
    return METHODS[method_of(arm)][1]


class Picture(NamedTuple):
    """A figure: its height in inches, the values that it shows in words, and how it is drawn."""

    height: float
    values: str
    draw: Callable[[Figure], None]


def svg(picture: Picture) -> str:
    """The figure as SVG, the same bytes each time; its values are also in its metadata."""
    check_drawable(FOLDER_OF_FIGURES / "plane.svg")
    from matplotlib import rc_context  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, picture.height), facecolor=PAPER)
    picture.draw(figure)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "dond-marl"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Description": picture.values})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _title(figure: Figure, title: str, note: str = "") -> None:
    """The title above the axes, and a small note below."""
    height = figure.get_figheight()
    figure.text(0.015, 1 - 0.27 / height, title, fontsize=11.5, color=INK, weight="bold")
    figure.text(0.015, 0.08 / height, note, fontsize=NOTE, color=FAINT)


def _key(figure: Figure, arms: Sequence[str]) -> None:
    """The colours of the methods that are among the arms, in one line above the note, or in two."""
    from matplotlib.lines import Line2D

    shown = {method_of(arm) for arm in arms}
    dots = [Line2D([], [], color=colour, marker="o", markersize=5, linestyle="", label=method)
            for method, (_, colour) in METHODS.items() if method in shown]  # fmt: skip
    figure.legend(handles=dots, loc="lower left", bbox_to_anchor=(0.005, 0.24 / figure.get_figheight()), frameon=False,
                  ncols=len(dots) if len(dots) < 8 else 5, fontsize=NOTE, borderaxespad=0, handletextpad=0,
                  columnspacing=0.8)  # fmt: skip


def _open(axes: Axes, across: str, up: str = "", title: str = "") -> None:
    """Labelled axes that span at least :data:`SPAN`."""
    open_axes(axes, title)
    axes.set_xlabel(across, color=INK, fontsize=TEXT)
    axes.set_ylabel(up, color=INK, fontsize=TEXT)
    for limits, set_limits in ((axes.get_xlim(), axes.set_xlim), (axes.get_ylim(), axes.set_ylim)):
        if (missing := SPAN - (limits[1] - limits[0])) > 0:
            set_limits(limits[0] - missing / 2, limits[1] + missing / 2)


class Mark(NamedTuple):
    """An estimate in a row of a figure."""

    panel: int
    estimate: Estimate
    hollow: bool = False
    at_least: bool = False  # the estimate is a lower bound


Row = tuple[str, str, Sequence[Mark]]  # label, arm, marks


def rows_of_marks(
    rows: Sequence[Row], heads: Sequence[str], title: str, note: str, *, differences: bool = False
) -> Picture:
    """Panels that share labelled rows, and their range unless they show ``differences``, which have a line at 0."""
    values = "; ".join(
        f"{label} " + " ".join(f"{mark.estimate.mean:.2f}" for mark in marks) for label, _, marks in rows
    )
    height = 1.45 + ROW * len(rows)

    def draw(figure: Figure) -> None:
        width = 0.65 / len(heads)
        for panel, head in enumerate(heads):
            axes = figure.add_axes((0.33 + panel * (width + 0.01), 0.86 / height, width - 0.015, 1 - 1.32 / height),
                                   sharex=figure.axes[0] if panel and not differences else None)  # fmt: skip
            for y, (label, arm, marks) in enumerate(rows):
                if panel == 0:
                    axes.text(-0.02, y, label, fontsize=TEXT, color=INK, ha="right", va="center",
                              transform=axes.get_yaxis_transform())  # fmt: skip
                for mark in marks:
                    if mark.panel == panel:  # filled and hollow ones of one arm lie next to each other
                        _draw_mark(axes, y + (0 if differences else 0.15 - 0.3 * mark.hollow), mark, colour_of(arm))
            if differences:
                axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
            _open(axes, head)
            axes.locator_params(axis="x", nbins=6)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.set_yticks(range(len(rows)), [""] * len(rows))
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        _title(figure, title, note)
        _key(figure, [arm for _, arm, _ in rows])

    return Picture(height, values, draw)


def _draw_mark(axes: Axes, y: float, mark: Mark, colour: str) -> None:
    mean, low, high = mark.estimate.mean, mark.estimate.low, mark.estimate.high
    if not math.isnan(low):
        axes.plot([low, high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
    shape = ">" if mark.at_least else "o"
    axes.plot(mean, y, shape, color=colour, markersize=6, markerfacecolor=PAPER if mark.hollow else colour)


def finals_differences(folder: Path) -> Picture:
    """Points of arms from the finalists more than plain PPO's, and the gain of an adversary."""
    published, arms = document(folder, "finals.json")["points"], arms_in("people", folder, TEST3)
    compared = differences_in("people", folder, TEST3)
    ahead = Estimate(published[0] - arms[PLAIN].points.mean, 0, math.nan, math.nan)
    rows: list[Row] = [("contest's winner", "", [Mark(0, ahead, hollow=True)])]
    for name in (name for name in FINALS if name in arms):
        more = compared[name].points.difference if name in compared else Estimate(0.0, 0, math.nan, math.nan)
        gain = gain_of(name, folder)
        adversary = [] if gain is None else [Mark(1, gain.estimate, at_least=gain.sign == AT_LEAST)]
        rows.append((describe(name), name, [Mark(0, more), *adversary]))
    heads = "points of ten more than plain PPO", f"{ADVERSARY}, points of ten"
    note = (
        "bars: 95 %, left for seeds and partners like these, right over seeds; hollow: published by the contest; "
        "triangle: at least so much; no mark: unknown"
    )
    title = "Points from 50 finalists of a public contest, and what a perfect adversary gains"
    return rows_of_marks(rows, heads, title, note, differences=True)


FINALS = ("league_people", "memory_people", "pool_people", "default_league", PLAIN, "heuristic")  # in this order


def known_new(folder: Path) -> Picture:
    """Points from known and from new families, of the arms that were played on both rosters."""
    rosters = arms_in("arms_4m", folder), arms_in("arms_test2", folder, TEST2)
    names = [name for name in rosters[0] if name in rosters[1]]
    rows: list[Row] = []
    for name in names:
        marks = []
        for panel, arms in enumerate(rosters):
            marks += [Mark(panel, arms[name].known), Mark(panel, arms[name].new, hollow=True)]
        rows.append((describe(name), name, marks))
    heads = [f"{POINTS}, roster {roster}" for roster in (DEV2, TEST2)]
    note = f"filled: known families; hollow: new ones; bars: {SEEDS}; best arm on {DEV2} first"
    return rows_of_marks(rows, heads, "Partners of known families and of new ones", note)


def literature(folder: Path) -> Picture:
    """League methods of a million acts, compared with plain PPO of as many acts from the same file."""
    compared = {DEFAULT: differences_in("arms_1m", folder)[DEFAULT], **older_methods(folder)}
    rows: list[Row] = [
        (describe(name), name, [Mark(0, more.points.difference), Mark(1, more.nashconv)])
        for name, more in compared.items()
    ]
    heads = f"difference in {POINTS}", f"difference in {NASHCONV} (less is better)"
    title = "Compared with plain PPO: roster dev2, a million acts each"
    note = "bars: 95 %, for seeds and partners like these; no mark: not measured"
    return rows_of_marks(rows, heads, title, note, differences=True)


Spot = tuple[float, float]


def plane(folder: Path) -> Picture:
    """All arms by points and NashConv, those joined that no other dominates; next to it the best ones, enlarged."""
    arms = plane_arms(folder)
    best = non_dominated(arms)
    labelled = [arm for arm in reversed(arms) if arm in best or arm.arm.name in PLANE]
    near = sorted((arm for arm in labelled if arm.points.mean > ENLARGED), key=lambda arm: arm.nashconv.mean)
    values = "; ".join(f"{arm.name} {arm.points.mean:.2f} {arm.nashconv.mean:.2f}" for arm in arms)
    outside = "; ".join("{}, {:.2f} and {:.2f}".format(arm.name, *_spot(arm)) for arm in arms if _spot(arm)[1] > MOST)

    def draw(figure: Figure) -> None:
        whole, enlarged = figure.add_axes((0.06, 0.24, 0.31, 0.62)), figure.add_axes((0.42, 0.24, 0.26, 0.62))
        for axes, title in ((whole, "all arms (best: lower right)"), (enlarged, "the best arms, enlarged")):
            axes.plot(*zip(*map(_spot, best), strict=True), color=FAINT, linewidth=1)
            for arm in arms:
                axes.plot(*_spot(arm), "s" if arm.acts > MANY else "o", color=colour_of(arm.arm.name),
                          markeredgecolor=PAPER, markersize=6)  # fmt: skip
            _open(axes, f"{POINTS} from unseen partners", f"{ADVERSARY}, {POINTS}" if axes is whole else "", title)
        whole.set(xlim=(4.85, 7.25), ylim=(-0.3, MOST))
        enlarged.set(xlim=(ENLARGED, 7.13), ylim=(1.9, 4.8))
        whole.indicate_inset_zoom(enlarged, edgecolor=FAINT)
        text: dict[str, Any] = {"fontsize": NOTE, "color": INK, "va": "center"}
        for arm in labelled[: -len(near)]:
            offset = PLANE.get(arm.arm.name, (7, -5))
            side = "right" if offset[0] < 0 else "left"
            whole.annotate(arm.name, _spot(arm), offset, textcoords="offset points", ha=side, **text)
        leader = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.5, "relpos": (0, 0.5)}
        for arm, y in zip(near, np.linspace(0, 1, len(near)), strict=True):
            name = arm.name + ", 24M" * (arm.acts > MANY)
            enlarged.annotate(name, _spot(arm), (1.08, y), textcoords="axes fraction", arrowprops=leader, **text)
        note = f"line: no other arm dominates; squares: 24M acts; intervals: in the table; not drawn: {outside}"
        _title(figure, "Points from unseen partners, and exploitability", note)
        _key(figure, [arm.arm.name for arm in arms])

    return Picture(4.6, values, draw)


def _spot(arm: Measured) -> Spot:
    return arm.points.mean, arm.nashconv.mean


# Arms with a label besides those that none dominates, and the places of labels, in points of type.
PLANE = {PLAIN: (7, -5), DEFAULT: (7, -5), "jpsro": (-4, 9), "fcp": (-6, 0), "nfsp": (-6, 0),
         "itself_100": (0, -11)}  # fmt: skip
MANY = 20e6  # acts of the arms of 24 million
MOST, ENLARGED = 5.2, 6.55  # the most NashConv that is drawn; the least points of the enlarged part

Curves = Mapping[str, Sequence[tuple[float, Measured]]]  # by label: a place on the x axis, and an arm

BUDGETS = ("arms_1m", "baselines", "ablation"), ("arms_4m",), ("arms_24m", "full_budget")  # the first that has an arm
GROWN = {  # arms with several budgets, and their names in older files
    PLAIN: "pool_ppo_whole", "league": "league_whole", "itself_25": "itself_25", "both": "both",
    DEFAULT: DEFAULT,
}  # fmt: skip


def budgets_of(arm: str, folder: Path) -> list[Measured]:
    """An arm of :data:`GROWN` with each of its numbers of acts."""
    measured = (first_measured((arm, GROWN[arm]), folder, files) for files in BUDGETS)
    return [budget for budget in measured if budget is not None]


def acts_curves(folder: Path) -> Curves:
    """Arms that were trained with several numbers of acts, by acts."""
    by_arm = {arm: budgets_of(arm, folder) for arm in GROWN}
    return {arm: [(budget.acts, budget) for budget in budgets] for arm, budgets in by_arm.items() if len(budgets) > 1}


def share_curves(folder: Path) -> Curves:
    """Arms by the share of their practice that is of a kind."""
    arms = arms_in("arms_4m", folder)
    return {
        kind: [(float(share), arms[name]) for share, name in names.items() if name in arms]
        for kind, names in SHARES_OF.items()
    }


SHARES_OF = {  # by kind: arms by percent of the practice
    "oracles": {0: PLAIN, **{part: f"oracles_{part}" for part in (5, 10, 25, 50)}},
    "itself": {0: PLAIN, **{part: f"itself_{part}" for part in (5, 10, 25, 50, 75, 90, 100)}},
    "generated": {0: PLAIN, **{part: f"generated_{part}" for part in (25, 50, 100)}},
}
KINDS = {"oracles": "exact best responses", "itself": "self-play", "generated": "generated partners"}
TICKS = {acts: number(acts) for acts in (1e6, 4e6, 24e6)}  # of the acts


def curves(lines: Curves, title: str, label: str, note: str = "", ticks: Mapping[float, str] | None = None) -> Picture:
    """Points from known families, from new ones, and NashConv, along an x axis; with ``ticks`` a logarithmic one."""
    panels: tuple[tuple[str, Callable[[Measured], Estimate]], ...] = (
        (f"{POINTS}, known families", lambda arm: arm.known),
        (f"{POINTS}, new families", lambda arm: arm.new),
        (f"{NASHCONV} (less is better)", lambda arm: arm.nashconv),
    )
    values = "; ".join(
        f"{KINDS.get(name, describe(name))}: "
        + ", ".join(f"{number(x)} {arm.over_seeds.mean:.2f} {arm.nashconv.mean:.2f}" for x, arm in points)
        for name, points in lines.items()
    )

    def draw(figure: Figure) -> None:
        for panel, (head, estimate_of) in enumerate(panels):
            axes = figure.add_axes((0.05 + 0.33 * panel, 0.31, 0.27, 0.53),
                                   sharey=figure.axes[0] if panel == 1 else None)  # fmt: skip
            for name, points in lines.items():
                estimates = [estimate_of(arm) for _, arm in points]
                bars = [np.nan_to_num(estimate.margin) for estimate in estimates]
                means = [estimate.mean for estimate in estimates]
                axes.errorbar([x for x, _ in points], means, yerr=bars, marker="o", markersize=4, linewidth=1.4,
                              color=colour_of(name), label=KINDS.get(name, describe(name)))  # fmt: skip
            _open(axes, label, title=head)
            if ticks is not None:
                axes.set_xscale("log")
                axes.set_xticks(list(ticks), list(ticks.values()))
                axes.minorticks_off()
        handles = axes.get_legend_handles_labels()
        figure.legend(*handles, loc="lower center", bbox_to_anchor=(0.5, 0.05), ncols=3, frameon=False, fontsize=TEXT)
        _title(figure, title, f"bars: {SEEDS}; no y axis begins at 0{note}")

    return Picture(3.9, values, draw)


def hints(folder: Path) -> Picture:
    """Learning curves with all hints of an adviser, without and with hints in the measured games."""
    experiment = parse_hints((folder / "hints.jsonl").read_text(encoding="utf-8"))
    measured = {mark.arm: None for mark in experiment.marks}
    arms = {arm: label for hinter, label in ADVISERS.items() for arm in measured if arm.hinter == hinter}
    ends = {arm: learning_curve(experiment, arm, lambda mark: mark.alone)[1][-1].mean for arm in arms}
    values = "; ".join(f"{label}, {arm.dropout:.0%} withheld: {ends[arm]:.1%}" for arm, label in arms.items())

    def draw(figure: Figure) -> None:
        for panel, (title, value) in enumerate(
            (("without hints", lambda mark: mark.alone), ("with hints", lambda mark: mark.hinted))
        ):
            axes = figure.add_axes((0.07 + 0.47 * panel, 0.26, 0.43, 0.61))
            for arm, label in arms.items():
                decisions, shares = learning_curve(experiment, arm, value)
                mean, _, low, high = 100 * np.array(shares).T
                _band(axes, decisions / 1000, (mean, low, high), colour_of(arm.hinter), label, arm.dropout > 0)
            _open(axes, "thousand own decisions", "points, % of the best response's" if not panel else "", title)
            axes.set_ylim(60, 95)
        handles = axes.get_legend_handles_labels()
        figure.legend(*handles, loc="lower center", bbox_to_anchor=(0.5, 0.05), ncols=3, frameon=False, fontsize=TEXT)
        note = (
            "dashed: half of the hints withheld in training; bands: 95 % over seeds; not drawn: less than 60 %, and an "
            "expert that errs"
        )
        _title(figure, "A learner plays without the hints that it learned with, and with them", note)

    return Picture(4.8, values, draw)


ADVISERS = {  # hinters, in words
    "none": "never hinted", "random": "hints: random acts", "llm": "hints: a language model",
    "expert(greedy=True)": "hints: the expert", "best_response(to=heuristic)": "hints: the best response",
}  # fmt: skip


def _band(axes: Axes, x: Doubles, estimates: Sequence[Doubles], colour: str, label: str, dashed: bool = False) -> None:
    """A curve with the band of its intervals; ``estimates``: means, and both ends."""
    mean, low, high = estimates
    line, label = ("--", "") if dashed else ("-", label)
    axes.plot(x, mean, line, color=colour, linewidth=1.7, label=label)
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def training_curve(folder: Path) -> Picture:
    """Points of a training of PPO over its decisions, the best possible ones, and those of random acts."""
    rows = read_columns(folder / "training_curve.csv")
    decisions, points, best = rows["decisions"] / 1e6, rows["points"], rows["points"] / rows["of_response"]
    chance = arms_in("ppo_fast", folder, OWN)["random"].points.mean
    levels = {f"best response, expected: {best.mean():.2f}": (best.mean(), colour_of("best_response")),
              f"random acts: {chance:.2f}": (chance, FAINT)}  # fmt: skip

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.07, 0.2, 0.91, 0.68))
        axes.plot(decisions, points, color=colour_of("ppo_fast"), linewidth=1.7)
        axes.annotate(f"PPO: {points[-1]:.2f}", (1, points[-1]), (-4, -16), textcoords="offset points",
                      fontsize=TEXT, color=INK, ha="right")  # fmt: skip
        for label, (level, colour) in levels.items():
            axes.axhline(level, color=colour, linewidth=1.2, linestyle="--")
            axes.annotate(label, (1, level), (-4, 4), textcoords="offset points", fontsize=TEXT, color=INK,
                          ha="right")  # fmt: skip
        _open(axes, "million own decisions", POINTS)
        axes.set(xlim=(0, 1), ylim=(0, 10))
        note = "PPO: training games of one run, acts sampled; best response: exact mean over all scenarios of lewis"
        _title(figure, "PPO learns against the default heuristic", f"{note}; random acts: on held-out views")

    return Picture(3.5, "; ".join([f"PPO {points[-1]:.2f}", *levels]), draw)


def rounds(folder: Path) -> Picture:
    """A default league's main by round: points from all fixed members, and what a best response to it gains."""
    rows = read_columns(folder / "rounds.csv", member="main")
    by_round = rows["after_rounds"]
    panels = {"points": ("default_league", f"{POINTS} from all fixed members"),
              "gain": ("best_response", f"{POINTS} that its best response gains, at least")}  # fmt: skip
    values = "; ".join(f"{title} {rows[name].round(2).tolist()}" for name, (_, title) in panels.items())

    def draw(figure: Figure) -> None:
        for panel, (name, (arm, title)) in enumerate(panels.items()):
            axes = figure.add_axes((0.05 + 0.49 * panel, 0.24, 0.44, 0.56))
            _band(axes, by_round, [rows[f"{name}{end}"] for end in ("", "_low", "_high")], colour_of(arm), title)
            _open(axes, "rounds of practice", title=title)
            axes.set(xlim=(0, by_round[-1] + 0.5), xticks=np.arange(0, by_round[-1] + 1, 5), ylim=(0, None))
        note = "bands: 95 % over scenarios; a lower bound: the response is to the main's likeliest acts, and it samples"
        _title(figure, "The main of a default league, round by round", note)

    return Picture(3.3, values, draw)


def growth(folder: Path) -> Picture:
    """Seconds of the parts of a league by members, rounds and learners, both axes logarithmic."""
    seconds: dict[str, dict[str, dict[int, float]]] = {"members": {}, "rounds": {}, "learners": {}}
    for row in document(folder, "growth.json")["rows"]:
        named = re.fullmatch(r"(.+), (\d+) (members|rounds|learners)", row["what"])
        if named is not None and "1 simulated" not in named[1]:  # the tasks of a round in one process
            seconds[named[3]].setdefault(named[1], {})[int(named[2])] = row["ours"]
    on = document(folder, "growth.json")["machine"]["processor"]

    def draw(figure: Figure) -> None:
        lines = {}
        for i, (by, parts) in enumerate(seconds.items()):
            axes = figure.add_axes((0.07 + 0.32 * i, 0.34, 0.28, 0.53), sharey=figure.axes[0] if i else None)
            for part, points in parts.items():
                line = "o:" if "simulated" in part else "o-"
                (lines[part],) = axes.plot(
                    list(points), list(points.values()), line, markersize=4, color=COLOURS_OF_PARTS[part]
                )
            axes.set(xscale="log", yscale="log")
            _open(axes, by, "" if i else "seconds")
            axes.set_xticks(sizes := list(next(iter(parts.values()))), list(map(str, sizes)))
            axes.set_yticks(ticks := (0.1, 1, 10), list(map(str, ticks)))
            axes.minorticks_off()
        figure.legend(lines.values(), lines, loc="lower center", bbox_to_anchor=(0.5, 0.07), ncols=3, frameon=False,
                      fontsize=TEXT)  # fmt: skip
        _title(figure, "How the cost of a league grows", f"all axes are logarithmic; one run on {on}")

    return Picture(3.8, f"{seconds}", draw)


COLOURS_OF_PARTS = {
    "round": "#0072b2", "closing tables": "#d55e00", "report": "#009e73", "round on 2 workers": "#e69f00",
    "round on 2 simulated nodes": "#000000", "round on 8 simulated nodes": "#cc79a7",
}  # fmt: skip


def league_diagram(_: Path) -> Picture:
    """Partners in training in the default league, frozen and held-out members, from its config."""
    config = load_config(ROOT / "configs" / "league.yaml", (), Config)
    main, second = config.learners
    share = {rule: f"{part:.0%}" for rule, part in main.matchmaking.items()}
    fixed = f"{main.matchmaking['uniform among fixed'] + main.matchmaking['regret among fixed']:.0%}"
    past, oracle = main.snapshot_every, config.oracles[0]
    boxes: Sequence[tuple[float, float, float, float, str, str, str]] = (  # left, bottom, width, height of 82 by 42
        (1, 27, 25, 10, FAINT, f"{len(config.members) - 1} programs\nand the shipped expert", "never learn"),
        (1, 14, 25, 10, colour_of("default_league"), "past selves of main",
         f"frozen every {past} rounds,\nif better than the last"),
        (1, 1, 25, 10, colour_of("oracles"), f"exact best responses to main\n(the newest {oracle.kept})",
         "solved anew after every round"),
        (43, 14, 14, 10, colour_of("default_league"), "main\n(PPO)", f"{share['self_play']} with itself"),
        (43, 27, 14, 10, INK, f"{second.name}\n({str(second.algo).upper()})",
         f"{second.matchmaking['self_play']:.0%} with itself"),
        (66, 14, 15, 10, INK, f"{len(config.heldout)} programs", "in no training"),
    )  # fmt: skip
    arrows: Sequence[tuple[Spot, Spot, Spot, str]] = (  # from, to, and a text with its place
        ((26, 30), (43, 21.5), (35.5, 26.6), fixed),
        ((26, 18.5), (43, 18.5), (34, 19.3), share["past_selves"]),
        ((26, 6), (43, 15.5), (33, 11.3), share["oracles"]),
        ((26, 33.5), (43, 33.5), (34.5, 34.3), "most of its games"),
        ((57, 18.5), (66, 18.5), (61.3, 19.3), "final test"),
    )
    notes: Sequence[tuple[float, float, str]] = (
        (13.5, 38.6, "frozen"), (50, 38.6, "learners"), (73.5, 25.6, "held out"),
        (34.5, 38.6, "share of games"), (60, 4, "in every round the members also play matches: the ladder"),
    )  # fmt: skip
    texts = [text for row in (*boxes, *arrows, *notes) for text in row if isinstance(text, str) and text[0] != "#"]

    def draw(figure: Figure) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.add_axes((0.01, 0.0, 0.98, 0.9))
        axes.set(xlim=(0, 82), ylim=(-1, 41))
        axes.axis("off")
        for x, y, width, height, colour, text, note in boxes:
            axes.add_patch(Rectangle((x, y), width, height, facecolor=PAPER, edgecolor=colour, linewidth=2))
            centred: dict[str, Any] = {"x": x + width / 2, "ha": "center", "va": "center"}
            axes.text(y=y + height * 0.66, s=text, fontsize=9, color=INK, **centred)
            axes.text(y=y + height * 0.25, s=note, fontsize=TEXT, color=FAINT, style="italic", **centred)
        for start, end, middle, text in arrows:
            axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.2})
            axes.text(*middle, text, fontsize=TEXT, color=INK, ha="center")
        for x, y, text in notes:
            axes.text(x, y, text, fontsize=TEXT, color=FAINT, ha="center", style="italic")
        _title(figure, "The default league: partners in training, frozen and held out")

    return Picture(4.4, "; ".join(texts).replace("\n", " "), draw)


def read_columns(path: Path, **where: str) -> dict[str, Doubles]:
    """The columns of a CSV file of numbers, of the rows with these values; empty cells are ``nan``."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if where.items() <= row.items()]
    heads = [head for head in rows[0] if head not in where]
    return {head: np.array([float(row[head] or "nan") for row in rows]) for head in heads}


ACTS = ("More acts of training: roster dev2", "acts of a run (logarithmic)",
        "; a point stands at the mean acts of its runs, near the tick")  # fmt: skip
SHARES = "Practice with exact best responses, itself or generated partners: roster dev2"
FIGURES: dict[str, Callable[[Path], Picture]] = {  # by file name under docs/figures
    "finals_differences.svg": finals_differences,
    "plane.svg": plane,
    "known_new.svg": known_new,
    "acts.svg": lambda folder: curves(acts_curves(folder), *ACTS, TICKS),
    "shares.svg": lambda folder: curves(share_curves(folder), SHARES, "share of the practice, %"),
    "literature.svg": literature,
    "hints.svg": hints,
    "training_curve.svg": training_curve,
    "rounds.svg": rounds,
    "growth.svg": growth,
    "league_diagram.svg": league_diagram,
}


def draw_all(folder: Path = FOLDER) -> dict[Path, str]:
    """Every figure as SVG, by its file."""
    return {FOLDER_OF_FIGURES / name: svg(make(folder)) for name, make in FIGURES.items()}
