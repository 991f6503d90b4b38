"""The demo: the play page as one HTML file that needs no server, with the rules and partners in JavaScript.

The table and the form are the markup of the play page, which the script fills. Rules, partners and wording are written
twice, here in Python and in ``static/demo``; a test plays the same games by both and compares them act by act. The
partners' parameters are their Python defaults, and the scenarios are sampled by :mod:`dond_marl.scenarios.sources`.
"""

from __future__ import annotations

import base64
import inspect
import json
from dataclasses import fields
from typing import Any

from markupsafe import Markup

from dond.web import occupants
from dond.web.bargaining_table import game_section, turn_form
from dond.web.frame import STATIC, render
from dond_marl.game import Scenario, State
from dond_marl.occupants import catalogue
from dond_marl.scenarios.sources import open_source
from partners.human import View
from partners.scripted.generated import DIALS, LEVELS, PHRASES

# Scripts of a game, which run without a browser too, and of the page.
GAME_SCRIPTS = (
    "items.js",
    *(f"demo/{name}.js" for name in ("rules", "splits", "partners", "believers", "generated", "words")),
)
SCRIPTS = ("theme.js", *GAME_SCRIPTS, "table.js", "demo/result.js", "demo/page.js")
# The featured partners of the served page, a bluffer in the place of the expert.
FEATURED = {
    **{name: sentence for name, sentence in occupants.FEATURED.items() if name != "expert"},
    "bluffer": "Pretends to want everything, and sells you what it never wanted.",
}
OTHERS = (
    *("aspiration_adaptation", "conceder", "concession_rule", "first_acceptable_offer", "linear", "micro"),
    *("mixed_thresholds", "naive_tit_for_tat", "nash_seeker", "nice", "punisher", "pushover", "random", "sniper"),
    *("tough", "ultimatum", "versatile", "zeuthen"),
)
NAMES = (*FEATURED, *OTHERS)
SCENARIOS = 600  # in the page, which draws one of them for each game
SEED = 2017  # of these scenarios


def page(scenarios: int = SCENARIOS) -> str:
    """The whole demo as HTML, without a reference to any other file."""
    style = _text("style.css") + _text("demo/demo.css")
    for item in ("book", "hat", "ball"):
        drawn = base64.b64encode((STATIC / f"{item}.svg").read_bytes()).decode()
        style = style.replace(f"url({item}.svg)", f"url(data:image/svg+xml;base64,{drawn})")
    contents = {
        "STYLE": style,
        "SCENARIOS": json.dumps(deals(scenarios), separators=(",", ":")),
        "PARTNERS": json.dumps(partners()),
        "SETUP": setup_template(),
        "TABLE": table_template(),
        "SCRIPT": "\n".join(_text(name) for name in SCRIPTS),
    }
    text = _text("demo/index.html")
    for name, part in contents.items():
        text = text.replace(f"<!-- {name} -->", part)
    return text


def setup_template() -> Markup:
    """The form of a new game, with fewer choices than on the served page."""
    others = {"": "—"} | {name: name.replace("_", " ").capitalize() for name in OTHERS}
    sentences = {name: str(about["sentence"]) for name, about in partners().items()}
    return render("demo", "setup", FEATURED, "prosocial", others, sentences, occupants.SEATS, occupants.DISAGREE)


def table_template() -> Markup:
    """The table of an example with one item of each type, and a question before an act; the script fills both."""
    view = View(State(Scenario((1, 1, 1), ((1, 1, 1), (0, 0, 0)))))
    turn, below = turn_form(view, view.counts, "#", {}), render("demo", "below")
    facts = ("", "", "", render("demo", "leave"))
    return game_section(view.state, 0, turn + below, partner="", heading="", facts=facts)


def partners() -> dict[str, dict[str, Any]]:
    """The demo's partners by name: a sentence and the default parameters."""
    known = catalogue()
    return {
        name: {
            "sentence": FEATURED.get(name) or (inspect.getdoc(known[name]) or "").split("\n", 1)[0].replace("``", ""),
            "parameters": defaults(name),
        }
        for name in NAMES
    }


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a scripted partner, at their defaults; of a generated one, the dials of its programs."""
    if name == "generated":
        return {"dials": [(dial.name, dial.pieces) for dial in DIALS], "levels": LEVELS, "phrases": PHRASES}
    partner = catalogue()[name]()
    return {field.name: getattr(partner, field.name) for field in fields(partner)}  # type: ignore[arg-type]


def deals(number: int) -> list[list[list[int]]]:
    """Scenarios of the space of Lewis et al. 2017 (pool, then each seat's values), sampled; no published data."""
    drawn = open_source("lewis").block(SEED, 0, number)
    return [[counts.tolist(), *values.tolist()] for counts, values in zip(drawn.counts, drawn.utilities, strict=True)]


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
