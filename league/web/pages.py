"""The composition of the pages: which address shows what, out of which files."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from functools import wraps
from pathlib import Path
from typing import Any

from nicegui import app, ui
from starlette.responses import PlainTextResponse, Response

from dond_marl.errors import MissingLibrary
from dond_marl.records.record import RecordError, to_line
from league.web.arena.page import ArenaPage
from league.web.arena.watch import Watch
from league.web.aside import Busy, aside
from league.web.elements import Tag, in_a_sentence
from league.web.frame import Desk, page, prepare
from league.web.league.follower import Leagues
from league.web.league.page import LeaguePage
from league.web.occupants import warm_up
from league.web.play.keeping import GAME, PICTURE
from league.web.play.page import PlayPage
from league.web.replay.page import ReplayPage
from league.web.replay.picture import picture
from league.web.replay.scores_page import ScoresPage
from league.web.replay.view import game_of, replay_files

PATIENCE = 50.0  # seconds until a page is given up that waits for files


def build(desk: Desk, leagues: Leagues, run: Path | None, key: str | None, loopback: str | None) -> None:
    """Make every page; once, before the server starts. ``run``: the league that is shown first.

    ``key`` and ``loopback``: see :func:`league.web.frame.prepare`. Files are read aside, so that nobody waits for those
    that somebody else has asked for.
    """
    prepare(key, loopback)

    @ui.page("/", response_timeout=PATIENCE)
    @_unless_busy
    async def play(run: str = "", member: str = "") -> None:
        people = await aside(desk.people)
        with page("Play"):
            PlayPage(desk, people, (run, member))

    @ui.page("/league")
    def league() -> None:
        with page("League"):
            with Tag("div") as shown:
                watch = Watch(desk.people)
            LeaguePage(leagues, run, watch.offer)
            shown.move(target_index=-1)

    @ui.page("/arena", response_timeout=PATIENCE)
    @_unless_busy
    async def arena(run: str = "", one: str = "", other: str = "") -> None:
        people = await aside(desk.people)
        with page("Arena"):
            ArenaPage(desk, people, run, (one, other))

    @ui.page("/replay", response_timeout=PATIENCE)
    @_unless_busy
    async def replay(file: str = "", game: str = "") -> None:
        people = await aside(desk.people)
        files = await aside(replay_files, desk.book, desk.games)
        with page("Replay"):
            ReplayPage(files, people, file, game)

    @ui.page("/scores")
    def scores() -> None:
        with page("Scores"):
            ScoresPage(desk.book)

    @app.get(GAME)
    @_unless_busy
    async def download(file: str, game: int) -> Response:
        try:
            record = await aside(lambda: game_of(replay_files(desk.book, desk.games), file, game))
        except (RecordError, OSError) as error:
            return PlainTextResponse(in_a_sentence(error), 404)
        named = {"content-disposition": f'attachment; filename="game_{game}.json"'}
        return Response(f"{to_line(record)}\n", media_type="application/json", headers=named)

    @app.get(PICTURE)
    @_unless_busy
    async def drawn(file: str, game: int) -> Response:
        try:
            png = await aside(lambda: picture(game_of(replay_files(desk.book, desk.games), file, game)))
        except (RecordError, OSError, MissingLibrary) as error:
            return PlainTextResponse(in_a_sentence(error), 404)
        return Response(png, media_type="image/png")

    app.on_startup(lambda: threading.Thread(target=warm_up, daemon=True).start())


def _unless_busy(serve: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """``serve``, with an answer in a line where too much is being done already."""

    @wraps(serve)
    async def served(*given: Any, **named: Any) -> Any:
        try:
            return await serve(*given, **named)
        except Busy as busy:
            return PlainTextResponse(in_a_sentence(busy), 503)

    return served
