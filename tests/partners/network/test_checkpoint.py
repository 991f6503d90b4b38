"""Weights on disk: whole or refused, never half read, and nothing in them is ever executed."""

from __future__ import annotations

import hashlib
import itertools
import json
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
    Weights,
    load_checkpoint,
    network_note,
    pack,
    save_checkpoint,
    unpack,
)
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.numpy_network import NumpyPartner, load_numpy_network
from partners.network.occupants import EXPERT, checkpoint
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


def test_a_folder_or_the_tensors_in_place_of_the_note_are_refused(saved):
    for wrong in (saved.parent, saved.with_suffix(".safetensors")):
        with pytest.raises(CheckpointError):
            load_checkpoint(wrong)


def edited_note(saved: Path, **changes: object) -> Path:
    """The note with changes, as a hand would write it: without its own checksum."""
    note = {**json.loads(saved.read_text()), **changes}
    del note["note_sha256"]
    saved.write_text(json.dumps(note))
    return saved


def shape(**changes: object) -> dict[str, object]:
    return {**network_note(network())["network"], **changes}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": 2}, "checkpoint format 2, this build reads 1"),
        ({"layout": "base-v0(max_count=4, max_turns=6)"}, "reads features 'base-v0.*this build makes 'base-v1"),
        ({"network": None}, "describes no network"),
        ({"network": {}}, "describes no network"),
        ({"network": shape(hidden="wide")}, "describes no network"),
        ({"network": shape(max_count="4")}, "describes no network"),
        ({"network": shape(max_turns=10**9)}, "reads features"),
        ({"network": shape(hidden=[16])}, "do not fit the network"),
        ({"sha256": "0" * 64}, "damaged"),
        ({"sha256": None}, "damaged"),
    ],
)
def test_edited_notes_are_refused(saved, changes, told):
    with pytest.raises(CheckpointError, match=told):
        load_checkpoint(edited_note(saved, **changes)).network()


def test_note_without_checksum_keeps_network_keys(saved):
    """A note without its checksum cannot name a teacher, which would change how the network plays."""
    changed = edited_note(saved, taught_by="human dialogues", disagree="rejects", counters={"updates": 10**9})
    weights = load_checkpoint(changed)
    assert weights.about.keys() == {"format", "sha256", "layout", "network"}
    assert type(checkpoint(str(changed))) is NetworkPartner
    assert all(torch.equal(weights.tensors[key], value) for key, value in load_checkpoint(saved).tensors.items())


def test_a_note_edited_behind_its_own_checksum_is_refused(saved):
    saved.write_text(saved.read_text().replace('"updates": 3', '"updates": 4'))
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(saved)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', "[" * 100_000])
def test_a_note_that_is_none_is_refused(saved, text):
    saved.write_text(text)
    with pytest.raises(CheckpointError):
        load_checkpoint(saved).network()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    policy = network()
    with torch.no_grad():
        policy.head.weight[0, 0] = value
    with pytest.raises(CheckpointError, match="not finite; take an earlier checkpoint"):
        load_checkpoint(write(tmp_path / "broken.json", policy)).network()


def test_weights_that_are_missing_or_too_many_are_refused(saved):
    tensors, about, _ = load_checkpoint(saved)
    fewer = dict(list(tensors.items())[1:])
    for wrong in (fewer, {**tensors, "network.more": torch.zeros(1)}, {}):
        with pytest.raises(CheckpointError, match="do not fit the network"):
            Weights(wrong, about, "here").network()


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_refused_and_not_executed(saved, tmp_path):
    armed = pickle.dumps(Bomb(tmp_path / "gone off"))
    for name in ("policy.json", "policy.safetensors"):
        content = (saved.parent / name).read_bytes()
        (saved.parent / name).write_bytes(armed)
        with pytest.raises(CheckpointError):
            load_checkpoint(saved).network()
        (saved.parent / name).write_bytes(content)
    # ... also where its checksum is right.
    saved.with_suffix(".safetensors").write_bytes(armed)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(edited_note(saved, sha256=hashlib.sha256(armed).hexdigest())).network()
    assert not (tmp_path / "gone off").exists()
    pickle.loads(armed)
    assert (tmp_path / "gone off").exists()  # the bomb was a live one


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


@pytest.mark.slow
def test_killed_save_is_atomic(tmp_path):
    codes, is_new = [], []
    while 0 not in codes:
        note = write(tmp_path / "policy.json")
        codes.append(save_killed_after(len(codes), note))
        loaded = load_checkpoint(note).network()
        is_new.append(same_weights(loaded, network(2)))
        assert is_new[-1] or same_weights(loaded, network(1))
        write(note)  # files left by the killed save do not matter
        assert same_weights(load_checkpoint(note).network(), network(1))
    assert len(codes) > 5 and codes == [-signal.SIGKILL] * (len(codes) - 1) + [0]
    assert is_new == sorted(is_new) and not is_new[0]
    assert is_new[-2], "the last kill comes after the note"


def test_irregular_or_large_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(2**40)  # of holes: it takes no room
    with (write(tmp_path / "heavy.json").with_suffix(".safetensors")).open("ab") as file:
        file.truncate(2**40)
    for path, reason in (
        (Path("/dev/zero"), "no regular file"),
        (tmp_path / "pipe.json", "no regular file"),
        (tmp_path / "large.json", "limit"),
        (tmp_path / "heavy.json", "limit"),
    ):
        with pytest.raises(CheckpointError, match=reason):
            load_checkpoint(path)


def test_files_of_another_kind_are_not_called_damaged(saved, tmp_path):
    with zipfile.ZipFile(tmp_path / "agent.zip", "w") as file:
        file.writestr("data", "{}")
    (tmp_path / "old.pt").write_bytes(pickle.dumps({}))
    weights, archive = saved.with_suffix(".safetensors"), tmp_path / "agent.zip"
    for path, kind in ((weights, "safetensors"), (archive, "zip"), (tmp_path / "old.pt", "pickle")):
        with pytest.raises(CheckpointError, match=kind):
            load_checkpoint(path)
        with pytest.raises(OccupantNameError, match=kind):
            seat_occupant(expand_run_name(str(path)))
    for other, kind in ((saved, "json"), (archive, "zip")):
        weights.write_bytes(other.read_bytes())
        with pytest.raises(CheckpointError, match=kind) as caught:
            load_checkpoint(saved)
        assert "damaged" not in str(caught.value)


# -- A network in NumPy, one game at a time


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


def saved_with_opinions(folder: Path, about: dict | None = None, **shape: object) -> tuple[PolicyNetwork, Path]:
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


@pytest.mark.parametrize("greedy", [True, False])
def test_numpy_partner_conforms(greedy, tmp_path):
    _, path = saved_with_opinions(tmp_path, max_count=10)
    check_partner(checkpoint(str(path), greedy=greedy, one_game=True), max_count=MAX_COUNT, variants=VARIANTS[:4])


def test_shipped_expert_numpy_equals_torch():
    source = open_source("lewis", split="paper_test")
    experts = [seat_occupant("expert"), seat_occupant("expert", one_game=True)]
    assert isinstance(experts[1], NumpyPartner)
    one, other = (rollout((expert, Heuristic()), source.block(3, 0, 300), Rules(), seed=0) for expert in experts)
    assert (one.act == other.act).all() and (one.oA == other.oA).all()


def test_numpy_clone_has_rare_disagree(tmp_path):
    policy, path = saved_with_opinions(tmp_path, {"taught_by": "human dialogues", "disagree": "rejects"})
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
    policy, path = saved_with_opinions(tmp_path)
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
