"""A partner of a user's own class is queried about as often as its games need, as each query may cost something."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from dond_marl.conformance import check_partner
from dond_marl.game import Act
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Traits, decide, worth
from league.api import benchmark, evaluate_pair, play_league
from league.bench.protocol import lewis_field
from league.ledger.ledger import ReadLedger
from league.ledger.run_directory import RunDirectory

SPEC, OTHER = f"{__file__}:Counted", "heuristic"


class Counted:
    """Agrees to half of its whole and asks for everything until then; counts its decisions."""

    traits = Traits(deterministic=True, memoryless=True)
    queries = 0

    def act(self, turns):
        type(self).queries += turns.size
        enough = 2 * worth(turns.my_utilities, turns.last_partner_offer_for_me) >= worth(turns.my_utilities, turns.caps)
        return decide(np.where(enough & turns.act_mask[:, Act.AGREE], Act.AGREE, Act.PROPOSE), turns.counts)


def queries_of(use: Callable[[], object]) -> int:
    kind = type(seat_occupant(SPEC))  # of the file: this module's own class is another one
    before = kind.queries
    use()
    return kind.queries - before


def decisions_in(scenarios) -> int:
    """The decisions of one game on each of ``scenarios`` in both seats."""
    pair = seat_occupant(SPEC), seat_occupant(OTHER)
    return queries_of(lambda: [rollout(occupants, scenarios, seed=0) for occupants in (pair, pair[::-1])])


@pytest.mark.slow
@pytest.mark.parametrize("pair", [(OTHER, SPEC), (OTHER, f"trembling(of='{SPEC}', rate=0)"), (SPEC, OTHER)])
def test_evaluation(pair):
    needed = decisions_in(open_source("lewis", split="test").block(0, 0, 5))
    assert needed / 2 < queries_of(lambda: evaluate_pair(*pair, sample=5)) <= 1.2 * needed


@pytest.mark.slow
def test_benchmark_and_league(tmp_path):
    field = lewis_field(40).source.table
    options = {"sample": field.size, "allow_uncommitted": True, "declare": "none"}
    asked = queries_of(lambda: benchmark(SPEC, [OTHER], results=tmp_path / "bench.jsonl", **options))
    assert asked <= 1.2 * decisions_in(field)
    settings = {"members": [SPEC, OTHER, "tough"], "league.rounds": 1, "league.block_size": 64}
    asked = queries_of(lambda: play_league("league_scripted.yaml", {**settings, "logging.output_dir": str(tmp_path)}))
    with ReadLedger(RunDirectory(tmp_path / "0001").ledger) as ledger:
        (name,) = (member.name for member in ledger.members() if member.spec and "Counted" in member.spec)
        legs = [(leg.seats, leg.facts["turns"].astype(int)) for leg in ledger.legs(0)]
    needed = sum(((turns + 1 - seat) // 2).sum() for seats, turns in legs for seat in (0, 1) if seats[seat] == name)
    assert asked <= 1.2 * needed


@pytest.mark.slow
def test_conformance_announces_its_queries():
    announced: list[str] = []
    asked = queries_of(lambda: check_partner(seat_occupant(SPEC), report=announced.append))
    assert asked <= 1.2 * int(re.sub(r"\D", "", announced[0]))
