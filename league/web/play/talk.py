"""The conversation on the page: who said what, and that the partner is thinking."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from dond_marl.game import State
from league.web.elements import Tag
from league.web.play.view import talk_lines


class Talk:
    """The conversation of one game, for the person in ``seat``."""

    def __init__(self, seat: int, partner: str) -> None:
        self._seat, self._partner = seat, partner
        self.shown = 0  # acts
        with Tag("section", classes="talk", aria_label="What was said"):
            # A log: read out as it grows.
            with Tag("div", classes="log", role="log", tabindex="0", aria_label="Conversation") as self._log:
                self._lines = Tag("ol", classes="lines")
            self._thinking = Tag("p", "", "thinking", hidden=True)
            with self._thinking:
                Tag("span", f"{partner} is thinking", "quiet")
                for _ in range(3):
                    Tag("i", aria_hidden="true")

    def show(self, state: State, until: int, typed: Mapping[int, str]) -> None:
        """Show the first ``until`` acts; those that are there already stay. ``typed``: the person's words, by turn."""
        lines = talk_lines(state, self._seat, typed)[self.shown : until]
        for line in lines:
            with self._lines, Tag("li", classes="me" if line.mine else "they"):
                Tag("span", "You" if line.mine else self._partner, "who")
                Tag("p", line.text)
                if line.message:
                    Tag("p", f"“{line.message}”", "message")
                if line.note:
                    Tag("small", line.note)
        self.shown += len(lines)
        if lines:
            log = f"document.getElementById('{self._log.html_id}')"
            ui.run_javascript(f"const log = {log}; if (log) log.scrollTop = 1e6")

    def tell_claims(self, state: State, typed: Mapping[int, str]) -> None:
        """Show the secret claims of a finished game in the place of what stands there of them."""
        self.shown = state.rules.talk_turns
        for line in list(self._lines)[self.shown :]:
            line.delete()
        self.show(state, len(state.history), typed)

    def think(self, thinking: bool) -> None:
        self._thinking.set(hidden=not thinking)
