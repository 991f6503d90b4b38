"""Choosing somebody on a page: the catalogue, the members of known leagues, and whoever can be written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from league.web.occupants import MISTAKES, Candidate, built_in, members_of

WRITTEN = "written"  # the key of somebody who is described in words
MOST_RUNS = 12  # whose members are listed: those that were written last


class People:
    """Everybody who may be chosen, by key, and how they are listed by heading."""

    def __init__(self, runs: Sequence[Path]) -> None:
        self.known: dict[str, Candidate] = {}
        self.listed: dict[str, dict[str, str]] = {"Built in": {}}
        for one in built_in():
            self.known[one.name] = one
            self.listed["Built in"][one.name] = one.name
        for number, run in enumerate(runs[:MOST_RUNS]):
            try:
                members = members_of(run)
            except MISTAKES:  # it cannot be read, or has not begun: the league page says why
                continue
            group = self.listed[f"League {run.parent.name}/{run.name}"] = {}
            for place, one in enumerate(members):
                self.known[f"{number}/{place}"] = one
                group[f"{number}/{place}"] = one.name
        self.listed["Anybody else"] = {WRITTEN: "as written below"}

    def candidate(self, key: str, written: str) -> Candidate:
        """Whom a choice names."""
        return Candidate(written.strip(), "") if key == WRITTEN else self.known[key]

    def knows(self, key: str) -> bool:
        """Whether a key names somebody; browsers may send anything."""
        return key == WRITTEN or key in self.known

    def sentence(self, key: str) -> str:
        """Who that is."""
        return self.known[key].sentence if key in self.known else ""

    def named(self, name: str) -> Candidate:
        """Whom a recorded name means: an occupant that can be written so, or a member of a known league."""
        members = [one for one in self.known.values() if one.run is not None and one.name == name]
        return members[0] if members else Candidate(name, "")
