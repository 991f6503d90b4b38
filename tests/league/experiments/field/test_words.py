"""Bargaining in words: sentences drawn from given noise, read as acts, heard as acts; learned from the dialogues."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from dond_marl.batch import Table
from dond_marl.conformance import check_partner
from dond_marl.dialogues.annotator import read
from dond_marl.game import Act, Action, Rules, Scenario
from dond_marl.rollout import Noise, rollout, see
from dond_marl.scenarios.data import Dialogue
from dond_marl.scenarios.sources import pack
from dond_marl.scenarios.views import may_be_trained_on
from dond_marl.seats import Cause, decide
from league.experiments.field.words.corpus import END_OF_TURN, SELECTION, THEM, YOU, lines, rows_of, vocabulary, worded
from league.experiments.field.words.drawing import Voice
from league.experiments.field.words.network import TalkNetwork
from league.experiments.field.words.settings import LearningSection, SpeakingSection
from league.experiments.field.words.speaker import Speaker
from league.experiments.field.words.talk import talk
from league.experiments.field.words.training import learn, perplexity
from tests.command import ROOT, in_process

COUNTS = (1, 3, 1)
CONFIG = ROOT / "configs" / "words.yaml"


def said(first: str, *turns: str) -> tuple[str, ...]:
    """A dialogue in the published form, ``first`` being who speaks first, YOU or THEM."""
    order = (YOU, THEM) if first == YOU else (THEM, YOU)
    return tuple(word for turn, text in enumerate(turns) for word in (order[turn % 2], *text.split(), END_OF_TURN))


# Whoever values the ball asks for it; who values the others asks for those, and the other side agrees. Made up here.
ASKS = {(0, 0, 10): "i would like the ball", (1, 3, 0): "i would like the book and the hats"}
BALL, OTHERS = ASKS
TALKS = [
    Dialogue(COUNTS, *values, said(first, asked, "deal", SELECTION), ())
    for opener, other, asked in ((BALL, OTHERS, ASKS[BALL]), (OTHERS, BALL, ASKS[OTHERS]))
    for first, values in ((YOU, (opener, other)), (THEM, (other, opener)))
    for _ in range(20)
]
SPEAKING = SpeakingSection(temperature=0.1)


@pytest.fixture(scope="module")
def voice():
    known = vocabulary(TALKS)
    chosen = LearningSection(epochs=30, patience=30, minibatch=20, lr=1e-2, dropout=0.0)
    network, epochs = learn(lines(TALKS, known), lines(TALKS, known), len(known), chosen, 0)
    assert epochs[-1].perplexity < 1.3 and math.isclose(
        min(each.perplexity for each in epochs), perplexity(network, lines(TALKS, known))
    )
    return Voice(network, known, SPEAKING)


def test_what_is_learned_is_what_each_side_wants(voice):
    opening = [voice.known.numbers((YOU,))] * 2
    goals = [(*COUNTS, *values) for values in ASKS]
    assert [" ".join(words) for words in voice.sentences(goals, opening, np.array([0.3, 0.7]))] == list(ASKS.values())


def test_perplexity_is_that_of_the_words_after_the_first():
    known = vocabulary(TALKS)
    network = TalkNetwork(len(known), 0)
    with torch.no_grad():
        for weights in network.says.parameters():
            weights.zero_()
    assert perplexity(network, lines(TALKS[:3], known)) == pytest.approx(len(known))  # every word alike


def test_an_act_is_heard_in_words_that_are_read_as_the_act():
    for action in (Action(Act.PROPOSE, (0, 2, 1)), Action(Act.INSIST, (1, 0, 0)), Action(Act.AGREE)):
        for variant in range(3):
            heard = worded(action, COUNTS, variant)
            assert heard[-1] == END_OF_TURN
            reading = read(" ".join(heard[:-1]), COUNTS)
            assert reading.action is not None and reading.action.act_type is action.act_type
            assert not action.act_type.is_offer or reading.action.oA == action.oA


def test_a_speaker_opens_with_its_sentence_and_agrees(voice):
    scenarios = pack([Scenario(COUNTS, tuple(ASKS))] * 3)
    games = rollout((Speaker(voice), Speaker(voice)), scenarios, Rules(10), seed=1, prior="lewis")
    assert games.act[:, :2].tolist() == [[Act.PROPOSE, Act.AGREE]] * 3 and games.deal.all()
    assert games.oA[:, 0].tolist() == [[0, 0, 1]] * 3 and games.scores.tolist() == [[10, 10]] * 3
    assert not games.cause.any()


def test_what_is_never_read_is_a_claim_again_and_counted(voice):
    mute = Voice(voice.network, voice.known, SPEAKING.model_copy(update={"words": 2}))  # "i would": no act
    table = Table(pack([Scenario(COUNTS, ((1, 3, 0), (0, 0, 10)))]), Rules(10, "rejects"), prior="lewis")
    noise = Noise(0, (), 1)
    opened = Speaker(mute).speak(see(table, noise, deterministic=False))
    assert opened.drawn == [SPEAKING.attempts] and opened.decisions.cause.tolist() == [Cause.UNPARSABLE]
    assert opened.decisions.act_type.tolist() == [Act.PROPOSE] and opened.decisions.oA.tolist() == [[1, 3, 0]]
    table.step(opened.decisions)
    table.step(decide(np.array([Act.DISAGREE]), np.zeros((1, 3))))  # so that "deal" is no legal act either
    repeated = Speaker(mute).speak(see(table, noise, deterministic=False)).decisions
    assert repeated.act_type.tolist() == [Act.INSIST] and repeated.oA.tolist() == [[1, 3, 0]]


def test_a_speaker_is_a_partner_like_any_other(voice):
    check_partner(Speaker(voice), max_count=4, games=3, sources=("lewis",), variants=((Rules(10), False),))


def test_two_models_talk_in_words_until_somebody_ends_it(voice):
    scenarios = pack([Scenario(COUNTS, tuple(ASKS)), Scenario(COUNTS, tuple(ASKS)[::-1])])
    talks = talk((voice, voice), scenarios, seed=2, most=8)
    for each, opener in zip(talks.talks, ASKS.values(), strict=True):
        texts = [utterance.text for utterance in each.utterances]
        assert texts == [opener, "deal", SELECTION] and each.ended
        assert all(a.speaker != b.speaker for a, b in pairwise(each.utterances))
    assert [each.kept for each in talks.talks] == [(0, 0, 1), (1, 3, 0)]
    assert talks.reached.deal.all() and talks.reached.points.tolist() == [[10.0, 10.0]] * 2
    assert not talk((voice, voice), scenarios, seed=2, most=2).reached.deal.any()  # nobody ended it


def test_talks_on_scenarios_that_nobody_trains_on_are_left_out(data_dir):
    learned, everything = rows_of("train", data_dir, to_train_on=True), rows_of("train", data_dir)
    tables = [Scenario(row.counts, (row.my_values, row.partner_values)) for row in learned]
    assert len(everything) == 10_095 > len(learned) > 6_000 and may_be_trained_on(pack(tables)).all()


@pytest.mark.parametrize("name", ["plain", "2024", "null", "#x", "[a"])
def test_without_the_dialogues_the_command_says_where_they_go(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = in_process("experiment", "words", "--data-dir", name, "--set", f"output_dir={tmp_path / 'run'}",
                      "--config", CONFIG)  # fmt: skip
    assert done.returncode == 2 and f"{name}/train.txt" in done.stderr and "dond data fetch" in done.stderr


@pytest.mark.slow
def test_the_command_learns_plays_keeps_and_goes_on(tmp_path, data_dir):
    small = ["learning.seeds=1", "learning.epochs=1", "scenarios=8", f"output_dir={tmp_path / 'run'}"]
    words = ["experiment", "words", "--data-dir", data_dir, *(word for key in small for word in ("--set", key))]
    words += ["--set", "against=[heuristic]", "--results", tmp_path / "words.jsonl"]
    assert in_process(*words).returncode == 0
    rows = [json.loads(line) for line in (tmp_path / "words.jsonl").read_text().splitlines()]
    assert rows[1]["test"] < 40 and [row["games"] for row in rows[2:]] == [8, 8, 16]
    again = in_process(*words)
    assert again.returncode == 0 and "meets" not in again.stdout
    assert [json.loads(line) for line in (tmp_path / "words.jsonl").read_text().splitlines()][1:] == rows[1:]
