"""The annotator: what it reads, what it marks instead of guessing, and how much of the published dialogues it knows.

Every sentence here is our own; the published dialogues are only read from their files.
"""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.dialogues.annotator import (
    NO_TALK,
    TalkState,
    Utterance,
    annotate,
    read_utterance,
    utterances,
)
from dond_marl.dialogues.human_line import selection
from dond_marl.game import MAX_COUNT, Act, Action, Rules, Scenario, State, Triple, apply, legal_actions, rest
from dond_marl.records.transcript import VARIANTS, act_sentence, phrase_act
from dond_marl.scenarios.data import load_dialogues

POOL: Triple = (1, 2, 3)  # a book, two hats, three balls
VOCABULARY = (
    *("i", "you", "me", "we", "give", "take", "keep", "the", "a", "all", "both", "rest", "everything", "nothing"),
    *("else", "hats", "hat", "book", "balls", "2", "three", "no", "not", "or", "for", "to", "each", "split", "half"),
    *("other", "deal", "ok", ",", ".", "?", "but", "and", "except", "how", "about", "insist"),
)
ANSWERS = [Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)]


def claim_of(text: str, context: TalkState = NO_TALK, counts: Triple = POOL) -> Triple | None:
    """The items that the speaker of an offer keeps; ``None`` if it is not read as one."""
    action = read_utterance(text, counts, context).action
    return action.oA if action is not None and action.act_type.is_offer else None


def act(text: str, context: TalkState = NO_TALK) -> Act | None:
    action = read_utterance(text, POOL, context).action
    return None if action is None else action.act_type


def offers(counts: Triple) -> list[Action]:
    shares = product(*(range(n + 1) for n in counts))
    return [Action(kind, oA) for oA in shares for kind in (Act.PROPOSE, Act.INSIST)]


# --- Words to acts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "oA"),
    [
        # what is not named goes to the other side
        ("i would gladly have the book and the hats", (1, 2, 0)),
        ("you may have the balls", (1, 2, 0)),
        ("could i please have 2 balls ?", (0, 0, 2)),
        ("one hat and two balls", (0, 1, 2)),
        # whose: the person last named, turned over by parting, settled by "for me" and "to you"
        ("i'll give you the hats", (1, 0, 3)),
        ("will you give me the hats", (0, 2, 0)),
        ("let me keep the balls", (0, 0, 3)),
        ("i can part with the book and a hat", (0, 1, 3)),
        ("could you spare both hats ?", (0, 2, 0)),
        ("i cannot give up the book", (1, 0, 0)),
        ("two balls and a hat for me , the rest for you", (0, 1, 2)),
        ("i would need the book , the rest to you", (1, 0, 0)),
        ("hats to you , book and balls are mine", (1, 0, 3)),
        ("take the hats and i keep the others", (1, 0, 3)),
        # how many: all of a plural, the rest, all but, one of each, halves, of each side
        ("i take everything except the hats", (1, 0, 3)),
        ("for myself i want one of each", (1, 1, 1)),
        ("let's split the hats and you take the book and the balls", (0, 1, 0)),
        ("we each get a hat , i get the book and you get the balls", (1, 1, 0)),
        ("you take 1 hat , i take the other hat , the book and two balls . the last ball is yours", (1, 1, 2)),
        ("i would trade you the book and balls for the hats", (0, 2, 0)),
        ("you may have it all", (0, 0, 0)),
        ("i want everything", (1, 2, 3)),
        # statements and questions claim nothing
        ("the hats are worthless to me , so i want the balls", (0, 0, 3)),
        ("do you want the hats ? i would take the book", (1, 0, 0)),
        # slips of the keyboard
        ("ill take thebook and basketballs", (1, 0, 3)),
        ("gimme the hatts", (0, 2, 0)),
        ("I`d like the Book.", (1, 0, 0)),
    ],
)
def test_an_offer_is_read_as_what_its_speaker_keeps(text, oA):
    assert claim_of(text) == oA


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deal !", Act.AGREE),
        ("that sounds good to my ears", Act.AGREE),
        ("ok , i accept", Act.AGREE),
        ("i disagree", Act.DISAGREE),  # "agree" is in "disagree"
        ("no deal", Act.DISAGREE),
        ("sorry , that does not quite work for me", Act.DISAGREE),
        ("not great , but deal", Act.AGREE),  # the last verdict counts
        ("<selection>", Act.END),
        ("hello there", None),
        ("what are you after ?", None),
        ("and does that work for you now ?", None),
        ("", None),
    ],
)
def test_an_answer_is_read_by_its_words(text, expected):
    assert act(text) is expected


