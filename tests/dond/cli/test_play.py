"""A person at the terminal: commands, sentences, mistakes, leaving, the record; a person in seats of other games."""

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dond.table.game import LeftTheTable, frontier_table, values_table
from dond.table.session import RECORDS
from dond.table.typed_lines import Reading, read_line
from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.conformance import check_partner
from dond_marl.game import Act, Action, Ending, IllegalAct, Scenario, State, apply
from dond_marl.occupants import Spec, catalogue, parse_spec, seat_occupant
from dond_marl.records.record import from_json, records_of, replay
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import pack
from league.play.match import play_games, play_match
from league.play.values import Block, Entrant, MatchTask, Member
from league.settings.sections import EnvConfig
from partners import catalogue as built_in
from partners.human import Human, View, human
from partners.scripted.generated import describe_spec
from tests.command import HERE, PROGRAM, dond

# 1 book, 2 hats, 2 balls: worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
FRESH = View(State(SCENARIO))
OFFERED = View(apply(State(SCENARIO), Action(Act.PROPOSE, (1, 1, 2))))  # seat_1 is left one hat


class Scripted:
    """A person with a script: whatever the turn, the next of its acts."""

    def __init__(self, *acts: Action) -> None:
        self.acts, self.seen = list(acts), []

    def ask(self, view):
        self.seen.append(view)
        return self.acts.pop(0)


class Keeps:
    """A person who agrees to any offer and otherwise asks for everything."""

    def ask(self, view):
        agree = Action(Act.AGREE)
        return Action(Act.PROPOSE, view.counts) if view.rule_against(agree) else agree


