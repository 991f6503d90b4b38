"""Check how similar the members of the rosters are, or whether occupants may be members.

The rosters were drawn by published seeds from the families of the shipped ``rosters.yaml``, before anything was trained
on them. Each family has a role: most are *shared* by all rosters, with other parameters in each; some are in *train*
only, some in *dev* only, some in *dev2* only. Families took turns to add their next member whose play is different
enough: the agreement with members of the same roster must be below 95 %, with members of earlier rosters below 85 %.
Members of *dev2* must also agree less than 85 % with the partners that the project used before the rosters
(:data:`USED_BEFORE`), and no family in dev2 only has one of those. *test2* was drawn last, by the same limits, from
partners that this project's author did not write: the programs of :mod:`partners.independent` and negotiators of
NegMAS; and from the families at values that no other roster has.

The agreement of A with B is the share of A's decisions that B would also have made. A plays in both seats against five
probes, one drawn for each game, and B is queried in the same positions with the same noise. PROPOSE and INSIST count
as one act, because the rules treat them alike; offers are equal if their splits are. Agreement is not symmetric: each
policy is judged at its own positions.

The result is recorded next to the rosters in ``admission.csv``; ``check`` recomputes the rows of train, dev and dev2.

examples:
  python -m experiments rosters check                     # similarity of the members to each other
  python -m experiments rosters check "linear(exponent=3)" --as dev
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click
import numpy as np

from dond.cli.shell import Command, Group, print_line
from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import find_factory, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Bools, Decisions, Partner, Traits
from league.evaluation.matches import Witness
from partners.mixture import Mixture
from partners.rosters import (
    DEV,
    DEV2,
    TRAIN,
    load_rosters,
    plain_name,
)

# An early fair accepter, a time-based conceder, one that hardly concedes, a reactive one, and a random one.
PROBES = ("heuristic", "conceder", "stubborn", "nice_tit_for_tat", "random")
SCENARIOS = 1324  # of the 5,295 legal ones, every fourth
PLAY_SEED = 0  # of the noise in the games against the probes


class CandidatePlay:
    """A candidate's decisions against the probes, in both seats of ``scenarios`` (None: :func:`scenario_sample`)."""

    def __init__(self, candidate: Partner, scenarios: Scenarios | None = None, rules: Rules = Rules()) -> None:
        played, probe = scenario_sample() if scenarios is None else scenarios, Mixture(PROBES)
        witness = Witness(candidate)
        witness.traits = Traits()  # its turns have noise, even if the candidate reads none, for later queries
        pairs: list[tuple[Partner, Partner]] = [(witness, probe), (probe, witness)]
        for seat, pair in enumerate(pairs):
            rollout(pair, played, rules, seed=PLAY_SEED, index=(seat,))
        self._positions = list(zip(witness.turns, witness.decisions, strict=True))

    @property
    def decisions(self) -> int:
        """The number of the candidate's decisions."""
        return sum(turns.size for turns, _ in self._positions)

    def share(self, other: Partner) -> float:
        """The share of the candidate's decisions, in 0..1, that ``other`` would have made too."""
        same = (same_decisions(other.act(turns), decisions) for turns, decisions in self._positions)
        return sum(int(rows.sum()) for rows in same) / self.decisions


def same_decisions(first: Decisions, second: Decisions) -> Bools:
    """The rows with equal decisions, ``[B]`` bool: INSIST equals PROPOSE, and only offers have a split."""
    offers = first.act_type <= Act.INSIST
    both_offer = offers & (second.act_type <= Act.INSIST)
    same_split, same_act = (first.oA == second.oA).all(axis=1), ~offers & (first.act_type == second.act_type)
    same: Bools = np.where(both_offer, same_split, same_act)
    return same


def scenario_sample(number: int = SCENARIOS) -> Scenarios:
    """About ``number`` of the legal scenarios, at equal distances in their enumeration."""
    table = open_source("lewis", split="all").table
    assert table is not None
    return table.rows(np.arange(0, table.size, max(1, round(table.size / number))))


DRAWN = (TRAIN, DEV, DEV2)  # from the families of rosters.yaml alone
LIMIT, TWIN = 0.85, 0.95  # agreement from which on a candidate is refused, of another roster and of its own
# Partners used for training and evaluation before the rosters existed: the scripted partners of that time, and the
# variants in the default league, which were chosen after looking at its held-out members.
USED_BEFORE = (
    *("boulware", "conceder", "concession_rule", "first_acceptable_offer", "heuristic", "hybrid", "linear", "micro"),
    *("naive_tit_for_tat", "nash_seeker", "nice", "nice_tit_for_tat", "prosocial", "pushover", "random", "stubborn"),
    *("tough", "ultimatum", "versatile"),
    *("heuristic(accept_ratio=0.7, insist_ratio=0.7)", "heuristic(accept_ratio=0.8, insist_ratio=0.8)"),
    *("heuristic(accept_ratio=0.9, insist_ratio=0.9)", "conceder(floor=0.9)", "linear(floor=0.75)"),
    *("linear(floor=0.9)", "stubborn(floor=0.8)", "stubborn(floor=0.9)"),
)


