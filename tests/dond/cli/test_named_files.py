"""Files that a person names on the command line: a pipe, a device or a folder is refused, never read."""

from __future__ import annotations

import os

import pytest

from dond.study.journal import Journal
from tests.command import in_process

WORDS = (
    "league --dry-run --config",
    "train --dry-run --config",
    "study serve --config",
    "data transcripts replay",
    "study export study --codes",
    "play --partner llm(provider=hf,model=none,prompt_path='{}')",
    "play --partner {}:X",
    "evaluate --against heuristic --member {}:X",
    "bench table --page",
)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_only_regular_files_are_read(words, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study").mkdir()
    Journal(tmp_path / "study" / "journal.sqlite").close()
    make(tmp_path / "named.py")
    line = words.format("named.py") if "{}" in words else f"{words} named.py"
    done = in_process(*line.split())
    assert done.returncode in (1, 2) and "named.py" in done.stderr and "Traceback" not in done.stderr, done
