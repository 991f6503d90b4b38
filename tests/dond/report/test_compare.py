"""Comparison of runs: seeds of one config are one curve, arms are compared on the same partners."""

from __future__ import annotations

import pytest

from dond.report.compare import SEED, ComparedRun, comparison_of, read_compared
from dond.report.render import report_html
from dond_marl.errors import InputError
from league.tables.blocks import Report
from tests.command import in_process


@pytest.fixture(scope="module")
def run(finished_league) -> ComparedRun:
    return read_compared(finished_league)


def variant(run: ComparedRun, name: str, more: float = 0.0, **settings: str) -> ComparedRun:
    """The run with changed settings and ``more`` points from every partner."""
    scores = {partner: (first + more, second + more) for partner, (first, second) in run.strangers.items()}
    curve = tuple(point._replace(points=point.points._replace(mean=point.points.mean + more)) for point in run.curve)
    return run._replace(label=name, settings={**run.settings, **settings}, strangers=scores, curve=curve)


def blocks(report: Report, key: str):
    return next(section for section in report.sections if section.key == key).blocks


def test_seeds_of_one_config_are_one_curve_with_a_band(run):
    seeds = [run, variant(run, "b", 1.0, **{SEED: "77"}), variant(run, "c", 2.0, **{SEED: "78"})]
    for number in (2, 3):  # two seeds have no band
        report = comparison_of(seeds[:number])
        (curves,) = blocks(report, "learning")
        points = curves.points
        assert len({point.member for point in points}) == 1 and not report.abstract
        assert [len(seed) for seed in curves.seeds] == [len(run.curve)] * number and not blocks(report, "differences")
        assert all(point.points.n == number for point in points)
        assert {point.points.low < point.points.mean for point in points} == {number == 3}
        assert points[0].points.mean == pytest.approx(run.curve[0].points.mean + (number - 1) / 2)


def test_arms_are_compared_on_the_same_partners(run):
    changed = {"league.rounds": "99"}
    report = comparison_of([run, variant(run, "b", 1.0, **changed), variant(run, "c", **changed, **{SEED: "77"})])
    (row,) = blocks(report, "differences")[0].rows
    assert row.cells[0].estimate.mean == pytest.approx(0.5) and row.cells[2].estimate.mean == 2
    assert "better" not in str(report.abstract) + row.cells[1]  # the first arm has one run
    settings = {row.label: row.cells for row in blocks(report, "settings")[0].rows}
    assert settings["league.rounds"] == (run.settings["league.rounds"], "99") and set(settings) == {
        "league.rounds",
        SEED,
    }
    assert report_html(report)


def test_settings_that_differ_are_few_lines(run):
    more = {"members.sniper.name": "sniper", "members.sniper.spec": "sniper", "league.rounds": "99"}
    gate = {"learners.main.gate.kind": "points", "learners.main.gate.timeout": "20"}
    plain = {key: text for key, text in run.settings.items() if not key.startswith("learners.main.gate")}
    first = run._replace(settings={**plain, "learners.main.gate": "None"})
    second = variant(first, "b", **more)._replace(settings={**plain, **more, **gate}, fixed={"sniper": (1.0, 1.0)})
    report = comparison_of([first, second])
    rows = {row.label: row.cells for row in blocks(report, "settings")[0].rows}
    assert rows == {
        "members: not in all": ("none", "sniper"),
        "learners.main.gate": ("None", "kind points, timeout 20"),
        "league.rounds": (run.settings["league.rounds"], "99"),
        SEED: (run.settings[SEED],) * 2,
    }
    same = comparison_of([run, variant(run, "b", **{"league.rounds": "99"})])
    assert len({blocks(each, "learning")[0].opponents for each in (report, same)}) == 2  # other fixed members


def test_runs_with_equal_settings_and_seed_are_refused(run, finished_league):
    with pytest.raises(InputError, match="same settings"):
        comparison_of([run, variant(run, "b")])
    done = in_process("report", *["--run", finished_league] * 9)
    assert done.returncode == 2 and "9 runs" in done.stderr
