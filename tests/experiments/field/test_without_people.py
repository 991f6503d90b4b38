"""Who learned without people, OpenSpiel's Nash products, and how both come to stand beside published figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.scenarios.data import Dialogue
from experiments.field.bargaining import ORACLE, THEIRS, Table
from experiments.field.published import nash_products, without_people
from experiments.field.published.cells import published
from experiments.field.published.gathered import gathered
from experiments.field.published.results import Found, Row, lines
from experiments.field.published.results import parsed as results_of
from experiments.field.published.table import beside, markdown
from tests.command import ROOT, dond

RESULTS = ROOT / "docs" / "results"


def kept(folder: Path, name: str, found: Found) -> Path:
    """A results file."""
    path = folder / name
    path.write_text(lines(found), encoding="utf-8")
    return path


def test_files_of_one_title_are_one_column_and_words_have_their_own_beside_the_level_of_acts(tmp_path):
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


def test_a_file_that_is_none_of_them_is_refused(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text("no results\n", encoding="utf-8")
    with pytest.raises(InputError, match="published figures"):
        gathered([path])


def test_people_s_product_and_those_of_openspiel_s_players_stand_beside_the_example():
    cells = {cell.ours: cell for cell in published().cells if cell.paper == "openspiel"}
    assert set(cells) == {"people", "nbs_is_mcts", "nbs_uniform", "nbs_full_information"}
    people = beside(cells["people"], None)
    assert people is not None and people.estimate.mean == pytest.approx(33.84, abs=0.01)
    found = Found({}, [Row("nbs_uniform", seed, 5, {"nash": 2.0 + seed}, []) for seed in range(2)])
    ours = beside(cells["nbs_uniform"], found)
    assert ours is not None and ours.estimate.mean == 2.5 and beside(cells["nbs_is_mcts"], found) is None


@pytest.mark.parametrize("name", ["self_taught.jsonl", "nash_products.jsonl"])
def test_the_stored_products_are_of_both_mean_points(name):
    found = results_of((RESULTS / name).read_text(encoding="utf-8").splitlines())
    for row in found.rows:
        assert row.measures["nash"] == pytest.approx(row.measures["points"] * row.measures["left"], abs=0.01)
    shown = (nash_products if "nash" in name else without_people).markdown(found)
    assert f"`{found.players[0].removeprefix('nbs_')}`" in shown


def test_the_oracle_s_split_on_instances_of_ones_own(tmp_path):
    """Pool 1, 2, 3. Seat 0 values the book alone, seat 1 the rest: the best split gives 10 to each."""
    pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")
    path = tmp_path / "instances.txt"
    path.write_text("1,2,3 10,0,0 0,2,2\n" * 1001 + "1,2,3 0,2,2 0,2,2\n", encoding="utf-8")
    table = Table(THEIRS, {}, instances=path)
    assert table.play(0, (ORACLE, ORACLE)) == [10.0, 10.0]
    assert table.play(1001, (ORACLE, ORACLE)) in ([4.0, 6.0], [6.0, 4.0])  # 24 is the largest product of 10 apart


@pytest.mark.slow
def test_leagues_learn_and_play_the_clone_and_what_is_kept_is_not_done_again(tmp_path):
    pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")
    path = tmp_path / "tiny.yaml"
    learner = "minibatch: 32, num_envs: 8, decisions: 30, hidden: [8]"
    league = "heldout: [], league.block_size: 2"
    path.write_text(
        f"""
seeds: 1
instances: 2
against: linear
beside: [nash_seeker]
leagues:
  - {{name: independent, config: league_self_play.yaml, member: main, settings: {{{league}, league.rounds: 1,
     learners: [{{name: main, snapshot_every: 0, matchmaking: self_play, {learner}}}]}}}}
  - {{name: psro, config: league_psro.yaml, member: oracle, plays: mixture, settings: {{{league}, league.rounds: 2,
     learners: [{{name: oracle, snapshot_every: 2, reset: 1.0, matchmaking: meta_mixture, {learner}}}]}}}}
output_dir: {tmp_path / "kept"}
""",
        encoding="utf-8",
    )
    words = ("experiment", "self-taught", "--config", path, "--results", tmp_path / "results.jsonl")
    assert dond(*words) == 0
    text = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    found = results_of(text.splitlines())
    assert found.players == ["independent", "nash_seeker", "psro", "independent_here", "nash_seeker_here", "psro_here"]
    assert all(row.games == 4 for row in found.rows)
    for shares in found.settings["mixtures"]["psro"][0]:
        assert sum(shares.values()) == pytest.approx(1.0)
    runs = sorted((tmp_path / "kept" / "leagues").glob("*/*"))
    assert dond(*words) == 0
    assert (tmp_path / "results.jsonl").read_text(encoding="utf-8") == text
    assert sorted((tmp_path / "kept" / "leagues").glob("*/*")) == runs and len(runs) == 2


def test_nash_products_are_kept_by_batches(tmp_path):
    pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")
    negotiations = ["1,2,3 10,0,0 0,2,2"] * 10
    found = nash_products.perform(negotiations, 1, 4, tmp_path, print)
    assert [row.games for row in found.rows] == [1] * 30
    assert found.of("nbs_full_information", "nash").mean == 100.0
    assert len(list(tmp_path.iterdir())) == 30
    assert lines(nash_products.perform(negotiations, 1, 4, tmp_path, print)) == lines(found)
    with pytest.raises(InputError, match="there are 10 negotiations"):
        nash_products.perform(negotiations, 2, 4, tmp_path, print)


def test_each_negotiation_is_taken_once_with_who_spoke_first_as_player_0():
    first = Dialogue((1, 4, 1), (0, 2, 2), (4, 1, 2), ("YOU:", "hats", "<eos>"), ())
    second = Dialogue((1, 4, 1), (4, 1, 2), (0, 2, 2), ("THEM:", "hats", "<eos>"), ())
    assert nash_products.scenarios_of([first, second]) == ["1,4,1 0,2,2 4,1,2"]
