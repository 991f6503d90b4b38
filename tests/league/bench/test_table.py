"""The leaderboard: seeds of one name are one arm, and only what was measured alike stands together."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from dond.cli.bench import BEGIN, END, renew_table
from dond_marl import statistics
from dond_marl.errors import InputError
from dond_marl.occupants import parse_spec, seat_occupant
from league.bench.arms import ADVERSARY, Arm, arms_by_protocol
from league.bench.results import append, read, seal_row
from league.bench.run import measure, opponents_of, submission_of_spec
from league.bench.table import AT_LEAST, EXACT, boards, leaderboard, summary_sentences
from league.figures.rows import Figure
from league.tables.figures import format_cell
from league.tables.markdown import report_markdown
from partners.rosters import DEV, TEST3, family_of, roster
from tests.command import ROOT, dond
from tests.league.bench.made_up import made_up_row

DEMANDS = (0.5, 0.55, 0.6, 0.65, 0.7)
play = partial(measure, exploitability=False)  # solving best responses takes seconds


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    """Five seeds of an arm whose seed is how much it asks for, another arm of one run, and one of another roster."""
    opponents = opponents_of(["linear", "stubborn"])
    made = [
        play(submission_of_spec(f"heuristic(demand={demand})", "asking")._replace(seed=seed), opponents)
        for seed, demand in enumerate(DEMANDS)
    ]
    alone = play(submission_of_spec("nice", "nice"), opponents, replicates=2)
    elsewhere = play(submission_of_spec("nice", "nice"), opponents_of(["heuristic"]), replicates=2)
    return [*made, alone, elsewhere]


def cells(section, table: int, label: str) -> dict[str, Figure]:
    block = section.blocks[table]
    (line,) = (row for row in block.rows if row.label == label)
    return dict(zip(block.heads, line.cells, strict=True))


def test_results_group_by_protocol(rows):
    groups = arms_by_protocol(rows)
    assert sorted(sorted(arm.name for arm in arms) for _, arms in groups) == [["asking", "nice"], ["nice"]]
    report = leaderboard(rows)
    assert len(report.sections) == 2 and report.summary.startswith("7 ")
    keys = {section.key for section in report.sections}
    assert len(keys) == 2 and not any(" " in key for key in keys)
    for section in report.sections:
        points = [row.cells[section.blocks[0].heads.index("points")].estimate.mean for row in section.blocks[0].rows]
        assert points == sorted(points, reverse=True)


@pytest.fixture(scope="module")
def by_family() -> list[dict]:
    """The same submission on all scenarios and on a sample of them, against a family of train and another one."""
    opponents = opponents_of(["boulware", "nash_seeker", "trembling(of=linear, rate=0.2)"])
    return [
        play(submission_of_spec("nice"), opponents, replicates=2),
        play(submission_of_spec("nice"), opponents, sample=200),
    ]


def test_a_family_of_train_is_one_by_its_program_and_inside_too(by_family):
    for row in by_family:
        (section,) = leaderboard([row]).sections
        head = row["benchmark"]["headline"]
        points = {partner: [] for partner in ("boulware", "nash_seeker", "trembling(of=linear, rate=0.2)")}
        for cell in row["cells"]:
            points[cell["partner"]].append(cell["points"][head])
        new = np.mean(points.pop("nash_seeker"))
        known = np.mean(list(points.values()))
        found = cells(section, 1, "nice")
        assert found["new families"].estimate.mean == pytest.approx(new, abs=1e-5)
        assert found["known families"].estimate.mean == pytest.approx(known, abs=1e-5)


def test_interval_of_one_run_with_named_partners_is_that_of_its_games(by_family):
    """On a sample of scenarios, which the cells have in common, it is at least as wide."""
    for row in by_family:
        own, found = row["figures"]["points"], cells(leaderboard([row]).sections[0], 0, "nice")["points"].estimate
        assert found.mean == pytest.approx(own["value"], abs=1e-5)
        if row["benchmark"]["every_scenario"]:
            assert (found.low, found.high) == pytest.approx((own["low"], own["high"]), abs=1e-5)
        else:
            assert found.low <= own["low"] + 1e-5 and own["high"] - 1e-5 <= found.high


def test_several_seeds_have_an_interval_over_seeds(rows):
    (section, _) = leaderboard(rows).sections
    points = [row["figures"]["points"]["value"] for row in rows if row["submission"]["name"] == "asking"]
    found = cells(section, 0, "asking")
    assert found["points"].estimate.mean == pytest.approx(np.mean(points), abs=1e-5)
    assert min(points) <= found["points"].estimate.low < found["points"].estimate.high <= max(points) + 1e-5
    assert found["seeds"].estimate.mean == len(DEMANDS)
    assert found["± over seeds"].estimate.mean == pytest.approx(statistics.mean_of(points, 0.95).margin, abs=1e-4)


def test_one_run_on_a_roster_has_the_interval_of_its_partners():
    points = {partner: (5.0 + place, 6.0 + place) for place, partner in enumerate(roster(DEV))}
    (section,) = leaderboard([made_up_row("mine", None, points)]).sections
    found = cells(section, 0, "mine")
    assert found["points"].estimate.low < found["points"].estimate.mean - 1
    assert found["worst tenth (CVaR)"].estimate.mean == pytest.approx((5.5 + 0.2 * 6.5) / 1.2)  # of twelve partners
    split = cells(section, 1, "mine")
    assert split["seat_1"].estimate.mean == pytest.approx(split["seat_0"].estimate.mean + 1)
    traits = {partner: seat_occupant(partner).traits for partner in points}
    for head, belongs in (
        ("with memory", lambda own: not own.memoryless),
        ("random partners", lambda own: not own.deterministic),
    ):
        families: dict[str, list[float]] = {}
        for partner, own in traits.items():
            if belongs(own):
                families.setdefault(family_of(parse_spec(partner)), []).append(points[partner][0] + 0.5)
        assert split[head].estimate.mean == pytest.approx(np.mean([np.mean(own) for own in families.values()]))


def test_gain_of_the_best_labels_weighs_families_as_the_headline_does():
    """Two members of one family count as one of another; the plain mean over partners that a line holds does not."""
    gains = {"heuristic": [-1.0, 0.6], "linear(floor=0.35)": [-0.2, -0.4]}
    points = dict.fromkeys(("heuristic", "linear", "linear(floor=0.35)"), (5.0, 5.0))
    figures = {"points": {"value": 5.0}, "best_labels": {"value": 0.2, "by_partner": gains}}
    rows = [made_up_row("mine", seed, points, figures=figures) for seed in (1, 2)]
    (section,) = leaderboard([*rows, made_up_row("older", 1, points)]).sections
    assert cells(section, 0, "mine")["best labels"].estimate.mean == pytest.approx((0.6 + 0.0) / 2)
    assert cells(section, 0, "older")["best labels"] is None


def test_rows_with_programs_of_people_are_shown_without_their_files(tmp_path, monkeypatch):
    """Only playing needs the contest's repository and Node."""
    monkeypatch.chdir(tmp_path)
    rows = [made_up_row("mine", seed, dict.fromkeys(roster(TEST3)[:2], (6.0, 5.0)), roster=TEST3) for seed in (1, 2)]
    assert "5.50" in report_markdown(leaderboard(rows))


