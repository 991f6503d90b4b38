"""The device of a learner's weights: settings, and errors of a device that is missing or out of memory."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from league.play.devices import DeviceError, check_devices
from league.play.practice import practice_round
from league.play.values import TrainTask
from league.settings.learners import LearnerConfig
from league.settings.training import TrainConfig
from partners.network.network import PolicyNetwork
from tests.league.play.backend_tasks import network, practice


@pytest.fixture
def task(tmp_path) -> TrainTask:
    """A learner's first round against scripted members, itself and a snapshot."""
    made = practice(tmp_path, ["heuristic", "nice", "versatile"])
    first = made.meetings[0]
    itself = first.opponent._replace(member=dataclasses.replace(first.opponent.member, name="main", spec=None))
    met = (*made.meetings, first._replace(opponent=itself), first._replace(opponent=network(made.state)))
    return dataclasses.replace(made, meetings=met)


def test_default_device_is_not_written():
    assert "device" not in LearnerConfig(name="main").model_dump()
    assert LearnerConfig(name="main", device="cuda").model_dump()["device"] == "cuda"
    assert "device" not in TrainConfig().model_dump()["training"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_missing_device_is_refused(task):
    check_devices([task.learner])
    with pytest.raises(DeviceError, match=r"finds no CUDA device here; say training.device=cpu"):
        check_devices([task.learner, task.learner.model_copy(update={"device": "cuda"})])


def test_device_memory_error_names_settings_and_no_occupant(task, tmp_path, monkeypatch):
    """The learner's own network asks for more memory than there is, wherever its games are played."""

    def greedy(self, read):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(PolicyNetwork, "trunk_output", greedy)
    with pytest.raises(DeviceError, match=r"has no memory left for .* games side by side.*say a smaller num_envs"):
        practice_round(task, tmp_path)
