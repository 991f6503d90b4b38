"""The README's tables and figure, and the short table of docs/RESULTS.md: questions with the rows that answer them."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.results.files import FOLDER, ROOT, bench_rows, exists, made_by
from experiments.results.rows import ShortRow, describe_arm, every_row, format_figure, format_seeds
from league.bench.arms import NASHCONV, arms_by_protocol
from league.bench.differences import MINUS
from league.bench.table import WORST_TENTH, boards, main_cells
from league.display.plane import FAINT, INK, PAPER, check_drawable, open_axes
from league.tables.blocks import Figure
from partners.rosters import ROSTERS

BOARD = ("baselines.jsonl", "full_budget.jsonl", "bench.jsonl")  # files of the leaderboard
DRAWING = ROOT / "docs" / "headline.svg"
OWN, ROW = "#0b6862", 0.17  # colour of the dots; inches of a name
COLUMNS = ("points", NASHCONV, "BR-Prox", WORST_TENTH)
PLANE = ("ablation.jsonl", "robust.jsonl", *BOARD)  # files of the figure
FIRST = {  # rows of the README's second table, by file, as patterns
    "baselines.jsonl": f" {MINUS} ",
    "full_budget.jsonl": f" {MINUS} ",
    "hints.jsonl": r"never hinted|hints: best",
    "selection.jsonl": f" {MINUS} ",
    "people.json": "people's replies",
    "annotator.json": "",
    "speed.json": "",
}


class BoardRow(NamedTuple):
    """A policy on the README's leaderboard."""

    name: str
    cells: tuple[str, ...]  # points, NashConv, Best-Response Proximity, worst tenth of the partners, training


def headline_board(folder: Path) -> tuple[str, list[BoardRow]]:
    """The scope of the leaderboard, and its rows, best first; none without files."""
    rows = [row for name in BOARD if exists(name, folder) for row in bench_rows(name, folder)]
    if not rows:
        return "", []
    benchmark, arms = next((board.benchmark, board.arms) for board in boards(rows))
    board = []
    for arm in arms:
        figures = [main_cells(arm).get(column) for column in COLUMNS]
        texts = (format_figure(figure) if isinstance(figure, Figure) else "-" for figure in figures)
        board.append(BoardRow(describe_arm(arm.name), (*texts, format_seeds(arm))))
    number = f"{benchmark['partners']} partners of {len(set(arms[0].families))} families"
    scope = f"Roster {benchmark['roster']}, {number}, both seats, {benchmark['headline']}."
    return scope, board


class PlanePoint(NamedTuple):
    """An arm with both axes, means over its seeds."""

    name: str
    points: float  # of ten, from the partners of a roster
    nashconv: float


def headline_planes(folder: Path) -> dict[str, list[PlanePoint]]:
    """The arms that have both figures, the least NashConv last, by roster."""
    rows = [row for name in PLANE if exists(name, folder) for row in bench_rows(name, folder)]
    planes = {}
    for benchmark, arms in arms_by_protocol(rows):
        found = []
        for arm in arms:
            exploited = arm.exploitability(NASHCONV.lower())
            if exploited is not None:
                found.append(PlanePoint(arm.name, arm.headline().mean, float(exploited.mean())))
        if len(found) > 1 and benchmark["roster"] in ROSTERS:
            planes[benchmark["roster"]] = sorted(found, key=lambda point: -point.nashconv)
    return planes


def headline_figure(folder: Path = FOLDER) -> str:
    """Every arm by its points (x) and its NashConv (y), a panel per roster, as SVG; right and low is better.

    The values are also in its metadata, which ``python -m experiments.results --check`` compares, so that another
    version of Matplotlib does not make the figure outdated.
    """
    check_drawable(DRAWING)
    from matplotlib import rc_context  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    planes = headline_planes(folder)
    height = 1.5 + ROW * max(map(len, planes.values()), default=0)
    figure = Figure(figsize=(5.6 * max(len(planes), 1), height), facecolor=PAPER)
    figure.subplots_adjust(left=0.06, right=0.87, bottom=0.6 / height, top=1 - 0.8 / height, wspace=0.55)
    for number, (roster, points) in enumerate(planes.items(), start=1):
        axes = figure.add_subplot(1, len(planes), number)
        axes.plot([each.points for each in points], [each.nashconv for each in points], "o", color=OWN, markersize=5)
        for place, each in enumerate(points):  # names in a column right of the panel, in the order of the points
            axes.annotate(
                each.name, (each.points, each.nashconv), (1.06, 1 - (place + 0.5) / len(points)),
                textcoords="axes fraction", fontsize=8, color=INK, va="center",
                arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.4, "relpos": (0, 0.5)},
            )  # fmt: skip
        open_axes(axes, f"roster {roster}")
        axes.set_xlabel("points of ten", color=INK)
        axes.set_ylabel(NASHCONV, color=INK)
    title = "Points from partners not used in training, and what exact best responses gain"
    figure.text(0.015, 1 - 0.3 / height, title, fontsize=11.5, color=INK)
    label = "; ".join(
        f"{roster}: " + ", ".join(f"{name} {points:.2f} {nashconv:.2f}" for name, points, nashconv in plane)
        for roster, plane in planes.items()
    )
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "dond-marl"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Description": label})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def headline_table(folder: Path) -> str:
    """The leaderboard, other figures, and the commands that made the files; empty without files."""
    others = [row for row in every_row(folder) if row.file in FIRST and re.search(FIRST[row.file], row.label)]
    scope, board = headline_board(folder)
    if not board and not others:
        return ""
    files = dict.fromkeys([*(name for name in BOARD if exists(name, folder)), *(row.file for row in others)])
    heads = ("policy", "points of ten", NASHCONV, "Best-Response Proximity", "worst tenth of the partners", "training")
    return "\n\n".join([
        scope,
        pipe_table(heads, [[row.name, *row.cells] for row in board]),
        pipe_table(("measurement", "figure, 95 % interval", "scope"), [list(row[:3]) for row in others]),
        "\n".join(f"- `{name}`: {made_by(name)}" for name in files),
    ])  # fmt: skip


