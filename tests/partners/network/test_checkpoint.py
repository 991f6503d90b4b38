"""Weights on disk: whole or refused, never half read, and nothing in them is ever executed."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.conformance import VARIANTS, check_partner, positions
from dond_marl.game import MAX_COUNT, Act, Rules
from dond_marl.occupants import OccupantNameError, expand_run_name, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.splits import legal_action_mask
from partners.network.checkpoint import (
    CheckpointError,
    load_checkpoint,
    network_note,
    pack,
    save_checkpoint,
    unpack,
)
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.numpy_network import NumpyPartner, load_numpy_network
from partners.network.occupants import checkpoint
from partners.network.partner import ClonedPartner, NetworkPartner
from partners.scripted.heuristic import Heuristic

torch.set_num_threads(1)


SHAPE = NetworkShape(max_turns=6, hidden=(8,))


def network(seed: int = 1) -> PolicyNetwork:
    return PolicyNetwork(SHAPE, seed=seed)


def tensors_of(policy: PolicyNetwork) -> dict[str, Tensor]:
    return {f"network.{name}": value for name, value in policy.state_dict().items()}


def write(path: Path, policy: PolicyNetwork | None = None, **about: object) -> Path:
    policy = policy or network()
    save_checkpoint(path, tensors_of(policy), {**network_note(policy), "counters": {"updates": 3}, **about})
    return path


def same_weights(one: PolicyNetwork, other: PolicyNetwork) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(weights, other_weights) for weights, other_weights in pairs)


def test_checkpoint_equals_blob(tmp_path):
    tensors, about = tensors_of(network()), {**network_note(network()), "card": "good"}
    save_checkpoint(tmp_path / "policy.json", tensors, about)
    pair, piece = load_checkpoint(tmp_path / "policy.json"), unpack(pack(tensors, about), tmp_path / "a.safetensors")
    assert same_weights(pair.network(), network()) and same_weights(piece.network(), network())
    assert piece.about == about == {key: pair.about[key] for key in about}
    with pytest.raises(CheckpointError, match=r"a\.safetensors: cannot be read"):
        unpack(b"{}", tmp_path / "a.safetensors")


@pytest.fixture
def saved(tmp_path) -> Path:
    return write(tmp_path / "policy.json")


def test_checkpoint_round_trip(saved):
    loaded = load_checkpoint(saved).network()
    assert loaded.shape == SHAPE and same_weights(loaded, network())
    assert load_checkpoint(saved).about["counters"] == {"updates": 3}
    assert sorted(path.name for path in saved.parent.iterdir()) == ["policy.json", "policy.safetensors"]


def test_the_same_weights_make_the_same_files(saved, tmp_path):
    again = write(tmp_path / "again.json")
    assert again.read_bytes() == saved.read_bytes()
    assert again.with_suffix(".safetensors").read_bytes() == saved.with_suffix(".safetensors").read_bytes()


def test_checkpoint_can_be_overwritten(saved):
    tensors, about, _ = load_checkpoint(saved)
    other = tensors_of(network(2))
    save_checkpoint(saved, {**tensors, **other}, {**about, "card": "better"})  # ``about`` holds the old checksums
    assert same_weights(load_checkpoint(saved).network(), network(2))
    assert load_checkpoint(saved).about["card"] == "better"


def save_killed_after(steps: int, note: Path) -> int:
    """Save another network over ``note`` in a process that is killed at an opening or renaming; its exit code."""
    tensors, about = tensors_of(network(2)), network_note(network(2))
    if not (child := os.fork()):
        count = itertools.count()
        sys.addaudithook(
            lambda event, arguments: (
                event in ("open", "os.rename")
                and str(arguments[0]).startswith(str(note.parent))
                and next(count) == steps
                and os.kill(os.getpid(), signal.SIGKILL)
            )
        )
        save_checkpoint(note, tensors, about)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_save_leaves_the_old_checkpoint_or_the_new_one(tmp_path):
    codes, is_new = [], []
    while 0 not in codes:
        note = write(tmp_path / "policy.json")
        codes.append(save_killed_after(len(codes), note))
        loaded = load_checkpoint(note).network()
        is_new.append(same_weights(loaded, network(2)))
        assert is_new[-1] or same_weights(loaded, network(1))
    assert len(codes) > 5 and codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    assert is_new == sorted(is_new) and is_new[-2] and not is_new[0]


def test_checkpoint_occupant(saved):
    partner = seat_occupant(f"checkpoint(path={str(saved)!r}, greedy=True)")
    assert isinstance(partner, NetworkPartner) and partner.greedy and same_weights(partner.network, network())
    expert = seat_occupant({"kind": "checkpoint", "path": str(saved)})
    assert isinstance(expert, NetworkPartner) and not expert.greedy


@pytest.mark.parametrize("gone", ["policy.json", "policy.safetensors"])
def test_a_missing_file_is_named(saved, gone):
    (saved.parent / gone).unlink()
    with pytest.raises(CheckpointError, match=gone.replace(".", r"\.")):
        load_checkpoint(saved)
    with pytest.raises(OccupantNameError, match=gone.replace(".", r"\.")):
        seat_occupant({"kind": "checkpoint", "path": str(saved)})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"format": 1', '"format": 2', "checkpoint format 2, this build reads 1"),
        ('"updates": 3', '"updates": 4', "damaged"),
        ("{", "", "cannot be read"),
    ],
)
def test_changed_notes_are_refused(saved, before, after, message):
    saved.write_text(saved.read_text().replace(before, after, 1))
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(saved)


def test_changed_tensors_are_refused(saved):
    file = saved.with_suffix(".safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layout": "base-v0(max_count=4, max_turns=6)"}, "reads features 'base-v0.*this build makes 'base-v1"),
        ({"network": {"width": 8}}, "describes no network"),
    ],
)
def test_networks_of_other_builds_are_refused(tmp_path, changes, message):
    path = write(tmp_path / "other.json", **changes)
    for one_game in (True, False):
        with pytest.raises(CheckpointError, match=message):
            checkpoint(str(path), one_game=one_game)
    stand_in = seat_occupant({"kind": "expert", "path": str(path), "fallback": "heuristic"}, one_game=True)
    assert stand_in.traits.deterministic


def test_files_of_another_kind_are_not_called_damaged(saved, tmp_path):
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as file:
        file.writestr("data", "{}")
    (tmp_path / "old.pt").write_bytes(pickle.dumps({}))
    weights, archive = saved.with_suffix(".safetensors"), tmp_path / "agent.zip"
    for path, kind in ((weights, "safetensors"), (archive, "zip"), (tmp_path / "old.pt", "pickle")):
        with pytest.raises(OccupantNameError, match=kind):
            seat_occupant(expand_run_name(str(path)))
    weights.write_bytes(archive.read_bytes())
    with pytest.raises(CheckpointError, match="zip"):
        load_checkpoint(saved)


# -- A network in NumPy, one game at a time


ROOT = Path(__file__).resolve().parents[3]
SHAPES: dict[str, dict] = {
    "usual": {"max_count": 10},
    "in order": {"max_count": 10, "partner_utilities": True, "hints": True, "sorted_items": True},
    "history in order": {"max_count": 10, "hints": True, "sorted_items": True, "history": "flat"},
    "all at once": {"max_count": 10, "sorted_items": True, "history": "flat", "head": "joint"},
    "all at once by name": {"max_count": 10, "hints": True, "head": "joint"},
}
SOURCES = ("lewis", "by_hand")


def saved_with_opinions(folder: Path, **shape: object) -> tuple[PolicyNetwork, Path]:
    """A network with opinions, and its checkpoint."""
    policy = PolicyNetwork(NetworkShape(**{"hidden": (32, 16), **shape}), seed=3)  # type: ignore[arg-type]
    with torch.no_grad():
        policy.head.weight.mul_(100)
    return policy, write(folder / "made.json", policy)


@pytest.mark.parametrize(
    ("name", "greedy"), [*((name, False) for name in SHAPES), ("usual", True), ("all at once", True)]
)
def test_numpy_partner_matches_torch(name, greedy, tmp_path):
    policy, path = saved_with_opinions(tmp_path, **SHAPES[name])
    usual, single = NetworkPartner(policy, greedy=greedy), NumpyPartner(load_numpy_network(path)[0], greedy=greedy)
    assert usual.traits == single.traits
    alike = []
    for position in positions(
        usual, max_count=policy.shape.max_count, games=4, seed=7, sources=SOURCES, variants=(VARIANTS[1], VARIANTS[3])
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


def test_numpy_partner_conforms(tmp_path):
    _, path = saved_with_opinions(tmp_path, max_count=10)
    check_partner(checkpoint(str(path), one_game=True), max_count=MAX_COUNT, variants=VARIANTS[:4])


def test_shipped_expert_numpy_equals_torch():
    source = open_source("lewis", split="paper_test")
    experts = [seat_occupant("expert"), seat_occupant("expert", one_game=True)]
    assert isinstance(experts[1], NumpyPartner)
    one, other = (rollout((expert, Heuristic()), source.block(3, 0, 300), Rules(), seed=0) for expert in experts)
    assert (one.act == other.act).all() and (one.oA == other.oA).all()


def test_numpy_clone_has_rare_disagree(tmp_path):
    policy, path = saved_with_opinions(tmp_path)
    write(path, policy, taught_by="human dialogues", disagree="rejects")
    single = checkpoint(str(path), one_game=True)
    for rules in (Rules(), Rules(disagree="rejects")):
        turns = GameBatch(open_source("lewis").block(1, 0, 20), rules).turns()
        assert np.abs(single.probs(turns, 4) - ClonedPartner(policy).probs(turns, 4)).max() < 1e-5


def test_environments_use_numpy_by_default():
    env = deal_or_no_dialog_v0.env
    assert isinstance(SingleAgentView(env(), partner="expert").partner, NumpyPartner)
    assert isinstance(SingleAgentView(env(), partner="expert(one_game=False)").partner, NetworkPartner)
    assert isinstance(SingleAgentView(env(), partner="heuristic").partner, Heuristic)


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