class Assessment(NamedTuple):
    """One candidate for one roster, and the reason if it was refused."""

    member: str
    roster: str
    reason: str  # empty: taken
    nearest_train: tuple[str, float]  # member of train with the highest agreement, and the agreement; not itself
    nearest: tuple[str, float]  # the same over all partners that it was compared with


class Comparisons:
    """Agreements between partners, each played once and cached."""

    def __init__(self) -> None:
        self._plays: dict[str, CandidatePlay] = {}
        self._shares: dict[tuple[str, str], float] = {}

    def assess(self, member: str, roster: str, members: Mapping[str, Sequence[str]]) -> Assessment:
        """Assess ``member`` as a candidate for ``roster``, given the ``members`` of all rosters, maybe itself one."""
        same_roster = [other for other in members[roster] if other != member]
        groups: list[tuple[Sequence[str], str]] = []
        if roster != TRAIN:
            groups.append((members[TRAIN], "in train"))
        if roster == DEV2:
            groups += [(members[DEV], "in dev"), (USED_BEFORE, "met before there were rosters")]
        earlier = [self.nearest(member, [other for other in candidates if other != member]) for candidates, _ in groups]
        reasons = [
            f"{share:.1%} like {other}, {where}"
            for (other, share), (_, where) in zip(earlier, groups, strict=True)
            if share >= LIMIT
        ]
        if roster == DEV2 and member in USED_BEFORE:
            reasons.append("met before there were rosters")
        alike = [(max(self.share(member, other), self.share(other, member)), other) for other in same_roster]
        share, twin = max(alike, default=(0.0, ""))
        if share >= TWIN:
            reasons.append(f"{share:.1%} like {twin}, in {roster} too")
        train = self.nearest(member, [other for other in members[TRAIN] if other != member])
        among = max([*earlier, train, self.nearest(member, same_roster)], key=lambda near: near[1])
        return Assessment(member, roster, "; ".join(reasons), train, among)

    def assess_all(self, members: Mapping[str, Sequence[str]], rosters: Sequence[str] = DRAWN) -> list[Assessment]:
        """Assess every member of ``rosters`` for its own roster again: one with a reason should not be there."""
        return [self.assess(member, roster, members) for roster in rosters for member in members[roster]]

    def nearest(self, member: str, candidates: Sequence[str]) -> tuple[str, float]:
        """The partner of ``candidates`` with the highest agreement, the first by name of equals, and the agreement."""
        shares = {other: self.share(member, other) for other in candidates}
        return min(shares.items(), key=lambda item: (-item[1], item[0]), default=("", 0.0))

    def share(self, member: str, other: str) -> float:
        """The agreement of ``member`` with ``other``, 0..1."""
        if member not in self._plays:
            self._plays[member] = CandidatePlay(seat_occupant(member))
        if (member, other) not in self._shares:
            self._shares[member, other] = self._plays[member].share(seat_occupant(other))
        return self._shares[member, other]


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Commands about the rosters; the module's docstring is their help."""


@command.command("check", cls=Command)
@click.argument("names", nargs=-1, metavar="[OCCUPANT]...")
@click.option("--as", "roster_name", type=click.Choice(DRAWN), help="a roster (all; for OCCUPANTs, dev2)")
def check_command(names: tuple[str, ...], roster_name: str | None) -> None:
    """Recompute the similarities of the members, or check whether OCCUPANTs may be members; exit code 2 if not."""
    compared, stored = Comparisons(), load_rosters()
    if names:
        specs = [find_factory(name)[0] for name in names]  # raises with a suggestion
        rows = [compared.assess(plain_name(spec), roster_name or DEV2, stored.members) for spec in specs]
    else:
        rows = compared.assess_all(stored.members, DRAWN if roster_name is None else [roster_name])
    for row in rows:
        partner, share = row.nearest
        distance = f"{share:.1%} like {partner}" + (f", below {LIMIT:.0%}" if share < LIMIT else "")
        print_line(f"{row.roster:6} {row.member:60} {row.reason or f'apart: {distance}'}")
    refused = [row.member for row in rows if row.reason]
    if refused and not names:
        raise InputError(f"{len(refused)} of {len(rows)} are not allowed: {', '.join(refused)}")
