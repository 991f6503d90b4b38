"""All facts of the report on one run, from its ledger and from the files written at the end of the league.

A league that is still running is read at one moment, without disturbing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dond_marl.dialogues.human_line import HumanLine, stored_human_line
from dond_marl.scenarios.data import DEFAULT_DATA_DIR, checksum
from league.evaluation.as_json import FINAL_FILE
from league.ledger.ledger import LedgerError, ReadLedger
from league.ledger.run_directory import NoRun, named_run
from league.report.run_files import RunFiles, run_files
from league.report.sections.curriculum import curriculum, lineage
from league.report.sections.diversity import diversity
from league.report.sections.games import games
from league.report.sections.language_models import language_models
from league.report.sections.provenance import broken_at, provenance
from league.report.sections.trust import trust
from league.rounds.diversity import over_time
from league.settings.read import Config
from league.standings.as_csv import META_GAME_FILE, RATINGS_FILE
from league.standings.best_response_values import responses_of
from league.standings.crossplay import CrossPlay
from league.standings.curves import learning_curves
from league.standings.history import history_of
from league.standings.ladder import Standing, ladder_of
from league.tables import evaluation, in_short, meta_game
from league.tables.blocks import Report, Section
from league.tables.standings import crossplay, ladder, learning

DAMAGED = (AttributeError, KeyError, TypeError, ValueError)  # what a section raises of a document that lacks something


def collect(folder: Path) -> Report:
    """The report on the run in ``folder``, or on the newest of those in it.

    Raises :class:`~league.ledger.run_directory.NoRun`, :class:`~league.ledger.ledger.LedgerError` and
    :class:`~league.settings.read.ConfigError`, whose messages name what is wrong.
    """
    directory = named_run(folder)
    if not directory.ledger.is_file():
        raise NoRun(f"{directory.path}: the run was stopped before it began")
    with ReadLedger(directory.ledger) as ledger, ledger.still():
        if not ledger.begun:
            raise NoRun(f"{directory.path}: the run was stopped before it began")
        config = ledger.config()
        try:
            return _report(directory.path, directory.blobs, config, ledger)
        except (ArithmeticError, LookupError, ValueError) as error:
            if (broken := broken_at(ledger)) is None:  # no damaged row: settings that are not to be had here, or a bug
                raise
            raise LedgerError(f"{ledger.path}: {broken}") from error


def _report(folder: Path, blobs: Path, config: Config, ledger: ReadLedger) -> Report:
    confidence, rounds = config.league.confidence, ledger.next_round
    members, states = ledger.members(), ledger.states()
    history = history_of(ledger, config)
    cross, responses = history.cross, responses_of(config)
    standings = ladder_of(cross, confidence, responses)
    decisions = [(number, decision) for number in range(rounds) for decision in ledger.decisions(number)]
    curves = learning_curves(ledger, confidence)
    mains = any(member.role == "main" for member in members)
    models = {member.name for member in members if member.costly}
    over = rounds >= config.schedule.total
    files = run_files(folder, over=over, evaluates=config.league.evaluate, mains=mains)
    summary = (
        f"{_rounds(config, rounds)}, {cross.total_games:,} games of matches, {len(cross.members)} members, "
        f"{len(config.learners)} of them learning; seed {config.league.seed}"
    )
    if (broken := broken_at(ledger)) is not None:
        summary += f". {broken}"
    return Report(
        title=f"League {folder.resolve().parent.name}/{folder.resolve().name}",
        summary=summary,
        confidence=confidence,
        sections=(
            ladder(cross, standings, members, confidence, len(responses), models, learns=bool(config.learners)),
            crossplay(cross, standings, confidence),
            _meta_game(files, cross),
            _trust(files, standings, [learner.name for learner in config.learners if learner.role == "main"]),
            _evaluation(files, config.env.data_dir),
            learning(curves, [learner.name for learner in config.learners], confidence),
            curriculum(config, history.stages, decisions),
            lineage(members, states, standings, decisions),
            diversity(over_time(cross.payoffs(), history.members)),
            language_models(config, ledger, blobs),
            games(config, ledger, blobs),
            provenance(config, ledger, blobs, files.sha256, broken),
        ),
        abstract=_abstract(config, cross, standings, files),
    )


def _abstract(config: Config, cross: CrossPlay, standings: Sequence[Standing], files: RunFiles) -> tuple[str, ...]:
    """Who is best, and what the final evaluation says of the first main, where there is one."""
    mains = [learner.name for learner in config.learners if learner.role == "main"]
    first = in_short.of_league(cross, standings, config.league.confidence, mains)
    try:
        return (first, *(in_short.of_final(files.evaluation) if files.evaluation is not None else ()))
    except DAMAGED:  # which its own section says
        return (first,)


def _rounds(config: Config, committed: int) -> str:
    """How much of a league is over."""
    if committed >= config.schedule.total:
        return f"Over: {config.schedule}"
    return f"So far {min(committed, config.league.rounds)} of {config.league.rounds} rounds"


def _meta_game(files: RunFiles, cross: CrossPlay) -> Section:
    """The section of the run's files, or why there is none."""
    section = Section(meta_game.KEY, meta_game.TITLE)
    if files.ratings is None or files.meta_game is None:
        missing = (name for name in (RATINGS_FILE, META_GAME_FILE) if name in files.why)
        return section._replace(notes=tuple(dict.fromkeys(files.why[name] for name in missing)))
    try:
        return meta_game.meta_game(files.ratings, files.meta_game, cross)
    except DAMAGED:
        names = f"{META_GAME_FILE} or {RATINGS_FILE}"
        return section._replace(notes=(f"{names} is damaged: it lacks what it should hold.",))


def _trust(files: RunFiles, standings: Sequence[Standing], mains: Sequence[str]) -> Section:
    """The section of the run's files, or what they mean alone."""
    try:
        return trust(standings, files.meta_game, mains)
    except DAMAGED:  # which the meta-game's own section says
        return trust(standings, None, mains)


def _evaluation(files: RunFiles, data_dir: str | None) -> Section:
    """The section of the run's file, or why there is none, beside people."""
    section, human = Section(evaluation.KEY, evaluation.TITLE), stored_human_line()
    data = _human_data(human, data_dir)
    if files.evaluation is None:
        notes = (files.why[FINAL_FILE], evaluation.about_people(human), data)
        return section._replace(notes=notes, blocks=(evaluation.people(human),))
    try:
        section = evaluation.final_evaluation(files.evaluation, human)
    except DAMAGED:
        return section._replace(notes=(f"{FINAL_FILE} is damaged: it lacks what it should hold.",))
    return section._replace(notes=(*section.notes, data))


def _human_data(human: HumanLine, data_dir: str | None) -> str:
    """Whether the files that the figures of people were computed from are here."""
    folder = DEFAULT_DATA_DIR if data_dir is None else Path(data_dir).expanduser()
    try:
        same = all(checksum((folder / name).read_bytes()) == digest for name, digest in human.files.items())
    except OSError:
        return "The data of these people is not here: their figures are those kept in the package."
    return f"The data files at hand {'are' if same else 'are not'} the ones that these people's figures come from."
