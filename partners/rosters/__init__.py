"""Three disjoint lists of partners: whom one learns from, whom one may look at while tuning, whom nobody has met."""

from __future__ import annotations

from partners.rosters.stored import (
    DEV,
    FILE,
    ROSTERS,
    TEST,
    TRAIN,
    Rosters,
    hash_of,
    roster,
    roster_hash,
    stored,
    written,
)

__all__ = [
    "DEV",
    "FILE",
    "ROSTERS",
    "TEST",
    "TRAIN",
    "Rosters",
    "hash_of",
    "roster",
    "roster_hash",
    "stored",
    "written",
]
