"""ANAC experiment: cached cells, merged blocks, results file and tables."""

import json
import math
from collections import Counter

import pytest

from dond_marl.errors import InputError
from dond_marl.statistics import Estimate
from experiments.anac import SPLIT, AnacCell, AnacConfig, anac_lines, merge_blocks, run_experiment, sample_scenarios
from experiments.anac_tables import (
    AnacPlayer,
    AnacResults,
    anac_note,
    anac_sections,
    parse_anac,
    shares_of_best,
)
from experiments.figures import anac_svg
from league.settings.read import load_config
from league.tables.markdown import section_markdown
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape
from tests.command import in_process

BOULWARE, MICRO = "negmas.sao.negotiators.BoulwareTBNegotiator", "negmas.sao.negotiators.MiCRONegotiator"


def config(folder, **given):
    same = {"packages": (), "agents": (BOULWARE, MICRO, "negmas.sao.negotiators.Nobody"), "scenarios": 4}
    return AnacConfig(**{**same, "ours": ("heuristic", "conceder"), "output_dir": str(folder), **given})


def markdown(results):
    return "\n".join(map(section_markdown, anac_sections(results)))


def test_cells_are_cached_and_continued(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    messages = []
    settings = config(tmp_path, fewer={MICRO: 2})
    first = run_experiment(settings, None, {}, messages.append)
    assert messages[0].startswith("scenarios 1 to 4 of 4: 24 games") and len(messages) == 1
    assert "Nobody" in next(iter(first.refused)) and "no attribute" in next(iter(first.refused.values()))
    cached = sorted((tmp_path / "cells").iterdir())
    assert len(cached) == 2 * 2 * 2
    cached[0].unlink()
    cached[1].write_text("damaged")
    again = run_experiment(settings, None, {}, messages.append)
    points = [(cell.player, cell.ours, cell.seat, cell.points, cell.our_points) for cell in first.cells]
    assert points == [(cell.player, cell.ours, cell.seat, cell.points, cell.our_points) for cell in again.cells]
    cached_only = config(tmp_path, fewer={MICRO: 2}, agents=(BOULWARE, MICRO))
    assert run_experiment(cached_only, "/no/python", {}, messages.append).cells == again.cells  # all cached

    found = parse_anac(anac_lines(again).splitlines())
    assert {player.name for player in found.agents} == {BOULWARE, MICRO} and found.occupants == [
        "heuristic",
        "conceder",
    ]
    boulware = next(player for player in found.agents if player.name == BOULWARE)
    own = [cell for cell in again.cells if cell.player == BOULWARE]
    assert boulware.games == 16 == sum(cell.size for cell in own)
    assert boulware.points.mean == pytest.approx(sum(sum(cell.points) for cell in own) / 16)
    assert max(max(shares_of_best(found, name)) for name in found.occupants) == 1
    text = markdown(found)
    assert "BoulwareTBNegotiator" in text and "Nobody" in text and "2 agents, 24 games of 10 turns" in text
    assert "BoulwareTBNegotiator: " in anac_svg(found)


def test_blocks_are_played_in_turn(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    messages = []
    settings = config(tmp_path, agents=(BOULWARE, MICRO), ours=("linear",), block=2, fewer={MICRO: 3})
    found = run_experiment(settings, None, {}, messages.append)
    sizes = {(cell.player, cell.seat): cell.size for cell in found.cells if cell.player != "linear"}
    assert sizes == {(BOULWARE, 0): 4, (BOULWARE, 1): 4, (MICRO, 0): 3, (MICRO, 1): 3}
    assert [line.partition(",")[0] for line in messages] == [
        "scenarios 1 to 2 of 4: 8 games",
        "scenarios 3 to 4 of 4: 6 games",
    ]
    begun = config(tmp_path, agents=(BOULWARE, MICRO), ours=("linear",), block=2, scenarios=2)
    first = run_experiment(begun, "/no/python", {}, messages.append)  # all cached
    for part, all_of in zip(first.cells, found.cells, strict=True):
        assert part.points == all_of.points[:2] and part.our_points == all_of.our_points[:2]
    assert "MiCRONegotiator (6 games)" in markdown(parse_anac(anac_lines(found).splitlines()))

    cells = {path: json.loads(path.read_text())["cell"] for path in (tmp_path / "cells").iterdir()}
    next(path for path, cell in cells.items() if cell["player"] == MICRO and len(cell["points"]) == 1).unlink()
    without = run_experiment(settings, "/no/python", {}, messages.append)  # an agent that no longer loads is left out
    assert list(without.refused) == [MICRO] and {cell.player for cell in without.cells} == {BOULWARE, "linear"}


def test_mixed_versions_are_refused(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    small = config(tmp_path, agents=(MICRO,), ours=("linear",), scenarios=2)
    run_experiment(small, None, {}, print)
    one = next((tmp_path / "cells").iterdir())
    document = json.loads(one.read_text())
    one.write_text(json.dumps({**document, "versions": {**document["versions"], "negmas": "0.1"}}))
    with pytest.raises(InputError, match=r"of negmas [\d.]+ and of negmas [\d.]+, .* name another output_dir"):
        run_experiment(small, None, {}, print)


def test_merge_blocks_weights():
    one = AnacCell("a.B", "linear", 0, [4, 0], [6, 0], 0.5, 4.0, 1.0, 0.8, 1, {"out of time": 1}, 3.0)
    other = AnacCell("a.B", "linear", 0, [5], [5], 1.0, 1.0, math.nan, math.nan, 0, {}, 9.0)
    both = merge_blocks([one, other])
    assert (both.points, both.our_points, both.size) == ([4, 0, 5], [6, 0, 5], 3)
    assert (both.deals, both.turns, both.cpu_ms) == (pytest.approx(2 / 3, abs=1e-4), 3.0, 5.0)
    assert (both.opens, both.closes, both.offered, both.forfeits) == (1.0, 0.8, 1, {"out of time": 1})
    assert math.isnan(merge_blocks([other]).opens)


def test_cache_depends_on_weights(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    mine, folder = tmp_path / "mine.json", tmp_path / "run"
    for seed, cells in ((0, 2), (0, 2), (1, 4)):
        network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(mine, tensors, network_note(network))
        ours = (f"checkpoint(path={str(mine)!r})",)
        run_experiment(config(folder, agents=(BOULWARE,), ours=ours, scenarios=2), None, {}, lambda _: None)
        assert len(list((folder / "cells").iterdir())) == cells


def test_shipped_settings():
    shipped = load_config("experiments/configs/anac.yaml", (), AnacConfig)
    assert shipped.scenarios == sample_scenarios(shipped.scenarios, 0).size and SPLIT == "paper_test"
    assert (sample_scenarios(4, 0).counts == sample_scenarios(20, 0).counts[:4]).all()


def test_invalid_agents_are_refused(tmp_path):
    pytest.importorskip("negmas", reason="the extra [negmas] is not installed")
    with pytest.raises(InputError, match="none of 1 agents loads"):
        run_experiment(config(tmp_path, agents=("negmas.sao.Nobody",)), None, {}, lambda _: None)
    with pytest.raises(InputError, match=r"leave_out and fewer name a.B"):
        run_experiment(config(tmp_path, leave_out=("a.B",)), None, {}, lambda _: None)
    with pytest.raises(ValueError, match=r"a number in 2\.\.4"):
        config(tmp_path, fewer={MICRO: 9})


def test_member_needs_run():
    done = in_process("experiment", "anac", "--member", "main")
    assert done.returncode == 2 and "--member needs --run" in done.stderr


def test_forfeit_reasons():
    sure = Estimate(1.0, 9, 1.0, 1.0)
    player = AnacPlayer(
        "a.B", "2024", sure, sure, 1.0, 1.0, 1.0, {}, Counter({"late": 2, "lost": 4, "odd": 1, "old": 1}), 9
    )
    about = {"max_turns": 10, "scenarios": "9 of them", "confidence": 0.95, "versions": {}, "day": "today"}
    note = anac_note(AnacResults({**about, "refused": {}}, [player], {}, 0.0))
    assert "Forfeits: B: 4 lost, 2 late, 2 for other reasons of 9 games." in note


def test_stored_agents_are_distinct(request):
    path = request.config.rootpath / "docs" / "results" / "anac.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    agents = {row["player"] for row in rows if row["kind"] == "cell" and row["year"]}
    assert len(agents) >= 150 and len(parse_anac(path.read_text(encoding="utf-8").splitlines()).agents) == len(agents)
