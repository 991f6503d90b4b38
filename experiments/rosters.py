"""Draw the three rosters from families of partners by a published seed, check them, or print their table.

The families, with values of each parameter, are those of the shipped ``rosters.yaml``. First each family gets a role:
most are *shared* by all rosters, with other parameters in each; some are in *train* only, some in *dev* only, some in
*test* only. Then the rosters are filled, train before dev before test: families take turns to add their next member
whose play is different enough. The agreement with members of the same roster must be below 95 %, with members of
earlier rosters below 85 %. Members of *test* must also agree less than 85 % with the partners that the project used
before the rosters (:data:`USED_BEFORE`), and no family in test only has one of those.

The agreement of A with B is the share of A's decisions that B would also have made. A plays in both seats against five
probes, one drawn for each game, and B is queried in the same positions with the same noise. PROPOSE and INSIST count
as one act, because the rules treat them alike; offers are equal if their splits are. A's agreement with B is not B's
with A, whose positions are others.

The result is recorded next to the rosters in ``admission.csv``; ``check`` recomputes its rows.

examples:
  dond experiment rosters check                            # all members: hashes, and similarity to each other
  dond experiment rosters check "linear(exponent=3)" --as dev
  dond experiment rosters table                            # the table of docs/ROSTERS.md
  dond experiment rosters bank                             # the programs that bayes_reply knows
  dond experiment rosters draw --seed 7 --out mine.yaml    # policies trained on the old rosters must be trained again
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import Literal, NamedTuple

import click
import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import OccupantNameError, check_spec, parse_spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Bools, Decisions, Partner, Traits
from dond_marl.yardsticks.labels import label_losses
from league.cli.shell import SEED as ANY_SEED
from league.cli.shell import Command, Group, WritableFile, print_line
from league.evaluation.matches import Witness
from partners.bayes_reply import has_tables
from partners.mixture import Mixture
from partners.provenance import programs
from partners.rosters import BANK, DEV, FILE, ROSTERS, TEST, TRAIN, Rosters, load_rosters, members_hash, plain_name
from partners.scripted.time_based import Personas

# An early fair accepter, a time-based conceder, one that hardly concedes, a reactive one, and a random one.
PROBES = ("heuristic", "conceder", "stubborn", "nice_tit_for_tat", "random")
SCENARIOS = 1324  # of the 5,295 legal ones, every fourth
BANK_SCENARIOS = 200  # of them for the many candidates of the bank
ADMISSION = FILE.with_name("admission.csv")
PLAY_SEED = 0  # of the noise in the games against the probes


class CandidatePlay:
    """A candidate's decisions against the probes, in both seats of ``scenarios`` (None: :func:`scenario_sample`)."""

    def __init__(self, candidate: Partner, scenarios: Scenarios | None = None, rules: Rules = Rules()) -> None:
        played, probe = scenario_sample() if scenarios is None else scenarios, Mixture(PROBES)
        witness = Witness(candidate)
        witness.traits = Traits()  # its turns have noise, even if the candidate reads none, for later queries
        pairs: list[tuple[Partner, Partner]] = [(witness, probe), (probe, witness)]
        for seat, pair in enumerate(pairs):
            rollout(pair, played, rules, seed=PLAY_SEED, index=(seat,), prior="lewis")
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


Role = Literal["shared", "train", "dev", "test"]
Families = Mapping[str, Mapping[str, Sequence[int | float | str]]]
SEED = 2017  # as the held-out views': the year of Lewis et al.; drawn once, before anything was trained on the rosters
SIZES = {TRAIN: 24, DEV: 12, TEST: 24}
ALONE: dict[Role, int] = {
    "test": 6,
    "dev": 5,
    "train": 4,
}  # numbers of families in one roster only; the others are shared
TRIES = 24  # members of a family that are considered, in the order of a shuffle
LABEL_WORTH = 0.05  # points of ten from which on a member is listed for its label
LIMIT, TWIN = 0.85, 0.95  # agreement from which on a candidate is refused, of another roster and of its own
DEFAULT = "heuristic"  # the project's default partner is always in train
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


class RosterDraw(NamedTuple):
    """Rosters, and the assessments of their members and of refused candidates."""

    rosters: Rosters
    admitted: list[Assessment]  # as the whole rosters stand
    refused: list[Assessment]  # in the order in which they were considered


