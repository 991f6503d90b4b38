"""A picture of a game, 640 by 480 pixels, for videos: the latest acts and the split of the latest offer.

It shows both seats' values. Drawn with Pillow (extra ``plot``); no window is opened.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import missing_library
from dond_marl.game import ITEMS, SEATS, Act, State, Triple, rest, worth
from dond_marl.records.transcript import describe_items

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

WIDTH, HEIGHT = 640, 480  # pixels
PAPER, INK, FAINT, TABLE = "#fbf7ef", "#23303b", "#75808a", "#e6dcc8"
OF_SEAT = ("#0b6e99", "#b5471b")  # also distinguished by position and name, for colour-blind viewers
OF_ITEM = ("#7a5195", "#d49b00", "#2f7d4f")  # book, hat, ball
SHORT = {Act.AGREE: "Agreed.", Act.DISAGREE: "No, I refuse.", Act.END: "That is all from me."}
MOST_DRAWN = 4  # items drawn in one pile; a larger number is written out


def check_drawable() -> None:
    """Raise :class:`~dond_marl.errors.MissingLibrary` if Pillow is not installed."""
    try:
        import PIL.Image  # noqa: F401  # only to see whether it is installed
    except ModuleNotFoundError as error:
        raise missing_library(error, "render_mode='rgb_array'") or error from error


def draw(state: State) -> NDArray[np.uint8]:
    """A picture of the negotiation so far, ``[480, 640, 3]``."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    _text(pen, (20, 8), "Deal or No Deal", 20)
    count = f"act {len(state.history)} of at most {state.rules.max_turns}"
    _text(pen, (WIDTH - 20, 12), count, 14, FAINT, anchor="ra")
    shares, how = _allocation_to_draw(state)
    _seat(pen, state, 1, 38)
    pen.rounded_rectangle((20, 140, WIDTH - 20, 340), 14, fill=TABLE)
    if shares is None:
        _text(pen, (WIDTH / 2, 190), f"On the table: {describe_items(state.scenario.counts)}", 18, anchor="mm")
        _pile(pen, state.scenario.counts, 244)
    else:
        pen.line((40, 240, WIDTH - 40, 240), fill=PAPER, width=3)
        for seat, top in ((1, 150), (0, 250)):
            _text(pen, (36, top), f"{SEATS[seat]} {how}", 13, OF_SEAT[seat])
            _pile(pen, shares[seat], top + 50)
            points = worth(state.scenario.utilities[seat], shares[seat])
            _text(pen, (WIDTH - 36, top + 50), f"{points} point{'' if points == 1 else 's'}", 22, anchor="rm")
    _seat(pen, state, 0, 350)
    _text(pen, (WIDTH / 2, HEIGHT - 18), _standing(state), 17, anchor="mm")
    return np.array(picture)


def _allocation_to_draw(state: State) -> tuple[tuple[Triple, Triple] | None, str]:
    """The items of each seat by the outcome or the latest offer, and the verb; ``None`` before the first offer."""
    counts, outcome = state.scenario.counts, state.outcome
    if outcome is not None:
        return (outcome.allocation or ((0, 0, 0), (0, 0, 0))), "gets"
    for turn in reversed(range(len(state.history))):
        if state.history[turn].act_type <= Act.INSIST:
            claim = state.history[turn].oA
            shares = (claim, rest(counts, claim)) if turn % 2 == 0 else (rest(counts, claim), claim)
            return shares, "would get"
    return None, ""


def _seat(pen: ImageDraw, state: State, seat: int, top: int) -> None:
    values = state.scenario.utilities[seat]
    to_move = not state.is_over and state.mover == seat
    pen.rounded_rectangle((20, top, 210, top + 92), 10, outline=OF_SEAT[seat], width=4 if to_move else 1)
    _text(pen, (32, top + 8), f"{SEATS[seat]}{', to move' if to_move else ''}", 15, OF_SEAT[seat])
    for kind, value in enumerate(values):
        _item(pen, kind, 44 + 58 * kind, top + 46, 9)
        _text(pen, (60 + 58 * kind, top + 46), str(value), 16, anchor="lm")
    _text(pen, (32, top + 68), f"points for each {', '.join(ITEMS)}", 11, FAINT)
    turns = [turn for turn in range(len(state.history)) if turn % 2 == seat]
    if turns:
        action, counts = state.history[turns[-1]], state.scenario.counts
        pen.rounded_rectangle((228, top, WIDTH - 20, top + 92), 10, fill="white", outline=FAINT)
        _text(pen, (242, top + 8), f"{turns[-1] + 1}. {action.act_type.name}", 15, OF_SEAT[seat])
        if action.act_type <= Act.INSIST:
            _text(pen, (242, top + 34), f"I keep {describe_items(action.oA)}", 15)
            _text(pen, (242, top + 60), f"you get {describe_items(rest(counts, action.oA))}", 15)
        else:
            _text(pen, (242, top + 34), SHORT[action.act_type], 15)


def _standing(state: State) -> str:
    outcome = state.outcome
    if outcome is None:
        return f"{SEATS[state.mover]} is to move"
    if outcome.deal:
        return f"Deal: {outcome.scores[0]} points for {SEATS[0]}, {outcome.scores[1]} for {SEATS[1]}"
    reason = f"{outcome.ending.name.replace('_', ' ').lower()}"
    return f"No deal ({reason}): both seats get nothing"


def _pile(pen: ImageDraw, items: Triple, middle: int) -> None:
    for kind, number in enumerate(items):
        start = 60 + 140 * kind
        for copy in range(min(number, MOST_DRAWN)):
            _item(pen, kind, start + 26 * copy, middle, 11)
        if number > MOST_DRAWN:
            _text(pen, (start + 26 * MOST_DRAWN - 10, middle), f"x{number}", 14, anchor="lm")


def _item(pen: ImageDraw, kind: int, x: int, y: int, size: int) -> None:
    colour = OF_ITEM[kind]
    if kind == 0:
        pen.rectangle((x - 0.8 * size, y - size, x + 0.8 * size, y + size), fill=colour)
        pen.line((x - 0.4 * size, y - size, x - 0.4 * size, y + size), fill=PAPER, width=2)
    elif kind == 1:
        pen.rectangle((x - 0.55 * size, y - size, x + 0.55 * size, y + 0.5 * size), fill=colour)
        pen.rectangle((x - size, y + 0.5 * size, x + size, y + 0.95 * size), fill=colour)
    else:
        pen.ellipse((x - size, y - size, x + size, y + size), fill=colour)
        pen.arc((x - size, y - 1.9 * size, x + size, y + 0.1 * size), 20, 160, fill=PAPER, width=2)


def _text(
    pen: ImageDraw, corner: tuple[float, float], text: str, size: int, colour: str = INK, anchor: str = "la"
) -> None:
    pen.text(corner, text, fill=colour, font=_font(size), anchor=anchor)


@lru_cache(maxsize=16)
def _font(size: int) -> FreeTypeFont | ImageFont | Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)