def pipe_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown texts, which are not escaped."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


class PageQuestion(NamedTuple):
    """A question of docs/RESULTS.md, and the rows of a results file that answer it."""

    text: str
    section: str  # anchor on the page
    file: str  # under docs/results
    pattern: str = ""  # of the rows' labels


QUESTIONS = (
    PageQuestion("Is the default league better than plain PPO?", "what-a-league-has-to-be-better-than",
                 "baselines.jsonl", rf"`league`\) {MINUS}"),
    PageQuestion("And with all of its acts?", "the-league-with-all-of-its-acts", "full_budget.jsonl", f" {MINUS} "),
    PageQuestion("Which of its parts help?", "what-each-part-of-a-league-is-worth", "ablation.jsonl",
             rf"`(no|with)_\w+`\) {MINUS}"),
    PageQuestion("How do the literature's leagues do?", "what-each-part-of-a-league-is-worth", "ablation.jsonl",
             rf"`(?!no_|with_|pool)\w+`\) {MINUS}"),
    PageQuestion("How exploitable are they?", "exploit-and-repair", "ablation.jsonl",
             r"`(league|with_repair|pool_ppo|self_play)`\)$"),
    PageQuestion("And with all of their acts?", "exploit-and-repair", "full_budget.jsonl", r"`\)$"),
    PageQuestion("What does it cost to leave it less?", "what-it-costs-to-leave-a-best-response-less", "robust.jsonl",
             rf"itself_(10|50|100)`\) {MINUS}"),
    PageQuestion("Does it help to begin with something easier?", "does-it-help-to-begin-with-something-easier",
             "curricula.jsonl", f" {MINUS} "),
    PageQuestion("Should a league select by points or by wins?", "selection-by-points-or-by-wins", "selection.jsonl",
             f" {MINUS} "),
    PageQuestion("Does a memory help?", "a-memory-and-a-joint-head", "memory.jsonl", rf"`history`\) {MINUS}"),
    PageQuestion("Does it, with targets from the best response?", "taught-by-the-best-reply", "taught.jsonl",
             f" {MINUS} "),
    PageQuestion("How good is the shipped expert?", "the-shipped-expert", "expert.jsonl"),
    PageQuestion("And PPO against one partner?", "the-shipped-expert", "ppo_fast.jsonl"),
    *(PageQuestion("How does a language model do?", "a-language-model-at-the-table", f"language_model_{opponent}.json")
      for opponent in ("heuristic", "expert", "boulware")),
    PageQuestion("Does a policy cloned from people act like them?", "learning-from-people", "people.json"),
    PageQuestion("How far can the labels of their acts be trusted?", "learning-from-people", "annotator.json"),
    PageQuestion("What do hints do?", "what-hints-do", "hints.jsonl", "never|hints: (best|expert)"),
    PageQuestion("How fast is it?", "how-fast", "speed.json"),
)  # fmt: skip


def short_table(folder: Path) -> str:
    """The questions of the page with their answers; empty without files."""
    rows = list(_answers(folder))
    return pipe_table(("question", "measurement", "figure, 95 % interval", "scope"), rows) if rows else ""


def _answers(folder: Path) -> Iterator[list[str]]:
    """The cells of each row; a question stands in the first of its rows alone."""
    rows: list[ShortRow] = every_row(folder)
    last = ""
    for question in QUESTIONS:
        for row in rows:
            if row.file == question.file and re.search(question.pattern, row.label):
                link = f"[{question.text}](#{question.section})" if question.text != last else ""
                last = question.text
                yield [link, row.label, row.figure, row.scope]
