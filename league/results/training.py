"""A training as lines of progress and as sections: its closing score, and the report on a clone of people."""

from __future__ import annotations

import math
from pathlib import Path

from dond_marl.game import SEATS
from league.evaluation.evaluate import SAMPLED
from league.evaluation.matches import PARTNER
from league.figures.rows import Figure
from league.play.hinters import describe_hints, hint_queries, hint_summary
from league.results.progress import Output
from league.tables.blocks import Cell, Section, Table, TableRow, align_columns, number_cell
from league.tables.figures import duration, with_margin
from league.tables.plain import FOLDER, WARNING, fill, join_parts
from league.training.clone import CloneReport, HumanPositions
from league.training.training import (
    ClosingHints,
    ClosingScore,
    Training,
    closing_hints,
    own_decisions_per_game,
)
from partners.judges.language_model import JudgeReward
from partners.learning.cloning import Epoch
from partners.learning.rewards import OWN

LINES = 20  # a plain log of a whole training has about this many


class TrainWatcher:
    """Lines for the milestones and the progress of a training."""

    def __init__(self, output: Output) -> None:
        self.closing = False  # whether the training is saved, and its closing score is measured
        self._output = output
        self._printed = 0  # decisions at the last line of progress

    def warn(self, message: str) -> None:
        self._output.line(f"warning: {message}", "yellow")

    def on_open(self, training: Training, directory: Path) -> None:
        config, learner = training.config, training.learner
        verb = f"going on after {learner.decisions:,} decisions" if learner.decisions else "starting"
        self._prose(
            f"{verb}: {config.training.algo} against {config.env.partner} on {training.source.label}, "
            f"{config.training.num_train_steps:,} decisions, hints {describe_hints(config.hints)}"
            f"{reward_note(training)}{_start(training)}",
        )
        if (coming := closing_hints(training)) is not None:
            decisions, hints = max(config.training.num_train_steps - learner.decisions, 0), config.hints
            games = round(decisions / own_decisions_per_game(training))
            queries = hint_queries(hints, games, decisions, "").expected
            self._prose(f"about {queries:,} hints are asked in practice, and {coming.queries:,} or so at the end")
        self._output.line(f"run folder {directory}")
        self._printed = learner.decisions

    def on_update(self, training: Training) -> bool:
        total = training.config.training.num_train_steps
        if training.learner.decisions - self._printed >= total / LINES or training.is_complete:
            self._printed = training.learner.decisions
            self._output.line(join_parts(training_status(training), self._output.width))
        return True

    def on_closing(self, training: Training, play: str) -> None:
        """Report before the closing score of ``play``."""
        self.closing = True
        coming = closing_hints(training)
        if coming is not None and play == SAMPLED:
            self._prose(_announce_hints(coming, training))
        elif play == SAMPLED and self._printed:
            self._output.line("  the final score is measured")

    def _prose(self, text: str) -> None:
        self._output.line(fill(text, self._output.width))


class QuietTrainWatcher(TrainWatcher):
    """Prints warnings of a training only."""

    def on_open(self, training: Training, directory: Path) -> None: ...

    def on_update(self, training: Training) -> bool:  # noqa: ARG002  # nothing is shown
        return True


def training_status(training: Training) -> list[str]:
    """Decisions, time left, score and agreement of the latest practice, and speed, what matters most first."""
    score, settings, decisions = training.score, training.config.training, training.learner.decisions
    shown = [f"{decisions:,}/{settings.num_train_steps:,} decisions", f"{duration(_seconds_left(training))} left"]
    if score is not None:
        response = training.references.response  # points of the best response, nan where it is not known at once
        share = "" if math.isnan(response) else f" ({score.points / response:.1%} of a best response)"
        shown += [f"{score.points:.2f} points of ten{share}", f"{score.deals:.1%} deals"]
    shown.append(f"{training.decisions_per_second:,.0f} decisions/s")
    if score is not None and settings.reward != OWN:
        shown.append(f"paid {score.paid:.2f} by {settings.reward}")
    return shown


def _seconds_left(training: Training) -> float:
    """Seconds left of the training, with those of the final score if that queries a model."""
    coming = closing_hints(training)
    return training.seconds_left + (0.0 if coming is None or math.isnan(coming.seconds) else coming.seconds)


def reward_note(training: Training) -> str:
    """The reward, if it is not the learner's own points."""
    reward = training.config.training.reward
    return "" if reward == OWN else f", reward {reward}"


def _start(training: Training) -> str:
    """The initial weights and the KL penalty toward them, if they are not drawn from a seed."""
    settings = training.config.training
    penalty = f" with a KL penalty of {settings.kl:g}" if settings.kl else ""
    return "" if settings.init_from is None else f", from {settings.init_from}{penalty}"


