"""The form of a new game (partner, scenarios, rules), and the sitting that it asks for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from dond_marl.game import MESSAGE_LENGTH, Rules
from league.display.session import Sitting
from league.web.frame import render
from league.web.occupants import (
    FEATURED,
    HINT_LABELS,
    HINT_MODES,
    Candidate,
    OccupantMenu,
    make_adviser,
    make_partner,
    make_source,
    parse_whole_number,
    rules_of,
    source_choices,
)
from partners.equilibrium import check_game
from partners.llm.partner import LLMPartner

SEATS = {"random": "Drawn by lot", "0": "I open", "1": "They open"}
MESSAGES = {"none": "none", "text": f"a line of text, {MESSAGE_LENGTH} characters"}
BINDING = {"acts": "every act", "claims": "a secret claim of each, after talk that is not binding"}
DISAGREE = {"ends": "ends the game", "rejects": "only turns the offer down"}


class GameChoice(NamedTuple):
    """The fields of the form, as they were typed."""

    partner: str = "prosocial"  # key of a featured partner; kind, and so good for a first game
    other: str = ""  # key of another candidate, instead of ``partner``
    typed: str = ""  # name and parameters, instead of both
    seat: str = "random"
    source: str = "lewis/train"
    hints: str = "none"
    disagree: str = "ends"
    max_turns: str = "10"
    messages: str = "none"
    binding: str = "acts"
    seed: str = ""

    @classmethod
    def from_fields(cls, values: Mapping[str, object]) -> GameChoice:
        """The choice of posted fields; missing ones take their defaults."""
        return cls(**{name: str(values[name]) for name in cls._fields if name in values})


def sitting_of(choice: GameChoice, candidate: Candidate, book: Path, data_dir: Path | None) -> Sitting:
    """The sitting of a choice. Raises one of :data:`league.web.occupants.CHOICE_ERRORS`."""
    rules = rules_of(candidate)
    if rules is None:
        length, secret = MESSAGE_LENGTH if choice.messages == "text" else 0, choice.binding == "claims"
        content = "acts, a claim of each among them," if secret else "acts"
        turns = parse_whole_number(content, choice.max_turns, 1 + secret, 100)
        rules = Rules(turns, choice.disagree, length, secret)  # type: ignore[arg-type]  # Rules checks it
    # Without a seed each game is another one.
    seed = parse_whole_number("seed", choice.seed, 0, 2**63 - 1) if choice.seed.strip() else secrets.randbits(31)
    partner, name = make_partner(candidate)
    own_seat = int(choice.seat) if choice.seat in ("0", "1") else None
    source = make_source(choice.source, data_dir)
    adviser = make_adviser(choice.hints)
    if isinstance(partner, LLMPartner):
        partner.check_key()
    check_game([partner, getattr(getattr(adviser, "hinter", None), "partner", None)], rules, source)
    return Sitting(partner, name, source, rules, seed, book, own_seat, adviser, choice.hints)


def setup_page(menu: OccupantMenu, choice: GameChoice, data_dir: Path | None, why: str = "") -> Markup:
    """The first page: an introduction and the form; ``why``: what was wrong with it."""
    cards = {name: sentence for name, sentence in FEATURED.items() if name in menu.candidates}
    if choice.partner not in cards and not choice.other:
        choice = choice._replace(other=choice.partner)
    options = {
        "seat": SEATS,
        "source": source_choices(data_dir),
        "hints": {mode: HINT_LABELS[mode] for mode in HINT_MODES},
        "binding": BINDING,
        "disagree": DISAGREE,
        "messages": MESSAGES,
    }
    return render("play", "setup", choice, menu, cards, options, why)
