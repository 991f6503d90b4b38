"""Scores of the annotator: the last proposal on the table, labels by hand, and kappa between two readers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.dialogues.annotator import Utterance, annotate
from dond_marl.game import Triple, rest
from dond_marl.randomness import generator
from experiments.annotator import (
    DRAWN,
    FIRST,
    HAND_LABELS,
    LABELS,
    SECOND,
    LabelError,
    agreement,
    as_document,
    drawn_utterances,
    kappa,
    load_labels,
    on_the_table,
    score_labels,
    score_split,
)
from tests.command import dond

POOL: Triple = (1, 2, 3)  # a book, two hats, three balls

HEADER = "file,line,utterance,act,books,hats,balls\n"


def test_kappa_is_agreement_beyond_chance_worked_by_hand():
    """Both say A of 4 and B of 3, they differ on 3 of 10: chance agrees on .5 * .6 + .5 * .4, so (.7 - .5) / .5."""
    first, second = list("AAAAABBBBB"), list("AAAABBBBAA")
    found = kappa(first, second, np.arange(10))
    assert found.agreed.mean == pytest.approx(0.7) and found.agreed.n == 10
    assert found.kappa.mean == pytest.approx(0.4)
    assert found.kappa.low < 0.4 < found.kappa.high <= 1


def test_kappa_is_one_where_both_always_agree_and_nothing_where_there_is_but_one_answer():
    found = kappa(list("AABB"), list("AABB"), np.arange(4))
    assert found.kappa.mean == 1 == found.kappa.high and found.kappa.low < 1
    with pytest.raises(ValueError, match="all labels are equal"):
        kappa(list("AA"), list("AA"), np.arange(2))


@pytest.mark.parametrize("noise", [0.02, 0.15, 0.4])
def test_the_interval_holds_the_true_kappa_about_as_often_as_it_says(noise):
    """400 samples of 200 utterances: each reader hears another of five acts with a small chance."""
    draw = generator(0, "kappa")
    shares = np.array([0.5, 0.15, 0.15, 0.1, 0.1])
    confused = (1 - noise) * np.eye(5) + noise * shares  # [true, heard]
    joint = confused.T @ np.diag(shares) @ confused
    chance = float((joint.sum(axis=0) * joint.sum(axis=1)).sum())
    truth = (float(np.trace(joint)) - chance) / (1 - chance)
    held = 0
    for _ in range(400):
        pairs = draw.choice(25, size=200, p=joint.ravel())
        low, high = kappa((pairs // 5).tolist(), (pairs % 5).tolist(), np.arange(200))[1][2:]
        held += low <= truth <= high
    assert 0.92 <= held / 400 <= 0.99


@pytest.mark.parametrize(
    ("path", "size", "split"), [(HAND_LABELS, 100, "val.txt"), (FIRST, DRAWN, "test.txt"), (SECOND, DRAWN, "test.txt")]
)
def test_the_files_of_labels_hold_places_and_acts_and_no_words(path, size, split):
    labels = load_labels(path)
    assert len({label[:3] for label in labels}) == len(labels) == size
    assert {label.file for label in labels} == {split} and {label.act for label in labels} <= set(LABELS)
    lines = path.read_text().splitlines()[1:]
    assert all(not set("".join(line.split(",")[1:3] + line.split(",")[4:])) - set("0123456789") for line in lines)


def test_what_was_labelled_is_what_the_published_seed_draws(data_dir):
    for path in (FIRST, SECOND):
        assert [(label.line, label.utterance) for label in load_labels(path)] == drawn_utterances(data_dir)


def test_the_annotator_agrees_less_with_readers_than_they_with_each_other(data_dir):
    found = agreement(data_dir=data_dir)
    assert found.between_acts.agreed.n == DRAWN and found.between_acts.kappa.low > 0.9
    first, second, both = found.annotator
    assert first.labelled == second.labelled == DRAWN > both.labelled
    for each in found.annotator:
        assert each.acts.kappa.high < found.between_acts.kappa.low
        assert each.exact.agreed.mean <= each.acts.agreed.mean
        assert each.read_right.mean <= each.read_right_but_end.mean < 1
    assert as_document(found)["between_acts"]["agreed"]["n"] == DRAWN


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("test.txt,1,2,END,,,\n", "test.txt,5,3,END,,,\n", "the same utterances"),
        ("val.txt,1,2,END,,,\n", "val.txt,1,2,END,,,\n", "not the first line of a negotiation"),
        ("test.txt,99999,2,END,,,\n", "test.txt,99999,2,END,,,\n", "not the first line of a negotiation"),
    ],
)
def test_labels_that_do_not_match_are_refused(first, second, words, data_dir, tmp_path):
    for name, text in (("a.csv", first), ("b.csv", second)):
        (tmp_path / name).write_text(HEADER + text)
    with pytest.raises(LabelError, match=words):
        agreement(tmp_path / "a.csv", tmp_path / "b.csv", data_dir)


HATS, CLAIM = "i want the hats", "i want the book and a hat"
UNCLEAR = (HATS, "could i have some balls ?")


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["hello"], None),
        ([HATS], (0, 2, 0)),
        ([HATS, CLAIM], rest(POOL, (1, 1, 0))),  # each speaker's proposal replaces the other's
        ([HATS, CLAIM, "no deal"], (0, 2, 0)),  # a refusal brings the refuser's own back
        ([HATS, CLAIM, "no deal", "ok deal"], (0, 2, 0)),  # a yes settles it
        ([HATS, "deal", "deal", "thank you"], (0, 2, 0)),
        (UNCLEAR, None),  # uncertain until the next proposal
        ([*UNCLEAR, "ok"], None),
        ([*UNCLEAR, "i take the hats and a ball"], (0, 2, 1)),
    ],
)
def test_last_proposal_on_the_table(lines, kept):
    """``kept``: what the first speaker keeps."""
    talk = [Utterance(turn % 2, line) for turn, line in enumerate(lines)]
    assert on_the_table(talk, annotate(talk, POOL), POOL) == kept


@pytest.mark.parametrize("split", ["val", pytest.param("train", marks=pytest.mark.slow)])
def test_the_last_proposal_is_what_people_selected_wherever_it_claims_to_know(split, data_dir):
    """The bars, and what it reached. The test file is not for tuning."""
    score = score_split(split, data_dir)
    assert score.coverage >= 0.70 and score.accuracy >= 0.85, "the bars"
    assert score.coverage >= 0.90 and score.accuracy >= 0.93, "what it reached before"
    assert score.acts + score.unclear <= score.utterances


def test_the_labels_given_by_hand_are_what_it_reads(data_dir):
    """100 utterances of the validation file, drawn once (seed 2017) and labelled before any was annotated."""
    scores = {score.act: score for score in score_labels(load_labels(HAND_LABELS), data_dir)}
    assert sum(score.labelled for score in scores.values()) == 100
    assert sum(score.same for score in scores.values()) >= 80
    assert scores["PROPOSE"].same >= 40 and scores["AGREE"].same >= 21 and scores["DISAGREE"].same >= 8


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", ":1: the first line"),
        ("file,line,utterance,act,books,hats,balls\nval.txt,1,1,MAYBE,,,\n", ":2: .*MAYBE"),
        ("file,line,utterance,act,books,hats,balls\nval.txt,1,1,PROPOSE,1,,\n", ":2: not a label"),
        ("file,line,utterance,act,books,hats,balls\nval.txt,1,1\n", ":2: not a label"),
    ],
)
def test_a_bad_label_is_named_with_its_line(content, complaint, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(LabelError, match=complaint):
        load_labels(path)


def test_label_of_no_utterance_is_refused(data_dir, tmp_path):
    path = tmp_path / "labels.csv"
    for place in ("99999,1", "1,99"):
        path.write_text(f"file,line,utterance,act,books,hats,balls\nval.txt,{place},AGREE,,,\n")
        with pytest.raises(LabelError, match=r"the (file|line) has"):
            score_labels(load_labels(path), data_dir)


def test_the_command_writes_all_scores(data_dir, tmp_path):
    out = tmp_path / "all.json"
    assert dond("experiment", "annotator", "--data-dir", data_dir, "--split", "val", "--json", out) == 0
    figures = json.loads(out.read_text())
    assert [split["split"] for split in figures["annotator"]["splits"]] == ["val"]
    assert sum(each["labelled"] for each in figures["annotator"]["labels"]) == 100
    assert figures["agreement"]["between_acts"]["agreed"]["n"] == DRAWN
