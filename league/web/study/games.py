"""The games of a study as those who analyse them see them: one row a participant and game, without who they are.

Participants get new numbers, and games follow them. Their order is that of a digest of the export's seed and of what
only the journal holds, so that nobody without the journal can undo it. The scenarios stay: whoever knows the study's
seed can tell from them in which order the participants of a condition came. Whoever has withdrawn is left out, with the
games of whoever played with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from league.web.study.progress import Participant, Progress, Table
from league.web.study.settings import PERSON

STAND_IN = "_stand_in"  # what a condition is called where nobody came


class Seen(NamedTuple):
    """A game as one participant played it."""

    game: int  # from 1; the same for both people of a table
    participant: int  # from 1
    cluster: int  # the smallest number among those whose games go together: who met, directly or through others
    order: int  # of the participant's games, from 1
    condition: str  # with STAND_IN where nobody came
    seat: int
    table: Table

    @property
    def other(self) -> int | None:
        """The journal's number of the other person; ``None`` for an occupant."""
        return self.table.players[1 - self.seat]


class Shuffled(NamedTuple):
    """What may leave the study: participants by new number, the old ones' places, and every game."""

    people: dict[int, Participant]  # by new number
    numbers: dict[int, int]  # from the journal's to the new
    games: tuple[Seen, ...]  # by game, then participant


def shuffled(progress: Progress, seed: int) -> Shuffled:
    """Everybody who passed the check and has not withdrawn, in the order of ``seed``."""
    known = [each.number for each in progress.participants if each.place is not None and each.phase != "withdrawn"]
    known.sort(key=lambda number: sha256(f"{seed} {progress.participants[number].key}".encode()).digest())
    numbers = {old: new for new, old in enumerate(known, 1)}
    tables = [table for table in progress.tables if table.why is not None and _all_known(table, numbers)]
    heads = _clusters(tables, numbers)
    rows = []
    tables.sort(key=lambda table: min((numbers[who], _game(table, who)) for who in _people(table)))
    for game, table in enumerate(tables, 1):
        condition = table.condition
        if progress.config.condition(condition).with_a_person and table.partner != PERSON:
            condition += STAND_IN
        for who in sorted(_people(table), key=numbers.__getitem__):
            order_ = _game(table, who) + 1
            seat = table.seat_of(who)
            rows.append(Seen(game, numbers[who], heads[numbers[who]], order_, condition, seat, table))
    people = {numbers[who]: progress.participants[who] for who in known}
    return Shuffled(dict(sorted(people.items())), numbers, tuple(rows))


def _people(table: Table) -> list[int]:
    return [who for who in table.players if who is not None]


def _all_known(table: Table, numbers: dict[int, int]) -> bool:
    return all(who in numbers for who in _people(table))


def _game(table: Table, who: int) -> int:
    game = table.games[table.seat_of(who)]
    assert game is not None
    return game


def _clusters(tables: Sequence[Table], numbers: dict[int, int]) -> dict[int, int]:
    """The head of each new number's cluster."""
    heads = {number: number for number in numbers.values()}

    def head(number: int) -> int:
        while heads[number] != number:
            number = heads[number]
        return number

    for table in tables:
        ends = [head(numbers[who]) for who in _people(table)]
        heads[max(ends)] = min(ends)
    return {number: head(number) for number in heads}
