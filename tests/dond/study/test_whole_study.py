"""The server of a study: what it needs on a public address, its lock, its settings after a kill."""

from __future__ import annotations

import io
import sys

import httpx
import pytest

from tests.command import ROOT, in_process
from tests.dond.web.browser import Server

OVERRIDES = ("output_dir=study", "study.waiting=25")
SETS = [word for override in OVERRIDES for word in ("--set", override)]


@pytest.fixture
def server(tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    running = Server(tmp_path, "study", "serve", *SETS)
    yield running
    running.end("SIGTERM", 143)


def test_public_address_needs_password_and_texts(tmp_path, monkeypatch):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = in_process("study", "serve", "--host", "0.0.0.0", cwd=tmp_path)
    assert done.returncode == 2 and "texts.consent, texts.thanks" in done.stderr
    own = [word for text in ("consent", "thanks") for word in ("--set", f"texts.{text}=mine")]
    done = in_process("study", "serve", "--host", "0.0.0.0", *own, cwd=tmp_path)
    assert done.returncode == 2 and "password" in done.stderr
    monkeypatch.setenv("DOND_STUDY_PASSWORD", "short")
    done = in_process("study", "serve", "--host", "0.0.0.0", *own, cwd=tmp_path)
    assert done.returncode == 2 and "got 5" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_study_is_locked_and_keeps_its_settings(server, tmp_path):
    words = ("study", "serve", "--port", "0", *SETS)
    done = in_process(*words, cwd=tmp_path)
    assert done.returncode == 1 and "in use" in done.stderr
    server.kill()
    done = in_process(*words, "--set", "study.games=7", cwd=tmp_path)
    assert done.returncode == 2 and "output_dir=" in done.stderr
    server.start()
    with httpx.Client(base_url=server.address, trust_env=False) as client:
        assert 'action="/agree"' in client.get("/").text
