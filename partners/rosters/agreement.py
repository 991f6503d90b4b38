"""How often one partner does what another would have done: the test by which copies are kept out of a roster.

A candidate plays in both seats against five probes, one drawn for each game. At each of its own decisions another
partner is asked what it would do in the same position with the same noise. PROPOSE and INSIST are one act here, because
they change nothing in the rules; two offers are the same if they are the same split. The share of the candidate's
decisions, in both seats, in which the other does the same is their agreement. It is one of the candidate's games: that
of A with B is not that of B with A.
"""

from __future__ import annotations

import numpy as np

from dond_marl.game import Act, Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Bools, Decisions, Partner, Traits, Turns
from partners.mixture import Mixture

# Who takes soon what is fair, who concedes by time, who hardly does, who answers in kind, and who wanders everywhere.
PROBES = ("heuristic", "conceder", "stubborn", "nice_tit_for_tat", "random")
SCENARIOS = 1324  # of the 5,295 legal ones, every fourth
SEED = 0  # of the noise


class Play:
    """A candidate's decisions against the probes, kept so that others can be asked about them.

    ``candidate`` opens and answers ``scenarios``, by default :func:`every_few`.
    """

    def __init__(self, candidate: Partner, scenarios: Scenarios | None = None, rules: Rules = Rules()) -> None:
        played, probe = every_few() if scenarios is None else scenarios, Mixture(PROBES)
        self._positions: list[tuple[Turns, Decisions]] = []
        heard = _Heard(candidate, self._positions)
        pairs: list[tuple[Partner, Partner]] = [(heard, probe), (probe, heard)]
        for seat, pair in enumerate(pairs):
            rollout(pair, played, rules, seed=SEED, index=(seat,), prior="lewis")

    @property
    def decisions(self) -> int:
        """How many decisions the candidate made."""
        return sum(turns.size for turns, _ in self._positions)

    def share(self, other: Partner) -> float:
        """The share of the candidate's decisions, in 0..1, that ``other`` would have made too."""
        return sum(int(same_decisions(other.act(turns), own).sum()) for turns, own in self._positions) / self.decisions


def same_decisions(one: Decisions, other: Decisions) -> Bools:
    """Which rows say the same, ``[B]``: INSIST is PROPOSE, and only offers have a split."""
    offers = one.act_type <= Act.INSIST
    both = offers & (other.act_type <= Act.INSIST)
    same: Bools = np.where(both, (one.oA == other.oA).all(axis=1), ~offers & (one.act_type == other.act_type))
    return same


def every_few(number: int = SCENARIOS) -> Scenarios:
    """About ``number`` of the legal scenarios, at equal distances in their enumeration."""
    table = open_source("lewis", split="all").table
    assert table is not None
    return table.rows(np.arange(0, table.size, max(1, round(table.size / number))))


class _Heard:
    """A partner whose positions and decisions are kept; it is given noise even if it reads none, for those asked."""

    def __init__(self, partner: Partner, positions: list[tuple[Turns, Decisions]]) -> None:
        self._partner, self._positions = partner, positions
        self.traits = Traits()

    def act(self, turns: Turns) -> Decisions:
        decisions = self._partner.act(turns)
        self._positions.append((turns, decisions))
        return decisions
