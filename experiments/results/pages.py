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
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dond_marl.occupants import read_spec
from dond_marl.statistics import compare_arms, holm
from experiments.results.arms import (
    DEFAULT,
    PLAIN,
    Measured,
    arms_in,
    compare,
    describe,
    differences_in,
    gain_of,
    margin,
    non_dominated,
    number,
    older_methods,
    plane_arms,
    restrict,
    seeds_estimate,
    seeds_of,
)
from experiments.results.figures import GROWN, budgets_of
from experiments.results.files import MADE_BY, document, made_by
from experiments.results.tables import LABEL_BAR, MODEL_GAMES, from_json, table_rows
from league.bench.arms import ADVERSARY, MAIN, NASHCONV, PARTS
from league.bench.differences import MINUS, SMALLEST_EFFECT, Difference, signed_interval
from league.bench.figures import PARTS_OF
from league.bench.protocol import HEADLINE
from league.bench.table import EXACT
from league.standings.references import stored_references
from league.tables.figures import count_noun, with_margin
from partners.provenance import identity
from partners.rosters import DEV, DEV2, PEOPLE_DEV, TEST2, TEST3


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


def table(rows: Iterable[Mapping[str, str]], columns: Mapping[str, str]) -> str:
    """A table of Markdown texts, which are not escaped; ``columns``: the key of each heading, which a row may lack."""
    cells = ([str(row.get(key, "-")) for key in columns.values()] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (columns, ["---"] * len(columns), *cells))


def arm_table(arms: Iterable[Measured], *columns: str) -> str:
    """Arms as rows; the columns are headings of :meth:`Measured.cell`."""
    rows = ({"arm": arm.name, **{head: arm.cell(head) for head in columns}} for arm in arms)
    return table(rows, dict(zip(("arm", *columns), ("arm", *columns), strict=True)))


def difference_cells(difference: Difference, seeds: int) -> dict[str, str]:
    """The texts of a difference by heading; a dash where a figure is not known."""
    points = difference.points
    changed = sum(other != points.verdict for _, other in points.without)
    return {
        "arm": difference.name,
        "name": describe(difference.name),
        "points": signed_interval(points.difference),
        "mean": f"{points.difference.mean:+.2f}",
        "verdict": points.verdict,
        "verdict, partners": points.verdict
        + (f" ({count_noun(changed, 'partner')} could change it)" if changed else ""),
        NASHCONV: "-" if math.isnan(difference.nashconv.mean) else signed_interval(difference.nashconv),
        "seeds": str(seeds),
    }


def differences(folder: Path, file: str, roster: str = DEV2, *prefixes: str) -> dict[str, dict[str, str]]:
    """Texts of the arms - the reference arm of their file, by arm; with ``prefixes`` of those named so."""
    texts = _difference_texts(differences_in(file, folder, roster), arms_in(file, folder, roster))
    return {name: text for name, text in texts.items() if not prefixes or name.startswith(prefixes)}


def methods(folder: Path) -> dict[str, dict[str, str]]:
    """Texts of the league methods of the literature - plain PPO with as many acts, by arm."""
    return _difference_texts(older_methods(folder), arms_in("ablation", folder))


def _difference_texts(compared: Mapping[str, Difference], arms: Mapping[str, Measured]) -> dict[str, dict[str, str]]:
    return {
        name: difference_cells(difference, seeds_of(arms[name], arms[difference.over]))
        for name, difference in compared.items()
    }


def difference_table(rows: Iterable[Mapping[str, str]]) -> str:
    """A table of differences from one arm."""
    heads = {"arm": "name", "difference, points of ten": "points", "verdict": "verdict, partners"}
    return table(rows, {**heads, f"difference, {NASHCONV}": NASHCONV, "seeds": "seeds"})


def budgets(folder: Path, arm: str) -> list[dict[str, str]]:
    """The change of an arm by more acts, from the first budget on, as :func:`difference_cells`, and by families."""
    arms = {f"{number(arm.acts)} acts": arm for arm in budgets_of(arm, folder)}
    first, *later = arms
    compared = compare({acts: arm.arm for acts, arm in arms.items()}, first)
    return [
        {
            **difference_cells(compared[acts], seeds_of(arms[acts], arms[first])),
            "name": f"{describe(arm)}: {acts} {MINUS} {first}",
            "span": f"{first.removesuffix(' acts')} to {acts}",
            "known": f"{arms[acts].known.mean - arms[first].known.mean:+.2f}",
            "new": f"{arms[acts].new.mean - arms[first].new.mean:+.2f}",
        }
        for acts in later
        if acts in compared  # one seed alone is not compared
    ]


