"""Measure how much of what people wrote the annotator reads, and how much of it rightly.

Two measures. In negotiations that ended in a deal, the last proposal that it sees on the table must be what people then
selected, which it never looks at. And labels that were given by reading, by file, line and utterance and without the
text, are compared act by act: one labelling of the file val, on which the rules were tuned, and two of the file test.

examples:
  dond experiment annotator --data-dir data
  dond experiment annotator --data-dir data --split test --json docs/results/annotator.json
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from dond_marl.dialogues.annotator import ActReading, Utterance, annotate, utterances
from dond_marl.dialogues.games import negotiations
from dond_marl.dialogues.human_line import selection
from dond_marl.errors import InputError, quote
from dond_marl.game import ITEMS, Act, Triple, rest
from dond_marl.randomness import generator
from dond_marl.scenarios.data import DIALOGUE_SPLITS, DataError, load_dialogues
from dond_marl.scenarios.sources import pack
from dond_marl.statistics import Estimate, rate, scenario_groups, sums_by_group
from experiments.kit import experiment_command, show_sections, table_section
from league.cli.shell import FILE
from league.tables.blocks import Section

NO_ACT = "NONE"  # the label of an utterance that is no act
HAND_LABELS, FIRST, SECOND = (  # places and acts, no words
    Path(__file__).with_name("hand_labels") / f"{name}.csv" for name in ("val", "test_first", "test_second")
)
SPLIT = "test"
DRAWN, SEED = 200, 2017
REFUSALS = {Act.END.name: Act.DISAGREE.name}  # acts that count as one
CONFIDENCE = 0.95  # two-sided, of every interval
LABELS = (*(act.name for act in Act), NO_ACT)
_HEADER = ["file", "line", "utterance", "act", *(f"{item}s" for item in ITEMS)]


class LabelError(InputError):
    """A file of labels that cannot be read."""


class SplitScore(NamedTuple):
    """Scores of the annotator on one dialogue file."""

    split: str
    rows: int
    utterances: int  # without the closing selections, which are marked in the data
    acts: int  # of them read as an act
    unclear: int  # of them marked as unclear; the rest is talk that is no act
    agreed: int  # rows that ended in a deal
    understood: int  # of them, rows with a certain last proposal on the table by the annotator
    right: int  # of these, rows where that proposal was selected

    @property
    def coverage(self) -> float:
        """The share of deals with a certain last proposal."""
        return self.understood / max(self.agreed, 1)

    @property
    def accuracy(self) -> float:
        """The share of certain last proposals that are right."""
        return self.right / max(self.understood, 1)


class Label(NamedTuple):
    """A reader's label of one utterance."""

    file: str
    line: int  # of the file, from 1
    utterance: int  # of the line, from 1
    act: str  # one of LABELS
    oA: Triple | None  # what the speaker keeps, for an offer


class ActScore(NamedTuple):
    """Scores of the annotator on the utterances with one label."""

    act: str
    labelled: int
    same: int  # read as the same act, with the same split if it is an offer; for NONE: not read as an act
    same_act: int  # read as the same act, whatever the split
    marked: int  # not read: marked as no act or as unclear
    read: int  # utterances of any label that it read as this act


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
    """The annotator's reading of a labelled utterance. Raises :class:`LabelError` if there is no such utterance."""
    rows = load_dialogues(label.file.removesuffix(".txt"), data_dir)
    place = f"{label.file}:{label.line}, utterance {label.utterance}"
    if not 1 <= label.line <= len(rows):
        raise LabelError(f"{place}: the file has {len(rows)} lines")
    row = rows[label.line - 1]
    readings = annotate(utterances(row), row.counts)  # type: ignore[arg-type]  # three counts, as above
    if not 1 <= label.utterance <= len(readings):
        raise LabelError(f"{place}: the line has {len(readings)} utterances")
    return readings[label.utterance - 1]


def on_the_table(talk: Sequence[Utterance], readings: Sequence[ActReading], counts: Triple) -> Triple | None:
    """The items of speaker 0 by the last proposal on the table; ``None`` if there is none, or it is not certain.

    A refusal takes the partner's proposal off the table and leaves the speaker's own; AGREE puts the partner's back. An
    unclear utterance makes the table uncertain until the next proposal.
    """
    standing: list[Triple | None] = [None, None]
    owner: int | None = None
    certain = agreed = False
    for (speaker, _), reading in zip(talk, readings, strict=True):
        act = None if reading.action is None else reading.action.act_type
        if reading.action is None:
            certain = certain and not reading.unclear
        elif reading.action.act_type.is_offer:
            standing[speaker], owner, certain, agreed = reading.action.oA, speaker, True, False
        elif act is Act.DISAGREE:
            standing[1 - speaker] = None
            owner = speaker if standing[speaker] is not None else None
        elif act is Act.AGREE and standing[1 - speaker] is not None and not agreed:
            owner, agreed = 1 - speaker, True
    claim = standing[owner] if owner is not None else None
    if claim is None or not certain:
        return None
    return claim if owner == 0 else rest(counts, claim)


