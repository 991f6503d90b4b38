"""Choices of the pages: occupants, advisers, scenarios and rules; which of them a visitor may name; and the sitting.

An occupant's name can hold a path or a service's address, and making the occupant opens that file or queries that
service with the rights and keys of the person who started the pages. So what a visitor types or a run names may use
what that person allowed, by :func:`dond_marl.occupants.check_needs`; what the pages list themselves, anything.
"""

from __future__ import annotations

import inspect
import os
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, get_args

from markupsafe import Markup

from dond.table.session import Sitting
from dond.web.frame import render
from dond.web.league_follower import Follower
from dond_marl.errors import DondError, quote
from dond_marl.files import user_path
from dond_marl.game import MESSAGE_LENGTH, Rules
from dond_marl.occupants import (
    ANYTHING,
    NOTHING,
    OccupantNameError,
    Permission,
    Spec,
    catalogue,
    check_needs,
    expand_run_name,
    find_factory,
    read_spec,
    seat_occupant,
)
from dond_marl.scenarios.data import DEFAULT_DATA_DIR, DataError
from dond_marl.scenarios.sources import ScenarioSource, open_source
from dond_marl.seats import HintSource, Partner
from league.ledger.run_directory import RUNS, SETTINGS, runs_in
from league.settings.sections import HintMode, HintsConfig
from partners.equilibrium import check_game
from partners.llm.partner import LLMPartner

MODEL = "llm"  # the adviser that is a language model
SOLVED = "equilibrium"  # the adviser that is an occupant of the catalogue and no hint mode of the settings
HINT_MODES: tuple[str, ...] = (*get_args(HintMode), SOLVED)
HINT_LABELS = {
    "none": "None",
    "random": "Random hints",
    "expert": "Hints from the expert",
    "llm": "A language model: Groq's with GROQ_API_KEY, else a small one on this machine",
    SOLVED: "What an equilibrium would do",
}
MAX_RUNS = 12  # leagues whose members are listed, the ones written last
UNSEATABLE = ("human",)  # occupants that need a terminal
# Partners for a first game, described for readers who know none of them.
FEATURED = {
    "prosocial": "Kind: wants the most for both together. Good for a first game.",
    "heuristic": "Asks for what it likes best, takes what is good enough.",
    "nice_tit_for_tat": "As generous as you are.",
    "boulware": "Holds out, and gives in near the end.",
    "stubborn": "Insists. Waits for you to fold.",
    "generated": "A negotiating program made for this game; you learn afterwards who it was.",
    "expert": "Learned from millions of games. Hard to impress.",
}
SOURCE_LABELS = {  # all scenarios, by source and split
    "lewis/train": "10 points in all",
    "lewis/test": "10 points in all, never used in training",
    "lewis/paper_test": "10 points in all, the test games of Lewis et al. 2017",
    "lewis/all": "10 points in all, every scenario",
    "uniform": "0 to 10 points an item",
    "uniform/near": "0 to 10 points an item, 5 to 7 items",
    "uniform/beyond": "0 to 10 points an item, fewer or more items",
    "uniform/haggling": "10 points in all, 3 to 7 items",
    "uniform/contest": "10 points in all, 3 to 6 items",
    "self_play": "Games of trained programs, published",
    "dialogues/train": "Games of people, published",
    "dialogues/val": "Games of people, the part for tuning",
    "dialogues/test": "Games of people, the part for tests",
}
SEATS = {"random": "Drawn by lot", "0": "I open", "1": "They open"}
MESSAGES = {"none": "none", "text": f"a line of text, {MESSAGE_LENGTH} characters"}
DISAGREE = {"ends": "ends the game", "rejects": "only turns the offer down"}
MAX_SPEC = 300  # characters of a typed name
UNASKED = "a replay does this only for a policy that you choose, and then ask"
OPEN = "start the page with --open-paths to allow it"
TRUST = "start the page with --trust to allow it"
# Errors of a choice, shown to the visitor in a line: a wrong name or number, an unreadable file, a dead service.
CHOICE_ERRORS = (DondError, ValueError, OSError)


