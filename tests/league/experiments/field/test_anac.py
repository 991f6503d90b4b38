"""Negotiators of NegMAS against ours: cell by cell, resumable, and the file says what was found."""

import json

import pytest

from dond_marl.errors import InputError
from league.experiments.field.anac.cells import SPLIT, sample
from league.experiments.field.anac.experiment import lines, perform
from league.experiments.field.anac.findings import found_in, markdown, middle, of_best
from league.experiments.field.anac.picture import drawing
from league.experiments.field.anac.settings import AnacConfig
from league.settings.read import load_config
from partners.network.checkpoint import describe, save_checkpoint
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
    assert (
        len(said) == 3
        and "Nobody" in next(iter(first.refused))
        and "no attribute" in first.refused[next(iter(first.refused))]
    )
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


def test_other_weights_in_the_same_file_play_anew(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    mine, folder = tmp_path / "mine.json", tmp_path / "run"
    for seed, cells in ((0, 2), (0, 2), (1, 4)):
        network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(mine, tensors, describe(network))
        ours = (f"checkpoint(path={str(mine)!r})",)
        perform(config(folder, agents=(BOULWARE,), ours=ours, scenarios=2), None, {}, lambda _: None)
        assert len(list((folder / "cells").iterdir())) == cells


def test_the_shipped_settings_are_of_the_test_scenarios():
    shipped = load_config("configs/anac.yaml", (), AnacConfig)
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


def test_the_middle_half_counts_alone():
    assert middle([0, 1, 1, 3, 100, 1, 1, -50]) == pytest.approx((1 + 1 + 1 + 1) / 4)


def test_every_agent_of_the_results_file_is_named_once(request):
    path = request.config.rootpath / "docs" / "results" / "anac.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    agents = {row["player"] for row in rows if row["kind"] == "cell" and row["year"]}
    assert len(agents) >= 150 and len(found_in(path.read_text(encoding="utf-8").splitlines()).agents) == len(agents)
