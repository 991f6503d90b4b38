"""What is there once a game is over, without a browser: its analysis in words, its number, its address, its picture."""

from __future__ import annotations

import io
import re
from urllib.parse import parse_qs, urlsplit

from PIL import Image

from dond_marl.game import Act, Action, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import InexactGame, game_line, record_of
from league.display.session import write_down
from league.evaluation.analysis import analysis
from league.web.play.analysis import analysed, summary
from league.web.play.keeping import GAME, address_of
from league.web.play.view import act_text
from league.web.replay.picture import lines, picture
from league.web.replay.scores import scores_of, scores_page
from league.web.replay.view import game_of
from tests.league.web.browser import HOSTILE

# 1 book, 2 hats, 2 balls: worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))


def game(*actions, names=("human", "pushover")):
    state = State(SCENARIO)
    for action in actions:
        state = apply(state, action)
    return record_of(state, names, source="lewis, split train")


WASTEFUL = game(Action(Act.PROPOSE, (1, 1, 1)), Action(Act.AGREE))  # 7 points, where all 10 were to be had


def words(markup):
    return " ".join(re.sub("<[^>]*>", " ", markup).split())


def looked_at(record, seat=0, partner="pushover"):
    return analysis(record, seat, seat_occupant(partner) if partner else None, seat_occupant("tough"))


def test_an_analysis_tells_the_costliest_act_and_what_would_have_been_better():
    found = looked_at(WASTEFUL)
    assert summary(found) == "Act 1 was the costliest: it gave away 3 points of what could be expected."
    told = words(analysed(found))
    assert "propose to keep 1 book, 1 hat, 1 ball (7 points) gave away 3 points 7 points expected" in told
    assert "Better propose to keep 1 book, 2 hats, 2 balls (10 points) 10 points expected" in told
    assert "Expert propose to keep 1 book, 2 hats, 2 balls (10 points) 10 points expected" in told
    assert told.endswith("but not what it values. One game may end with more or less.")


def test_an_analysis_of_good_acts_says_so_and_one_without_values_judges_nothing():
    best = looked_at(game(Action(Act.PROPOSE, (1, 2, 2)), Action(Act.AGREE)))
    assert summary(best) == "Every one of your acts was a good one."
    (act,) = best.acts
    a_little = act._replace(played=act.played._replace(points=act.best[0].points - 0.4))
    assert summary(best._replace(acts=(a_little,))).endswith(
        "a good one. The costliest, act 1, gave away 0.4 points of what could be expected."
    )
    told = words(analysed(best))
    assert "best 10 points expected As good" in told
    assert "Worse propose to keep" in told and "Better" not in told
    assert "Expert the same" in told
    unknown = analysed(looked_at(WASTEFUL, partner=None))
    assert "gave away" not in unknown
    assert "nobody knows how pushover would have answered" in unknown
    assert "There is no act to look at" in analysed(looked_at(game(Action(Act.END)), seat=1))


def test_names_in_an_analysis_are_never_markup():
    named = game(Action(Act.PROPOSE, (1, 1, 1)), Action(Act.AGREE), names=("human", HOSTILE[0]))
    assert "<img" not in analysed(looked_at(named))


def test_an_act_is_told_in_the_words_of_the_table():
    state = apply(State(SCENARIO), Action(Act.PROPOSE, (1, 1, 2)))
    assert act_text(Action(Act.INSIST, (0, 2, 0)), state) == "insist on keeping 2 hats (8 points)"
    assert act_text(Action(Act.AGREE), state) == "accept their offer"


def test_a_game_is_found_again_under_the_number_that_writing_it_down_gave(tmp_path):
    book = tmp_path / "games.jsonl"
    inexact = InexactGame(SCENARIO, ("human", "human"), (None,), None, "an utterance was not read")
    book.write_text(f"{game_line(inexact)}\n")
    assert write_down(WASTEFUL, book) == 1
    other = game(Action(Act.DISAGREE), names=("human", 'a "inexact": name'))
    assert write_down(other, book) == 2
    for number, record in ((1, WASTEFUL), (2, other)):
        asked = parse_qs(urlsplit(address_of(GAME, book, number)).query)
        assert game_of([book], asked["file"][0], int(asked["game"][0])) == record


def test_the_picture_of_a_result_is_a_png_with_a_line_for_whoever_played():
    shown = Image.open(io.BytesIO(picture(WASTEFUL)))
    assert (shown.format, shown.size) == ("PNG", (640, 556))
    assert len(shown.convert("RGB").getcolors(1 << 20)) > 10
    assert lines(WASTEFUL)[0] == "I got 7 of 10 points from pushover"
    assert lines(game(Action(Act.DISAGREE)))[0] == "No deal with pushover"
    assert lines(game(Action(Act.DISAGREE), names=("tough", "expert")))[0] == "tough and expert: no deal"
    strange = game(Action(Act.DISAGREE), names=("human", "\N{SNOWMAN}" * 90))
    assert "?..." in lines(strange)[0]
    wide = game(Action(Act.DISAGREE), names=("human(hints=expert)", "W" * 90))
    for record in (strange, wide):  # nothing is cut off at the right
        assert len(Image.open(io.BytesIO(picture(record))).convert("RGB").crop((622, 0, 640, 74)).getcolors()) == 1


# Scores


def test_scores_are_kept_by_partner_in_the_order_played_and_advised_games_apart():
    deal, none = WASTEFUL, game(Action(Act.DISAGREE))
    swapped = game(Action(Act.PROPOSE, (1, 0, 2)), Action(Act.AGREE), names=("tough", "human"))
    advised = game(Action(Act.DISAGREE), names=("human(hints=expert)", "pushover"))
    nobody = game(Action(Act.DISAGREE), names=("tough", "expert"))
    found = scores_of([deal, none, swapped, advised, nobody, game(Action(Act.END), names=("human", "human"))])
    assert [(score.partner, score.advised, score.mine.n) for score in found] == [
        ("pushover", False, 2), ("tough", False, 1), ("pushover", True, 1),
    ]  # fmt: skip
    first = found[0]
    assert (first.mine.mean, first.deals, first.best) == (3.5, 1, 7.0)
    assert [(n, mean.mean) for n, mean in first.curve] == [(1, 7.0), (2, 3.5)]
    assert (found[1].mine.mean, found[1].theirs) == (8.0, 8.0)


def test_the_scores_of_many_games_have_an_interval_and_a_curve_that_ends_at_their_mean():
    records = []
    for number in range(80):
        values = ((4, 1, 2), (0, 4, 1)) if number % 2 else ((2, 2, 2), (6, 1, 1))
        state = apply(State(Scenario((1, 2, 2), values)), Action(Act.PROPOSE, (number % 2, 2, 1)))
        records.append(record_of(apply(state, Action(Act.AGREE)), ("human", "pushover")))
    (score,) = scores_of(records)
    assert score.mine.low < score.mine.mean < score.mine.high
    assert len(score.curve) == 60
    assert score.curve[-1] == (80, score.mine)
    assert 'class="band hue0"' in scores_page(records)


def test_scores_of_hostile_names_are_text_and_nobodys_are_a_sentence():
    named = game(Action(Act.DISAGREE), names=("human", HOSTILE[0]))
    assert "<img" not in scores_page([named])
    assert "No game of yours is recorded yet" in scores_page([])
