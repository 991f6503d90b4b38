"""One step of a recorded game, drawn: both private views, the talk so far, and the policy of the seat to move."""

from __future__ import annotations

from collections.abc import Sequence

from dond_marl.game import ITEMS, SEATS, Action, State, Triple, rest, worth
from dond_marl.records.transcript import describe_items
from league.display.game import Step, act_in_words, said
from league.display.svg.markup import Markup, counted, element, joined, points
from league.web.play.live_game import Hint
from league.web.replay.view import Bar, Thought

SIDES = ("me", "they")  # seat_0 is drawn like the viewer, seat_1 like the partner


def private_views(step: Step, names: tuple[str, str]) -> Markup:
    """What each seat knows, side by side, with what is on the table for it."""
    return element("div", *(_view(step.state, seat, names[seat]) for seat in (0, 1)), class_="views")


def conversation(all_steps: Sequence[Step], now: int, names: tuple[str, str]) -> Markup:
    """The acts up to a step, the step's own last and marked."""
    lines = []
    for step in all_steps[: now + 1]:
        if step.action is None:
            continue
        seat, latest = step.state.mover, step.number == now
        parts = (
            element("span", f"{step.number + 1}. {names[seat]}", class_="who"),
            element("p", step.words or said(step)),
            element("small", f"read as: {said(step)}") if step.words else None,
            element("p", f"“{step.message}”", class_="message") if step.message else None,
            element("small", _comes_to(step)) if step.action.act_type.is_offer else None,
        )
        lines.append(element("li", *parts, class_=f"{SIDES[seat]}{' latest' if latest else ''}"))
    return element("ol", *lines, class_="lines")


def thoughts(thought: Thought, state: State) -> Markup:
    """A policy's likeliest acts, as bars."""
    if thought.why_not:
        return element("p", f"Not known: {thought.why_not}.", class_="quiet")
    rows = [_bar(bar, state) for bar in thought.bars]
    left = 1 - sum(bar.probability for bar in thought.bars)
    rest_ = element("p", f"and {left:.0%} on everything else", class_="quiet") if left > 0.005 else None
    return joined((element("ol", *rows, class_="policy"), rest_))


def hint_line(hint: Hint | str | None, state: State) -> str:
    """An adviser's hint, in words."""
    if hint is None or isinstance(hint, str):
        return hint or "nothing"
    sure = f", {hint.confidence:.0%} sure" if hint.confidence else ""
    return f"{act_in_words(hint.action, state)}{sure}"


def best_line(best: Action | str, step: Step) -> str:
    """The act of the best response, and whether it is the one that was played."""
    if isinstance(best, str):
        return f"not known: {best}"
    same = best.act_type == (step.action.act_type if step.action else None) and (
        not best.act_type.is_offer or (step.action is not None and best.oA == step.action.oA)
    )
    return f"{act_in_words(best, step.state)}{', as was said' if same else ''}"


def _view(state: State, seat: int, name: str) -> Markup:
    scenario = state.scenario
    values, counts = scenario.utilities[seat], scenario.counts
    to_move = not state.over and state.mover == seat
    rows = []
    for item, count, value in zip(ITEMS, counts, values, strict=True):
        glyph = element("span", class_=f"glyph {item}", aria_hidden="true")
        rows.append(element("li", glyph, element("span", counted(count, item)), element("b", f"{points(value)} each")))
    claim, other = state.claims[seat], state.claims[1 - seat]
    claims = [
        ("asks for", _share(values, claim)),
        ("is offered", _share(values, None if other is None else rest(counts, other))),
    ]
    if state.outcome is not None:
        share = (0, 0, 0) if state.outcome.allocation is None else state.outcome.allocation[seat]
        claims = [("got", _share(values, share))]
    facts = [element("div", element("dt", term), element("dd", what)) for term, what in claims]
    seat_name = f"{SEATS[seat]}{', to move' if to_move else ''}"
    return element(
        "section",
        element("header", element("b", name, class_="name"), element("small", seat_name)),
        element("ul", *rows, class_="pool"),
        element("dl", *facts),
        class_=f"view {SIDES[seat]}{' to-move' if to_move else ''}",
        aria_label=f"What {name} knows",
    )


def _share(values: Triple, items: Triple | None) -> str:
    return "nothing yet" if items is None else f"{describe_items(items)} ({points(worth(values, items))})"


def _comes_to(step: Step) -> str:
    """What an offer pays, seat_0's share first."""
    assert step.action is not None
    scenario, seat = step.state.scenario, step.state.mover
    shares = step.action.oA, rest(scenario.counts, step.action.oA)
    first, second = shares if seat == 0 else shares[::-1]
    return f"{worth(scenario.utilities[0], first)} : {worth(scenario.utilities[1], second)}"


def _bar(bar: Bar, state: State) -> Markup:
    filled = element("i", style=f"width:{100 * bar.probability:.1f}%")
    return element(
        "li",
        element("span", act_in_words(bar.action, state)),
        element("b", f"{bar.probability:.0%}" if bar.probability >= 0.005 else "<1%"),
        element("span", filled, class_="bar", aria_hidden="true"),
        class_="chosen" if bar.chosen else None,
    )
