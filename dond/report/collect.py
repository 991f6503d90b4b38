"""Facts of the report on one run: its ledger, and the files that the end of a league writes.

Ratings, the meta-game and the final evaluation take seconds to minutes to compute, so a report reads them from the
run's files; where one is missing, the report names the command that makes it. The ledger of a league that is still
running is read at one moment, without disturbing it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dond.report.games import games
from dond.report.sections import curriculum, language_models, lineage, provenance
from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.occupants import ANYTHING, NOTHING
from league.ledger.ledger import LedgerError, ReadLedger
from league.ledger.run_directory import SETTINGS, RunNotFound, find_run
from league.settings.read import Config
from league.standings.as_csv import META_GAME_FILE, RATINGS_FILE, unescape_formula
from league.standings.crossplay import CrossPlay
from league.standings.history import history_of, learning_curves
from league.standings.ladder import ladder_of
from league.standings.references import responses_of
from league.tables import final
from league.tables.blocks import Report, Section
from league.tables.figures import count_noun
from league.tables.final import FINAL_FILE
from league.tables.rows import Figures
from league.tables.standings import META_GAME_KEY, META_GAME_TITLE, crossplay, ladder, learning, meta_game, trust
from league.tables.summaries import league_summary, practice_warning

INCOMPLETE = (AttributeError, KeyError, TypeError, ValueError)  # raised by a section whose document lacks a field
Made = TypeVar("Made")
LARGEST = 64 * 2**20  # bytes of one file that are read


class RunFiles(NamedTuple):
    """The documents that the end of a league writes; ``None`` where one is missing, with the reason in ``why``."""

    ratings: list[dict[str, str]] | None
    meta_game: dict[str, Any] | None
    evaluation: Figures | None
    why: dict[str, str]  # by file
    sha256: dict[str, str]  # by file


def collect(folder: Path, *, trust: bool = False) -> Report:
    """The report on the run in ``folder``, or on the newest run in it.

    ``trust``: games of members that need code or files are replayed, and files that members name are read. Raises
    :class:`~league.ledger.run_directory.RunNotFound`, :class:`~league.ledger.ledger.LedgerError` and
    :class:`~league.settings.read.ConfigError`.
    """
    directory = find_run(folder)
    if not directory.ledger.is_file():
        raise RunNotFound(f"{directory.path}: the run was stopped before it began")
    with ReadLedger(directory.ledger, ANYTHING if trust else NOTHING) as ledger, ledger.snapshot():
        if not ledger.has_begun:
            raise RunNotFound(f"{directory.path}: the run was stopped before it began")
        config = ledger.config()
        try:
            return _report(directory.path, directory.blobs, config, ledger)
        except (ArithmeticError, LookupError, ValueError) as error:
            if (damage := ledger.damage()) is None:  # sound rows: missing data, or a bug
                raise
            raise LedgerError(f"{ledger.path}: {damage}") from error


def _report(folder: Path, blobs: Path, config: Config, ledger: ReadLedger) -> Report:
    confidence, rounds = config.league.confidence, ledger.next_round
    members, states = ledger.members(), ledger.states()
    history = history_of(ledger, config)
    cross, responses = history.cross, responses_of(config, ledger.allow)
    standings = ladder_of(cross, confidence, responses)
    decisions = [(number, decision) for number in range(rounds) for decision in ledger.decisions(number)]
    curves = learning_curves(ledger, confidence)
    models = {member.name for member in members if member.maybe_costly(ledger.allow)}
    learners = [learner.name for learner in config.learners]
    mains = [learner.name for learner in config.learners if learner.role == "main"]
    over = rounds >= config.schedule.total
    files = read_run_files(folder, over=over, evaluates=config.league.evaluate, mains=bool(mains))
    schedule = config.schedule
    progress = (
        f"Over: {schedule}" if over else f"So far {schedule.displayed_rounds(rounds)} of {schedule.rounds} rounds"
    )
    summary = (
        f"{progress}, {cross.total_games:,} games of matches, {count_noun(len(cross.members), 'member')}, "
        f"{len(learners)} of them learning; seed {config.league.seed}"
    )
    if (damage := ledger.damage()) is not None:
        summary += f". {damage}"
    return Report(
        title=f"League {folder.resolve().parent.name}/{folder.resolve().name}",
        summary=summary,
        confidence=confidence,
        sections=(
            learning(curves, learners, confidence),
            ladder(cross, standings, members, confidence, len(responses), models, learns=bool(learners)),
            _evaluation(files),
            crossplay(cross, standings, confidence),
            _meta_game(files, cross),
            _unless_damaged(lambda: trust(standings, files.meta_game, mains, members), trust(standings, None, mains)),
            curriculum(config, history.stages, decisions),
            lineage(members, states, standings, decisions),
            language_models(config, ledger),
            games(config, ledger, blobs),
            provenance(config, ledger, blobs, files.sha256, damage),
        ),
        abstract=(
            *filter(None, [practice_warning(ledger.rounds_without_practice())]),
            league_summary(cross, standings, confidence, mains, members),
            *(() if files.evaluation is None else final.final_summary(files.evaluation)),
            _cost(ledger, [f"{states[name].decisions:,} decisions of {name}" for name in mains], cross.total_games),
        ),
    )


def _cost(ledger: ReadLedger, practice: list[str], games: int) -> str:
    """The cost of the run in a sentence: practice of the mains, matches, minutes, and the machine if it is noted."""
    notes, (seconds, _) = ledger.notes(), ledger.clock()
    try:
        cores = json.loads(notes.get("origin", "{}")).get("cores")
        kind = json.loads(notes.get("machine", "{}")).get("machine")
    except (AttributeError, ValueError):  # notes are not covered by a seal
        cores = kind = None
    machine = ", ".join(
        [*([count_noun(cores, "core")] if isinstance(cores, int) else []), *([str(kind)] if kind else [])]
    )
    parts = [
        *practice,
        f"{games:,} games of matches",
        f"{seconds / 60:.1f} minutes" + (f" ({machine})" if machine else ""),
    ]
    return f"Cost: {', '.join(parts)}."


def _unless_damaged(make: Callable[[], Made], otherwise: Made) -> Made:
    """The value of ``make``, or ``otherwise`` where a document that it reads lacks a field."""
    try:
        return make()
    except INCOMPLETE:
        return otherwise


def _meta_game(files: RunFiles, cross: CrossPlay) -> Section:
    section, ratings, document = Section(META_GAME_KEY, META_GAME_TITLE), files.ratings, files.meta_game
    if ratings is None or document is None:
        missing = (name for name in (RATINGS_FILE, META_GAME_FILE) if name in files.why)
        return section._replace(notes=tuple(dict.fromkeys(files.why[name] for name in missing)))
    damaged = section._replace(notes=(f"{META_GAME_FILE} or {RATINGS_FILE} is damaged: fields are missing.",))
    return _unless_damaged(lambda: meta_game(ratings, document, cross), damaged)


def _evaluation(files: RunFiles) -> Section:
    """The final evaluation from the run's file, or the reason why there is none, with the figures of people."""
    human = stored_human_line()
    if files.evaluation is not None:
        return final.final_section(files.evaluation, human)
    notes = (files.why[FINAL_FILE], final.about_people(human))
    return Section(final.KEY, final.TITLE, notes, (final.people(human),))


