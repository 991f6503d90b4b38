"""Export of a league's ledger as plain tables (games, acts, payoffs, ratings): Parquet, CSV, JSON lines, pandas.

Every column is documented in :data:`TABLES`. Rounds and turns count from 1, as in reports; items are books, hats and
balls, in that order. Games and acts are produced in batches, one seat order of one match at a time, so that a league of
any length fits into memory.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import InputError, missing_library, quote
from dond_marl.game import SEATS, Act, Ending
from dond_marl.records.files import atomic_replace
from dond_marl.seats import Cause, Rows
from dond_marl.statistics import points_of_ten
from league.figures.rows import Figures, escape_formula, plain_values, wide_row
from league.ledger.ledger import ReadLedger, open_run
from league.ledger.run_directory import RunDirectory
from league.ledger.verify import legs_with_order, replay_leg
from league.play.values import SeatOrderResult
from league.standings.findings import findings_of, ratings_of
from league.standings.history import history_of
from league.standings.ladder import ladder_of

if TYPE_CHECKING:
    import pandas as pd

ITEMS = ("books", "hats", "balls")
ColumnKind = Literal["text", "integer", "number", "boolean"]
Columns = Mapping[str, Sequence[Any]]  # the values of a batch of rows, by column, equally long; None: unknown
Notify = Callable[[str], None]
PANDAS_TYPES = {"text": "str", "integer": "Int64", "number": "float64", "boolean": "bool"}


class Column(NamedTuple):
    """A column: its name, the type of its values, and their meaning."""

    name: str
    kind: ColumnKind
    meaning: str


class ExportedTable(NamedTuple):
    """A table of the export: the meaning of a row, its columns, and a function that yields its rows in batches.

    ``batches`` takes the ledger, the folder of the run, and a callback for a sentence per leg that cannot be exported.
    """

    row: str
    columns: tuple[Column, ...]
    batches: Callable[[ReadLedger, RunDirectory, Notify], Iterator[Columns]]


Writer = Callable[[Path, tuple[Column, ...], Iterable[Columns]], None]


def export_tables(
    run: Path,
    kind: str,
    folder: Path,
    names: Iterable[str] | None = None,
    notify: Notify = lambda _: None,
    *,
    trust: bool = False,
) -> list[Path]:
    """Write tables of the ledger of the league in ``run`` as files ``folder/NAME.KIND``; returns their paths.

    ``kind`` is a key of :data:`FORMATS`; ``names`` are keys of :data:`TABLES`, all of them by default; ``notify`` is
    called with a sentence for each leg whose games cannot be exported. ``trust``: members may need code and files, so
    that their acts are replayed. Raises :class:`dond_marl.errors.InputError` for
    an unknown table or a missing library, and :class:`league.ledger.ledger.LedgerError`.
    """
    paths = []
    tables = {name: exported_table(name) for name in names or TABLES}
    if kind == "parquet":
        _pyarrow()  # fails before a file is written
    with open_run(run, trust=trust) as (ledger, directory):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            paths.append(folder / f"{name}.{kind}")
            with atomic_replace(paths[-1]) as temporary:
                FORMATS[kind](temporary, table.columns, table.batches(ledger, directory, notify))
    return paths


def frame(run: Path, name: str, notify: Notify = lambda _: None, *, trust: bool = False) -> pd.DataFrame:
    """One table of the ledger of the league in ``run`` as a pandas frame. As :func:`export_tables`."""
    table = exported_table(name)
    with open_run(run, trust=trust) as (ledger, directory):
        batches = list(table.batches(ledger, directory, notify))
    return frame_of({c.name: list(chain.from_iterable(b[c.name] for b in batches)) for c in table.columns}, name)


def frame_of(columns: dict[str, list[Any]], name: str | None = None) -> pd.DataFrame:
    """A pandas frame of columns; with ``name``, with the column types of that table. Raises ``MissingLibrary``."""
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise missing_library(error, "a frame") or error from error
    kinds = {} if name is None else {c.name: PANDAS_TYPES[c.kind] for c in exported_table(name).columns}
    return pd.DataFrame({key: pd.Series(values, dtype=kinds.get(key)) for key, values in columns.items()})


def exported_table(name: str) -> ExportedTable:
    """The table of this name. Raises :class:`dond_marl.errors.InputError` for another name."""
    if name not in TABLES:
        raise InputError(f"there is no table {quote(name)}; there are {', '.join(TABLES)}")
    return TABLES[name]


def _game_batches(ledger: ReadLedger, _: RunDirectory, __: Notify) -> Iterator[Columns]:
    for number in range(ledger.next_round):
        scenarios = ledger.scenarios(number)
        dealt = {item: scenarios.counts[:, k].tolist() for k, item in enumerate(ITEMS)}
        for seat in (0, 1):
            for k, item in enumerate(ITEMS):
                dealt[f"value_{seat}_{item}"] = scenarios.utilities[:, seat, k].tolist()
        for _order, leg in legs_with_order(ledger, number):
            facts, tens = leg.facts, points_of_ten(leg.facts["scores"], scenarios.pool_values)
            counted = leg.valid_games
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


def _act_batches(ledger: ReadLedger, directory: RunDirectory, notify: Notify) -> Iterator[Columns]:
    config = ledger.config()
    for number in range(ledger.next_round):
        for order, leg in legs_with_order(ledger, number):
            games = replay_leg(config, ledger, directory.blobs, number, order, leg)
            if isinstance(games, str):
                notify(f"the games of {leg.seats[0]} and {leg.seats[1]} in round {number + 1} {games}")
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
                "message": _messages(games, game, turn),
            }


def _messages(games: Games, game: Rows, turn: Rows) -> list[str | None]:
    """The message of each act: ``""`` if it has none, ``None`` in games without messages."""
    if games.messages is not None:
        messages: list[str | None] = games.messages[game, turn].tolist()
        return messages
    return ["" if games.rules.message_length else None] * len(game)


def _key(number: int, leg: SeatOrderResult) -> dict[str, list[Any]]:
    size = len(leg.facts)
    return {
        "round": [number + 1] * size,
        "seat_0": [leg.seats[0]] * size,
        "seat_1": [leg.seats[1]] * size,
        "game": list(range(1, size + 1)),
    }


def _payoff_batches(ledger: ReadLedger, _: RunDirectory, __: Notify) -> Iterator[Columns]:
    config = ledger.config()
    cross = history_of(ledger, config).cross
    rows = []
    for member in cross.members:
        for against in cross.members:
            for seat in (0, 1):
                played = cross.tally("points", member, [against], seat)
                if len(played.games):
                    points = played.mean(config.league.confidence)
                    deals = cross.tally("deals", member, [against], seat).share(config.league.confidence).mean
                    row = {"member": member, "seat": seat, "against": against, "games": points.n}
                    rows.append({**row, "points": points, "deals": deals})
    yield _batch("payoffs", rows)


def _rating_batches(ledger: ReadLedger, _: RunDirectory, __: Notify) -> Iterator[Columns]:
    config = ledger.config()
    cross, roles = history_of(ledger, config).cross, {member.name: member.role for member in ledger.members()}
    findings = findings_of(cross, seed=config.league.seed, confidence=config.league.confidence) or Figures({}, ())
    rows = [
        {
            "member": row.member,
            "role": roles[row.member],
            "rank": rank if row.has_rank else None,
            "games": row.points.n,
            "points": row.points,
            **{f"as_{seat}": points for seat, points in zip(SEATS, row.as_seat, strict=True)},
            "deals": row.deals,
            "elo": row.elo,
            **ratings_of(findings, row.member),
        }
        for rank, row in enumerate(ladder_of(cross, config.league.confidence), start=1)
    ]
    yield _batch("ratings", rows)


def _batch(name: str, rows: Iterable[Mapping[str, object]]) -> Columns:
    """Rows as a batch: an estimate is three columns, and ``nan`` is unknown."""
    wide = [plain_values(wide_row(row)) for row in rows]
    return {column.name: [row[column.name] for row in wide] for column in TABLES[name].columns}


def _bounds_columns(name: str, meaning: str) -> tuple[Column, ...]:
    return (
        Column(name, "number", meaning),
        Column(f"{name}_low", "number", "lower end of its interval"),
        Column(f"{name}_high", "number", "upper end of its interval"),
    )


_KEY = (
    Column("round", "integer", "round of the league, 1 for the first"),
    Column("seat_0", "text", "the member that opens"),
    Column("seat_1", "text", "the other member"),
    Column("game", "integer", "place in the round's scenarios, 1 for the first: the same scenario in all its matches"),
)
TABLES: Mapping[str, ExportedTable] = {
    "games": ExportedTable(
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
            Column("turns", "integer", "acts of both seats"),
            Column("counted", "boolean", "false if a seat could not be reached: the game enters no figure"),
        ),
        _game_batches,
    ),
    "acts": ExportedTable(
        "one act of a game of a match, replayed from the ledger and checked against its scores",
        (
            *_KEY,
            Column("turn", "integer", "1 for the first"),
            Column("seat", "integer", "seat that acts, 0 or 1"),
            Column("member", "text", "member that acts"),
            Column("act", "text", f"one of {', '.join(Act.__members__)}"),
            *(
                Column(item, "integer", f"{item} that the acting seat would keep; empty if the act is no offer")
                for item in ITEMS
            ),
            Column("cause", "text", f"FREE, or why a fallback was played: {', '.join(list(Cause.__members__)[1:])}"),
            Column("message", "text", "message sent with the act; empty in games without messages"),
        ),
        _act_batches,
    ),
    "payoffs": ExportedTable(
        "points of one member in one seat against another, weighted as in the ladder (learners' older games less)",
        (
            Column("member", "text", "member that the points belong to"),
            Column("seat", "integer", "its seat, 0 or 1"),
            Column("against", "text", "opponent"),
            Column("games", "integer", "games behind the figure"),
            *_bounds_columns("points", "mean points of ten"),
            Column("deals", "number", "share of games with a deal, 0..1"),
        ),
        _payoff_batches,
    ),
    "ratings": ExportedTable(
        "one member",
        (
            Column("member", "text", "name of the member"),
            Column("role", "text", "fixed, main, main_exploiter, league_exploiter, snapshot, oracle or sampled_oracle"),
            Column("rank", "integer", "on the ladder, by own points against all others, 1 for the first"),
            Column("games", "integer", "games behind the points"),
            *_bounds_columns("points", "mean points of ten against all others"),
            *_bounds_columns("as_seat_0", "the same as seat_0, which opens"),
            *_bounds_columns("as_seat_1", "the same as seat_1"),
            Column("deals", "number", "share of games with a deal, 0..1"),
            *_bounds_columns("elo", "Elo by games won against all others, 1500 for the mean member"),
            *_bounds_columns("take", "points of ten above the mean member's"),
            *_bounds_columns("give", "points of ten that its opponents get above the mean"),
            *_bounds_columns(
                "deviation_seat_0", "gain of a deviation to it in seat_0 of the strictest equilibrium, at most 0"
            ),
            *_bounds_columns("deviation_seat_1", "the same of seat_1"),
        ),
        _rating_batches,
    ),
}


def _write_parquet(path: Path, columns: tuple[Column, ...], batches: Iterable[Columns]) -> None:
    pa = _pyarrow()
    kinds = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
    fields = [pa.field(c.name, kinds[c.kind], metadata={"meaning": c.meaning}) for c in columns]
    schema = pa.schema(fields)
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_table(pa.table({c.name: batch[c.name] for c in columns}, schema=schema))


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise missing_library(error, "Parquet") or error from error
    return pyarrow


def _write_csv(path: Path, columns: tuple[Column, ...], batches: Iterable[Columns]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([column.name for column in columns])
        for batch in batches:
            for cells in zip(*(batch[column.name] for column in columns), strict=True):
                rows.writerow([_csv_text(cell) for cell in cells])


def _csv_text(cell: object) -> str:
    """A CSV cell: empty if unknown; texts that a spreadsheet would read as a formula are quoted."""
    if isinstance(cell, bool):
        return str(cell).lower()
    return "" if cell is None else escape_formula(cell) if isinstance(cell, str) else repr(cell)


def _write_jsonl(path: Path, columns: tuple[Column, ...], batches: Iterable[Columns]) -> None:
    names = [column.name for column in columns]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            for cells in zip(*(batch[name] for name in names), strict=True):
                file.write(json.dumps(dict(zip(names, cells, strict=True)), ensure_ascii=False, allow_nan=False) + "\n")


FORMATS: dict[str, Writer] = {"parquet": _write_parquet, "csv": _write_csv, "jsonl": _write_jsonl}
