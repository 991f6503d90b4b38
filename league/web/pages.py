"""The composition of the pages: which address shows what, out of which files."""

from __future__ import annotations

import threading
from pathlib import Path

from nicegui import app, ui
from starlette.responses import PlainTextResponse, Response

from dond_marl.records.record import RecordError, to_line
from league.web.arena.page import ArenaPage
from league.web.elements import in_a_sentence
from league.web.frame import Desk, page, prepare
from league.web.league.follower import Leagues
from league.web.league.page import LeaguePage
from league.web.occupants import warm_up
from league.web.play.page import PlayPage
from league.web.replay.page import GAME, ReplayPage
from league.web.replay.view import game_of, replay_files


def build(desk: Desk, leagues: Leagues, run: Path | None, key: str | None = None, *, alone: bool = True) -> None:
    """Make every page; once, before the server starts. ``run``: the league that is shown first.

    ``key`` and ``alone``: see :func:`league.web.frame.prepare`.
    """
    prepare(key, alone=alone)

    @ui.page("/")
    def play(run: str = "", member: str = "") -> None:
        with page("Play"):
            PlayPage(desk, (run, member))

    @ui.page("/league")
    def league() -> None:
        with page("League"):
            LeaguePage(leagues, run)

    @ui.page("/arena")
    def arena(run: str = "", one: str = "", other: str = "") -> None:
        with page("Arena"):
            ArenaPage(desk, run, (one, other))

    @ui.page("/replay")
    def replay(file: str = "", game: str = "") -> None:
        with page("Replay"):
            ReplayPage(desk, file, game)

    @app.get(GAME)
    def download(file: str, game: int) -> Response:
        try:
            record = game_of(replay_files(desk.book, desk.games), file, game)
        except (RecordError, OSError) as error:
            return PlainTextResponse(in_a_sentence(error), 404)
        named = {"content-disposition": f'attachment; filename="game_{game}.json"'}
        return Response(f"{to_line(record)}\n", media_type="application/json", headers=named)

    app.on_startup(lambda: threading.Thread(target=warm_up, daemon=True).start())
