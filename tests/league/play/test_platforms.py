"""Systems that this suite is not run on, as far as Linux can show them: nothing is copied by forking a process.

What a system lacks is taken away before anything is imported. One answer is made up, and it is Windows' own: a folder
is not opened as a file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.league.play.test_league import ROOT, write_settings

NO_FORK = "os.fork os.forkpty"
NOT_ON_WINDOWS = (
    f"{NO_FORK} os.killpg os.sched_getaffinity os.getuid os.sysconf os.register_at_fork "
    "signal.SIGKILL signal.SIGHUP signal.pthread_kill signal.SIGALRM signal.setitimer os.O_DIRECTORY"
)
# The names are gone, multiprocessing starts its processes afresh; then the command is run.
CODE = """
import os, signal, sys
missing = sys.argv[1].split()
import multiprocessing, subprocess, concurrent.futures, random, logging, threading, shutil, errno
multiprocessing.set_start_method("spawn")
if "os.O_DIRECTORY" in missing:
    opens, shutil._use_fd_functions = os.open, False
    def open_no_folder(path, *more, **named):
        if not isinstance(path, int) and os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return opens(path, *more, **named)
    os.open = open_no_folder
for name in missing:
    module, _, attribute = name.partition(".")
    if module == "signal" and attribute.startswith("SIG"):
        del signal.Signals._member_map_[attribute]
        signal.Signals._member_names_.remove(attribute)
    delattr(sys.modules[module], attribute)
from dond.__main__ import main
sys.argv = ["dond", *sys.argv[2:]]
sys.exit(main())
"""


def dond(lacking: str, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}){CODE}", lacking]
    return subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False, cwd=cwd, input="")


@pytest.mark.slow
def test_without_what_windows_lacks_a_league_is_played_here_and_workers_are_refused_in_a_sentence(tmp_path):
    config = write_settings(tmp_path, 1)
    done = dond(NOT_ON_WINDOWS, "league", "--config", config, "--workers", 1, "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = dond(NOT_ON_WINDOWS, "league", "--config", config, "--workers", 2, cwd=tmp_path)
    assert done.returncode == 1 and "--backend local" in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = dond(NOT_ON_WINDOWS, "play", "--partner", "heuristic", "--seed", 1, cwd=tmp_path)
    assert done.returncode == 0 and "finished" in done.stdout, done.stderr


@pytest.mark.slow
def test_training_is_saved_without_what_windows_lacks(tmp_path):
    lacking = NOT_ON_WINDOWS.replace("os.register_at_fork ", "")  # which PyTorch's build for Linux calls
    (tmp_path / "train.yaml").write_text(
        "env: {partner: heuristic, scenarios: lewis, split: train, max_turns: 2}\n"
        "training: {algo: ppo, num_train_steps: 40, num_envs: 8, rollout: 2, hidden: [8]}\n"
        "logging: {output_dir: runs}\n"
    )
    done = dond(lacking, "train", "--config", "train.yaml", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "runs" / "0001" / "checkpoints").glob("*.safetensors"))
