"""Sections of a played league, and of one round with the reasons of its matches."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from dond_marl.occupants import short_names
from league.ledger.ledger import Ledger, open_run
from league.ledger.run_directory import RunNotFound
from league.rounds.planner import describe, members_of
from league.rounds.runner import LeagueOutcome
from league.standings.ladder import ladder_of
from league.tables.blocks import Section, Table, TableRow, count_cell, number_cell, replace_names, with_short_names
from league.tables.figures import duration
from league.tables.plain import FOLDER, in_short
from league.tables.standings import (
    crossplay,
    ladder,
    learning,
    members_in_words,
    meta_game,
    practice_warning,
)
from league.tables.verdict import verdict_of
from partners.learning.rewards import OWN


def league_sections(outcome: LeagueOutcome, directory: Path, *, details: bool = False) -> tuple[Section, ...]:
    """The outcome of a league: the verdict, the ladder, and the run folder.

    ``details``: every column and table as well, as in the report.
    """
    config, cross, confidence = outcome.config, outcome.cross, outcome.config.league.confidence
    standings = ladder_of(cross, confidence, outcome.responses)
    models = {member.name for member in members_of(config) if member.costly}
    mains = [learner.name for learner in config.learners if learner.role == "main"]
    short = short_names(cross.members)
    cost = duration(outcome.seconds)
    verdict = verdict_of(outcome.curves, mains, cross, standings, outcome.final, confidence, cost)
    sentences = (practice_warning(outcome.without_practice), verdict.sentence)
    curves, learns, responses = outcome.curves, bool(config.learners), len(outcome.responses)
    tables = [ladder(standings, outcome.members, confidence, responses, models, curves, learns=learns, details=details)]
    if rewards := tuple(
        f"{learner.name} has the reward {learner.reward}, as have its snapshots; points are own points"
        for learner in config.learners
        if learner.reward != OWN
    ):
        tables.append(Section("rewards", "", rewards))
    if details:
        tables.append(crossplay(cross, standings, confidence))
        if outcome.curves:
            tables.append(learning(outcome.curves, [learner.name for learner in config.learners], confidence))
        if outcome.findings is not None:
            tables.append(meta_game(outcome.findings))
    sections = [with_short_names(section, short) for section in tables]
    if outcome.final is not None and details:
        from league.tables.final import final_sections  # evaluations load PyTorch

        sections += final_sections(outcome.final)
    folder = f"{cross.total_games:,} games of matches, all tables and weights: {directory}"
    return (
        *in_short(replace_names(sentence, short) for sentence in sentences if sentence is not None),
        *sections,
        Section(FOLDER, "", (f"\n{folder}",)),
    )


MOST_NAMED = 6  # pairs of members that are named for one reason
READABLE = {  # reasons as stored in the ledger: as displayed
    r"scores unknown of unknown": "they have not met, so everything is left to gain",
    r"scores unknown of ([\d.]+)": r"they have not met; others score \1",
    r"scores ([\d.]+) of unknown": r"scores \1; what others score is not known",
    r"scores ([\d.]+) of ([\d.]+)": r"scores \1 where \2 can be had",
    r"points vary by unknown": "they have not met",
    r"\b1 rounds are\b": "1 round is",
    r"\b1 rounds\b": "1 round",
}


def round_section(folder: Path, number: int) -> Section:
    """Round ``number``, the first being 1, of a league; the closing measurement follows the last.

    ``folder``: its folder, or that of leagues for the newest.

    Raises :class:`~league.ledger.run_directory.RunNotFound` or :class:`~league.ledger.ledger.LedgerError`.
    """
    with open_run(folder) as (ledger, directory):
        if not 1 <= number <= ledger.next_round:
            raise RunNotFound(f"{directory.path}: its ledger holds no round {number}; it holds {_rounds_held(ledger)}")
        return _round(ledger, number - 1)


def _rounds_held(ledger: Ledger) -> str:
    if not ledger.next_round:
        return "none yet"
    rounds = ledger.config().league.rounds
    closing = f", and the closing measurement as {rounds + 1}" if ledger.next_round > rounds else ""
    return f"1 to {min(ledger.next_round, rounds)}{closing}"


def in_words(reason: str) -> str:
    """A stored reason as displayed."""
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
                TableRow(opponent, (number_cell(chance, "share"), in_words(reason)))
                for _, opponent, chance, reason in rows
            ),
            label="",
        )
        for learner, rows in groupby(practices, key=lambda row: row[0])
    ]
    pairs: dict[str, list[str]] = {}
    for _, kind, first, second, _, reason in meetings:
        if kind == "match":
            pairs.setdefault(in_words(reason), []).append(f"{first} and {second}")
    count = sum(map(len, pairs.values()))
    rows = tuple(TableRow(reason, (count_cell(len(names)), _list_pairs(names))) for reason, names in pairs.items())
    caption = f"{count} matches, both seat orders, on {config.league.block_size} scenarios"
    tables.append(Table(caption, ("matches", "who"), rows, label="why"))
    rows = tuple(TableRow(d.in_words, (in_words(d.reason),)) for d in decisions)
    if rows:
        tables.append(Table("decided when it was over", ("why",), rows, label=""))
    present = {name for row in meetings for name in row[2:4]}
    tables += members_in_words(member for member in ledger.members() if member.name in present)
    stage = describe(config, config.curriculum[ledger.stage(number)])
    total = "" if number >= config.league.rounds else f" of {config.league.rounds}"
    return Section("round", f"{config.league.round_name(number)}{total} · stage {stage}", (), tuple(tables))


def _list_pairs(pairs: list[str]) -> str:
    more = len(pairs) - MOST_NAMED
    return ", ".join(pairs[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
