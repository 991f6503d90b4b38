"""Experiment trackers: figures read back from each library's own storage."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from dond_marl.errors import Notice
from league.ledger.trackers import TRACKERS, Trackers, run_name
from league.settings.sections import LoggingConfig
from tests.command import HERE, in_process

STEPS = {3: {"train/points": 1.5, "train/deals": 0.25}, 7: {"train/points": 2.5}}
SETTINGS = {"training": {"lr": 0.01}, "members": [{"name": "bob", "spec": "tough"}]}


def tracked(name: str, folder) -> None:
    folder.mkdir(parents=True)
    tracked_by([name], folder)


def tracked_by(names, folder) -> None:
    trackers = Trackers(names, folder, 1, SETTINGS)
    for step, figures in STEPS.items():
        trackers.write(figures, step)
    trackers.close()


def test_tensorboard_events_and_resume(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "quick" / "0001"
    tracked("tensorboard", folder)
    second = int(time.time())
    while int(time.time()) == second:  # it reads its files in the order of their names, which begin with the second
        time.sleep(0.01)
    again = Trackers(["tensorboard"], folder, 7, SETTINGS)
    again.write({"train/points": 3.5}, 7)
    again.close()
    events = EventAccumulator(str(folder)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("train/points")] == [(3, 1.5), (7, 3.5)]
    assert [(e.step, e.value) for e in events.Scalars("train/deals")] == [(3, 0.25)]
    text = events.Tensors("settings/text_summary")[-1].tensor_proto.string_val[0].decode()
    assert "training.lr: 0.01" in text and "members.bob.spec: tough" in text


def test_run_name_holds_the_project(tmp_path):
    assert run_name(tmp_path / "quick" / "0001") == "quick/0001"
    assert run_name(tmp_path / "mine" / "runs" / "0001") == "mine/runs/0001"


def test_wandb_is_offline(tmp_path):
    """All is in its file once the process is over: the library writes from another one."""
    pytest.importorskip("wandb")
    folder = tmp_path / "quick" / "0001"
    code = f"""
import sys
sys.path[:] = {sys.path!r}
from pathlib import Path
from tests.league.ledger.test_trackers import tracked
tracked("wandb", Path({str(folder)!r}))
"""
    env = {name: value for name, value in HERE.items() if not name.startswith("WANDB_")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (file,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    content = file.read_bytes()
    assert all(word in content for word in (b"train/points", b"2.5", b"train/deals", b"0.25", b"quick/0001"))


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("wandb", "train --config ppo_config.yaml --set logging.trackers=[wandb]"),
        ("ray", "league --config league_scripted.yaml --backend ray"),
    ],
)
def test_missing_library_is_reported_before_a_run_folder_is_made(library, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    done = in_process(*words.split())
    assert done.returncode == 2 and f"[{library}]'" in done.stderr and "make setup" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_unknown_tracker_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["train", "--config", "ppo_config.yaml", "--set"]
    done = in_process(*words, "logging.trackers=[neptune]")
    assert done.returncode == 2 and "wandb" in done.stderr and "neptune" in done.stderr
    assert LoggingConfig(trackers=("wandb",)).all_trackers == ("tensorboard", "wandb")
    assert LoggingConfig(tensorboard=False).all_trackers == ()


class Fails:
    """A tracker whose library fails at its opening or at every step."""

    def __init__(self, opens: bool) -> None:
        self.opens, self.steps = opens, list[int]()

    def __call__(self, folder, first, settings):
        if not self.opens:
            raise ConnectionError("no route\nto the host")
        return self

    def write(self, figures, step) -> None:
        self.steps.append(step)
        raise ConnectionError("no route\nto the host")

    def close(self) -> None: ...


@pytest.mark.parametrize(("opens", "steps"), [(False, []), (True, [3])])
def test_failing_tracker_is_dropped_with_one_warning(tmp_path, monkeypatch, opens, steps):
    failing = Fails(opens)
    monkeypatch.setitem(TRACKERS, "wandb", failing)
    with pytest.warns(Notice, match=r"^the tracker wandb failed .*: no route to the host\.") as notices:
        tracked_by(["wandb"], tmp_path)
    assert len(notices) == 1 and failing.steps == steps
