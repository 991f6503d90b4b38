"""The form in which a person chooses a partner, scenarios and rules; everything has a default."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dond_marl.errors import quote
from dond_marl.game import MESSAGE_LENGTH, Rules
from league.display.session import Sitting
from league.web.elements import Tag, select, text_input
from league.web.occupants import (
    FEATURED,
    HINT_MODES,
    WRITTEN,
    Candidate,
    People,
    rules_of,
    seat,
    source,
    source_choices,
    whisper,
)
from partners.equilibrium import check_game

HINT_WORDS = {
    "none": "None",
    "random": "Random whispers",
    "expert": "Whispers from the expert",
    "llm": "A language model: Groq's with GROQ_API_KEY, else a small one that is made here in minutes",
    "equilibrium": "What an equilibrium would do",
}
SEATS = {"random": "Drawn by lot", "0": "I open", "1": "They open"}
DEAL = "Deal the items"
MESSAGES = {"none": "none", "text": f"a line of text, {MESSAGE_LENGTH} characters"}
BINDING = {"acts": "every act", "claims": "a secret claim of each, after talk that does not"}
DISAGREE = {"ends": "ends the game", "rejects": "only turns the offer down"}


@dataclass
class Wish:
    """The choices of the form, as they were typed."""

    partner: str = "prosocial"  # kind, and easy to come to a deal with: a first game should be
    written: str = ""
    seat: str = "random"
    source: str = "lewis/train"
    hints: str = "none"
    disagree: str = "ends"
    max_turns: str = "10"
    messages: str = "none"
    binding: str = "acts"
    seed: str = ""


def sitting_of(wish: Wish, candidate: Candidate, book: Path, data_dir: Path | None) -> Sitting:
    """The sitting that was asked for. Raises one of :data:`league.web.occupants.MISTAKES`."""
    rules = rules_of(candidate)
    if rules is None:
        length, secret = MESSAGE_LENGTH if wish.messages == "text" else 0, wish.binding == "claims"
        turns = whole_number("acts, a claim of each among them," if secret else "acts", wish.max_turns, 1 + secret, 100)
        rules = Rules(turns, wish.disagree, length, secret)  # type: ignore[arg-type]  # checked
    # A person wants another game every time.
    seed = whole_number("seed", wish.seed, 0, 2**63 - 1) if wish.seed.strip() else secrets.randbits(31)
    partner, name = seat(candidate)
    own_seat = int(wish.seat) if wish.seat in ("0", "1") else None  # a browser may send anything
    dealt = source(wish.source, data_dir)
    adviser = whisper(wish.hints)
    check_game([partner, getattr(getattr(adviser, "hinter", None), "partner", None)], rules, dealt)
    return Sitting(partner, name, dealt, rules, seed, book, own_seat, adviser, wish.hints)


def whole_number(what: str, typed: str, low: int, high: int) -> int:
    """The number that was typed, in ``low``..``high``. Raises ``ValueError``."""
    text = typed.strip()
    if not (text.isascii() and text.isdigit() and low <= int(text[:20]) <= high):
        raise ValueError(f"{what} must be a whole number in {low}..{high}; got {quote(typed)}")
    return int(text)


class SetupForm:
    """The form; ``begin`` is called with what was asked for."""

    def __init__(
        self, people: People, begin: Callable[[Wish], object], data_dir: Path | None = None, partner: str | None = None
    ) -> None:
        self.wish = Wish() if partner is None else Wish(partner=partner)
        self.waits = False
        self._people = people
        self._radios: dict[str, Tag] = {}
        self._begin, self._data_dir = begin, data_dir
        with Tag("section", classes="setup") as self.place:
            self._welcome()
            with Tag("form", classes="panel choose") as form:
                self._partners()
                self._rest()
                self._problem = Tag("p", "", "problem", role="alert")
                self._deal = Tag("button", DEAL, "button primary large", type="submit")
            form.on("submit.prevent", lambda _: self._begin(self.wish), args=[])

    def complain(self, why: str) -> None:
        self._problem.say(why)

    def wait(self, waits: bool) -> None:
        """Take no submit while what was asked for gets ready, or take one again."""
        self.waits = waits
        self._deal.set(disabled=waits).say("They are getting ready …" if waits else DEAL)

    def _welcome(self) -> None:
        with Tag("div", classes="welcome"):
            Tag("h1", "Split the pile.")
            Tag(
                "p",
                "A few books, hats and balls lie between you and a partner. Each of you values them differently, "
                "and neither sees the other's values. Agree on a split and both score what they get; without "
                "a deal both get nothing.",
            )
            with Tag("ol", classes="steps"):
                Tag("li", "Tap items to push them across the table.")
                Tag("li", "Propose your split, or accept theirs.")
                Tag("li", "See where the deal landed, and what was possible.")
            with Tag("div", classes="still", aria_hidden="true"):
                for item in ("book", "hat", "ball", "book", "ball"):
                    Tag("span", "", f"glyph {item}")

    def _partners(self) -> None:
        with Tag("fieldset", classes="partners"):
            Tag("legend", "Your partner")
            for name, words in FEATURED.items():
                if name not in self._people.known:
                    continue
                with Tag("label", classes="card"):
                    radio = Tag("input", type="radio", name="partner", value=name, checked=name == self.wish.partner)
                    radio.on("change", lambda _, name=name: self._choose(name), args=[])
                    self._radios[name] = radio
                    Tag("b", name.replace("_", " ").capitalize())
                    Tag("span", words)
        with Tag("details", classes="more", open=self.wish.partner not in self._radios):
            Tag("summary", "Somebody else")
            select(
                "Everybody",
                {"": "—", **self._people.listed},
                "" if self.wish.partner in self._radios else self.wish.partner,
                self._choose,
            )
            self._sentence = Tag("p", "", "quiet")
            text_input("Name and parameters", "", self._write, placeholder="boulware(exponent=2)", spellcheck="false")

    def _rest(self) -> None:
        wish = self.wish

        def chosen(name: str) -> Callable[[str], None]:
            return partial(setattr, wish, name)

        with Tag("div", classes="fields"):
            select("Who opens", SEATS, wish.seat, chosen("seat"))
            select("Items and values", source_choices(self._data_dir), wish.source, chosen("source"))
            modes = {mode: HINT_WORDS.get(mode, mode) for mode in HINT_MODES}
            select("Advice", modes, wish.hints, chosen("hints"))
        with Tag("details", classes="more"):
            Tag("summary", "Rules and chance")
            with Tag("div", classes="fields"):
                select("What binds", BINDING, wish.binding, chosen("binding"))
                select("Saying no", DISAGREE, wish.disagree, chosen("disagree"))
                select("Messages beside acts", MESSAGES, wish.messages, chosen("messages"))
                text_input("Acts in all", wish.max_turns, chosen("max_turns"), inputmode="numeric")
                text_input("Seed", "", chosen("seed"), inputmode="numeric", placeholder="another one each time")
            Tag("p", "An act is one thing that either of you says: an offer, a yes, a no.", "quiet")

    def _choose(self, key: str) -> None:
        if not self._people.knows(key):
            return
        self.wish.partner = key
        for name, radio in self._radios.items():
            radio.set(checked=name == key)
        self._sentence.say(self._people.sentence(key))

    def _write(self, text: str) -> None:
        self.wish.written = text
        if text.strip():
            self._choose(WRITTEN)
