"""Draw the rosters from families of partners by published seeds, check them, or print their table.

The families, with values of each parameter, are those of the shipped ``rosters.yaml``. First each family gets a role:
most are *shared* by all rosters, with other parameters in each; some are in *train* only, some in *dev* only, some in
*dev2* only. Then the rosters are filled, train before dev before dev2: families take turns to add their next member
whose play is different enough. The agreement with members of the same roster must be below 95 %, with members of
earlier rosters below 85 %. Members of *dev2* must also agree less than 85 % with the partners that the project used
before the rosters (:data:`USED_BEFORE`), and no family in dev2 only has one of those.

*test2* is drawn last, by the same limits, from partners that this project's author did not write: the programs of
:mod:`partners.independent` and negotiators of NegMAS; and from the families at values that no other roster has.

The agreement of A with B is the share of A's decisions that B would also have made. A plays in both seats against five
probes, one drawn for each game, and B is queried in the same positions with the same noise. PROPOSE and INSIST count
as one act, because the rules treat them alike; offers are equal if their splits are. A's agreement with B is not B's
with A, whose positions are others.

The result is recorded next to the rosters in ``admission.csv``; ``check`` recomputes its rows.

examples:
  dond experiment rosters check                            # members: hashes, and similarity to each other
  dond experiment rosters check --as test2                 # those of test2; needs NegMAS, takes a quarter of an hour
  dond experiment rosters check "linear(exponent=3)" --as dev
  dond experiment rosters table                            # the members as Markdown
  dond experiment rosters bank                             # the programs that bayes_reply knows
  dond experiment rosters grammar                          # fixes the generated partners before test2 is played
  dond experiment rosters draw --seed 7 --out mine.yaml    # policies trained on the old rosters must be trained again
  dond experiment rosters draw-test2 --rosters mine.yaml   # after that
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
import numpy as np

from dond.cli.shell import SEED as ANY_SEED
from dond.cli.shell import Command, Group, RosterName, WritableFile, print_line
from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import OccupantNameError, Spec, find_factory, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Bools, Decisions, Partner, Traits, expensive_to_query
from dond_marl.solvers.labels import label_losses
from league.bench.test2 import IN_CHECKOUT
from league.evaluation.matches import Witness
from league.ledger.run_directory import source_commit
from partners.bayes_reply import has_tables
from partners.independent import programs as independent_programs
from partners.mixture import Mixture
from partners.provenance import programs
from partners.rosters import (
    BANK,
    DEV,
    DEV2,
    FILE,
    HELD_OUT,
    ROSTERS,
    TEST2,
    TRAIN,
    Rosters,
    load_rosters,
    members_hash,
    plain_name,
)
from partners.scripted.generated import DIALS, Generated, digest_of_grammar
from partners.scripted.time_based import Personas

# An early fair accepter, a time-based conceder, one that hardly concedes, a reactive one, and a random one.
PROBES = ("heuristic", "conceder", "stubborn", "nice_tit_for_tat", "random")
SCENARIOS = 1324  # of the 5,295 legal ones, every fourth
BANK_SCENARIOS = 200  # of them for the many candidates of the bank
ADMISSION = FILE.with_name("admission.csv")
GRAMMAR = IN_CHECKOUT / "generated_grammar.json"
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
        return sum(int(same_decisions(other.act(turns), own).sum()) for turns, own in self._positions) / self.decisions


def same_decisions(first: Decisions, second: Decisions) -> Bools:
    """The rows with equal decisions, ``[B]`` bool: INSIST equals PROPOSE, and only offers have a split."""
    offers = first.act_type <= Act.INSIST
    both = offers & (second.act_type <= Act.INSIST)
    same: Bools = np.where(both, (first.oA == second.oA).all(axis=1), ~offers & (first.act_type == second.act_type))
    return same


def scenario_sample(number: int = SCENARIOS) -> Scenarios:
    """About ``number`` of the legal scenarios, at equal distances in their enumeration."""
    table = open_source("lewis", split="all").table
    assert table is not None
    return table.rows(np.arange(0, table.size, max(1, round(table.size / number))))


Role = Literal["shared", "train", "dev", "dev2"]
Families = Mapping[str, Mapping[str, Sequence[int | float | str]]]
SEED = 2017  # as the held-out views': the year of Lewis et al.; drawn once, before anything was trained on the rosters
DRAWN = (TRAIN, DEV, DEV2)  # from the families alone
SIZES = {TRAIN: 24, DEV: 12, DEV2: 24}
# Numbers of families in one roster only; the others are shared.
ALONE: dict[Role, int] = {"dev2": 6, "dev": 5, "train": 4}
TRIES = 24  # members of a family that are considered, in the order of a shuffle
LABEL_WORTH = 0.05  # points of ten from which on a member is listed for its label
LIMIT, TWIN = 0.85, 0.95  # agreement from which on a candidate is refused, of another roster and of its own
DEFAULT = Spec("heuristic")  # the project's default partner is always in train
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
TEST2_SEED, TEST2_DATE = 2018, "2026-11-27"  # the year of the next paper on this game, He et al.; before any evaluation
NEW_MEMBERS, AGENTS = 14, 10  # members of test2 of the families, and of NegMAS
TWIN_SCENARIOS = 83  # of the comparisons within test2, whose members are slow: every 64th of the legal ones
COSTLY_SCENARIOS = 331  # of the games of a negotiator of NegMAS: every 16th
# The negotiators that NegMAS 0.16 itself has; those of the competitions were all played before (docs/ARCHIVE.md).
NEGMAS = tuple(
    f"negmas.sao.negotiators.{name}Negotiator"
    for name in (
        *("AdditiveFirstFollowingTB", "AdditiveLastOfferFollowingTB", "AdditiveParetoFollowingTB", "Aspiration"),
        *("BestOfferOrientedTB", "BoulwareTB", "CAB", "CAN", "CAR", "ConcederTB", "FastMiCRO", "FirstOfferOrientedTB"),
        *("Hybrid", "LastOfferOrientedTB", "LinearTB", "MiCRO", "MultiplicativeFirstFollowingTB"),
        *("MultiplicativeLastOfferFollowingTB", "MultiplicativeParetoFollowingTB", "NaiveTitForTat", "Nice", "Random"),
        *("RandomAlwaysAccepting", "SimpleTitForTat", "TopFraction", "Tough", "WAB", "WAN", "WAR"),
    )
)


class Assessment(NamedTuple):
    """One candidate for one roster, and the reason if it was refused."""

    member: str
    roster: str
    reason: str  # empty: taken
    nearest_train: tuple[str, float]  # member of train with the highest agreement, and the agreement; not itself
    nearest: tuple[str, float]  # the same over all partners that it was compared with


class RosterDraw(NamedTuple):
    """Rosters, and the assessments of their members and of refused candidates."""

    rosters: Rosters
    admitted: list[Assessment]  # as the whole rosters stand
    refused: list[Assessment]  # in the order in which they were considered


def roles_of(families: Families, seed: int = SEED) -> dict[str, Role]:
    """The role of each family, by a shuffle of their names; the family of the default partner is shared.

    Families in dev2 only have no member in :data:`USED_BEFORE`.
    """
    names = sorted(families.keys() - {DEFAULT})
    order = [names[place] for place in generator(seed, "families of partners").permutation(len(names))]
    used = {find_factory(member)[0].kind for member in USED_BEFORE}
    roles: dict[str, Role] = dict.fromkeys(islice((name for name in order if name not in used), ALONE["dev2"]), "dev2")
    rest = (name for name in order if name not in roles)
    for role in ("dev", "train"):
        roles |= dict.fromkeys(islice(rest, ALONE[role]), role)
    return {name: roles.get(name, "shared") for name in sorted(families)}


def candidates(families: Families, family: str, seed: int = SEED, most: int | None = TRIES) -> list[Spec]:
    """Up to ``most`` members of a family: its default first, then others in the order of a shuffle."""
    parameters = families[family]
    every = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    order = generator(seed, f"members of {family}").permutation(len(every))
    names = [plain_name(Spec(family, every[place])) for place in order]
    return sorted(names, key=lambda name: name != plain_name(Spec(family)))[:most]


def draw(
    families: Families,
    seed: int = SEED,
    sizes: Mapping[str, int] | None = None,
    report: Callable[[Assessment], None] = lambda _: None,
    scenarios: Scenarios | None = None,
) -> RosterDraw:
    """Draw train, dev and dev2 of ``sizes`` (by default :data:`SIZES`), smaller with too few different candidates.

    test2 is empty: :func:`draw_test2` draws it.
    ``report`` is called with each assessment; ``scenarios``: as in :class:`CandidatePlay`.
    """
    sizes = SIZES if sizes is None else sizes
    roles = roles_of(families, seed)
    order = [sorted(families)[place] for place in generator(seed, "order of families").permutation(len(families))]
    lots = {family: candidates(families, family, seed) for family in families}
    members: dict[str, list[Spec]] = {name: [] for name in ROSTERS}
    comparisons, refused = Comparisons(scenarios), []

    def fill(roster: str, most: int, of_roles: Sequence[str], *, defaults: bool = False) -> None:
        """Add members until the roster has ``most``; families with one of these roles take turns."""
        waiting = {
            name: _unused_candidates(lots[name][:1] if defaults else lots[name], members)
            for name in order
            if roles[name] in of_roles
        }
        while waiting and len(members[roster]) < most:
            for family in list(waiting):
                if len(members[roster]) >= most:
                    break
                taken = False
                for candidate in waiting[family]:
                    assessment = comparisons.assess(candidate, roster, members)
                    report(assessment)
                    if taken := not assessment.reason:
                        members[roster].append(candidate)
                        break
                    refused.append(assessment)
                if not taken:
                    del waiting[family]

    members[TRAIN].append(DEFAULT)
    fill(TRAIN, sizes[TRAIN], ("shared", "train"), defaults=True)
    fill(TRAIN, sizes[TRAIN], ("shared", "train"))
    for roster in (DEV, DEV2):
        fill(roster, sizes[roster] // 2, (roster,))
        fill(roster, sizes[roster], ("shared",))
        fill(roster, sizes[roster], (roster,))
    lists = {name: tuple(sorted(members[name])) for name in ROSTERS}
    values = {family: {name: tuple(each) for name, each in families[family].items()} for family in sorted(families)}
    hashes = {name: members_hash(lists[name]) for name in ROSTERS}
    rosters = Rosters(seed, values, dict(roles), lists, hashes, TEST2_SEED, TEST2_DATE)
    return RosterDraw(rosters, comparisons.assess_all(lists, DRAWN), refused)


def draw_test2(
    rosters: Rosters,
    seed: int = TEST2_SEED,
    agents: Sequence[str] = NEGMAS,
    report: Callable[[Assessment], None] = lambda _: None,
    comparisons: Comparisons | None = None,
    programs: Sequence[str] | None = None,
) -> RosterDraw:
    """Draw test2, given the other ``rosters``.

    It has every independent program that is admitted (of ``programs``, by default all), :data:`NEW_MEMBERS` of the
    families, which take turns, and :data:`AGENTS` of the negotiators ``agents``, in the order of a shuffle.
    """
    compared = Comparisons() if comparisons is None else comparisons
    members: dict[str, tuple[Spec, ...]] = {**rosters.members, TEST2: ()}
    refused: list[Assessment] = []

    def admit(candidate: Spec) -> bool:
        assessment = compared.assess(candidate, TEST2, members)
        report(assessment)
        if assessment.reason:
            refused.append(assessment)
        else:
            members[TEST2] = (*members[TEST2], candidate)
        return not assessment.reason

    for name in independent_programs() if programs is None else programs:
        admit(plain_name(Spec("independent", {"program": name})))
    rng = generator(seed, "families at new values")
    lots = {family: iter(new_members(rosters.families[family], family, seed)) for family in sorted(rosters.families)}
    waiting, missing = [sorted(lots)[place] for place in rng.permutation(len(lots))], NEW_MEMBERS
    while waiting and missing:
        for family in list(waiting):
            taken = missing > 0 and any(map(admit, lots[family]))
            missing -= taken
            if not taken:
                waiting.remove(family)
    order = (agents[place] for place in generator(seed, "negotiators of NegMAS").permutation(len(agents)))
    admitted = (agent for agent in order if admit(plain_name(Spec("negmas", {"agent": agent}))))
    for _ in islice(admitted, AGENTS):
        continue
    lists = {**members, TEST2: tuple(sorted(members[TEST2]))}
    drawn = rosters._replace(
        members=lists,
        hashes={**rosters.hashes, TEST2: members_hash(lists[TEST2])},
        test2_seed=seed,
        test2_date=TEST2_DATE,
    )
    return RosterDraw(drawn, compared.assess_all(lists, [TEST2]), refused)


def new_members(values: Mapping[str, Sequence[int | float | str]], family: str, seed: int) -> list[Spec]:
    """Up to :data:`TRIES` members of a family at values between those that its rosters were drawn from.

    A fraction is drawn evenly between the smallest and the largest value, in hundredths, and an integer among those
    that no roster has; what has no new value keeps the old ones. Empty for a family without any new value.
    """
    rng = generator(seed, f"new members of {family}")
    grids: dict[str, tuple[list[Any], bool]] = {}
    for name, old in values.items():
        numbers, new = [value for value in old if not isinstance(value, str)], list[int | float]()
        if any(isinstance(value, float) for value in numbers):
            new = [step / 100 for step in range(round(100 * min(numbers)), round(100 * max(numbers)) + 1)]
        elif numbers:
            new = list(range(int(min(numbers)), int(max(numbers)) + 1))
        new = [value for value in new if value not in old]
        grids[name] = (new or list(old), bool(new))
    if not any(is_new for _, is_new in grids.values()):
        return []
    drawn = [{name: grid[int(rng.integers(len(grid)))] for name, (grid, _) in grids.items()} for _ in range(TRIES)]
    return list(dict.fromkeys(plain_name(Spec(family, values)) for values in drawn))


BANK_OF_FAMILY, BANK_OF_RANDOM = 32, 6  # programs of one family in the bank; of a random one, whose tables are large


def draw_bank(rosters: Rosters, seed: int = SEED, scenarios: Scenarios | None = None) -> list[str]:
    """The bank of ``bayes_reply``: programs with tables of answers, of the families that the roster train may have.

    Members of train, and of each family as many others as :data:`BANK_OF_FAMILY` allows, in the order of
    :func:`candidates`. A program that is drawn for each game is replaced by its personas. Refused are the
    families' members of dev and dev2, and what one of these agrees with in :data:`LIMIT` of the decisions.
    ``scenarios``: as in :class:`CandidatePlay`.
    """
    compared = Comparisons(scenarios)
    held_out = [member for name in (DEV, DEV2) for member in rosters.members[name]]
    others = [member for member in held_out if member.kind in rosters.families]
    bank: list[str] = []
    for family in sorted(name for name, role in rosters.roles.items() if role in ("shared", "train")):
        of_family: list[str] = []
        for name in candidates(rosters.families, family, seed, most=None):
            try:
                partner = seat_occupant(name)
            except OccupantNameError:  # parameters that exclude each other
                continue
            if not isinstance(partner, Personas) and not has_tables(partner):
                continue
            most = BANK_OF_FAMILY if partner.traits.deterministic or isinstance(partner, Personas) else BANK_OF_RANDOM
            for program in _programs_of(name, partner):
                known = program in bank or program in of_family or len(of_family) >= most
                if not known and (program in rosters.members[TRAIN] or compared.nearest(program, others)[1] < LIMIT):
                    of_family.append(program)
        bank += of_family
    return sorted(bank)


def _programs_of(name: str, partner: Partner) -> list[str]:
    if not isinstance(partner, Personas):
        return [name]
    return [
        plain_name(Spec("linear", {"exponent": round(persona.exponent, 3), "floor": round(persona.floor, 3)}))
        for _, persona in partner.personas()
    ]


def _unused_candidates(lot: Sequence[Spec], members: Mapping[str, Sequence[Spec]]) -> Iterator[Spec]:
    return (name for name in lot if not any(name in taken for taken in members.values()))


class Comparisons:
    """Agreements between partners, each played once and cached; ``scenarios`` as in :class:`CandidatePlay`.

    Members of test2 are compared with each other on fewer scenarios (:data:`TWIN_SCENARIOS`), and negotiators of
    NegMAS with all others (:data:`COSTLY_SCENARIOS`).
    """

    def __init__(self, scenarios: Scenarios | None = None) -> None:
        self._given = scenarios
        self._partner = cache(seat_occupant)  # keeps the process of a negotiator of NegMAS
        self._plays: dict[tuple[str, bool], CandidatePlay] = {}
        self._shares: dict[tuple[str, str, bool], float] = {}

    def assess(self, member: str, roster: str, members: Mapping[str, Sequence[str]]) -> Assessment:
        """Assess ``member`` as a candidate for ``roster``, given the ``members`` of all rosters, maybe itself one."""
        same_roster, few = [other for other in members[roster] if other != member], roster == TEST2
        groups: list[tuple[Sequence[str], float, str]] = []
        if roster != TRAIN:
            groups.append((members[TRAIN], LIMIT, "in train"))
        if roster in HELD_OUT:
            groups += [(members[DEV], LIMIT, "in dev"), (USED_BEFORE, LIMIT, "met before there were rosters")]
        if roster == TEST2:
            groups.append((members[DEV2], LIMIT, "in dev2"))
        earlier = [self.nearest(member, [other for other in others if other != member]) for others, _, _ in groups]
        reasons = [
            f"{share:.1%} like {other}, {why}"
            for (other, share), (_, limit, why) in zip(earlier, groups, strict=True)
            if share >= limit
        ]
        if roster in HELD_OUT and member in USED_BEFORE:
            reasons.append("met before there were rosters")
        if few and reasons:  # compared no further, since the members of test2 are slow
            same_roster = []
        alike = {other: self._largest_share(member, other, few) for other in same_roster}
        twin = max([(0.0, ""), *((share, other) for other, share in alike.items())])
        if twin[0] >= TWIN:
            reasons.append(f"{twin[0]:.1%} like {twin[1]}, in {roster} too")
        train = self.nearest(member, [other for other in members[TRAIN] if other != member])
        within = (twin[1], twin[0]) if few else self.nearest(member, same_roster)
        among = max([*earlier, train, within], key=lambda near: near[1])
        return Assessment(member, roster, "; ".join(reasons), train, among)

    def assess_all(self, members: Mapping[str, Sequence[str]], rosters: Sequence[str] = DRAWN) -> list[Assessment]:
        """Assess every member of ``rosters`` for its own roster again: one with a reason should not be there."""
        return [self.assess(member, roster, members) for roster in rosters for member in members[roster]]

    def nearest(self, member: str, others: Sequence[str]) -> tuple[str, float]:
        """The partner of ``others`` with the highest agreement, the first by name of equals, and the agreement."""
        shares = {other: self.share(member, other) for other in others}
        return min(shares.items(), key=lambda item: (-item[1], item[0]), default=("", 0.0))

    def share(self, member: str, other: str, few: bool = False) -> float:
        """The agreement of ``member`` with ``other``, 0..1; ``few``: on the scenarios of comparisons within test2."""
        if (member, few) not in self._plays:
            number = TWIN_SCENARIOS if few else COSTLY_SCENARIOS if self._is_costly(member) else SCENARIOS
            self._plays[member, few] = CandidatePlay(self._partner(member), self._given or scenario_sample(number))
        if (member, other, few) not in self._shares:
            self._shares[member, other, few] = self._plays[member, few].share(self._partner(other))
        return self._shares[member, other, few]

    def _largest_share(self, first: str, second: str, few: bool) -> float:
        """The larger agreement of two partners; a costly one is queried in the games of another costly one only."""
        pairs = ((first, second), (second, first))
        return max(self.share(*pair, few) for pair in pairs if self._is_costly(pair[0]) or not self._is_costly(pair[1]))

    def _is_costly(self, spec: str) -> bool:
        return expensive_to_query(self._partner(spec).traits)


COLUMNS = ("roster", "member", "refused", "nearest_in_train", "share", "nearest", "nearest_share")


def admission_csv(rows: Iterable[Assessment]) -> str:
    """The rows as CSV with a heading; shares in four digits. :func:`read_admission` reads it back."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        near, among = row.nearest_train, row.nearest
        writer.writerow([row.roster, row.member, row.reason, near[0], f"{near[1]:.4f}", among[0], f"{among[1]:.4f}"])
    return text.getvalue()


