"""Queries of a partner of a user's own class, next to those that its games need: a count, no time."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.conformance import check_partner
from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Decisions, Traits, Turns, decide, worth
from league.api import benchmark, evaluate_pair, play_league
from league.bench.protocol import lewis_field
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import RunDirectory
from scripts.bench.report import BenchmarkRow

BAR = 1.2  # decisions queried for each that is needed
SPEC = f"{__file__}:Counted"
OTHER = "heuristic"


class Counted:
    """Agrees to half of its whole and asks for everything until then; counts its decisions."""

    traits = Traits(deterministic=True, memoryless=True)
    queries = 0

    def act(self, turns: Turns) -> Decisions:
        type(self).queries += turns.size
        enough = 2 * worth(turns.my_utilities, turns.last_partner_offer_for_me) >= worth(turns.my_utilities, turns.caps)
        return decide(np.where(enough & turns.act_mask[:, Act.AGREE], Act.AGREE, Act.PROPOSE), turns.counts)


def rows(_repeats: int, _seconds: float) -> Iterator[BenchmarkRow]:
    """A row for each use of such a partner."""
    heldout, field = open_source("lewis", split="test").block(0, 0, 5), lewis_field(40).source.table
    assert field is not None
    games = _in_games(heldout)
    yield _row("evaluate, as partner", _count_queries(lambda: evaluate_pair(OTHER, SPEC, sample=heldout.size)), games)
    wrapped = f"trembling(of='{SPEC}', rate=0)"
    yield _row(
        "evaluate, inside a partner", _count_queries(lambda: evaluate_pair(OTHER, wrapped, sample=heldout.size)), games
    )
    yield _row("evaluate, as member", _count_queries(lambda: evaluate_pair(SPEC, OTHER, sample=heldout.size)), games)
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"sample": field.size, "allow_uncommitted": True, "declare": "none"}
        queries = _count_queries(lambda: benchmark(SPEC, [OTHER], results=f"{folder}/bench.jsonl", **options))
        yield _row("bench", queries, _in_games(field))
        settings = {"members": [SPEC, OTHER, "tough"], "league.rounds": 1, "league.block_size": 64}
        settings["logging.output_dir"] = folder
        queries = _count_queries(lambda: play_league("league_scripted.yaml", settings))
        yield _row("league of one round", queries, _in_league(folder))
    announced: list[str] = []
    queries = _count_queries(lambda: check_partner(seat_occupant(SPEC), report=announced.append))
    yield _row("check_partner, of what it announces", queries, int(re.sub(r"\D", "", announced[0])))


def _row(use: str, queries: int, needed: int) -> BenchmarkRow:
    note, ratio = f"{queries:,} decisions queried, {needed:,} needed", queries / needed
    return BenchmarkRow(f"queries: {use}", "of need", 1, ratio, bar=f"<= {BAR}", reached=ratio <= BAR, note=note)


def _count_queries(use: Callable[[], object]) -> int:
    """The number of decisions that ``use`` queries."""
    kind = type(seat_occupant(SPEC))  # of the file: this module's own class is another one
    before: int = kind.queries  # type: ignore[attr-defined]  # of Counted
    use()
    return kind.queries - before  # type: ignore[attr-defined]  # of Counted


def _in_games(scenarios: Scenarios) -> int:
    """The decisions of one game on each of ``scenarios`` in both seats."""
    pair = seat_occupant(SPEC), seat_occupant(OTHER)
    return _count_queries(lambda: [rollout(occupants, scenarios, seed=0) for occupants in (pair, pair[::-1])])


def _in_league(folder: str) -> int:
    """The decisions in all games of a league's only round."""
    with ReadLedger(RunDirectory(Path(folder) / "0001").ledger) as ledger:
        (name,) = (member.name for member in ledger.members() if member.spec and "Counted" in member.spec)
        legs = [(leg.seats, leg.facts["turns"].astype(int)) for leg in ledger.legs(0)]
    return sum(int(((turns + 1 - seat) // 2).sum()) for seats, turns in legs for seat in (0, 1) if seats[seat] == name)
