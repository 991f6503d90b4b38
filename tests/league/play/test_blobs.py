"""The acts that a learned average is taught by: which of their blobs stay."""

from __future__ import annotations

import torch

from league.play.blobs import RESERVOIR_KEY, SUFFIX, forget_reservoir, name_of, write_blob
from partners.network.checkpoint import pack


def test_old_acts_are_deleted_and_a_round_without_weights_stops_no_later_one(tmp_path):
    """Weights 0 and 1 have acts of their own; those of 1 are the newest."""
    acts = [pack({"reservoir.act": torch.tensor([number])}) for number in (0, 1)]
    weights = [pack({}, {RESERVOIR_KEY: name_of(content)}) for content in acts]
    for content in (*acts, *weights):
        write_blob(tmp_path, content)
    (old, new), (before, now) = map(name_of, acts), map(name_of, weights)
    forget_reservoir(tmp_path, before, now)
    assert {path.stem for path in tmp_path.iterdir()} == {before, now, new} and old != new
    (tmp_path / (before + SUFFIX)).unlink()
    forget_reservoir(tmp_path, before, now)
    forget_reservoir(tmp_path, now, now)
    assert {path.stem for path in tmp_path.iterdir()} == {now, new}
