"""What a league's ledger holds as plain tables, a row per game, act, payoff or rating; each column says what it is.

Rounds and turns are counted from 1 here, as in reports; items are books, hats and balls, in that order. Games and acts
come batch by batch, one seat order of one match at a time, so that a league of any length can be written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import InputError, shown
from dond_marl.game import SEATS, Act, Ending
from dond_marl.seats import Cause, Rows
from dond_marl.statistics import points_of_ten
from league.ledger.ledger import LedgerError, ReadLedger
from league.ledger.replay import orders, played_again
from league.ledger.run_directory import RunDirectory, named_run
from league.standings.findings import findings_of
from league.standings.history import history_of
from league.standings.ladder import ladder_of
from league.tasks.values import Leg

ITEMS = ("books", "hats", "balls")
Kind = Literal["text", "integer", "number", "boolean"]
Batch = Mapping[str, Sequence[Any]]  # by column, all equally long; None: not known


class Column(NamedTuple):
    """One column of a table."""

    name: str
    kind: Kind
    meaning: str


class Exported(NamedTuple):
    """One table: what a row is, its columns, and the batches of its rows, from the folder of a run.

    The last argument of ``batches`` hears of games that cannot be given.
    """

    row: str
    columns: tuple[Column, ...]
    batches: Callable[[ReadLedger, RunDirectory, Callable[[str], None]], Iterator[Batch]]


@contextmanager
def opened(run: Path) -> Iterator[tuple[ReadLedger, RunDirectory]]:
    """The ledger of a run, as it is now, and its folder. Raises :class:`LedgerError` and what naming the run raises."""
    directory = named_run(run)
    with ReadLedger(directory.ledger) as ledger:
        if not ledger.begun:
            raise LedgerError(f"{directory.path}: the run was stopped before it began: there is nothing in its ledger")
        with ledger.still():
            yield ledger, directory


def table(name: str) -> Exported:
    """The table of this name. Raises :class:`dond_marl.errors.InputError`."""
    if name not in TABLES:
        raise InputError(f"there is no table {shown(name)}; there are {', '.join(TABLES)}")
    return TABLES[name]


def _games(ledger: ReadLedger, _: RunDirectory, __: Callable[[str], None]) -> Iterator[Batch]:
    for number in range(ledger.next_round):
        scenarios = ledger.scenarios(number)
        dealt = {item: scenarios.counts[:, k].tolist() for k, item in enumerate(ITEMS)}
        for seat in (0, 1):
            for k, item in enumerate(ITEMS):
                dealt[f"value_{seat}_{item}"] = scenarios.utilities[:, seat, k].tolist()
        for _order, leg in orders(ledger, number):
            facts, tens = leg.facts, points_of_ten(leg.facts["scores"], scenarios.wholes)
            counted = leg.counted
            pairs = {"points": facts["scores"], "of_ten": tens, "fallbacks": facts["fallbacks"]}
            yield {
                **_key(number, leg),
                **dealt,
                **{f"{name}_{seat}": values[:, seat].tolist() for name, values in pairs.items() for seat in (0, 1)},
                "ending": [Ending(code).name for code in facts["ending"].tolist()],
                "deal": (facts["deal"] > 0).tolist(),
                "turns": facts["turns"].tolist(),
                "counted": [True] * len(facts) if counted is None else counted.tolist(),
            }


def _acts(ledger: ReadLedger, directory: RunDirectory, tell: Callable[[str], None]) -> Iterator[Batch]:
    config = ledger.config()
    for number in range(ledger.next_round):
        for order, leg in orders(ledger, number):
            games = played_again(config, ledger, directory.blobs, number, order, leg)
            if isinstance(games, str):
                tell(f"the games of {leg.seats[0]} and {leg.seats[1]} in round {number + 1} {games}")
                continue
            game, turn = np.nonzero(np.arange(games.act.shape[1]) < games.turns[:, None])  # [acts], game by game
            act, oA = games.act[game, turn], games.oA[game, turn]
            offers = act <= Act.INSIST
            items = {
                item: [int(n) if offer else None for n, offer in zip(oA[:, k].tolist(), offers, strict=True)]
                for k, item in enumerate(ITEMS)
            }
            key = _key(number, leg)
            yield {
                **{name: [values[row] for row in game.tolist()] for name, values in key.items()},
                "turn": (turn + 1).tolist(),
                "seat": (turn % 2).tolist(),
                "member": [leg.seats[seat] for seat in (turn % 2).tolist()],
                "act": [Act(code).name for code in act.tolist()],
                **items,
                "cause": [Cause(code).name for code in games.cause[game, turn].tolist()],
                "message": _said(games, game, turn),
            }


def _said(games: Games, game: Rows, turn: Rows) -> list[str | None]:
    """The message beside each act: ``""`` for none in a game with messages, nothing in one without."""
    if games.messages is not None:
        said: list[str | None] = games.messages[game, turn].tolist()
        return said
    return ["" if games.rules.message_length else None] * len(game)


def _key(number: int, leg: Leg) -> dict[str, list[Any]]:
    """Which games these are."""
    size = len(leg.facts)
    return {
        "round": [number + 1] * size,
        "seat_0": [leg.seats[0]] * size,
        "seat_1": [leg.seats[1]] * size,
        "game": list(range(1, size + 1)),
    }


def _payoffs(ledger: ReadLedger, _: RunDirectory, __: Callable[[str], None]) -> Iterator[Batch]:
    config = ledger.config()
    cross = history_of(ledger, config).cross
    rows = []
    for member in cross.members:
        for against in cross.members:
            legs, seats = cross.cells.met(cross.place[member], [cross.place[against]])
            for seat in (0, 1):
                own = seats == seat
                if own.any():
                    points = cross.cells.points(legs[own], seats[own], config.league.confidence)
                    deals = cross.cells.deals(legs[own], config.league.confidence).mean
                    rows.append((member, seat, against, points.n, *map(_known, (*_ends(points), deals))))
    yield _batch("payoffs", rows)


def _ratings(ledger: ReadLedger, _: RunDirectory, __: Callable[[str], None]) -> Iterator[Batch]:
    config = ledger.config()
    cross, roles = history_of(ledger, config).cross, {member.name: member.role for member in ledger.members()}
    found = findings_of(ledger, cross, seed=config.league.seed, confidence=config.league.confidence)
    rows = []
    for rank, row in enumerate(ladder_of(cross, config.league.confidence), start=1):
        rated: list[float | None] = [None] * 15
        if found is not None and row.member in found.members:
            place = found.members.index(row.member)
            every = (found.take, found.give, found.duplicates, *(found.deviation.at(seat) for seat in (0, 1)))
            rated = [_known(value) for rating in every for value in rating.at(place)]
        figures = [_known(value) for points in (row.points, *row.as_seat) for value in _ends(points)]
        first = (row.member, roles[row.member], rank if row.ranked else None, row.points.n)
        rows.append((*first, *figures, _known(row.deals), *rated))
    yield _batch("ratings", rows)


def _ends(figure: Any) -> tuple[float, float, float]:
    return figure.mean, figure.low, figure.high


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _batch(name: str, rows: Sequence[Sequence[Any]]) -> Batch:
    return {column.name: [row[k] for row in rows] for k, column in enumerate(TABLES[name].columns)}


def _bounded(name: str, meaning: str) -> tuple[Column, ...]:
    return (
        Column(name, "number", meaning),
        Column(f"{name}_low", "number", "lower end of its interval"),
        Column(f"{name}_high", "number", "upper end of its interval"),
    )


_KEY = (
    Column("round", "integer", "in which they met, 1 for the first"),
    Column("seat_0", "text", "the member that opens"),
    Column("seat_1", "text", "the other member"),
    Column("game", "integer", "place in the round's scenarios, 1 for the first: the same scenario in all its matches"),
)
TABLES: Mapping[str, Exported] = {
    "games": Exported(
        "one game of a match",
        (
            *_KEY,
            *(Column(item, "integer", f"{item} in the pool") for item in ITEMS),
            *(
                Column(f"value_{seat}_{item}", "integer", f"points that one of the {item} is worth to {SEATS[seat]}")
                for seat in (0, 1)
                for item in ITEMS
            ),
            *(Column(f"points_{seat}", "integer", f"points of {SEATS[seat]}") for seat in (0, 1)),
            *(
                Column(
                    f"of_ten_{seat}", "number", f"the same as tenths of what the whole pool is worth to {SEATS[seat]}"
                )
                for seat in (0, 1)
            ),
            *(
                Column(f"fallbacks_{seat}", "integer", f"acts that were played in place of an answer of {SEATS[seat]}")
                for seat in (0, 1)
            ),
            Column("ending", "text", f"one of {', '.join(Ending.__members__)}"),
            Column("deal", "boolean", "whether a deal closed"),
            Column("turns", "integer", "acts said by both"),
            Column("counted", "boolean", "false where a seat could not be reached: the game counts for nobody"),
        ),
        _games,
    ),
    "acts": Exported(
        "one act of a game of a match, played again from the ledger and held to its scores",
        (
            *_KEY,
            Column("turn", "integer", "1 for the first"),
            Column("seat", "integer", "who speaks, 0 or 1"),
            Column("member", "text", "who speaks, by name"),
            Column("act", "text", f"one of {', '.join(Act.__members__)}"),
            *(Column(item, "integer", f"{item} that the speaker would keep; of offers alone") for item in ITEMS),
            Column("cause", "text", f"FREE, or why a fallback was played: {', '.join(list(Cause.__members__)[1:])}"),
            Column("message", "text", "what was said beside it, in games with messages"),
        ),
        _acts,
    ),
    "payoffs": Exported(
        "what one member earns in one seat against another, as the ladder counts it (a learner's older games for less)",
        (
            Column("member", "text", "whose points they are"),
            Column("seat", "integer", "where it sat, 0 or 1"),
            Column("against", "text", "whom it met"),
            Column("games", "integer", "games behind the figure"),
            *_bounded("points", "mean points of ten"),
            Column("deals", "number", "share of games with a deal, 0..1"),
        ),
        _payoffs,
    ),
    "ratings": Exported(
        "one member",
        (
            Column("member", "text", "its name"),
            Column("role", "text", "fixed, main, main_exploiter, league_exploiter or snapshot"),
            Column("rank", "integer", "on the ladder, by own points against all others, 1 for the first"),
            Column("games", "integer", "games behind the points"),
            *_bounded("points", "mean points of ten against all others"),
            *_bounded("as_seat_0", "the same of the games that it opened"),
            *_bounded("as_seat_1", "the same of the other games"),
            Column("deals", "number", "share of games with a deal, 0..1"),
            *_bounded("take", "points of ten that it gets more than members do on average"),
            *_bounded("give", "points of ten that others get more from it than from members on average"),
            *_bounded("duplicate", "rating by the same deals in the other's place, log-odds"),
            *_bounded("deviation_seat_0", "what naming it for seat_0 gains in the strictest equilibrium, at most 0"),
            *_bounded("deviation_seat_1", "the same of seat_1"),
        ),
        _ratings,
    ),
}