def _name(reading: ActReading) -> str:
    return NO_ACT if reading.action is None else reading.action.act_type.name


def _label(path: Path, number: int, row: list[str]) -> Label:
    try:
        file, line, utterance, act, *items = row
        if act not in LABELS:
            raise ValueError(f"act must be one of {', '.join(LABELS)}; got {quote(act)}")
        offer = act in (Act.PROPOSE.name, Act.INSIST.name)
        oA = (int(items[0]), int(items[1]), int(items[2])) if offer else None
        return Label(file, int(line), int(utterance), act, oA)
    except (ValueError, IndexError) as error:
        raise LabelError(f"{path}:{number}: not a label ({error}): {','.join(row)[:80]!r}") from None


Answer = tuple[str, Triple | None]  # an act's name or NONE, and what the speaker keeps where it is an offer
Groups = NDArray[np.int64]


class Kappa(NamedTuple):
    """The agreement of two on the same utterances."""

    agreed: Estimate  # the share of utterances with equal labels
    kappa: Estimate  # beyond chance: 0 as by chance, 1 always


class Reader(NamedTuple):
    """Agreement of the annotator with one reader's labels, or with those on which both readers agree."""

    labels: str  # whose labels
    labelled: int
    acts: Kappa
    exact: Kappa  # with the split, where it is an offer
    read_right: Estimate  # of the utterances that it reads as an act, the share that are that act
    read_right_but_end: Estimate  # the same with DISAGREE and END as one: "no deal" can be either


class Agreement(NamedTuple):
    """All agreement figures on the labels of the test file."""

    between_acts: Kappa  # of the two readers
    between_exact: Kappa
    annotator: tuple[Reader, ...]  # with the first reader, the second, and where both agree


def drawn_utterances(data_dir: str | Path | None = None) -> list[tuple[int, int]]:
    """The drawn utterances: line of the test file and utterance, both from 1, in their order.

    Drawn from all utterances of its negotiations but the closing clicks. Raises
    :class:`dond_marl.scenarios.data.DataError`.
    """
    every = [(talk.line, number) for talk in negotiations(SPLIT, data_dir) for number in range(1, len(talk.talk))]
    chosen = generator(SEED, "hand labels", 0).permutation(len(every))[:DRAWN]
    return sorted(every[place] for place in chosen.tolist())


def kappa(first: Sequence[Answer | str], second: Sequence[Answer | str], groups: Groups) -> Kappa:
    """Cohen's kappa of two sequences of answers; ``groups[N]``, in 0..GROUPS - 1, go together.

    Raises ``ValueError`` where the sequences are of different lengths, or where chance alone would always agree.
    """
    size = len(first)
    same = np.array([a == b for a, b in zip(first, second, strict=True)], dtype=np.float64)
    mine, theirs = Counter(first), Counter(second)
    chance = sum(mine[answer] * theirs[answer] for answer in mine) / size**2
    if chance == 1:
        raise ValueError("all labels are equal, so that there is no agreement beyond chance")
    agreed = rate(*sums_by_group(same, groups), CONFIDENCE)
    beyond = [(value - chance) / (1 - chance) for value in (agreed.mean, agreed.low, agreed.high)]
    return Kappa(agreed, Estimate(beyond[0], agreed.n, beyond[1], beyond[2]))


def agreement(first: str | Path = FIRST, second: str | Path = SECOND, data_dir: str | Path | None = None) -> Agreement:
    """The agreement of two files of labels of the same utterances, and of the annotator with both.

    Raises :class:`LabelError`, also where the files label different utterances, and
    :class:`dond_marl.scenarios.data.DataError`.
    """
    both = load_labels(first), load_labels(second)
    if [label[:3] for label in both[0]] != [label[:3] for label in both[1]]:
        raise LabelError(f"{first}, {second}: two passes label the same utterances in the same order")
    talks = {talk.line: talk for talk in negotiations(SPLIT, data_dir)}
    for label in both[0]:
        if label.file != f"{SPLIT}.txt" or label.line not in talks:
            raise LabelError(f"{label.file}:{label.line}: not the first line of a negotiation of {SPLIT}.txt")
    groups = scenario_groups(pack([talks[label.line].scenario for label in both[0]]))
    mine, theirs = ([(label.act, label.oA) for label in labels] for labels in both)
    read = [_answer(label, data_dir) for label in both[0]]
    certain = np.array([a == b for a, b in zip(mine, theirs, strict=True)])
    shared, shown = (list(itertools.compress(answers, certain)) for answers in (mine, read))
    readers = (
        _reader("the first reader", mine, read, groups),
        _reader("the second reader", theirs, read, groups),
        _reader("both readers, where they agree", shared, shown, groups[certain]),
    )
    return Agreement(kappa(_acts(mine), _acts(theirs), groups), kappa(mine, theirs, groups), readers)


