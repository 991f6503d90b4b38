"""The human line: worked examples, the stored figures, and what is known of the published dialogues."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dond_marl.dialogues.human_line import (
    FAIR,
    MEANINGS,
    STORED,
    _figures,
    as_lines,
    human_line,
    selection,
    store,
    stored_human_line,
    to_json,
)
from dond_marl.scenarios.data import DIALOGUE_SPLITS, Dialogue
from tests.command import in_process

NO_DEAL = ("<disagree>",) * 6


def row(own_items: tuple[int, ...] | None, opens: bool = True, turns: int = 3) -> Dialogue:
    """A negotiation over 1 book, 2 hats, 1 ball, worth 4, 2, 2 to us and 0, 3, 4 to them; we got ``mine``."""
    counts = (1, 2, 1)
    speakers = ("YOU:", "THEM:") if opens else ("THEM:", "YOU:")
    words = [word for turn in range(turns) for word in (speakers[turn % 2], "hello", "<eos>")]
    output = NO_DEAL
    if own_items is not None:
        partner_items = tuple(n - m for n, m in zip(counts, own_items, strict=True))
        output = tuple(f"item{kind}={n}" for share in (own_items, partner_items) for kind, n in enumerate(share))
    return Dialogue(counts, (4, 2, 2), (0, 3, 4), tuple(words), output)


# --- Worked examples ------------------------------------------------------------------------------------------------


def test_the_figures_of_four_negotiations_by_hand():
    """We get the book and both hats (8 to 4), then book and ball (6 to 6), nothing, and all but one hat (8 to 3)."""
    rows = [row((1, 2, 0)), row((1, 0, 1), opens=False, turns=5), row(None), row((1, 1, 1), opens=False)]
    means = {name: figure.mean for name, figure in _figures(rows).items()}
    assert means == pytest.approx(
        {
            "deals": 3 / 4,
            "score": 22 / 4,
            "score_of_deals": 22 / 3,
            "joint_of_deals": 35 / 3,
            # With the book we can have 4:10, 6:7 (and a hat), 8:4 (both hats), 6:6 (the ball), 8:3 (a hat and the
            # ball), 10:0. So 8:4 alone is Pareto-optimal of our deals; the highest sum is 14 of 4:10, the highest
            # product 42 of 6:7, the highest minimum 6.
            "pareto_of_deals": 1 / 3,
            "nash_point_of_deals": 0,
            "most_points_of_deals": 0,
            "max_min_of_deals": 1 / 3,
            "fair_of_deals": 1 / 3,
            "nash_product_mean_of_products": (32 + 36 + 0 + 24) / 4,
            "nash_product_of_means": (8 + 6 + 0 + 3) / 4 * (4 + 6 + 0 + 8) / 4,
            "nash_product_of_deals": (32 + 36 + 24) / 3,
            "turns": (3 + 5 + 3 + 3) / 4,
            "first": (8 + 6 + 0 + 3) / 4,
            "second": (4 + 6 + 0 + 8) / 4,
            "first_of_deals": (8 + 6 + 3) / 3,
            "second_of_deals": (4 + 6 + 8) / 3,
            "first_minus_second": (17 - 18) / 4,
            "first_minus_second_of_deals": (17 - 18) / 3,
        }
    )
    assert FAIR == 5


def test_selections_that_do_not_add_up_are_no_deal():
    assert selection(row((1, 0, 1))) == (1, 0, 1)
    assert selection(row(None)) is None
    clash = row((1, 0, 1))._replace(output=("item0=1", "item1=2", "item2=1", "item0=1", "item1=2", "item2=0"))
    assert selection(clash) is None


# --- The stored figures ---------------------------------------------------------------------------------------------


def test_human_line_ships_with_the_package():
    """Every figure has a meaning, an interval around its mean and the number of negotiations behind it."""
    line = stored_human_line()
    assert list(line.figures) == list(MEANINGS)
    assert set(line.files) == {f"{split}.txt" for split in DIALOGUE_SPLITS}
    assert all(len(digest) == 64 for digest in line.files.values())
    for name, figure in line.figures.items():
        assert figure.low < figure.mean < figure.high
        assert figure.n == (9531 if name.endswith("of_deals") else line.perspectives)
    assert len(as_lines(line)) == 1 + len(MEANINGS)


def test_stored_human_line_holds_numbers_and_source(tmp_path):
    store(stored_human_line(), tmp_path / "line.json")
    assert (tmp_path / "line.json").read_bytes() == STORED.read_bytes()


# --- The published files --------------------------------------------------------------------------------------------


def test_the_stored_figures_are_those_of_the_files(data_dir):
    computed, stored = to_json(human_line(data_dir)), to_json(stored_human_line())
    if computed["files"] == stored["files"]:
        assert computed == stored
    for name, figure in stored["figures"].items():  # the published train.txt holds the same rows in another order
        assert computed["figures"][name] == pytest.approx(figure, abs=2e-4)


# --- The script -----------------------------------------------------------------------------------------------------


def humans(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return in_process("data", "humans", *arguments, cwd=cwd)


def test_command_shows_the_stored_figures(tmp_path):
    result = humans("--json", "line.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "deals" in result.stdout and "77.91 %" in result.stdout
    assert json.loads((tmp_path / "line.json").read_text())["human_line"] == to_json(stored_human_line())


def test_command_without_data_has_no_traceback(tmp_path):
    result = humans("--data-dir", tmp_path / "nowhere", cwd=tmp_path)
    assert result.returncode == 1 and "dond data fetch" in result.stderr and "Traceback" not in result.stderr
    result = humans("--json", tmp_path / "no" / "folder.json", cwd=tmp_path)
    assert result.returncode == 1 and "folder.json" in result.stderr and "Traceback" not in result.stderr
    result = humans("--store", cwd=tmp_path)
    assert result.returncode == 2 and "--data-dir" in result.stderr
