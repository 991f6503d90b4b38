"""Systems that this suite is not run on, as far as Linux can show them: what Windows lacks is taken away first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.league.play.test_league import ROOT, write_settings

LACKING = (
    "os.fork os.forkpty os.killpg os.sched_getaffinity os.getuid os.sysconf os.O_DIRECTORY "
    "signal.SIGKILL signal.SIGHUP signal.pthread_kill signal.SIGALRM signal.setitimer"
)
# A folder is not opened as a file there, and processes are started afresh.
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
for name in sys.argv[1].split():
    module, _, attribute = name.partition(".")
    if attribute.startswith("SIG"):
        del signal.Signals._member_map_[attribute]
        signal.Signals._member_names_.remove(attribute)
    delattr(sys.modules[module], attribute)
from dond.__main__ import main
sys.argv = ["dond", *sys.argv[2:]]
sys.exit(main())
"""


def dond(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}){CODE}", LACKING]
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd, input="")


@pytest.mark.slow
def test_without_what_windows_lacks_a_league_a_training_and_a_game_are_played_and_workers_refused(tmp_path):
    config = write_settings(tmp_path, 1)
    done = dond("league", "--config", config, "--workers", 2, cwd=tmp_path)
    assert done.returncode == 1 and "--backend local" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    (tmp_path / "train.yaml").write_text(
        "env: {partner: heuristic, scenarios: lewis, split: train, max_turns: 2}\n"
        "training: {algo: ppo, num_train_steps: 40, num_envs: 8, rollout: 2, hidden: [8]}\n"
        "logging: {output_dir: trained}\n"
    )
    for words in (
        ("league", "--config", config, "--workers", 1, "--quiet"),
        ("train", "--config", "train.yaml", "--quiet"),
        ("play", "--partner", "heuristic", "--seed", 1),
    ):
        done = dond(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert "finished" in done.stdout
    assert list((tmp_path / "trained" / "0001" / "checkpoints").glob("*.safetensors"))