def test_of_results_of_one_name_and_seed_the_last_counts(rows):
    changed = seal_row(
        {**rows[0], "figures": {**rows[0]["figures"], "points": {**rows[0]["figures"]["points"], "value": 9.0}}}
    )
    ((_, arms), _) = arms_by_protocol([*rows, changed])
    (asking,) = (arm for arm in arms if arm.name == "asking")
    assert len(asking.rows) == len(DEMANDS)
    assert max(row["figures"]["points"]["value"] for row in asking.rows) == 9.0


def test_arms_are_compared_with_the_one_that_is_named(rows):
    compared = cells(leaderboard(rows, over="nice").sections[0], -1, "asking")
    assert compared["verdict"] in ("better", "worse", "equivalent", "undecided")
    with pytest.raises(InputError):
        leaderboard(rows, over="nobody")


def test_gains_of_an_adversary_are_exact_or_at_least(rows):
    *asking, nice, _ = rows
    own = {"self_play": [6.0, 6.0], "response": [8.0, 7.0], "gain": [2.0, 1.0], "nashconv": 3.0}
    exact = [{**row, "exploitability": own} for row in asking]
    bound = {**nice, "adversary": {"gain": [2.5, 1.75], "at_least": 4.25}}
    (board,) = boards([*exact, bound])
    gains = {name: cells(board.section, 0, name)[ADVERSARY] for name in ("asking", "nice")}
    assert {name: (cell.estimate.mean, cell.sign) for name, cell in gains.items()} == {
        "asking": (3.0, EXACT),
        "nice": (4.25, AT_LEAST),
    }
    assert format_cell(gains["nice"], n=False) == "\N{GREATER-THAN OR EQUAL TO} 4.25"
    assert "4.25" in " ".join(summary_sentences(bound))
    mixed = {**asking[0], "adversary": bound["adversary"]}
    assert cells(boards([mixed, *exact[1:]])[0].section, 0, "asking")[ADVERSARY].sign == AT_LEAST
    assert Arm("asking", (asking[0], *exact[1:])).adversary_gains() is None