def read_admission(path: Path = ADMISSION) -> list[Assessment]:
    """The rows of a file of :func:`admission_csv`, by default the shipped one."""
    _, *lines = csv.reader(path.read_text(encoding="utf-8").splitlines())
    return [
        Assessment(member, roster, reason, (near, float(share)), (among, float(most)))
        for roster, member, reason, near, share, among, most in lines
    ]


def admission_markdown(rows: Iterable[Assessment]) -> str:
    """A table of the members of each roster: whether train has the family, and the member of train most like it."""
    taken = [row for row in rows if not row.reason]
    in_train = {program for row in taken if row.roster == TRAIN for program in programs(find_factory(row.member)[0])}
    parts = []
    for roster in ROSTERS:
        lines = ["| member | family in train | most like, of train | same decision |", "|---|---|---|---|"]
        for row in taken:
            if row.roster == roster:
                family = "yes" if programs(find_factory(row.member)[0]) & in_train else "no"
                nearest, share = row.nearest_train
                lines.append(f"| `{row.member}` | {family} | `{nearest}` | {share:.1%} |")
        parts.append(f"### {roster.capitalize()}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def rosters_text(rosters: Rosters) -> str:
    """The text of a file of rosters; :func:`partners.rosters.load_rosters` reads it back."""
    import yaml

    families = {
        family: {"role": rosters.roles[family], "values": {name: list(values) for name, values in parameters.items()}}
        for family, parameters in sorted(rosters.families.items())
    }
    lists: dict[str, dict[str, Any]] = {
        name: {"sha256": rosters.hashes[name], "members": list(rosters.members[name])} for name in ROSTERS
    }
    lists[TEST2] = {"date": rosters.test2_date, "seed": rosters.test2_seed, **lists[TEST2]}
    held = yaml.safe_dump(
        {"seed": rosters.seed, **lists, "families": families}, sort_keys=False, width=120, default_flow_style=None
    )
    return f"# Drawn by `dond experiment rosters draw` from the families below, and never edited otherwise.\n{held}"


@click.group(cls=Group, help=__doc__)
def command() -> None:
    """Commands about the rosters; the module's docstring is their help."""


@command.command("draw", cls=Command)
@click.option("--seed", type=ANY_SEED, default=SEED, metavar="N", help=f"of the draw ({SEED}, the published one)")
@click.option("--out", "path", type=WritableFile(), default=FILE, metavar="FILE", help="a .yaml (the package's)")
def draw_command(seed: int, path: Path) -> None:
    """Draw train, dev and dev2 and write them, with a record of refused members and why; test2 becomes empty."""
    write_rosters(draw(load_rosters().families, seed, report=print_assessment), path, [])


@command.command("draw-test2", cls=Command)
@click.option("--seed", type=ANY_SEED, default=TEST2_SEED, metavar="N", help=f"of the draw ({TEST2_SEED})")
@click.option("--rosters", "path", type=WritableFile(), default=FILE, metavar="FILE", help="a .yaml (the package's)")
def draw_test2_command(seed: int, path: Path) -> None:
    """Draw test2 for the other rosters of FILE, and add it there, with a record of refused members and why."""
    drawn = draw_test2(load_rosters(path), seed, report=print_assessment)
    write_rosters(drawn, path, [row for row in read_admission(record_of(path)) if row.roster != TEST2])


def print_assessment(row: Assessment) -> None:
    """Print a candidate, and whether it is taken."""
    print_line(f"{row.roster:6} {row.member:60} {row.reason or 'taken'}")


def record_of(path: Path) -> Path:
    """The file of the record of the rosters in ``path``."""
    return ADMISSION if path == FILE else path.with_suffix(".csv")


def write_rosters(drawn: RosterDraw, path: Path, recorded: Sequence[Assessment]) -> None:
    """Write rosters, and their record after the rows that are ``recorded`` already: members first, then the refused."""
    taken = [*(row for row in recorded if not row.reason), *drawn.admitted]
    refused = [*(row for row in recorded if row.reason), *drawn.refused]
    path.write_text(rosters_text(drawn.rosters), encoding="utf-8")
    record_of(path).write_text(admission_csv([*taken, *refused]), encoding="utf-8")
    print_line(f"written: {path} and {record_of(path).name}")


@command.command("bank", cls=Command)
@click.option("--out", "path", type=WritableFile(), default=BANK, metavar="FILE", help="a .yaml (the package's)")
def bank_command(path: Path) -> None:
    """Draw the bank of bayes_reply from the families of the roster train and write it."""
    import yaml

    members = draw_bank(load_rosters(), scenarios=scenario_sample(BANK_SCENARIOS))
    written = {"seed": SEED, "sha256": members_hash(members), "members": members}
    text = yaml.safe_dump(written, sort_keys=False, width=120, default_flow_style=None)
    path.write_text(f"# Drawn by `dond experiment rosters bank`, and never edited otherwise.\n{text}", encoding="utf-8")
    print_line(f"written: {len(members)} programs to {path}")


def fixed_grammar() -> dict[str, Any]:
    """SHA-256 of the generated partners' grammar, and of their acts in games with each other."""
    games = rollout((Generated(), Generated()), scenario_sample(), seed=PLAY_SEED)
    acts = games.act.tobytes() + games.oA.tobytes()
    return {
        "dials": len(DIALS),
        "grammar_sha256": digest_of_grammar(),
        "games": games.size,
        "acts_sha256": hashlib.sha256(acts).hexdigest(),
    }


@command.command("grammar", cls=Command)
@click.option("--out", "path", type=WritableFile(), default=GRAMMAR, metavar="FILE", help="a .json (docs/results)")
def grammar_command(path: Path) -> None:
    """Write which generated partners there are: digests of their dials and acts, with date and commit."""
    fixed = {"date": datetime.now(UTC).date().isoformat(), **source_commit(), **fixed_grammar()}
    path.write_text(json.dumps(fixed, indent=1) + "\n", encoding="utf-8")
    print_line(f"written: {path}")


@command.command("check", cls=Command)
@click.argument("names", nargs=-1, metavar="[OCCUPANT]...")
@click.option("--as", "roster_name", type=RosterName(), help="a roster (all but test2; for OCCUPANTs, dev2)")
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


def labels_markdown(members: Iterable[tuple[str, str]], least: float = LABEL_WORTH) -> str:
    """A table of the members ``(roster, name)`` whose best response loses ``least`` points or more by one label."""
    source, lines = open_source("lewis"), ["| member | roster | PROPOSE alone | INSIST alone |", "|---|---|---|---|"]
    for roster, name in members:
        found = [label_losses(seat_occupant(name), source, Rules(), seat) for seat in (0, 1)]
        losses = [each for each in found if each is not None]
        if any(max(each) >= least for each in losses):
            shown = [" / ".join(f"{abs(loss):.2f}" for loss in both) for both in zip(*losses, strict=True)]
            lines.append(f"| `{name}` | {roster} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines) + "\n"


@command.command("table", cls=Command)
@click.option("--labels", is_flag=True, help="instead: the points that a best response loses by saying one label alone")
def table_command(labels: bool) -> None:
    """Print the members, each with the most similar one of train, as Markdown."""
    rows = read_admission()
    if labels:
        members = [(row.roster, row.member) for row in rows if not row.reason and row.roster in DRAWN]
        click.echo(labels_markdown(members), nl=False)
        return
    click.echo(admission_markdown(rows), nl=False)
