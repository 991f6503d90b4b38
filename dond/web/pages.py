"""The application of ``dond web``: play, leagues, the arena, replays and scores, behind one access guard."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dond.report.compare import MOST_RUNS, comparison_of, read_compared
from dond.report.render import report_markup
from dond.web.after_game import GameAddress, analysis_panel
from dond.web.arena import arena_page, match_of
from dond.web.frame import as_sentence, document, one_sentence, render
from dond.web.guard import Secret, form_fields, guarded_site, whole_number
from dond.web.league_follower import Leagues, RunViewError, play_members
from dond.web.occupants import CHOICE_ERRORS, Desk, make_expert, make_partner, warm_up
from dond.web.play_page import PlayPages
from dond.web.recorded import (
    MAX_STORED,
    RecordStore,
    game_of,
    is_person,
    read_records,
    replay_files,
    scores_page,
    seat_names,
    title,
)
from dond.web.replay_page import ReplayView, evaluated_policies, stepper
from dond.web.server import in_background
from dond_marl.errors import quote
from dond_marl.records.record import GameRecord, RecordError, from_json, replay, to_line
from league.tables.blocks import printable

MAX_LISTED = 500  # games of one file in the menu, the newest
VERSION = "x-version"  # header of panels that are fetched again and again


def application(
    desk: Desk, leagues: Leagues, run: Path | None, secret: Secret | None, loopback: str | None
) -> Starlette:
    """All pages. ``run``: the league that is shown first; ``secret``, ``loopback``: see :func:`.guard.guarded_site`."""
    pages = _Pages(desk, leagues, run)
    routes = [
        *PlayPages(desk).routes(),
        Route("/league", pages.league),
        Route("/league/panels", pages.league_panels),
        Route("/league/compare", pages.compare),
        Route("/league/watch", pages.watch, methods=["POST"]),
        Route("/arena", pages.arena, methods=["GET", "POST"]),
        Route("/replay", pages.replay),
        Route("/replay/open", pages.open_record, methods=["POST"]),
        Route("/replay/policy", pages.policy),
        Route("/replay/ask", pages.ask, methods=["POST"]),
        Route("/replay/analysis", pages.analysis),
        Route("/replay/game.json", pages.record_file),
        Route("/scores", pages.scores),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=warm_up, daemon=True).start()
        yield

    return guarded_site("Deal or no deal", routes, lifespan, secret=secret, loopback=loopback, navigation=True)


class _Pages:
    """The handlers of all pages but the play page."""

    def __init__(self, desk: Desk, leagues: Leagues, run: Path | None) -> None:
        self._desk, self._leagues, self._run = desk, leagues, run
        self._store = RecordStore()
        self._queried: deque[ReplayView] = deque(maxlen=MAX_STORED)  # at step 0, with policies that may query models

    async def league(self, request: Request) -> Response:
        runs = self._leagues.runs()
        run = self._run_of(request.query_params)
        if run is None:
            run = self._run if self._run in runs else runs[0] if runs else None
        return _page("League", render("league", "page", list(map(str, runs)), run and str(run)))

    async def league_panels(self, request: Request) -> Response:
        """The panels of a league; 204 if they are those of ``version``."""
        run = self._run_of(request.query_params)
        if run is None:
            return HTMLResponse(render("forms", "problem", "This league is not here any more."))
        try:
            league = await in_background(self._leagues.view, run)
        except CHOICE_ERRORS as error:
            return HTMLResponse(render("forms", "problem", one_sentence(error)))
        version = str(id(league))
        if request.query_params.get("version") == version:
            return Response(status_code=204)
        panels = await in_background(render, "league", "panels", league, str(run))
        return HTMLResponse(panels, headers={VERSION: version})

    async def compare(self, request: Request) -> Response:
        """The chosen runs side by side, as ``dond report`` compares them; without a choice the form."""
        runs = list(map(str, self._leagues.runs()))
        chosen = [run for run in dict.fromkeys(request.query_params.getlist("run")) if run in runs]
        reason, shown = "", Markup("")
        if 2 <= len(chosen) <= MOST_RUNS:
            try:
                shown = await in_background(_comparison, chosen)
            except CHOICE_ERRORS as error:
                reason = as_sentence(one_sentence(error).rstrip("."))
        elif "compare" in request.query_params or chosen[MOST_RUNS:]:
            reason = f"Choose 2 to {MOST_RUNS} runs."
        return _page("League", render("league", "comparison", runs, chosen, MOST_RUNS, reason, shown))

    def _run_of(self, values: Mapping[str, object]) -> Path | None:
        """The league that a form or an address names."""
        return next((run for run in self._leagues.runs() if str(run) == values.get("run")), None)

    async def watch(self, request: Request) -> Response:
        """Play a game of two members, and lead to its replay."""
        values = await form_fields(request)
        run = self._run_of(values)
        try:
            if run is None:
                raise RunViewError("this league is not here any more")
            names = str(values.get("first", "")), str(values.get("second", ""))
            record = await in_background(play_members, run, names, None, self._desk.stored)
        except CHOICE_ERRORS as error:
            return _page("League", render("league", "not_watched", one_sentence(error)))
        token = self._store.add(record)
        return RedirectResponse(GameAddress(token=token).url(plays=1), 303)

    async def arena(self, request: Request) -> Response:
        """The form, with the posted match once it is played."""
        menu = await in_background(self._desk.menu)
        if request.method != "POST":
            run = request.query_params.get("run", "")
            keys = {field: menu.key_of(run, request.query_params.get(field, "")) for field in ("one", "other")}
            values = {field: key for field, key in keys.items() if key is not None}
            return _page("Arena", arena_page(menu, values, self._desk.data_dir))
        values = {name: str(value) for name, value in (await form_fields(request)).items()}
        try:
            match = await in_background(match_of, menu, values, self._desk.data_dir)
        except CHOICE_ERRORS as error:
            return _page("Arena", arena_page(menu, values, self._desk.data_dir, reason=one_sentence(error)))

        def link(record: GameRecord) -> str:
            return GameAddress(token=self._store.add(record)).url()

        return _page("Arena", arena_page(menu, values, self._desk.data_dir, match, link=link))

    async def replay(self, request: Request) -> Response:
        """A recorded game at one step: of a file, or in memory."""
        view = _view_of(request)
        return _page("Replay", await in_background(self._replay, view, "plays" in request.query_params))

    async def open_record(self, request: Request) -> Response:
        """Show a game that the visitor posted: the first line of a file of records."""
        text = str((await form_fields(request)).get("record", ""))
        try:
            record = from_json(text.split("\n")[0])
            replay(record)
        except RecordError as error:
            reason = f"This file cannot be opened: {one_sentence(error)}"
            return _page("Replay", await in_background(self._replay, ReplayView(GameAddress()), False, reason))
        return RedirectResponse(GameAddress(token=self._store.add(record, opened=True)).url(), 303)

    async def policy(self, request: Request) -> Response:
        """The evaluated policies at a step."""

        def evaluate() -> Markup:
            view = _view_of(request)
            return evaluated_policies(self._record(view.game), self._desk.menu(), view, queried=self._may_query(view))

        return await _fragment(evaluate)

    async def ask(self, request: Request) -> Response:
        """Allow the chosen policies of a game to query language models; only a form of our own page posts this."""
        view = _view_of(request)
        self._queried.append(view.at_step(0))
        return RedirectResponse(view.address(), 303)

    async def analysis(self, request: Request) -> Response:
        """The analysis of a person's acts in a recorded game."""

        def analyse() -> Markup:
            record = self._record(_view_of(request).game)
            seat = 1 if request.query_params.get("seat") == "1" else 0
            other = record.occupants[1 - seat]
            possessive = f"{seat_names(record)[seat]}'s" if is_person(other) else "your"
            try:
                partner = None if is_person(other) else make_partner(self._desk.menu().of_record().resolve(other))[0]
            except CHOICE_ERRORS:  # it cannot be made any more, as of a league that is gone
                partner = None
            return analysis_panel(record, seat, partner, make_expert(), possessive)

        return await _fragment(analyse)

    async def record_file(self, request: Request) -> Response:
        """A game as a file to download."""
        try:
            record = await in_background(self._record, _view_of(request).game)
        except (RecordError, OSError) as error:
            return PlainTextResponse(one_sentence(error), 404)
        headers = {"content-disposition": 'attachment; filename="game.json"'}
        return Response(f"{to_line(record)}\n", media_type="application/json", headers=headers)

    async def scores(self, _: Request) -> Response:
        try:
            content = await in_background(scores_page, self._desk.book)
        except CHOICE_ERRORS as error:
            content = render("forms", "problem", one_sentence(error))
        return _page("Scores", content)

    def _record(self, game: GameAddress) -> GameRecord:
        """A game of a file or in memory. Raises :class:`RecordError`, ``OSError``."""
        if game.token:
            return self._store.get(game.token)[0]
        return game_of(replay_files(self._desk.book, self._desk.games), game.file, whole_number(game.game, 8) or 0)

    def _stepper(self, record: GameRecord, view: ReplayView, plays: bool) -> Markup:
        return stepper(record, self._desk.menu(), view, plays=plays, queried=self._may_query(view))

    def _may_query(self, view: ReplayView) -> bool:
        """Whether a visitor asked for the chosen policies of this view, at any step; the oldest are forgotten."""
        return view.at_step(0) in self._queried

    def _replay(self, view: ReplayView, plays: bool, reason: str = "") -> Markup:
        """The content of the replay page; slow for large files."""
        notes, game = [reason] if reason else [], view.game
        files = replay_files(self._desk.book, self._desk.games)
        listed: dict[str, str] = {}
        file = "" if game.token else game.file or next(iter(files), "")
        shown = Markup("") if files or game.token else render("replay", "nothing")
        about, number = "", 0
        try:
            if game.token:
                record, opened = self._store.get(game.token)
                about = f"{title(record)}.{' From a file of yours; it is not stored here.' if opened else ''}"
                shown = self._stepper(record, view, plays)
            elif file and file not in files:
                notes.append(f"There is no file {quote(file)} here.")
                file = ""
            elif file:
                exact, inexact = read_records(files[file])
                if inexact:
                    notes.append(f"{inexact} games of this file cannot be replayed exactly: left out.")
                newest = range(len(exact), max(len(exact) - MAX_LISTED, 0), -1)
                listed = {str(i): f"{i}. {title(exact[i - 1])}" for i in newest}
                number = int(game.game) if game.game in listed else len(exact)
                if not exact:
                    notes.append(f"{file} holds no game that can be replayed.")
                elif game.game not in ("", str(number)):
                    missing = game.game[:20]
                    notes.append(f"{file} has no game {missing} that can be replayed; this is its newest.")
                if exact:
                    view = view._replace(game=GameAddress(file, str(number)))
                    shown = self._stepper(exact[number - 1], view, plays)
        except CHOICE_ERRORS as error:
            notes.append(one_sentence(error))
        linked = view.game if number else None
        return render("replay", "page", list(files), file, listed, str(number), notes, about, linked, shown)


def _page(headline: str, content: Markup) -> Response:
    return HTMLResponse(document("Deal or no deal", headline, content, navigation=True))


def _comparison(runs: list[str]) -> Markup:
    return report_markup(printable(comparison_of([read_compared(Path(run)) for run in runs])))


async def _fragment(work: Callable[[], Markup]) -> Response:
    """The markup that ``work()`` makes; its error as a sentence."""
    try:
        return HTMLResponse(await in_background(work))
    except CHOICE_ERRORS as error:
        return HTMLResponse(render("forms", "quiet", one_sentence(error)))


def _view_of(request: Request) -> ReplayView:
    """The view that a replay's address names; parameters that fit nothing take their defaults."""
    query = request.query_params
    game = GameAddress(query.get("file", ""), query.get("game", ""), query.get("token", ""))
    step = whole_number(query.get("step")) or 0
    return ReplayView(game, step, query.get("player", ""), query.get("adviser", "expert"))
