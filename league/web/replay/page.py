"""Choose a recorded game out of a file, and step through it."""

from __future__ import annotations

from dond_marl.records.record import GameRecord, RecordError
from league.display.svg.markup import counted
from league.web.elements import Tag, select
from league.web.frame import Desk
from league.web.occupants import People
from league.web.replay.stepper import Stepper
from league.web.replay.view import read_records, record_files, title

MOST_LISTED = 500  # games of one file, the newest


class ReplayPage:
    """One browser window's replay; ``first`` is the file to begin with, its newest game first."""

    def __init__(self, desk: Desk, first: str = "") -> None:
        self._people = People(desk.runs(), desk.allowed)
        files = list(dict.fromkeys([*([desk.book] if desk.book.is_file() else []), *record_files(desk.games)]))
        self._files = {str(number): path for number, path in enumerate(files)}
        self._games: dict[str, GameRecord] = {}
        with Tag("div", classes="heading"):
            Tag("h1", "Replay")
            if files:
                begin = next((key for key, path in self._files.items() if str(path) == first), "0")
                names = {key: str(path) for key, path in self._files.items()}
                select("File", names, begin, self._open)
            self._chooser = Tag("div", classes="game-chooser")
        self._problem = Tag("p", "", "problem", role="alert")
        self._place = Tag("div")
        if files:
            self._open(begin)
        else:
            Tag("p", "No game has been recorded here yet. Play one, and it will be here.", "panel empty")

    def _open(self, key: str) -> None:
        if (path := self._files.get(key)) is None:
            return
        self._chooser.clear()
        self._place.clear()
        try:
            records, inexact = read_records(path)
        except (RecordError, OSError) as error:
            self._problem.say(f"{error}.")
            return
        left_out = f"{counted(inexact, 'game')} of this file cannot be replayed exactly: left out."
        self._problem.say(left_out if inexact else "")
        numbered = list(enumerate(records, start=1))[-MOST_LISTED:][::-1]
        self._games = {str(number): record for number, record in numbered}
        if not numbered:
            self._problem.say(f"{path} holds no game that can be replayed.")
            return
        newest = str(numbered[0][0])
        with self._chooser:
            listed = {key: f"{key}. {title(record)}" for key, record in self._games.items()}
            select("Game", listed, newest, self._show)
        self._show(newest)

    def _show(self, key: str) -> None:
        if (record := self._games.get(key)) is None:
            return
        self._place.clear()
        with self._place:
            try:
                Stepper(record, self._people)
            except RecordError as error:
                Tag("p", f"This game cannot be replayed: {error}.", "problem", role="alert")
