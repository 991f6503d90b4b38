"""The page of a person's scores."""

from __future__ import annotations

from pathlib import Path

from nicegui import background_tasks

from league.display.svg.markup import Markup, element
from league.web.aside import Busy, aside
from league.web.elements import Tag, html, in_a_sentence, show
from league.web.occupants import MISTAKES
from league.web.replay.scores import scores_page
from league.web.replay.view import read_records


class ScoresPage:
    """One browser window's view of the games in ``book``."""

    def __init__(self, book: Path) -> None:
        self._book = book
        with Tag("div", classes="heading"):
            Tag("h1", "Your scores")
        self._place = html(element("p", f"Reading {book} …", class_="quiet"))
        where = (
            f"Counted from {book} on this machine: every game that is finished is added there, and none is taken back."
        )
        Tag("p", f"{where} Delete that file to begin anew.", "quiet")
        background_tasks.create(self._read(), name="a person's scores")

    async def _read(self) -> None:
        try:
            markup = await aside(_drawn, self._book)
        except (*MISTAKES, Busy) as mistake:
            markup = element("p", in_a_sentence(mistake), class_="problem", role="alert")
        if not self._place.is_deleted:
            show(self._place, markup)


def _drawn(book: Path) -> Markup:
    return scores_page(read_records(book)[0] if book.is_file() else [])