def _reader(name: str, labels: list[Answer], read: list[Answer], groups: Groups) -> Reader:
    claimed = np.array([act != NO_ACT for act, _ in read], dtype=np.float64)

    def right(same: Mapping[str, str]) -> Estimate:
        hits = [same.get(a, a) == same.get(b, b) for (a, _), (b, _) in zip(labels, read, strict=True)]
        return rate(*sums_by_group(np.array(hits, dtype=np.float64), groups, claimed), CONFIDENCE)

    acts = kappa(_acts(labels), _acts(read), groups)
    return Reader(name, len(labels), acts, kappa(labels, read, groups), right({}), right(REFUSALS))


def _answer(label: Label, data_dir: str | Path | None) -> Answer:
    action = reading_of(label, data_dir).action
    return (NO_ACT, None) if action is None else (action.act_type.name, action.oA if action.act_type.is_offer else None)


def _acts(answers: Sequence[Answer]) -> list[str]:
    return [act for act, _ in answers]


def splits_section(scores: Sequence[SplitScore]) -> Section:
    """Utterances read as acts, and deals whose last proposal the annotator claims to know."""
    rows = [
        [
            score.split,
            f"{score.utterances:,}",
            f"{score.acts / max(score.utterances, 1):.1%}",
            f"{score.unclear / max(score.utterances, 1):.1%}",
            f"{score.agreed:,}",
            f"{score.coverage:.1%}",
            f"{score.accuracy:.1%} of {score.understood:,}",
        ]
        for score in scores
    ]
    heads = ("split", "utterances", "acts", "unclear", "deals", "last proposal known", "and right")
    return table_section("The annotator by file", heads, rows)


def acts_section(scores: Sequence[ActScore]) -> Section:
    """The annotator against the labels of split val, on which its rules were tuned, act by act."""
    rows = [[score.act, *map(str, score[1:])] for score in scores]
    heads = ("label", "labelled", "same", "same act", "not read", "read as it")
    return table_section("Labels of split val", heads, rows)


def labels_section(report: Any) -> Section:
    """Agreement of the annotator with other labels of the same utterances."""
    agreement = report["agreement"]

    def cells(kappa: dict[str, dict[str, float]]) -> str:
        agreed, beyond = kappa["agreed"], kappa["kappa"]
        return f"{agreed['mean']:.1%}, {beyond['mean']:.2f} [{beyond['low']:.2f}, {beyond['high']:.2f}]"

    between = agreement["between_acts"]
    rows = [["the two readings", f"{between['agreed']['n']:,}", cells(between), cells(agreement["between_exact"])]]
    rows[0] += ["", ""]
    for each in agreement["annotator"]:
        noise = [f"{1 - each[key]['mean']:.1%} of {each[key]['n']}" for key in ("read_right", "read_right_but_end")]
        labels = f"annotator and {each['labels']}"
        rows.append([labels, f"{each['labelled']:,}", cells(each["acts"]), cells(each["exact"]), *noise])
    heads = ("labels", "utterances", "same act: share, kappa", "with the split: share, kappa",
             "other act or none", "DISAGREE and END as one")  # fmt: skip
    old = report["annotator"]["labels"]
    note = (
        f"Of older labels by one reader, of split val, on which its rules were tuned, "
        f"{sum(act['same'] for act in old)} of {sum(act['labelled'] for act in old)} are the same, with splits."
    )
    return table_section("Agreement of labels", heads, rows, note)


@experiment_command(__doc__, stopped="nothing is written", results=False, run_errors=(DataError, LabelError))
@click.option("--data-dir", type=FILE, metavar="FOLDER", help="folder of the published files (data)")
@click.option("--split", "splits", type=click.Choice(DIALOGUE_SPLITS), multiple=True, help="annotate only this")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="also write the figures to a file")
def command(data_dir: Path | None, splits: tuple[str, ...], json_path: Path | None) -> None:
    """Print all scores."""
    by_split = [score_split(split, data_dir) for split in splits or DIALOGUE_SPLITS]
    by_act = score_labels(load_labels(HAND_LABELS), data_dir)
    figures = {"splits": [score._asdict() for score in by_split], "labels": [score._asdict() for score in by_act]}
    document = {"annotator": figures, "agreement": as_document(agreement(data_dir=data_dir))}
    show_sections(splits_section(by_split), acts_section(by_act), labels_section(document))
    if json_path is not None:
        json_path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def as_document(found: Agreement) -> dict[str, Any]:
    """The agreement as plain values."""

    def plain(value: Any) -> Any:
        if hasattr(value, "_asdict"):
            return {name: plain(each) for name, each in value._asdict().items()}
        if isinstance(value, tuple):
            return [plain(each) for each in value]
        return round(value, 4) if isinstance(value, float) else value

    document: dict[str, Any] = plain(found)
    return document
