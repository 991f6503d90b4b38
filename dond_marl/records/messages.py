"""What anybody typed or wrote, as a message that may pass: printable ASCII on one line, as long as the rules say."""

from __future__ import annotations

import unicodedata

from dond_marl.game import MESSAGE_CHARACTERS

_LIKE = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2026": "..."}
)
_READ = 8  # characters looked at for each that may pass: text may be of any length


def as_message(text: str, length: int) -> str:
    """``text`` with letters without their accents, ``?`` for what ASCII has no like of, cut to ``length`` characters.

    White space of any kind is one space; there is none at the ends.
    """
    plain = unicodedata.normalize("NFKD", text[: _READ * length].translate(_LIKE))
    spaced = "".join(" " if letter.isspace() else letter for letter in plain if not unicodedata.combining(letter))
    said = "".join(letter if letter in MESSAGE_CHARACTERS else "?" for letter in spaced)
    return " ".join(said.split())[:length].rstrip()