def sit(monkeypatch, tmp_path, *lines, columns=80, **changed):
    """Play with these lines typed; the exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    usual = {"partner": "pushover", "seat": "0", "seed": 3, "record": "games.jsonl"}
    options = {name: value for name, value in {**usual, **changed}.items() if value is not None}
    words = (word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value))
    return dond("play", *words)


def recorded(path):
    return [from_json(line) for line in path.read_text().splitlines()]


KNOWN = {"split": "all", "seed": 416}  # 2 books, 2 hats, 1 ball: worth 2, 3, 0 and 0, 1, 8


def test_tables_after_a_game_hold_both_seats_values_and_the_frontier():
    state = apply(apply(State(SCENARIO), Action(Act.PROPOSE, (1, 0, 2))), Action(Act.AGREE))
    values, frontier = (
        list(zip(*(column.cells for column in table(state, 1).columns), strict=True))
        for table in (values_table, frontier_table)
    )
    assert values[1:3] == [("worth to you", "0", "4", "1", "each"), ("you got", "0", "2", "0", "8 of 10")]
    assert values[3:] == [("worth to them", "4", "1", "2", "each"), ("they got", "1", "0", "2", "8 of 10")]
    assert [row[3:5] for row in frontier] == [("10", "4"), ("9", "6"), ("8", "8"), ("4", "9"), ("0", "10")]
    assert [row[:3] for row in frontier if row[5]] == [("0", "2", "0")]


def test_stranger_is_named_in_its_record_and_on_the_screen(monkeypatch, tmp_path, capsys):
    assert sit(monkeypatch, tmp_path, "end", "y", "end", "y", partner="generated", games=2, columns=2_000) == 0
    seen, games = capsys.readouterr().out, recorded(tmp_path / "games.jsonl")
    names = [record.occupants[1] for record in games]
    assert len(set(names)) == 2
    for name in names:
        assert describe_spec(name) in seen and f'dond play --partner "{name}"' in seen
    assert sit(monkeypatch, tmp_path, "end", "y", partner=names[0]) == 0
    assert recorded(tmp_path / "games.jsonl")[2].occupants[1] == names[0]


def test_sentences_are_confirmed_and_recorded(monkeypatch, tmp_path, capsys):
    typed = (
        "I want everything.",
        "n",
        "Can I have both hats and a book?",
        "y",
        "I insist on both hats and one book",
        "",
    )
    assert sit(monkeypatch, tmp_path, *typed, "okay, deal", "yes", partner="tough", max_turns=6, **KNOWN) == 0
    seen = capsys.readouterr().out
    assert "PROPOSE: you keep 2 books, 2 hats, 1 ball (10 points)" in seen
    assert "INSIST: you keep" in seen and "AGREE: you get" in seen
    (record,) = recorded(tmp_path / "games.jsonl")
    assert record.actions[0] == Action(Act.PROPOSE, (1, 2, 0))
    assert record.actions[2] == Action(Act.INSIST, (1, 2, 0))
    assert record.actions[-1] == Action(Act.AGREE)
    assert replay(record).outcome.deal
    own = record.words[::2]
    assert own == ("Can I have both hats and a book?", "I insist on both hats and one book", "okay, deal")
    assert set(record.words[1::2]) == {None}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (" P 1 0  2 ", Action(Act.PROPOSE, (1, 0, 2))),
        ("propose 1,0,2", Action(Act.PROPOSE, (1, 0, 2))),
        ("i 0 2 0", Action(Act.INSIST, (0, 2, 0))),
        ("Agree", Action(Act.AGREE)),
    ],
)
def test_short_commands(line, meant):
    assert read_line(line, OFFERED) == Reading((meant,), sure=True)


def test_bare_i_insists_on_the_last_claim():
    mine = View(apply(OFFERED.state, Action(Act.PROPOSE, (0, 2, 0))))
    mine = View(apply(mine.state, Action(Act.INSIST, (1, 1, 2))))  # seat_1 again
    assert read_line("i", mine) == Reading((Action(Act.INSIST, (0, 2, 0)),), sure=True)
    assert read_line("i take the hats", mine) == Reading((Action(Act.INSIST, (0, 2, 0)),), sure=False)
    assert read_line("I want a ball", mine) == Reading((Action(Act.PROPOSE, (0, 0, 1)),), sure=False)
    assert read_line("I want a hat", mine) == Reading((Action(Act.AGREE),), sure=False)  # their offer


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a", "not legal: AGREE needs the partner's last act"),
        ("p -1 0 0", "not legal: there are 1 book, 2 hats, 2 balls on the table; keep from p 0 0 0 up to p 1 2 2"),
        ("p 1 0", "p takes three numbers"),
        ("how are you today", "neither a split nor a yes or no was found"),
        ("x" * 301, "too long to read: at most 300 characters"),
    ],
)
def test_unplayable_lines_give_a_reason(line, words):
    reading = read_line(line, FRESH)
    assert not reading.actions and not reading.command
    assert re.search(words, reading.text)
    assert "\n" not in reading.text


@pytest.mark.parametrize(
    ("typed", "acts"),
    [
        (("p 2 2 0", "no way", "1", "no way", "2"), [Act.PROPOSE, Act.PROPOSE, Act.DISAGREE]),
        (("a", "bye", "", "p 0 0 0", "n", "bye", "y"), [Act.DISAGREE]),  # an act that may leave nothing, too
    ],
)
def test_ambiguous_sentences_need_a_confirmation(monkeypatch, tmp_path, typed, acts):
    assert sit(monkeypatch, tmp_path, *typed, partner="tough", **KNOWN) == 0
    (record,) = recorded(tmp_path / "games.jsonl")
    assert [action.act_type for action in record.actions[::2]] == acts


def test_other_line_replaces_a_confirmation(monkeypatch, tmp_path):
    assert sit(monkeypatch, tmp_path, "I want everything", "p 1 2 0") == 0
    assert recorded(tmp_path / "games.jsonl")[0].actions[0].oA == (1, 2, 0)


@pytest.mark.parametrize("last", ["q", None], ids=["quitting", "end of input"])
def test_leaving_keeps_finished_games(monkeypatch, tmp_path, capsys, last):
    lines = ["p 0 0 0", "y", *([last] if last else [])]
    assert sit(monkeypatch, tmp_path, *lines, games=3) == 0
    assert capsys.readouterr().out.split()[-1] == "games.jsonl"
    assert len(recorded(tmp_path / "games.jsonl")) == 1


def test_records_are_appended_and_replay(monkeypatch, tmp_path, capsys):
    for _ in range(2):
        assert sit(monkeypatch, tmp_path, "p 1 1 0", "p 1 1 0", "p 1 1 0", games=2, record=None) == 0
    seen = capsys.readouterr().out
    assert seen.count(f"recorded in {RECORDS}") == 4
    assert "2 games, 2 deals: you" in seen
    kept = recorded(tmp_path / RECORDS)
    assert kept[:2] == kept[2:]  # the same seed is the same sitting
    for record in kept:
        assert replay(record).outcome == record.outcome
        assert record.occupants == ("human", "pushover")
        assert (record.seed, record.source) == (3, "lewis, split train")
    assert kept[0].scenario != kept[1].scenario


def test_seat_is_drawn_or_fixed(monkeypatch, tmp_path):
    assert sit(monkeypatch, tmp_path, *["e"] * 8, games=8, seat="random") == 0
    assert sit(monkeypatch, tmp_path, *["e"] * 2, games=2, seat="seat_1") == 0
    seats = [record.occupants.index("human") for record in recorded(tmp_path / "games.jsonl")]
    assert set(seats[:8]) == {0, 1}
    assert seats[8:] == [1, 1]


def test_unknown_best_response_is_left_out(monkeypatch, tmp_path, capsys):
    assert sit(monkeypatch, tmp_path, "d", partner="micro") == 0  # it gambles and remembers
    assert sit(monkeypatch, tmp_path, "d", partner="random") == 0  # only bounds are known in so long a game
    assert sit(monkeypatch, tmp_path, "d", scenarios="uniform") == 0  # out of reach
    assert "best response" not in capsys.readouterr().out


def test_failing_partner_ends_the_session(monkeypatch, tmp_path, capsys):
    class Fails:
        traits = seat_occupant("micro").traits

        def act(self, turns):
            raise RuntimeError("lost\x1b[31m my notes")

    monkeypatch.setitem(built_in.PARTNERS, "fails", Fails)
    catalogue.cache_clear()
    try:
        assert sit(monkeypatch, tmp_path, "p 1 1 1", partner="fails") == 1
    finally:
        catalogue.cache_clear()
    error = capsys.readouterr().err
    assert "seat_1" in error and "RuntimeError" in error and "\x1b" not in error


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"partner": "huristic"}, "did you mean 'heuristic'"),
        ({"max_turns": 0}, "--max-turns must be an integer in 1..100; got 0"),
        ({"split": "best"}, "split of scenarios='lewis' must be one of"),
        ({"record": Path()}, "--record .: no file can be written there"),
        ({"record": Path(__file__)}, "its last line is no whole game record; name another file"),
    ],
)
def test_argument_errors_take_one_line(monkeypatch, tmp_path, capsys, changed, words):
    assert sit(monkeypatch, tmp_path, **changed) == 2
    seen = capsys.readouterr()
    assert words in seen.err
    assert seen.err.count("\n") == 1
    assert seen.err.rstrip("\n").isprintable()
    assert not seen.out


def test_missing_key_is_refused_before_the_first_move(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert sit(monkeypatch, tmp_path, partner="llm(provider=groq)") != 0
    seen = capsys.readouterr()
    assert "GROQ_API_KEY" in seen.err and not seen.out


def test_person_in_the_play_loop():
    ann = Scripted(Action(Act.PROPOSE, (1, 1, 2)), Action(Act.INSIST, (1, 0, 2)), Action(Act.PROPOSE, (1, 0, 1)))
    bob = Scripted(Action(Act.PROPOSE, (0, 2, 1)), Action(Act.AGREE), Action(Act.END))
    games = rollout((Human(ann), Human(bob)), pack([SCENARIO, SCENARIO.swap_seats()], "uniform"), seed=0)
    # Both games at once: ann asks twice, bob counters in the first and agrees in the second, ann answers, bob ends it.
    assert [(view.seat, view.place, view.places) for view in ann.seen] == [(0, 1, 2), (0, 2, 2), (0, 1, 1)]
    assert ann.seen[2].state.history == (Action(Act.PROPOSE, (1, 1, 2)), Action(Act.PROPOSE, (0, 2, 1)))
    assert ann.seen[0].values == (4, 1, 2)
    assert ann.seen[1].values == (0, 4, 1)
    assert (ann.seen[2].mine, ann.seen[2].theirs) == ((1, 1, 2), (0, 2, 1))
    assert bob.seen[0].state.scenario.utilities[0] == (0, 0, 0)  # nobody sees the other's values
    first, second = records_of(games, ("ann", "bob"))
    assert (first.outcome.ending, first.outcome.scores) == (Ending.END, (6, 9))  # the claims fit
    assert second.outcome.allocation == ((1, 0, 2), (0, 2, 0))
    assert all(replay(record) for record in (first, second))


def test_revealed_values_are_seen():
    seen: list[View] = []
    person = Human(SimpleNamespace(ask=lambda view: seen.append(view) or Keeps().ask(view)))
    rollout((person, seat_occupant("nice")), pack([SCENARIO], "uniform"), seed=0, reveal_partner_utilities=True)
    assert seen[0].revealed and seen[0].state.scenario == SCENARIO


def test_person_passes_conformance_and_the_environment():
    check_partner(Human(Keeps()), games=2)
    env = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis"), partner=Human(Keeps()), seat=0)
    env.reset(seed=0)
    *_, terminated, _, info = env.step({"act_type": Act.PROPOSE, "oA": np.zeros(3, dtype=np.int64)})
    assert terminated
    assert info["outcome"]["ending"] == "AGREE"


def test_illegal_act_of_an_interface_names_it():
    with pytest.raises(
        OccupantError, match="the person's interface let an illegal act pass: PROPOSE must keep"
    ) as told:
        rollout(
            (Human(Scripted(Action(Act.PROPOSE, (257, 0, 0)))), seat_occupant("nice")),
            pack([SCENARIO], "uniform"),
            seed=0,
        )
    assert isinstance(told.value.__cause__, IllegalAct)
    with pytest.raises(TypeError, match="needs an interface with ask"):
        Human(object())


def test_person_in_a_league_match(monkeypatch):
    """Named by a spec, as a member is; a person who leaves fails the match, and only that."""
    monkeypatch.setitem(built_in.PARTNERS, "human", human)
    monkeypatch.setitem(sys.modules, "front_door", SimpleNamespace(Keeps=Keeps, Leaves=lambda: Leaves()))
    catalogue.cache_clear()
    try:
        members = [
            Member("Ann", parse_spec('human(interface="front_door:Keeps")')),
            Member("Eve", parse_spec('human(interface="front_door:Leaves")')),
        ]
        against = Entrant(Member("nice", Spec("nice")))
        env = EnvConfig(scenarios="lewis")
        task = [MatchTask(1, 0, (Entrant(who), against), Block(0, 2), env, 0, "a test") for who in members]
        played, left = play_match(task[0], Path()), play_match(task[1], Path())
        with pytest.raises(ValueError, match="interface is written module:name"):
            seat_occupant("human(interface=terminal)")
    finally:
        catalogue.cache_clear()
    assert played.games == 4
    assert left.failed == "Eve"
    assert left.cause.startswith("LeftTheTable")


def test_games_of_a_league_reveal_values_where_its_settings_say_so():
    seen: list[bool] = []
    other, scenarios = seat_occupant("heuristic"), pack([SCENARIO], "lewis")
    watcher = SimpleNamespace(
        traits=other.traits, act=lambda turns: seen.append(bool(turns.partner_utilities.any())) or other.act(turns)
    )
    for reveal in (False, True):
        play_games((watcher, other), scenarios, EnvConfig(max_turns=1, reveal_partner_utilities=reveal), 3, (0,))
    assert seen == [False, True]


class Leaves:
    def ask(self, view):
        raise LeftTheTable


def test_ctrl_c_exits_with_130(tmp_path):
    command = [*PROGRAM, "play", "--partner", "tough", "--seat", "0", "--seed", "1", "--games", "2"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=HERE
    )
    process.stdin.write(b"e\n")
    process.stdin.flush()
    seen = b""
    while seen.count(b"your act> ") < 2:
        seen += process.stdout.read1()
    leaving = None
    while leaving is None:  # a signal just before the program reads is only heard with the next one
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            leaving = process.wait(timeout=2)
    _, error = process.communicate()
    assert leaving == 130
    assert "1 finished game" in error.decode() and str(RECORDS) in error.decode()
    assert json.loads((tmp_path / RECORDS).read_text())["occupants"] == ["human", "tough"]
