"""Who and what can be chosen on a page, and the occupant, adviser, source or rules that a choice stands for."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

from dond_marl.errors import DondError, quote
from dond_marl.game import Rules
from dond_marl.occupants import OccupantNameError, catalogue, check_spec, seat_occupant, spec_name
from dond_marl.scenarios.data import DEFAULT_DATA_DIR, DataError
from dond_marl.scenarios.sources import SOURCES, SPLITS, ScenarioSource, check_split, open_source
from dond_marl.seats import HintSource, Partner
from league.settings.training import HintMode, HintsConfig
from league.web.allowed import Allowed
from league.web.league.follower import Follower

SOLVED = "equilibrium"  # the adviser that is in the catalogue and is no mode of the settings
HINT_MODES: tuple[str, ...] = (*get_args(HintMode), SOLVED)
WRITTEN = "written"  # the key of an occupant that is typed
MOST_RUNS = 12  # whose members are listed: those that were written last
UNSEATABLE = ("human",)  # who would have to be asked in another place
# Who is offered first, in words for somebody who has never heard of them.
FEATURED = {
    "prosocial": "Kind: wants the most for both together. Good for a first game.",
    "heuristic": "Asks for what it likes best, takes what is good enough.",
    "nice_tit_for_tat": "As generous as you are.",
    "boulware": "Holds out, and gives in near the end.",
    "stubborn": "Insists. Waits for you to fold.",
    "expert": "Learned from millions of games. Hard to impress.",
}
SOURCE_WORDS = {  # by source and split
    "lewis/train": "Worth 10 to each of you",
    "lewis/test": "Worth 10 to each, kept apart for tests",
    "lewis/paper_test": "Worth 10 to each, the paper's own 392",
    "lewis/all": "Worth 10 to each, all 5,295",
    "uniform": "Any values from 0 to 10",
    "uniform/near": "Any values, 5 to 7 items",
    "uniform/beyond": "Any values, fewer or more items",
    "self_play": "Published games of programs",
    "dialogues/train": "Published games of people",
    "dialogues/val": "Published games of people, for tuning",
    "dialogues/test": "Published games of people, for tests",
}
# Mistakes of a person, in a file or of somebody who was asked, shown in a line.
MISTAKES = (DondError, ValueError, OSError)


class Candidate(NamedTuple):
    """Somebody who may be chosen; ``run`` is the folder of the league that it is a member of, if it is."""

    name: str
    sentence: str
    run: Path | None = None


def built_in() -> tuple[Candidate, ...]:
    """Every occupant of the catalogue that needs no parameters, those to begin with first."""
    candidates = {}
    for name, factory in catalogue().items():
        if name in UNSEATABLE:
            continue
        try:
            check_spec(name)
        except OccupantNameError:  # it needs parameters
            continue
        candidates[name] = Candidate(name, (inspect.getdoc(factory) or "").split("\n", 1)[0].replace("``", ""))
    first = [candidates.pop(name) for name in FEATURED if name in candidates]
    return (*first, *candidates.values())


class People:
    """Everybody who may be chosen, by key, and how they are listed by heading; making it reads the runs' ledgers."""

    def __init__(self, runs: Sequence[Path], allowed: Allowed = Allowed()) -> None:  # noqa: B008  # it is frozen
        self.allowed = allowed
        self.known: dict[str, Candidate] = {}
        self.listed: dict[str, dict[str, str]] = {"Built in": {}}
        for candidate in built_in():
            self.known[candidate.name] = candidate
            self.listed["Built in"][candidate.name] = candidate.name
        for number, run in enumerate(runs[:MOST_RUNS]):
            try:
                with Follower(run) as follower:
                    members = follower.described()
            except MISTAKES:  # it cannot be read, or has not begun: the league page says why
                continue
            group = self.listed[f"League {run.parent.name}/{run.name}"] = {}
            for place, (name, sentence) in enumerate(members):
                self.known[f"{number}/{place}"] = Candidate(name, sentence, run)
                group[f"{number}/{place}"] = f"{name}, of this league" if name in self.listed["Built in"] else name
        self.listed["Anybody else"] = {WRITTEN: "as written below"}

    def candidate(self, key: str, written: str) -> Candidate:
        """The candidate that a key stands for; ``written`` is the text of the field for anybody else.

        Raises :class:`~dond_marl.occupants.OccupantNameError` for whom may not be named here.
        """
        return self._written(written.strip()) if key == WRITTEN else self.known[key]

    def knows(self, key: str) -> bool:
        """Whether a key stands for somebody; browsers may send anything."""
        return key == WRITTEN or key in self.known

    def key_of(self, run: str, name: str) -> str | None:
        """The key of a member of the run in that folder."""
        return next((key for key, who in self.known.items() if who.name == name and str(who.run) == run), None)

    def sentence(self, key: str) -> str:
        return self.known[key].sentence if key in self.known else ""

    def named(self, name: str) -> Candidate:
        """Whom a recorded name means: a member of a known league, otherwise an occupant of the catalogue.

        Raises :class:`~dond_marl.occupants.OccupantNameError` for whom may not be named here.
        """
        members = [known for known in self.known.values() if known.run is not None and known.name == name]
        return members[0] if members else self._written(name)

    def closed(self) -> People:
        """The same people for a game from elsewhere, which may not name code and addresses, whatever a visitor may."""
        people = copy(self)
        people.allowed = self.allowed._replace(anything=False)
        return people

    def _written(self, spec: str) -> Candidate:
        self.allowed.check(spec)
        return Candidate(spec, "")


