"""Recorded games: files of records, games in memory, the names of their players, and a person's scores."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from dond.charts import ChartPoint
from dond.table.session import NAME, points_of_ten
from dond.web.frame import render
from dond_marl.occupants import short_names
from dond_marl.records.files import read_lines
from dond_marl.records.record import GameRecord, RecordError
from dond_marl.rollout import Noise
from dond_marl.scenarios.sources import pack
from dond_marl.statistics import Estimate, mean_over_scenarios, scenario_groups
from league.tables.figures import count_noun
from partners.scripted.generated import describe_spec, name_programs, nickname

MAX_FILE = 64 * 2**20  # bytes of a file of records
PERSON = "Person"  # on pages of recorded games
MAX_NAME = 80  # characters of a name on a page
CONFIDENCE = 0.95
MAX_CURVE = 60  # points of a curve
MAX_STORED = 256  # games that are held in memory for their pages


class RecordStore:
    """Games of the arena, of watched leagues and of opened files, in memory by a random token; the oldest go first."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, tuple[GameRecord, bool]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, record: GameRecord, *, opened: bool = False) -> str:
        """Store a game; its token. ``opened``: a visitor opened it from a file."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._records[token] = record, opened
            while len(self._records) > MAX_STORED:
                self._records.popitem(last=False)
        return token

    def get(self, token: str) -> tuple[GameRecord, bool]:
        """A stored game, and whether it was opened from a file. Raises :class:`RecordError` for an unknown token."""
        with self._lock:
            if token not in self._records:
                raise RecordError("this game is no longer in memory; play it again")
            return self._records[token]


def read_records(path: Path) -> tuple[list[GameRecord], int]:
    """The exact games of a file, and the number of inexact ones. Raises :class:`RecordError`, ``OSError``."""
    if path.stat().st_size > MAX_FILE:
        raise RecordError(f"{path} holds more than {MAX_FILE >> 20} MiB of games; split it")
    games = list(read_lines(path))
    exact = [game for game in games if isinstance(game, GameRecord)]
    return exact, len(games) - len(exact)


def name_occupants(records: Sequence[GameRecord], noise: Noise) -> list[GameRecord]:
    """Games that were played with ``noise``, with the program of each game where an occupant draws one."""
    named = (name_programs(records[0].occupants[seat], noise.game_noise(seat)[:, 0]) for seat in (0, 1))
    return [replace(record, occupants=(first, second)) for record, first, second in zip(records, *named, strict=True)]


def replay_files(book: Path, folder: Path) -> dict[str, Path]:
    """Files of games by name: the person's own, then the files of records under ``folder``, newest first."""
    files = [path for path in folder.rglob("*.jsonl") if path.is_file()] if folder.is_dir() else []
    files.sort(key=lambda path: (-path.stat().st_mtime, str(path)))
    return {str(path): path for path in [*([book] if book.is_file() else []), *files]}


def game_of(files: Mapping[str, Path], name: str, number: int) -> GameRecord:
    """Exact game ``number``, from 1, of the file ``name`` among ``files``. Raises :class:`RecordError`, ``OSError``."""
    if name not in files:
        raise RecordError("no file of that name can be replayed here")
    exact = read_records(files[name])[0]
    if not 1 <= number <= len(exact):
        raise RecordError(f"{name} has no game {number}: it holds {len(exact)}")
    return exact[number - 1]


def is_person(name: str) -> bool:
    """Whether a name in a record stands for a person, with or without hints."""
    return name == NAME or name.startswith(f"{NAME}(")


def title(record: GameRecord) -> str:
    """A game in one line: names, scores and number of acts."""
    first, second = display_names(record)
    scores = f"{record.outcome.scores[0]} : {record.outcome.scores[1]}" if record.outcome.deal else "no deal"
    return f"{first} and {second}: {scores}, {count_noun(len(record.actions), 'act')}"


def display_names(record: GameRecord) -> tuple[str, str]:
    """The occupants' names for a page: in words or with shortened paths, printable, at most ``MAX_NAME`` characters."""
    short = short_names(record.occupants)
    first, second = (_on_a_line(_in_words(name) or short.get(name, name)) for name in record.occupants)
    return first, second


def _in_words(name: str) -> str:
    """The name of a person or of one generated program; empty for other occupants."""
    return nickname(name) or (PERSON + ", with hints" * (name != NAME) if is_person(name) else "")


def _on_a_line(name: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in name[: MAX_NAME + 1])
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…"


def seat_names(record: GameRecord) -> tuple[str, str]:
    """Names of both seats: the occupants', with who opens added if they are equal."""
    first, second = display_names(record)
    return (f"{first}, who opens", f"{second}, who answers") if first == second else (first, second)


class PartnerScore(NamedTuple):
    """Results of a person's games against one partner, oldest first."""

    partner: str
    advised: bool
    points: Estimate  # points of ten
    partner_points: float  # points of ten
    deals: int
    best: float  # points of ten of the best game
    curve: tuple[ChartPoint, ...]  # by number of games, the mean of all until then


def scores_of(records: Sequence[GameRecord]) -> list[PartnerScore]:
    """Results by partner, most games first; games with hints apart. Games need exactly one person to count."""
    games: dict[tuple[str, bool], list[tuple[GameRecord, int]]] = {}
    for record in records:
        people = [seat for seat in (0, 1) if is_person(record.occupants[seat])]
        if len(people) == 1:
            seat = people[0]
            partner = "strangers" if describe_spec(record.occupants[1 - seat]) else display_names(record)[1 - seat]
            key = partner, record.occupants[seat] != NAME
            games.setdefault(key, []).append((record, seat))
    scores = [_score(partner, advised, played) for (partner, advised), played in games.items()]
    return sorted(scores, key=lambda score: -score.points.n)


def _score(partner: str, advised: bool, played: list[tuple[GameRecord, int]]) -> PartnerScore:
    persons = np.array([points_of_ten(record, seat) for record, seat in played])
    partners = [points_of_ten(record, 1 - seat) for record, seat in played]
    groups = scenario_groups(pack([record.scenario for record, _ in played]))
    after = np.unique(np.linspace(1, len(played), min(len(played), MAX_CURVE)).round().astype(int)).tolist()
    curve = tuple(ChartPoint(n, mean_over_scenarios(persons[:n], groups[:n], CONFIDENCE)) for n in after)
    deals = sum(record.outcome.deal for record, _ in played)
    return PartnerScore(
        partner, advised, curve[-1].value, sum(partners) / len(partners), deals, float(persons.max()), curve
    )


def scores_page(book: Path) -> Markup:
    """The page of the games in ``book``. Raises :class:`~dond_marl.records.record.RecordError`, ``OSError``."""
    records = read_records(book)[0] if book.is_file() else []
    return render("scores", "page", score_overview(records), book)


def score_overview(records: Sequence[GameRecord]) -> Markup:
    """A card for each partner, with mean figures and the curve of the running mean; a sentence for no game."""
    return render("scores", "overview", scores_of(records), CONFIDENCE)
