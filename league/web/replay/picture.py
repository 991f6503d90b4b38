"""The result of a game as a picture to share: the table as it ended, with a line above it that says who got what."""

from __future__ import annotations

import io

from dond_marl.envs.drawing import HEIGHT, INK, OF_SEAT, PAPER, WIDTH, check_drawable, draw
from dond_marl.records.record import GameRecord, replay
from league.display.svg.markup import counted, points
from league.web.replay.view import called, is_person

BAND = 76  # pixels above the table
LONGEST = 40  # characters of a name


def picture(record: GameRecord) -> bytes:
    """A PNG of 640 by 556. Raises :class:`~dond_marl.errors.MissingLibrary` where there is nothing to draw with.

    A record that does not replay is a :class:`~dond_marl.records.record.RecordError`.
    """
    check_drawable()
    from PIL import Image, ImageDraw, ImageFont

    first, second = lines(record)
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


def lines(record: GameRecord) -> tuple[str, str]:
    """What stands above the table: the result as whoever played tells it, and the game's name."""
    names = [_in_short(name) for name in called(record)]
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


def _in_short(name: str) -> str:
    """A name of characters that the drawing's own font has, no longer than its place."""
    plain = "".join(c if c.isascii() else "?" for c in name)
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."
