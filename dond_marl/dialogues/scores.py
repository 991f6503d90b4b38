"""How much of what people wrote the annotator reads, and how much of it rightly.

Two measures. In negotiations that ended in a deal, the last proposal that it sees on the table must be what people then
selected, which it never looks at. And labels that were given by reading, by file, line and utterance and without the
text, are compared act by act. These are of the file val, which the rules were tuned on, by a single reader: labels of
the file test by two are compared in :mod:`dond_marl.dialogues.agreement`.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dond_marl.dialogues.annotator import ActReading, annotate, on_the_table, utterances
from dond_marl.dialogues.human_line import selection
from dond_marl.errors import InputError, quote
from dond_marl.game import ITEMS, Act, Triple
from dond_marl.scenarios.data import load_dialogues

NO_ACT = "NONE"  # a label's way to say that the utterance is no act
HAND_LABELS = Path(__file__).with_name("hand_labels.csv")  # of val; places and acts, no words
LABELS = (*(act.name for act in Act), NO_ACT)
_HEADER = ["file", "line", "utterance", "act", *(f"{item}s" for item in ITEMS)]


class LabelError(InputError):
    """A file of labels that cannot be read."""


class SplitScore(NamedTuple):
    """The annotator on one dialogue file."""

    split: str
    rows: int
    utterances: int  # without the closing selections, which are marked in the data
    acts: int  # of them read as an act
    unclear: int  # of them marked as unclear; the rest is talk that is no act
    agreed: int  # rows that ended in a deal
    understood: int  # of them those where it claims to know the last proposal on the table
    right: int  # of these, those where that is what was selected

    @property
    def coverage(self) -> float:
        """The share of deals that it claims to understand."""
        return self.understood / max(self.agreed, 1)

    @property
    def accuracy(self) -> float:
        """The share of what it claims to understand that it understands."""
        return self.right / max(self.understood, 1)


class Label(NamedTuple):
    """What a reader says that one utterance is."""

    file: str
    line: int  # of the file, from 1
    utterance: int  # of the line, from 1
    act: str  # one of LABELS
    oA: Triple | None  # what the speaker keeps, for an offer


class ActScore(NamedTuple):
    """The annotator on the utterances that a reader gave one label."""

    act: str
    labelled: int
    same: int  # read as the same act, with the same split if it is an offer; for NONE: not read as an act
    same_act: int  # read as the same act, whatever the split
    marked: int  # not read: marked as no act or as unclear
    read: int  # utterances of any label that it read as this act


class AnnotatorReport(NamedTuple):
    """The scores for people and for programs."""

    lines: tuple[str, ...]
    figures: dict[str, list[dict[str, Any]]]  # "splits" and "labels": the fields of SplitScore and ActScore


def score_split(split: str, data_dir: str | Path | None = None) -> SplitScore:
    """The annotator on ``train``, ``val`` or ``test``. Raises :class:`dond_marl.scenarios.data.DataError`."""
    rows = load_dialogues(split, data_dir)
    spoken = acts = unclear = agreed = understood = right = 0
    for row in rows:
        counts: Triple = row.counts  # type: ignore[assignment]  # three, as the reader of the file has checked
        talk = utterances(row)
        readings = annotate(talk, counts)
        spoken += len(talk) - 1
        acts += sum(reading.action is not None for reading in readings[:-1])
        unclear += sum(reading.unclear for reading in readings[:-1])
        selected = selection(row)
        if selected is not None:
            agreed += 1
            table = on_the_table(talk, readings, counts)
            understood += table is not None
            right += table == selected
    return SplitScore(split, len(rows), spoken, acts, unclear, agreed, understood, right)


def load_labels(path: str | Path) -> tuple[Label, ...]:
    """The labels of a CSV file. Raises :class:`LabelError`, naming the line."""
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise LabelError(f"{path}: cannot be read as a file of labels ({error})") from error
    if not rows or rows[0] != _HEADER:
        raise LabelError(f"{path}:1: the first line must be {','.join(_HEADER)}")
    return tuple(_label(path, number, row) for number, row in enumerate(rows[1:], start=2))


def score_labels(labels: Sequence[Label], data_dir: str | Path | None = None) -> tuple[ActScore, ...]:
    """The annotator against a reader's labels, act by act. Raises :class:`LabelError` for a label of no utterance."""
    pairs = [(label, reading_of(label, data_dir)) for label in labels]
    read: Counter[str] = Counter(_name(reading) for _, reading in pairs)
    scores = []
    for act in LABELS:
        mine = [(label, reading) for label, reading in pairs if label.act == act]
        same_act = [(label, reading) for label, reading in mine if _name(reading) == act]
        same = sum(label.oA is None or (r.action is not None and r.action.oA == label.oA) for label, r in same_act)
        marked = sum(reading.action is None for _, reading in mine)
        scores.append(ActScore(act, len(mine), same, len(same_act), marked, read[act]))
    return tuple(scores)