def test_a_bare_yes_or_no_answers_an_act_and_not_any_question():
    for text, answer in (("yes", Act.AGREE), ("nope", Act.DISAGREE)):
        assert act(text) is None
        assert act(text, TalkState(partner_claim=(0, 2, 0), answers=Act.PROPOSE)) is answer


def test_repeated_offer_is_insist():
    context = TalkState(speaker_claim=(1, 0, 0), partner_claim=(1, 2, 0), answers=Act.PROPOSE)
    assert act("i need the book", context) is Act.INSIST
    assert act("i need a hat", context) is Act.PROPOSE
    assert act("i insist on a hat", context) is Act.INSIST


def test_yes_with_the_offered_split_is_agree_with_another_an_offer():
    # They leave us the book and a hat.
    context = TalkState(speaker_claim=(1, 2, 0), partner_claim=(0, 1, 3), answers=Act.PROPOSE)
    assert act("ok , i take the book and one hat", context) is Act.AGREE
    assert act("deal , you get the balls", context) is Act.AGREE
    assert act("ok , but i take both hats and the book", context) is Act.INSIST
    assert act("i take the book and one hat", context) is Act.PROPOSE  # no yes in it


def test_the_rest_is_of_what_the_other_side_last_claimed():
    assert claim_of("then i take the rest", TalkState(partner_claim=(0, 2, 1))) == (1, 0, 2)
    assert claim_of("you get the rest", TalkState(speaker_claim=(0, 1, 1))) == (0, 1, 1)
    assert read_utterance("i take the rest", POOL).unclear


def test_list_without_a_person_within_the_partners_claim_is_theirs():
    assert claim_of("one hat", TalkState(partner_claim=(0, 2, 0))) == (1, 1, 3)
    assert claim_of("one hat", TalkState(partner_claim=(0, 0, 3))) == (0, 1, 0)
    assert read_utterance("how about the book and a hat ?", POOL).unclear


@pytest.mark.parametrize(
    "text",
    [
        "i want the hats or the balls",
        "i would need at least one hat here",
        "can i have some of the balls ?",
        "i want the hats and you can have the book",  # and the balls?
        "i take four balls",
        "let's split the balls",  # three of them
        "i want 2",
        "and a hat",
        "i take two hats and you take one hat",
    ],
)
def test_ambiguous_offers_are_unread(text):
    reading = read_utterance(text, POOL)
    assert reading.action is None and reading.unclear and reading.reason


@given(st.text(max_size=60) | st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join))
def test_any_text_is_a_legal_act_or_unread(text):
    for context in (NO_TALK, TalkState((1, 0, 0), (0, 2, 1), Act.PROPOSE)):
        reading = read_utterance(text, POOL, context)
        if reading.action is None:
            assert reading.reason
        else:
            assert all(0 <= n <= count for n, count in zip(reading.action.oA, POOL, strict=True))


# --- Acts to words and back -----------------------------------------------------------------------------------------


def wordings(action: Action, counts: Triple) -> set[str]:
    lines = {phrase_act(action, counts, variant=v, final=final) for v in range(VARIANTS) for final in (False, True)}
    return lines | {act_sentence(action, counts, final=final) for final in (False, True)}