def roles_of(families: Families, seed: int = SEED) -> dict[str, Role]:
    """The role of each family, by a shuffle of their names; the family of the default partner is shared.

    Families in test only have no member in :data:`USED_BEFORE`.
    """
    names = sorted(families.keys() - {DEFAULT})
    order = [names[place] for place in generator(seed, "families of partners").permutation(len(names))]
    used = {parse_spec(member)[0] for member in USED_BEFORE}
    roles: dict[str, Role] = dict.fromkeys(islice((name for name in order if name not in used), ALONE["test"]), "test")
    rest = (name for name in order if name not in roles)
    for role in ("dev", "train"):
        roles |= dict.fromkeys(islice(rest, ALONE[role]), role)
    return {name: roles.get(name, "shared") for name in sorted(families)}


def candidates(families: Families, family: str, seed: int = SEED, most: int | None = TRIES) -> list[str]:
    """Up to ``most`` members of a family: its default first, then others in the order of a shuffle."""
    parameters = families[family]
    every = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    order = generator(seed, f"members of {family}").permutation(len(every))
    names = [plain_name({"kind": family, **every[place]}) for place in order]
    return sorted(names, key=lambda name: name != plain_name(family))[:most]


def draw(
    families: Families,
    seed: int = SEED,
    sizes: Mapping[str, int] | None = None,
    report: Callable[[Assessment], None] = lambda _: None,
    scenarios: Scenarios | None = None,
) -> RosterDraw:
    """Draw rosters of ``sizes`` (by default :data:`SIZES`), smaller if there are too few different candidates.

    ``report`` is called with each assessment; ``scenarios``: as in :class:`CandidatePlay`.
    """
    sizes = SIZES if sizes is None else sizes
    roles = roles_of(families, seed)
    order = [sorted(families)[place] for place in generator(seed, "order of families").permutation(len(families))]
    lots = {family: candidates(families, family, seed) for family in families}
    members: dict[str, list[str]] = {name: [] for name in ROSTERS}
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
    for roster in (DEV, TEST):
        fill(roster, sizes[roster] // 2, (roster,))
        fill(roster, sizes[roster], ("shared",))
        fill(roster, sizes[roster], (roster,))
    lists = {name: tuple(sorted(members[name])) for name in ROSTERS}
    values = {family: {name: tuple(each) for name, each in families[family].items()} for family in sorted(families)}
    hashes = {name: members_hash(lists[name]) for name in ROSTERS}
    rosters = Rosters(seed, values, dict(roles), lists, hashes)
    return RosterDraw(rosters, comparisons.assess_all(lists), refused)


BANK_OF_FAMILY, BANK_OF_RANDOM = 32, 6  # programs of one family in the bank; of a random one, whose tables are large


def draw_bank(rosters: Rosters, seed: int = SEED, scenarios: Scenarios | None = None) -> list[str]:
    """The bank of ``bayes_reply``: programs with tables of answers, of the families that the roster train may have.

    Members of train, and of each family as many others as :data:`BANK_OF_FAMILY` allows, in the order of
    :func:`candidates`. A program that is drawn for each game is replaced by its personas. Refused are the
    families' members of the other rosters, and what one of these agrees with in :data:`LIMIT` of the decisions.
    ``scenarios``: as in :class:`CandidatePlay`.
    """
    compared = Comparisons(scenarios)
    held_out = [member for name in ROSTERS if name != TRAIN for member in rosters.members[name]]
    others = [member for member in held_out if parse_spec(member)[0] in rosters.families]
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
        plain_name({"kind": "linear", "exponent": round(persona.exponent, 3), "floor": round(persona.floor, 3)})
        for _, persona in partner.personas()
    ]


def _unused_candidates(lot: Sequence[str], members: Mapping[str, Sequence[str]]) -> Iterator[str]:
    return (name for name in lot if not any(name in taken for taken in members.values()))