def reading_of(label: Label, data_dir: str | Path | None = None) -> ActReading:
    """What the annotator reads where a label is. Raises :class:`LabelError` for a label of no utterance."""
    rows = load_dialogues(label.file.removesuffix(".txt"), data_dir)
    place = f"{label.file}:{label.line}, utterance {label.utterance}"
    if not 1 <= label.line <= len(rows):
        raise LabelError(f"{place}: the file has {len(rows)} lines")
    row = rows[label.line - 1]
    readings = annotate(utterances(row), row.counts)  # type: ignore[arg-type]  # three counts, as above
    if not 1 <= label.utterance <= len(readings):
        raise LabelError(f"{place}: the line has {len(readings)} utterances")
    return readings[label.utterance - 1]


def annotator_report(
    splits: Sequence[str], labels: str | Path = HAND_LABELS, data_dir: str | Path | None = None
) -> AnnotatorReport:
    """All scores, in words and in numbers. Raises as :func:`score_split` and :func:`score_labels` do."""
    by_split = [score_split(split, data_dir) for split in splits]
    by_act = score_labels(load_labels(labels), data_dir)
    figures = {"splits": [score._asdict() for score in by_split], "labels": [score._asdict() for score in by_act]}
    return AnnotatorReport((*_split_lines(by_split), *_act_lines(by_act)), figures)


def _split_lines(scores: Sequence[SplitScore]) -> Iterator[str]:
    yield "The annotator: utterances read as acts, and deals whose last proposal it claims to know"
    for s in scores:
        acts, unclear = s.acts / max(s.utterances, 1), s.unclear / max(s.utterances, 1)
        yield (
            f"  {s.split:<6} {s.utterances:>6,} utterances: {acts:.1%} acts, {unclear:.1%} marked unclear; "
            f"{s.agreed:,} deals: coverage {s.coverage:.1%}, accuracy {s.accuracy:.1%} "
            f"({s.right:,} of {s.understood:,})"
        )


def _act_lines(scores: Sequence[ActScore]) -> Iterator[str]:
    labelled, same = sum(score.labelled for score in scores), sum(score.same for score in scores)
    yield (
        f"The annotator against {labelled} utterances of val, on which its rules were tuned, labelled by hand: {same} "
        "the same, splits and all"
    )
    yield f"  {'':<9} {'labelled':>8} {'same':>5} {'same act':>8} {'not read':>8} {'read as it':>10}"
    for s in scores:
        yield f"  {s.act:<9} {s.labelled:>8} {s.same:>5} {s.same_act:>8} {s.marked:>8} {s.read:>10}"


def _name(reading: ActReading) -> str:
    return NO_ACT if reading.action is None else reading.action.act_type.name


def _label(path: Path, number: int, row: list[str]) -> Label:
    try:
        file, line, utterance, act, *kept = row
        if act not in LABELS:
            raise ValueError(f"act must be one of {', '.join(LABELS)}; got {quote(act)}")
        offer = act in (Act.PROPOSE.name, Act.INSIST.name)
        oA = (int(kept[0]), int(kept[1]), int(kept[2])) if offer else None
        return Label(file, int(line), int(utterance), act, oA)
    except (ValueError, IndexError) as error:
        raise LabelError(f"{path}:{number}: not a label ({error}): {','.join(row)[:80]!r}") from None