def seat(candidate: Candidate) -> tuple[Partner, str]:
    """The occupant and the name that it is recorded under. Raises one of ``MISTAKES``."""
    if candidate.run is None:
        return _scripted(spec_name(candidate.name)), spec_name(candidate.name)
    with Follower(candidate.run) as follower:
        return follower.seat(candidate.name), candidate.name


def expert() -> Partner | None:
    """The shipped expert, ``None`` where what it needs is not installed."""
    try:
        return _scripted("expert") if "expert" in catalogue() else None
    except MISTAKES:
        return None


def rules_of(candidate: Candidate) -> Rules | None:
    """The rules that a member of a league knows; ``None`` for those who play by any. Raises one of ``MISTAKES``."""
    if candidate.run is None:
        return None
    with Follower(candidate.run) as follower:
        return follower.rules()


def whisper(mode: str) -> HintSource | None:
    """Who advises the person, one of ``HINT_MODES``. Raises one of ``MISTAKES``."""
    if mode not in HINT_MODES:
        raise ValueError(f"hints must be one of {', '.join(HINT_MODES)}; got {quote(mode)}")
    if mode == "none":
        return None
    from league.tasks.hinters import hint_schedule  # PyTorch is loaded only where somebody is advised

    return hint_schedule(
        HintsConfig.model_validate({"mode": "expert", "expert": mode} if mode == SOLVED else {"mode": mode})
    )


def source_choices(data_dir: Path | None = None) -> dict[str, str]:
    """Every source with its split, ``lewis/test``, and what it is called, also whether it must be fetched first."""
    choices = {}
    for name in SOURCES:
        usual = check_split(name, None)
        for split in (*(() if usual else ("",)), *SPLITS[name]):
            key = f"{name}/{split}" if split else name
            choices[key] = SOURCE_WORDS.get(key, key)
            if not _is_here(name, split, data_dir):
                choices[key] += " (to be fetched)"
    order = list(SOURCE_WORDS)
    return dict(sorted(choices.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def source(key: str, data_dir: Path | None) -> ScenarioSource:
    """The source of a key of :func:`source_choices`. Raises one of ``MISTAKES``."""
    name, _, split = key.partition("/")
    if not _is_here(name, split, data_dir):
        where = "" if data_dir is None else f" --data-dir {shlex.quote(str(data_dir))}"
        raise DataError(f"the published games are not on this machine yet: fetch them once with dond data fetch{where}")
    return open_source(name, split=split or None, data_dir=data_dir)


def _is_here(name: str, split: str, data_dir: Path | None) -> bool:
    """Whether the file that a source needs lies in the folder; whether it is whole is seen when it is read."""
    folder = DEFAULT_DATA_DIR if data_dir is None else data_dir.expanduser()
    file = {"self_play": "selfplay.txt", "dialogues": f"{split}.txt"}.get(name)
    return file is None or (folder / file).is_file()


def warm_up() -> None:
    """Load what most games need before somebody waits for it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one game at a time: more threads of PyTorch only wait
    if "expert" in catalogue():
        _scripted("expert")
    open_source("lewis").block(0, 0, 1)


@lru_cache(maxsize=8)  # a network's weights stay in memory
def _scripted(spec: str) -> Partner:
    return seat_occupant(spec, one_game=True)
