"""How far two readers of the same utterances agree, and the annotator with each of them and with what both say.

The utterances are ``DRAWN`` of the test file, on which no rule was tuned, drawn once by a published seed. They were
labelled in two passes, neither of which saw the other's labels or the annotator's. Both readers were the same language
model (Claude) with the same page of instructions, and no person: their agreement says how clear the task is to such
readers, and not how far any two people would agree.

Agreement beyond chance is Cohen's kappa (Cohen 1960, *A Coefficient of Agreement for Nominal Scales*). Its interval is
Wilson's of the agreement, talks on one scenario going together, with the agreement by chance taken as known.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.dialogues.games import negotiations
from dond_marl.dialogues.scores import NO_ACT, Label, LabelError, load_labels, reading_of
from dond_marl.game import Act, Triple
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import pack
from dond_marl.statistics import Estimate, rate, scenario_groups, sums_by_group

FIRST, SECOND = (Path(__file__).with_name(f"hand_labels_{name}.csv") for name in ("first", "second"))
SPLIT = "test"
DRAWN, SEED = 200, 2017
REFUSALS = {Act.END.name: Act.DISAGREE.name}  # acts that count as one
CONFIDENCE = 0.95  # two-sided, of every interval
Answer = tuple[str, Triple | None]  # an act's name or NONE, and what the speaker keeps where it is an offer
Groups = NDArray[np.int64]


class Kappa(NamedTuple):
    """The agreement of two on the same utterances."""

    agreed: Estimate  # the share of utterances of which both say the same
    kappa: Estimate  # beyond chance: 0 as by chance, 1 always


class Reader(NamedTuple):
    """The annotator beside one reader's labels, or beside those on which both readers agree."""

    beside: str
    labelled: int
    acts: Kappa
    exact: Kappa  # with the split, where it is an offer
    read_right: Estimate  # of the utterances that it reads as an act, the share that are that act
    read_right_but_end: Estimate  # the same with DISAGREE and END as one: "no deal" can be either


class Agreement(NamedTuple):
    """Everything about the labels of the test file."""

    between_acts: Kappa  # of the two readers
    between_exact: Kappa
    annotator: tuple[Reader, ...]  # beside the first, the second, and what both say


def places(data_dir: str | Path | None = None) -> list[tuple[int, int]]:
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
        raise ValueError("both say one and the same of everything, so that there is no agreement beyond chance")
    agreed = rate(*sums_by_group(same, groups), CONFIDENCE)
    beyond = [(value - chance) / (1 - chance) for value in (agreed.mean, agreed.low, agreed.high)]
    return Kappa(agreed, Estimate(beyond[0], agreed.n, beyond[1], beyond[2]))


def agreement(first: str | Path = FIRST, second: str | Path = SECOND, data_dir: str | Path | None = None) -> Agreement:
    """The agreement of two files of labels of the same utterances, and the annotator beside them.

    Raises :class:`dond_marl.dialogues.scores.LabelError`, also where the files label different utterances, and
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


def as_lines(found: Agreement) -> Iterator[str]:
    """The agreement in words."""
    yield (
        f"{found.between_acts.agreed.n} utterances of {SPLIT}.txt, drawn by seed and labelled in two passes that did "
        f"not see each other: the same act {_told(found.between_acts)}; with the split {_told(found.between_exact)}"
    )
    for each in found.annotator:
        yield (
            f"  the annotator beside {each.beside} ({each.labelled}): the same act {_told(each.acts)}; with the split "
            f"{_told(each.exact)}; of {each.read_right.n} read as an act {1 - each.read_right.mean:.1%} are another or "
            f"none, {1 - each.read_right_but_end.mean:.1%} where DISAGREE and END count as one"
        )


def _reader(beside: str, said: list[Answer], read: list[Answer], groups: Groups) -> Reader:
    claimed = np.array([act != NO_ACT for act, _ in read], dtype=np.float64)

    def right(same: Mapping[str, str]) -> Estimate:
        hits = [same.get(a, a) == same.get(b, b) for (a, _), (b, _) in zip(said, read, strict=True)]
        return rate(*sums_by_group(np.array(hits, dtype=np.float64), groups, claimed), CONFIDENCE)

    acts = kappa(_acts(said), _acts(read), groups)
    return Reader(beside, len(said), acts, kappa(said, read, groups), right({}), right(REFUSALS))


def _answer(label: Label, data_dir: str | Path | None) -> Answer:
    action = reading_of(label, data_dir).action
    return (NO_ACT, None) if action is None else (action.act_type.name, action.oA if action.act_type.is_offer else None)


def _acts(answers: Sequence[Answer]) -> list[str]:
    return [act for act, _ in answers]


def _told(found: Kappa) -> str:
    agreed, beyond = found
    return f"{agreed.mean:.1%}, kappa {beyond.mean:.2f} ({beyond.low:.2f} to {beyond.high:.2f})"


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
