"""Windows, as far as Linux can show it: what it lacks is taken away first, and processes are started afresh."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.league.play.test_league import ROOT, write_settings

CODE = """
import os, signal, sys
import multiprocessing, subprocess, concurrent.futures, random, logging, threading, shutil, errno
multiprocessing.set_start_method("spawn")
opens, shutil._use_fd_functions = os.open, False
def open_no_folder(path, *more, **named):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
    return opens(path, *more, **named)
os.open = open_no_folder
for name in "fork forkpty killpg sched_getaffinity getuid sysconf O_DIRECTORY".split():
    delattr(os, name)
for name in "SIGKILL SIGHUP SIGALRM pthread_kill setitimer".split():
    if name in signal.Signals._member_map_:
        del signal.Signals._member_map_[name]
        signal.Signals._member_names_.remove(name)
    delattr(signal, name)
from dond.__main__ import main
sys.exit(main())
"""


@pytest.mark.slow
def test_without_what_windows_lacks_a_league_a_training_and_a_game_are_played_and_workers_refused(tmp_path):
    def dond(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}){CODE}", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, input="")

    config = write_settings(tmp_path, 1)
    done = dond("league", "--config", config, "--workers", 2)
    assert done.returncode == 1 and "--backend local" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    small = ["--set", "training.num_train_steps=40", "--set", "training.hidden=[8]"]
    for words in (
        ("league", "--config", config, "--workers", 1, "--quiet"),
        ("train", "--config", "ppo_config.yaml", *small, "--quiet"),
        ("play", "--partner", "heuristic", "--seed", 1),
    ):
        done = dond(*words)
        assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("runs/*/0001/checkpoints/*.safetensors"))
