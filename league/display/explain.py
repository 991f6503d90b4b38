"""Why a round was played as it was: every match and every practice with its probability and reason, from the ledger."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from rich.console import Console

from league.display.tables import print_section
from league.ledger.ledger import Ledger
from league.ledger.run_directory import LEDGER, RunError
from league.rounds.curriculum import describe
from league.tables.blocks import Row, Section, Table, plain

MOST_NAMED = 6  # pairs of members that are named of those who met for one reason


def explain(console: Console, folder: Path, number: int) -> None:
    """Print round ``number``, the first being 0, of the run in ``folder``.

    Raises :class:`~league.ledger.run_directory.RunError` or :class:`~league.ledger.ledger.LedgerError`.
    """
    if not (folder / LEDGER).is_file():
        raise RunError(f"{folder} is no run folder: it holds no {LEDGER}; runs are folders named 0001, 0002 and so on")
    with Ledger(folder / LEDGER) as ledger:
        if not 0 <= number < ledger.next_round:
            held = f"0 to {ledger.next_round - 1}" if ledger.next_round else "none yet"
            raise RunError(f"{folder}: its ledger holds no round {number}; it holds {held}")
        print_section(console, _round(ledger, number))


def _round(ledger: Ledger, number: int) -> Section:
    config, meetings, decisions = ledger.config(), list(ledger.meetings(number)), ledger.decisions(number)
    practices = (row[2:] for row in meetings if row[1] == "train")
    tables = [
        Table(
            f"{learner} practiced against",
            ("share", "why"),
            tuple(Row(opponent, (plain(chance, "share"), why)) for _, opponent, chance, why in met),
            label="",
        )
        for learner, met in groupby(practices, key=lambda row: row[0])
    ]
    pairs: dict[str, list[str]] = {}
    for _, kind, first, second, _, why in meetings:
        if kind == "match":
            pairs.setdefault(why, []).append(f"{first} and {second}")
    count = sum(map(len, pairs.values()))
    rows = tuple(Row(why, (plain(len(met), "count"), _named(met))) for why, met in pairs.items())
    caption = f"{count} matches, both seat orders, on {config.league.block_size} scenarios"
    tables.append(Table(caption, ("matches", "who"), rows, label="why"))
    rows = tuple(Row(f"{d.kind} of {d.subject}", ("yes" if d.taken else "no", d.reason)) for d in decisions)
    tables.append(Table("decided when it was over", ("taken", "why"), rows, label=""))
    stage = describe(config, config.curriculum[ledger.stage(number)])
    return Section("round", f"round {number} of {config.rounds_in_all} · stage {stage}", (), tuple(tables))


def _named(pairs: list[str]) -> str:
    more = len(pairs) - MOST_NAMED
    return ", ".join(pairs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
