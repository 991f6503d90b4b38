"""Values and tables that the templates of the results pages show, from the files of one folder.

A template shows arms (:class:`~experiments.results.arms.Measured`), their differences, and the rows of the tables
under docs/results/tables; what it says about them stands in the template.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dond_marl.occupants import Spec, read_spec
from dond_marl.statistics import UNKNOWN, compare_arms, holm
from experiments.results.arms import (
    WRITTEN_BY,
    Measured,
    arms_in,
    compare,
    describe,
    differences_in,
    first_measured,
    is_independent,
    margin,
    non_dominated,
    number,
    plane_arms,
    reference_points,
    restrict,
    seeds_estimate,
    seeds_of,
    with_best_labels,
)
from experiments.results.figures import BUDGETS, GROWN, place_among
from experiments.results.files import document, made_by
from experiments.results.tables import LABEL_BAR, MODEL_GAMES, TABLES, from_json
from league.bench.arms import ADVERSARY, MAIN, NASHCONV, PARTS, Arm
from league.bench.differences import MINUS, SMALLEST_EFFECT, Difference, signed_interval
from league.bench.figures import PARTS_OF
from league.bench.protocol import HEADLINE
from league.standings.references import stored_references
from league.tables.figures import count_noun, with_margin
from partners.provenance import identity
from partners.rosters import DEV, DEV2, PEOPLE_DEV, TEST2, TEST3, author_of

# Arms whose differences from plain PPO are claimed: the first ones that are measured.
CLAIMED = ("league_itself_20_oracles_10", "itself_25", "bayes_reply", "league", "generated_50", "both", "pool_ppo")
MOST_CLAIMS = 3
PLAIN = "pool_ppo"
HELD_OUT = "arms_test2"
# Files of test2, each with those that have the NashConv of its arms.
HELD_OUT_FILES = {HELD_OUT: ("arms_4m", "generated"), "arms_24m_test2": ("arms_24m",)}
DIFFERENCE_HEADS = ("points of ten", "verdict", NASHCONV, "points without any one partner", "seeds")


def render(template: str, folder: Path) -> str:
    """The text of a template next to this module. Raises what reading the files under ``folder`` raises."""
    environment = Environment(  # noqa: S701  # Markdown
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values = {name: partial(function, folder) for name, function in OF_FOLDER.items()}
    text = environment.get_template(template).render(**values, **HELPERS)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"  # statements of a template leave blank lines


def pipe_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown texts, which are not escaped."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def arm_table(arms: Iterable[Measured], *columns: str) -> str:
    """Arms as rows; the columns are headings of :meth:`Measured.cell`."""
    return pipe_table(("arm", *columns), ([arm.name, *map(arm.cell, columns)] for arm in arms))


def held_out_arms(folder: Path, file: str) -> list[Measured]:
    """The arms of a file of test2, with the NashConv that was measured with dev2."""
    arms = []
    for arm in arms_in(file, folder, TEST2).values():
        on_dev2 = first_measured([arm.arm.name], folder, HELD_OUT_FILES[file])
        arms.append(arm._replace(restricted=UNKNOWN if on_dev2 is None else on_dev2.nashconv))
    return arms


class DifferenceCells(NamedTuple):
    """A difference of two arms as formatted texts; a dash where a figure is not known."""

    arm: str
    name: str
    over: str
    points: str
    verdict: str
    could_change: str  # how many partners could change the verdict; empty for none
    nashconv: str
    without: str  # range of the points without any one partner
    seeds: int

    @property
    def is_part(self) -> bool:
        """Whether the arm is the reference arm without a part, or with one more."""
        return self.arm.startswith(("no_", "with_"))


def difference_cells(difference: Difference, seeds: int = 0) -> DifferenceCells:
    """The texts of a difference."""
    points = difference.points
    changed = sum(other != points.verdict for _, other in points.without)
    return DifferenceCells(
        difference.name,
        describe(difference.name),
        describe(difference.over),
        signed_interval(points.difference),
        points.verdict,
        f" ({count_noun(changed, 'partner')} could change it)" if changed else "",
        "-" if math.isnan(difference.nashconv.mean) else signed_interval(difference.nashconv),
        difference.range or "-",
        seeds,
    )


def differences(folder: Path, file: str, roster: str = DEV2, *prefixes: str) -> list[DifferenceCells]:
    """Arms - the reference arm of their file; with ``prefixes`` those named so, by name and share."""
    compared, arms = differences_in(file, folder, roster), arms_in(file, folder, roster)
    names: Iterable[str] = compared
    if prefixes:
        names = sorted((name for name in compared if name.startswith(prefixes)), key=_by_share)
    return [difference_cells(compared[name], seeds_of(arms[name], arms[compared[name].over])) for name in names]


def _by_share(name: str) -> tuple[str, int]:
    text, _, last = name.rpartition("_")
    return (text, int(last)) if last.isdigit() else (name, 0)


def difference_table(rows: Sequence[DifferenceCells], where: str = "") -> str:
    """A table of differences from one arm; ``where``: the roster."""
    heads = (f"compared with: {rows[0].over}{where and f', {where}'}", *DIFFERENCE_HEADS)
    cells = ([r.name, r.points, r.verdict + r.could_change, r.nashconv, r.without, str(r.seeds)] for r in rows)
    return pipe_table(heads, cells)


def held_out_table(folder: Path, file: str) -> str:
    """Differences from plain PPO over all members of test2, with the best labels, and over each part of the members."""
    arms = _compared_arms(file, folder)
    labelled = {name: best for name, arm in arms.items() if (best := with_best_labels(arm)) is not None}
    parts = [compare(labelled, PLAIN), *(_compare_on(arms, is_part) for is_part in WRITTEN_BY.values())]
    heads = (f"compared with: {describe(PLAIN)}, {TEST2}", "points of ten", "verdict", "best labels", *WRITTEN_BY)
    cells = (
        [row.name, row.points, row.verdict + row.could_change, *(_brief(part[row.arm]) for part in parts), row.without]
        for row in differences(folder, file, TEST2)
    )
    return pipe_table((*heads, "points without any one partner"), cells)


def by_author(folder: Path, file: str) -> list[tuple[str, dict[str, str]]]:
    """The claimed arms of a file of test2 by name, with their difference on the programs of each independent author."""
    arms = _compared_arms(file, folder)
    names = [name for name in CLAIMED if name in arms and name != PLAIN][:MOST_CLAIMS]
    chosen = {name: arms[name] for name in (PLAIN, *names)}
    authors = sorted({author_of(partner) for partner in arms[PLAIN].partners if is_independent(partner)})
    compared = {author: _compare_on(chosen, lambda partner, by=author: author_of(partner) == by) for author in authors}  # type: ignore[misc]
    return [
        (describe(name), {author: _brief(compared_on[name]) for author, compared_on in compared.items()})
        for name in names
    ]


def _compared_arms(file: str, folder: Path) -> dict[str, Arm]:
    """Plain PPO and the arms of a file of test2 that are compared with it."""
    names = (PLAIN, *differences_in(file, folder, TEST2))
    return {name: arm.arm for name, arm in arms_in(file, folder, TEST2).items() if name in names}


def _compare_on(arms: Mapping[str, Arm], is_part: Callable[[Spec], bool]) -> dict[str, Difference]:
    """By arm, its difference from plain PPO on a part of the partners."""
    return compare({name: restrict(arm, is_part) for name, arm in arms.items()}, PLAIN)


def _brief(difference: Difference) -> str:
    return f"{signed_interval(difference.points.difference)}, {difference.points.verdict}"


class BudgetRow(NamedTuple):
    """An arm with two budgets: the later one - the first."""

    acts: str
    over: str
    cells: DifferenceCells
    known: float  # points from known families, from new ones
    new: float


def budgets(folder: Path, arm: str) -> list[BudgetRow]:
    """The change of an arm by more acts, from the first budget on."""
    names = (arm, GROWN[arm])
    measured = [candidate for files in BUDGETS if (candidate := first_measured(names, folder, files)) is not None]
    arms = {f"{number(arm.acts)} acts": arm for arm in measured}
    first, *later = arms
    compared = compare({acts: arm.arm for acts, arm in arms.items()}, first)
    return [
        BudgetRow(
            acts,
            first,
            difference_cells(compared[acts], seeds_of(arms[acts], arms[first])),
            arms[acts].known.mean - arms[first].known.mean,
            arms[acts].new.mean - arms[first].new.mean,
        )
        for acts in later
        if acts in compared  # one seed alone is not compared
    ]


def preregistered(folder: Path) -> str:
    """The comparisons on test3 that experiments/configs/people.yaml names: the primary one, three with Holm's p."""
    arms = {name: arm.arm for name, arm in arms_in("people", folder, TEST3).items()}
    named = (
        ("league_people", "both seats", MAIN["points"]),
        *(("league_people", f"as {seat}", PARTS[seat]) for seat in ("seat_0", "seat_1")),
        ("default_league", "both seats", MAIN["points"]),
    )
    named = tuple(row for row in named if row[0] in arms)
    compared = [
        compare_arms({arm: arms[arm].scores(column) for arm in (name, PLAIN)}, PLAIN, arms[PLAIN].families,
                     SMALLEST_EFFECT)[name]
        for name, _, column in named
    ]  # fmt: skip
    primary, *others = [comparison.test.p for comparison in compared]
    rows = [
        [f"{describe(name)}, {seats}", signed_interval(comparison.difference), comparison.verdict, f"{p:.2g}"]
        for (name, seats, _), comparison, p in zip(named, compared, [primary, *holm(others)], strict=True)
    ]
    return pipe_table((f"compared with: {describe(PLAIN)}, {TEST3}", "points of ten", "verdict", "p"), rows)


