"""The picture of a finished game to share: the final table below a line with the result."""

from __future__ import annotations

import io

from dond_marl.envs.drawing import HEIGHT, INK, OF_SEAT, PAPER, WIDTH, check_drawable, draw
from dond_marl.records.record import GameRecord, replay
from league.display.svg.markup import counted, points
from league.web.replay.recorded import display_names, is_person

BAND = 76  # pixels above the table
MAX_NAME = 40  # characters


def picture(record: GameRecord) -> bytes:
    """A PNG of 640 x 556 pixels.

    Raises :class:`~dond_marl.errors.MissingLibrary` without Pillow, and
    :class:`~dond_marl.records.record.RecordError` for a record that does not replay.
    """
    check_drawable()
    from PIL import Image, ImageDraw, ImageFont

    first, second = caption(record)
    sheet = Image.new("RGB", (WIDTH, HEIGHT + BAND), PAPER)
    sheet.paste(Image.fromarray(draw(replay(record))), (0, BAND))
    pen = ImageDraw.Draw(sheet)
    pen.rectangle((0, 0, WIDTH, BAND), fill=OF_SEAT[0])
    for text, top, size in ((first, 12, 26), (second, 47, 15)):
        fits = (font for k in range(size, 1, -1) if (font := ImageFont.load_default(k)).getlength(text) <= WIDTH - 40)
        pen.text((20, top), text, fill=PAPER, font=next(fits))
    pen.line((0, BAND, WIDTH, BAND), fill=INK, width=2)
    made = io.BytesIO()
    sheet.save(made, "PNG", optimize=True)
    return made.getvalue()


def caption(record: GameRecord) -> tuple[str, str]:
    """Both lines above the table: the result, in the first person if one person played, and the game with its seats."""
    names = [_short_name(name) for name in display_names(record)]
    people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
    scores, outcome = record.outcome.scores, record.outcome
    game = f"Deal or No Deal · {counted(len(record.actions), 'act')} · seats: {names[0]}, {names[1]}"
    if len(people) != 1:
        result = f"{scores[0]} : {scores[1]}" if outcome.deal else "no deal"
        return f"{names[0]} and {names[1]}: {result}", game
    seat = people[0]
    whole = record.scenario.pool_value(seat)
    if not outcome.deal:
        return f"No deal with {names[1 - seat]}", game
    return f"I got {scores[seat]} of {points(whole)} from {names[1 - seat]}", game


def _short_name(name: str) -> str:
    """A name in ASCII, which the font has, of at most ``MAX_NAME`` characters."""
    plain = "".join(c if c.isascii() else "?" for c in name)
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 3]}..."
