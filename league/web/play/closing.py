"""What the page shows when a game is over: the result, what to do next, where the game is found again, the analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nicegui import background_tasks, ui

from dond_marl.records.record import GameRecord
from league.tables.figures import points
from league.web.aside import Busy, aside
from league.web.elements import Tag, button, html
from league.web.occupants import expert
from league.web.play.analysis import AnalysisPanel
from league.web.play.daily import Daily, done
from league.web.play.keeping import REPLAY, Keeping, address_of
from league.web.play.live_game import Ended, LiveGame, best_response_score
from league.web.play.result import result


class Next(NamedTuple):
    """What each button does."""

    again: Callable[[], object]
    swap: Callable[[], object]
    leave: Callable[[], object]


def closing(
    ended: Ended,
    game: LiveGame,
    played: Sequence[tuple[GameRecord, int]],
    book: Path,
    following: Next,
    daily: Daily | None,
) -> None:
    """Lay it out in the current place; ``daily``: the deal of the day, where this game was that."""
    name = game.sitting.name
    html(result(played, name), "result")
    if daily is not None:
        done(daily, ended.record, game.seat)
    with Tag("div", classes="next"):
        again = button("Next game", following.again, "button primary large")
        button("Swap sides", following.swap, "button large")
        button("Somebody else", following.leave, "button large")
        if ended.number:
            Tag("a", "Step through it", "button large", href=address_of(REPLAY, book, ended.number))
    if ended.number:
        Keeping().show(book, ended.number)
    with Tag("p", classes="problem" if ended.unwritten else "quiet"):
        Tag("span", ended.unwritten or f"Recorded in {book}, seed {game.sitting.seed}.")
        if ended.number:
            Tag("a", "Your scores", "link", href="/scores")
    best = Tag("p", "", "quiet")
    AnalysisPanel(ended.record, game.seat, lambda: game.sitting.partner, expert)
    again.run_method("focus", {"preventScroll": True})
    ui.run_javascript("scrollTo({top: 0, behavior: 'smooth'})")

    async def compare() -> None:
        try:
            score = await aside(best_response_score, game)
        except Busy:  # a figure that the game does without
            return
        if score is not None and not best.is_deleted:
            best.say(
                f"In your place the best response to {name} gets {points(score)} in this game. It knows how {name} "
                f"answers, but not what it values. What it could expect beforehand is in the analysis, act by act."
            )

    background_tasks.create(compare(), name="the best response")
