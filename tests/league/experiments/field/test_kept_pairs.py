"""What is kept: pairs say when and with what they were played; nothing stands for other weights or other learning."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")

from league.experiments.field import psro, psro_league
from league.experiments.field.bargaining import GAMES, Table, perform
from league.experiments.field.published.self_taught import LeagueSection
from league.settings.presets import preset
from partners.network.checkpoint import describe, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape


def test_pairs_of_other_weights_under_the_same_name_are_played_anew(tmp_path):
    path, kept = tmp_path / "net.json", tmp_path / "kept"
    spec = f"checkpoint(path={str(path)!r})"

    def played(seed):
        network = PolicyNetwork(NetworkShape(hidden=(4,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(path, tensors, describe(network))
        rows = perform([spec], 2, 2, kept, lambda _: None)
        return rows, len(list(kept.iterdir()))

    first, number = played(0)
    assert all(row.date and row.versions["open_spiel"] for row in first) and number == len(first)
    assert played(0) == (first, number)
    theirs = sum(spec not in (row.who, row.against) for row in first)
    assert played(1)[1] == 2 * number - theirs


def test_what_was_learned_in_another_way_is_not_taken_for_what_is_asked_for(monkeypatch):
    pytest.importorskip("torch")
    game = Table(GAMES[0], {}).game
    found = [psro.learning_of_theirs(game, *asked) for asked in ((240, 0), (240, 1), (4800, 0))]
    found.append(psro.learning_of_theirs(Table(GAMES[1], {}).game, 240, 0))
    with monkeypatch.context() as changed:
        changed.setitem(psro.AGENT, "pi_learning_rate", 0.5)
        found.append(psro.learning_of_theirs(game, 240, 0))
    with monkeypatch.context() as changed:
        changed.setitem(psro.SOLVER, "sims_per_entry", 3)
        found.append(psro.learning_of_theirs(game, 240, 0))
    with monkeypatch.context() as changed:
        changed.setattr(psro, "WAY", psro.WAY + 1)
        found.append(psro.learning_of_theirs(game, 240, 0))
    assert len({str(each) for each in found}) == len(found)
    assert psro.learning_of_theirs(game, 240, 0) == found[0]


def test_a_league_with_other_settings_is_not_taken_for_the_one_that_was_played(tmp_path):
    text = preset(Path("league_psro.yaml")).read_text(encoding="utf-8")
    path, found = tmp_path / "league.yaml", []

    def section(**settings):
        return LeagueSection(name="psro", config=str(path), member="oracle", plays="mixture", settings=settings)

    for entropy in ("ent: 0.01", "ent: 0.02"):  # the file's own settings, under the same name
        path.write_text(text.replace("ent: 0.01", entropy), encoding="utf-8")
        found.append(psro_league.learning_of_ours(section(), 0))
    found.append(psro_league.learning_of_ours(section(), 1))
    found.append(psro_league.learning_of_ours(section(**{"league.rounds": 3}), 0))
    assert len({str(each) for each in found}) == 4 and psro_league.learning_of_ours(section(), 1) == found[2]
