"""A recorded game, one step at a time, on a page."""

from __future__ import annotations

from functools import partial

from nicegui import background_tasks, ui

from dond_marl.game import Action
from dond_marl.records.record import GameRecord
from dond_marl.scenarios.space import pack
from dond_marl.seats import Partner
from league.display.game import steps
from league.display.svg.frontier import drawing, legend, plane_of, scores, verdict
from league.display.svg.markup import Markup, element, joined
from league.web.aside import Busy, aside
from league.web.elements import Tag, button, html, in_a_sentence, select, show
from league.web.occupants import HINT_MODES, MISTAKES, SOLVED, WRITTEN, People, expert, seat, whisper
from league.web.play.analysis import AnalysisPanel
from league.web.play.setup_form import HINT_WORDS
from league.web.replay.beliefs import beliefs_drawn, held
from league.web.replay.step import best_line, conversation, hint_line, private_views, thoughts
from league.web.replay.view import advice, best_answer, is_person, policy, prior_of, seat_names, title
from partners.equilibrium import is_known

OWN = ""  # the key of the player's own policy
ASKED_INSTEAD = ("expert", "heuristic", SOLVED)  # where a person played
KEYS = """(event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
  emit(event.key);
  event.preventDefault();
}"""
PACE = 1.6  # seconds an act, where it plays by itself
STEPS = {"ArrowLeft": -1, "ArrowRight": 1, "Home": -999, "End": 999}


