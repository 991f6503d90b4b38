"""Sections about pretrained language models in a seat: points, legal replies, speed, and regret of their acts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.kit import table_section
from experiments.results.files import FREE, GAMES, LLAMA_CPP, document, exists
from experiments.results.rows import estimate, share
from league.tables.blocks import Section


def games_section(folder: Path) -> Section:
    """Points against each opponent, by seat."""
    rows, requested, valid = [], 0, 0
    for name, report in _documents(GAMES, folder):
        member = report["member"]
        prompt = "short" if name == "language_model.json" else "brief, by value"
        for key, seat in (("both seats", "both"), ("seat_0", "seat_0"), ("seat_1", "seat_1")):
            figures, best = report["figures"][member][key], report["shares_of_own_points"]["best response"][key]
            points, left, deals = (figures[figure] for figure in ("points", "left", "deals"))
            cells = [estimate(points, "points"), estimate(left, "points"), share(best), share(deals)]
            rows.append([report["against"], prompt, seat, *cells, f"{points['n']:,}"])
        requested += report["answers"][member]["asked"]
        valid += report["answers"][member]["answered"]
    heads = ("opponent", "prompt", "seat", "points of ten", "the opponent's", "share of the best response", "deals",
             "games")  # fmt: skip
    note = f"It made {valid:,} of {requested:,} decisions itself, all of them legal acts."
    return table_section("A language model in a seat", heads, rows, note)


def free_section(folder: Path) -> Section:
    """Legal shares of unconstrained replies."""
    rows = []
    for name, report in _documents(FREE, folder):
        free = report["free"]
        shares = [_wilson(free[reader]) for reader in ("strict", "lenient")]
        reasons = ", ".join(f"{reason.replace('_', ' ')} {times}" for reason, times in sorted(free["refused"].items()))
        rows.append([FREE[name], *shares, reasons, f"{free['strict']['n']:,}"])
    heads = ("prompt", "legal to the strict reader", "to the lenient one", "refused", "replies")
    return table_section("Unconstrained replies", heads, rows)


def pace_section(folder: Path) -> Section:
    """Time per decision on both paths."""
    rows = []
    for name, report in _documents(FREE, folder):
        rows.append(["transformers, bfloat16, the legal lines as a tree", FREE[name], *_pace(report["pace"])])
    if exists(LLAMA_CPP, folder):
        report = document(LLAMA_CPP, folder)
        path = f"llama.cpp (xllamacpp {report['version']}), Q4_1, a grammar"
        rows.append([path, report["prompt"], *_pace(report)])
    heads = ("path", "prompt", "single, CPU seconds", "in batches", "decisions per CPU second", "load, CPU seconds",
             "memory, MB")  # fmt: skip
    return table_section("Time per decision", heads, rows)


def diagnosis_section(report: Mapping[str, Any]) -> Section:
    """Regret of its acts compared with the exact best response and claims of its offers."""
    diagnosis = report["diagnosis"]
    rows = [
        ["own points of ten per game", estimate(diagnosis["points"], "points")],
        ["regret of its acts per game", estimate(diagnosis["lost"], "points")],
        ["share of the exact best response", f"{diagnosis['share']:.1%}"],
    ]
    rows += [[f"regret per {act}, of {times:,}", f"{lost:.2f}"] for act, (times, lost) in diagnosis["by_act"].items()]
    for turn, claim in diagnosis["demanded"]:
        if claim["n"]:
            rows.append([f"claimed by the offer in its turn {turn + 1}, of {claim['n']:,}", share(claim)])
    answers = diagnosis["answers"]
    rows += [
        ["difference of a second copy", estimate(diagnosis["noise"], "points")],
        ["legal decisions of its own", f"{answers['legal']:.1%}"],
        ["repeated queries per game", f"{answers['re_asks']:.2f}"],
    ]
    return table_section(
        "Diagnosis of a language model",
        (f"against {diagnosis['against']}, {diagnosis['games']:,} games", "value"),
        rows,
    )


def _documents(files: Mapping[str, Any], folder: Path) -> list[tuple[str, Any]]:
    return [(name, document(name, folder)) for name in files if exists(name, folder)]


def _wilson(value: Mapping[str, Any]) -> str:
    return f"{value['mean']:.1%} [{value['low']:.1%}, {value['high']:.1%}]"


def _pace(report: Mapping[str, Any]) -> list[str]:
    together = report.get("together_s")
    fastest = min(report["alone_s"], together or report["alone_s"])
    batches = "-" if together is None else f"{together:.2f}"
    rates = (f"{report['alone_s']:.2f}", batches, f"{1 / fastest:.1f}")
    return [*rates, f"{report['load_s']:.1f}", f"{report['memory_mb']:,.0f}"]
