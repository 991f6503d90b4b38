"""The tables of a comparison of style rewards, and the same figures as plain values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from dond_marl.statistics import Estimate, mean_of_cells
from experiments.styles.agreement import Agreement
from experiments.styles.settings import SOURCES, Source, StylesConfig
from experiments.styles.trials import FIGURES, TrialResult
from league.display.tables import line
from league.tables.figures import format_number, with_margin
from partners.judges.styles import Style

CONFIDENCE = 0.95
NAMES: dict[Source, str] = {
    "own": "own points",
    "true": "the style itself",
    "judge": "language model",
    "supervised": "reward model",
    "rules": "vote of rules (baseline)",
}
LOCAL = (
    "The vote of rules is a baseline of ours, and no language model: it keeps those rules of a menu that fit the "
    "labelled episodes, and the menu was written by people who knew the definitions. It shows what a judge with good "
    "notions makes of a few episodes, not what a language model would. Name one with "
    '--set comparison.judge="llm_judge(model=...)".'
)


class Row(NamedTuple):
    """The learners of one style and one reward, over all seeds."""

    style: Style
    source: Source
    played: dict[str, Estimate]  # of held-out play, by figure; intervals over scenarios
    rates: tuple[float, ...]  # of the style, one per seed
    practiced: Agreement | None  # of the reward's labels, on the games that were learned from
    labelled: Agreement | None  # the same, on held-out play
    tally: Counter[str]


class Judged(NamedTuple):
    """One judge of one style on the same held-out episodes of scripted play."""

    style: Style
    source: Source
    agreement: Agreement
    requests: int
    tokens: int
    usd: float
    seconds: float


def rows_of(config: StylesConfig, results: Sequence[TrialResult]) -> list[Row]:
    """What all trials come to, style by style in the order of :data:`SOURCES`."""
    rows = []
    for style in map(Style, config.comparison.styles):
        for source in SOURCES:
            wanted = None if source == "own" else style
            mine = [result for result in results if result.trial.source == source and result.trial.style == wanted]
            if mine:
                rows.append(_row(style, source, mine))
    return rows


def _row(style: Style, source: Source, results: Sequence[TrialResult]) -> Row:
    games = np.concatenate([result.played.games for result in results])
    played = {
        name: mean_of_cells(np.concatenate([result.played.sums[place] for result in results]), games, CONFIDENCE)
        for place, name in enumerate(FIGURES)
    }
    return Row(
        style,
        source,
        played,
        tuple(result.played.mean(style) for result in results),
        _together(result.practiced for result in results),
        _together(result.labelled for result in results),
        sum((result.tally for result in results), Counter()),
    )


def _together(agreements: Iterable[Agreement | None]) -> Agreement | None:
    known = [agreement for agreement in agreements if agreement is not None]
    return reduce(Agreement.plus, known) if known else None


def print_judged(console: Console, config: StylesConfig, judged: Sequence[Judged]) -> None:
    """Judge and reward model beside the definition, on the same episodes."""
    shown, draws = config.comparison.examples, config.comparison.seeds
    costs = any(row.requests for row in judged)
    title = f"who labels held-out episodes of scripted play like the definition, after {shown} labelled ones"
    headings = ["style", "who", "accuracy", "one answer", "kappa", "yes right", "yes wrong", "no wrong", "no right"]
    table = _table(title, [*headings, "unjudged", *(("requests", "tokens", "cost") if costs else ())])
    for row in judged:
        table.add_row(
            row.style.word,
            NAMES[row.source],
            format_number(row.agreement.accuracy, "share"),
            format_number(row.agreement.majority, "share"),
            format_number(row.agreement.kappa),
            *(f"{count:,}" for count in row.agreement),
            *((f"{row.requests:,}", f"{row.tokens:,}", f"${row.usd:.4f}") if costs else ()),
            end_section=row.source == SOURCES[-1],
        )
    console.print(table)
    note = f"one answer: the accuracy of always giving the commoner one. {draws} draws of labelled episodes each."
    line(console, note)


def print_rows(console: Console, config: StylesConfig, rows: Sequence[Row], partner: str) -> None:
    """The paper's columns, and what a style costs in points."""
    headings = ["style", "paid by", "in the style", "seeds", "labels right", "kappa", "right, held-out"]
    headings += ["advantage", "diversity", "deals", "Pareto", "own points", "joint", "turns"]
    table = _table(f"learners in held-out play against {partner}", headings)
    for row in rows:
        table.add_row(
            row.style.word,
            NAMES[row.source],
            with_margin(row.played[row.style], "share"),
            f"{min(row.rates):.0%} to {max(row.rates):.0%}",
            "-" if row.practiced is None else format_number(row.practiced.accuracy, "share"),
            "-" if row.practiced is None else format_number(row.practiced.kappa),
            "-" if row.labelled is None else format_number(row.labelled.accuracy, "share"),
            with_margin(row.played["advantage"]),
            with_margin(row.played["diversity"]),
            with_margin(row.played["deals"], "share"),
            with_margin(row.played["pareto"], "share"),
            with_margin(row.played["points"]),
            with_margin(row.played["joint"]),
            f"{row.played['turns'].mean:.1f}",
            end_section=row.source == SOURCES[-1],
        )
    console.print(table)
    for note in _means(rows):
        line(console, note)
    line(
        console,
        "in the style: share of games, by the definition that the learners paid by the style itself have; ± is a 95 % "
        f"interval over scenarios, seeds the least and the most of {config.comparison.seeds} learners. labels right: "
        "what a learner was paid while it practiced, against the definition; held-out: the same in the games of this "
        "table. advantage: own points less the partner's; diversity: different splits that it offers in a game; "
        "Pareto: games with a deal that no split betters for one side without harm to the other. Points are of ten per "
        "game, of learners that were paid for something else, except in the first row of "
        "a style.",
    )
    line(console, LOCAL)


