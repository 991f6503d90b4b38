"""Typed sentences at the table: read as an act, confirmed, or refused with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dond.table.game import warning
from dond.table.typed_lines import NOTHING_TO_AGREE_TO, Reading, read_line, read_sentence, refusal
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from partners.human import View

# 2 books, 2 hats, 2 balls. seat_0 has asked for everything, and is offered both balls.
SCENARIO = Scenario((2, 2, 2), ((2, 2, 1), (1, 2, 2)))
TALK = (Action(Act.PROPOSE, (2, 2, 2)), Action(Act.PROPOSE, (2, 2, 0)))
AGREE, NO = Action(Act.AGREE), Action(Act.DISAGREE)
REPEATED, INSISTED = Action(Act.PROPOSE, (2, 2, 2)), Action(Act.INSIST, (2, 2, 2))
ENGLISH = "only English is read for now"
UNCLEAR = "it is not clear"
QUESTIONS = "they answer offers, not questions"
UNREAD = (ENGLISH, UNCLEAR, "neither a split nor a yes or no was found in it")


def view_after(*talk: Action, scenario: Scenario = SCENARIO, rules: Rules | None = None) -> View:
    state = State(scenario, rules or Rules())
    for action in talk:
        state = apply(state, action)
    return View(state)


OFFERED = view_after(*TALK)


def keep(books: int, hats: int, balls: int) -> Action:
    return Action(Act.PROPOSE, (books, hats, balls))


# Typed sentences with their reading: an act, the acts of a question, or the reason why there is none.
READINGS: tuple[tuple[str, Action | tuple[Action, ...] | str], ...] = (
    ("gimme the hats", keep(0, 2, 0)),
    ("deal!", AGREE),
    ("can i get both books n you get everything else", keep(2, 0, 0)),
    ("i'll give u the ball", keep(2, 2, 1)),
    ("nope, that's unfair. give me two hats or I'm out", keep(0, 2, 0)),
    ("Sure, sounds good", AGREE),
    ("you get nothing", INSISTED),
    ("i get 3 hats", "there are only 2 books, 2 hats, 2 balls on the table"),
    ("lets split the books evenly, you keep the hats", "it does not say who gets the balls"),
    ("hello, how are you?", "neither a split nor a yes or no was found in it"),
    ("no way", (REPEATED, NO)),
    ("I don't need the books", keep(0, 2, 2)),
    ("let me have a hat too", keep(0, 1, 2)),
    ("take it or leave it", INSISTED),
    ("\u6211\u8981\u6240\u6709\u7684\u4e66", ENGLISH),  # I want all books, in Chinese
    ("bye", NO),  # which is warned of: see below
    ("i accept if you add one more hat", keep(0, 1, 2)),
    ("same as before", INSISTED),
    ("I can't accept that", (REPEATED, NO)),
    ("I'm out", NO),
    ("ok but I want one hat as well", keep(0, 1, 2)),
    ("deal if you give me another ball", "there are only 2 books, 2 hats, 2 balls on the table"),
    ("two hats, no more", UNCLEAR),
    ("one book less", "it takes something away"),
    ("let's split everything 50-50", keep(1, 1, 1)),
    ("2 hats and a ball for me, take it or leave it", Action(Act.INSIST, (0, 2, 1))),
    ("it's all yours", keep(0, 0, 0)),
    ("hmm, how about two books and a ball", keep(2, 0, 1)),
    ("0 2 0", keep(0, 2, 0)),
    ("9 9 9", keep(9, 9, 9)),  # refused as illegal, with what there is
    ("me: hats, you: rest", keep(0, 2, 0)),
    ("anything but books", keep(0, 2, 2)),
    ("if you give me the hats you can have the rest", keep(0, 2, 0)),
    ("i get the hats u get the books we split the balls", keep(0, 2, 1)),
    ("you take the hats instead of the balls", UNCLEAR),
    ("meet me halfway", keep(1, 1, 1)),
    ("I won't budge", INSISTED),
    ("let's do it", AGREE),
    ("that's too little", (REPEATED, NO)),
    ("what do you want?", QUESTIONS),
    ("I'd rather have the hats than the balls", "it says what you like better"),
    ("I'd take two hats if you throw in a ball", "it adds to something"),
    ("all but the hats", keep(2, 0, 2)),
    ("I really need the ball", "it leaves the rest open"),
    ("no way, I need the ball", "it leaves the rest open"),
    ("2 hats + a ball = me, 2 books and a ball = you", keep(0, 2, 1)),
    ("both hats for me, nothing else", keep(0, 2, 0)),
    ("can you live without the hats?", QUESTIONS),
    ("I insist on my last offer", INSISTED),
    ("i'm not moving, take it or leave it", INSISTED),
    ("forget it, I'm out", NO),
    ("I'll settle for just the balls", AGREE),  # their offer
    ("I can't say no to that", AGREE),
    ("that's a terrible deal and you know it", "it is not clear whether that is a yes or a no"),
    ("forget it, we're done here. goodbye", "it is not clear whether that is a yes or a no"),
    ("one ball and one hat and that's my final offer", Action(Act.INSIST, (0, 1, 1))),
    ("the books don't interest me, what are you after?", "it says what items are worth"),
    ("I'll drop a ball if you give me the hats", "it trades items"),
)


# The same with 2 books, 2 hats and 1 ball: the person has asked for 1 book and the ball, and is offered the books.
NO_DEAL = (keep(1, 0, 1), NO)
ANSWERS: tuple[tuple[str, Action | tuple[Action, ...] | str], ...] = (
    ("Add the ball and you have a deal", keep(2, 0, 1)),
    ("agreed, but the ball is mine", keep(2, 0, 1)),
    ("I'd accept if you also gave me the ball", keep(2, 0, 1)),
    ("sweeten it with the ball", keep(2, 0, 1)),
    ("plus the ball, please", keep(2, 0, 1)),
    ("I won't accept without the ball", keep(2, 0, 1)),
    ("no ball, no deal", keep(2, 0, 1)),
    ("only if I get both hats", keep(2, 2, 0)),
    ("that's nice but I need a hat", keep(2, 1, 0)),
    ("could you spare a hat?", keep(2, 1, 0)),
    ("ok but you can have one of the books if I get the ball", keep(1, 0, 1)),
    ("works for me if the books stay with me", (AGREE,)),
    ("I give you one of my books", keep(0, 0, 1)),
    ("I won't go lower than this", Action(Act.INSIST, (1, 0, 1))),
    ("my offer hasn't changed", Action(Act.INSIST, (1, 0, 1))),
    ("half half", "cannot be halved"),
    ("Alright, you can have the ball", (keep(2, 2, 0), AGREE)),
    ("that's a terrible offer", NO_DEAL),
    ("let's call it off", NO),
    ("deal, minus one book", "it takes something away"),
    ("deal but without the hats", "it takes something away"),
    ("I'll take your offer if you swap a book for the ball", "it takes something away"),
    ("no deal if you keep both hats", "it says what you refuse"),
    ("I'd give up one book to get the ball", "it trades items"),
    ("ball or no deal", keep(2, 0, 1)),
    ("I'll do it for the ball", keep(2, 0, 1)),
    ("ok except I want a hat", keep(2, 1, 0)),
    ("you really want that hat huh", "it says what they like"),
    ("what do you think about the hat", QUESTIONS),
    ("give me a hat and keep the ball", "it does not say who gets the books"),
    ("I want the ball and you can choose the rest", "it leaves the rest open"),
    ("let us do one book each", "it does not say who gets"),
)
ANSWERED = view_after(keep(2, 2, 1), keep(1, 0, 1), keep(0, 2, 1), scenario=Scenario((2, 2, 1), ((0, 3, 4), (2, 0, 6))))


@pytest.mark.parametrize(
    ("line", "meant", "view"), [*((*row, OFFERED) for row in READINGS), *((*row, ANSWERED) for row in ANSWERS)]
)
def test_sentences_give_an_act_a_question_or_a_reason(line, meant, view):
    reading = read_sentence(line, view)
    if isinstance(meant, str):
        assert not reading.actions and meant in reading.text
        assert reading.unread == (meant in UNREAD)
    elif isinstance(meant, Action):
        assert reading == Reading((meant,))
    else:
        assert reading.actions == meant and reading.text


WORDS = (
    "I you me no not don't need want the a one two 3 book books hat hats ball balls more too also add "
    "less and or , . ! deal ok bye same rest everything nothing keep take give for 50/50 if 👍 📚 🎩 ⚽ walk "
    "away leave it or all mine swap ½ ٣ ² \x00"
)


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=12).map(" ".join) | st.text(max_size=60), st.booleans())
def test_any_line_gives_legal_acts_a_command_or_a_reason(line, opening):
    view = view_after() if opening else OFFERED
    reading = read_line(line, view)
    assert all(view.rule_against(action) is None for action in reading.actions)
    assert reading.actions or reading.command or reading.text
    assert len(reading.actions) < 2 or reading.text


def test_sentences_are_never_sure():
    assert not any(read_line(line, OFFERED).sure for line, _ in READINGS)


def test_warning_of_acts_that_may_leave_nothing():
    nothing = view_after(Action(Act.PROPOSE, (2, 2, 2)))  # seat_1 is left nothing
    fits = view_after(Action(Act.PROPOSE, (2, 0, 0)), Action(Act.PROPOSE, (0, 2, 2)))
    rejecting = view_after(*TALK, rules=Rules(disagree="rejects"))
    assert warning(AGREE, nothing) and warning(NO, OFFERED)
    assert "no deal" in warning(Action(Act.END), OFFERED)
    assert "a deal" in warning(Action(Act.END), fits) and "no deal" not in warning(Action(Act.END), fits)
    assert warning(keep(0, 0, 0), OFFERED) and warning(Action(Act.INSIST, (0, 0, 0)), OFFERED)
    assert warning(AGREE, OFFERED) == warning(NO, rejecting) == warning(keep(*OFFERED.counts), OFFERED) == ""


def test_no_rejects_and_bye_ends_the_talk_where_disagree_rejects():
    rejecting = view_after(*TALK, rules=Rules(disagree="rejects"))
    assert read_sentence("no way", rejecting).actions == (NO,)
    assert read_sentence("bye", rejecting).actions == (Action(Act.END),)


def test_nothing_is_guessed_before_an_offer():
    fresh = view_after()
    reading = read_sentence("no way", fresh)
    assert reading.actions == (NO,) and reading.text
    for line in ("same as before", "take it or leave it", "one more hat"):
        assert not read_sentence(line, fresh).actions
    assert read_sentence("two hats", fresh) == Reading((keep(0, 2, 0),))
    for line in ("let's do it", "I'll take it"):
        assert read_sentence(line, fresh) == refusal(NOTHING_TO_AGREE_TO)


@pytest.mark.parametrize(
    "line",
    ["do you agree", "deal?", "is it fair?", "i agree if you do"],
)
def test_a_question_or_a_condition_is_no_agreement(line):
    reading = read_line(line, OFFERED)
    assert reading.actions == (AGREE,) and reading.text
    assert not read_line(line, view_after()).actions


def test_an_odd_number_is_not_halved():
    odd = view_after(scenario=Scenario((1, 2, 3), ((1, 3, 1), (1, 3, 1))))
    reading = read_sentence("50/50", odd)
    assert not reading.actions and "books" in reading.text and "balls" in reading.text
    assert not reading.unread


@pytest.mark.parametrize(
    "line",
    ["the ball is mine, the rest is negotiable", "i want the hats, the rest we can discuss", "hats, rest is open"],
)
def test_an_open_rest_is_no_offer(line):
    assert not read_sentence(line, OFFERED).actions
