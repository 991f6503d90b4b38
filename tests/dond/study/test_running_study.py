"""Steps of participants: pairing, waiting, lateness, withdrawal, and restarts, by a simulated clock; assignment."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from dond.study.export import STAND_IN, anonymise
from dond.study.journal import Journal, JournalError, read_journal
from dond.study.progress import Progress, assignment, williams
from dond.study.running_study import NotAccepted, OutOfPlace, RunningStudy
from dond_marl.game import Act, Action
from tests.dond.study.visitors import config


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def study_of(clock, **settings):
    return RunningStudy(config(**settings), Journal(None), clock)


def ready(study, token):
    person = study.arrive(token)
    study.agree(person)
    study.finish_instructions(person)
    assert study.check(person, [2])
    return person


def play(study, person, act=Act.DISAGREE, oA=(0, 0, 0)):
    table = study.look(person)
    study.act(person, table.number, len(table.acts), Action(act, oA))


def two(clock, **settings):
    """Two people at a table, the one person opens first."""
    study = study_of(clock, conditions="[person]", **settings)
    pair = [ready(study, "one"), ready(study, "two")]
    study.go_on(pair[0])
    study.find("one")  # its page is open
    study.go_on(pair[1])
    assert [person.phase for person in pair] == ["table", "table"]
    return study, sorted(pair, key=lambda person: study.look(person).seat_of(person.number))


def test_two_people_share_a_table_with_response_times():
    clock = Clock()
    study, (opens, answers) = two(clock)
    study.look(opens)
    clock.advance(4.5)
    play(study, opens, Act.PROPOSE)
    with pytest.raises(OutOfPlace, match="not your turn"):
        play(study, opens)
    clock.advance(2)
    study.look(answers)
    clock.advance(3)
    play(study, answers, Act.AGREE)
    table = study.progress.tables[0]
    assert [act.since_shown for act in table.acts] == [4.5, 3.0]
    assert table.end == "finished" and (opens.phase, answers.phase) == ("result", "result")


def test_absent_participants_are_not_paired():
    clock = Clock()
    study = study_of(clock, conditions="[person]")
    first, second = ready(study, "one"), ready(study, "two")
    study.go_on(first)
    study.find("one")
    clock.advance(50)  # the first has closed the page
    study.go_on(second)
    assert second.phase == "waiting"
    study.find("one"), study.find("two"), study.tick()
    assert first.phase == second.phase == "table" and first.mate == second.number


def waited(clock):
    """A study in which one participant has waited in vain."""
    study = study_of(clock, conditions="[person]")
    person = ready(study, "one")
    study.go_on(person)
    study.tick()
    assert person.phase == "waiting"
    clock.advance(61)
    return study, person


def test_stand_in_replaces_a_missing_person():
    study, person = waited(Clock())
    study.tick()
    assert person.phase == "table" and study.look(person).partner == "prosocial"
    for _ in range(2):
        study.answer_for_partner(study.look(person))
        play(study, person)
        study.go_on(person)
    assert person.phase == "questions"
    assert {row.condition for row in anonymise(study.progress, 0).games} == {f"person{STAND_IN}"}


def test_games_are_skipped_without_a_stand_in():
    study, person = waited(Clock())
    study.config = study.config.model_copy(update={"study": study.config.study.model_copy(update={"stand_in": None})})
    study.tick()
    assert person.phase == "questions" and not study.progress.tables


@pytest.mark.parametrize("how", ["late", "left"])
def test_interrupted_table_does_not_count(how):
    clock = Clock()
    study, (opens, answers) = two(clock)
    if how == "late":
        clock.advance(31)
        study.tick()
    else:
        study.withdraw(opens)
    table = study.progress.tables[0]
    assert (table.end, table.blame) == (how, opens.number)
    study.go_on(answers)
    assert study.look(answers).partner == "prosocial"
    games = anonymise(study.progress, 0)
    assert (opens.number in games.numbers) == (how == "late"), "withdrawn participants are left out"
    assert len(games.games) == (2 if how == "late" else 0)


def test_check_failures_exclude():
    study = study_of(Clock())
    person = study.arrive("one")
    study.agree(person), study.finish_instructions(person)
    with pytest.raises(NotAccepted):
        study.check(person, [0])
    assert [study.check(person, [1]), study.check(person, [1])] == [False, False]
    assert person.phase == "excluded"
    with pytest.raises(OutOfPlace):
        study.check(person, [2])


def test_restart_restores_state_and_ignores_downtime(tmp_path):
    clock = Clock()
    study, (opens, answers) = two(clock)
    play(study, opens, Act.PROPOSE)
    events = study._journal.read()
    again = Progress(study.config).apply_all(events)
    assert again == study.progress
    clock.advance(1000)  # the server was down
    study.start(), study.tick()
    assert study.progress.tables[0].end is None and answers.phase == "table"


def test_journal_is_append_only(tmp_path):
    path = tmp_path / "journal.sqlite"
    RunningStudy(config(), Journal(path), Clock()).arrive("one")
    journal = Journal(path)
    for statement in ("UPDATE events SET participant = 7", "DELETE FROM events"):
        with pytest.raises(Exception, match="events"):
            journal._db.execute(statement)
    (tmp_path / "other").write_text("no journal at all" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        Journal(tmp_path / "other")


def test_journal_with_other_data_is_refused(tmp_path):
    Journal(tmp_path / "journal.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as db, db:
        db.execute("INSERT INTO events (at, participant, kind, data) VALUES ('yesterday', 0, 'arrived', '{}')")
    with pytest.raises(JournalError):
        read_journal(tmp_path)


def test_blocks_balance_conditions_and_scenarios():
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


@pytest.mark.parametrize("size", [1, 4, 5])
def test_williams_square_is_balanced(size):
    rows = williams(size)
    for place in range(size):
        assert len(set(Counter(row[place] for row in rows).values())) == 1
    after = Counter(pair for row in rows for pair in pairwise(row))
    assert len(after) == size * (size - 1) and len(set(after.values())) <= 1