def read_run_files(folder: Path, *, over: bool, evaluates: bool, mains: bool) -> RunFiles:
    """Read the files that the end of a league writes into ``folder``.

    ``over``: all rounds are played; ``evaluates``: the league writes the files at its end; ``mains``: there are mains
    to evaluate.
    """
    why: dict[str, str] = {}
    sha256: dict[str, str] = {}

    def read(name: str, parse: Callable[[str], Any]) -> Any:
        path = folder / name
        command = _command(folder, name, evaluates)
        if not over:
            resume = f"dond league --resume {shlex.quote(str(folder))}"
            why[name] = f"The league is not over: the file is written at its end. Continue with: {resume}"
            return None
        if not path.is_file():
            why[name] = f"Not made for this run. Make it with: {command}"
            return None
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        try:
            parsed = parse(content.decode("utf-8"))
        except ValueError:  # UnicodeDecodeError and JSONDecodeError are subclasses
            why[name] = f"{name} is damaged. Make it again with: {command}"
            return None
        sha256[name] = hashlib.sha256(content).hexdigest()
        return parsed

    ratings, meta_game = read(RATINGS_FILE, _parse_ratings), read(META_GAME_FILE, _parse_document)
    evaluation = read(FINAL_FILE, final.read_final)
    if not mains and evaluation is None:
        why[FINAL_FILE] = "No member to evaluate: the league has no main."
    return RunFiles(ratings, meta_game, evaluation, why, sha256)


def _parse_ratings(text: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(text.splitlines()))
    if not rows or not {"member", "take"} <= rows[0].keys() or any(None in row or None in row.values() for row in rows):
        raise ValueError
    return [{**row, "member": unescape_formula(row["member"])} for row in rows]


def _parse_document(text: str) -> dict[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError
    return document


def _command(folder: Path, name: str, evaluates: bool) -> str:
    run = shlex.quote(str(folder))
    if name == FINAL_FILE:
        return f"dond evaluate --run {run} --json {shlex.quote(str(folder / name))}"
    again = f"dond league --resume {run}"
    return again if evaluates else f"{again} --config {shlex.quote(str(folder / SETTINGS))} --set league.evaluate=true"
