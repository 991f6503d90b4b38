"""The figures of the README and the results page are those of the files under docs/results, and there are no others."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pytest

from dond_marl.errors import RunFailure
from experiments.results.__main__ import BLOCK, PAGES, RESULTS, make_all, outdated, rewrite_blocks
from experiments.results.arms import WRITTEN_BY, arms_in, non_dominated, plane_arms, with_best_labels
from experiments.results.figures import FIGURES, FOLDER_OF_FIGURES, acts_curves
from experiments.results.files import COMPARISONS, EXPLOITED, FOLDER, MADE_BY
from experiments.results.pages import (
    budgets,
    difference_table,
    differences,
    finals,
    preregistered,
)
from experiments.results.tables import table_csv, table_rows
from league.bench.held_out import LOG
from league.bench.results import append, read, seal_row
from partners.rosters import DEV, DEV2, LOGGED, TEST2, TEST3
from tests.command import dond, experiment
from tests.league.bench.made_up import made_up_row

README, _, EQUILIBRIA = PAGES
TEMPLATES = RESULTS.parents[1] / "experiments" / "results"
FIGURE = re.compile(r"\d")
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)
# Digits of the prose that are no measurements.
ALLOWED = re.compile(
    r"\(\w+ et al\. \d{4}\)|\b20[012]\d\b|95 % intervals|accuracy 15 points above|\b24 (partners|members)\b|^## \d\. "
    r"|^\d+\. (?=\*\*)|\b50 finalists|\bof 51\b|\bin \d+ % of (it|the practice)|intervals are 95 %"
    r"|\b(dev2|test[23])\b|\[[^]]*\]\([^)]*\)|`[^`]*`|\b(4|24)M acts",
    re.MULTILINE,
)
CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)  # of a template


def test_pages_figures_and_tables_are_current():
    """By the SHA-256 of the inputs and outputs; that the same comes out is tested among the slow ones."""
    assert not outdated(), "run python -m experiments.results"


@pytest.mark.slow
def test_the_same_comes_out_again():
    for path, text in make_all().items():
        before = path.read_text(encoding="utf-8")
        if path.suffix == ".svg":  # another version of Matplotlib draws the same values otherwise
            before, text = DESCRIPTION.findall(before), DESCRIPTION.findall(text)
        assert before == text, f"{path.name}: run python -m experiments.results"


def test_prose_has_no_measurements():
    readme = BLOCK.sub("", README.read_text(encoding="utf-8").split("\n## Results\n")[1].split("\n## ")[0])
    template = CODE.sub("", (TEMPLATES / "RESULTS.md.j2").read_text(encoding="utf-8"))
    for text in (readme, template):
        prose = ALLOWED.sub("", text)
        assert not FIGURE.search(prose), [line for line in prose.splitlines() if FIGURE.search(line)]


def test_every_file_has_a_command_and_every_template_a_page():
    measured = {path.name.removesuffix(".xz") for path in FOLDER.iterdir() if path.is_file()}
    planned = {f"{name}.jsonl" for name in COMPARISONS}  # measured or not
    assert measured | planned == set(MADE_BY) | {LOG.format(name) for name in LOGGED}
    shown = {name for page in PAGES for name, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown | {RESULTS.stem, "README"} == {path.name.removesuffix(".md.j2") for path in TEMPLATES.glob("*.j2")}


RUN = ("python -m", "dond ")  # beginnings of commands; some files are made otherwise
COMMANDS = sorted({made for made in MADE_BY.values() if "at commit" not in made and made.startswith(RUN)})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_named_options(command, capsys):
    program, words = (experiment, command.split()[3:]) if command.startswith("python") else (dond, command.split()[1:])
    assert program(*(["bench", "run"] if words[0] == "bench" else words[:1]), "--help") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in words if word.startswith("--"))


def test_pages_follow_the_files(tmp_path):
    """A figure that was changed in a file, or on a page, is found."""
    text = next(block[0] for block in BLOCK.finditer(EQUILIBRIA.read_text(encoding="utf-8")) if block[1] == "pools")
    rows = [
        {"turns": 4, "counts": [1, 2, 2], "share": 0.75, "nashconv": [0.01, 0.02]},
        {"turns": 4, "counts": [1, 3, 3], "share": 0.25, "nashconv": [0.05, 0.06]},
    ]
    (tmp_path / "equilibrium_pools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "| 4 | 0.020 to 0.030 | 0.050 to 0.060 | 1-3-3, 25.0% of games |" in rewrite_blocks(text, tmp_path)
    assert "4,1-2-2,0.75,0.01,0.02" in table_csv("equilibrium_pools.csv", tmp_path)
    by_hand = text.replace("1-3-3", "1-3-4")
    assert by_hand != text == rewrite_blocks(by_hand)


def test_exploitability_of_old_rows_comes_from_the_files_of_best_responses(tmp_path):
    """Joined by arm, seed and settings, so that points and NashConv stand in one table."""
    for name in EXPLOITED:
        shutil.copy(FOLDER / name, tmp_path)
    for row in read([FOLDER / "robust.jsonl"]):
        if row["submission"]["name"] in ("itself_0", "itself_10"):
            append(tmp_path / "robust.jsonl", row)
    lines = [json.loads(line) for line in (FOLDER / "exploited_robust.jsonl").read_text(encoding="utf-8").splitlines()]
    mean = np.mean([sum(line["gain"]) for line in lines if line["arm"] == "itself_10"])
    assert arms_in("robust", tmp_path, DEV)["itself_10"].nashconv.mean == pytest.approx(mean)


def test_rows_of_uncommitted_sources_are_refused(tmp_path):
    row = made_up_row("mine", 1, POINTS, code={"commit": "0" * 40, "changed_since": True, "uncommitted": True})
    append(tmp_path / "baselines.jsonl", row)
    with pytest.raises(RunFailure, match="uncommitted"):
        plane_arms(tmp_path)


POINTS = {"linear": (5.0, 6.0), "linear(floor=0.35)": (7.0, 6.0), "sniper(fair=0.3)": (4.0, 5.0)}


def add_arm(path, name, ahead, nashconv, *, seeds=(1, 2, 3), roster=DEV2, acts=1_000_000):
    """Append rows of an arm that has ``ahead`` more points of ten than ``POINTS`` from each partner."""
    for seed in seeds:
        points = {partner: tuple(each + ahead + seed / 100 for each in both) for partner, both in POINTS.items()}
        own = {"self_play": [6.0, 6.0], "response": [8.0, 7.0], "gain": [2.0, 1.0], "nashconv": nashconv}
        row = made_up_row(name, seed, points, roster=roster, exploitability=own)
        append(path, seal_row({**row, "submission": {**row["submission"], "acts": acts}}))


def test_dominated_arms_are_not_listed(tmp_path):
    """Any arms and seeds; one seed of a learned policy stands last, and is not compared."""
    path = tmp_path / "arms_4m.jsonl"
    for name, ahead, nashconv in (("pool_ppo", 0.0, 4.0), ("league", 0.5, 3.0), ("itself_25", -0.5, 3.5)):
        add_arm(path, name, ahead, nashconv)
    add_arm(path, "both", 1.0, 5.0, seeds=(1,))
    plane = plane_arms(tmp_path)
    assert [arm.arm.name for arm in non_dominated(plane)] == ["both", "league"]
    (league,) = [arm for arm in plane if arm.arm.name == "league"]
    assert league.points.mean == pytest.approx((6.0 + 4.5) / 2 + 0.5 + 0.02)  # two families alike
    rows = differences(tmp_path, "arms_4m")
    assert list(rows) == ["league", "itself_25"]
    league = rows["league"]
    assert (league["mean"], league["verdict"], league["seeds"]) == ("+0.50", "better", "3")
    assert league["NashConv"].startswith("-1.00")
    assert difference_table(rows.values()).count("\n") == 3
    found = {row["arm"]: row for row in csv.DictReader(table_csv("differences.csv", tmp_path).splitlines())}
    assert found["league"]["verdict"] == "better" and float(found["league"]["more NashConv"]) == -1.0
    arms = {row["arm"] for row in csv.DictReader(table_csv("arms.csv", tmp_path).splitlines())}
    assert arms == {"both", "league", "pool_ppo", "itself_25"}


def test_known_and_new_families(tmp_path):
    add_arm(tmp_path / "arms_4m.jsonl", "pool_ppo", 0.0, 4.0)
    arm = arms_in("arms_4m", tmp_path)["pool_ppo"]  # sniper is no program of the train roster
    assert arm.known.mean == pytest.approx(6.02) and arm.new.mean == pytest.approx(4.52)


def test_held_out_points_by_who_wrote_the_partners(tmp_path):
    """Each part of test2 has its mean and its difference from plain PPO.

    With the best labels plain PPO gains 0.3 points from one of four partners, so the difference is 0.075 less.
    """
    points = {"independent(program=a_door_in_the_face)": 7.0, "independent(program=b_brinkman)": 5.0,
              "negmas(agent='negmas.sao.negotiators.NiceNegotiator')": 9.0, "linear": 6.0}  # fmt: skip
    for name, ahead, label in (("pool_ppo", 0.0, 0.3), ("generated_50", 0.5, 0.0)):
        for seed in (1, 2, 3):
            moved = {partner: [mean + ahead * (partner != "linear")] * 2 for partner, mean in points.items()}
            figures = {"best_labels": {"by_partner": {"linear": [-1.0, label]}}}
            append(tmp_path / "arms_test2.jsonl", made_up_row(name, seed, moved, roster=TEST2, figures=figures))
    add_arm(tmp_path / "arms_4m.jsonl", "generated_50", 0.0, 4.0)
    _, row = (
        dict(row) for row in sorted(table_rows("held_out.csv", tmp_path), key=lambda row: row["arm"] == "generated_50")
    )
    assert [row[f"points, {part}"].mean for part in WRITTEN_BY] == pytest.approx([6.5, 9.5, 6.0])
    parts = ("all", "best labels", "author a", *WRITTEN_BY)
    assert [row[part].mean for part in parts] == pytest.approx([0.375, 0.3, 0.5, 0.5, 0.5, 0.0])
    assert with_best_labels(arms_in("arms_4m", tmp_path)["generated_50"].arm) is None


def test_places_and_comparisons_among_the_finalists(tmp_path):
    """The place of an arm is that of its mean among the published ones; the comparisons are those written down."""
    (tmp_path / "finals.json").write_text('{"points": [8.0, 7.0, 6.0, 5.0]}')
    programs = [f"agent(path='{number}.js', sha256='{number:016}')" for number in range(4)]
    for name, opens, answers in (("pool_ppo", 6.0, 5.0), ("league_people", 8.0, 6.0), ("default_league", 6.0, 5.5)):
        for seed in (1, 2, 3, 4):
            points = dict.fromkeys(programs, (opens + seed / 100, answers))
            append(tmp_path / "people.jsonl", made_up_row(name, seed, points, roster=TEST3))
    winner, *rows = finals(tmp_path).values()
    assert (winner["place"], winner["points"]) == ("1", "8.00")
    assert [[row[key] for key in ("place", "points", "seat_0", "seat_1", "gain")] for row in rows] == [
        ["2", "7.01 ±0.01", "8.03 ±0.02", "6.00", "-"],
        ["4", "5.76 ±0.01", "6.02 ±0.02", "5.50", "-"],
        ["4", "5.51 ±0.01", "6.02 ±0.02", "5.00", "-"],
    ]
    assert [row["difference"].split()[0] for row in rows] == ["+1.50", "+0.25", "-"]
    assert [row["points"].split()[0] for row in preregistered(tmp_path)] == ["+1.50", "+2.00", "+1.00", "+0.25"]


def test_budgets_of_one_arm_are_compared_across_files(tmp_path):
    add_arm(tmp_path / "arms_1m.jsonl", "league", 0.0, 4.0)
    add_arm(tmp_path / "full_budget.jsonl", "league_whole", 0.5, 3.0, acts=24_000_000)
    (points,) = acts_curves(tmp_path).values()
    assert [(acts, arm.file) for acts, arm in points] == [(1e6, "arms_1m"), (24e6, "full_budget")]
    (row,) = budgets(tmp_path, "league")
    assert (row["span"], row["verdict"], row["known"], row["new"]) == ("1M to 24M acts", "better", "+0.50", "+0.50")


def test_shown_figures_are_the_drawn_ones():
    """Some are shown by pages of the league alone."""
    pages = (README, *RESULTS.parent.glob("*.md"))
    shown = {name for page in pages for name in re.findall(r"figures/(\w+\.svg)", page.read_text(encoding="utf-8"))}
    assert shown <= set(FIGURES) == {path.name for path in FOLDER_OF_FIGURES.iterdir()}
