"""The figures of the README and the results page are those of the files under docs/results, and there are no others."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from dond_marl.errors import RunFailure
from experiments.hint_tables import hint_lines
from experiments.hints import HintArm, HintExperiment, Measurement
from experiments.results.__main__ import BLOCK, DESCRIPTION, PAGES, WITH_BLOCKS, is_current, rewrite_blocks
from experiments.results.files import EXPLOITED, FOLDER, GAMES, MADE_BY, document
from experiments.results.headline import DRAWING, QUESTIONS, headline_figure, headline_planes
from experiments.results.rows import describe_arm, every_row, number, read_boards
from experiments.results.tables import NOTHING, SHORT, TABLES, block
from experiments.rosters import GRAMMAR
from league.bench.arms import NASHCONV
from league.bench.differences import MINUS
from league.bench.results import ResultsError, append
from league.bench.test2 import LOG
from partners.rosters import DEV
from tests.command import dond
from tests.league.bench.made_up import made_up_row

README, RESULTS = PAGES
FIGURE = re.compile(r"\d")
# Digits of the prose that are no measurements.
ALLOWED = re.compile(
    r"\(\w+ et al\. \d{4}\)|\b20[012]\d\b|95 % intervals|accuracy 15 points above|(?<=paper's )392|\b24 partners\b"
    r"|\b(dev|test)2\b|\[[^]]*\]\([^)]*\)|`[^`]*`"
)


@pytest.fixture
def folder(tmp_path):
    """The committed files, in a folder that may be changed."""
    return shutil.copytree(FOLDER, tmp_path / "results")


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.name)
def test_generated_blocks_are_current(page):
    text = page.read_text(encoding="utf-8")
    assert BLOCK.search(text) and rewrite_blocks(text) == text, "run python -m experiments.results"


def test_drawing_is_current():
    text = DRAWING.read_text(encoding="utf-8")
    assert is_current(DRAWING, headline_figure()), "run python -m experiments.results"
    assert DESCRIPTION.search(text) and "<script" not in text
    assert f"{DRAWING.name})" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_has_no_measurements(page):
    text = page.read_text(encoding="utf-8")
    if page == README:
        text = text.split("\n## Results\n")[1].split("\n## ")[0]
    prose = ALLOWED.sub("", BLOCK.sub("", text))
    assert not FIGURE.search(prose), [line for line in prose.splitlines() if FIGURE.search(line)]


def test_every_file_has_a_command_or_is_archived_and_every_block_has_a_file():
    archived = set(
        re.findall(r"^\| `([\w.]+)` \|", (FOLDER.parent / "ARCHIVE.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {path.name for path in FOLDER.iterdir()} == set(MADE_BY) | archived | {LOG, GRAMMAR.name}
    shown_with_others = {"bench.jsonl", "annotator.json", *EXPLOITED, *GAMES}
    assert {file for file, _ in TABLES.values()} | shown_with_others == set(MADE_BY)
    shown = {name for page in WITH_BLOCKS for name, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown == {*SHORT, *TABLES}


COMMANDS = sorted({made for made in MADE_BY.values() if made.startswith("dond") and "at commit" not in made})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_named_options(command, capsys):
    words = command.split()[1:]
    names = [word for word in words if not word.startswith("-")][: 2 if words[0] in ("experiment", "data") else 1]
    assert dond(*(["bench", "run"] if names == ["bench"] else names), "--help") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in words if word.startswith("--"))


def test_pages_follow_the_files(folder):
    """A figure that was changed in a file, or on a page, is found."""
    text = next(found[0] for found in BLOCK.finditer(RESULTS.read_text(encoding="utf-8")) if found[1] == "people")
    found = document("people.json", folder)
    found["likeness"]["accuracy"]["replies"]["mean"] = 0.123
    (folder / "people.json").write_text(json.dumps(found))
    assert "12.3%" in rewrite_blocks(text, folder) != text
    by_hand = text.replace("heuristic", "heuristics")
    assert by_hand != text == rewrite_blocks(by_hand)


def test_missing_files_have_no_rows(tmp_path):
    assert every_row(tmp_path) == [] and block("short", tmp_path) == NOTHING
    assert all(block(name, tmp_path) == NOTHING for name in {**SHORT, **TABLES})


def test_exploitability_of_old_rows_comes_from_the_files_of_best_responses():
    """Joined by arm, seed and settings, so that points and NashConv stand in one table."""
    lines = [json.loads(line) for line in (FOLDER / "exploited_robust.jsonl").read_text(encoding="utf-8").splitlines()]
    mean = np.mean([sum(line["gain"]) for line in lines if line["arm"] == "itself_10"])
    (board,) = read_boards("robust.jsonl", FOLDER)
    (arm,) = (arm for arm in board.arms if arm.name == "itself_10")
    assert arm.exploitability("nashconv").mean() == pytest.approx(mean)
    text = block("robust", FOLDER)
    assert f"| itself\\_10 | {len(arm.rows)} | {arm.headline().mean:.2f} " in text and f" {mean:.2f} (" in text
    assert any(board.arms[0].name in each.sentence for each in board.compared)


def test_rows_of_uncommitted_sources_are_refused(tmp_path):
    row = made_up_row("mine", 1, POINTS, code={"commit": "0" * 40, "changed_since": True, "uncommitted": True})
    append(tmp_path / "baselines.jsonl", row)
    with pytest.raises(RunFailure, match="uncommitted"):
        block("baselines", tmp_path)


def test_damaged_file_and_unknown_block(folder):
    (folder / "people.json").write_text("{")
    with pytest.raises(RunFailure, match=r"people\.json: cannot be read .* make it again by: dond train"):
        block("people", folder)
    (folder / "expert.jsonl").write_text("{}\n")
    with pytest.raises(ResultsError, match="line 1"):
        every_row(folder)
    marks = "<!-- made by python -m experiments.results: none -->\n\n<!-- end of none -->"
    with pytest.raises(RunFailure, match="unknown block none"):
        rewrite_blocks(marks, folder)


POINTS = {"linear": (5.0, 6.0), "stubborn": (4.0, 5.0)}


def test_bench_rows_and_differences(tmp_path):
    for name, ahead in (("pool_ppo", 0.0), ("league", 0.5)):
        for seed in (1, 2, 3):
            points = {
                partner: (opens + ahead + seed / 10, answers + ahead) for partner, (opens, answers) in POINTS.items()
            }
            own = {"self_play": [6.0, 6.0], "response": [8.0, 7.0], "gain": [2.0, 1.0], "nashconv": 3.0 - ahead}
            append(tmp_path / "baselines.jsonl", made_up_row(name, seed, points, exploitability=own))
    rows = {row.label: row for row in every_row(tmp_path)}
    league = describe_arm("league")
    difference = f"{league} {MINUS} `pool_ppo`"
    assert set(rows) == {describe_arm("pool_ppo"), league, difference}
    assert rows[league].figure.startswith("5.60 ") and f"{NASHCONV} 2.50" in rows[league].figure
    assert re.match(r"\+0\.50 \[.*\] points of ten, better ", rows[difference].figure)
    assert f"{NASHCONV} -0.50" in rows[difference].figure and "≤ 0.1 (Holm)" in rows[difference].figure
    board = block("headline", tmp_path)
    assert f"| {league} | " in board and f"| {difference} |" in board
    table = block("baselines", tmp_path)
    assert table.startswith("### Against") and "\n#### " in table
    assert {each.name: each.nashconv for each in headline_planes(tmp_path)[DEV]} == {"pool_ppo": 3.0, "league": 2.5}


def test_every_question_has_an_answer():
    rows, text = every_row(FOLDER), RESULTS.read_text(encoding="utf-8")
    for question in QUESTIONS:
        assert any(row.file == question.file and re.search(question.pattern, row.label) for row in rows), question
        assert f"[{question.text}](#{question.section})" in text


def test_hint_block(tmp_path):
    marks = [
        Measurement(
            HintArm(hinter, 0.0), seed, 1000 * step, 2000 * step, 0.8, share + 0.1 * step + seed / 100, 1.0, 0.9
        )
        for hinter, share in (("none", 0.5), ("random", 0.4))
        for seed in (1, 2)
        for step in (1, 2)
    ]
    experiment = HintExperiment(marks, {"random": 0.2}, {}, 7.7, "lewis, split test")
    (tmp_path / "hints.jsonl").write_text(hint_lines(experiment))
    shown = block("hints", tmp_path)
    assert "2 seeds" in shown and "(7.70 " in shown and "| random | 20.0% |" in shown
    assert "| never hinted | " in block("headline", tmp_path) and "hints: random" in every_row(tmp_path)[-1].label
    assert "71.5% ±" in shown  # without any: .5 + .2 + the mean of .01 and .02


@pytest.mark.parametrize(
    ("value", "text"), [(15_700_000.0, "15.7M"), (93_210.0, "93.2k"), (0.0712, "0.0712"), (999.0, "999")]
)
def test_rates_have_three_digits(value, text):
    assert number(value) == text
