"""Files of local models: folders, GGUF files and number types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from partners.llm.client import SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.model import fingerprint, load_model
from partners.llm.occupant import llm
from tests.partners.llm.test_local import answering, asks
from tests.tiny_models import CHAT, tiny_gguf, tiny_model

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
    (tmp_path / "words.txt").write_text("-")
    (tmp_path / "damaged.gguf").write_bytes(file.read_bytes()[:1000])
    sources = {
        tmp_path / "nowhere.gguf": "no model folder",
        tmp_path / "words.txt": "no model folder",
        tmp_path / "damaged.gguf": "cannot be used",
    }
    for source, reason in sources.items():
        with pytest.raises(SetupError, match=reason) as caught:
            load_model(str(source))
        assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- the numbers that are computed with


@pytest.mark.parametrize(
    ("kept", "asked", "expected"),
    [
        ("float32", "auto", "float32"), ("bfloat16", "auto", "bfloat16"), ("float16", "auto", "float32"),
        ("float32", "bfloat16", "bfloat16"), ("bfloat16", "float32", "float32"), ("float32", "float16", "float32"),
    ],
)  # fmt: skip
def test_dtype(kept, asked, expected, tmp_path):
    folder = tiny_model(tmp_path, "llama")
    load_model(str(folder)).model.to(getattr(torch, kept)).save_pretrained(folder)
    client = LocalClient(LocalSettings(str(folder), temperature=1.0, dtype=asked))
    model = client.load().model
    assert {weight.dtype for weight in model.parameters()} == {getattr(torch, expected)}
    assert all(abs(probs.sum() - 1) < 1e-9 for probs in client.scores(asks(size=2)))
    assert ("dtype" in client.identity) == (asked != "auto")