@pytest.mark.parametrize(
    ("form", "mark"), [("text", "Arms, best first"), ("markdown", "| arm |"), ("html", "<!doctype")]
)
def test_the_command_renders_it_in_every_format(rows, tmp_path, capsys, form, mark):
    path = tmp_path / "bench.jsonl"
    for row in rows:
        append(path, row)
    assert dond("bench", "table", "--results", path, "--format", form) == 0
    shown = capsys.readouterr().out
    assert mark.lower() in shown.lower() and "asking" in shown
    if form != "text":
        assert dond("bench", "table", "--results", path, "--format", form, "--out", tmp_path / "out") == 0
        assert (tmp_path / "out").read_text() == shown


def test_page_matches_the_results_and_submissions():
    folder = ROOT / "leaderboard"
    page, rows = folder / "README.md", read([ROOT / "docs" / "results" / "bench.jsonl", folder])
    text = page.read_text(encoding="utf-8")
    assert renew_table(text, leaderboard(rows), str(page)) == text, "renew it: make leaderboard"


def test_a_submission_is_a_results_file_that_is_signed_off(rows, tmp_path, capsys):
    clean, changed = (seal_row({**rows[0], "code": {**rows[0]["code"], "changed_since": by}}) for by in (False, True))
    append(tmp_path / "bench.jsonl", clean)
    name = clean["submission"]["name"]
    words = ("--by", "Jane <jane@example.org>", "--command", "dond bench it", "--results", tmp_path / "bench.jsonl")
    (board := tmp_path / "board").mkdir()
    for _ in range(2):  # again: the same file
        assert dond("bench", "submit", name, *words, "--out", board) == 0
    ((file,), (signed,)) = [*board.iterdir()], read([board])
    assert signed.pop("signed_off") == {"by": "Jane <jane@example.org>", "command": "dond bench it"}
    assert seal_row(signed) == clean and report_markdown(leaderboard([signed])) == report_markdown(leaderboard([clean]))
    file.write_text(file.read_text().replace("Jane", "Joan"))
    assert dond("bench", "table", "--results", board) == 2  # the name is under the seal
    (tmp_path / "bench.jsonl").write_text(json.dumps(changed) + "\n")
    for asked in (name, "nobody"):
        assert dond("bench", "submit", asked, *words, "--out", board) == 2
    assert dond("bench", "submit", name, *words, "--out", tmp_path / "none") == 2


def test_page_without_marks_is_unchanged(rows, tmp_path, capsys):
    append(tmp_path / "bench.jsonl", rows[0])
    page = tmp_path / "page.md"
    page.write_text("# A page\n")
    assert dond("bench", "table", "--results", tmp_path / "bench.jsonl", "--page", page) == 2
    assert BEGIN in capsys.readouterr().err and page.read_text() == "# A page\n"
    page.write_text(f"# A page\n{BEGIN}\nthe last table\n{END}\nafter\n")
    assert dond("bench", "table", "--results", tmp_path / "bench.jsonl", "--page", page) == 0
    assert (
        "the last table" not in page.read_text()
        and "asking" in page.read_text()
        and page.read_text().endswith("\nafter\n")
    )
