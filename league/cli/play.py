"""What ``scripts/play.py`` does with its arguments: a person and a partner at a table, game by game, recorded.

A game is played by the one play loop and kept by the one record, so that what a person did can be replayed, counted
and compared like anything else. A record is written as soon as its game is over: whoever leaves loses no finished one.
"""

from __future__ import annotations

import io
import os
import secrets
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from dond_marl.errors import InputError
from dond_marl.game import Rules, Triple, rest
from dond_marl.occupants import seat_occupant, spec_name
from dond_marl.records.record import GameRecord, RecordError, from_json, replay, to_line
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Cause
from dond_marl.splits import grid
from dond_marl.yardsticks.solve import solve
from league.cli.league import INTERRUPTED, RUN_ERROR, USAGE_ERROR, USER_ERRORS
from league.display.game import (
    LeftTheTable,
    Terminal,
    conversation,
    ending,
    frontier_table,
    inert,
    opening,
    values_table,
)
from league.display.session import RECORDS, Sitting, best_response_game, play_game, tally, write_down
from league.display.typed import help_line
from partners.human import Human

MOST_GAMES = 1000


class Request(NamedTuple):
    """Whom to seat, what to play, and where to write it down."""

    partner: str
    seat: str  # "0", "1" or "random"
    scenarios: str
    split: str | None
    data_dir: Path | None
    seed: int | None
    games: int
    max_turns: int
    disagree: str
    record: Path | None
    no_color: bool


class UsageError(InputError):
    """Arguments that cannot be used, in one line."""


def main(given: Request) -> int:
    """Play; the exit code is 0, 1 (the partner or the file), 2 (the arguments) or 130 (interrupted)."""
    _forgive_foreign_characters()
    played: list[GameRecord] = []
    book: Path | None = None
    try:
        sitting = _checked(given)
        book = sitting.book
        screen = Terminal(Console(highlight=False, color_system=None if given.no_color else "auto"))
        _play(screen, sitting, given.games, played)
    except (*USER_ERRORS, UsageError) as error:
        return _failed(str(error), USAGE_ERROR)
    except LeftTheTable:
        print(inert(_farewell(played, book)))  # the command talks to a person
    except KeyboardInterrupt:
        return _failed(f"\n{_farewell(played, book)}", INTERRUPTED)
    except (OccupantError, OSError) as error:
        return _failed(str(error), RUN_ERROR)
    return 0


def _checked(given: Request) -> Sitting:
    """The sitting, once every argument is known to be usable; raises what says what is wrong."""
    try:
        rules = Rules(given.max_turns, given.disagree)  # type: ignore[arg-type]  # it checks
    except ValueError as error:
        raise UsageError(f"--{str(error).replace('max_turns', 'max-turns', 1)}") from None
    if not 1 <= given.games <= MOST_GAMES:
        raise UsageError(f"--games must be an integer in 1..{MOST_GAMES}; got {given.games}")
    if given.seed is not None and not 0 <= given.seed < 2**63:
        raise UsageError(f"--seed must be an integer in 0..2**63 - 1; got {given.seed}")
    source = open_source(given.scenarios, split=given.split, data_dir=given.data_dir)
    partner, name = seat_occupant(given.partner), spec_name(given.partner)
    seed = secrets.randbits(31) if given.seed is None else given.seed  # a person wants another game every time
    seat = None if given.seat == "random" else int(given.seat)
    book = _writable(given.record)
    return Sitting(partner, name, source, rules, seed, book, seat)


def _writable(asked: Path | None) -> Path:
    """The file of records: one that can be made, or one that holds records already."""
    path = RECORDS if asked is None else asked.expanduser()
    try:
        if asked is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise UsageError(f"--record {path}: no file can be written there; name one in a folder that exists")
        held = path.read_text(encoding="utf-8") if path.is_file() else ""
        if held:
            from_json(held.splitlines()[-1])
        if held and not held.endswith("\n"):
            raise RecordError
    except OSError as error:
        raise UsageError(f"--record {path}: {error.strerror}; name another file") from None
    except (RecordError, UnicodeDecodeError):
        raise UsageError(f"--record {path}: its last line is no whole game record; name another file") from None
    return path


def _play(screen: Terminal, sitting: Sitting, games: int, played: list[GameRecord]) -> None:
    """Game after game; each is added to ``played`` once it is written down."""
    screen.say(f"scenarios: {sitting.source.label}, seed {sitting.seed}")
    screen.say(help_line(sitting.rules))
    seats = [sitting.seat_of(number) for number in range(games)]
    for number, seat in enumerate(seats):
        screen.say("")
        screen.say(opening(sitting.name, seat, sitting.rules, number + 1, games), "bold")
        record = play_game(sitting, Human(screen), seat, number)
        _recorded(record, sitting.book)
        played.append(record)
        _show_end(screen, record, seat)
        _show_best(screen, sitting, seat, number)
        screen.say(f"recorded in {sitting.book}", wrap=False)
    if games > 1:
        _, deals, mine, theirs = tally(list(zip(played, seats, strict=True)))
        screen.say("")
        screen.say(f"{games} games, {deals} deals: you {mine:.2f}, they {theirs:.2f} points of ten", "bold")


def _recorded(record: GameRecord, book: Path) -> None:
    try:
        write_down(record, book)
    except OSError as error:
        message = f"{book}: {error.strerror}; the game that could not be recorded: {to_line(record)}"
        raise OSError(message) from error


def _show_end(screen: Terminal, record: GameRecord, seat: int) -> None:
    """What the person has not heard yet, who got what, and what was possible."""
    state = replay(record)
    said_last = (len(state.history) - 1) % 2
    unheard = 1 if said_last == seat else 2
    screen.show("", conversation(state, seat, max(len(state.history) - unheard, 0)), "")
    screen.say(ending(state, seat), "bold green" if record.outcome.deal else "bold red")
    for cause in sorted(set(record.causes) - {Cause.FREE}):
        number, whose = record.causes.count(cause), Cause(cause).name
        screen.say(f"{number} of their acts stood in for their own choice ({whose})", "yellow")
    screen.show(values_table(state, seat), "", "The Pareto frontier, where more for one is less for the other:")
    screen.show(frontier_table(_frontier(record, seat), state, seat))


def _frontier(record: GameRecord, seat: int) -> list[Triple]:
    """What ``seat`` keeps in each split that no other dominates."""
    solved = solve(pack([record.scenario]))
    firsts: list[Triple] = [(a, b, c) for a, b, c in grid(solved.max_count)[solved.pareto.splits[0]].tolist()]
    return firsts if seat == 0 else [rest(record.scenario.counts, first) for first in firsts]


def _show_best(screen: Terminal, sitting: Sitting, seat: int, number: int) -> None:
    """The best response's points in the same game; nothing where it is not known exactly."""
    record = best_response_game(sitting, seat, number)
    if record is None:
        return
    score, how = record.outcome.scores[seat], "" if record.outcome.deal else ", for want of a deal"
    screen.say(
        f"\nThe best response to {sitting.name}, which knows how it answers but not its values, gets {score} here{how}."
    )


def _farewell(played: list[GameRecord], book: Path | None) -> str:
    """What is left of the sitting of somebody who leaves."""
    if not played:
        return "left the table: no game was finished"
    return f"left the table: {len(played)} finished game{'s are' if len(played) > 1 else ' is'} in {book}"


def _forgive_foreign_characters() -> None:
    """Read what is no text, and show what the terminal's encoding lacks, as question marks instead of failing."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _failed(message: str, code: int) -> int:
    print(inert(message), file=sys.stderr)  # the command talks to a person
    return code