def _announce_hints(coming: ClosingHints, training: Training) -> str:
    hints = training.config.hints
    about = "" if math.isnan(coming.seconds) else f", about {duration(coming.seconds)} at the pace of the practice"
    return (
        f"final score: {coming.games:,} games on held-out scenarios, about {coming.queries:,} hints of "
        f"{describe_hints(hints)}{about}; hints.closing_scenarios={hints.closing_scenarios} bounds it"
    )


def score_sections(training: Training, directory: Path) -> tuple[Section, ...]:
    """The closing score of a finished training, sampled and greedy, counts of hints and judgements, and its folder."""
    closing = training.closing
    assert closing is not None
    sections = [_score_section(training, directory, closing)]
    for result in closing.results.values():
        for name, answers in result.answers.items():
            if answers.fallbacks:
                sentence = answers.sentence(training.config.env.partner if name == PARTNER else name)
                sections.append(Section(WARNING, "", (sentence,)))
    notes = []
    if training.hints is not None:
        tally = hint_summary(training.hints.tally)
        notes.append(f"hints in practice: {tally}{training.config.hints.privileged_note}")
    reward = training.plan.reward
    if isinstance(reward, JudgeReward):
        counts = ", ".join(f"{name} {number:,}" for name, number in sorted(reward.judge.tally.items()))
        notes.append(f"judge of style {reward.judge.style} in practice: {counts}")
    sections.append(Section("counts", "", tuple(notes)))
    folder = f"run folder {directory}: checkpoints, progress.csv, config.yaml"
    return (*sections, Section(FOLDER, "", (folder,)))


def _score_section(training: Training, directory: Path, closing: ClosingScore) -> Section:
    """The closing score, measured as ``dond evaluate`` measures ``checkpoint(...)``."""
    rows: dict[str, dict[str, Cell]] = {
        play: {
            "points": Figure(result.points),
            **{f"as {seat}": Figure(result.figures[seat].points) for seat in SEATS},
            "deals": number_cell(result.deals, "share", result.points.n),
        }
        for play, result in closing.results.items()
    }
    shares = rows[SAMPLED] if training.hints is None else rows.setdefault(f"{SAMPLED}, without hints", {})
    shares |= {f"of {name}": Figure(share, "share") for name, share in closing.shares.items()}
    name = f"{directory.resolve().parent.name}/{directory.resolve().name}"
    title = (
        f"{name} against {training.config.env.partner} on {closing.label}{reward_note(training)}"
        f"{training.config.hints.privileged_note}"
    )
    caption = f"Points of ten, n = {closing.results[SAMPLED].points.n:,} games"
    table = Table(caption, *align_columns(list(rows.values()), list(rows)), label="play")
    return Section("score", title, (), (table,))


def epoch_status(epoch: Epoch) -> str:
    """The losses of one epoch, in nats, in one line."""
    return (
        f"epoch {epoch.epoch}: surprised by what others said {epoch.act:.3f} nats by the act and {epoch.oA:.3f} by the "
        f"split, training {epoch.train_act:.3f} and {epoch.train_oA:.3f}{', the best' * epoch.best}"
    )


def clone_section(report: CloneReport, positions: HumanPositions) -> Section:
    """The likeness to people and the strength of a cloned expert; ``positions``: the data that it is tested on."""
    test, likeness, greedy, sampled = positions.test, report.likeness, report.greedy.zoo, report.sampled.zoo
    accuracy = {
        "supervised expert": likeness.accuracy,
        "people's most frequent act": report.majority,
        "heuristic": report.heuristic,
    }
    agreement = [TableRow(name, tuple(Figure(x, "share") for x in shares)) for name, shares in accuracy.items()]
    gains = (Figure(gain, "difference of shares") for gain in report.more_than_majority)
    agreement.append(TableRow("expert - most frequent act", (*gains, None)))
    nats = (Figure(likeness.act_nats, "nats"), Figure(likeness.oA_nats, "nats"))
    play = [("zoo", greedy.points, sampled.points)]
    play += [(name, points, sampled.against[name]) for name, points in greedy.against.items()]
    points = (TableRow(name, (Figure(first), Figure(second))) for name, first, second in play)
    deals = TableRow("deals with the zoo", (number_cell(greedy.deals, "share"), number_cell(sampled.deals, "share")))
    tables = (
        Table("Agreement", ("the same act", "in replies", "the same split, of offers"), tuple(agreement), "policy"),
        Table("Cross-entropy", ("act", "split of an offer"), (TableRow("supervised expert", nats),), "policy"),
        Table("Own points of ten, where DISAGREE ends the game", ("greedy", "sampled"), (*points, deals), "against"),
    )
    notes = (
        f"{test.size:,} positions of the split test, {int(test.replies.sum()):,} of them replies, none of them used in "
        "training; 95% intervals over scenarios. Play is on the held-out scenarios.",
        *(
            f"Of {name} against the heuristic, greedy: {with_margin(share, 'share')}."
            for name, share in report.greedy.shares.items()
        ),
    )
    return Section("clone", "The cloned expert and people", notes, tables)
