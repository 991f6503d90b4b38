"""What an occupant believes of its partner at a step of a recorded game: asked, and drawn."""

from __future__ import annotations

from typing import NamedTuple

from dond_marl.envs.turn import turn_of
from dond_marl.errors import error_line
from dond_marl.game import ITEMS, SEATS
from dond_marl.seats import Partner
from dond_marl.yardsticks.recognition import Believes
from league.display.game import Step
from league.display.svg.markup import Markup, element, joined, points

MOST_NAMED = 4  # members of whom it is said how probable they are


class Held(NamedTuple):
    """Beliefs at one step; ``why_not`` says why they are not known, if so."""

    values: tuple[tuple[float, ...], ...] = ()  # of each item: the probability of 0..10 points
    who: tuple[tuple[str, float], ...] = ()  # the likeliest members, likeliest first
    why_not: str = ""


def held(partner: Partner, step: Step, prior: str) -> Held | None:
    """What ``partner`` believes when it is to move in a step; ``None`` where it says nothing of that."""
    if step.action is None or not isinstance(partner, Believes):
        return None
    try:
        guess = partner.beliefs(turn_of(step.state, prior=prior))
        if guess is None:
            return None
        chances = guess.identity[0].tolist() if guess.members else []
        values = tuple(tuple(map(float, item)) for item in guess.values[0])
    except Exception as error:  # noqa: BLE001  # somebody else's code, asked out of curiosity
        return Held(why_not=error_line(error))
    who = sorted(zip(guess.members, chances, strict=True), key=lambda each: -each[1])
    return Held(values, tuple(who[:MOST_NAMED]))


def beliefs_drawn(found: Held | None, step: Step, other: str) -> Markup | None:
    """Beliefs as bars, what is true marked: the values of the ``other`` occupant, and who it is."""
    if found is None:
        return None
    seat = 1 - step.state.mover
    heading = element("h3", f"What it believes of {SEATS[seat]}")
    if found.why_not:
        return joined((heading, element("p", f"Not known: {found.why_not}.", class_="quiet")))
    true = step.state.scenario.utilities[seat]
    rows = [_item(name, chances, value) for name, chances, value in zip(ITEMS, found.values, true, strict=True)]
    parts = [heading, element("ol", *rows, class_="believed")]
    if found.who:
        named = [_member(name, chance, name == other) for name, chance in found.who]
        parts.append(element("ol", *named, class_="policy"))
    return joined(parts)


def _item(name: str, chances: tuple[float, ...], value: int) -> Markup:
    """An item's values, 0 to 10 points each, as columns; the true one is marked and said."""
    most = max(chances)
    columns = [
        element("i", style=f"height:{100 * chance / most:.0f}%", class_="true" if level == value else None)
        for level, chance in enumerate(chances)
    ]
    likeliest = chances.index(most)
    told = f"{points(likeliest)}: {most:.0%}; its {value}: {chances[value]:.0%}"
    if likeliest == value:
        told = f"{points(value)}, as it is: {most:.0%}"
    return element(
        "li",
        element("span", element("span", class_=f"glyph {name}", aria_hidden="true"), f" {name}"),
        element("small", told),
        element("span", *columns, class_="levels", aria_hidden="true"),
    )


def _member(name: str, chance: float, true: bool) -> Markup:
    filled = element("i", style=f"width:{100 * chance:.1f}%")
    return element(
        "li",
        element("span", f"{name}, as it is" if true else name),
        element("b", f"{chance:.0%}" if chance >= 0.005 else "<1%"),
        element("span", filled, class_="bar", aria_hidden="true"),
        class_="chosen" if true else None,
    )
