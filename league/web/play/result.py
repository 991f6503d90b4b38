"""What a person sees when a game is over: both scores, where it landed, what was possible, and the sitting so far."""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.game import ITEMS, State
from dond_marl.records.record import GameRecord
from dond_marl.seats import Cause
from league.display.session import tally
from league.display.svg.frontier import drawing, frontier_table, legend, plane_of, scores, verdict
from league.display.svg.markup import Markup, counted, element, joined, numbers_table

MOST_PIPS = 20


def result(played: Sequence[tuple[GameRecord, int]], partner: str) -> Markup:
    """The last of ``played``, each a game and the person's seat."""
    record, seat = played[-1]
    at = plane_of(record, seat)
    head = element(
        "div",
        element("div", scores(at), class_="scores"),
        element("p", verdict(at), class_="verdict"),
        *_fallbacks(record, seat, partner),
        shares_table(record, seat),
        class_="told",
    )
    picture = element(
        "figure",
        drawing(at),
        element("figcaption", legend(at)),
        element("details", element("summary", "In numbers"), frontier_table(at), class_="more"),
        class_="picture",
    )
    return joined((head, picture, tally_line(played)))


def shares_table(record: GameRecord, seat: int) -> Markup:
    """Who got what, and both lists of values, open on the table."""
    scenario, outcome = record.scenario, record.outcome
    rows = [("on the table", scenario.counts, "")]
    for name, whose, side in (("you", seat, "me"), ("they", 1 - seat, "they")):
        rows.append((f"worth to {'you' if side == 'me' else 'them'}, each", scenario.utilities[whose], side))
        share = (0, 0, 0) if outcome.allocation is None else outcome.allocation[whose]
        rows.append((f"{name} got", share, f"{side} got"))
    body = [
        element("tr", element("th", label, scope="row"), *(element("td", n) for n in numbers), class_=side or None)
        for label, numbers, side in rows
    ]
    return numbers_table("Cards on the table", (None, *(f"{item}s" for item in ITEMS)), body)


def tally_line(played: Sequence[tuple[GameRecord, int]]) -> Markup | None:
    """The sitting so far, once there is more than one game."""
    if len(played) < 2:
        return None
    deals, mine, theirs = tally(played)
    total = f"{len(played)} games together, {counted(deals, 'deal')}"
    text = f"{total}: you {mine:.1f}, they {theirs:.1f} points of ten on average."
    return element("p", text, class_="tally")


def _fallbacks(record: GameRecord, seat: int, partner: str) -> list[Markup]:
    """What of the partner's play was not its own choice."""
    theirs = record.causes[1 - seat :: 2]
    return [
        element("p", f"{theirs.count(cause)} of {partner}'s acts stood in for its own ({Cause(cause).name.lower()}).")
        for cause in sorted(set(theirs) - {Cause.FREE})
    ]


def pips(state: State, seat: int) -> Markup:
    """The turns of the game: who took which, and what is left."""
    taken, most = len(state.history), state.rules.max_turns
    if most > MOST_PIPS:
        return Markup("")
    sides = [("me" if turn % 2 == seat else "they") if turn < taken else "" for turn in range(most)]
    return joined(element("i", class_=side or None) for side in sides)
