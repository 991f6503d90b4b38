"""Pairs that are kept: each says when and with what it was played, and none stands for other weights of its name."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspiel", reason="pip install -e '.[examples]' brings OpenSpiel")

from league.experiments.field.bargaining import perform
from partners.network.checkpoint import describe, save_checkpoint
from partners.network.network import PolicyNetwork
from partners.network.shape import NetworkShape


def test_pairs_of_other_weights_under_the_same_name_are_played_anew(tmp_path):
    path, kept = tmp_path / "net.json", tmp_path / "kept"
    spec = f"checkpoint(path={str(path)!r})"

    def played(seed):
        network = PolicyNetwork(NetworkShape(hidden=(4,)), seed=seed)
        tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
        save_checkpoint(path, tensors, describe(network))
        rows = perform([spec], 2, 2, kept, lambda _: None)
        return rows, len(list(kept.iterdir()))

    first, number = played(0)
    assert all(row.date and row.versions["open_spiel"] for row in first) and number == len(first)
    assert played(0) == (first, number)
    theirs = sum(spec not in (row.who, row.against) for row in first)
    assert played(1)[1] == 2 * number - theirs
