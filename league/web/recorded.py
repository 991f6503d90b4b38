"""Recorded games act by act: files of records, and policies, beliefs, hints and best responses evaluated at a step.

A record holds acts, not their reasons. Where the name of an occupant can be resolved, its policy is evaluated on the
recorded state; so are an adviser and the exact best response to the other seat.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import SEATS, Act, Action, Triple
from dond_marl.occupants import short_names
from dond_marl.records.files import read_lines
from dond_marl.records.record import GameRecord, RecordError
from dond_marl.rollout import Noise
from dond_marl.seats import HintSource, Partner
from dond_marl.splits import action_at
from dond_marl.yardsticks.adaptive import is_enumerable
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.recognition import Believes
from dond_marl.yardsticks.replies import Probable
from league.display.game import Step
from league.tables.figures import count_noun
from league.web.live_game import Hint, decode_hint
from partners.best_response import BestResponse

MAX_FILE = 64 * 2**20  # bytes of a file of records
MAX_NAME = 80  # characters of a name on a page
MAX_BARS = 6  # acts of a policy that are shown
MAX_MEMBERS = 4  # members whose probability is shown
MAX_STORED = 256  # games that are held in memory for their pages


class PolicyBar(NamedTuple):
    """One act and its probability under a policy."""

    action: Action
    probability: float
    chosen: bool  # it is the recorded act


class Beliefs(NamedTuple):
    """A policy's beliefs on its partner at a step."""

    values: tuple[tuple[float, ...], ...]  # for each item: the probability of 0..10 points
    members: tuple[tuple[str, float], ...]  # the likeliest members of a population, likeliest first


class RecordStore:
    """Games of the arena, of watched leagues and of opened files, in memory by a random token; the oldest go first."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, tuple[GameRecord, bool]] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, record: GameRecord, *, trusted: bool) -> str:
        """Store a game; its token. ``trusted``: played here, so that its names may open what visitors may open."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._records[token] = record, trusted
            while len(self._records) > MAX_STORED:
                self._records.popitem(last=False)
        return token

    def get(self, token: str) -> tuple[GameRecord, bool]:
        """A stored game, and whether it is trusted. Raises :class:`RecordError` for an unknown token."""
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
    return name == "human" or name.startswith("human(")


def title(record: GameRecord) -> str:
    """A game in one line: names, scores and number of acts."""
    first, second = display_names(record)
    scores = f"{record.outcome.scores[0]} : {record.outcome.scores[1]}" if record.outcome.deal else "no deal"
    return f"{first} and {second}: {scores}, {count_noun(len(record.actions), 'act')}"


def prior_of(record: GameRecord) -> str:
    """The name of the scenario distribution that both seats knew, from the record's source label."""
    return (record.source or "").split(",")[0]


def policy(partner: Partner, step: Step, prior: str) -> tuple[PolicyBar, ...]:
    """The likeliest acts of ``partner`` at a step before the end, likeliest first.

    Raises :class:`NotComputable` for a random partner without probabilities, and whatever the partner raises.
    """
    turn = turn_of(step.state, prior=prior)
    sampling_policy = getattr(
        partner, "sampling_policy", None
    )  # the sampling policy of an occupant that plays its likeliest act
    partner = sampling_policy() if callable(sampling_policy) else partner
    if isinstance(partner, Probable):
        biggest = max(step.state.scenario.counts)
        probs = partner.probs(turn, biggest)[0]
        order = np.argsort(-probs, kind="stable")[:MAX_BARS].tolist()
        likely = [(_action_at(number, biggest), float(probs[number])) for number in order if probs[number] > 0]
    elif partner.traits.deterministic:
        likely = [(only_action(partner.act(turn)), 1.0)]
    else:
        raise NotComputable("it is random, and its probabilities are not known")
    return tuple(PolicyBar(action, chance, action == step.action) for action, chance in likely)


def beliefs(partner: Partner, step: Step, prior: str) -> Beliefs | None:
    """The beliefs of ``partner`` on its partner at a step; ``None`` for policies without beliefs."""
    guess = partner.beliefs(turn_of(step.state, prior=prior)) if isinstance(partner, Believes) else None
    if guess is None:
        return None
    chances = guess.identity[0].tolist() if guess.members else []
    members = sorted(zip(guess.members, chances, strict=True), key=lambda each: -each[1])
    return Beliefs(tuple(tuple(map(float, item)) for item in guess.values[0]), tuple(members[:MAX_MEMBERS]))


def advice(adviser: HintSource, step: Step, prior: str) -> Hint | None:
    """The hint of an adviser at a step before the end, if it gives one."""
    noise = None if adviser.deterministic else Noise(0, (), 1).hint_noise(step.number)
    return decode_hint(
        adviser.hint_features(turn_of(step.state, prior=prior, noise=noise))[0], step.state.scenario.counts
    )


def best_answer(partner: Partner, step: Step, prior: str) -> Action:
    """The act of the exact best response to ``partner`` at a step before the end. Raises :class:`NotComputable`."""
    rules = step.state.rules
    if rules.secret_claims:
        raise NotComputable("nothing binds before the secret claims")
    if not exact_by_answers(partner, rules) and not (partner.traits.deterministic and is_enumerable(partner, rules)):
        raise NotComputable("it is exact only against a deterministic partner with a known memory")
    return only_action(BestResponse(partner).act(turn_of(step.state, prior=prior)))


def _action_at(number: int, max_count: int) -> Action:
    """The action of a flat index of :mod:`dond_marl.splits`."""
    act, oA = action_at(number, max_count)
    split: Triple = tuple(oA.tolist())
    return Action(Act(int(act)), split)


def display_names(record: GameRecord) -> tuple[str, str]:
    """The occupants' names for a page: paths shortened, printable, at most ``MAX_NAME`` characters."""
    short = short_names(record.occupants)
    first, second = (_on_a_line(short.get(name, name)) for name in record.occupants)
    return first, second


def _on_a_line(name: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in name[: MAX_NAME + 1])
    return plain if len(plain) <= MAX_NAME else f"{plain[: MAX_NAME - 1]}…"


def seat_names(record: GameRecord) -> tuple[str, str]:
    """Names of both seats: the occupants', with the seat added if they are equal."""
    first, second = display_names(record)
    return (f"{first} ({SEATS[0]})", f"{second} ({SEATS[1]})") if first == second else (first, second)
