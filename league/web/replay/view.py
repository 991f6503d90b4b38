"""What there is to see in a recorded game, act by act: both private views, what was said, and what was thought.

A record says what was done, not what was thought. Where an occupant's name is that of somebody who can be asked again,
its policy is: what it would say here and how likely. Advice and the best response are asked anew in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import DondError, error_line
from dond_marl.game import SEATS, Act, Action, Triple
from dond_marl.occupants import short_names
from dond_marl.records.files import read_lines
from dond_marl.records.record import GameRecord, RecordError
from dond_marl.rollout import Noise
from dond_marl.seats import HintSource, Partner
from dond_marl.splits import action_at
from dond_marl.yardsticks.adaptive import is_enumerable
from dond_marl.yardsticks.best_response import exact_by_answers
from dond_marl.yardsticks.replies import Probable
from league.display.game import Step
from league.tables.figures import counted
from league.web.play.live_game import Hint, whispered
from partners.best_response import BestResponse

LARGEST_FILE = 64 * 2**20  # bytes of records that are read
LONGEST_NAME = 80  # characters shown, as many as settings take
MOST_BARS = 6


class Bar(NamedTuple):
    """One act that a policy might choose."""

    action: Action
    probability: float
    chosen: bool  # it is the act that was played


class Thought(NamedTuple):
    """The policy of a seat at a step; ``why_not`` says why it is not known, if so."""

    bars: tuple[Bar, ...] = ()
    why_not: str = ""


def read_records(path: Path) -> tuple[list[GameRecord], int]:
    """The exact games of a file, and how many others it holds. Raises :class:`RecordError`, ``OSError``."""
    if path.stat().st_size > LARGEST_FILE:
        raise RecordError(f"{path} holds more than {LARGEST_FILE >> 20} MiB of games; split it")
    games = list(read_lines(path))
    exact = [game for game in games if isinstance(game, GameRecord)]
    return exact, len(games) - len(exact)


def record_files(folder: Path) -> list[Path]:
    """Every file of records under a folder, the newest first."""
    files = [path for path in folder.rglob("*.jsonl") if path.is_file()] if folder.is_dir() else []
    return sorted(files, key=lambda path: (-path.stat().st_mtime, str(path)))


def replay_files(book: Path, folder: Path) -> list[Path]:
    """What may be replayed: a person's own games first, then every file of games under the folder."""
    return list(dict.fromkeys([*([book] if book.is_file() else []), *record_files(folder)]))


def game_of(files: Sequence[Path], name: str, number: int) -> GameRecord:
    """The exact game of that number, counted from 1, in one of ``files``. Raises :class:`RecordError`, ``OSError``."""
    path = next((path for path in files if str(path) == name), None)
    if path is None:
        raise RecordError("no file of that name can be replayed here")
    exact = read_records(path)[0]
    if not 1 <= number <= len(exact):
        raise RecordError(f"{path} has no game {number}: it holds {len(exact)}")
    return exact[number - 1]


def is_person(name: str) -> bool:
    """Whether an occupant's name in a record is that of a person, advised or not."""
    return name == "human" or name.startswith("human(")


def title(record: GameRecord) -> str:
    """A game in one line."""
    first, second = called(record)
    scores = f"{record.outcome.scores[0]} : {record.outcome.scores[1]}" if record.outcome.deal else "no deal"
    return f"{first} and {second}: {scores}, {counted(len(record.actions), 'act')}"


def prior_of(record: GameRecord) -> str:
    """The distribution that the seats believed in, by the record's label."""
    return (record.source or "").split(",")[0]


def policy(partner: Partner, step: Step, prior: str) -> Thought:
    """The acts that ``partner`` thinks of in a step, likeliest first."""
    if step.action is None:
        return Thought(why_not="the game is over")
    turn = turn_of(step.state, prior=prior)
    try:
        partner = _sampling(partner)
        if isinstance(partner, Probable):
            biggest = max(step.state.scenario.counts)
            probs = partner.probs(turn, biggest)[0]
            order = np.argsort(-probs, kind="stable")[:MOST_BARS]
            likely = [(_numbered(int(number), biggest), float(probs[number])) for number in order if probs[number] > 0]
        elif partner.traits.deterministic:
            likely = [(only_action(partner.act(turn)), 1.0)]
        else:
            return Thought(why_not="it gambles, and does not say how")
    except Exception as error:  # noqa: BLE001  # somebody else's code, asked out of curiosity
        return Thought(why_not=error_line(error))
    return Thought(tuple(Bar(action, p, action == step.action) for action, p in likely))


def advice(whisper: HintSource, step: Step, prior: str) -> Hint | str | None:
    """What an adviser would whisper in a step, or why that is not known."""
    if step.action is None:
        return None
    noise = None if whisper.deterministic else Noise(0, (), 1).hint_noise(step.number)
    turn = turn_of(step.state, prior=prior, noise=noise)
    try:
        return whispered(whisper.hint_features(turn)[0], step.state.scenario.counts)
    except Exception as error:  # noqa: BLE001  # somebody else's code may be asked
        return f"not known: {_told(error)}"


def best_answer(partner: Partner, step: Step, prior: str) -> Action | str:
    """What the exact best response to ``partner`` says in a step, or why that is not known."""
    if step.action is None:
        return "the game is over"
    try:
        rules = step.state.rules
        if rules.secret_claims:
            return "nothing binds before the secret claims"
        if not exact_by_answers(partner, rules) and not (
            partner.traits.deterministic and is_enumerable(partner, rules)
        ):
            return "it is exact only against a partner that does not gamble and says what it remembers"
        return only_action(BestResponse(partner).act(turn_of(step.state, prior=prior)))
    except Exception as error:  # noqa: BLE001  # somebody else's code, asked for everything that it might answer
        return _told(error)


def _told(error: Exception) -> str:
    """The message of a mistake of ours; of another the kind, too."""
    return str(error) if isinstance(error, DondError | ValueError) else error_line(error)


def called(record: GameRecord) -> tuple[str, str]:
    """The occupants' names, short ones where they hold a path, printable and no longer than a line."""
    short = short_names(record.occupants)
    first, second = (_on_a_line(short.get(name, name)) for name in record.occupants)
    return first, second


def _on_a_line(name: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in name[: LONGEST_NAME + 1])
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 1]}…"


def seat_names(record: GameRecord) -> tuple[str, str]:
    """How both seats are called: by their occupants, or by their seats where these are one."""
    first, second = called(record)
    return (f"{first} ({SEATS[0]})", f"{second} ({SEATS[1]})") if first == second else (first, second)


def _sampling(partner: Partner) -> Partner:
    """The policy behind an occupant that only plays its likeliest act."""
    sampled = getattr(partner, "sampled", None)
    return sampled() if callable(sampled) else partner


def _numbered(number: int, max_count: int) -> Action:
    """The act with that number in :mod:`dond_marl.splits`."""
    act, oA = action_at(number, max_count)
    kept: Triple = tuple(oA.tolist())
    return Action(Act(int(act)), kept)
