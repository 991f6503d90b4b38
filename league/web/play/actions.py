"""What the person can do on a turn: a button for every act, an adviser's hint, and a line for a sentence."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from dond_marl.game import Act, Action, Triple, rest
from league.display.game import described
from league.display.typed import LONGEST, Meant, Mistake, Wish, help_line, understood
from league.web.elements import Tag, button
from league.web.play.live_game import Hint
from league.web.play.view import action_of, choices, hint_text, is_final, rule_against
from partners.human import View

ORDER = (Act.AGREE, Act.PROPOSE, Act.INSIST, Act.DISAGREE, Act.END)
KEYS = {Act.AGREE: "a", Act.PROPOSE: "p", Act.INSIST: "i", Act.DISAGREE: "d", Act.END: "e"}


class Actions:
    """The person's controls; ``act`` is called with a legal act, ``lay`` with a split to put on the table."""

    def __init__(self, act: Callable[[Action], None], lay: Callable[[Triple], None], leave: Callable[[], None]) -> None:
        self._act, self._lay, self._leave = act, lay, leave
        self._view: View | None = None
        self._kept: Triple = (0, 0, 0)
        self._hint: Hint | None = None
        self._meant: Action | None = None  # read from a sentence, not yet confirmed
        self._armed: Act | None = None  # pressed once, of those that are asked for twice
        with Tag("div", classes="whisper", hidden=True, role="status") as self._whisper:
            Tag("span", "Psst", "badge")
            self._advice = Tag("p")
            self._take = button("Put it on the table", self._take_hint, "button small")
        with Tag("div", classes="acts", role="group", aria_label="What you can say"):
            self._buttons = {act: self._button(act) for act in ORDER}
        with Tag("form", classes="say") as form:
            label = Tag("label", "Say it in your own words", "hidden")
            self._line = Tag("input", maxlength=LONGEST, autocomplete="off", placeholder="or say it in your own words")
            label.set(for_=self._line.html_id)
            Tag("button", "Say", "button", type="submit")
        form.on(
            "submit.prevent",
            lambda event: self._read(str(event.args)),
            js_handler="(event) => emit(event.target.querySelector('input').value)",
        )
        self._problem = Tag("p", "", "problem", role="alert")
        with Tag("div", classes="confirm", hidden=True) as self._confirm:
            self._reading = Tag("p")
            button("Yes, say that", self._confirmed, "button primary small")
            button("No", self._rejected, "button small")

    def ask(self, view: View, kept: Triple, hint: Hint | None) -> None:
        self._view, self._hint, self._meant, self._armed = view, hint, None, None
        self._problem.say("")
        self._confirm.set(hidden=True)
        self._whisper.set(hidden=hint is None)
        if hint is not None:
            self._advice.say(hint_text(hint, view))
            self._take.set(hidden=not hint.action.act_type.is_offer)
        self.show(kept)

    def rest(self) -> None:
        """Disable every act: it is not the person's turn."""
        self._view = None
        for tag, _, _ in self._buttons.values():
            tag.set(disabled=True)
        self._whisper.set(hidden=True)

    def show(self, kept: Triple) -> None:
        """Show what each act would mean with ``kept`` on the person's side."""
        self._kept, self._armed = kept, None
        view = self._view
        if view is None:
            return
        fits = view.theirs is not None and rest(view.counts, view.theirs) == kept
        first = Act.AGREE if fits and rule_against(view, Act.AGREE, kept) is None else Act.PROPOSE
        for act, label, detail, legal in choices(view, kept):
            tag, name, note = self._buttons[act]
            name.say(label)
            note.say(detail)
            tag.classes(add="primary" if act is first else None, remove=None if act is first else "primary")
            tag.set(disabled=not legal)

    def press(self, act: Act) -> None:
        """Play ``act``, or say which rule forbids it; what may end the game without a deal is asked for twice."""
        view = self._view
        if view is None:
            self._problem.say("It is not your turn.")
            return
        rule = rule_against(view, act, self._kept)
        if rule is not None:
            self._problem.say(f"Not legal: {rule}.")
            return
        if is_final(act, view.state.rules) and self._armed is not act:
            self._armed = act
            label, detail = self._buttons[act][1:]
            label.say("Really?")
            detail.say("press again, or do something else")
            return
        self._act(action_of(act, self._kept))

    def _button(self, act: Act) -> tuple[Tag, Tag, Tag]:
        tag = button("", lambda: self.press(act), f"act {act.name.lower()}", aria_keyshortcuts=KEYS[act])
        with tag:
            label, detail = Tag("b"), Tag("small")
            Tag("kbd", KEYS[act].upper(), aria_hidden="true")
        return tag, label, detail

    def _read(self, line: str) -> None:
        view = self._view
        if view is None:
            self._problem.say("It is not your turn.")
            return
        meant = understood(line, view)
        self._confirm.set(hidden=True)
        if meant is Wish.LEAVE:
            self._leave()
        elif isinstance(meant, Mistake):
            self._problem.say(f"{meant.why[0].upper()}{meant.why[1:]}.")
        elif not isinstance(meant, Meant):
            self._problem.say(help_line(view.state.rules))
        elif meant.sure:
            self._clear()
            self._act(meant.action)
        else:
            self._problem.say("")
            self._meant = meant.action
            self._reading.say(f"Read as {described(meant.action, view)}.")
            self._confirm.set(hidden=False)
            if meant.action.act_type.is_offer:
                self._lay(meant.action.oA)

    def _confirmed(self) -> None:
        if self._meant is not None and self._view is not None:
            self._clear()
            self._act(self._meant)

    def _clear(self) -> None:
        """Empty the line that has just been played."""
        ui.run_javascript(f"const line = document.getElementById('{self._line.html_id}'); if (line) line.value = ''")

    def _rejected(self) -> None:
        self._meant = None
        self._confirm.set(hidden=True)

    def _take_hint(self) -> None:
        if self._hint is not None and self._hint.action.act_type.is_offer:
            self._lay(self._hint.action.oA)
