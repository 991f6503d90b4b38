"""A diagnosis on a terminal: what acts lost, what was demanded, what was believed, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dond_marl.statistics import Estimate
from league.evaluation.diagnosis import Diagnosis
from league.tables.blocks import Section, Table, TableRow
from league.tables.figures import with_margin


def diagnosis_section(found: Diagnosis) -> Section:
    """The tables and what they mean."""
    blocks = [_table("in all", ("",), _in_all(found)), _table("by act", ("said", "lost by each"), _by_act(found))]
    if found.demanded:
        offers = [
            (f"own turn {number + 1}", f"{of.n:,}", with_margin(of)) for number, of in found.demanded if of.n
        ]  # fmt: skip
        blocks.append(_table("what its offers keep", ("offers", "share of its own points"), offers))
    if found.believed is not None and found.believed.answered:
        bins = [(f"{said:.2f}", f"{number:,}", f"{true:.2f}") for number, said, true in found.believed.calibration]
        blocks.append(_table("said to be likely", ("times", "true"), bins))
    return Section("diagnosis", "Diagnosis", tuple(_notes(found)), tuple(blocks))


def _table(caption: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(caption, heads, tuple(TableRow(label, tuple(cells)) for label, *cells in rows), label="")


def _in_all(found: Diagnosis) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("own points of ten, a game", with_margin(found.points))]
    if found.lost is not None:
        rows += [("lost by its acts, a game", with_margin(found.lost))]
        rows += [("of the exact best response", f"{found.share:.1%}")]
    rows += [("a second copy, more or less", with_margin(found.noise))]
    of = found.answers
    if of:
        rows += [
            ("legal decisions of its own", f"{of['legal']:.1%}"),
            ("re-asks, a game", f"{of['re_asks']:.2f}"),
            ("tokens read and written, a game", _tokens(of)),
            ("dollars, a game", "not known" if math.isnan(of["dollars"]) else f"{of['dollars']:.5f}"),
        ]
    if found.believed is not None:
        believed = found.believed
        rows += [("beliefs told, of those asked", f"{believed.answered:,} of {believed.asked:,}")]
        if believed.answered:
            rows += [("Brier score", _score(believed.brier)), ("  of the exact posterior", _score(believed.floor))]
            rows += [("  of who has heard nothing", _score(believed.before))]
    return rows


def _tokens(of: Mapping[str, float]) -> str:
    if math.isnan(of["prompt_tokens"]):
        return "not known: a cache answered"
    return f"{of['prompt_tokens']:,.0f} and {of['completion_tokens']:,.0f}"


def _score(of: Estimate) -> str:
    return with_margin(of)


def _by_act(found: Diagnosis) -> list[tuple[str, ...]]:
    return [(name, f"{number:,}", f"{lost:.2f}") for name, (number, lost) in found.by_act.items()]


def _notes(found: Diagnosis) -> Iterator[str]:
    yield f"{found.member} against {found.against}, {found.games:,} games; points are points of ten."
    if found.note:
        yield f"{found.note[0].upper()}{found.note[1:]}."
    if found.lost is not None:
        yield "What acts lose in a game is, on average, what it earns less than the exact best response."
    yield "A second copy plays the same scenarios with luck of its own: smaller differences mean nothing."
    if found.believed is not None:
        yield "Beliefs: which item type the partner values most; 0 is the best score, 2 the worst."
