"""A network in NumPy, one game at a time: the same outputs as with PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, check_partner, positions
from dond_marl.game import MAX_COUNT, Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.splits import legal_action_mask
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.checkpoint_files import CheckpointError
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.numpy_network import NumpyPartner, load_numpy_network
from partners.network.occupants import EXPERT, checkpoint
from partners.network.partner import ClonedPartner, NetworkPartner
from partners.scripted.heuristic import Heuristic

ROOT = Path(__file__).resolve().parents[3]
SHAPES: dict[str, dict] = {
    "usual": {"max_count": 10},
    "all pieces": {"max_count": 10, "partner_utilities": True, "hints": True},
    "in order": {"max_count": 10, "partner_utilities": True, "hints": True, "sorted_items": True},
    "history": {"max_count": 10, "history": "flat"},
    "history in order": {"max_count": 10, "hints": True, "sorted_items": True, "history": "flat"},
    "all at once": {"max_count": 10, "sorted_items": True, "history": "flat", "head": "joint"},
    "all at once by name": {"max_count": 10, "hints": True, "head": "joint"},
    "small pools": {"max_count": 2, "hidden": (24,)},
}


SOURCES = ("lewis", "by_hand")


def saved(folder: Path, about: dict | None = None, **shape: object) -> tuple[PolicyNetwork, Path]:
    """A network with opinions, and its checkpoint."""
    policy = PolicyNetwork(NetworkShape(**{"hidden": (32, 16), **shape}), seed=3)  # type: ignore[arg-type]
    with torch.no_grad():
        policy.head.weight.mul_(100)
    path = folder / "made.json"
    save_checkpoint(path, {f"network.{name}": value for name, value in policy.state_dict().items()},
                    {**network_note(policy), **(about or {})})  # fmt: skip
    return policy, path


GREEDY_TOO = ("usual", "all at once")  # the others are tried greedily among the slow tests


@pytest.mark.parametrize(
    ("name", "greedy"),
    [
        pytest.param(name, greedy, marks=[pytest.mark.slow] * (greedy and name not in GREEDY_TOO))
        for name in SHAPES
        for greedy in (True, False)
    ],
)
def test_numpy_partner_matches_torch(name, greedy, tmp_path):
    policy, path = saved(tmp_path, **SHAPES[name])
    usual, single = NetworkPartner(policy, greedy=greedy), NumpyPartner(load_numpy_network(path)[0], greedy=greedy)
    assert usual.traits == single.traits
    alike = []
    for position in positions(
        usual, max_count=policy.shape.max_count, games=4, seed=7, sources=SOURCES, variants=VARIANTS[:4]
    ):
        one, other = usual.act(position.turns), single.act(position.turns)
        same = (one.act_type == other.act_type) & (one.oA == other.oA).all(axis=1)
        alike.extend(same)
        assert np.abs(one.confidence - other.confidence)[same].max() < 1e-5
        probs = [partner.probs(position.turns, MAX_COUNT) for partner in (usual, single)]
        assert np.abs(probs[0] - probs[1]).max() < 1e-5
        legal = legal_action_mask(position.turns.counts, position.turns.act_mask[:, Act.AGREE], MAX_COUNT)
        assert not probs[0][~legal].any() and not probs[1][~legal].any()
    assert np.mean(alike) > 0.99 if not greedy else all(alike), "a uniform may fall between two roundings"


@pytest.mark.parametrize("greedy", [True, False])
def test_numpy_partner_conforms(greedy, tmp_path):
    _, path = saved(tmp_path, max_count=10)
    check_partner(checkpoint(str(path), greedy=greedy, one_game=True), max_count=MAX_COUNT, variants=VARIANTS[:4])


def test_shipped_expert_numpy_equals_torch():
    source = open_source("lewis", split="paper_test")
    experts = [seat_occupant("expert"), seat_occupant("expert", one_game=True)]
    assert isinstance(experts[1], NumpyPartner)
    one, other = (rollout((expert, Heuristic()), source.block(3, 0, 300), Rules(), seed=0) for expert in experts)
    assert (one.act == other.act).all() and (one.oA == other.oA).all()


def test_numpy_clone_has_rare_disagree(tmp_path):
    policy, path = saved(tmp_path, {"taught_by": "human dialogues", "disagree": "rejects"})
    single = checkpoint(str(path), one_game=True)
    for rules in (Rules(), Rules(disagree="rejects")):
        turns = GameBatch(open_source("lewis").block(1, 0, 20), rules).turns()
        assert np.abs(single.probs(turns, 4) - ClonedPartner(policy).probs(turns, 4)).max() < 1e-5


def test_environments_use_numpy_by_default():
    env = deal_or_no_dialog_v0.env
    assert isinstance(SingleAgentView(env(), partner="expert").partner, NumpyPartner)
    assert isinstance(SingleAgentView(env(), partner="expert(one_game=False)").partner, NetworkPartner)
    assert isinstance(SingleAgentView(env(), partner="heuristic").partner, Heuristic)


@pytest.mark.parametrize("change", ["missing", "tensors", "shape", "finite", "layout"])
def test_numpy_refuses_bad_checkpoints(change, tmp_path):
    policy, path = saved(tmp_path)
    weights = {f"network.{name}": value.clone() for name, value in policy.state_dict().items()}
    about = network_note(policy)
    if change == "shape":
        weights["network.head.bias"] = weights["network.head.bias"][:-1]
    if change == "finite":
        weights["network.head.bias"][0] = torch.nan
    if change == "layout":
        about["layout"] = "base-v0"
    save_checkpoint(path, weights, about)
    if change == "missing":
        path.unlink()
    if change == "tensors":
        path.with_suffix(".safetensors").write_bytes(b"-")
    messages = []
    for one_game in (True, False):
        with pytest.raises(CheckpointError) as caught:
            checkpoint(str(path), one_game=one_game)
        messages.append(str(caught.value).split("(")[0].split("describes: ")[0])
    assert messages[0] == messages[1]
    stands_in = seat_occupant({"kind": "expert", "path": str(path), "fallback": "heuristic"}, one_game=True)
    assert stands_in.traits.deterministic


def test_playing_one_game_against_the_expert_loads_no_pytorch():
    code = (
        "import sys, gymnasium, dond_marl\n"
        "env = gymnasium.make('DealOrNoDialog-v0', partner='expert')\n"
        "_, info = env.reset(seed=1)\n"
        "env.step(env.action_space.sample(info['action_mask']))\n"
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.strip() == "False"


def test_shipped_expert_shape():
    network, _ = load_numpy_network(EXPERT)
    assert network.shape.hidden == (128, 128)
