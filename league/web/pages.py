"""The composition of the pages: which address shows what, out of which files."""

from __future__ import annotations

import threading
from pathlib import Path

from nicegui import app, ui

from league.web.arena.page import ArenaPage
from league.web.frame import Desk, page, prepare
from league.web.league.follower import Leagues
from league.web.league.page import LeaguePage
from league.web.occupants import warm_up
from league.web.play.page import PlayPage
from league.web.replay.page import ReplayPage


def build(desk: Desk, leagues: Leagues, run: Path | None, key: str | None = None, *, alone: bool = True) -> None:
    """Make every page; once, before the server starts. ``run``: the league that is shown first.

    ``key`` and ``alone``: see :func:`league.web.frame.prepare`.
    """
    prepare(key, alone=alone)

    @ui.page("/")
    def play() -> None:
        with page("Play"):
            PlayPage(desk)

    @ui.page("/league")
    def league() -> None:
        with page("League"):
            LeaguePage(leagues, run)

    @ui.page("/arena")
    def arena() -> None:
        with page("Arena"):
            ArenaPage(desk)

    @ui.page("/replay")
    def replay(file: str = "") -> None:
        with page("Replay"):
            ReplayPage(desk, file)

    app.on_startup(lambda: threading.Thread(target=warm_up, daemon=True).start())
