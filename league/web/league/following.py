"""Which leagues the pages know, and one follower for each, shared by everybody who looks."""

from __future__ import annotations

import threading
from pathlib import Path

from league.ledger.run_directory import LEDGER, runs_in
from league.web.league.follower import Follower, Picture, RunViewError


class Leagues:
    """The runs under a folder, or under folders in it, and one that was named."""

    def __init__(self, folder: Path, named: Path | None) -> None:
        self._folder, self._named = folder, named
        self._followers: dict[Path, Follower] = {}
        self._pictures: dict[Path, Picture | None] = {}
        self._lock = threading.Lock()

    def known(self) -> list[Path]:
        """Every run that can be shown, the named one first, then those that were written last."""
        inside = sorted(path for path in self._folder.iterdir() if path.is_dir()) if self._folder.is_dir() else []
        places = [place for place in (self._folder, *inside) if not place.name.isdigit()]
        found = [run for place in places for run in runs_in(place) if (run / LEDGER).is_file()]
        found.sort(key=lambda run: -(run / LEDGER).stat().st_mtime)
        return found if self._named is None else [self._named, *(run for run in found if run != self._named)]

    def look(self, run: Path) -> Picture | None:
        """The run as it stands now, ``None`` before it has begun. Slow where much is new; raises RunViewError.

        The same object comes back while nothing is new.
        """
        with self._lock:
            follower = self._followers.get(run)
            if follower is None:
                follower = self._followers[run] = Follower(run)
            try:
                if follower.refresh() or run not in self._pictures:
                    self._pictures[run] = follower.picture()
            except RunViewError:
                self._followers.pop(run).close()
                self._pictures.pop(run, None)
                raise
            return self._pictures[run]


def named_run(path: Path) -> Path:
    """The folder of a run that was named: itself, or the newest under it."""
    path = path.expanduser()
    if not (path / LEDGER).is_file():
        inside = [run for run in runs_in(path) if (run / LEDGER).is_file()]
        if inside:
            return max(inside, key=lambda run: int(run.name))
    return path
