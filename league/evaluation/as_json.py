"""The files of an evaluation: every figure as JSON and, a row each, as CSV; an unknown number is ``null`` or empty.

The rows of a CSV file are read from the JSON document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.game import SEATS
from dond_marl.statistics import Estimate
from league.evaluation.evaluate import BEST, BOTH, HUMANS, VIEWS, Evaluation, PlayerLine, human_figures, mean_of_seats
from league.evaluation.exploitability import Probe
from league.evaluation.final import EXACT, FinalEvaluation, MemberEvaluation
from league.evaluation.matches import UnreachedError
from league.evaluation.outcomes import FIGURES, score_pairs
from league.standings.as_csv import finite_or_none, format_digits, interval_json, plain_values, write_csv, write_json

FINAL_FILE, FINAL_TABLE = "evaluation.json", "evaluation.csv"
SHARES = ("mean", "of_partners", "exact", "worst_tenth")  # of the references, in a final evaluation
PLAYED = ("points", "left", "deals", "welfare", "nash", "egalitarian", "pareto", "turns")  # figures of a final one
Document = dict[str, Any]


def pair_document(evaluation: Evaluation, human: HumanLine) -> Document:
    """The evaluation of a pair as plain JSON values."""
    values, rules, source = evaluation.values, evaluation.rules, evaluation.source
    lines = {**{line.name: line.figures for line in evaluation.lines}, HUMANS: human_figures(human)}
    return {
        "member": evaluation.member,
        "against": evaluation.against,
        "scenarios": {"source": source.label, "number": evaluation.scenarios.size, "sha256": source.digest()},
        "rules": {"max_turns": rules.max_turns, "disagree": rules.disagree},
        "seed": evaluation.seed,
        "confidence": evaluation.confidence,
        "notes": list(evaluation.notes),
        "answers": {name: answers.document() for name, answers in evaluation.answers.items()},
        "units": {figure: terms.unit for figure, terms in FIGURES.items()},
        "figures": plain_values(lines),
        "best_response_value": None
        if values is None
        else plain_values(dict(zip(VIEWS, (mean_of_seats(values), *values), strict=True))),
        "shares_of_own_points": plain_values(evaluation.shares),
        "landed": {  # own points, the partner's, games
            seat: [[*place, number] for place, number in zip(*(a.tolist() for a in score_pairs(outcomes)), strict=True)]
            for seat, outcomes in zip(SEATS, evaluation.played.seats, strict=True)
        },
        "humans": {"source": human.source, "sides": human.perspectives},
    }


def probe_document(probed: Probe) -> Document:
    """A probe as plain JSON values."""
    informed, compared = probed.informed, probed.compared
    return {
        "value_of_a_response": [[value.low, value.high] for value in probed.hidden],
        "value_told": None if informed is None else [[value.low, value.high] for value in informed],
        "value_of_information": probed.information and [list(bounds) for bounds in probed.information],
        "self_play": [each.self_play for each in probed.exploited],
        "value_of_a_response_to_the_member": [[each.response.low, each.response.high] for each in probed.exploited],
        "exploitability": [list(each.gain) for each in probed.exploited],
        "exploitability_parted": None
        if probed.split_gains is None
        else {part: [list(bounds) for bounds in pair] for part, pair in probed.split_gains._asdict().items()},
        "safety": {"responder": probed.safety.responder, "points": probed.safety.points},
        "equilibrium": None
        if compared is None
        else {
            "against_itself": list(compared.values),
            "value_of_a_response": [list(bounds) for bounds in compared.responses],
            "member_against_it": list(compared.member),
            "less_than_it": list(compared.shortfall),
            "it_against_member": list(compared.equilibrium),
            "more_than_against_itself": list(compared.advantage),
            "exact": compared.exact,
        },
    }


def refused_document(member: str, against: str, error: UnreachedError) -> Document:
    """The document of a refused evaluation: the reason, and the answer counts of both players."""
    answers = {name: own.document() for name, own in error.answers.items()}
    return {"member": member, "against": against, "refused": str(error), "answers": answers, "figures": None}


def pair_rows(document: Document) -> Iterator[list[str]]:
    """Every figure of :func:`pair_document` as rows of CSV, the header first."""
    yield ["who", "view", "figure", "mean", "low", "high", "n"]
    for name, views in document["figures"].items():
        for view, figures in views.items():
            yield from ([name, view, figure, *_counted_digits(each)] for figure, each in figures.items())
    for name, shares in document["shares_of_own_points"].items():
        yield from ([document["member"], view, f"share of {name}", *_counted_digits(e)] for view, e in shares.items())
    for view, value in (document["best_response_value"] or {}).items():
        yield [BEST, view, "value", *_range_digits(value["low"], value["high"], exact=value["exact"]), "0"]
    for name, answers in document["answers"].items():
        counts = {"asked": answers["asked"], "answered": answers["answered"], **answers["causes"]}
        for key, number in counts.items():
            yield [name, BOTH, f"decisions, {key}", str(number), "", "", str(answers["asked"])]
        yield [name, BOTH, "games left out", str(answers["games_left_out"]), "", "", str(answers["games"])]


def final_document(final: FinalEvaluation) -> Document:
    """The final evaluation as plain JSON values."""
    return {
        "scenarios": {"source": final.source.label, "number": final.scenarios.size, "sha256": final.source.digest()},
        "rules": {"max_turns": final.rules.max_turns, "disagree": final.rules.disagree},
        "seed": final.seed,
        "confidence": final.confidence,
        "notes": list(final.notes),
        "points_of_reference": {line.name: _line(line) for line in final.points},
        "members": {member.member: _member(member) for member in final.members},
    }


def write_final_files(directory: Path, final: FinalEvaluation) -> None:
    """``evaluation.json`` and ``evaluation.csv`` in a run's folder."""
    document = final_document(final)
    write_json(directory / FINAL_FILE, document)
    write_csv(directory / FINAL_TABLE, final_rows(document))


