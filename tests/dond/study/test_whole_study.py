"""A whole study of 129 simulated participants by forms, with a kill in the middle."""

from __future__ import annotations

import io
import re
import sys
import time
from contextlib import ExitStack

import httpx
import pytest

from dond.study.analysis import MEASURES
from dond.study.export import anonymise
from dond.study.progress import open_study
from dond.study.settings import StudyConfig
from league.settings.read import load_config
from tests.command import ROOT, in_process, run_dond
from tests.dond.study.visitors import Forms, Visitor, kind_of, scores_by_rollout
from tests.dond.web.browser import Server

PARTICIPANTS = 129  # as many as played in Li et al. 2023
KILLED_AFTER = 12  # rounds in which each participant takes a step
OVERRIDES = ("output_dir=study", "study.waiting=25")
SETS = [word for override in OVERRIDES for word in ("--set", override)]


@pytest.fixture
def server(tmp_path):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    running = Server(tmp_path, "study", "serve", *SETS)
    yield running
    running.end("SIGTERM", 143)


@pytest.mark.slow
def test_whole_study_with_a_kill(server, tmp_path):
    settings = load_config(ROOT / "configs" / "study.yaml", OVERRIDES, StudyConfig)
    with ExitStack() as open_clients:
        visitors = []
        for number in range(PARTICIPANTS):
            client = httpx.Client(base_url=server.address, timeout=60, trust_env=False)
            visitor = Visitor(Forms(open_clients.enter_context(client)), kind_of(number), settings)
            visitor.wrong_first = number % 10 == 0
            while "Begin" not in visitor.surface.page():
                visitor.step()
            visitors.append(visitor)
        open_, rounds = list(visitors), 0
        while open_:
            open_, rounds = [visitor for visitor in open_ if not visitor.step()], rounds + 1
            if rounds == KILLED_AFTER:
                server.kill()
                server.start()
            if len(open_) < 4:  # the last ones wait without success
                time.sleep(0.3)
            assert rounds < 3000, f"{len(open_)} are not done"
    progress = open_study(tmp_path / "study")
    assert [each.phase for each in progress.participants] == ["done"] * PARTICIPANTS
    assert all(each.attempts == (each.number % 10 == 0) for each in progress.participants)
    games = anonymise(progress, 0).games
    assert [row.table.state.outcome.scores for row in games] == [scores_by_rollout(row.table) for row in games]
    (tmp_path / "codes").write_text("\n".join([*(visitor.code for visitor in visitors), "AAAA-BBBB-CCCC"]))
    told = run_dond("study", "export", "study", "--codes", "codes", cwd=tmp_path).stdout
    assert told.count(": given out here") == PARTICIPANTS and told.count("not given out here") == 1
    exported = run_dond("study", "export", "study", "--to", "out", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    analysed = run_dond("study", "analyse", "out", cwd=tmp_path)
    assert analysed.returncode == 0 and all(name in analysed.stdout for name in ("prosocial", "person", *MEASURES[:2]))
    log = server.log.read_text()
    assert f"continued with {PARTICIPANTS} participants" in log
    assert not re.search("|".join(visitor.code for visitor in visitors), log)


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


@pytest.mark.slow
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
