"""After a game: analysis, number and address of the record, scores."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from dond.table.session import write_down
from dond.web.after_game import GameAddress, render_analysis, summary
from dond.web.recorded import game_of, score_overview, scores_of
from dond_marl.game import Act, Action, Scenario, State, apply
from dond_marl.occupants import seat_occupant
from dond_marl.records.files import read_lines
from dond_marl.records.record import InexactGame, record_of, to_line
from league.evaluation.analysis import analyse_acts, judgement
from tests.dond.web.browser import HOSTILE

# 1 book, 2 hats, 2 balls: worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))


def game(*actions, names=("human", "pushover")):
    state = State(SCENARIO)
    for action in actions:
        state = apply(state, action)
    return record_of(state, names, source="lewis, split train")


WASTEFUL = game(Action(Act.PROPOSE, (1, 1, 1)), Action(Act.AGREE))  # 7 points, where all 10 were to be had


def looked_at(record, seat=0, partner="pushover"):
    return analyse_acts(record, seat, seat_occupant(partner) if partner else None, seat_occupant("tough"))


def test_analysis_of_a_wasteful_act():
    found = looked_at(WASTEFUL)
    (act,) = found.acts
    everything = Action(Act.PROPOSE, (1, 2, 2))
    assert (act.played.points, act.cost, act.best[0].action, act.expert.action) == (7, 3, everything, everything)
    assert act.line == (Action(Act.AGREE),)  # what pushover answers to everything
    assert "Act 1" in summary(found) and judgement(act) in summary(found)
    shown = render_analysis(found).striptags()
    assert f"{judgement(act)}7 points" in shown and "10 points" in shown
    assert [term in shown for term in ("Better", "As good", "Worse", "Expert")] == [True, False, False, True]


def test_analysis_of_good_and_unknown_acts():
    best = looked_at(game(Action(Act.PROPOSE, (1, 2, 2)), Action(Act.AGREE)))
    (act,) = best.acts
    nearly = best._replace(acts=(act._replace(played=act.played._replace(points=act.best[0].points - 0.4)),))
    assert "0.4" in summary(nearly) and "0.4" not in summary(best)
    shown = render_analysis(best).striptags()
    assert [term in shown for term in ("best", "As good", "Worse", "Better")] == [True, True, True, False]
    unknown = looked_at(WASTEFUL, partner=None)
    assert not unknown.exact and 'class="judgement' not in render_analysis(unknown)
    assert "<li>" not in render_analysis(looked_at(game(Action(Act.END)), seat=1)), "it was over before an act"


def test_record_number_finds_the_game(tmp_path):
    book = tmp_path / "games.jsonl"
    inexact = InexactGame(SCENARIO, ("human", "human"), (None,), None, "an utterance was not read")
    book.write_text(f"{to_line(inexact)}\n")
    assert write_down(WASTEFUL, book) == 1
    other = game(Action(Act.DISAGREE), names=("human", 'a "inexact": name'))
    assert write_down(other, book) == 2
    for number, record in ((1, WASTEFUL), (2, other)):
        asked = parse_qs(urlsplit(GameAddress(str(book), str(number)).url("/replay/game.json")).query)
        assert game_of({str(book): book}, asked["file"][0], int(asked["game"][0])) == record


def test_torn_line_of_a_book_costs_no_other_game(tmp_path):
    book = tmp_path / "games.jsonl"
    write_down(WASTEFUL, book)
    book.write_bytes(book.read_bytes() + b'{"version": 1, "sea')
    assert list(read_lines(book)) == [WASTEFUL]
    other = game(Action(Act.DISAGREE))
    assert write_down(other, book) == 2
    assert list(read_lines(book)) == [WASTEFUL, other]


# Scores


def test_scores_by_partner():
    deal, none = WASTEFUL, game(Action(Act.DISAGREE))
    swapped = game(Action(Act.PROPOSE, (1, 0, 2)), Action(Act.AGREE), names=("tough", "human"))
    advised = game(Action(Act.DISAGREE), names=("human(hints=expert)", "pushover"))
    nobody = game(Action(Act.DISAGREE), names=("tough", "expert"))
    found = scores_of([deal, none, swapped, advised, nobody, game(Action(Act.END), names=("human", "human"))])
    assert [(score.partner, score.advised, score.points.n) for score in found] == [
        ("pushover", False, 2), ("tough", False, 1), ("pushover", True, 1),
    ]  # fmt: skip
    first = found[0]
    assert (first.points.mean, first.deals, first.best) == (3.5, 1, 7.0)
    assert [(point.at, point.value.mean) for point in first.curve] == [(1, 7.0), (2, 3.5)]
    assert (found[1].points.mean, found[1].partner_points) == (8.0, 8.0)


def test_names_are_escaped_and_scores_may_be_empty():
    named = game(Action(Act.PROPOSE, (1, 1, 1)), Action(Act.AGREE), names=("human", HOSTILE[0]))
    assert "<img" not in score_overview([named]) and "<img" not in render_analysis(looked_at(named))
    assert 'class="empty"' in score_overview([])
    assert "<dd>7</dd>" in score_overview([named]) and "<dd>7.00</dd>" not in score_overview([named])
