"""Which partners are of a family that the roster train has.

A family is a program (:func:`partners.provenance.programs`), not a name: ``boulware`` is ``linear`` with another
exponent, and ``trembling(of=linear)`` plays as ``linear`` most of the time.
"""

from __future__ import annotations

from functools import lru_cache

from partners.provenance import programs
from partners.rosters import TRAIN, roster


@lru_cache(maxsize=1024)  # asked for every cell of a results file, of the same few partners
def is_of_train(partner: str) -> bool:
    """Whether a member of the roster train plays by the program of ``partner``, a spec, or of anybody inside it."""
    return bool(programs(partner) & _of_train())


@lru_cache(maxsize=1)
def _of_train() -> frozenset[str]:
    return frozenset(program for member in roster(TRAIN) for program in programs(member))
