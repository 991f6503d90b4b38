"""Folders and paths of the user, with and without a home folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from dond_marl.errors import InputError
from dond_marl.files import user_folder, user_path


@pytest.fixture(autouse=True)
def no_variables(monkeypatch, tmp_path):
    for name in ("DOND_MARL_CACHE", "DOND_MARL_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def test_home_of_an_unknown_user_is_refused(tmp_path):
    assert user_path("~/x") == tmp_path / "x" and user_path("a/~/x") == Path("a/~/x")
    with pytest.raises(InputError, match="~nosuch/x"):
        user_path("~nosuch/x")


@pytest.mark.parametrize(("kind", "own"), [("cache", "DOND_MARL_CACHE"), ("config", "DOND_MARL_HOME")])
def test_relative_user_folders_are_ignored(kind, own, monkeypatch, tmp_path):
    assert user_folder(kind) == tmp_path / f".{kind}" / "dond-marl"
    shared = f"XDG_{kind.upper()}_HOME"
    for relative in ("relative", "", "~nosuch/x"):
        monkeypatch.setenv(shared, relative)
        monkeypatch.setenv(own, relative)
        assert user_folder(kind) == tmp_path / f".{kind}" / "dond-marl"
    monkeypatch.setenv(shared, "/shared")
    assert user_folder(kind) == Path("/shared/dond-marl")
    monkeypatch.setenv(own, "/shared")
    assert user_folder(kind) == Path("/shared")
    monkeypatch.setenv(own, "~/mine")
    assert user_folder(kind) == tmp_path / "mine"


@pytest.mark.parametrize(("kind", "own"), [("cache", "DOND_MARL_CACHE"), ("config", "DOND_MARL_HOME")])
def test_missing_home_names_the_variable_to_set(kind, own, monkeypatch):
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(InputError, match=own):
        user_folder(kind)