def preregistered(folder: Path) -> list[dict[str, str]]:
    """The comparisons on test3 that experiments/configs/people.yaml names: the primary one, three with Holm's p."""
    arms = {name: arm.arm for name, arm in arms_in("people", folder, TEST3).items()}
    named = (
        ("league_people", "both seats", MAIN["points"]),
        *(("league_people", f"as {seat}", PARTS[seat]) for seat in ("seat_0", "seat_1")),
        ("default_league", "both seats", MAIN["points"]),
    )
    compared = [
        compare_arms({arm: arms[arm].scores(column) for arm in (name, PLAIN)}, PLAIN, arms[PLAIN].families,
                     SMALLEST_EFFECT)[name]
        for name, _, column in named
    ]  # fmt: skip
    primary, *others = [comparison.test.p for comparison in compared]
    return [
        {"name": f"{describe(name)}, {seats}", "points": signed_interval(more.difference), "p": f"{p:.2g}"}
        for (name, seats, _), more, p in zip(named, compared, [primary, *holm(others)], strict=True)
    ]


def finals(folder: Path) -> dict[str, dict[str, str]]:
    """The contest's winner and the arms that played its finalists: place among the published points, and figures."""
    published = document(folder, "finals.json")["points"]
    others = {roster: arms_in("people", folder, roster) for roster in (PEOPLE_DEV, DEV2)}
    more = differences(folder, "people", TEST3)
    rows = {"winner": {"name": "the contest's winner", "place": "1", "points": f"{published[0]:.2f}"}}
    for name, arm in arms_in("people", folder, TEST3).items():
        gain = gain_of(name, folder)
        rows[name] = {
            "name": arm.name, "points": margin(arm.points),
            "place": str(1 + sum(other > arm.points.mean for other in published)),
            "difference": more[name]["points"] if name in more else "-",
            **{seat: margin(seeds_estimate(arm.arm, PARTS[seat])) for seat in ("seat_0", "seat_1")},
            **{roster: margin(arms[name].over_seeds) for roster, arms in others.items() if name in arms},
            "gain": "-" if gain is None else gain.sign.removeprefix(EXACT) + margin(gain.estimate),
            "training": arm.training,
        }  # fmt: skip
    return rows


def ceiling(folder: Path) -> dict[str, Any]:
    """Points of exact best responses on members of test2, by what they know, and of arms on the same members."""
    best = {
        name: float(np.mean([side.values_over(seat, PARTS_OF[HEADLINE])[1]
                             for seat, side in enumerate(reference.seats) if side is not None]))
        for name, reference in stored_references(folder / "test2_references.json").items()
    }  # fmt: skip
    (mixture,) = [name for name in best if (spec := read_spec(name)) is not None and spec.kind == "mixture"]
    members = best.keys() - {mixture}
    arms = arms_in("arms_test2", folder, TEST2)
    names = [name for name in (PLAIN, DEFAULT) if name in arms]
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


def rows(folder: Path, name: str) -> Sequence[Mapping[str, Any]]:
    """The rows of a table under docs/results/tables, by heading, with estimates as they are."""
    return table_rows(name, folder)


FUNCTIONS: tuple[Callable[..., Any], ...] = (  # of the templates, without their first argument, the folder
    *(arms, rows, plane_arms, differences, methods, budgets, ceiling, preregistered, finals, document),
)
OF_FOLDER = {function.__name__: function for function in FUNCTIONS}
HELPERS: dict[str, Any] = {
    **{helper.__name__: helper for helper in (table, arm_table, difference_table, margin, number, describe)},
    "number_range": number_range,
    "count": count_noun,
    "estimate": from_json,
    "share": lambda estimate: with_margin(estimate, "share"),
    "interval": signed_interval,
    "best_share": lambda arm: arm.arm.headline(MAIN["BR-Prox"]),
    "points_as": lambda arm, seat: margin(arm.arm.headline(PARTS[seat])),
    "is_known": lambda value: not math.isnan(value),
    "non_dominated": non_dominated,
    "MADE_BY": MADE_BY,
    "files": lambda *names: f"{', '.join(f'`{name}`' for name in names)} ([commands](results/tables/README.md))",
    "made": lambda *names: "; ".join(map(made_by, names)),
    "path": lambda name: f"results/tables/{name}.csv",
    "csv": lambda name: f"[{name}.csv](results/tables/{name}.csv)",
    "GROWN": tuple(GROWN),
    "LABEL_BAR": LABEL_BAR,
    "MODEL_GAMES": MODEL_GAMES,
    "MINUS": MINUS,
    "ADVERSARY": ADVERSARY,
    "NASHCONV": NASHCONV,
    "SMALLEST_EFFECT": SMALLEST_EFFECT,
    "DEV": DEV,
    "DEV2": DEV2,
    "TEST2": TEST2,
    "TEST3": TEST3,
    "PEOPLE_DEV": PEOPLE_DEV,
}
