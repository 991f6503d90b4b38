"""The end of a game on the play page: result, links to the recorded game, and its analysis act by act."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from dond_marl.game import ITEMS, State
from dond_marl.records.record import GameRecord
from dond_marl.seats import Cause, Partner
from league.display.session import tally
from league.display.svg.frontier import drawing, frontier_table, legend, plane_of, scores, verdict
from league.display.svg.markup import Markup, counted, element, joined, numbers_table, points
from league.evaluation.analysis import BEST, GOOD, Analysis, JudgedAct, ValuedAct, analyse_acts, judgement
from league.web.bargaining_table import describe_act
from league.web.frame import facts_list

LOCAL_LINK = "The link works on this machine only, while this page is served. To send the game, download it: one file."


class GameAddress(NamedTuple):
    """A recorded game: number ``game``, from 1, of a file, or the ``token`` of a game in memory."""

    file: str = ""
    game: str = ""
    token: str = ""

    def parameters(self) -> dict[str, str]:
        """The query parameters of the game."""
        return {"token": self.token} if self.token else {"file": self.file, "game": self.game}

    def url(self, path: str = "/replay", **more: object) -> str:
        """The address of a page of the game; empty parameters are left out."""
        return f"{path}?{urlencode({**self.parameters(), **{k: v for k, v in more.items() if v not in ('', 0)}})}"


def result(played: Sequence[tuple[GameRecord, int]], partner: str) -> Markup:
    """Scores, verdict and picture of the last game of ``played``, each a record and the person's seat."""
    record, seat = played[-1]
    at = plane_of(record, seat)
    head = element(
        "div",
        element("div", scores(at), class_="scores"),
        element("p", verdict(at), class_="verdict"),
        *_fallback_acts(record, seat, partner),
        shares_table(record, seat),
        class_="outcome",
    )
    picture = element(
        "figure",
        drawing(at),
        element("figcaption", legend(at)),
        element("details", element("summary", "In numbers"), frontier_table(at), class_="more"),
        class_="picture",
    )
    return element("div", head, picture, tally_line(played), class_="result")


def shares_table(record: GameRecord, seat: int) -> Markup:
    """Table of the items and values of both sides and of what each got."""
    scenario, outcome = record.scenario, record.outcome
    rows = [("on the table", scenario.counts, "")]
    for name, owner, side in (("you", seat, "me"), ("they", 1 - seat, "they")):
        rows.append((f"worth to {'you' if side == 'me' else 'them'}, each", scenario.utilities[owner], side))
        share = (0, 0, 0) if outcome.allocation is None else outcome.allocation[owner]
        rows.append((f"{name} got", share, f"{side} got"))
    body = [
        element("tr", element("th", label, scope="row"), *(element("td", n) for n in numbers), class_=side or None)
        for label, numbers, side in rows
    ]
    return numbers_table("Cards on the table", (None, *(f"{item}s" for item in ITEMS)), body)


def tally_line(played: Sequence[tuple[GameRecord, int]]) -> Markup | None:
    """Deals and mean points of the sitting, from its second game on."""
    if len(played) < 2:
        return None
    deals, mine, theirs = tally(played)
    total = f"{len(played)} games together, {counted(deals, 'deal')}"
    return element("p", f"{total}: you {mine:.1f}, they {theirs:.1f} points of ten on average.", class_="tally")


def _fallback_acts(record: GameRecord, seat: int, partner: str) -> list[Markup]:
    """Counts of the partner's acts that a fallback policy played, by cause."""
    causes = record.causes[1 - seat :: 2]
    return [
        element(
            "p", f"{causes.count(cause)} of {partner}'s acts were played by its fallback ({Cause(cause).name.lower()})."
        )
        for cause in sorted(set(causes) - {Cause.FREE})
    ]


def game_links(game: GameAddress) -> Markup:
    """Links to a game of a file: its replay, to copy too, and its record."""
    link, record = game.url(), game.url("/replay/game.json")
    links = (
        element("a", "Link to this game", class_="link", href=link),
        element("button", "Copy the link", class_="link", type="button", data_copy=link),
        element("a", "Download it", class_="link", href=record, download="game.json"),
        element("span", class_="quiet", role="status"),
    )
    return joined((element("p", *links, class_="keep"), element("p", LOCAL_LINK, class_="quiet")))


