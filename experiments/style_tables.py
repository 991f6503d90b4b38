"""Rows, JSON document and tables of a comparison of style rewards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from dond_marl.statistics import Estimate, mean_of, mean_of_cells
from experiments.kit import table_section
from experiments.styles import FIGURES, SOURCES, Agreement, JudgeScore, Source, StylesConfig, TrialResult
from league.tables.blocks import Section, Unit
from league.tables.figures import with_margin
from partners.judges.styles import Style

CONFIDENCE = 0.95
NAMES = {
    "own": "own points",
    "true": "the style itself",
    "judge": "language model",
    "supervised": "reward model",
    "rules": "vote of rules (baseline)",
}
COUNTS = ("yes_yes", "yes_no", "no_yes", "no_no")  # label, truth
VOTE = (
    "The vote of rules is a baseline and no language model: it keeps those rules of a menu that fit the labelled "
    "episodes, and the menu was written with knowledge of the definitions."
)


class StyleRow(NamedTuple):
    """The learners of one style and one reward, over all seeds."""

    style: Style
    source: Source
    played: dict[str, Estimate]  # of held-out play, by figure; intervals over scenarios
    rates: tuple[float, ...]  # of the style, one per seed
    practiced: Agreement | None  # of the reward's labels, on training games
    labelled: Agreement | None  # the same, on held-out play
    tally: Counter[str]


def style_rows(config: StylesConfig, results: Sequence[TrialResult]) -> list[StyleRow]:
    """The rows of all trials, by style, then in the order of :data:`SOURCES`."""
    rows = []
    for style in map(Style, config.comparison.styles):
        for source in SOURCES:
            key = (source, None if source == "own" else style)
            own = [result for result in results if (result.trial.source, result.trial.style) == key]
            if own:
                rows.append(_style_row(style, source, own))
    return rows


def _style_row(style: Style, source: Source, results: Sequence[TrialResult]) -> StyleRow:
    games = np.concatenate([result.played.games for result in results])
    played = {
        name: mean_of_cells(np.concatenate([result.played.sums[place] for result in results]), games, CONFIDENCE)
        for place, name in enumerate(FIGURES)
    }
    return StyleRow(
        style,
        source,
        played,
        tuple(result.played.mean(style) for result in results),
        _sum_agreements(result.practiced for result in results),
        _sum_agreements(result.labelled for result in results),
        sum((result.tally for result in results), Counter()),
    )


def _sum_agreements(agreements: Iterable[Agreement | None]) -> Agreement | None:
    known = [agreement for agreement in agreements if agreement is not None]
    return reduce(Agreement.plus, known) if known else None


def style_document(
    config: StylesConfig, rows: Sequence[StyleRow], scores: Sequence[JudgeScore], seconds: float
) -> dict[str, Any]:
    """Everything as JSON values."""
    return {
        "settings": config.model_dump(mode="json"),
        "partner": config.env.partner,
        "confidence": CONFIDENCE,
        "seconds": round(seconds, 1),
        "learners": [
            {
                "style": str(row.style),
                "reward": row.source,
                "rate": _estimate_json(row.played[row.style]),
                "rates": [round(rate, 4) for rate in row.rates],
                "played": {name: _estimate_json(estimate) for name, estimate in row.played.items()},
                "labels_in_practice": _agreement_json(row.practiced),
                "labels_held_out": _agreement_json(row.labelled),
                "judge": dict(row.tally),
            }
            for row in rows
        ],
        "judges": [
            {
                "style": str(score.style),
                "judge": score.source,
                "labels": _agreement_json(score.agreement),
                "requests": score.requests,
                "tokens": score.tokens,
                "usd": score.usd,
                "seconds": round(score.seconds, 4),
            }
            for score in scores
        ],
    }


def _estimate_json(estimate: Estimate) -> dict[str, float | int | None]:
    low, high = (None if math.isnan(end) else round(end, 4) for end in (estimate.low, estimate.high))
    return {"mean": round(estimate.mean, 4), "n": estimate.n, "low": low, "high": high}


def _agreement_json(agreement: Agreement | None) -> dict[str, float | int | None] | None:
    if agreement is None:
        return None
    shares = {"accuracy": agreement.accuracy, "kappa": agreement.kappa, "majority": agreement.majority}
    return {
        **agreement._asdict(),
        **{name: None if math.isnan(share) else round(share, 4) for name, share in shares.items()},
    }


def judges_section(document: Mapping[str, Any]) -> Section:
    """Each judge's labels of held-out episodes compared with the definition of the style."""
    rows = []
    for row in document["judges"]:
        labels = row["labels"]
        kappa = "-" if labels["kappa"] is None else f"{labels['kappa']:.2f}"
        shares = (f"{labels['accuracy']:.1%}", f"{labels['majority']:.1%}")
        counts = (f"{labels[count]:,}" for count in COUNTS)
        cost = f"{row['requests']:,}, {row['tokens']:,}, ${row['usd']:.4f}" if row["requests"] else ""
        rows.append([row["style"].replace("_", "-"), _name(row["judge"], document), *shares, kappa, *counts, cost])
    heads = ["style", "judge", "accuracy", "majority class", "kappa", "yes right", "yes wrong", "no wrong", "no right"]
    if any(row[-1] for row in rows):
        heads.append("requests, tokens, cost")
    comparison = document["settings"]["comparison"]
    return table_section(
        "Labels of held-out episodes",
        heads,
        [row[: len(heads)] for row in rows],
        f"{comparison['seeds']} draws of {comparison['examples']} labelled episodes, each judged on the same "
        f"{comparison['episodes']} held-out episodes of scripted play.",
    )


def learners_section(document: Mapping[str, Any]) -> Section:
    """Learners of each style by their reward, in the columns of the paper."""
    rows = []
    for row in document["learners"]:
        played, right = row["played"], row["labels_in_practice"]
        labels = "-" if right is None else f"{right['accuracy']:.1%} of {sum(right[kind] for kind in COUNTS):,}"
        rows.append([
            row["style"].replace("_", "-"),
            _name(row["reward"], document),
            with_margin(mean_of(row["rates"], document["confidence"]), "share"),
            labels,
            *(_cell(played[figure]) for figure in ("advantage", "diversity")),
            *(_cell(played[figure], "share") for figure in ("deals", "pareto")),
            _cell(played["points"]),
        ])  # fmt: skip
    heads = ("style", "reward", "in the style", "correct labels in training", "advantage", "diversity", "agreement",
             "Pareto", "own points")  # fmt: skip
    comparison, training = document["settings"]["comparison"], document["settings"]["training"]
    start = f" from {training['init_from']}" if training["init_from"] else ""
    return table_section(
        "Learners in held-out play",
        heads,
        rows,
        f"{comparison['seeds']} learners a row, each {training['num_train_steps']:,} own decisions of "
        f"{training['algo']}{start} against {document['partner']}. In the style: share of held-out games, by the "
        "definition, with its 95 % interval over learners; other intervals are over scenarios. Advantage: own points - "
        "the partner's; diversity: distinct splits offered in a game; agreement: games with a deal; Pareto: games with "
        "a Pareto-optimal deal.",
        VOTE,
    )


def _name(source: str, document: Mapping[str, Any]) -> str:
    if source == "judge" and "smollm2" in document["settings"]["comparison"]["judge"]:
        return "SmolLM2"
    return NAMES[source]


def _cell(value: Mapping[str, Any], unit: Unit = "points") -> str:
    low, high = (math.nan if value[end] is None else value[end] for end in ("low", "high"))
    return with_margin(Estimate(value["mean"], value["n"], low, high), unit)