class Candidate(NamedTuple):
    """An occupant of the menu; ``run`` is the folder of its league, if it is a member of one, and ``spec`` its spec.

    ``allow``: what it may use.
    """

    name: str
    sentence: str
    run: Path | None = None
    spec: Spec | None = None  # None: a network of the league
    allow: Permission = NOTHING


class Desk(NamedTuple):
    """Folders and options of the pages."""

    runs: Callable[[], list[Path]]  # folders of the known leagues, the one written last first
    book: Path  # the person's games are added to this file
    games: Path  # record files under this folder can be replayed
    data_dir: Path | None  # published files
    pause: float  # seconds between the person's act and the partner's answer
    typed: Permission = NOTHING  # what names that visitors type may use
    stored: Permission = NOTHING  # what members of the leagues may use

    def menu(self) -> OccupantMenu:
        """The occupants that can be chosen now. Slow: it reads the ledgers of the leagues."""
        return OccupantMenu(self.runs(), self.typed, self.stored)


def built_in() -> tuple[Candidate, ...]:
    """The occupants of the catalogue that need no parameters, the featured ones first."""
    candidates = {}
    for name, factory in catalogue().items():
        if name in UNSEATABLE:
            continue
        try:
            spec, _ = find_factory(name)
        except OccupantNameError:  # it needs parameters
            continue
        sentence = (inspect.getdoc(factory) or "").split("\n", 1)[0].replace("``", "")
        candidates[name] = Candidate(name, sentence, spec=spec, allow=ANYTHING)
    first = [candidates.pop(name) for name in FEATURED if name in candidates]
    return (*first, *candidates.values())


class OccupantMenu:
    """Occupants that can be chosen: ``candidates`` by key, ``groups`` of labels by key under headings.

    ``keys``: by the names that the commands print and take, such as ``ppo_fast/0001`` and ``league/0001:main``;
    ``names``: such a name for each key, those of own trainings and leagues first. ``typed`` and ``stored``: see
    :class:`Desk`.

    Making one reads the ledgers of ``runs``.
    """

    def __init__(self, runs: Sequence[Path], typed: Permission = NOTHING, stored: Permission = NOTHING) -> None:
        self.typed, self._of_record = typed, False
        self.candidates: dict[str, Candidate] = {}
        self.groups: dict[str, dict[str, str]] = {}
        self.keys: dict[str, str] = {}
        self.names: dict[str, str] = {}
        trainings = list(dict.fromkeys(run for folder in typed.folders for run in runs_in(folder, SETTINGS)))
        for run in trainings[:MAX_RUNS]:
            try:
                newest = expand_run_name(str(run))
            except OccupantNameError:  # no checkpoint yet
                continue
            self.candidates[newest] = Candidate(newest, "The newest checkpoint of this training.", None, newest, typed)
            label = self.names[newest] = f"{run.parent.name}/{run.name}"
            self.groups.setdefault("Trainings", {})[newest] = label
            self.keys[label] = newest
            self.keys.setdefault(run.parent.name, newest)
        everywhere = built_in()
        usual = {candidate.spec.text for candidate in everywhere if candidate.spec is not None}
        for number, run in enumerate(runs[:MAX_RUNS]):
            try:
                with Follower(run) as follower:
                    members = follower.descriptions()
            except CHOICE_ERRORS:  # unreadable, or not begun: the league page says why
                continue
            group: dict[str, str] = {}
            for i, (name, sentence, spec) in enumerate(members):
                key = f"{number}/{i}"
                self.candidates[key] = Candidate(name, sentence, run, spec, stored)
                printed = self.names[key] = f"{run.parent.name}/{run.name}:{name}"
                if spec is None or spec.text not in usual:  # the others are in the menu once
                    group[key] = printed
                self.keys[printed] = key
                self.keys.setdefault(f"{run.parent.name}:{name}", key)  # of the newest run
            if group:
                self.groups[f"League {run.parent.name}/{run.name}"] = group
        for candidate in everywhere:
            self.candidates[candidate.name] = candidate
            self.names[candidate.name] = candidate.name
        self.groups["Built in"] = {name: name for name in self.candidates if self.names[name] == name}

    def candidate(self, key: str, typed: str = "") -> Candidate:
        """The candidate of a key, or the one whose name was ``typed``, if that is not empty.

        Raises :class:`~dond_marl.occupants.OccupantNameError` for unknown keys and names, and
        :class:`~dond_marl.errors.UntrustedError` for those that need more than is allowed.
        """
        text = typed.strip() or key
        if typed.strip() or key not in self.candidates:
            key = self.keys.get(text.removeprefix(f"{RUNS}/"), text)
        listed = self.candidates.get(key)
        return self._typed_candidate(text) if listed is None else self._checked(listed)

    def key_of(self, run: str, name: str) -> str | None:
        """The key of a member of the league in folder ``run``."""
        return next(
            (key for key, candidate in self.candidates.items() if candidate.name == name and str(candidate.run) == run),
            None,
        )

    def resolve(self, name: str) -> Candidate:
        """The candidate of a name in a record: a member of a known league, else an occupant of the catalogue.

        Raises as :meth:`candidate` does.
        """
        members = [
            candidate for candidate in self.candidates.values() if candidate.run is not None and candidate.name == name
        ]
        return self._checked(members[0]) if members else self._typed_candidate(name)

    def of_record(self) -> OccupantMenu:
        """The menu for names in records, which anyone may have written.

        They open no path even where visitors may, query no model and run no code, also by way of a league's members.
        """
        menu = copy(self)
        menu._of_record = True
        return menu

    def _checked(self, candidate: Candidate) -> Candidate:
        """The candidate, once what it needs is allowed; names in a record may use weights in the pages' folders."""
        allow = Permission(folders=self.typed.folders) if self._of_record else candidate.allow
        if candidate.spec is not None:
            origin = "a visitor of the page" if candidate.run is None else str(candidate.run)
            advice = UNASKED if self._of_record else OPEN if candidate.run is None else TRUST
            check_needs([candidate.spec], allow, origin, advice)
        return candidate._replace(allow=allow)

    def _typed_candidate(self, text: str) -> Candidate:
        if len(text) > MAX_SPEC:
            raise OccupantNameError(f"an occupant is written in at most {MAX_SPEC} characters; got {len(text):,}")
        spec = read_spec(text)
        candidate = self._checked(Candidate(text, "", spec=spec, allow=self.typed))
        return candidate._replace(spec=find_factory(spec or text)[0])


