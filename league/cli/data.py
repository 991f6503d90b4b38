"""What ``scripts/transcripts.py`` does with its arguments: import games as JSON lines, replay them, show them."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dond_marl.dialogues.games import games
from dond_marl.envs.openspiel.instances import InstanceError, load_instances
from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import OccupantNameError, seat_occupant, spec_name
from dond_marl.records.files import InexactGame, read_lines, write_lines
from dond_marl.records.record import GameRecord, RecordError, records, replay
from dond_marl.records.transcript import transcript
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.data import DIALOGUE_SPLITS, DataError

USAGE_ERROR, RUN_ERROR = 2, 1


class Dialogues(NamedTuple):
    """Talks between people, to be written as games."""

    data_dir: Path | None
    splits: list[str]
    out: Path


class OpenSpiel(NamedTuple):
    """OpenSpiel's instances, to be played by two occupants, each opening once, and written as games."""

    file: Path | None
    max_count: int
    partners: tuple[str, str]
    seed: int
    out: Path


class Replay(NamedTuple):
    """A file of games, to be replayed; ``show`` of them are told in words."""

    file: Path
    show: int


class UsageError(InputError):
    """Arguments that cannot be used, in one line."""


def main(given: Dialogues | OpenSpiel | Replay) -> int:
    """Do it; the exit code is 0, 1 (a game or a file) or 2 (the arguments, or data that is not there)."""
    try:
        if isinstance(given, Dialogues):
            _say(_written(given.out, _talks(given)))
        elif isinstance(given, OpenSpiel):
            _import_openspiel(given)
        else:
            _replay(given)
    except (DataError, InstanceError, OccupantNameError, UsageError) as error:
        return _failed(str(error), USAGE_ERROR)
    except (RecordError, OccupantError, OSError) as error:
        return _failed(str(error), RUN_ERROR)
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    return 0


def _talks(given: Dialogues) -> Iterator[GameRecord | InexactGame]:
    for split in given.splits or DIALOGUE_SPLITS:
        yield from games(split, given.data_dir)


def _import_openspiel(given: OpenSpiel) -> None:
    if given.seed < 0:
        raise UsageError(f"--seed must be an integer of at least 0; got {given.seed}")
    instances = load_instances(given.file, given.max_count)
    if instances.refusal:
        print(instances.refusal, file=sys.stderr)  # the command talks to a person
    source = instances.source
    names = tuple(spec_name(spec) for spec in given.partners)
    seated = [seat_occupant(spec) for spec in given.partners]
    played = []
    for opener in (0, 1):
        pair = (seated[opener], seated[1 - opener])
        found = rollout(pair, instances.scenarios, Rules(), seed=given.seed, index=(opener,), prior=source.prior)
        who = (names[opener], names[1 - opener])
        played.append(records(found, who, source=source.label, seed=given.seed))
    _say(_written(given.out, itertools.chain(*played)))


def _written(path: Path, found: Iterator[GameRecord | InexactGame]) -> str:
    exact, inexact = write_lines(path, found)
    marked = f", {inexact:,} more that are no exact games, marked with the reason" if inexact else ""
    return f"written: {path}, {exact:,} games that replay exactly{marked}"


def _replay(given: Replay) -> None:
    exact, endings, reasons = 0, Counter[str](), Counter[str]()
    for number, game in enumerate(read_lines(given.file), start=1):
        if number <= given.show:
            _say(f"{transcript_of(given.file, number, game)}\n")
        if isinstance(game, InexactGame):
            reasons["".join(letter for letter in game.inexact.split(":")[0] if not letter.isdigit())] += 1
            continue
        try:
            replay(game)
        except RecordError as error:
            raise RecordError(f"{given.file}:{number}: {error}") from None
        exact += 1
        endings[game.outcome.ending.name] += 1
    told = ", ".join(f"{name} {times:,}" for name, times in endings.most_common())
    _say(f"{exact:,} games replay to the outcome they state ({told})" if exact else "no exact game")
    for reason, times in reasons.most_common():
        _say(f"  {times:,} are no exact games: {' '.join(reason.split())}")


def transcript_of(file: Path, number: int, game: GameRecord | InexactGame) -> str:
    """One game in words. Raises :class:`RecordError`, naming file and line."""
    try:
        return transcript(game)
    except RecordError as error:
        raise RecordError(f"{file}:{number}: {error}") from None


def _say(text: str) -> None:
    print(text)  # the command talks to a person


def _failed(message: str, code: int) -> int:
    print(message, file=sys.stderr)  # the command talks to a person
    return code
