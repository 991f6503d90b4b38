"""Made-up rows of the benchmark's results file: made without a game, with the figures that a test gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from league.bench.protocol import HEADLINE, lewis_field, protocol_document
from league.bench.results import FORMAT, seal_row
from partners.rosters import DEV


def made_up_row(
    name: str, seed: int | None, points: Mapping[str, tuple[float, float]], *, roster: str = DEV, **others: Any
) -> dict[str, Any]:
    """A row of ``name`` with points of ten by partner and seat; ``others``: further keys of the row."""
    submission = {
        "name": name, "seed": seed, "learned": True, "deterministic": True, "sees_everything": False, "acts": 1_000_000,
        "met": "known: none", "met_here": [], "declared": None, "settings_sha256": None, "identity": name,
    }  # fmt: skip
    cells = [
        {"partner": partner, "seat": seat, "replicates": 1, "points": {HEADLINE: value}, "margin": {},
         "left": 10 - value, "deal": 1.0, "welfare": 0.9}
        for partner, both in points.items()
        for seat, value in enumerate(both)
    ]  # fmt: skip
    row = {
        "format": FORMAT,
        "submission": submission,
        "benchmark": protocol_document(lewis_field(), roster, tuple(points), 1),
        "code": {"commit": "0" * 40, "changed_since": False},
        "figures": {"points": {"value": float(np.mean(list(points.values())))}},
        "cells": cells,
        "answers": {},
    }
    return seal_row({**row, **others})
