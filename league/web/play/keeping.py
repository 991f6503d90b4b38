"""Where a finished game is found again: the addresses of its replay, its file and its picture, and links to them."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

from league.web.elements import Tag

REPLAY, GAME, PICTURE = "/replay", "/replay/game.json", "/replay/picture.png"
HERE = "The link works on this machine only, while this page is served. To send the game, download it: one file."
COPY = """() => {
  const link = location.origin + ADDRESS, place = document.getElementById(PLACE);
  const told = (text) => { if (place) place.textContent = text; };
  const ask = () => prompt("The link to this game", link);
  if (!navigator.clipboard) { ask(); return; }
  navigator.clipboard.writeText(link).then(() => told("The link is copied."), ask);
}"""


def address_of(path: str, file: Path | str, game: int | str) -> str:
    """One of the addresses above for game ``game``, counted from 1, of a file of records."""
    return f"{path}?{urlencode({'file': str(file), 'game': str(game)})}"


class Keeping:
    """Links to one game: to copy, to download, to share as a picture."""

    def __init__(self) -> None:
        with Tag("p", classes="keep"):
            self._link = Tag("a", "Link to this game", "link")
            self._copy = Tag("button", "Copy the link", "link", type="button")
            self._download = Tag("a", "Download it", "link", download="game.json")
            self._picture = Tag("a", "Picture to share", "link", download="deal.png")
            self._told = Tag("span", "", "quiet", role="status")
        Tag("p", HERE, "quiet")
        self._copies = False

    def show(self, file: Path | str, game: int | str) -> None:
        """Lead to that game."""
        link = address_of(REPLAY, file, game)
        self._link.set(href=link)
        self._download.set(href=address_of(GAME, file, game))
        self._picture.set(href=address_of(PICTURE, file, game))
        self._copy.set(data_link=link)
        if not self._copies:
            self._copies = True
            place = json.dumps(self._told.html_id)
            own = f"document.getElementById({json.dumps(self._copy.html_id)}).dataset.link"
            self._copy.on("click", js_handler=COPY.replace("ADDRESS", own).replace("PLACE", place))