@pytest.mark.parametrize(
    "counts",
    [
        *(
            pytest.param(pool, marks=[pytest.mark.slow] * (not pool[0] < pool[1] < pool[2]))
            for pool in product(range(1, 5), repeat=3)
        ),
        *((0, 0, 1), (3, 0, 2)),
    ],
    ids=str,
)
def test_every_act_over_every_small_pool_is_read_back_from_every_wording(counts):
    """Lines of transcripts are read back too."""
    for action in [*offers(counts), *ANSWERS]:
        for line in wordings(action, counts):
            assert read_utterance(line, counts).action == action, line


@given(st.data())
def test_acts_over_large_pools_are_read_back_too(data):
    counts = data.draw(st.tuples(*[st.integers(0, MAX_COUNT)] * 3).filter(any))
    oA = data.draw(st.tuples(*(st.integers(0, n) for n in counts)))
    for action in (Action(Act.PROPOSE, oA), Action(Act.INSIST, oA)):
        for line in wordings(action, counts):
            assert read_utterance(line, counts).action == action, line


@given(st.data())
def test_game_in_plain_english_is_read_back(data):
    """But that proposing one's latest split again is insisting, as the annotator has it."""
    counts = data.draw(st.tuples(*[st.integers(1, 4)] * 3))
    state = State(Scenario(counts, ((1, 1, 1), (1, 1, 1))), Rules(disagree="rejects"))
    while not state.is_over:
        state = apply(state, data.draw(st.sampled_from(legal_actions(state))))
    talk = [
        Utterance(turn % 2, phrase_act(action, counts, variant=data.draw(st.integers(0, VARIANTS - 1))))
        for turn, action in enumerate(state.history)
    ]
    latest: list[Triple | None] = [None, None]
    for turn, (action, reading) in enumerate(zip(state.history, annotate(talk, counts), strict=True)):
        again = action.act_type is Act.PROPOSE and action.oA == latest[turn % 2]
        assert reading.action == (Action(Act.INSIST, action.oA) if again else action), talk[: turn + 1]
        if action.act_type.is_offer:
            latest[turn % 2] = action.oA


# --- The published dialogues ----------------------------------------------------------------------------------------


def last_proposal(talk, readings, counts):
    """The items of speaker 0 by the last proposal on the table; ``None`` if there is none, or it is not certain.

    A refusal takes the partner's proposal off the table and leaves the speaker's own; AGREE puts the partner's back. An
    unclear utterance makes the table uncertain until the next proposal.
    """
    standing, owner, certain, agreed = [None, None], None, False, False
    for (speaker, _), reading in zip(talk, readings, strict=True):
        act = reading.action and reading.action.act_type
        if act is None:
            certain = certain and not reading.unclear
        elif act.is_offer:
            standing[speaker], owner, certain, agreed = reading.action.oA, speaker, True, False
        elif act is Act.DISAGREE:
            standing[1 - speaker] = None
            owner = speaker if standing[speaker] is not None else None
        elif act is Act.AGREE and standing[1 - speaker] is not None and not agreed:
            owner, agreed = 1 - speaker, True
    claim = standing[owner] if owner is not None and certain else None
    return rest(counts, claim) if claim is not None and owner == 1 else claim


@pytest.mark.parametrize("split", ["val", pytest.param("train", marks=pytest.mark.slow)])
def test_the_last_proposal_is_what_people_selected(split, data_dir):
    """Nine of ten deals have a certain last proposal. The rules never look at the selected items."""
    deals = [(row, chosen) for row in load_dialogues(split, data_dir) if (chosen := selection(row)) is not None]
    tables = [last_proposal(talk := utterances(row), annotate(talk, row.counts), row.counts) for row, _ in deals]
    certain = [table == chosen for table, (_, chosen) in zip(tables, deals, strict=True) if table is not None]
    assert len(certain) / len(deals) >= 0.90 and sum(certain) / len(certain) >= 0.93
