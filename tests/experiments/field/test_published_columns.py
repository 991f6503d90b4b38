"""Archived results next to published figures: learners without human data, Nash products, models of words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dond_marl.errors import InputError
from experiments.field.published.cells import published
from experiments.field.published.gathered import gathered
from experiments.field.published.results import Found, Row, lines
from experiments.field.published.results import parsed as results_of
from experiments.field.published.table import beside, markdown
from tests.command import ROOT

RESULTS = ROOT / "docs" / "results"


def kept(folder: Path, name: str, found: Found) -> Path:
    """A results file."""
    path = folder / name
    path.write_text(lines(found), encoding="utf-8")
    return path


def test_files_with_one_title_share_a_column(tmp_path):
    first = kept(tmp_path, "a.jsonl", Found({"title": "ours"}, [Row("rl", 0, 10, {"points": 7.0}, [])]))
    more = {"points": 6.0, "left": 5.0, "joint": 5.5, "nash": 30.0, "deals": 0.9}
    second = kept(tmp_path, "b.jsonl", Found({}, [Row("independent", seed, 8, more, []) for seed in (0, 1)]))
    columns = gathered([first, second, RESULTS / "words.jsonl"])
    assert [column.settings.get("title") for column in columns] == ["ours", "ours, in words"]
    assert columns[0].players == ["rl", "independent"]
    rows = markdown(published(), columns).splitlines()
    indrl = next(row for row in rows if row.startswith("| IndRL | people | Nash product |"))
    assert "| - | unread | 30.00 (30.00..30.00) | 2 seeds, 16 games |" in indrl  # no column of words, nor its figure
    likelihood = next(row for row in rows if row.startswith("| LIKELIHOOD | LIKELIHOOD | points |"))
    stored = [json.loads(line) for line in (RESULTS / "words.jsonl").read_text().splitlines()]
    mean = np.mean([line["points"]["mean"] for line in stored if line.get("against") == "itself, in words"])
    assert f"| - | {mean:.2f} (" in likelihood


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("no results\n", encoding="utf-8")
    with pytest.raises(InputError, match="published figures"):
        gathered([path])


def test_openspiel_example_has_counterparts():
    cells = {cell.ours: cell for cell in published().cells if cell.paper == "openspiel"}
    assert set(cells) == {"people", "nbs_is_mcts", "nbs_uniform", "nbs_full_information"}
    people = beside(cells["people"], None)
    assert people is not None and people.estimate.mean == pytest.approx(33.84, abs=0.01)
    found = Found({}, [Row("nbs_uniform", seed, 5, {"nash": 2.0 + seed}, []) for seed in range(2)])
    ours = beside(cells["nbs_uniform"], found)
    assert ours is not None and ours.estimate.mean == 2.5 and beside(cells["nbs_is_mcts"], found) is None


@pytest.mark.parametrize("name", ["self_taught.jsonl", "nash_products.jsonl"])
def test_stored_products_are_of_both_mean_points(name):
    found = results_of((RESULTS / name).read_text(encoding="utf-8").splitlines())
    for row in found.rows:
        assert row.measures["nash"] == pytest.approx(row.measures["points"] * row.measures["left"], abs=0.01)
