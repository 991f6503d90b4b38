"""The files of an evaluation: every figure as JSON and, a row each, as CSV; an unknown number is ``null`` or empty."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.game import SEATS
from dond_marl.records.files import write_atomically
from dond_marl.statistics import Estimate
from league.evaluation.diagnosis import Diagnosis
from league.evaluation.evaluate import BEST, BOTH, HUMANS, VIEWS, Evaluation, PlayerLine, human_figures, mean_of_seats
from league.evaluation.exploitability import Probe
from league.evaluation.final import EXACT, FinalEvaluation, MemberEvaluation
from league.evaluation.matches import UnreachedError
from league.evaluation.outcomes import UNITS, Figures, score_pairs
from league.standings.as_csv import finite_or_none, format_digits, interval_json, write_csv, write_json

FINAL_FILE, FINAL_TABLE = "evaluation.json", "evaluation.csv"
SHARES = ("mean", "of_partners", "exact", "worst_tenth")  # of the references, in a final evaluation
PLAYED = ("points", "left", "deals", "welfare", "nash", "egalitarian", "pareto", "turns")  # figures of a final one


def pair_document(evaluation: Evaluation, human: HumanLine, probed: Probe | None = None) -> dict[str, Any]:
    """The evaluation of a pair, with its probe if there is one, as plain JSON values."""
    values, rules, source = evaluation.values, evaluation.rules, evaluation.source
    return {
        "member": evaluation.member,
        "against": evaluation.against,
        "scenarios": {"source": source.label, "number": evaluation.scenarios.size, "sha256": source.digest()},
        "rules": {"max_turns": rules.max_turns, "disagree": rules.disagree},
        "seed": evaluation.seed,
        "confidence": evaluation.confidence,
        "notes": list(evaluation.notes),
        "answers": {name: answers.document() for name, answers in evaluation.answers.items()},
        "units": UNITS,
        "figures": {
            name: {view: {key: _counted(e) for key, e in of[view]._asdict().items()} for view in VIEWS}
            for name, of in _with_humans(evaluation, human).items()
        },
        "best_response_value": None
        if values is None
        else {view: value._asdict() for view, value in zip(VIEWS, (mean_of_seats(values), *values), strict=True)},
        "shares_of_own_points": {
            name: {view: _counted(estimate) for view, estimate in shares.items()}
            for name, shares in evaluation.shares.items()
        },
        "landed": {  # own points, the partner's, games
            seat: [[*place, number] for place, number in zip(*(a.tolist() for a in score_pairs(outcomes)), strict=True)]
            for seat, outcomes in zip(SEATS, evaluation.played.seats, strict=True)
        },
        "humans": {"source": human.source, "sides": human.perspectives},
        **({} if probed is None else {"probe": _probe(probed)}),
    }


def _probe(probed: Probe) -> dict[str, Any]:
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
            "less_than_it": list(compared.fewer),
            "it_against_member": list(compared.equilibrium),
            "more_than_against_itself": list(compared.more),
            "exact": compared.exact,
        },
    }


def write_pair(
    path: Path,
    evaluation: Evaluation,
    human: HumanLine,
    probed: Probe | None = None,
    diagnosed: Diagnosis | None = None,
) -> None:
    """:func:`pair_document` as a JSON file, with a diagnosis of the member if there is one."""
    document = pair_document(evaluation, human, probed)
    if diagnosed is not None:
        document["diagnosis"] = diagnosed.document()
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    write_atomically(path, text + "\n")


def refused_document(member: str, against: str, error: UnreachedError) -> dict[str, Any]:
    """The document of a refused evaluation: the reason, and the answer counts of both players."""
    answers = {name: own.document() for name, own in error.answers.items()}
    return {"member": member, "against": against, "refused": str(error), "answers": answers, "figures": None}


def write_pair_table(path: Path, evaluation: Evaluation, human: HumanLine) -> None:
    """Every figure of a pair as CSV."""
    rows = [["who", "view", "figure", "mean", "low", "high", "n"]]
    for name, of in _with_humans(evaluation, human).items():
        for view in VIEWS:
            rows += [[name, view, key, *_bounds(e), str(e.n)] for key, e in of[view]._asdict().items()]
    for name, shares in evaluation.shares.items():
        rows += [[evaluation.member, view, f"share of {name}", *_bounds(e), str(e.n)] for view, e in shares.items()]
    values = evaluation.values
    for view, value in zip(VIEWS, (mean_of_seats(values), *values) if values else (), strict=False):
        mean = value.low if value.exact else math.nan
        rows.append([BEST, view, "value", *format_digits(mean, value.low, value.high), "0"])
    for name, answers in evaluation.answers.items():
        counts = {"asked": answers.decisions, "answered": answers.own_decisions, **answers.by_cause()}
        for key, number in counts.items():
            rows.append([name, BOTH, f"decisions, {key}", str(number), "", "", str(answers.decisions)])
        rows.append([name, BOTH, "games left out", str(answers.left_out), "", "", str(answers.games)])
    write_csv(path, rows)


def final_document(final: FinalEvaluation) -> dict[str, Any]:
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


def write_final_files(directory: Path, final: FinalEvaluation) -> list[str]:
    """``evaluation.json`` and ``evaluation.csv`` in a run's folder; their names."""
    write_json(directory / FINAL_FILE, final_document(final))
    write_csv(directory / FINAL_TABLE, final_rows(final))
    return [FINAL_FILE, FINAL_TABLE]


