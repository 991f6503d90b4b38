"""The small model that ships with the package: its card, its quality, and when it is used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.conformance import check_partner
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from partners.llm.client import SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.model import SMALL_MODEL, fingerprint, load_model, model_path
from partners.llm.occupant import CARD, llm, read_card
from partners.llm.service import resolve_provider
from partners.provenance import identity
from tests.partners.llm.test_local import answering, asks
from tests.tiny_models import CHAT, tiny_gguf, tiny_model

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
    with pytest.raises(ValueError, match="needs its provider"):
        llm(model="m")


# -- Files of local models: folders, GGUF files and number types-------------------------------------------------


ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def model_files(tmp_path) -> tuple[Path, Path]:
    """A model as a folder, and the same as a GGUF file alone in a folder."""
    pytest.importorskip("gguf", reason="pip install -e '.[gguf]' brings what writes the file")
    pytest.importorskip("accelerate", reason="pip install -e '.[gguf]' brings what reads the file")
    folder = tiny_model(tmp_path / "folder", "llama", chat=CHAT, hidden_size=32, head_dim=8)
    (tmp_path / "gguf").mkdir()
    return folder, tiny_gguf(folder, tmp_path / "gguf" / "tiny.gguf")


def test_gguf_replies_equal_the_original_model(model_files):
    folder, file = model_files
    asked = asks(size=4)
    expected = LocalClient(LocalSettings(str(folder), temperature=1.0)).scores(asked)
    scores = LocalClient(LocalSettings(str(file), temperature=1.0)).scores(asked)
    for one, other in zip(scores, expected, strict=True):
        assert np.abs(one - other).max() < 1e-5
    assert llm("hf", str(file)).act(answering(4)).cause.tolist() == [0] * 4
    assert load_model(str(file)).tokenizer.chat_template == CHAT
    assert fingerprint(file) != fingerprint(folder) and fingerprint(file) != str(file)


def test_unreadable_model(model_files, tmp_path):
    _, file = model_files
    with pytest.raises(SetupError, match="no model folder"):
        load_model(str(tmp_path / "nowhere.gguf"))
    (tmp_path / "damaged.gguf").write_bytes(file.read_bytes()[:1000])
    with pytest.raises(SetupError, match="cannot be used"):
        load_model(str(tmp_path / "damaged.gguf"))


# ---------------------------------------------------------------- the numbers that are computed with


@pytest.mark.parametrize(
    ("kept", "asked", "expected"),
    [
        ("bfloat16", "auto", "bfloat16"),
        ("float16", "auto", "float32"),
        ("bfloat16", "float32", "float32"),
    ],
)
def test_dtype(kept, asked, expected, tmp_path):
    folder = tiny_model(tmp_path, "llama")
    load_model(str(folder)).model.to(getattr(torch, kept)).save_pretrained(folder)
    client = LocalClient(LocalSettings(str(folder), temperature=1.0, dtype=asked))
    model = client.load().model
    assert {weight.dtype for weight in model.parameters()} == {getattr(torch, expected)}
    assert all(abs(probs.sum() - 1) < 1e-9 for probs in client.scores(asks(size=2)))
    assert ("dtype" in client.identity) == (asked != "auto")
