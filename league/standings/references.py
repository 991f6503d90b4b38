"""Best-response references: the points that a best response earns against a partner, stored or computed.

A reference is a property of the partner alone: of the best response to it, which knows its program but not its values,
over all 5,295 scenarios of ``lewis`` under the default rules, by seat and by part of the scenarios; exact or a
certified upper bound. The evaluated policy, its snapshots and parents do not enter it. The file next to this module
holds those of the rosters train, dev and dev2 and of the catalogue; partners without an entry have no reference.
In the ladder, own points are also shown as a share of exact references.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import Spec
from dond_marl.scenarios.sources import PARTS, ScenarioSource, lewis_space, view_parts
from dond_marl.solvers.solve import solve
from dond_marl.solvers.values import prior_scenarios
from league.play.match import SEATING
from league.standings.ladder import Responses
from partners.provenance import identity

if TYPE_CHECKING:
    from league.settings.read import Config

STORED = Path(__file__).with_name("references.json")
PRIOR = "lewis"


class Side(NamedTuple):
    """A reference in one seat: points of ten, over all scenarios and over each of their parts.

    ``high`` is the reference. If it is exact, the best response earns it and ``low`` is the same; otherwise it is an
    upper bound for every policy, and ``low`` is the measured points of the best known response.
    """

    exact: bool
    low: float
    high: float
    low_in: tuple[float, ...]  # by :data:`~dond_marl.scenarios.sources.PARTS`, of the responding seat
    high_in: tuple[float, ...]
    seconds: float  # of one core, to compute it

    def values_over(self, seat: int, parts: Iterable[int]) -> tuple[float, float]:
        """The lower and the upper value over several of the parts together, by their number."""
        rows = list(parts)
        games = part_sizes()[seat][rows]
        low, high = (float(np.dot(np.array(side)[rows], games) / games.sum()) for side in (self.low_in, self.high_in))
        return low, high


class Reference(NamedTuple):
    """The references against one partner, by seat; ``None`` if neither exact points nor a bound are known."""

    seats: tuple[Side | None, Side | None]  # by the seat of the response
    fingerprint: str  # of the partner's play, to detect a changed program

    @property
    def exact(self) -> bool:
        """Whether the reference is exact in both seats."""
        return all(side is not None and side.exact for side in self.seats)


@lru_cache(maxsize=8)
def stored_references(path: Path = STORED) -> Mapping[str, Reference]:
    """The references of a file by the partner's identity; empty without a file."""
    partners = json.loads(path.read_text(encoding="utf-8"))["partners"] if path.is_file() else {}
    return {
        name: Reference((_read_side(row[SEATS[0]]), _read_side(row[SEATS[1]])), row["fingerprint"])
        for name, row in partners.items()
    }


def reference_of(spec: Spec) -> Reference | None:
    """The stored reference for an occupant; ``None`` without one, as for all that need code, files or services."""
    return None if spec.needs else stored_references().get(identity(spec))


@lru_cache(maxsize=1)
def part_sizes() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Number of the 5,295 scenarios in each part for each seat, ``[2, 3]``."""
    space = lewis_space()
    return np.stack([np.bincount(view_parts(space, seat), minlength=len(PARTS)) for seat in (0, 1)])


def _read_side(row: Mapping[str, Any] | None) -> Side | None:
    if row is None:
        return None
    low_in, high_in = (tuple(float(row[key][part]) for part in PARTS) for key in ("low", "high"))
    low, high = (float(row[key]["all"]) for key in ("low", "high"))
    return Side(bool(row["exact"]), low, high, low_in, high_in, float(row["seconds"]))


def stored_responses(config: Config) -> Responses:
    """Stored points by member; empty unless the config has ``lewis``, the default rules and hidden values."""
    env = config.env
    if SEATING.source(env).prior != PRIOR or env.rules() != Rules() or env.reveal_partner_utilities:
        return {}
    responses = {member.name: _stored_points(member.spec) for member in config.members}
    return {name: values for name, values in responses.items() if values is not None}


class ReferencePoints(NamedTuple):
    """Two reference points of own points of ten against a partner, mean of both seats; ``nan`` if unknown."""

    nash: float  # at the Nash points of the source's scenarios
    response: float  # of a best response to the partner, under the source's prior


NO_REFERENCES = ReferencePoints(math.nan, math.nan)


def reference_points(partner: Spec, source: ScenarioSource, rules: Rules, revealed: bool) -> ReferencePoints:
    """The reference points against ``partner``; the best response's only if stored. ``revealed``: values are public."""
    nash = float(solve(prior_scenarios(source)).nash.point.mean())
    ordinary = source.prior == PRIOR and rules == Rules() and not revealed
    stored = _stored_points(partner) if ordinary else None
    return ReferencePoints(nash, math.nan if stored is None else float(np.mean(stored)))


def _stored_points(spec: Spec) -> tuple[float, float] | None:
    try:
        reference = reference_of(spec)
    except InputError:  # missing weights or an unknown name: reported where the member is seated
        return None
    first, second = (None, None) if reference is None else reference.seats
    if first is None or second is None or not (first.exact and second.exact):
        return None
    return first.high, second.high