def finals_table(folder: Path) -> str:
    """The arms against test3: their place among the published means, points by seat, and those on other rosters."""
    published = document(folder, "finals.json")["points"]
    others = {roster: arms_in("people", folder, roster) for roster in (PEOPLE_DEV, DEV2)}
    rows = []
    for name, arm in arms_in("people", folder, TEST3).items():
        seats = [margin(seeds_estimate(arm.arm, PARTS[seat])) for seat in ("seat_0", "seat_1")]
        elsewhere = [margin(arms[name].over_seeds) if name in arms else "-" for arms in others.values()]
        place = str(place_among(arm.points.mean, published))
        gain = others[DEV2][name].adversary if name in others[DEV2] else "-"
        rows.append([arm.name, place, margin(arm.points), *seats, *elsewhere, gain, arm.training])
    heads = (
        "player",
        "place of 51",
        f"points of ten, {TEST3}",
        "as seat_0",
        "as seat_1",
        *others,
        ADVERSARY,
        "training",
    )
    return pipe_table(heads, rows)


def ceiling(folder: Path) -> dict[str, Any]:
    """Points of exact best responses on members of test2, by what they know, and of arms on the same members."""
    best = {
        name: float(np.mean([side.values_over(seat, PARTS_OF[HEADLINE])[1]
                             for seat, side in enumerate(reference.seats) if side is not None]))
        for name, reference in stored_references(folder / "test2_references.json").items()
    }  # fmt: skip
    (mixture,) = [name for name in best if (spec := read_spec(name)) is not None and spec.kind == "mixture"]
    members = best.keys() - {mixture}
    arms = arms_in(HELD_OUT, folder, TEST2)
    names = dict.fromkeys(name for name in (PLAIN, *CLAIMED) if name in arms)
    points = {
        describe(name): restrict(arms[name].arm, lambda partner: identity(partner) in members).headline().mean
        for name in names
    }
    informed = float(np.mean([best[name] for name in members]))
    return {"members": len(members), "informed": informed, "uninformed": best[mixture], "points": points}


