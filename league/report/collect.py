"""Everything that a report tells of one run: a fold over its ledger, and the files that the league's end left.

A league that is still going on is read as it stands at one moment, and not disturbed.
"""

from __future__ import annotations

from pathlib import Path

from league.ledger.ledger import LedgerError, ReadLedger
from league.ledger.run_directory import RunError, named_run
from league.report.blocks import Report
from league.report.run_files import left_files
from league.report.sections.curriculum import curriculum, lineage
from league.report.sections.evaluation import evaluation
from league.report.sections.games import games
from league.report.sections.language_models import asked
from league.report.sections.meta_game import meta_game
from league.report.sections.provenance import broken_at, provenance
from league.report.sections.standings import crossplay, ladder, learning
from league.settings.read import Config
from league.standings.curves import learning_curves
from league.standings.history import history_of
from league.standings.references import responses_of


def collect(folder: Path) -> Report:
    """The report on the run in ``folder``, or on the newest of those in it.

    Raises :class:`~league.ledger.run_directory.RunError`, :class:`~league.ledger.ledger.LedgerError` and
    :class:`~league.settings.read.ConfigError`, in words for whoever asked.
    """
    directory = named_run(folder)
    if not directory.ledger.is_file():
        raise RunError(f"{directory.path}: the run was stopped before it began")
    with ReadLedger(directory.ledger) as ledger, ledger.still():
        if not ledger.begun:
            raise RunError(f"{directory.path}: the run was stopped before it began")
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
    standings = cross.ladder(confidence, responses)
    decided = [(number, one) for number in range(rounds) for one in ledger.decisions(number)]
    curves = learning_curves(ledger, confidence)
    mains = any(member.role == "main" for member in members)
    over = rounds >= config.rounds_in_all
    files = left_files(folder, over=over, evaluates=config.league.evaluate, mains=mains)
    told = (
        f"{'All' if over else 'So far'} {rounds} {'' if over else f'of {config.rounds_in_all} '}rounds, {cross.total_games:,} "
        f"games, {len(cross.members)} members, {len(config.learners)} of them learning; seed {config.league.seed}"
    )
    if (broken := broken_at(ledger)) is not None:
        told += f". {broken}"
    return Report(
        title=f"League {folder.resolve().parent.name}/{folder.resolve().name}",
        told=told,
        confidence=confidence,
        sections=(
            ladder(cross, standings, members, confidence, len(responses)),
            crossplay(cross, standings, confidence),
            meta_game(files, round(float(cross.payoffs().games.sum()) / 2), cross.total_games),
            evaluation(files, config.env.data_dir),
            learning(curves, [learner.name for learner in config.learners], confidence),
            curriculum(config, history.stages, decided),
            lineage(members, states, standings, decided),
            asked(config, ledger, blobs),
            games(config, ledger, blobs),
            provenance(config, ledger, blobs, files.sha256, broken),
        ),
    )
