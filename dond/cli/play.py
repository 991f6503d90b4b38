r"""Play yourself: negotiate with any partner, in short commands or in sentences.

Each game is recorded as soon as it is over, so quitting loses no finished game.

examples:
  dond play --partner expert
  dond play --partner generated    # a stranger: another program each game, named afterwards
  dond play --partner announcer --messages    # each act with a line of text
  dond play --partner "boulware(exponent=2)" --seat 0 --games 3 --max-turns 6
  dond play --partner heuristic --scenarios self_play --data-dir FOLDER \
      --disagree rejects
  dond play --partner expert --seed 7    # the same games again
"""

from __future__ import annotations

import os
import secrets
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console

from dond.cli.shell import FILE, SEED, Command, dond, game_options, integer, trust_option
from dond.cli.stops import STOPS
from dond.table.game import (
    LeftTheTable,
    Terminal,
    conversation,
    ending,
    frontier_table,
    opening,
    values_table,
)
from dond.table.session import RECORDS, Sitting, TableSession, tally, write_down
from dond.table.typed_lines import help_line
from dond_marl.errors import InputError, printable_text
from dond_marl.files import refuse_link
from dond_marl.game import MESSAGE_LENGTH, SEATS, Disagree, Rules, as_seat
from dond_marl.occupants import expand_run_name, seat_occupant
from dond_marl.records.record import GameRecord, RecordError, from_json, replay, to_line
from dond_marl.records.transcript import as_message
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from league.tables.figures import count_noun
from partners.equilibrium import check_game
from partners.llm.partner import LLMPartner
from partners.scripted.generated import describe_spec

MOST_GAMES = 1000
# The default partner: the shipped expert, unless the library that reads its weights is missing.
DEFAULT = "expert" if find_spec("safetensors") else "heuristic"


@click.command(cls=Command, help=__doc__)
@click.option(
    "--partner",
    default=DEFAULT,
    metavar="OCCUPANT",
    help=f"a name of dond catalogue, or name(parameter=value), or a run such as runs/ppo_fast ({DEFAULT})",
)
@click.option(
    "--seat", type=click.Choice(["0", "1", *SEATS, "random"]), default="random", help="yours; 0 opens (random)"
)
@game_options("train")
@click.option("--seed", type=SEED, metavar="N", help="random seed (a new one every time; it is shown)")
@click.option("--games", type=integer(1, MOST_GAMES), default=1, metavar="N", help="one after the other (1)")
@click.option("--messages", is_flag=True, help=f"each act may carry a message of {MESSAGE_LENGTH} characters")
@click.option("--record", type=FILE, metavar="FILE", help=f"games are added here as JSON lines ({RECORDS})")
@trust_option
def command(
    partner: str,
    seat: str,
    scenarios: str | None,
    split: str | None,
    data_dir: Path | None,
    seed: int | None,
    games: int,
    max_turns: int | None,
    disagree: Disagree | None,
    messages: bool,
    record: Path | None,
    trust: bool,
) -> None:
    """Play games with a person at the terminal."""
    source = open_source(scenarios or "lewis", split=split, data_dir=data_dir)
    spec = expand_run_name(partner, trust=trust)
    occupant, name = seat_occupant(spec, one_game=True), spec.text
    rules = Rules(max_turns or Rules().max_turns, disagree or "ends", MESSAGE_LENGTH if messages else 0)
    check_game([occupant], rules, source)
    if isinstance(occupant, LLMPartner):
        occupant.check_key()
    seed = secrets.randbits(31) if seed is None else seed  # a person wants another game every time
    persons_seat, book = None if seat == "random" else as_seat(seat), _writable(record)
    table = TableSession(Sitting(occupant, name, source, rules, seed, book, persons_seat))
    STOPS.message = lambda: _farewell(len(table.played), book)
    try:
        _play(Terminal(Console(highlight=False)), table, games)
    except LeftTheTable:
        click.echo(printable_text(_farewell(len(table.played), book)))


def _writable(record: Path | None) -> Path:
    """The file of records: a new one, or one that holds records already."""
    path = record or RECORDS
    try:
        if record is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        refuse_link(path)
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise InputError(f"--record {path}: no file can be written there; name one in a folder that exists")
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        if text:
            from_json(text.splitlines()[-1])
        if text and not text.endswith("\n"):
            raise RecordError
    except OSError as error:
        raise InputError(f"--record {path}: {error.strerror}; name another file") from None
    except (RecordError, UnicodeDecodeError):
        raise InputError(f"--record {path}: its last line is no whole game record; name another file") from None
    return path


def _play(screen: Terminal, table: TableSession, games: int) -> None:
    sitting, rules = table.sitting, table.sitting.rules
    screen.write(f"scenarios: {sitting.source.label}, seed {sitting.seed}")
    screen.write(help_line(rules))
    for number in range(games):
        if number:
            table.begin(number)
        screen.write("")
        screen.write(opening(sitting.short_name, table.seat, rules, number + 1, games), "bold")
        _play_game(screen, table)
        record, seat = table.played[-1]
        _save_record(record, sitting.book)
        _show_end(screen, record, seat)
        partner = record.occupants[1 - seat]
        if words := describe_spec(partner):  # a generated one
            screen.write(f"\nYour partner was {partner}: {words}.")
            screen.write(f"Meet it again: {dond('play', '--partner', partner)}", wrap=False)
        _show_best(screen, table)
        screen.write(f"recorded in {sitting.book}", wrap=False)
    if games > 1:
        deals, persons, other = tally(table.played)
        outcome = f"{games} games, {count_noun(deals, 'deal')}"
        screen.write(f"\n{outcome}: you {persons:.2f}, they {other:.2f} points of ten", "bold")


def _play_game(screen: Terminal, table: TableSession) -> None:
    """Play the dealt game to its end. Raises :class:`LeftTheTable`, and ``OccupantError`` where the partner fails."""
    while not table.is_over:
        view = table.view
        if view is None:
            table.proceed(table.next_turn())
        else:
            action = screen.ask(view)
            length = view.state.rules.message_length
            message = as_message(screen.message(view), length) if length else ""
            table.play(action, screen.words, message)


def _save_record(record: GameRecord, book: Path) -> None:
    try:
        write_down(record, book)
    except OSError as error:
        message = f"{book}: {error.strerror}; the game that could not be recorded: {to_line(record)}"
        raise OSError(message) from error


def _show_end(screen: Terminal, record: GameRecord, seat: int) -> None:
    state = replay(record)
    last_mover = (len(state.history) - 1) % 2
    unseen = 1 if last_mover == seat else 2
    screen.show("", conversation(state, seat, max(len(state.history) - unseen, 0)), "")
    screen.write(ending(state, seat), "bold green" if record.outcome.deal else "bold red")
    for cause in sorted(set(record.causes) - {Cause.FREE}):
        number, reason = record.causes.count(cause), Cause(cause).name
        screen.write(f"{number} of their acts were fallbacks ({reason})", "yellow")
    screen.show(values_table(state, seat), "", "The Pareto frontier:")
    screen.show(frontier_table(state, seat))


def _show_best(screen: Terminal, table: TableSession) -> None:
    record = table.best_response()
    if record is None:
        return
    score, reason = record.outcome.scores[table.seat], "" if record.outcome.deal else ", for want of a deal"
    screen.write(
        f"\nThe best response to {table.sitting.short_name}, which knows its policy but not its values, gets {score} "
        f"here{reason}."
    )


def _farewell(games: int, book: Path) -> str:
    if not games:
        return "left the table: no game was finished"
    return f"left the table: {games} finished game{'s are' if games > 1 else ' is'} in {book}"
