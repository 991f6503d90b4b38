"""What the person can do on a turn: a button for every act, an adviser's hint, and a line for a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from nicegui import ui

from dond_marl.game import Act, Action, Triple
from league.display.game import warning
from league.display.sentences import AmbiguousLine, Misread
from league.display.typed_lines import MAX_CHARACTERS, ReadAct, TableCommand, read_line
from league.web.elements import Tag, button, text_input
from league.web.play.live_game import Hint
from league.web.play.view import (
    action_of,
    choices,
    foremost,
    hint_text,
    reading_text,
    rule_against,
    unread_text,
)
from partners.human import View

ORDER = (Act.AGREE, Act.PROPOSE, Act.INSIST, Act.DISAGREE, Act.END)
KEYS = {Act.AGREE: "a", Act.PROPOSE: "p", Act.INSIST: "i", Act.DISAGREE: "d", Act.END: "e"}


EXAMPLES = "I take the hats, you get the rest · deal · one more ball · same as before · 50/50 · bye"


class Asking(NamedTuple):
    """A typed line that waits for the person's yes: what each button does, and what was typed."""

    line: str
    answers: tuple[Callable[[], None], ...]
    before: Triple  # what lay on the person's side, to be put back
    grave: bool  # it may leave the person with nothing, so that only its own button says it


