"""Facts of the report on one run: its ledger, and the files that the end of a league writes, read once into a value.

Ratings, the meta-game and the final evaluation take seconds to minutes to compute, so a report reads them from the
run's files; where one is missing, the report names the command that makes it. The ledger of a league that is still
running is read at one moment, without disturbing it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from dond.report.games import LeagueGames, find_games
from dond_marl.errors import InputError, error_line
from dond_marl.files import user_path
from dond_marl.occupants import Permission, missing_needs
from league.figures.rows import Figures, parse_figures
from league.ledger.ledger import LedgerError, ReadLedger, open_run
from league.ledger.run_directory import SETTINGS, RunDirectory
from league.play.blobs import BlobError, read_content
from league.play.occupant_kinds import kinds_in
from league.play.values import Answers, Decision, LearnerState, Member
from league.settings.read import Config
from league.standings.crossplay import CrossPlay
from league.standings.findings import META_GAME_FILE
from league.standings.history import CurvePoint, history_of, learning_curves
from league.standings.ladder import Standing, ladder_of
from league.standings.references import stored_responses
from league.tables.final import FINAL_FILE, read_final
from league.tables.standings import meta_game

LARGEST = 64 * 2**20  # bytes of one file that are read


class RunFiles(NamedTuple):
    """The documents that the end of a league writes; ``None`` where one is missing, with the reason in ``missing``."""

    meta_game: Figures | None
    evaluation: Figures | None
    missing: dict[str, str]  # the reason by file
    sha256: dict[str, str]  # by file


class CachedCalls(NamedTuple):
    """The calls of a language model in its response cache, by outcome; ``problem``: why they are not known."""

    cache: str = ""
    outcomes: tuple[tuple[str | None, int, int, int, int], ...] = ()  # failure, finished, calls, tokens in and out
    problem: str = ""


class RunFacts(NamedTuple):
    """A run at one moment: all that the sections of its report state."""

    folder: Path
    config: Config
    meta: Mapping[str, str]
    origin: Mapping[str, Any]  # date, command line, commit and cores of the start; not covered by a seal
    machine: Mapping[str, Any]  # versions and instruction set at the start
    rounds: int  # committed
    is_over: bool  # whether these are all of them
    mains: Sequence[str]  # learners with the role main
    stages: tuple[int, ...]  # the stage of each round
    members: tuple[Member, ...]
    expensive: frozenset[str]  # members that are, or may be, expensive to query
    states: Mapping[str, LearnerState]
    decisions: tuple[tuple[int, Decision], ...]  # the round, and a decision at its end
    cross: CrossPlay
    standings: tuple[Standing, ...]  # the ladder
    responses: int  # members whose exact best response is known
    curves: tuple[CurvePoint, ...]
    games: LeagueGames
    answers: Mapping[str, Answers]  # own decisions and fallbacks of each language model, failed matches included
    calls: Mapping[str, CachedCalls]  # by language model
    failures: tuple[tuple[int, str, str], ...]  # round, member at fault, error
    without_practice: Mapping[str, int]  # rounds by learner
    seconds: tuple[float, float]  # of all rounds, and of these planning, statistics and writing
    fingerprint: str  # SHA-256 of all rows
    last_seal: str
    damage: str | None  # a sentence if the rows do not match their seals
    weights: tuple[int, int]  # files that the ledger names, and missing or damaged ones among them
    files: RunFiles


def read_facts(folder: Path, *, trust: bool = False) -> RunFacts:
    """The facts of the run in ``folder``, or of the newest run in it.

    ``trust``: games of members that need code or files are replayed, and files that members name are read. Raises
    :class:`~league.ledger.run_directory.RunNotFound`, :class:`~league.ledger.ledger.LedgerError` and
    :class:`~league.settings.read.ConfigError`.
    """
    with open_run(folder, trust=trust) as (ledger, directory):
        config = ledger.config()
        try:
            return _facts(directory, config, ledger)
        except (ArithmeticError, LookupError, ValueError) as error:
            if (damage := ledger.damage()) is None:  # sound rows: missing data, or a bug
                raise
            raise LedgerError(f"{ledger.path}: {damage}") from error


def _facts(directory: RunDirectory, config: Config, ledger: ReadLedger) -> RunFacts:
    history, responses, rounds = history_of(ledger, config), stored_responses(config), ledger.next_round
    members, states, evaluates = ledger.members(), ledger.states(), config.league.evaluate
    notes = ledger.notes()
    mains, over = [row.name for row in config.learners if row.role == "main"], rounds >= config.total_rounds
    models = [member for member in members if member.spec is not None and "llm" in kinds_in(member.spec)]
    expensive = frozenset(member.name for member in members if member.maybe_costly(ledger.allow))
    return RunFacts(
        folder=directory.path,
        config=config,
        meta=ledger.meta(),
        origin=json.loads(notes.get("origin", "{}")),
        machine=json.loads(notes.get("machine", "{}")),
        rounds=rounds,
        is_over=over,
        mains=mains,
        stages=tuple(history.stages),
        members=members,
        expensive=expensive,
        states=states,
        decisions=tuple((number, decision) for number in range(rounds) for decision in ledger.decisions(number)),
        cross=history.cross,
        standings=tuple(ladder_of(history.cross, config.league.confidence, responses)),
        responses=len(responses),
        curves=tuple(learning_curves(ledger, config.league.confidence)),
        games=find_games(config, ledger, directory.blobs),
        answers=_answers_of(models, ledger),
        calls={member.name: _cached_calls(member, ledger.allow) for member in models},
        failures=tuple(ledger.failures()),
        without_practice=ledger.rounds_without_practice(),
        seconds=ledger.clock(),
        fingerprint=ledger.fingerprint(),
        last_seal=ledger.last_seal(),
        damage=ledger.damage(),
        weights=_check_weights(directory.blobs, members, states),
        files=read_run_files(directory.path, over=over, evaluates=evaluates, mains=bool(mains)),
    )


def _answers_of(models: list[Member], ledger: ReadLedger) -> dict[str, Answers]:
    counts = {member.name: Answers() for member in models}
    for number in range(ledger.next_round if counts else 0):
        for leg in (*ledger.legs(number), *ledger.legs(number, failed=True)):
            for name, answers in zip(leg.seats, leg.answers, strict=True):
                if name in counts:
                    counts[name] += answers
    return counts


def _cached_calls(member: Member, allow: Permission) -> CachedCalls:
    spec = member.spec
    options = {} if spec is None or spec.kind != "llm" else spec.parameters
    cache = options.get("cache") if options.get("cache_mode", "off") != "off" else None
    if spec is None or not isinstance(cache, str):
        return CachedCalls(problem=f"{member.name} has no response cache (cache), so its calls and tokens are unknown.")
    if "file" in missing_needs(spec, allow):
        return CachedCalls(problem=f"{member.name}: its response cache {cache} is read with --trust alone.")
    query = (
        "SELECT failure, finished, count(*), sum(prompt_tokens), sum(completion_tokens) FROM replies"
        " GROUP BY failure, finished ORDER BY failure, finished DESC"
    )
    try:
        path = user_path(cache)
        if not path.is_file():
            raise FileNotFoundError("no such file")
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
            return CachedCalls(cache, tuple(file.execute(query)))
    except (OSError, InputError, sqlite3.Error) as error:
        problem = f"{member.name}: its response cache {cache} cannot be read ({error_line(error)})."
        return CachedCalls(cache, problem=problem)


def _check_weights(blobs: Path, members: tuple[Member, ...], states: Mapping[str, LearnerState]) -> tuple[int, int]:
    """The number of files of weights that are named, and of the missing or damaged ones."""
    named = {state.blob for state in states.values()}
    named |= {member.blob for member in members if member.blob is not None}
    lost = 0
    for blob in sorted(named):
        try:
            read_content(blobs, blob)
        except BlobError:
            lost += 1
    return len(named), lost


def read_run_files(folder: Path, *, over: bool, evaluates: bool, mains: bool) -> RunFiles:
    """Read the files that the end of a league writes into ``folder``.

    ``over``: all rounds are played; ``evaluates``: the league writes the files at its end; ``mains``: there are mains
    to evaluate.
    """
    missing: dict[str, str] = {}
    sha256: dict[str, str] = {}

    def read(name: str, parse: Callable[[str], Figures]) -> Figures | None:
        path = folder / name
        command = _command(folder, name, evaluates)
        if not over:
            resume = f"dond league --resume {shlex.quote(str(folder))}"
            missing[name] = f"The league is not over: the file is written at its end. Continue with: {resume}"
            return None
        if not path.is_file():
            missing[name] = f"Not made for this run. Make it with: {command}"
            return None
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
        try:
            parsed = parse(content.decode("utf-8"))
        except ValueError:  # UnicodeDecodeError and JSONDecodeError are subclasses
            missing[name] = f"{name} is damaged. Make it again with: {command}"
            return None
        sha256[name] = hashlib.sha256(content).hexdigest()
        return parsed

    findings = read(META_GAME_FILE, lambda text: parse_figures(text, meta_game))
    evaluation = read(FINAL_FILE, read_final)
    if not mains and evaluation is None:
        missing[FINAL_FILE] = "No member to evaluate: the league has no main."
    return RunFiles(findings, evaluation, missing, sha256)


def _command(folder: Path, name: str, evaluates: bool) -> str:
    run = shlex.quote(str(folder))
    if name == FINAL_FILE:
        return f"dond evaluate --run {run} --json {shlex.quote(str(folder / name))}"
    again = f"dond league --resume {run}"
    return again if evaluates else f"{again} --config {shlex.quote(str(folder / SETTINGS))} --set league.evaluate=true"
