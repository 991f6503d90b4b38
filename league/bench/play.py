"""Playing: a submission meets every member of a roster, in this process or in several beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource
from league.backends.pool import in_processes
from league.bench.protocol import CONFIDENCE, NOISE_SEED, RULES
from league.bench.submission import Who
from league.evaluation.matches import MEMBER, Repeated, Terms, play_repeatedly


def noise_index(partner: str) -> int:
    """What names the noise of all games with this partner: its spec, and not who plays it or who else is played."""
    return int.from_bytes(hashlib.sha256(partner.encode()).digest()[:8])


def play_partner(who: Who, partner: str, source: ScenarioSource, replicates: int) -> Repeated:
    """All games of ``who`` with one partner, a spec, on the source's table.

    Raises :class:`~league.evaluation.matches.PlayError`, :class:`~league.evaluation.matches.UnreachedError`.
    """
    assert source.table is not None
    terms = Terms(source, source.table, RULES, NOISE_SEED, CONFIDENCE)
    index = (noise_index(partner),)
    return play_repeatedly(terms, MEMBER, who.partner(), partner, seat_occupant(partner), replicates, index)


def play_roster(
    who: Who,
    partners: Sequence[str],
    source: ScenarioSource,
    replicates: int,
    *,
    workers: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Repeated]:
    """The games with every partner, by its spec, in the order given; the same whatever ``workers`` is.

    ``tell`` hears how far it is.
    """
    played: dict[str, Repeated] = {}
    calls = [(who, partner, source, replicates) for partner in partners]
    for done, (place, games) in enumerate(in_processes(play_partner, calls, workers), start=1):
        played[partners[place]] = games
        tell(f"{done} of {len(partners)} partners")
    return {partner: played[partner] for partner in partners}
