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
    ("you take 1 book and i keep rest", keep(1, 2, 2)),
    ("deal!", AGREE),
    ("I want the ball and 1 hat pls", keep(0, 1, 1)),
    ("can i get both books n you get everything else", keep(2, 0, 0)),
    ("i'll give u the ball", keep(2, 2, 1)),
    ("you can have all the hats, I'll take the books and balls", keep(2, 0, 2)),
    ("ok", AGREE),
    ("nope, that's unfair. give me two hats or I'm out", keep(0, 2, 0)),
    ("i need the bok and hatts", keep(1, 2, 0)),
    ("Sure, sounds good", AGREE),
    ("last offer: 2 hats and the ball for me", keep(0, 2, 1)),
    ("1 book 1 hat 1 ball", keep(1, 1, 1)),
    ("you get nothing", INSISTED),
    ("i get 3 hats", "there are only 2 books, 2 hats, 2 balls on the table"),
    ("lets split the books evenly, you keep the hats", "it does not say who gets the balls"),
    ("hello, how are you?", "neither a split nor a yes or no was found in it"),
    ("no way", (REPEATED, NO)),
    ("I don't need the books", keep(0, 2, 2)),
    ("let me have a hat too", keep(0, 1, 2)),
    ("50/50?", keep(1, 1, 1)),
    ("take it or leave it", INSISTED),
    ("\u6211\u8981\u6240\u6709\u7684\u4e66", ENGLISH),  # I want all books, in Chinese
    ("bye", NO),  # which is warned of: see below
    ("i accept if you add one more hat", keep(0, 1, 2)),
    ("same as before", INSISTED),
    ("no", (REPEATED, NO)),
    ("I can't accept that", (REPEATED, NO)),
    ("no deal, I walk away", NO),
    ("I'm out", NO),
    ("no way, I want the hats", keep(0, 2, 0)),
    ("I dont need books or hats", AGREE),  # their offer
    ("I need one more book", keep(1, 0, 2)),
    ("ok but I want one hat as well", keep(0, 1, 2)),
    ("i agree but i also want a hat", keep(0, 1, 2)),
    ("deal if you give me another ball", "there are only 2 books, 2 hats, 2 balls on the table"),
    ("I want 2 hats plus the ball", keep(0, 2, 1)),
    ("two hats, no more", UNCLEAR),
    ("one book less", "it takes something away"),
    ("let's split everything 50-50", keep(1, 1, 1)),
    ("2 hats and a ball for me, take it or leave it", Action(Act.INSIST, (0, 2, 1))),
    ("it's all yours", keep(0, 0, 0)),
    ("no. two hats.", keep(0, 2, 0)),
    ("hmm, how about two books and a ball", keep(2, 0, 1)),
    ("both hats plus a ball please", keep(0, 2, 1)),
    ("0 2 0", keep(0, 2, 0)),
    ("9 9 9", keep(9, 9, 9)),  # refused as illegal, with what there is
    ("me: hats, you: rest", keep(0, 2, 0)),
    ("you: books, hats. me: balls", AGREE),
    ("anything but books", keep(0, 2, 2)),
    ("if you give me the hats you can have the rest", keep(0, 2, 0)),
    ("i get the hats u get the books we split the balls", keep(0, 2, 1)),
    ("the same but with one hat more", keep(0, 1, 2)),
    ("you take the hats instead of the balls", UNCLEAR),
    ("meet me halfway", keep(1, 1, 1)),
    ("I won't budge", INSISTED),
    ("let's do it", AGREE),
    ("I'll take it", AGREE),
    ("absolutely not", (REPEATED, NO)),
    ("that's too little", (REPEATED, NO)),
    ("I'm done", NO),
    ("what do you want?", QUESTIONS),
    ("why?", QUESTIONS),
    ("I'd rather have the hats than the balls", "it says what you like better"),
    ("I'd take two hats if you throw in a ball", "it adds to something"),
    ("i prefer hats to balls", "it says what you like better"),
    ("all but the hats", keep(2, 0, 2)),
    ("can't do that, how about 1 book and both hats instead", keep(1, 2, 0)),
    ("I really need the ball", "it leaves the rest open"),
    ("no way, I need the ball", "it leaves the rest open"),
    ("2 hats + a ball = me, 2 books and a ball = you", keep(0, 2, 1)),
    ("both hats for me, nothing else", keep(0, 2, 0)),
    ("can you live without the hats?", QUESTIONS),
    ("I insist on my last offer", INSISTED),
    ("i'm not moving, take it or leave it", INSISTED),
    ("forget it, I'm out", NO),
    ("I'll settle for just the balls", AGREE),  # their offer
)


# The same with 2 books, 2 hats and 1 ball: the person has asked for 1 book and the ball, and is offered the books.
NO_DEAL = (keep(1, 0, 1), NO)
ANSWERS: tuple[tuple[str, Action | tuple[Action, ...] | str], ...] = (
    ("Add the ball and you have a deal", keep(2, 0, 1)),
    ("agreed, but the ball is mine", keep(2, 0, 1)),
    ("Give me the ball and it's a deal", keep(2, 0, 1)),
    ("I'd accept if you also gave me the ball", keep(2, 0, 1)),
    ("deal if the ball comes with it", keep(2, 0, 1)),
    ("sweeten it with the ball", keep(2, 0, 1)),
    ("plus the ball, please", keep(2, 0, 1)),
    ("no deal unless I get the ball", keep(2, 0, 1)),
    ("I won't accept without the ball", keep(2, 0, 1)),
    ("no ball, no deal", keep(2, 0, 1)),
    ("only if I get both hats", keep(2, 2, 0)),
    ("Ok if you throw the ball in", keep(2, 0, 1)),
    ("that's nice but I need a hat", keep(2, 1, 0)),
    ("you've got a deal if you chuck in one of the hats", keep(2, 1, 0)),
    ("yes to the books, but I need a hat too", keep(2, 1, 0)),
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
    ("I'd accept, but not with only one book", "it takes something away"),
    ("I'll take your offer if you swap a book for the ball", "it takes something away"),
    ("no deal if you keep both hats", "it says what you refuse"),
    ("I won't go below 2 books and the ball", "it takes something away"),
    ("I'd give up one book to get the ball", "it trades items"),
    ("Fine. But the last ball is mine.", keep(2, 0, 1)),
    ("ball or no deal", keep(2, 0, 1)),
    ("I'll do it for the ball", keep(2, 0, 1)),
    ("ok except I want a hat", keep(2, 1, 0)),
    ("you really want that hat huh", "it says what they like"),
    ("throw in the hat and it's yours", keep(2, 1, 0)),
    ("give me the hat too and we can close this", keep(2, 1, 0)),
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
    ["do you agree?", "do you agree", "you agree?", "deal?", "ok?", "would you accept that", "is it fair?",
     "i agree if you do", "ok if you say so", "deal, if that is fair"],
)  # fmt: skip
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