class Comparisons:
    """Agreements between partners, each played once and cached; ``scenarios`` as in :class:`CandidatePlay`."""

    def __init__(self, scenarios: Scenarios | None = None) -> None:
        self._scenarios = scenarios
        self._plays: dict[str, CandidatePlay] = {}
        self._shares: dict[tuple[str, str], float] = {}

    def assess(self, member: str, roster: str, members: Mapping[str, Sequence[str]]) -> Assessment:
        """Assess ``member`` as a candidate for ``roster``, given the ``members`` of all rosters, maybe itself one."""
        same_roster = [other for other in members[roster] if other != member]
        groups: list[tuple[Sequence[str], float, str]] = []
        if roster != TRAIN:
            groups.append((members[TRAIN], LIMIT, "in train"))
        if roster == TEST:
            groups += [(members[DEV], LIMIT, "in dev"), (USED_BEFORE, LIMIT, "met before there were rosters")]
        earlier = [self.nearest(member, [other for other in others if other != member]) for others, _, _ in groups]
        reasons = [
            f"{share:.1%} like {other}, {why}"
            for (other, share), (_, limit, why) in zip(earlier, groups, strict=True)
            if share >= limit
        ]
        if roster == TEST and member in USED_BEFORE:
            reasons.append("met before there were rosters")
        twin = max([(0.0, ""), *((max(self.share(member, o), self.share(o, member)), o) for o in same_roster)])
        if twin[0] >= TWIN:
            reasons.append(f"{twin[0]:.1%} like {twin[1]}, in {roster} too")
        train = self.nearest(member, [other for other in members[TRAIN] if other != member])
        among = max([*earlier, train, self.nearest(member, same_roster)], key=lambda near: near[1])
        return Assessment(member, roster, "; ".join(reasons), train, among)

    def assess_all(self, members: Mapping[str, Sequence[str]]) -> list[Assessment]:
        """Assess every member for its own roster again: one with a reason should not be there."""
        return [self.assess(member, roster, members) for roster in ROSTERS for member in members[roster]]

    def nearest(self, member: str, others: Sequence[str]) -> tuple[str, float]:
        """The partner of ``others`` with the highest agreement, the first by name of equals, and the agreement."""
        shares = {other: self.share(member, other) for other in others}
        return min(shares.items(), key=lambda item: (-item[1], item[0]), default=("", 0.0))

    def share(self, member: str, other: str) -> float:
        """The agreement of ``member`` with ``other``, 0..1."""
        if member not in self._plays:
            self._plays[member] = CandidatePlay(seat_occupant(member), self._scenarios)
        if (member, other) not in self._shares:
            self._shares[member, other] = self._plays[member].share(seat_occupant(other))
        return self._shares[member, other]


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
    in_train = {program for row in taken if row.roster == TRAIN for program in programs(row.member)}
    parts = []
    for roster in ROSTERS:
        lines = ["| member | family in train | most like, of train | same decision |", "|---|---|---|---|"]
        for row in taken:
            if row.roster == roster:
                family = "yes" if programs(row.member) & in_train else "no"
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
    lists = {name: {"sha256": rosters.hashes[name], "members": list(rosters.members[name])} for name in ROSTERS}
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
    """Draw the rosters and write them, with a record of refused members and why."""
    drawn = draw(
        load_rosters().families,
        seed,
        report=lambda row: print_line(f"{row.roster:6} {row.member:60} {row.reason or 'taken'}"),
    )
    record = ADMISSION if path == FILE else path.with_suffix(".csv")
    path.write_text(rosters_text(drawn.rosters), encoding="utf-8")
    record.write_text(admission_csv([*drawn.admitted, *drawn.refused]), encoding="utf-8")
    print_line(f"written: {path} and {record.name}")


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


@command.command("check", cls=Command)
@click.argument("names", nargs=-1, metavar="[OCCUPANT]...")
@click.option("--as", "roster_name", type=click.Choice(ROSTERS), default=TEST, help="the roster of OCCUPANTs (test)")
def check_command(names: tuple[str, ...], roster_name: str) -> None:
    """Recompute the similarities of all members, or check whether OCCUPANTs may be members; exit code 2 if not."""
    compared, stored = Comparisons(), load_rosters()
    if names:
        for name in names:
            check_spec(name)  # raises with a suggestion
        rows = [compared.assess(plain_name(name), roster_name, stored.members) for name in names]
    else:
        rows = compared.assess_all(stored.members)
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
    """Print the members as the Markdown of docs/ROSTERS.md."""
    rows = read_admission()
    if labels:
        members = [(row.roster, row.member) for row in rows if not row.reason]
        click.echo(labels_markdown(members), nl=False)
        return
    click.echo(admission_markdown(rows), nl=False)
