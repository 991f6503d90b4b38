"""Why a round was played as it was: every match and every practice with its probability and reason, from the ledger."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from rich.console import Console

from league.display.tables import print_section
from league.ledger.ledger import Ledger, ReadLedger
from league.ledger.run_directory import LEDGER, NoRun
from league.rounds.curriculum import describe
from league.tables.blocks import Section, Table, TableRow, number_cell

MOST_NAMED = 6  # pairs of members that are named of those who met for one reason
READABLE = {  # what the ledger keeps of a reason, and how it is said
    r"scores unknown of unknown": "they have not met, so everything is left to gain",
    r"scores unknown of ([\d.]+)": r"they have not met; others score \1",
    r"scores ([\d.]+) of unknown": r"scores \1; what others score is not known",
    r"scores ([\d.]+) of ([\d.]+)": r"scores \1 where \2 can be had",
    r"moved by unknown": "they have not met",
    r"points vary by unknown": "they have not met",
    r"\b1 rounds are\b": "1 round is",
    r"\b1 rounds\b": "1 round",
}


def explain(console: Console, folder: Path, number: int) -> None:
    """Print round ``number``, the first being 1, of the run in ``folder``; the closing measurement follows the last.

    Raises :class:`~league.ledger.run_directory.NoRun` or :class:`~league.ledger.ledger.LedgerError`.
    """
    if not (folder / LEDGER).is_file():
        raise NoRun(f"{folder} is no run folder: it holds no {LEDGER}; runs are folders named 0001, 0002 and so on")
    with ReadLedger(folder / LEDGER) as ledger:
        if not 1 <= number <= ledger.next_round:
            raise NoRun(f"{folder}: its ledger holds no round {number}; it holds {_held(ledger)}")
        print_section(console, _round(ledger, number - 1))


def _held(ledger: Ledger) -> str:
    if not ledger.next_round:
        return "none yet"
    rounds = ledger.config().league.rounds
    closing = f", and the closing measurement as {rounds + 1}" if ledger.next_round > rounds else ""
    return f"1 to {min(ledger.next_round, rounds)}{closing}"


def in_words(reason: str) -> str:
    """A reason as the ledger keeps it, said so that it can be read without knowing how it was computed."""
    for pattern, words in READABLE.items():
        reason = re.sub(pattern, words, reason)
    return reason


def _round(ledger: Ledger, number: int) -> Section:
    """Round ``number``, the first being 0."""
    config, meetings, decisions = ledger.config(), list(ledger.meetings(number)), ledger.decisions(number)
    practices = (row[2:] for row in meetings if row[1] == "train")
    tables = [
        Table(
            f"{learner} practiced against",
            ("share", "why"),
            tuple(
                TableRow(opponent, (number_cell(chance, "share"), in_words(why))) for _, opponent, chance, why in met
            ),
            label="",
        )
        for learner, met in groupby(practices, key=lambda row: row[0])
    ]
    pairs: dict[str, list[str]] = {}
    for _, kind, first, second, _, why in meetings:
        if kind == "match":
            pairs.setdefault(in_words(why), []).append(f"{first} and {second}")
    count = sum(map(len, pairs.values()))
    rows = tuple(TableRow(why, (number_cell(len(met), "count"), _named(met))) for why, met in pairs.items())
    caption = f"{count} matches, both seat orders, on {config.league.block_size} scenarios"
    tables.append(Table(caption, ("matches", "who"), rows, label="why"))
    rows = tuple(
        TableRow(f"{d.kind} of {d.subject}", ("yes" if d.taken else "no", in_words(d.reason))) for d in decisions
    )
    tables.append(Table("decided when it was planned (repair) and when it was over", ("taken", "why"), rows, label=""))
    stage = describe(config, config.curriculum[ledger.stage(number)])
    of = "" if config.schedule.phase(number) == "measures" else f" of {config.league.rounds}"
    return Section("round", f"{config.schedule.round_name(number)}{of} · stage {stage}", (), tuple(tables))


def _named(pairs: list[str]) -> str:
    more = len(pairs) - MOST_NAMED
    return ", ".join(pairs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
