"""What all pages are given."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from league.web.league.following import Leagues


class Desk(NamedTuple):
    """Where leagues and games lie, and how long a partner seems to think."""

    leagues: Leagues
    book: Path  # a person's games are added here
    games: Path  # the folder whose files of games may be replayed
    data_dir: Path | None  # of the published files
    pause: float  # seconds