class Actions:
    """The person's controls.

    ``act`` is called with a legal act and the words that were typed for it, if any; ``lay`` with a split to put on the
    table; ``leave`` when the person goes. With ``message_length`` a text may be typed beside the act: ``message``.
    """

    def __init__(
        self,
        act: Callable[[Action, str | None], None],
        lay: Callable[[Triple], None],
        leave: Callable[[], None],
        message_length: int = 0,
    ) -> None:
        self._act, self._lay, self._leave = act, lay, leave
        self._view: View | None = None
        self._kept: Triple = (0, 0, 0)
        self._hint: Hint | None = None
        self._asking: Asking | None = None
        self._armed: Act | None = None  # pressed once, of those that are asked for twice
        self._unread = 0  # lines in a row that were not understood
        with Tag("div", classes="whisper", hidden=True, role="status") as self._whisper:
            Tag("span", "Psst", "badge")
            self._advice = Tag("p")
            self._take = button("Put it on the table", self._take_hint, "button small")
        with Tag("div", classes="acts", role="group", aria_label="What you can say"):
            self._buttons = {act: self._button(act) for act in ORDER}
        self.message = ""  # what is typed in the field for it
        self._beside: Tag | None = None
        if message_length:
            told = "Said beside your act"
            self._beside = text_input(told, "", self._heard, maxlength=message_length, placeholder="nothing")
        with Tag("form", classes="say") as form:
            label = Tag("label", "Say it in your own words", "hidden")
            self._line = Tag(
                "input",
                maxlength=MAX_CHARACTERS,
                autocomplete="off",
                placeholder="or say it in your own words, in English",
            )
            label.set(for_=self._line.html_id)
            Tag("button", "Say", "button", type="submit")
        form.on(
            "submit.prevent",
            lambda event: self._read(str(event.args)),
            js_handler="(event) => emit(event.target.querySelector('input').value)",
        )
        self._problem = Tag("p", "", "problem", role="alert")
        with Tag("div", classes="confirm", hidden=True, role="group", aria_label="What you meant") as self._confirm:
            self._reading = Tag("p", aria_live="polite")
            self._answers = [button("", partial(self._answer, number), "button small") for number in range(2)]
            self._no = button("No", self.refuse, "button small")

    def ask(self, view: View, kept: Triple, hint: Hint | None) -> None:
        self._view, self._hint, self._armed, self._unread = view, hint, None, 0
        self._problem.say("")
        self._settle()
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
        self._settle()

    def preview(self, view: View, kept: Triple) -> None:
        """Name the acts before the person's first turn; none can be pressed yet."""
        self._label(view, kept)
        self.rest()

    def show(self, kept: Triple) -> None:
        """Show what each act would mean with ``kept`` on the person's side."""
        self._kept, self._armed = kept, None
        if self._view is not None:
            self._label(self._view, kept)

    def _label(self, view: View, kept: Triple) -> None:
        first = foremost(view, kept)
        offered = choices(view, kept)
        for act, (tag, _, _) in self._buttons.items():
            tag.set(hidden=all(choice.act is not act for choice in offered))
        if self._beside is not None:
            silent = view.state.claiming
            self._beside.set(
                disabled=silent, placeholder="beside a secret claim nothing is said" if silent else "nothing"
            )
        for act, label, detail, legal in offered:
            tag, name, note = self._buttons[act]
            name.say(label)
            note.say(detail)
            tag.classes(add="primary" if act is first else None, remove=None if act is first else "primary")
            tag.set(disabled=not legal)

    def taken(self) -> str:
        """What is to be said beside the act that is played now; the field is empty after it."""
        message, self.message = self.message, ""
        if self._beside is not None:
            empty = f"const text = document.getElementById('{self._beside.html_id}'); if (text) text.value = ''"
            ui.run_javascript(empty)
        return message

    def _heard(self, text: str) -> None:
        self.message = text

    def press(self, act: Act) -> None:
        """Play ``act``, or say which rule forbids it; what may leave the person with nothing is asked for twice."""
        view = self._view
        if view is None:
            self._problem.say("It is not your turn.")
            return
        rule = rule_against(view, act, self._kept)
        if rule is not None:
            self._problem.say(f"Not legal: {rule}.")
            return
        if warning(action_of(act, self._kept), view) and self._armed is not act:
            self._label(view, self._kept)  # of another act that was armed
            self._armed = act
            label, detail = self._buttons[act][1:]
            label.say("Really?")
            detail.say("press again, or do something else")
            return
        self._act(action_of(act, self._kept), None)

    def _button(self, act: Act) -> tuple[Tag, Tag, Tag]:
        tag = button("", lambda: self.press(act), f"act {act.name.lower()}", aria_keyshortcuts=KEYS[act])
        with tag:
            label, detail = Tag("b"), Tag("small")
            Tag("kbd", KEYS[act].upper(), aria_hidden="true")
        return tag, label, detail

    def _read(self, line: str) -> None:
        view, asking = self._view, self._asking
        if view is None:
            self._problem.say("It is not your turn.")
            return
        if asking is not None and line == asking.line and not asking.grave:  # Enter once more
            self._answer(0)
            return
        self.refuse()
        meant = read_line(line, view)
        if not line.strip():
            self._problem.say("Type a sentence first, or use the buttons.")
        elif meant is TableCommand.LEAVE:
            leave = ("Leave the table", self._leave)
            self._ask("Leave this game? It will not be recorded.", line, (leave,), grave=True)
        elif meant is TableCommand.HELP:
            self._problem.say(f"You can say, for example: {EXAMPLES}.")
        elif isinstance(meant, Misread):
            self._refused(line, meant)
        elif isinstance(meant, AmbiguousLine):
            answers = tuple((reading_text(action, view), partial(self._play, action, line)) for action in meant.actions)
            in_doubt = len(answers) == 1 or bool(warning(meant.actions[0], view))
            self._ask(meant.why, line, answers, grave=in_doubt)
        elif isinstance(meant, ReadAct):
            self._confirm_or_play(meant, line, view)

    def _confirm_or_play(self, meant: ReadAct, line: str, view: View) -> None:
        action, grave = meant.action, warning(meant.action, view)
        if meant.sure and not grave:
            self._play(action, None)
            return
        told = f"Read as {reading_text(action, view)}.{f' {grave} Really?' if grave else ''}"
        yes = "Yes, really" if grave else "Yes, say that"
        play = partial(self._play, action, None if meant.sure else line)
        self._ask(told, line, ((yes, play),), grave=bool(grave))
        if action.act_type.is_offer:
            self._lay(action.oA)

    def _refused(self, line: str, mistake: Misread) -> None:
        if not mistake.unread:
            self._problem.say(f"{mistake.why[0].upper()}{mistake.why[1:]}.")
            return
        self._unread += 1
        self._problem.say(unread_text(line.strip(), mistake.why, self._unread))

    def _ask(self, told: str, line: str, answers: Sequence[tuple[str, Callable[[], None]]], *, grave: bool) -> None:
        """Put a question about a typed line; the focus is on its first answer, or on No if grave or in doubt."""
        self._problem.say("")
        self._unread = 0
        self._asking = Asking(line, tuple(do for _, do in answers), self._kept, grave)
        self._reading.say(told)
        for place, tag in enumerate(self._answers):
            there = place < len(answers)
            tag.say(answers[place][0] if there else "").set(hidden=not there)
        first = self._answers[0]
        first.classes(add=None if grave else "primary", remove="primary" if grave else None)
        self._confirm.set(hidden=False)
        (self._no if grave else first).run_method("focus")

    def _answer(self, number: int) -> None:
        asking = self._asking
        if asking is not None and number < len(asking.answers):
            self._settle()
            asking.answers[number]()

    def _play(self, action: Action, words: str | None) -> None:
        if self._view is not None and self._view.rule_against(action) is None:
            clear = f"const line = document.getElementById('{self._line.html_id}'); if (line) line.value = ''"
            ui.run_javascript(clear)
            self._act(action, words.strip() if words else None)

    def refuse(self) -> None:
        """Drop what was read, put the table back, and give the line the focus again; nothing where nothing was read."""
        asking = self._asking
        if asking is None:
            return
        self._settle()
        self._lay(asking.before)
        self._line.run_method("focus")

    def _settle(self) -> None:
        self._asking = None
        self._confirm.set(hidden=True)

    def _take_hint(self) -> None:
        if self._hint is not None and self._hint.action.act_type.is_offer:
            self._lay(self._hint.action.oA)
