"""The README's tables and figure, and the short table of docs/RESULTS.md: questions with the rows that answer them."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dond_marl.statistics import Estimate
from experiments.results.files import FOLDER, ROOT, bench_rows, exists, made_by
from experiments.results.rows import ShortRow, board_rows, describe_arm, every_row, format_figure, format_seeds
from league.bench.table import arms_by_protocol, leaderboard
from league.display.plane import FAINT, INK, PAPER, check_drawable, open_axes
from league.tables.blocks import Figure
from league.tables.figures import with_interval

BOARD = ("baselines.jsonl", "full_budget.jsonl", "bench.jsonl")  # files of the leaderboard
DRAWING = ROOT / "docs" / "headline.svg"
OWN, ROW = "#0b6862", 0.26  # colour of the dots; inches of a row
MINUS = "\N{MINUS SIGN}"
COLUMNS = ("points", "share of reference", "worst tenth")
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
    points: Estimate
    cells: tuple[str, ...]  # points, share of the reference, worst tenth of the partners, training


def headline_board(folder: Path) -> tuple[str, list[BoardRow]]:
    """The scope of the leaderboard, and its rows, best first; none without files."""
    rows = [row for name in BOARD if exists(name, folder) for row in bench_rows(name, folder)]
    if not rows:
        return "", []
    benchmark, arms = arms_by_protocol(rows)[0]
    board = []
    for arm, cells in board_rows(arms, leaderboard(rows).sections[0]):
        figures = [cells.get(column) for column in COLUMNS]
        if all(isinstance(figure, Figure) for figure in figures):
            assert isinstance(figures[0], Figure)
            texts = (*map(format_figure, figures), format_seeds(arm))
            board.append(BoardRow(describe_arm(arm.name), figures[0].estimate, texts))
    scope = f"Roster {benchmark['roster']}, {benchmark['partners']} partners, both seats, {benchmark['headline']}."
    return scope, board


def headline_figure(folder: Path = FOLDER) -> str:
    """The leaderboard as SVG: points of ten of each policy, best first, with 95 % intervals over training seeds.

    The values are also in its metadata, which ``python -m experiments.results --check`` compares, so that another
    version of Matplotlib does not make the figure outdated.
    """
    check_drawable(DRAWING)
    from matplotlib import rc_context  # an optional extra, and slow to import
    from matplotlib.figure import Figure

    scope, board = headline_board(folder)
    height = 1.0 + ROW * len(board)
    figure = Figure(figsize=(9.4, height), facecolor=PAPER)
    figure.subplots_adjust(left=0.37, right=0.97, bottom=0.32 / height, top=1 - 0.62 / height)
    axes = figure.add_subplot()
    names = [row.name.replace("`", "") for row in board]
    for place, (mean, _, *ends) in enumerate(row.points for row in board):
        low, high = (mean if math.isnan(end) else end for end in ends)
        axes.plot([low, high], [place, place], color=OWN, linewidth=2.4)
        axes.plot(mean, place, "o", color=OWN, markersize=6)
        text = f"{mean:.2f}" + (f" ±{(high - low) / 2:.2f}" if low < high else "")
        axes.annotate(text, (high, place), (7, -3), textcoords="offset points", fontsize=8.5, color=FAINT)
    open_axes(axes, "")
    axes.set_yticks(range(len(board)), names, color=INK)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set(xlim=(0, 8.6), ylim=(len(board) - 0.4, -0.6))
    title = "Points of ten against partners not used in training"
    figure.text(0.015, 1 - 0.26 / height, title, fontsize=11.5, color=INK)
    figure.text(0.015, 1 - 0.47 / height, f"{scope} Bars: 95 % over training seeds.", fontsize=9, color=FAINT)
    label = "; ".join(f"{name} {with_interval(row.points)}" for name, row in zip(names, board, strict=True))
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
    heads = ("policy", "points of ten", "of the reference", "worst tenth of the partners", "training")
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
    PageQuestion("What does an exact best response get?", "exploit-and-repair", "exploited.jsonl",
             "`(league|with_repair|pool_ppo|self_play)`"),
    PageQuestion("And with all of their acts?", "exploit-and-repair", "exploited_whole.jsonl"),
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
