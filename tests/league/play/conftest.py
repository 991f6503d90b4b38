"""Fixtures of tests of tasks: a folder of weights, and a partner of a third party that breaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.league.play.backend_tasks import install_plugin
from tests.third_party import on_the_path


@pytest.fixture
def blobs(tmp_path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """The partner ``broken`` of a third party is installed, here and for workers."""
    with on_the_path(install_plugin(tmp_path / "site"), monkeypatch):
        yield
