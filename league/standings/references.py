"""What could have been had against a partner: by seat and by part of the scenarios, exact or a certified upper bound.

A reference is a property of the partner alone: of the best response to it, which knows its program but not its values,
over all 5,295 scenarios of ``lewis`` under the default rules. The policy that is judged, its snapshots, its parents and
whoever learned against it have no part in it. ``dond ship references`` computes them and writes the file beside this
module; whoever is not in it has none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.records.files import write_atomically
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, lewis_space
from dond_marl.scenarios.views import PARTS, view_parts
from dond_marl.seats import Partner
from partners.provenance import identity

STORED = Path(__file__).with_name("references.json")
VERSION = 1  # of the file
PRIOR = "lewis"
DIGITS = 9


class Side(NamedTuple):
    """What one seat could have had: points of ten, over all scenarios and over each of their parts.

    ``high`` is the reference. Where it is exact it is what the best response earns, and ``low`` is the same; otherwise
    no policy earns more, and ``low`` is what the best known response was seen to earn, at most as much.
    """

    exact: bool
    how: str  # a few words for people
    low: float
    high: float
    low_in: tuple[float, float, float]  # by :data:`~dond_marl.scenarios.views.PARTS`, of the responding seat
    high_in: tuple[float, float, float]
    seconds: float  # of one core, to compute it

    def over(self, seat: int, which: Iterable[int]) -> tuple[float, float]:
        """The lower and the upper value over several of the parts together, by their number."""
        some = list(which)
        games = part_sizes()[seat][some]
        low, high = (float(np.dot(np.array(each)[some], games) / games.sum()) for each in (self.low_in, self.high_in))
        return low, high


class Reference(NamedTuple):
    """What could have been had against one partner in each seat; ``None`` where nothing is certain."""

    seats: tuple[Side | None, Side | None]  # by the seat of the response
    fingerprint: str  # of the partner's play, so that a changed program is noticed

    @property
    def exact(self) -> bool:
        """Whether it is exact in both seats."""
        return all(side is not None and side.exact for side in self.seats)


def stored_references(path: Path = STORED) -> Mapping[str, Reference]:
    """The references of a file by the partner's identity; none where there is no file. Raises ``InputError``."""
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else {}


def reference_of(spec: Spec) -> Reference | None:
    """The stored reference for an occupant, ``None`` without one."""
    return stored_references().get(identity(spec))


def write_references(path: Path, references: Mapping[str, Reference]) -> None:
    """The file of ``references`` by identity, sorted; :func:`stored_references` reads it back."""
    document = {
        "version": VERSION,
        "prior": PRIOR,
        "max_turns": Rules().max_turns,
        "disagree": Rules().disagree,
        "parts": list(PARTS),
        "partners": {name: _document(references[name]) for name in sorted(references)},
    }
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


@lru_cache(maxsize=1)
def part_sizes() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """How many of the 5,295 scenarios lie in each part for each seat, ``[2, 3]``."""
    space = lewis_space()
    return np.stack([np.bincount(view_parts(space, seat), minlength=len(PARTS)) for seat in (0, 1)])


def fingerprint_of(partner: Partner) -> str:
    """16 hexadecimal digits of how a partner plays 353 scenarios against two others: the same program, the same digits.

    A network's digits hold on one kind of machine: where it nearly doubts, another may round otherwise.
    """
    space = lewis_space()
    some = Scenarios(*(array[::15] for array in space))
    digest = hashlib.sha256()
    for number, name in enumerate(("heuristic", "random")):
        other = seat_occupant(name)
        for seat in (0, 1):
            pair = (partner, other) if seat == 0 else (other, partner)
            games = rollout(pair, some, seed=0, index=(number, seat), prior=PRIOR)
            digest.update(np.ascontiguousarray(games.scores, dtype=np.int16).tobytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=8)
def _read(path: Path, _time: int) -> Mapping[str, Reference]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']}, not {VERSION}")
        return {name: _reference(row) for name, row in document["partners"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path} holds no references that can be read ({error}); `dond ship references` writes it anew"
        ) from None


def _reference(row: Mapping[str, Any]) -> Reference:
    first, second = (None if row[seat] is None else _side(row[seat]) for seat in SEATS)
    return Reference((first, second), str(row["fingerprint"]))


def _side(row: Mapping[str, Any]) -> Side:
    low, high = (tuple(float(row[key][name]) for name in PARTS) for key in ("low", "high"))
    return Side(
        bool(row["exact"]),
        str(row["how"]),
        float(row["low"]["all"]),
        float(row["high"]["all"]),
        (low[0], low[1], low[2]),
        (high[0], high[1], high[2]),
        float(row["seconds"]),
    )


def _document(reference: Reference) -> dict[str, Any]:
    return {
        **{seat: _of_side(side) for seat, side in zip(SEATS, reference.seats, strict=True)},
        "fingerprint": reference.fingerprint,
    }


def _of_side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    low, high = (
        {name: round(value, DIGITS) for name, value in zip(("all", *PARTS), (whole, *by_part), strict=True)}
        for whole, by_part in ((side.low, side.low_in), (side.high, side.high_in))
    )
    return {"exact": side.exact, "how": side.how, "low": low, "high": high, "seconds": round(side.seconds, 1)}