def _member(member: MemberEvaluation) -> dict[str, Any]:
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


def _line(line: PlayerLine) -> dict[str, Any]:
    return {view: {name: _bounded(getattr(line.figures[view], name)) for name in PLAYED} for view in VIEWS}


def _by_seat(estimates: Iterable[Estimate]) -> dict[str, Any]:
    return {seat: _bounded(estimate) for seat, estimate in zip(SEATS, estimates, strict=True)}


def _bounded(estimate: Estimate) -> dict[str, float | None]:
    return interval_json(estimate.mean, estimate.low, estimate.high)


def _counted(estimate: Estimate) -> dict[str, float | None]:
    mean, n, low, high = estimate
    return {"mean": finite_or_none(mean), "n": n, "low": finite_or_none(low), "high": finite_or_none(high)}


def _bounds(estimate: Estimate) -> list[str]:
    return format_digits(estimate.mean, estimate.low, estimate.high)


def _with_humans(evaluation: Evaluation, human: HumanLine) -> dict[str, Mapping[str, Figures]]:
    return {**{line.name: line.figures for line in evaluation.lines}, HUMANS: human_figures(human)}


def final_rows(final: FinalEvaluation) -> Iterator[list[str]]:
    """Every figure of the final evaluation as rows of CSV, the header first."""
    yield ["member", "against", "figure", "seat", "value", "low", "high"]
    for member in final.members:
        name, near = member.member, member.proximity
        for share in SHARES:
            yield [name, "", f"proximity, {share.replace('_', ' ')}", "", *format_digits(*getattr(near, share))]
        for figure, rated in (("agreement", member.agreement), ("welfare", member.welfare)):
            yield [name, "", figure, "", *format_digits(*rated)]
        for place, matchup in enumerate(member.matchups):
            for number, seat in enumerate(SEATS):
                yield [name, matchup.opponent, "share", seat, *format_digits(*near.cells.entry(place, number))]
                mark = matchup.marks[number]
                mean = float(mark.points.mean())
                bounds = (mean, mean, mean) if mark.kind == EXACT else (math.nan, math.nan, mean)
                yield [name, matchup.opponent, "reference's points", seat, *format_digits(*bounds)]
                if matchup.known is not None:
                    most = matchup.known[number].points
                    yield [
                        name,
                        matchup.opponent,
                        f"best known: {matchup.known[number].player}",
                        seat,
                        *format_digits(most, most, most),
                    ]
            for view in VIEWS:
                yield from _figures(name, matchup.opponent, view, matchup.played.figures[view])
        for view in VIEWS:
            yield from _figures(name, name, view, member.self_play.figures[view])
        for each in member.exploiters:
            for seat, gain, drop in zip(SEATS, each.gain, each.drop, strict=True):
                yield [name, each.exploiter, "gain", seat, *_bounds(gain)]
                yield [name, each.exploiter, "victim drop", seat, *_bounds(drop)]
        for seat, exploited in zip(SEATS, member.exploitability or (), strict=False):
            low, high = format_digits(*exploited.gain)
            yield [name, "best response", "gain", seat, low if low == high else "", low, high]
        for part, pair in () if member.split_gains is None else member.split_gains._asdict().items():
            for seat, bounds in zip(SEATS, pair, strict=True):
                low, high = format_digits(*bounds)
                yield [name, "best response", f"gain, {part}", seat, low if low == high else "", low, high]


def _figures(member: str, against: str, view: str, figures: Figures) -> Iterator[list[str]]:
    for name in PLAYED:
        yield [member, against, name, "" if view == BOTH else view, *_bounds(getattr(figures, name))]
