"""A league's practice on a device: a function of its task there too, and settings without it are the same text."""

from __future__ import annotations

import dataclasses
import re
from contextlib import nullcontext

import pytest
import torch

from dond_marl.occupants import seat_occupant
from league.settings.learners import LearnerConfig
from league.settings.sections import EnvConfig
from league.settings.training import TrainConfig
from league.tasks.attribution import Within, unwrap
from league.tasks.devices import DeviceError, check_devices, describe_practice_device, practice_runner
from league.tasks.train_task import practice_round
from league.tasks.values import Place, TrainTask
from partners.device.device_practice import DevicePractice
from partners.network.checkpoint import unpack
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import NetworkPartner
from tests.league.backends.backend_tasks import network, practice, told


@pytest.fixture
def task(tmp_path) -> TrainTask:
    """A learner's first round against tables, others, itself and what it was, on a device."""
    made = practice(Place(tmp_path), ["heuristic", "nice", "versatile"])
    first = made.meetings[0]
    itself = first.opponent._replace(member=dataclasses.replace(first.opponent.member, name="main", spec=None))
    met = (*made.meetings, first._replace(opponent=itself), first._replace(opponent=network(made.state)))
    learner = made.learner.model_copy(update={"rollouts": "device"})
    return dataclasses.replace(made, meetings=met, learner=learner)


def test_practice_on_a_device_is_a_function_of_its_task(task, tmp_path):
    place = Place(tmp_path)
    result = practice_round(task, place)
    assert result.failed is None and result.content is not None and told(practice_round(task, place)) == told(result)
    assert 0 < result.points < 10 and 0 < result.deals < 1 and result.acts > result.games > 0
    assert result.state.decisions >= task.learner.decisions
    hosts = dataclasses.replace(task, learner=task.learner.model_copy(update={"rollouts": "host"}))
    other = practice_round(hosts, place)
    weights = [unpack(each.content, tmp_path / "blob").network().head.weight for each in (result, other)]
    assert not torch.equal(*weights), "a device draws its own noise"
    assert result.points == pytest.approx(other.points, abs=1.0)


def test_default_device_is_not_written():
    assert not {"device", "rollouts"} & LearnerConfig(name="main").model_dump().keys()
    assert LearnerConfig(name="main", rollouts="device").model_dump()["rollouts"] == "device"
    assert not {"device", "rollouts"} & TrainConfig().model_dump()["training"].keys()


def test_games_are_played_where_the_settings_say(task):
    learner = task.learner
    plan = learner.practice(task.env, task.env.open_source(), 0)
    for device, rollouts, on_device in (
        ("cpu", "auto", False), ("cpu", "device", True), ("cpu", "host", False),
        ("cuda", "auto", True), ("cuda", "device", True), ("cuda", "host", False),
    ):  # fmt: skip
        settings = learner.model_copy(update={"device": device, "rollouts": rollouts})
        assert settings.plays_on_device == on_device
        if device == "cpu":
            assert isinstance(practice_runner(settings, plan), DevicePractice) == on_device


def test_a_network_that_a_worker_watches_is_known_as_one():
    partner = NetworkPartner(PolicyNetwork(NetworkShape(hidden=(8,))))
    assert unwrap(Within(nullcontext, partner)) is partner and unwrap(partner) is partner


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_one_clear_error(task):
    check_devices([task.learner])
    with pytest.raises(DeviceError, match=r"finds no CUDA device here; say training.device=cpu"):
        check_devices([task.learner, task.learner.model_copy(update={"device": "cuda"})])


def test_dry_run_counts_opponents_by_place():
    crowd = seat_occupant({"kind": "mixture", "of": ["heuristic", "versatile", "expert", "tough"]})
    env = EnvConfig(scenarios="lewis", split="train")
    settings = LearnerConfig(name="main", rollouts="device")

    def counts(*arguments, **options) -> list[int]:
        (line,) = describe_practice_device(settings, *arguments, **options)
        return [int(number) for number in re.findall(r"\b\d+\b", line)]

    assert counts([crowd], env) == [2, 1, 1]  # from tables, as networks, on the host
    assert counts([crowd], EnvConfig(scenarios="uniform")) == [0, 1, 3]
    assert counts([], env, networks=2) == [0, 2, 0]
    assert describe_practice_device(LearnerConfig(name="main"), [crowd], env) == []


@pytest.mark.parametrize("rollouts", ["host", "device"])
def test_a_device_without_memory_left_is_told_as_that_and_no_occupant_is_blamed(task, tmp_path, monkeypatch, rollouts):
    """The learner's own network asks for more memory than there is, wherever its games are played."""

    def greedy(self, read):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(PolicyNetwork, "trunk_output", greedy)
    learner = task.learner.model_copy(update={"rollouts": rollouts})
    with pytest.raises(DeviceError, match=r"has no memory left for .* games side by side.*say a smaller num_envs"):
        practice_round(dataclasses.replace(task, learner=learner), Place(tmp_path))
