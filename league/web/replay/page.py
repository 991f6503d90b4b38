"""Choose a recorded game out of a file, and step through it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nicegui import background_tasks, ui

from dond_marl.records.record import GameRecord, RecordError, from_json, replay
from league.display.svg.markup import counted
from league.web.aside import aside
from league.web.elements import Tag, in_a_sentence, select
from league.web.occupants import MISTAKES, People
from league.web.play.keeping import Keeping
from league.web.replay.stepper import Stepper
from league.web.replay.view import read_records, title

MOST_LISTED = 500  # games of one file, the newest
# The stepper's keys are heard at once, unless somebody is elsewhere already.
FOCUS = """if (document.activeElement === document.body)
  document.querySelector(".stepper")?.focus({preventScroll: true})"""

# The file stays with the browser; its first game is a line of a thousand characters or two.
READ_FILE = """(event) => {
  const file = event.target.files[0];
  if (file) file.slice(0, 20000).text().then(emit);
}"""


class ReplayPage:
    """One browser window's replay, which begins with the file ``first`` and its game ``game``, otherwise its newest."""

    def __init__(self, files: Sequence[Path], people: People, first: str = "", game: str = "") -> None:
        self._people = people
        self._files = {str(number): path for number, path in enumerate(files)}
        self._games: dict[str, GameRecord] = {}
        self._path: Path | None = None
        with Tag("div", classes="heading"):
            Tag("h1", "Replay")
            if files:
                begin = next((key for key, path in self._files.items() if str(path) == first), "0")
                names = {key: str(path) for key, path in self._files.items()}
                select("File", names, begin, self._open)
            self._chooser = Tag("div", classes="game-chooser")
            with Tag("div", classes="field"):
                caption = Tag("label", "Open a file")
                chosen = Tag("input", type="file", accept=".json,.jsonl")
            caption.set(for_=chosen.html_id)
            chosen.on("change", lambda event: self._open_text(str(event.args)), js_handler=READ_FILE)
        self._problem = Tag("p", "", "problem", role="alert")
        self._place = Tag("div")
        if files:
            background_tasks.create(self._open(begin, game, FOCUS), name="a file of games")
        else:
            Tag("p", "No game has been recorded here yet. Play one, and it will be here.", "panel empty")

    async def _open(self, key: str, wanted: str = "", script: str = "") -> None:
        """Read a file aside and show its game ``wanted``, otherwise its newest; then run ``script``."""
        if (path := self._files.get(key)) is None:
            return
        self._path, self._games, problem = path, {}, ""
        self._clear()
        self._problem.say("")
        with self._place:
            Tag("p", f"Reading {path} …", "panel empty")
        records: list[GameRecord] = []
        inexact = 0
        try:
            records, inexact = await aside(read_records, path)
        except MISTAKES as error:
            problem = in_a_sentence(error)
        if self._place.is_deleted or self._path != path:  # the window is closed, or another file is asked for
            return
        self._clear()
        if problem:
            self._problem.say(problem)
            return
        self._lay_out(path, records, inexact, wanted)
        with self._place:
            ui.run_javascript(script)

    def _open_text(self, text: str) -> None:
        """Show the first game of a file that the browser has read."""
        self._path = None  # what is being read is not shown any more
        try:
            record = from_json(next(iter(text.split("\n")), ""))
            replay(record)
        except RecordError as error:
            self._problem.say(f"This file cannot be opened: {in_a_sentence(error)}")
            return
        self._clear()
        self._problem.say("")
        with self._place:
            Tag("p", f"{title(record)}. From a file of yours; it is not kept here.", "quiet")
            Stepper(record, self._people.closed())
            ui.run_javascript(FOCUS)

    def _clear(self) -> None:
        self._chooser.clear()
        self._place.clear()

    def _lay_out(self, path: Path, records: list[GameRecord], inexact: int, wanted: str) -> None:
        left_out = f"{counted(inexact, 'game')} of this file cannot be replayed exactly: left out."
        self._problem.say(left_out if inexact else "")
        numbered = list(enumerate(records, start=1))[-MOST_LISTED:][::-1]
        self._games = {str(number): record for number, record in numbered}
        if not numbered:
            self._problem.say(f"{path} holds no game that can be replayed.")
            return
        shown = wanted if wanted in self._games else str(numbered[0][0])
        if wanted not in ("", shown):
            self._problem.say(f"{path} has no game {wanted[:20]} that can be replayed; this is its newest.")
        with self._chooser:
            listed = {key: f"{key}. {title(record)}" for key, record in self._games.items()}
            select("Game", listed, shown, self._show)
            self._keeping = Keeping()
        self._show(shown)

    def _show(self, key: str) -> None:
        record, path = self._games.get(key), self._path
        if record is None or path is None:
            return
        self._place.clear()
        self._keeping.show(path, key)
        with self._place:
            try:
                Stepper(record, self._people)
            except RecordError as error:
                Tag("p", f"This game cannot be replayed: {in_a_sentence(error)}", "problem", role="alert")
