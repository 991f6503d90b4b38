"""Writes the demo: one HTML file with style, rules, scripted partners, page and a list of scenarios inside.

The scripts are read as they lie beside this file. Partners keep their Python defaults, which are written into the page;
scenarios are sampled by :mod:`dond_marl.scenarios.sources`, and hold nothing of the published data set. A test plays
the same games here and in the browser's language and compares them act by act.
"""

from __future__ import annotations

import base64
import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from dond_marl.occupants import catalogue
from dond_marl.scenarios.sources import open_source

HERE = Path(__file__).parent
STATIC = HERE.parent / "static"
SCRIPTS = ("rules.js", "splits.js", "partners.js", "believers.js", "words.js", "board.js", "result.js", "page.js")
GAME = SCRIPTS[:5]  # what needs no browser
# Who is offered first, in words for somebody who has never heard of them.
FEATURED = {
    "prosocial": "Kind: wants the most for both together. Good for a first game.",
    "heuristic": "Asks for what it likes best, takes what is good enough.",
    "nice_tit_for_tat": "As generous as you are.",
    "boulware": "Holds out, and gives in near the end.",
    "stubborn": "Insists. Waits for you to fold.",
    "bluffer": "Pretends to want everything, and sells you what it never wanted.",
}
OTHERS = (
    *("aspiration_adaptation", "conceder", "concession_rule", "first_acceptable_offer", "linear", "micro"),
    *("mixed_thresholds", "naive_tit_for_tat", "nash_seeker", "nice", "punisher", "pushover", "random", "sniper"),
    *("tough", "ultimatum", "versatile", "zeuthen"),
)
NAMES = (*FEATURED, *OTHERS)
SCENARIOS = 600  # deals in the list; a page draws from it
SEED = 2017  # of the list: the same page every time


def page(scenarios: int = SCENARIOS) -> str:
    """The whole demo as HTML; it asks nobody for anything."""
    style = _text(STATIC / "style.css") + _text(HERE / "demo.css")
    for item in ("book", "hat", "ball"):
        drawn = base64.b64encode((STATIC / f"{item}.svg").read_bytes()).decode()
        style = style.replace(f"url({item}.svg)", f"url(data:image/svg+xml;base64,{drawn})")
    holds = {
        "STYLE": style,
        "SCENARIOS": json.dumps(deals(scenarios), separators=(",", ":")),
        "PARTNERS": json.dumps(partners()),
        "SCRIPT": "\n".join(_text(HERE / name) for name in SCRIPTS),
    }
    told = _text(HERE / "index.html")
    for name, text in holds.items():
        told = told.replace(f"<!-- {name} -->", text)
    return told


def partners() -> dict[str, dict[str, Any]]:
    """Everybody in the demo by name: a sentence, whether it is offered first, and its parameters at their defaults."""
    known = catalogue()
    return {
        name: {
            "sentence": FEATURED.get(name) or (inspect.getdoc(known[name]) or "").split("\n", 1)[0].replace("``", ""),
            "featured": name in FEATURED,
            "parameters": defaults(name),
        }
        for name in NAMES
    }


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a scripted partner, at their defaults."""
    partner = catalogue()[name]()
    return {field.name: getattr(partner, field.name) for field in fields(partner)}  # type: ignore[arg-type]


def deals(number: int) -> list[list[list[int]]]:
    """Scenarios of the space of Lewis et al. 2017: the pool, then each seat's values. Ours: nothing is read."""
    drawn = open_source("lewis").block(SEED, 0, number)
    return [[counts.tolist(), *values.tolist()] for counts, values in zip(drawn.counts, drawn.utilities, strict=True)]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
