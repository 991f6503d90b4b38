"""Negotiators of NegMAS against ours: cell by cell, resumable, and the file says what was found."""

import json
import math

import pytest

from dond_marl.errors import InputError
from dond_marl.statistics import Estimate
from experiments.field.anac.cells import SPLIT, Cell, sample, whole
from experiments.field.anac.experiment import lines, perform
from experiments.field.anac.findings import Found, Player, found_in, markdown, notes, of_best
from experiments.field.anac.picture import drawing
from experiments.field.anac.settings import AnacConfig
from league.settings.read import load_config
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from tests.command import in_process

BOULWARE, MICRO = "negmas.sao.negotiators.BoulwareTBNegotiator", "negmas.sao.negotiators.MiCRONegotiator"


def config(folder, **given):
    same = {"packages": (), "agents": (BOULWARE, MICRO, "negmas.sao.negotiators.Nobody"), "scenarios": 4}
    return AnacConfig(**{**same, "ours": ("heuristic", "conceder"), "output_dir": str(folder), **given})


def test_cells_are_played_kept_and_gone_on_with(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    said = []
    whole = config(tmp_path, fewer={MICRO: 2})
    first = perform(whole, None, {}, said.append)
    assert said[0].startswith("scenarios 1 to 4 of 4: 24 games") and len(said) == 1
    assert "Nobody" in next(iter(first.refused)) and "no attribute" in next(iter(first.refused.values()))
    kept = sorted((tmp_path / "cells").iterdir())
    assert len(kept) == 2 * 2 * 2
    kept[0].unlink()
    kept[1].write_text("damaged")
    again = perform(whole, None, {}, said.append)
    points = [(cell.player, cell.ours, cell.seat, cell.points, cell.our_points) for cell in first.cells]
    assert points == [(cell.player, cell.ours, cell.seat, cell.points, cell.our_points) for cell in again.cells]
    with_nothing_to_play = config(tmp_path, fewer={MICRO: 2}, agents=(BOULWARE, MICRO))
    assert perform(with_nothing_to_play, "/no/python", {}, said.append).cells == again.cells  # nobody is asked

    found = found_in(lines(again).splitlines())
    assert {player.who for player in found.agents} == {BOULWARE, MICRO} and found.ours == ["heuristic", "conceder"]
    boulware = next(player for player in found.agents if player.who == BOULWARE)
    own = [cell for cell in again.cells if cell.player == BOULWARE]
    assert boulware.games == 16 == sum(cell.size for cell in own)
    assert boulware.points.mean == pytest.approx(sum(sum(cell.points) for cell in own) / 16)
    assert max(max(of_best(found, name)) for name in found.ours) == 1
    text = markdown(found)
    assert "BoulwareTBNegotiator" in text and "Nobody" in text and "2 agents, 24 games of 10 turns" in text
    assert drawing(found).count("<circle") == 2 + 3  # and the legend's


def test_all_play_a_block_before_anybody_plays_the_next_and_what_was_played_stays(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    said = []
    whole = config(tmp_path, agents=(BOULWARE, MICRO), ours=("linear",), block=2, fewer={MICRO: 3})
    found = perform(whole, None, {}, said.append)
    sizes = {(cell.player, cell.seat): cell.size for cell in found.cells if cell.player != "linear"}
    assert sizes == {(BOULWARE, 0): 4, (BOULWARE, 1): 4, (MICRO, 0): 3, (MICRO, 1): 3}
    assert [line.partition(",")[0] for line in said] == [
        "scenarios 1 to 2 of 4: 8 games",
        "scenarios 3 to 4 of 4: 6 games",
    ]
    begun = config(tmp_path, agents=(BOULWARE, MICRO), ours=("linear",), block=2, scenarios=2)
    first = perform(begun, "/no/python", {}, said.append)  # nobody is asked
    for part, all_of in zip(first.cells, found.cells, strict=True):
        assert part.points == all_of.points[:2] and part.our_points == all_of.our_points[:2]
    assert "MiCRONegotiator (6 games)" in markdown(found_in(lines(found).splitlines()))

    cells = {path: json.loads(path.read_text())["cell"] for path in (tmp_path / "cells").iterdir()}
    next(path for path, cell in cells.items() if cell["player"] == MICRO and len(cell["points"]) == 1).unlink()
    without = perform(whole, "/no/python", {}, said.append)  # where it loads no more, half of it is not counted
    assert list(without.refused) == [MICRO] and {cell.player for cell in without.cells} == {BOULWARE, "linear"}


def test_cells_of_two_versions_of_a_package_are_not_put_together(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    small = config(tmp_path, agents=(MICRO,), ours=("linear",), scenarios=2)
    perform(small, None, {}, print)
    one = next((tmp_path / "cells").iterdir())
    document = json.loads(one.read_text())
    one.write_text(json.dumps({**document, "versions": {**document["versions"], "negmas": "0.1"}}))
    with pytest.raises(InputError, match=r"of negmas [\d.]+ and of negmas [\d.]+, .* name another output_dir"):
        perform(small, None, {}, print)


def test_blocks_count_by_their_games_and_claims_by_the_games_with_an_offer():
    one = Cell("a.B", "linear", 0, [4, 0], [6, 0], 0.5, 4.0, 1.0, 0.8, 1, {"out of time": 1}, 3.0)
    other = Cell("a.B", "linear", 0, [5], [5], 1.0, 1.0, math.nan, math.nan, 0, {}, 9.0)
    both = whole([one, other])
    assert (both.points, both.our_points, both.size) == ([4, 0, 5], [6, 0, 5], 3)
    assert (both.deals, both.turns, both.cpu_ms) == (pytest.approx(2 / 3, abs=1e-4), 3.0, 5.0)
    assert (both.opens, both.closes, both.offered, both.forfeits) == (1.0, 0.8, 1, {"out of time": 1})
    assert math.isnan(whole([other]).opens)


def test_other_weights_in_the_same_file_play_anew(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    mine, folder = tmp_path / "mine.json", tmp_path / "run"
    for seed, cells in ((0, 2), (0, 2), (1, 4)):
        network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(mine, tensors, network_note(network))
        ours = (f"checkpoint(path={str(mine)!r})",)
        perform(config(folder, agents=(BOULWARE,), ours=ours, scenarios=2), None, {}, lambda _: None)
        assert len(list((folder / "cells").iterdir())) == cells


def test_the_shipped_settings_are_of_the_test_scenarios():
    shipped = load_config("experiments/configs/anac.yaml", (), AnacConfig)
    assert shipped.scenarios == sample(shipped.scenarios, 0).size and SPLIT == "paper_test"
    assert (sample(4, 0).counts == sample(20, 0).counts[:4]).all()


def test_what_cannot_be_played_is_said(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    with pytest.raises(InputError, match="none of 1 agents loads"):
        perform(config(tmp_path, agents=("negmas.sao.Nobody",)), None, {}, lambda _: None)
    with pytest.raises(InputError, match=r"leave_out and fewer name a.B"):
        perform(config(tmp_path, leave_out=("a.B",)), None, {}, lambda _: None)
    with pytest.raises(ValueError, match=r"a number in 2\.\.4"):
        config(tmp_path, fewer={MICRO: 9})


def test_a_member_is_one_of_a_run():
    done = in_process("experiment", "anac", "--member", "main")
    assert done.returncode == 2 and "--member is for --run" in done.stderr


def test_the_commonest_reasons_of_a_forfeit_are_named_and_the_others_counted():
    sure = Estimate(1.0, 9, 1.0, 1.0)
    player = Player("a.B", "2024", sure, sure, 1.0, 1.0, 1.0, {}, {"late": 2, "lost": 4, "odd": 1, "old": 1}, 9)
    about = {"max_turns": 10, "scenarios": "9 of them", "confidence": 0.95, "versions": {}, "day": "today"}
    told = notes(Found({**about, "refused": {}}, [player], {}, 0.0))
    assert "Forfeits: B: 4 lost, 2 late, 2 for other reasons of 9 games." in told


def test_every_agent_of_the_results_file_is_named_once(request):
    path = request.config.rootpath / "docs" / "results" / "anac.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    agents = {row["player"] for row in rows if row["kind"] == "cell" and row["year"]}
    assert len(agents) >= 150 and len(found_in(path.read_text(encoding="utf-8").splitlines()).agents) == len(agents)
