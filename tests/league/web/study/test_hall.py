"""Who meets whom and when: waiting, gone, late, and what is left of it after a restart; by a clock that is moved."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from dond_marl.game import Act, Action
from league.web.study.assignment import assignment, williams
from league.web.study.games import STAND_IN, shuffled
from league.web.study.hall import Hall, OutOfPlace, Unanswered
from league.web.study.journal import Journal, JournalError
from league.web.study.progress import Progress
from tests.league.web.study.visitors import config


class Clock:
    """A moment that the test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def hall_of(clock, **settings):
    return Hall(config(**settings), Journal(None), clock)


def ready(hall, token):
    who = hall.arrive(token)
    hall.agree(who)
    hall.read(who)
    assert hall.check(who, [2])
    return who


def play(hall, who, act=Act.DISAGREE, oA=(0, 0, 0)):
    table = hall.look(who)
    hall.act(who, table.number, len(table.said), Action(act, oA))


def two(clock, **settings):
    """Two people at a table, the one who opens first."""
    hall = hall_of(clock, conditions="[person]", **settings)
    pair = [ready(hall, "one"), ready(hall, "two")]
    hall.go_on(pair[0])
    hall.find("one")  # its page is open
    hall.go_on(pair[1])
    assert [who.phase for who in pair] == ["table", "table"]
    return hall, sorted(pair, key=lambda who: hall.look(who).seat_of(who.number))


def test_two_people_play_one_table_and_time_is_taken_since_the_page_showed_the_turn():
    clock = Clock()
    hall, (opens, answers) = two(clock)
    hall.look(opens)
    clock.pass_(4.5)
    play(hall, opens, Act.PROPOSE)
    with pytest.raises(OutOfPlace, match="not your turn"):
        play(hall, opens)
    clock.pass_(2)
    hall.look(answers)
    clock.pass_(3)
    play(hall, answers, Act.AGREE)
    table = hall.progress.tables[0]
    assert [said.since_shown for said in table.said] == [4.5, 3.0]
    assert table.why == "finished" and (opens.phase, answers.phase) == ("result", "result")


def test_nobody_is_seated_with_somebody_whose_page_is_closed_until_it_is_open_again():
    clock = Clock()
    hall = hall_of(clock, conditions="[person]")
    first, second = ready(hall, "one"), ready(hall, "two")
    hall.go_on(first)
    hall.find("one")
    clock.pass_(50)  # the first has closed the page
    hall.go_on(second)
    assert second.phase == "waiting"
    hall.find("one"), hall.find("two"), hall.tick()
    assert first.phase == second.phase == "table" and first.mate == second.number


def test_whoever_waits_in_vain_plays_the_stand_in_and_the_games_say_so():
    clock = Clock()
    hall = hall_of(clock, conditions="[person]")
    who = ready(hall, "one")
    hall.go_on(who)
    hall.tick()
    assert who.phase == "waiting"
    clock.pass_(61)
    hall.tick()
    assert who.phase == "table" and hall.look(who).partner == "prosocial"
    for _ in range(2):
        hall.answer_for_partner(hall.look(who))
        play(hall, who)
        hall.go_on(who)
    assert who.phase == "questions"
    assert {row.condition for row in shuffled(hall.progress, 0).games} == {f"person{STAND_IN}"}


def test_without_a_stand_in_they_go_on_to_the_questions():
    clock = Clock()
    hall = hall_of(clock, conditions="[person]")
    hall.config = hall.config.model_copy(update={"study": hall.config.study.model_copy(update={"stand_in": None})})
    who = ready(hall, "one")
    hall.go_on(who)
    clock.pass_(61)
    hall.tick()
    assert who.phase == "questions" and not hall.progress.tables


@pytest.mark.parametrize("how", ["late", "left"])
def test_a_table_whose_other_person_has_gone_does_not_count_and_the_rest_is_with_the_stand_in(how):
    clock = Clock()
    hall, (opens, answers) = two(clock)
    if how == "late":
        clock.pass_(31)
        hall.tick()
    else:
        hall.withdraw(opens)
    table = hall.progress.tables[0]
    assert (table.why, table.blame) == (how, opens.number)
    hall.go_on(answers)
    assert hall.look(answers).partner == "prosocial"
    games = shuffled(hall.progress, 0)
    assert (opens.number in games.numbers) == (how == "late"), "whoever has withdrawn is left out"
    assert len(games.games) == (2 if how == "late" else 0)


def test_whoever_fails_the_check_too_often_is_excluded_and_nobody_answers_half():
    hall = hall_of(Clock())
    who = hall.arrive("one")
    hall.agree(who), hall.read(who)
    with pytest.raises(Unanswered):
        hall.check(who, [0])
    assert [hall.check(who, [1]), hall.check(who, [1])] == [False, False]
    assert who.phase == "excluded"
    with pytest.raises(OutOfPlace):
        hall.check(who, [2])


def test_the_fold_of_the_journal_is_what_the_hall_knows_and_downtime_is_nobodys(tmp_path):
    clock = Clock()
    hall, (opens, answers) = two(clock)
    play(hall, opens, Act.PROPOSE)
    events = hall._journal.read()
    again = Progress(hall.config).all(events)
    assert again == hall.progress
    clock.pass_(1000)  # it was down
    hall.start(), hall.tick()
    assert hall.progress.tables[0].why is None and answers.phase == "table"


def test_events_neither_change_nor_go(tmp_path):
    path = tmp_path / "journal.sqlite"
    Hall(config(), Journal(path), Clock()).arrive("one")
    journal = Journal(path)
    for statement in ("UPDATE events SET who = 7", "DELETE FROM events"):
        with pytest.raises(Exception, match="events"):
            journal._db.execute(statement)
    (tmp_path / "other").write_text("no journal at all" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "other")


def test_conditions_are_balanced_within_every_block_and_their_tables_are_the_same():
    settings = config(games=3, conditions="[heuristic, boulware, person]")
    plans = [assignment(settings, number) for number in range(40)]
    for start in range(0, 40, 4):
        assert Counter(plan.conditions[0] for plan in plans[start : start + 4]) == {
            "heuristic": 1, "boulware": 1, "person": 2
        }  # fmt: skip
    assert len({tuple(plan.conditions[0] for plan in plans[start : start + 4]) for start in range(0, 40, 4)}) > 3
    starts = {
        name: sorted(plan.start for plan in plans if plan.conditions == (name,)) for name in ("heuristic", "boulware")
    }
    assert starts["heuristic"] == starts["boulware"] == list(range(0, 30, 3))
    first = Counter((plan.conditions[0], plan.first_seat) for plan in plans)
    assert set(first.values()) == {5, 10}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_every_condition_stands_equally_often_at_each_place_and_after_each_other(size):
    rows = williams(size)
    for place in range(size):
        assert len(set(Counter(row[place] for row in rows).values())) == 1
    after = Counter(pair for row in rows for pair in pairwise(row))
    assert len(after) == size * (size - 1) and len(set(after.values())) <= 1