class Stepper:
    """Steps through ``record``; ``plays``: by itself at first.

    Raises :class:`~dond_marl.records.record.RecordError` where it does not replay.
    """

    def __init__(self, record: GameRecord, people: People, *, plays: bool = False) -> None:
        self._record, self._people = record, people
        self._steps, self._names = steps(record), seat_names(record)
        self._now, self._whose, self._adviser = 0, OWN, "expert" if "expert" in HINT_MODES else "none"
        self._unfit = (
            () if is_known(record.rules, pack([record.scenario])) else (SOLVED,)
        )  # whom the game is foreign to
        with Tag("section", classes="stepper", tabindex="-1", aria_label=f"Game: {title(record)}") as whole:
            with Tag("div", classes="controls"):
                self._first = button("|<", lambda: self._by(-len(self._steps)), "button", aria_label="First act")
                self._back = button("<", lambda: self._by(-1), "button", aria_label="One act back")
                self._place = Tag("output", aria_live="polite")
                self._on = button(">", lambda: self._by(1), "button primary", aria_label="Next act")
                self._timer = ui.timer(PACE, self._tick, active=plays, immediate=False)
                self._last = button(">|", lambda: self._by(len(self._steps)), "button", aria_label="The end")
                self._playing = button("Pause" if plays else "Play", self._play, "button small plays")
            self._views = html()
            with Tag("div", classes="two-panels"):
                with Tag("div", classes="panel"):
                    Tag("h2", "What was said")
                    self._talk = html(classes="talked")
                with Tag("div", classes="panel mind"):
                    self._heading = Tag("h2", "What was thought")
                    self._choosers()
                    with Tag("p", classes="ask") as self._instead:
                        for name in ASKED_INSTEAD:
                            if name in self._people.known and name not in self._unfit:
                                button(f"What would {name} do here?", partial(self._ask, name), "button small")
                    self._mind = html()
            for which in (0, 1):
                if is_person(record.occupants[which]):
                    whose = "your" if not is_person(record.occupants[1 - which]) else f"{self._names[which]}'s"
                    AnalysisPanel(record, which, partial(self._occupant, 1 - which), expert, whose)
        whole.on("keydown", lambda event: self._by(STEPS.get(str(event.args), 0)), js_handler=KEYS)
        self._go(0)

    def _occupant(self, which: int) -> Partner | None:
        """Who sat there, ``None`` for a person. Raises one of ``MISTAKES`` for whom may not be named here."""
        name = self._record.occupants[which]
        return None if is_person(name) else seat(self._people.named(name))[0]

    def _choosers(self) -> None:
        with Tag("div", classes="fields two") as self._asking:
            others = {heading: people for heading, people in self._people.listed.items() if WRITTEN not in people}
            self._menu = select("What would … do here?", {OWN: "whoever played", **others}, OWN, self._look_through)
            modes = {mode: HINT_WORDS.get(mode, mode) for mode in HINT_MODES if mode not in self._unfit}
            select("Advice by", modes, self._adviser, self._advise_by)

    def _look_through(self, key: str) -> None:
        if key == OWN or key in self._people.known:
            self._whose = key
            self._think()

    def _ask(self, name: str) -> None:
        """Ask somebody who can be asked, in a person's place."""
        ui.run_javascript(f"document.getElementById('{self._menu.html_id}').value = '{name}'")
        self._look_through(name)

    def _advise_by(self, mode: str) -> None:
        if mode in HINT_MODES and mode not in self._unfit:
            self._adviser = mode
            self._think()

    def _play(self) -> None:
        """Go on by itself, from the beginning where it is over, or stop that."""
        plays = not self._timer.active
        if plays and self._now == len(self._steps) - 1:
            self._go(0)
        self._plays(plays)

    def _plays(self, plays: bool) -> None:
        self._timer.active = plays
        self._playing.say("Pause" if plays else "Play")

    def _tick(self) -> None:
        self._go(self._now + 1)
        self._plays(self._now < len(self._steps) - 1)

    def _by(self, by: int) -> None:
        self._plays(False)
        self._go(self._now + by)

    def _go(self, to: int) -> None:
        self._now = min(max(to, 0), len(self._steps) - 1)
        step = self._steps[self._now]
        at_end = step.action is None
        self._place.say("The end" if at_end else f"Act {step.number + 1} of {len(self._record.actions)}")
        for tag in (self._first, self._back):
            tag.set(disabled=self._now == 0)
        for tag in (self._on, self._last):
            tag.set(disabled=at_end)
        show(self._views, private_views(step, self._names))
        show(self._talk, conversation(self._steps, self._now, self._names))
        self._think()

    def _think(self) -> None:
        """Ask in the background what was thought here; only the latest question is answered."""
        now = self._now
        over = self._steps[now].action is None
        who = self._people.known[self._whose].name if self._whose else None
        self._heading.say("What came of it" if over else f"What {who} would do" if who else "What was thought")
        self._asking.set(hidden=over)
        unasked = over or self._whose != OWN or not is_person(self._record.occupants[self._steps[now].state.mover])
        self._instead.set(hidden=unasked)
        if over:
            show(self._mind, _ending(self._record, self._names))
            return
        question = (now, self._whose, self._adviser)
        self._question = question

        async def wait() -> None:
            try:
                thought = await aside(self._thought, *question)
            except Busy as busy:
                thought = element("p", f"{busy}.", class_="quiet")
            if self._question == question and self._now == now:
                show(self._mind, thought)

        background_tasks.create(wait(), name="what was thought")

    def _thought(self, now: int, whose: str, adviser: str) -> Markup:
        """What the player's policy, an adviser and the best response say at a step. Slow the first time."""
        step, prior = self._steps[now], prior_of(self._record)
        mover = step.state.mover
        player, other_player = self._record.occupants[mover], self._record.occupants[1 - mover]
        try:
            if whose == OWN and is_person(player):
                raise ValueError("A person played here, and only they know what they thought")
            partner = seat(self._people.known[whose] if whose else self._people.named(player))[0]
            believed = beliefs_drawn(held(partner, step, prior), step, other_player)
            bars = joined((thoughts(policy(partner, step, prior), step.state), believed))
        except MISTAKES as unknown:
            bars = element("p", in_a_sentence(unknown), class_="quiet")
        try:
            voice = whisper(adviser)
            hint = "nobody advises" if voice is None else hint_line(advice(voice, step, prior), step.state)
        except MISTAKES as unknown:
            hint = in_a_sentence(unknown)
        best: Action | str
        try:
            if is_person(other_player):
                raise ValueError("the partner is a person, and nobody knows how they would answer")
            other = seat(self._people.named(other_player))[0]
            best = best_answer(other, step, prior)
        except MISTAKES as unknown:
            best = in_a_sentence(unknown).removesuffix(".")
        lines = (("Advice", hint), ("Best response", best_line(best, step)))
        facts = [element("div", element("dt", term), element("dd", what)) for term, what in lines]
        return joined((bars, element("dl", *facts, class_="said-too")))


def _ending(record: GameRecord, names: tuple[str, str]) -> Markup:
    """How the game ended, where it landed and what was possible."""
    at = plane_of(record, 0, names)
    text = element("p", element("b", "Deal." if at.deal else "No deal."), " ", verdict(at), class_="verdict")
    return element("div", element("div", scores(at), class_="scores"), text, drawing(at), legend(at), class_="told")