def number_range(low: float, high: float, digits: int) -> str:
    """Two bounds of a value that is not negative; one number where they are equal."""
    ends = [f"{max(end, 0):.{digits}f}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def arms(folder: Path, file: str, roster: str = DEV2) -> dict[str, Measured]:
    """The arms of a results file on a roster by name, best first."""
    return arms_in(file, folder, roster)


def rows(folder: Path, name: str) -> list[Mapping[str, Any]]:
    """The rows of a table under docs/results/tables, by heading, with estimates as they are."""
    return list(TABLES[name](folder))


FUNCTIONS: tuple[Callable[..., Any], ...] = (  # of the templates, without their first argument, the folder
    *(arms, rows, plane_arms, held_out_arms, differences, held_out_table, by_author),
    *(budgets, ceiling, preregistered, finals_table, document),
)
OF_FOLDER = {function.__name__: function for function in FUNCTIONS}
HELPERS: dict[str, Any] = {
    **{helper.__name__: helper for helper in (arm_table, difference_table, margin, number, describe)},
    "number_range": number_range,
    "place_among": place_among,
    "count": count_noun,
    "estimate": from_json,
    "share": lambda estimate: with_margin(estimate, "share"),
    "best_share": lambda arm: arm.arm.headline(MAIN["BR-Prox"]),
    "points_as": lambda arm, seat: margin(arm.arm.headline(PARTS[seat])),
    "reference_points": lambda arm: reference_points(arm.arm),
    "is_known": lambda value: not math.isnan(value),
    "non_dominated": non_dominated,
    "made": lambda *names: "; ".join(map(made_by, names)),
    "csv": lambda name: f"[{name}.csv](results/tables/{name}.csv)",
    "GROWN": tuple(GROWN),
    "LABEL_BAR": LABEL_BAR,
    "MODEL_GAMES": MODEL_GAMES,
    "MINUS": MINUS,
    "NASHCONV": NASHCONV,
    "SMALLEST_EFFECT": SMALLEST_EFFECT,
    "DEV": DEV,
    "DEV2": DEV2,
    "TEST2": TEST2,
    "TEST3": TEST3,
    "PEOPLE_DEV": PEOPLE_DEV,
}
