"""The small model that ships with the package: its card, its quality, and when it is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dond_marl.conformance import check_partner
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from partners.llm.local.model import SMALL_MODEL, model_path
from partners.llm.occupant import CARD, llm, read_card
from partners.llm.service import resolve_provider
from partners.provenance import identity

FOLDER = model_path(SMALL_MODEL)


def test_card_and_size(tmp_path):
    card = read_card(FOLDER)
    assert card["teacher"] == "expert" and card["history_cap"] == 0 and read_card(tmp_path) == {}
    assert all(games["split"] in ("train", "near") for games in card["recipe"]["games"])
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2**20
    assert {path.suffix for path in FOLDER.iterdir()} == {".json", ".safetensors"}
    assert f"distilled {card['name']}" in identity("llm(provider=hf)")


@pytest.mark.slow
def test_points_of_the_expert():
    """The small model gets nearly the expert's points from a partner, by legal acts."""
    source = open_source("lewis", split="test")
    scenarios, model, expert = source.block(0, 0, 150), llm("hf"), seat_occupant("expert")
    points = [rollout((player, seat_occupant("boulware")), scenarios, seed=0).scores[:, 0].mean()
              for player in (model, expert)]  # fmt: skip
    assert points[0] > 0.9 * points[1]
    check_partner(model)


@pytest.mark.parametrize("arguments", [{"prompt": "short"}, {"prompt_path": "other.txt"}])
def test_other_prompt_is_refused(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("Your move: {counts_csv}")
    with pytest.raises(ValueError, match="name another model"):
        llm("hf", **arguments)


def test_card_of_another_folder_is_read(tmp_path):
    (tmp_path / CARD).write_text(json.dumps({"name": "abc", "history_cap": 3}))
    assert llm("hf", str(tmp_path)).history_cap == 3
    (tmp_path / CARD).write_text("{")
    assert llm("hf", str(tmp_path)).history_cap == 20


def test_auto_provider(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert resolve_provider("auto") == "hf" and not llm().traits.remote
    monkeypatch.setenv("GROQ_API_KEY", "")
    assert resolve_provider("auto") == "hf", "an empty key is no key"
    monkeypatch.setenv("GROQ_API_KEY", "gsk_of_a_test")
    assert resolve_provider("auto") == "groq" and llm().traits.remote
    assert "gsk_of_a_test" not in repr(llm().client.identity)
    assert not llm("hf").traits.remote, "a named provider is not replaced"
    for arguments, reason in (
        ({"model": "m"}, "needs its provider"),
        ({"provider": "hal"}, "one of auto, groq, openai, hf"),
    ):
        with pytest.raises(ValueError, match=reason):
            llm(**arguments)
