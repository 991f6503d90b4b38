"""A picture of a game, 640 by 480 pixels, for videos: the latest acts and the split of the latest offer.

It shows both seats' values. Drawn with Pillow (extra ``plot``); no window is opened.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import ITEMS, SEATS, Act, State, Triple, rest, worth
from dond_marl.records.transcript import describe_items

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

WIDTH, HEIGHT = 640, 480  # pixels
PAPER, INK, FAINT, TABLE = "#f6f3ec", "#211e19", "#5f594f", "#e6dcc8"
OF_SEAT = ("#0b6862", "#a3461b")  # as on the pages; also distinguished by position and name, for colour-blind viewers
SOFT = ("#d9ebe6", "#f7e2d5")  # their sides of the table
SHORT = {Act.AGREE: "Agreed.", Act.DISAGREE: "No, I refuse.", Act.END: "That is all from me."}
MOST_DRAWN = 4  # items drawn in one pile; a larger number is written out
# The icons of the pages (dond/web/static), from back to front: a shape, its box or points in 0..48, and its colour.
ICONS: tuple[tuple[tuple[str, tuple[float, ...], str], ...], ...] = (
    (
        ("rounded_rectangle", (11, 4, 38, 44), "#2c3e9e"),
        ("rectangle", (16, 4, 38, 34), "#3f56c8"),
        ("rectangle", (14, 36, 36, 41), "#f4efe3"),
        ("rectangle", (20, 11, 33, 14), "#cfd7ff"),
        ("rectangle", (20, 17, 29, 20), "#8fa0ee"),
    ),
    (
        ("ellipse", (3, 32, 45, 44), "#5b2f75"),
        ("polygon", (12, 8, 36, 8, 37, 37, 11, 37), "#743f94"),
        ("polygon", (11, 29, 37, 29, 37, 37, 11, 37), "#eab54a"),
        ("ellipse", (12, 5, 36, 11), "#8d55b0"),
    ),
    (
        ("ellipse", (5, 5, 43, 43), "#e8692c"),
        ("rectangle", (23, 5, 25, 43), "#5e2409"),
        ("rectangle", (5, 23, 43, 25), "#5e2409"),
        ("arc", (-14, 4, 17, 44), "#5e2409"),
        ("arc", (31, 4, 62, 44), "#5e2409"),
    ),
)


def draw(state: State) -> NDArray[np.uint8]:
    """A picture of the negotiation so far, ``[480, 640, 3]``."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(picture)
    _text(pen, (20, 8), "Deal or No Deal", 20)
    count = f"act {len(state.history)} of at most {state.rules.max_turns}"
    _text(pen, (WIDTH - 20, 12), count, 14, FAINT, anchor="ra")
    shares, how = _allocation_to_draw(state)
    _seat(picture, pen, state, 1, 38)
    if shares is None:
        pen.rounded_rectangle((20, 140, WIDTH - 20, 340), 14, fill=TABLE)
        _text(pen, (WIDTH / 2, 190), f"On the table: {describe_items(state.scenario.counts)}", 18, anchor="mm")
        _pile(picture, pen, state.scenario.counts, 244)
    else:
        for seat, top in ((1, 140), (0, 242)):
            pen.rounded_rectangle((20, top, WIDTH - 20, top + 98), 14, fill=SOFT[seat])
        for seat, top in ((1, 150), (0, 250)):
            _text(pen, (36, top), f"{SEATS[seat]} {how}", 13, OF_SEAT[seat])
            _pile(picture, pen, shares[seat], top + 50)
            points = worth(state.scenario.utilities[seat], shares[seat])
            _text(pen, (WIDTH - 36, top + 50), f"{points} point{'' if points == 1 else 's'}", 22, anchor="rm")
    _seat(picture, pen, state, 0, 350)
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


def _seat(picture: Image, pen: ImageDraw, state: State, seat: int, top: int) -> None:
    values = state.scenario.utilities[seat]
    to_move = not state.is_over and state.mover == seat
    pen.rounded_rectangle((20, top, 210, top + 92), 10, outline=OF_SEAT[seat], width=4 if to_move else 1)
    _text(pen, (32, top + 8), f"{SEATS[seat]}{', to move' if to_move else ''}", 15, OF_SEAT[seat])
    for kind, value in enumerate(values):
        _item(picture, kind, 42 + 58 * kind, top + 46, 10)
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


def _pile(picture: Image, pen: ImageDraw, items: Triple, middle: int) -> None:
    for kind, number in enumerate(items):
        start = 60 + 140 * kind
        for copy in range(min(number, MOST_DRAWN)):
            _item(picture, kind, start + 30 * copy, middle, 14)
        if number > MOST_DRAWN:
            _text(pen, (start + 30 * MOST_DRAWN - 10, middle), f"x{number}", 14, anchor="lm")


def _item(picture: Image, kind: int, x: int, y: int, size: int) -> None:
    icon = _icon(kind, 2 * size)
    picture.paste(icon, (x - size, y - size), icon)


@lru_cache(maxsize=16)
def _icon(kind: int, size: int) -> Any:
    """The picture of an item, ``size`` pixels wide."""
    from PIL import Image, ImageDraw

    scale = 4  # drawn larger, so that its edges are smooth
    large = Image.new("RGBA", (48 * scale, 48 * scale))
    pen = ImageDraw.Draw(large)
    for shape, box, colour in ICONS[kind]:
        points = [scale * number for number in box]
        if shape == "arc":
            pen.arc(points, *((-60, 60) if box[0] < 0 else (120, 240)), fill=colour, width=2 * scale)
        else:
            more = {"radius": 4 * scale} if shape == "rounded_rectangle" else {}
            getattr(pen, shape)(points, fill=colour, **more)
    return large.resize((size, size), Image.Resampling.LANCZOS)


def _text(
    pen: ImageDraw, corner: tuple[float, float], text: str, size: int, colour: str = INK, anchor: str = "la"
) -> None:
    pen.text(corner, text, fill=colour, font=_font(size), anchor=anchor)


@lru_cache(maxsize=16)
def _font(size: int) -> FreeTypeFont | ImageFont | Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)