def _means(rows: Sequence[Row]) -> Iterable[str]:
    """Over all styles: the comparison in a line each."""
    for source in dict.fromkeys(row.source for row in rows):
        mine = [row for row in rows if row.source == source]
        rate = float(np.mean([row.played[row.style].mean for row in mine]))
        known = [row.practiced.accuracy for row in mine if row.practiced is not None]
        labels = f", {np.mean(known):.1%} of labels right in practice" if known else ""
        yield f"mean over styles, paid by {NAMES[source]}: {rate:.1%} of games in the style{labels}"


def figures(
    config: StylesConfig, rows: Sequence[Row], judged: Sequence[Judged], partner: str, seconds: float
) -> dict[str, Any]:
    """Everything as JSON values."""
    return {
        "settings": config.model_dump(mode="json"),
        "partner": partner,
        "confidence": CONFIDENCE,
        "seconds": round(seconds, 1),
        "learners": [
            {
                "style": str(row.style),
                "reward": row.source,
                "rate": _estimate(row.played[row.style]),
                "rates": [round(rate, 4) for rate in row.rates],
                "played": {name: _estimate(estimate) for name, estimate in row.played.items()},
                "labels_in_practice": _agreement(row.practiced),
                "labels_held_out": _agreement(row.labelled),
                "judge": dict(row.tally),
            }
            for row in rows
        ],
        "judges": [
            {
                "style": str(row.style),
                "judge": row.source,
                "labels": _agreement(row.agreement),
                "requests": row.requests,
                "tokens": row.tokens,
                "usd": row.usd,
                "seconds": round(row.seconds, 4),
            }
            for row in judged
        ],
    }


def _estimate(estimate: Estimate) -> dict[str, float | int | None]:
    low, high = (None if math.isnan(end) else round(end, 4) for end in (estimate.low, estimate.high))
    return {"mean": round(estimate.mean, 4), "n": estimate.n, "low": low, "high": high}


def _agreement(agreement: Agreement | None) -> dict[str, float | int | None] | None:
    if agreement is None:
        return None
    shares = {"accuracy": agreement.accuracy, "kappa": agreement.kappa, "majority": agreement.majority}
    return {
        **agreement._asdict(),
        **{name: None if math.isnan(share) else round(share, 4) for name, share in shares.items()},
    }


def _table(title: str, headings: Sequence[str]) -> Table:
    """Figures to the right, the two columns of names whole."""
    table = Table(title=title)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < 2 else "right", no_wrap=place < 2)
    return table
