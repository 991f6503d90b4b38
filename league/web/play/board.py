"""The table: every item is a button that slides between the person's side, below, and the partner's, above."""

from __future__ import annotations

from collections.abc import Callable

from dond_marl.game import Triple, rest, worth
from dond_marl.records.transcript import describe_items
from league.display.svg.markup import points
from league.web.elements import Tag, button
from league.web.play.view import Lane, lanes
from partners.human import View


class Board:
    """The items of one game; ``on_change`` is called when the person has moved one."""

    def __init__(self, view: View, on_change: Callable[[], None]) -> None:
        self.view, self._on_change = view, on_change
        self._lanes = lanes(view)
        self._mine = [[True] * lane.number for lane in self._lanes]
        most = max(view.counts)
        self._columns = 2 if most <= 4 else 3 if most <= 9 else 4
        rows = -(-most // self._columns)
        with Tag("div", classes="board", style=f"--rows:{rows};--columns:{self._columns}"):
            with Tag("p", classes="side they"):
                Tag("b", "They get")
                self._theirs = Tag("span")
            with Tag("div", classes="lanes"):
                self._tokens = [self._lane(number, lane) for number, lane in enumerate(self._lanes)]
            with Tag("p", classes="side me"):
                Tag("b", "You keep")
                self._ours = Tag("span")
                with Tag("span", classes="bar", aria_hidden="true"):
                    self._bar = Tag("i")
                self._worth = Tag("strong", aria_live="polite")
        self._show()

    @property
    def kept(self) -> Triple:
        """Books, hats and balls on the person's side."""
        books, hats, balls = (sum(tokens) for tokens in self._mine)
        return books, hats, balls

    def lay(self, kept: Triple) -> None:
        """Move as few items as it takes until ``kept`` lies on the person's side."""
        for tokens, wanted in zip(self._mine, kept, strict=True):
            for place in range(len(tokens)):
                if sum(tokens) == wanted:
                    break
                more = sum(tokens) < wanted
                slot = place if more else len(tokens) - 1 - place
                tokens[slot] = more
        self._show()

    def shift(self, lane: int, by: int) -> None:
        """Take one more of an item type (1), or give one (-1), if there is one."""
        wanted = list(self.kept)
        wanted[lane] = min(max(wanted[lane] + by, 0), self._lanes[lane].number)
        self.lay((wanted[0], wanted[1], wanted[2]))
        self._on_change()

    def freeze(self, frozen: bool) -> None:
        for token in (token for tokens in self._tokens for token in tokens):
            token.set(disabled=frozen)

    def _lane(self, number: int, lane: Lane) -> list[Tag]:
        with Tag("div", classes="lane", role="group", aria_label=f"{lane.item}s"):
            tokens = []
            for place in range(lane.number):
                token = button("", lambda place=place: self._flip(number, place), "token")
                x, y = place % self._columns, place // self._columns
                token.style(f"--x:{x};--y:{y}")
                with token:
                    Tag("span", "", f"glyph {lane.item}")
                tokens.append(token)
            with Tag("p", classes="rate"):
                Tag("span", f"{lane.item}s")
                Tag("b", f"{points(lane.value)} each")
                if lane.theirs is not None:
                    Tag("small", f"{lane.theirs} to them")
        return tokens

    def _flip(self, lane: int, place: int) -> None:
        self._mine[lane][place] = not self._mine[lane][place]
        self._show()
        self._on_change()

    def _show(self) -> None:
        view, kept = self.view, self.kept
        for lane, tokens, mine in zip(self._lanes, self._tokens, self._mine, strict=True):
            for place, (token, ours) in enumerate(zip(tokens, mine, strict=True)):
                label = f"{lane.item} {place + 1} of {lane.number}, worth {points(lane.value)} to you: keep it"
                token.classes(add="mine" if ours else None, remove=None if ours else "mine")
                token.set(aria_pressed="true" if ours else "false", aria_label=label)
        own, most = worth(view.values, kept), worth(view.values, view.counts)
        self._theirs.say(describe_items(rest(view.counts, kept)))
        self._ours.say(describe_items(kept))
        self._worth.say(f"{own} of {points(most)}")
        self._bar.set(style=f"width:{100 * own / max(most, 1):.0f}%")
