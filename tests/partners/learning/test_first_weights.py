"""A learner starts from given weights, is pulled toward them by the KL penalty, and resumes without its file."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dond_marl.conformance import positions
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from league.ledger.run_directory import RunDirectory
from league.play.practice import initial_network
from league.settings.read import ConfigError, load_config
from league.settings.sections import EnvConfig
from league.settings.training import Hyperparameters, TrainConfig
from league.training.training import Training, begin, train
from partners.learning.first_weights import FirstWeightsError, init_name
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.heads import Factored
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES
from partners.network.partner import RELUCTANCE, NetworkPartner
from tests.command import train_command

torch.set_num_threads(1)
SMALL = NetworkShape(hidden=(8,))
GAME = EnvConfig()
SETTINGS = """
env: {scenarios: lewis, split: train}
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 2, hidden: [8], num_train_steps: 300, seed: 3}
logging: {output_dir: "FOLDER", tensorboard: false, save_every: 100}
"""


def saved(path: Path, shape: NetworkShape = SMALL, seed: int = 7, **about) -> PolicyNetwork:
    """A checkpoint with weights of its own, of a policy that is far from uniform; the network in it."""
    network = PolicyNetwork(shape, seed=seed)
    with torch.no_grad():
        network.head.weight.mul_(100)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    save_checkpoint(path, tensors, {**network_note(network), **about})
    return network


def first(init_from: str | None, env: EnvConfig = GAME, hints: bool = False, **others) -> PolicyNetwork:
    """The network that a learner of these settings starts with."""
    settings = Hyperparameters(init_from=init_from, **{"hidden": (8,), **others})
    return initial_network(settings, env, hints=hints, seed=1)


def same(one: PolicyNetwork, other: PolicyNetwork) -> bool:
    pair = one.state_dict(), other.state_dict()
    return all(torch.equal(pair[0][name], pair[1][name]) for name in pair[0])


# -- what it starts with ----------------------------------------------------------------------------------------------


def test_initial_weights_from_checkpoint_expert_or_seed(tmp_path):
    network = saved(tmp_path / "mine.json")
    for given in (str(tmp_path / "mine.json"), f"checkpoint(path='{tmp_path / 'mine.json'}')"):
        assert same(first(given), network)
    expert = first("expert", hidden=(128, 128), sorted_items=True)
    assert expert.shape.hidden == (128, 128)
    assert same(first(None), PolicyNetwork(SMALL, seed=1))


def test_clone_weights_get_rare_disagree(tmp_path):
    network = saved(tmp_path / "people.json", taught_by=HUMAN_DIALOGUES, disagree="rejects")
    talks = first(str(tmp_path / "people.json"), EnvConfig(disagree="rejects"))
    ends = first(str(tmp_path / "people.json"))
    assert same(talks, network)
    less = network.head.bias - ends.head.bias
    assert less[Act.DISAGREE].item() == pytest.approx(RELUCTANCE) and less.abs().sum().item() == pytest.approx(
        RELUCTANCE
    )


def test_hint_inputs_change_nothing_without_hints(tmp_path):
    network = saved(tmp_path / "mine.json")
    wide = first(str(tmp_path / "mine.json"), hints=True)
    features = torch.rand(64, network.adapter.width)
    told_nothing = torch.cat([features, torch.zeros(64, wide.adapter.width - network.adapter.width)], dim=1)
    for ours, theirs in zip(wide(told_nothing), network(features), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("hints", [False, True])
def test_history_inputs_change_nothing_at_first(tmp_path, hints):
    network = saved(tmp_path / "mine.json")
    wide = first(str(tmp_path / "mine.json"), history="flat", hints=hints)
    assert wide.shape.history == "flat" and wide.shape.hints is hints
    for position in positions(NetworkPartner(network), max_count=4, games=6, seed=5, sources=("lewis",)):
        ours, theirs = (made(torch.from_numpy(made.adapter.encode(position.turns)))[0] for made in (network, wide))
        assert torch.allclose(ours, theirs, atol=1e-6)
    saved(tmp_path / "remembers.json", replace(SMALL, history="flat"))
    with pytest.raises(FirstWeightsError, match=r'training.history makes it "none", the weights have "flat"'):
        first(str(tmp_path / "remembers.json"))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (NetworkShape(hidden=(16, 16)), r"hidden makes it \[8\], the weights have \[16, 16\]"),
        (NetworkShape(hidden=(8,), hints=True), "hints.mode makes it false, the weights have true"),
    ],
)
def test_weights_of_another_shape_are_refused(tmp_path, shape, words):
    saved(tmp_path / "mine.json", shape)
    with pytest.raises(FirstWeightsError, match=words):
        first(str(tmp_path / "mine.json"))


def test_missing_weights_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FirstWeightsError, match=r"none\.json: no such checkpoint"):
        first("none.json")
    with pytest.raises(FirstWeightsError, match=r"--algo bc --config configs/bc_config\.yaml"):
        first("expert(kind=supervised)")


@pytest.mark.parametrize("given", ["heuristic", "runs/here", "expert(kind=superb)"])
def test_invalid_init_from_is_refused(given):
    with pytest.raises(FirstWeightsError):
        init_name(given)


def test_init_from_is_canonical():
    assert init_name("expert( kind = 'supervised' )") == "expert(kind=supervised)"
    assert init_name("runs/a/step.json") == "runs/a/step.json" and init_name("expert.json") == "expert.json"


# -- the pull ---------------------------------------------------------------------------------------------------------


def practiced(network: PolicyNetwork):
    source = open_source("lewis", split="train")
    plan = Practice(source, Rules(), decisions=400, games=100, seed=1)
    return practice(network, [Opponent(seat_occupant("heuristic"), 1.0)], plan, update=0, games_before=0)[0]


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
def test_kl_penalty_is_exact_divergence(tmp_path, algo):
    network, reference = saved(tmp_path / "a.json", seed=1), saved(tmp_path / "b.json", seed=2)
    experience = practiced(network)
    with torch.no_grad():
        logits = network(experience.features)[0], reference(experience.features)[0]
        ours, theirs = (Factored(told, experience.mask) for told in logits)
        expected = ours.divergence(theirs).mean().item()
    made = {}
    for name, settings, toward in (
        ("plain", LearnerSettings(algo, epochs=1, minibatch=10_000), None),
        ("unused", LearnerSettings(algo, epochs=1, minibatch=10_000), reference),
        ("pulled", LearnerSettings(algo, epochs=1, minibatch=10_000, kl=1.0), reference),
    ):
        learner = Learner(copy.deepcopy(network), settings, 1, toward)
        made[name] = learner.update(experience), learner
    assert made["pulled"][0]["reference_kl"] == pytest.approx(expected, abs=1e-4) and expected > 0.05
    assert "reference_kl" not in made["plain"][0]
    assert same(made["plain"][1].network, made["unused"][1].network)
    assert not same(made["plain"][1].network, made["pulled"][1].network)


@pytest.mark.parametrize("algo", ["ppo", "reinforce"])
def test_strong_kl_penalty_reaches_reference(tmp_path, algo):
    network, reference = saved(tmp_path / "a.json", seed=1), saved(tmp_path / "b.json", seed=2)
    before = {name: value.clone() for name, value in reference.state_dict().items()}
    learner = Learner(network, LearnerSettings(algo, lr=1e-2, epochs=4, minibatch=100, kl=100.0), 1, reference)
    experience = practiced(network)
    rounds = 10 if algo == "ppo" else 60
    metrics = [learner.update(experience)["reference_kl"] for _ in range(rounds)]
    assert metrics[-1] < 0.2 * metrics[0]
    assert all(torch.equal(before[name], value) for name, value in reference.state_dict().items())


# -- a whole training -------------------------------------------------------------------------------------------------


class Watching:
    """Asks for a stop after ``stop`` updates."""

    def __init__(self, stop: int | None = None) -> None:
        self.left = stop

    def warn(self, message: str) -> None:
        raise AssertionError(message)

    def on_open(self, training: Training, directory: Path) -> None:
        pass

    def on_update(self, training: Training) -> bool:
        self.left = None if self.left is None else self.left - 1
        return self.left != 0


def settings(tmp_path: Path, *overrides: str) -> TrainConfig:
    path = tmp_path / "settings.yaml"
    path.write_text(SETTINGS.replace("FOLDER", str(tmp_path / "runs")))
    return load_config(path, overrides, TrainConfig)


def test_reference_is_copy_of_initial_weights(tmp_path):
    network = saved(tmp_path / "start.json")
    start = f"training.init_from={tmp_path / 'start.json'}"
    assert begin(settings(tmp_path, start)).learner.reference is None
    learner = begin(settings(tmp_path, start, "training.kl=0.1")).learner
    assert same(learner.reference, network) and learner.reference.head.weight is not learner.network.head.weight


def test_resume_needs_no_init_file(tmp_path):
    start = tmp_path / "start.json"
    saved(start)
    config = settings(tmp_path, f"training.init_from={start}", "training.kl=0.3")
    states = []
    for name, stops in (("whole", [None]), ("parts", [2, 2, None])):
        (tmp_path / name).mkdir()
        for number, stop in enumerate(stops):
            if number:
                start.unlink(missing_ok=True)
                start.with_suffix(".safetensors").unlink(missing_ok=True)
            train(config, RunDirectory(tmp_path / name), Watching(stop))
        states.append(load_checkpoint(sorted((tmp_path / name / "checkpoints").glob("step_*.json"))[-1]))
    (one, about, _), (other, again, _) = states
    assert about["counters"] == again["counters"] and any(name.startswith("reference.") for name in one)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert "reference_kl" in (tmp_path / "whole" / "progress.csv").read_text().splitlines()[0]


def test_bad_init_from_makes_no_folder(tmp_path, capsys):
    path = tmp_path / "settings.yaml"
    path.write_text(SETTINGS.replace("FOLDER", str(tmp_path / "runs")))
    assert train_command(path, ["training.init_from=none.json"], None) == 2
    assert train_command(path, ["training.init_from=expert"], None) == 2
    assert "no such checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("override", ["training.kl=0.5", "training.kl=-1", "training.init_from=nobody"])
def test_settings_that_cannot_be_meant_are_refused(tmp_path, override):
    with pytest.raises(ConfigError, match=r"training\.(kl|init_from)"):
        settings(tmp_path, override)


def test_hint_expert_can_be_chosen(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for expert, missing in (("expert(kind=supervised)", 1), ("boulware", 0)):
        training = begin(settings(tmp_path, "hints.mode=expert", f"hints.expert={expert}"))
        training.step()
        tally = training.hints.tally
        assert tally["asked"] == tally["available"] > 0 and tally["missing"] == missing * tally["asked"]