def make_partner(candidate: Candidate) -> tuple[Partner, str]:
    """The partner of a candidate, and its name in records. Raises one of ``CHOICE_ERRORS``."""
    if candidate.run is None:
        assert candidate.spec is not None
        return _cached_partner(candidate.spec), candidate.spec.text
    with Follower(candidate.run, candidate.allow) as follower:
        return follower.partner(candidate.name), candidate.name


def make_expert() -> Partner | None:
    """The shipped expert; ``None`` if its libraries are not installed."""
    try:
        return _cached_partner(Spec("expert")) if "expert" in catalogue() else None
    except CHOICE_ERRORS:
        return None


def rules_of(candidate: Candidate) -> Rules | None:
    """The rules of a member's league; ``None`` for occupants of the catalogue. Raises one of ``CHOICE_ERRORS``."""
    if candidate.run is None:
        return None
    with Follower(candidate.run) as follower:
        return follower.config().env.rules()


def make_adviser(mode: str) -> HintSource | None:
    """The hint provider of a mode of ``HINT_MODES``; ``None`` for none. Raises one of ``CHOICE_ERRORS``."""
    if mode not in HINT_MODES:
        raise ValueError(f"hints must be one of {', '.join(HINT_MODES)}; got {quote(mode)}")
    if mode == "none":
        return None
    from league.play.hinters import hint_schedule  # loads PyTorch, so only with an adviser

    return hint_schedule(
        HintsConfig.model_validate({"mode": "expert", "expert": mode} if mode == SOLVED else {"mode": mode})
    )


def source_choices(data_dir: Path | None = None) -> dict[str, str]:
    """Labels of all scenario sources by key (``lewis/test``), with a note where files must be fetched first."""
    missing = {key for key in SOURCE_LABELS if not _is_present(key, data_dir)}
    return {key: f"{label} (to be fetched)" if key in missing else label for key, label in SOURCE_LABELS.items()}


