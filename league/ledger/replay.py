"""Matches of a ledger once more: which they are, and how they go when they are played again from what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dond_marl.batch import Games
from dond_marl.occupants import OccupantNameError
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.data import DataError
from dond_marl.scenarios.sources import ScenarioError
from dond_marl.seats import Partner
from league.ledger.ledger import Ledger
from league.settings.read import Config
from league.tasks.blobs import BlobError
from league.tasks.match_task import facts_of, match_index
from league.tasks.seating import SEATING
from league.tasks.values import Entrant, Leg, Place


def orders(ledger: Ledger, number: int, *, failed: bool = False) -> Iterator[tuple[int, Leg]]:
    """Every leg of a committed round, after its seat order in the match: 0 or 1. ``failed``: of its failed matches."""
    opens = {(first, second) for _, kind, first, second, *_ in ledger.meetings(number) if kind == "match"}
    for leg in ledger.legs(number, failed=failed):
        yield (0 if leg.seats in opens else 1), leg


def played_again(
    config: Config,
    ledger: Ledger,
    blobs: Path,
    number: int,
    order: int,
    leg: Leg,
    instead: Mapping[str, Partner] | None = None,
) -> Games | str:
    """The games of a leg, played again and checked against its facts, or why that is impossible.

    ``instead``: who sits for some of the members; nobody else is asked who costs something to ask.
    """
    members, before = {member.name: member for member in ledger.members()}, ledger.states(number - 1)
    try:
        players = []
        for name in leg.seats:
            blob = before[name].blob if name in before else members[name].blob
            known = (instead or {}).get(name)
            if known is None and members[name].costly:
                return f"cannot be played again: {name} would have to be asked"
            players.append(SEATING.partner(Entrant(members[name], blob), Place(blobs)) if known is None else known)
        games = rollout(
            (players[0], players[1]),
            ledger.scenarios(number),
            config.env.rules(),
            seed=config.league.seed,
            index=match_index(number, leg.seats[::-1] if order else leg.seats, order),
            prior=SEATING.source(config.env).prior,
            reveal_partner_utilities=config.env.reveal_partner_utilities,
            illegal=config.env.illegal or "raise",
        )
    except (BlobError, DataError, OccupantError, OccupantNameError, ScenarioError, OSError) as error:
        return f"cannot be played again: {error}"
    if facts_of(games).tobytes() != leg.facts.tobytes():
        return "go otherwise when they are played again here"
    return games