def _member(member: MemberEvaluation) -> Document:
    near = member.proximity
    worst = near.worst()
    return {
        "proximity": {name: interval_json(*getattr(near, name)) for name in SHARES},
        "worst": None
        if worst is None
        else {
            "opponent": member.matchups[worst[0]].opponent,
            "seat": SEATS[worst[1]],
            "share": interval_json(*near.cells.entry(*worst)),
        },
        "agreement": interval_json(*member.agreement),
        "welfare_efficiency": interval_json(*member.welfare),
        "against": {
            matchup.opponent: {
                "played": _line(matchup.played),
                "reference": {
                    seat: {"kind": mark.kind, "points": finite_or_none(float(mark.points.mean()))}
                    for seat, mark in zip(SEATS, matchup.marks, strict=True)
                },
                "best_known": None
                if matchup.known is None
                else {
                    seat: {"who": each.player, "points": each.points}
                    for seat, each in zip(SEATS, matchup.known, strict=True)
                },
                "share": {name: interval_json(*near.cells.entry(place, seat)) for seat, name in enumerate(SEATS)},
            }
            for place, matchup in enumerate(member.matchups)
        },
        "self_play": _line(member.self_play),
        "exploiters": {
            each.exploiter: {"gain": _by_seat(each.gain), "victim_drop": _by_seat(each.drop)}
            for each in member.exploiters
        },
        "exploitability": None
        if member.exploitability is None
        else {
            seat: {"low": each.gain[0], "high": each.gain[1], "exact": each.response.exact}
            for seat, each in zip(SEATS, member.exploitability, strict=True)
        },
        "exploitability_parted": None
        if member.split_gains is None
        else {
            part: {seat: {"low": low, "high": high} for seat, (low, high) in zip(SEATS, pair, strict=True)}
            for part, pair in member.split_gains._asdict().items()
        },
    }


def _line(line: PlayerLine) -> Document:
    return {view: {name: _interval(getattr(line.figures[view], name)) for name in PLAYED} for view in VIEWS}


def _by_seat(estimates: Iterable[Estimate]) -> Document:
    return {seat: _interval(estimate) for seat, estimate in zip(SEATS, estimates, strict=True)}


def _interval(estimate: Estimate) -> Document:
    return interval_json(estimate.mean, estimate.low, estimate.high)


def final_rows(document: Document) -> Iterator[list[str]]:
    """Every figure of :func:`final_document` as rows of CSV, the header first."""
    yield ["member", "against", "figure", "seat", "value", "low", "high"]
    for name, member in document["members"].items():
        for share in SHARES:
            yield [name, "", f"proximity, {share.replace('_', ' ')}", "", *_digits(member["proximity"][share])]
        yield [name, "", "agreement", "", *_digits(member["agreement"])]
        yield [name, "", "welfare", "", *_digits(member["welfare_efficiency"])]
        for opponent, matchup in member["against"].items():
            for seat in SEATS:
                yield [name, opponent, "share", seat, *_digits(matchup["share"][seat])]
                mark, known = matchup["reference"][seat], matchup["best_known"]
                low = mark["points"] if mark["kind"] == EXACT else None
                yield [name, opponent, "reference's points", seat, *_format(low, low, mark["points"])]
                if known is not None:
                    most = known[seat]["points"]
                    yield [name, opponent, f"best known: {known[seat]['who']}", seat, *_format(most, most, most)]
            yield from _played_rows(name, opponent, matchup["played"])
        yield from _played_rows(name, name, member["self_play"])
        for exploiter, taken in member["exploiters"].items():
            for seat in SEATS:
                yield [name, exploiter, "gain", seat, *_digits(taken["gain"][seat])]
                yield [name, exploiter, "victim drop", seat, *_digits(taken["victim_drop"][seat])]
        gains = {"gain": member["exploitability"] or {}}
        gains |= {f"gain, {part}": seats for part, seats in (member["exploitability_parted"] or {}).items()}
        for figure, seats in gains.items():
            yield from ([name, "best response", figure, seat, *_range_digits(**each)] for seat, each in seats.items())


def _played_rows(member: str, against: str, played: Document) -> Iterator[list[str]]:
    for view, figures in played.items():
        seat = "" if view == BOTH else view
        yield from ([member, against, figure, seat, *_digits(each)] for figure, each in figures.items())


def _digits(interval: Document) -> list[str]:
    return _format(interval["value"], interval["low"], interval["high"])


def _counted_digits(estimate: Document) -> list[str]:
    return [*_format(estimate["mean"], estimate["low"], estimate["high"]), str(estimate["n"])]


def _range_digits(low: float, high: float, exact: bool = False) -> list[str]:
    """A value that is known within bounds: its middle column is empty unless they are equal."""
    digits = format_digits(low, high)
    return [digits[0] if exact or digits[0] == digits[1] else "", *digits]


def _format(*values: float | None) -> list[str]:
    return format_digits(*(math.nan if value is None else value for value in values))
