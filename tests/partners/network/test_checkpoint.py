"""Weights on disk: whole or refused, never half read, and nothing in them is ever executed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pickle
import signal
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dond_marl.occupants import OccupantNameError, expand_run_name, seat_occupant
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
from partners.network.occupants import checkpoint
from partners.network.partner import NetworkPartner

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
