"""Why a round was played as it was: every match and every practice with its probability and reason, from the ledger."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from league.ledger.ledger import Ledger
from league.ledger.run_directory import LEDGER, RunError
from league.rounds.curriculum import describe


def explain(console: Console, folder: Path, number: int) -> None:
    """Print round ``number`` of the run in ``folder``. Raises :class:`RunError` or :class:`LedgerError`."""
    if not (folder / LEDGER).is_file():
        raise RunError(f"{folder} is no run folder: it holds no {LEDGER}; runs are folders named 0001, 0002 and so on")
    with Ledger(folder / LEDGER) as ledger:
        if not 0 <= number < ledger.next_round:
            held = f"0 to {ledger.next_round - 1}" if ledger.next_round else "none yet"
            raise RunError(f"{folder}: its ledger holds no round {number}; it holds {held}")
        config = ledger.config()
        stage = config.curriculum[ledger.stage(number)]
        console.print(
            Text(f"round {number} of {config.rounds_in_all} · stage {describe(config, stage)}"), soft_wrap=True
        )
        rows = list(ledger.meetings(number))
        for (_, kind, name), met in groupby((row for row in rows if row[1] == "train"), key=lambda row: row[:3]):
            assert kind == "train"
            console.print(Text(f"\n{name} practiced against"))
            console.print(_table([(opponent, f"{chance:.1%}", why) for *_, opponent, chance, why in met], "share"))
        matches = [(f"{row[2]} and {row[3]}", row[5]) for row in rows if row[1] == "match"]
        console.print(Text(f"\n{len(matches)} matches, both seat orders, on {config.league.block_size} scenarios"))
        by_reason = {why: [pair for pair, reason in matches if reason == why] for _, why in matches}
        table = Table(box=None, pad_edge=False)
        for heading in ("why", "matches", "who"):
            table.add_column(heading, overflow="fold", justify="right" if heading == "matches" else "left")
        for why, pairs in by_reason.items():
            told = ", ".join(pairs[:SHOWN]) + (f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else "")
            table.add_row(Text(why), str(len(pairs)), Text(told))
        console.print(table)
        decisions = ledger.decisions(number)
        console.print(Text(f"\ndecided when it was over: {'' if decisions else 'nothing'}"))
        if decisions:
            console.print(
                _table([(f"{d.kind} of {d.subject}", "yes" if d.taken else "no", d.reason) for d in decisions], "taken")
            )


SHOWN = 6  # pairs of a kind that are named


def _table(rows: list[tuple[str, str, str]], figure: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading, justify in (("", "left"), (figure, "right"), ("why", "left")):
        table.add_column(heading, overflow="fold", justify="right" if justify == "right" else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
