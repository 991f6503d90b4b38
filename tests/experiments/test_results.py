"""The figures of the README and the results page are those of the files under docs/results, and there are no others."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil

import numpy as np
import pytest

from dond_marl.errors import RunFailure
from dond_marl.occupants import parse_spec
from experiments.hint_tables import hint_lines
from experiments.hints import HintArm, HintExperiment, Measurement
from experiments.results.__main__ import BLOCK, PAGES, make_all, outdated, rewrite_blocks
from experiments.results.arms import NAMES, arms_in, by_family, known_and_new, non_dominated, number, reference_points
from experiments.results.figures import (
    FIGURES,
    HEADLINE,
    ORACLES,
    acts_curves,
    headline,
    plane_arms,
    programs_curves,
    share_curves,
    svg,
)
from experiments.results.files import COMPARISONS, EXPLOITED, FOLDER, MADE_BY, boards_of, document
from experiments.results.findings import BLOCKS, MOST_CLAIMS, NOTHING, README_ARMS, TABLE_ROWS, block, chosen_league
from experiments.results.tables import TABLES, table_csv
from league.bench.differences import MINUS
from league.bench.results import ResultsError, append, seal_row
from league.bench.test2 import LOG
from partners.rosters import DEV, DEV2, TEST2
from tests.command import dond
from tests.league.bench.made_up import made_up_row

README, RESULTS, _ = PAGES
FIGURE = re.compile(r"\d")
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)
# Digits of the prose that are no measurements.
ALLOWED = re.compile(
    r"\(\w+ et al\. \d{4}\)|\b20[012]\d\b|95 % intervals|accuracy 15 points above|\b24 (partners|members)\b|^## \d\. "
    r"|\b(dev|test)2\b|\[[^]]*\]\([^)]*\)|`[^`]*`",
    re.MULTILINE,
)


@pytest.fixture
def folder(tmp_path):
    """The committed files, in a folder that may be changed."""
    return shutil.copytree(FOLDER, tmp_path / "results")


def test_pages_figures_and_tables_are_current():
    """By the SHA-256 of what was read and made; that the same comes out is tested among the slow ones."""
    assert not outdated(), "run python -m experiments.results"


@pytest.mark.slow
def test_the_same_comes_out_again():
    for path, text in make_all().items():
        before = path.read_text(encoding="utf-8")
        if path.suffix == ".svg":  # another version of Matplotlib draws the same values otherwise
            before, text = DESCRIPTION.findall(before), DESCRIPTION.findall(text)
        assert before == text, f"{path.name}: run python -m experiments.results"


def test_figures_are_shown_and_hold_no_script():
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for path in (HEADLINE, *(HEADLINE.parent / "figures" / name for name in FIGURES)):
        text = path.read_text(encoding="utf-8")
        assert DESCRIPTION.search(text) and "<script" not in text and f"{path.name})" in pages


@pytest.mark.parametrize("page", (README, RESULTS), ids=lambda page: page.name)
def test_prose_has_no_measurements(page):
    text = page.read_text(encoding="utf-8")
    if page == README:
        text = text.split("\n## Results\n")[1].split("\n## ")[0]
    prose = ALLOWED.sub("", BLOCK.sub("", text))
    assert not FIGURE.search(prose), [line for line in prose.splitlines() if FIGURE.search(line)]


def test_every_file_has_a_command_or_is_archived_and_every_block_is_shown():
    archived = set(
        re.findall(r"^\| `([\w.]+)` \|", (FOLDER.parent / "ARCHIVE.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    measured = {path.name for path in FOLDER.iterdir() if path.is_file()}
    planned = {f"{name}.jsonl" for name in COMPARISONS}  # measured or not
    assert measured | planned == set(MADE_BY) | archived | {LOG}
    shown = {name for page in PAGES for name, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
    assert shown == set(BLOCKS)


COMMANDS = sorted({made for made in MADE_BY.values() if made.startswith("dond") and "at commit" not in made})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_have_the_named_options(command, capsys):
    words = command.split()[1:]
    names = [word for word in words if not word.startswith("-")]
    names = names[: 2 if words[0] in ("experiment", "data", "ship") else 1]
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
    assert "0.123" in table_csv("people.csv", folder)
    by_hand = text.replace("heuristic", "heuristics")
    assert by_hand != text == rewrite_blocks(by_hand)


def test_missing_files_have_no_rows(tmp_path):
    assert all(block(name, tmp_path) == NOTHING for name in BLOCKS)
    assert all(not table_csv(name, tmp_path).strip() for name in TABLES)
    assert "<svg" in svg(headline(tmp_path)) and all("<svg" in svg(make(tmp_path)) for make in FIGURES.values())


def test_exploitability_of_old_rows_comes_from_the_files_of_best_responses(tmp_path):
    """Joined by arm, seed and settings, so that points and NashConv stand in one table."""
    for name in EXPLOITED:
        shutil.copy(FOLDER / name, tmp_path)
    rows = (FOLDER / "robust.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    some = ("itself_0", "itself_10")
    (tmp_path / "robust.jsonl").write_text(
        "".join(row for row in rows if json.loads(row)["submission"]["name"] in some), encoding="utf-8"
    )
    lines = [json.loads(line) for line in (FOLDER / "exploited_robust.jsonl").read_text(encoding="utf-8").splitlines()]
    mean = np.mean([sum(line["gain"]) for line in lines if line["arm"] == "itself_10"])
    assert arms_in("robust", tmp_path, DEV)["itself_10"].nashconv.mean == pytest.approx(mean)
    _, curves = share_curves(tmp_path, ORACLES)
    assert {label: [share for share, _ in own] for label, own in curves.items()} == {"self-play": [0, 10]}


def test_rows_of_uncommitted_sources_are_refused(tmp_path):
    row = made_up_row("mine", 1, POINTS, code={"commit": "0" * 40, "changed_since": True, "uncommitted": True})
    append(tmp_path / "baselines.jsonl", row)
    with pytest.raises(RunFailure, match="uncommitted"):
        block("frontier", tmp_path)


def test_damaged_file_and_unknown_block(tmp_path):
    (tmp_path / "people.json").write_text("{")
    with pytest.raises(RunFailure, match=r"people\.json: cannot be read .* make it again by: dond train"):
        block("people", tmp_path)
    (tmp_path / "expert.jsonl").write_text("{}\n")
    with pytest.raises(ResultsError, match="line 1"):
        boards_of("expert", tmp_path)
    marks = "<!-- made by python -m experiments.results: none -->\n\n<!-- end of none -->"
    with pytest.raises(RunFailure, match="unknown block none"):
        rewrite_blocks(marks, tmp_path)


POINTS = {"linear": (5.0, 6.0), "linear(floor=0.35)": (7.0, 6.0), "sniper(fair=0.3)": (4.0, 5.0)}


def add_arm(path, name, ahead, nashconv, *, seeds=(1, 2, 3), roster=DEV2, acts=1_000_000):
    """Append rows of an arm that has ``ahead`` more points of ten than ``POINTS`` from each partner."""
    for seed in seeds:
        points = {partner: tuple(each + ahead + seed / 100 for each in both) for partner, both in POINTS.items()}
        own = {"self_play": [6.0, 6.0], "response": [8.0, 7.0], "gain": [2.0, 1.0], "nashconv": nashconv}
        row = made_up_row(name, seed, points, roster=roster, exploitability=own)
        append(path, seal_row({**row, "submission": {**row["submission"], "acts": acts}}))


def test_frontier_readme_and_tables_take_the_arms_that_there_are(tmp_path):
    """Any arms and seeds: what is dominated is not listed, one seed of a learned policy stands last in the README."""
    path = tmp_path / "arms_4m.jsonl"
    for name, ahead, nashconv in (("pool_ppo", 0.0, 4.0), ("league", 0.5, 3.0), ("itself_25", -0.5, 3.5)):
        add_arm(path, name, ahead, nashconv)
    add_arm(path, "both", 1.0, 5.0, seeds=(1,))
    assert [each.arm.name for each in non_dominated(plane_arms(tmp_path))] == ["both", "league"]
    text = block("headline", tmp_path)
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+)", text, re.MULTILINE)
    assert [name for name, _ in rows] == [NAMES[arm] for arm in ("league", "pool_ppo", "itself_25", "both")]
    assert rows[0][1] == f"{(6.0 + 4.5) / 2 + 0.5 + 0.02:.2f}"  # two families alike, whatever the number of members
    assert re.search(rf"^- {NAMES['league']} {MINUS} {NAMES['pool_ppo']}: \+0\.50 \[.*better.*3 seeds", text, re.M)
    assert len(text.splitlines()) <= 25
    found = {row["arm"]: row for row in csv.DictReader(table_csv("differences.csv", tmp_path).splitlines())}
    assert found["league"]["verdict"] == "better" and float(found["league"]["more NashConv"]) == -1.0
    assert {row["arm"] for row in csv.DictReader(table_csv("arms.csv", tmp_path).splitlines())} == {
        "both", "league", "pool_ppo", "itself_25",
    }  # fmt: skip


def test_the_default_league_is_the_arm_of_the_rule(tmp_path):
    """The least NashConv among arms at most 0.10 below plain PPO; without plain PPO nothing is chosen."""
    path = tmp_path / "arms_4m.jsonl"
    for name, ahead, nashconv in (("league", -0.05, 3.0), ("both", 0.05, 3.5), ("itself_50", -0.2, 2.0)):
        add_arm(path, name, ahead, nashconv)
    assert not chosen_league(tmp_path)
    other = tmp_path / "with_plain"
    other.mkdir()
    shutil.copy(path, other)
    add_arm(other / path.name, "pool_ppo", 0.0, 4.0)
    (text,) = chosen_league(other)
    assert text.endswith(f"league: {NAMES['league']} (3 seeds).") and text in block("frontier", other)


def test_the_readme_names_few_arms(tmp_path):
    for place, (name, *_) in enumerate(README_ARMS):
        add_arm(tmp_path / "arms_4m.jsonl", name, place / 10, 3.0, seeds=(1, 2))
    assert len(re.findall(r"^\| ", block("headline", tmp_path), re.MULTILINE)) == TABLE_ROWS + 2
    assert len(re.findall(r"^- ", block("headline", tmp_path), re.MULTILINE)) == MOST_CLAIMS


def test_known_and_new_families_by_roster(tmp_path):
    add_arm(tmp_path / "arms_4m.jsonl", "pool_ppo", 0.0, 4.0)
    add_arm(tmp_path / "arms_test2.jsonl", "pool_ppo", 1.0, 4.0, roster=TEST2)
    arm = arms_in("arms_4m", tmp_path)["pool_ppo"].arm
    known, new = known_and_new(arm)  # sniper is no program of the train roster
    assert known.mean == pytest.approx(6.02) and new.mean == pytest.approx(4.52)
    assert by_family(arm) == pytest.approx({"linear": 6.02, "sniper": 4.52})
    text = block("families", tmp_path)
    assert re.search(r"dev2: 6.02 ±\S+ and 4.52 ±", text) and re.search(r"test2: 7.02 ±\S+ and 5.52 ±", text)
    assert math.isnan(reference_points(parse_spec(arm), ["none"])) and 6 < reference_points(parse_spec(arm)) < 10


def test_held_out_points_by_who_wrote_the_partners(tmp_path):
    """Each part of test2 has its mean and its difference from plain PPO; arms of other acts have their own table.

    With the best labels plain PPO gains 0.3 points from one of four partners, so the difference is 0.075 less.
    """
    points = {"independent(program=a_door_in_the_face)": 7.0, "independent(program=b_brinkman)": 5.0,
              "negmas(agent='negmas.sao.negotiators.NiceNegotiator')": 9.0, "linear": 6.0}  # fmt: skip
    for file in ("arms_test2", "arms_24m_test2"):
        for name, ahead, label in (("pool_ppo", 0.0, 0.3), ("generated_50", 0.5, 0.0)):
            for seed in (1, 2, 3):
                moved = {partner: [mean + ahead * (partner != "linear")] * 2 for partner, mean in points.items()}
                figures = {"best_labels": {"by_partner": {"linear": [-1.0, label]}}}
                append(tmp_path / f"{file}.jsonl", made_up_row(name, seed, moved, roster=TEST2, figures=figures))
    add_arm(tmp_path / "arms_4m.jsonl", "generated_50", 0.0, 4.0)
    text = block("held_out", tmp_path)
    rows = re.findall(rf"^\| {NAMES['generated_50']} \| (7.12.*)$", text, re.MULTILINE)
    cells = [[cell.split()[0] for cell in row.split(" | ")[1:6]] for row in rows]
    assert cells == [["6.50", "9.50", "6.00", "5.50", exploited] for exploited in ("4.00", "-")]  # 4M acts, 24M acts
    (row,) = set(re.findall(rf"^\| {NAMES['generated_50']} \| (\+0.38.*)$", text, re.MULTILINE))
    assert [cell.split()[0].strip(",") for cell in row.split(" | ")[2:6]] == ["+0.30", "+0.50", "+0.50", "+0.00"]
    front = block("headline", tmp_path)  # the README has both rosters side by side, and the differences of test2
    assert re.search(rf"^\| {NAMES['generated_50']} \| 5.27 \S+ \| 7.12 \S+ \| 4.00", front, re.MULTILINE)
    assert re.search(rf"^- {NAMES['generated_50']} .*\+0.38 ", front, re.MULTILINE)


def test_budgets_of_one_arm_are_compared_across_files(tmp_path):
    add_arm(tmp_path / "arms_1m.jsonl", "league", 0.0, 4.0)
    add_arm(tmp_path / "full_budget.jsonl", "league_whole", 0.5, 3.0, acts=24_000_000)
    (points,) = acts_curves(tmp_path).values()
    assert [(acts, each.file) for acts, each in points] == [(1e6, "arms_1m"), (24e6, "full_budget")]
    assert re.search(rf"{NAMES['league']}: 24M acts {MINUS} 1M acts \| \+0\.50 .*\| \+0\.50 \| \+0\.50 \| better",
                     block("acts", tmp_path))  # fmt: skip


def test_arms_are_ordered_by_the_number_of_their_programs(tmp_path):
    assert not programs_curves(tmp_path / "without results")
    for name, ahead in (("generated_50", 0.5), ("programs_4096", 0.3), ("programs_24", 0.1)):
        add_arm(tmp_path / "generated.jsonl", name, ahead, 4.0)
    (points,) = programs_curves(tmp_path).values()
    counts = [count for count, _ in points]
    assert [arm.arm.name for _, arm in points] == ["programs_24", "programs_4096", "generated_50"]
    assert counts[:2] == [24, 4096] and counts[2] > 4096


def test_gains_of_labels_are_listed_above_the_bar(tmp_path):
    for name, gain in (("pool_ppo", 0.0), ("league", 0.6)):
        gains = {"value": 9.0, "by_partner": {"linear": [gain, -1.0]}}
        append(tmp_path / "arms_4m.jsonl", made_up_row(name, 1, POINTS, roster=DEV2, figures={"best_labels": gains}))
    text = block("labels", tmp_path)
    assert f"mean of 1 of 2 arms, most to {NAMES['league']} (dev2) 0.15" in text  # a member of two, a family of two
    rows = {row["arm"]: row for row in csv.DictReader(table_csv("labels.csv", tmp_path).splitlines())}
    assert (rows["league"]["above 0.02"], rows["pool_ppo"]["above 0.02"]) == ("yes", "no")


def test_worst_pool_of_an_equilibrium_stands_next_to_the_mean(tmp_path):
    rows = [
        {"turns": 4, "counts": [1, 2, 2], "share": 0.75, "nashconv": [0.01, 0.02]},
        {"turns": 4, "counts": [1, 3, 3], "share": 0.25, "nashconv": [0.05, 0.06]},
    ]
    (tmp_path / "equilibrium_pools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "| 4 | 0.020 to 0.030 | 0.050 to 0.060 | 1-3-3, 25.0% of games |" in block("pools", tmp_path)


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
    assert "2 seeds" in shown and "- never hinted: 71.5% ±" in shown  # .5 + .2 + the mean of .01 and .02
    assert "- hints of random: 61.5% ±" in shown and "-10.0 [" in shown


@pytest.mark.parametrize(
    ("value", "text"), [(15_700_000.0, "15.7M"), (93_210.0, "93.2k"), (0.0712, "0.0712"), (999.0, "999")]
)
def test_rates_have_three_digits(value, text):
    assert number(value) == text
