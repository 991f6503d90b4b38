"""The form of a new game (partner, scenarios, rules), and the sitting that it asks for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dond_marl.game import MESSAGE_LENGTH, Rules
from league.display.session import Sitting
from league.display.svg.markup import Markup, element
from league.web.frame import form, problem, select, submit, text_field
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
    def posted(cls, values: Mapping[str, object]) -> GameChoice:
        """The choice of posted fields; missing ones take their defaults."""
        return cls(**{name: str(values[name]) for name in cls._fields if name in values})

    def candidate(self, menu: OccupantMenu) -> Candidate:
        """The chosen partner. Raises :class:`~dond_marl.occupants.OccupantNameError`."""
        return menu.candidate(self.other or self.partner, self.typed)


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
    check_game([partner, getattr(getattr(adviser, "hinter", None), "partner", None)], rules, source)
    return Sitting(partner, name, source, rules, seed, book, own_seat, adviser, choice.hints)


def setup_page(menu: OccupantMenu, choice: GameChoice, data_dir: Path | None, why: str = "") -> Markup:
    """The first page: an introduction and the form; ``why``: what was wrong with it."""
    return element("section", introduction(), _form(menu, choice, data_dir, why), class_="setup")


def introduction() -> Markup:
    """The welcome text with the steps of a game."""
    about = (
        "A few books, hats and balls lie between you and a partner. Each of you values them differently, and neither "
        "sees the other's values. Agree on a split and both score what they get; without a deal both get nothing."
    )
    steps = (
        "Tap items to push them across the table.",
        "Propose your split, or accept theirs.",
        "See where the deal landed, and what was possible.",
    )
    glyphs = (element("span", class_=f"glyph {item}") for item in ("book", "hat", "ball", "book", "ball"))
    return element(
        "div",
        element("h1", "Split the pile."),
        element("p", about),
        element("ol", *(element("li", step) for step in steps), class_="steps"),
        element("div", *glyphs, class_="still", aria_hidden="true"),
        class_="welcome",
    )


def partner_cards(sentences: Mapping[str, str], chosen: str) -> Markup:
    """Radio buttons of partners, each with its name and a sentence."""
    cards = [
        element(
            "label",
            element("input", type="radio", name="partner", value=name, checked=name == chosen),
            element("b", name.replace("_", " ").capitalize()),
            element("span", sentence),
            class_="card",
        )
        for name, sentence in sentences.items()
    ]
    return element("fieldset", element("legend", "Your partner"), *cards, class_="partners")


def other_partners(
    label: str, options: Mapping[str, str | Mapping[str, str]], sentences: Mapping[str, str], chosen: str, *more: object
) -> Markup:
    """A menu of further partners that shows the sentence of the chosen one."""
    known = element(
        "datalist", *(element("option", text, value=key) for key, text in sentences.items()), id="sentences"
    )
    return element(
        "details",
        element("summary", "Another partner"),
        select(label, "other", {"": "—", **options}, chosen, data_describe="sentences"),
        element("p", class_="quiet chosen"),
        known,
        *more,
        class_="more",
        open=bool(chosen),
    )


def _form(menu: OccupantMenu, choice: GameChoice, data_dir: Path | None, why: str) -> Markup:
    featured = [name for name in FEATURED if name in menu.candidates]
    other = choice.other or ("" if choice.partner in featured else choice.partner)
    cards = partner_cards({name: FEATURED[name] for name in featured}, "" if other else choice.partner)
    example = {"placeholder": "boulware(exponent=2)", "spellcheck": "false"}
    typed = text_field("Name and parameters", "typed", choice.typed, **example)
    sentences = {key: each.sentence for key, each in menu.candidates.items()}
    others = other_partners("All partners", menu.groups, sentences, other, typed)
    main = (
        select("Who opens", "seat", SEATS, choice.seat),
        select("Items and values", "source", source_choices(data_dir), choice.source),
        select("Hints", "hints", {mode: HINT_LABELS[mode] for mode in HINT_MODES}, choice.hints),
    )
    rules = (
        select("What binds", "binding", BINDING, choice.binding),
        select("Saying no", "disagree", DISAGREE, choice.disagree),
        select("Messages with acts", "messages", MESSAGES, choice.messages),
        text_field("Acts in all", "max_turns", choice.max_turns, inputmode="numeric"),
        text_field("Seed", "seed", choice.seed, inputmode="numeric", placeholder="another one each time"),
    )
    return form(
        "/deal",
        cards,
        others,
        element("div", *main, class_="fields"),
        element(
            "details",
            element("summary", "Rules and chance"),
            element("div", *rules, class_="fields"),
            element("p", "An act is one thing that either of you says: an offer, a yes, a no.", class_="quiet"),
            class_="more",
        ),
        problem(why),
        submit("Deal the items"),
        class_="panel choose",
        data_part="content",
        data_busy="They are getting ready …",
    )