def best_response_line(partner: str, score: int) -> Markup:
    """The score of the best response in the person's seat, in words."""
    text = (
        f"In your place the best response to {partner} gets {points(score)} in this game. It knows how {partner} "
        f"answers, but not what it values. What it could expect beforehand is in the analysis, act by act."
    )
    return element("p", text, class_="quiet")


def analysis_panel(
    record: GameRecord, seat: int, partner: Partner | None, expert: Partner | None, possessive: str
) -> Markup:
    """The analysis of one seat; slow. ``possessive``: the possessive of the player, such as ``your``."""
    try:
        content = analysed(analyse_acts(record, seat, partner, expert), possessive)
    except Exception as error:  # noqa: BLE001  # partners of other packages may raise anything
        content = element("p", f"These acts cannot be analysed: {type(error).__name__}.", class_="quiet")
    return element("section", element("h2", "Analysis"), content, class_="panel analysis", aria_label="Analysis")


def analysed(found: Analysis, possessive: str = "your") -> Markup:
    """An analysis as a summary, a list of acts with their cost, and the basis of comparison."""
    if not found.acts:
        return element("p", "There is no act to analyse: the game was over before one.", class_="quiet")
    acts = element("ol", *(_act_item(judged) for judged in found.acts), class_="judged")
    first, last = (
        element("p", summary(found, possessive), class_="in-short"),
        element("p", found.compared, class_="quiet"),
    )
    return joined((first, acts, last))


def summary(found: Analysis, possessive: str = "your") -> str:
    """An analysis in one or two sentences: the costliest act, or that all were good."""
    if not found.exact:
        return f"The expert's acts, next to {possessive} acts."
    costs = [judged.cost for judged in found.acts]
    worst = max(range(len(costs)), key=costs.__getitem__)
    at = len(found.acts[worst].state.history) + 1
    if costs[worst] <= GOOD:
        good = f"Every one of {possessive} acts was a good one."
        lost = f"{costs[worst]:.1f} points of what could be expected"
        return good if costs[worst] < BEST else f"{good} The costliest, act {at}, gave away {lost}."
    return f"Act {at} was the costliest: it {judgement(found.acts[worst])} of what could be expected."


def _act_item(judged: JudgedAct) -> Markup:
    """One analysed act: its judgement, alternatives by whether they are better, and the expert's act."""
    state, verdict_ = judged.state, judgement(judged)
    mark = "best" if verdict_ in ("best", "good") else "lost"
    head = element(
        "p",
        element("span", f"Act {len(state.history) + 1}", class_="who"),
        element("b", describe_act(judged.played.action, state)),
        element("span", verdict_, class_=f"judgement {mark}") if verdict_ else None,
        element("small", f"{_expected(judged.played.points)} expected") if verdict_ else None,
    )
    lines = [(term, joined(_valued(each, state) for each in others)) for term, others in _alternatives(judged)]
    if judged.expert is not None:
        same = judged.expert.action == judged.played.action
        lines.append(("Expert", element("span", "the same") if same else _valued(judged.expert, state)))
    return element("li", head, facts_list(lines, "facts-list"))


def _alternatives(judged: JudgedAct) -> Iterator[tuple[str, list[ValuedAct]]]:
    """The other acts in groups: better than the played one, as good, worse; empty groups are left out."""
    gains = [(each.points - judged.played.points, each) for each in judged.best]
    groups = {
        "Better": [each for gain, each in gains if gain >= BEST],
        "As good": [each for gain, each in gains if abs(gain) < BEST],
        "Worse": [each for gain, each in gains if gain <= -BEST],
    }
    yield from ((term, others) for term, others in groups.items() if others)


def _valued(act: ValuedAct, state: State) -> Markup:
    """An act with its expected points."""
    expected = None if math.isnan(act.points) else element("small", f"{_expected(act.points)} expected")
    return element("span", element("span", describe_act(act.action, state)), expected, class_="worth")


def _expected(value: float) -> str:
    rounded = round(value, 1)
    return points(int(rounded)) if rounded == int(rounded) else f"{rounded:.1f} points"


def record_address(book: Path, number: int) -> GameAddress:
    """The address of game ``number`` in the person's file."""
    return GameAddress(str(book), str(number))