def make_source(key: str, data_dir: Path | None) -> ScenarioSource:
    """The scenario source of a key of :func:`source_choices`. Raises one of ``CHOICE_ERRORS``."""
    name, _, split = key.partition("/")
    if not _is_present(key, data_dir):
        where = "" if data_dir is None else f" --data-dir {shlex.quote(str(data_dir))}"
        raise DataError(f"the published games are not on this machine yet: fetch them once with dond data fetch{where}")
    return open_source(name, split=split or None, data_dir=data_dir)


def parse_whole_number(name: str, typed: str, low: int, high: int) -> int:
    """A typed whole number in ``low``..``high``. Raises ``ValueError``."""
    text = typed.strip()
    if not (text.isascii() and text.isdigit() and low <= int(text[:20]) <= high):
        raise ValueError(f"{name} must be a whole number in {low}..{high}; got {quote(typed)}")
    return int(text)


class GameChoice(NamedTuple):
    """The fields of the form, as they were typed."""

    partner: str = "prosocial"  # key of a featured partner; kind, and so good for a first game
    typed: str = ""  # name and parameters, instead of ``partner``
    seat: str = "random"
    source: str = "lewis/train"
    hints: str = "none"
    disagree: str = "ends"
    max_turns: str = "10"
    messages: str = "none"
    seed: str = ""

    @classmethod
    def from_fields(cls, values: Mapping[str, object]) -> GameChoice:
        """The choice of posted fields; missing ones take their defaults."""
        return cls(**{name: str(values[name]) for name in cls._fields if name in values})


def sitting_of(choice: GameChoice, candidate: Candidate, book: Path, data_dir: Path | None) -> Sitting:
    """The sitting of a choice. Raises one of ``CHOICE_ERRORS``."""
    rules = rules_of(candidate)
    if rules is None:
        length = MESSAGE_LENGTH if choice.messages == "text" else 0
        turns = parse_whole_number("acts", choice.max_turns, 1, 100)
        rules = Rules(turns, choice.disagree, length)  # type: ignore[arg-type]  # Rules checks it
    # Without a seed each game is another one.
    seed = parse_whole_number("seed", choice.seed, 0, 2**63 - 1) if choice.seed.strip() else secrets.randbits(31)
    partner, name = make_partner(candidate)
    own_seat = int(choice.seat) if choice.seat in ("0", "1") else None
    source = make_source(choice.source, data_dir)
    adviser = make_adviser(choice.hints)
    if isinstance(partner, LLMPartner):
        partner.check_key()
    check_game([partner, getattr(getattr(adviser, "hinter", None), "partner", None)], rules, source)
    return Sitting(partner, name, source, rules, seed, book, own_seat, adviser, choice.hints)


def setup_page(
    menu: OccupantMenu, choice: GameChoice, data_dir: Path | None, reason: str = "", *, lost: bool = False
) -> Markup:
    """The first page: an introduction and the form; ``reason``: what was wrong with it, ``lost``: a game was."""
    cards = {name: sentence for name, sentence in FEATURED.items() if name in menu.candidates}
    if choice.partner not in cards and not choice.typed:
        choice = choice._replace(typed=menu.names.get(choice.partner, choice.partner))
    options = {
        "seat": SEATS,
        "source": source_choices(data_dir),
        "hints": {mode: HINT_LABELS[mode] for mode in HINT_MODES},
        "disagree": DISAGREE,
        "messages": MESSAGES,
    }
    return render("play", "setup", choice, menu, cards, options, reason, lost)


def warm_up() -> None:
    """Load what most games need before a visitor waits for it."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one game at a time: more PyTorch threads only wait
    if "expert" in catalogue():
        _cached_partner(Spec("expert"))
    open_source("lewis").block(0, 0, 1)


def _is_present(key: str, data_dir: Path | None) -> bool:
    """Whether the file of a source is in the data folder; damage is found when it is read."""
    name, _, split = key.partition("/")
    file = {"self_play": "selfplay.txt", "dialogues": f"{split}.txt"}.get(name)
    folder = DEFAULT_DATA_DIR if data_dir is None else user_path(data_dir)
    return file is None or (folder / file).is_file()


@lru_cache(maxsize=8)  # a network's weights stay in memory
def _cached_partner(spec: Spec) -> Partner:
    return seat_occupant(spec, one_game=True)
