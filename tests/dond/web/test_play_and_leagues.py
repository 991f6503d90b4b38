"""Parts of the pages without HTTP: markup, table, results, games in threads, replays, the arena, followed leagues."""

from __future__ import annotations

import math
import os
import re
import threading
import time
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from dond.table.frontier import plane_of
from dond.table.game import TOO_LATE, steps, talk_lines, warning
from dond.table.session import STRANGER, Sitting, TableSession, decode_hint, hint_at
from dond.web.after_game import result
from dond.web.arena import play_match
from dond.web.bargaining_table import (
    act_choices,
    headline,
    initial_split,
    main_act,
    view_before_turn,
)
from dond.web.frame import one_sentence, render
from dond.web.league_follower import NEWEST, Follower, Leagues, RunViewError, play_members
from dond.web.occupants import (
    CHOICE_ERRORS,
    FEATURED,
    HINT_LABELS,
    HINT_MODES,
    Candidate,
    GameChoice,
    OccupantMenu,
    built_in,
    make_partner,
    make_source,
    parse_whole_number,
    sitting_of,
    source_choices,
)
from dond.web.play_page import PlaySession
from dond.web.recorded import game_of, is_person, read_records, replay_files, seat_names, title
from dond.web.replay_page import beliefs, best_answer, policy, result_or_reason, shares_at
from dond_marl.envs.turn import choose_action
from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, Ending, IllegalAct, Rules, Scenario, State, apply, legal_actions, rest, worth
from dond_marl.occupants import OccupantNameError, Spec, seat_occupant
from dond_marl.records.record import (
    InexactGame,
    RecordError,
    from_json,
    record_of,
    records_of,
    to_line,
)
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.data import DataError
from dond_marl.scenarios.sources import SOURCES, SPLITS, check_split, open_source, pack
from dond_marl.seats import HINT_WIDTH, Traits
from dond_marl.solvers.best_response import OutOfReach
from dond_marl.solvers.recognition import Guess
from dond_marl.statistics import points_of_ten
from hints.providers import ExpertHinter
from hints.schedule import HintSchedule
from league.ledger.ledger import Ledger, LedgerError
from league.ledger.run_directory import RunDirectory
from league.standings.history import learning_curves
from league.tables.final import FINAL_FILE
from partners.equilibrium import has_table
from partners.human import View
from partners.scripted.generated import Generated, nickname
from tests.dond.web.browser import HOSTILE, as_after

# 1 book, 2 hats, 2 balls: worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
OPENING = View(State(SCENARIO))
OFFERED = View(apply(State(SCENARIO), Action(Act.PROPOSE, (1, 1, 2))))  # seat_1 is left one hat, 4 points
PATIENCE = 600  # seconds until a game in the background says something


def after(*actions: Action, scenario: Scenario = SCENARIO, rules: Rules = Rules()) -> State:  # frozen
    state = State(scenario, rules)
    for action in actions:
        state = apply(state, action)
    return state


def propose(*share: int) -> Action:
    return Action(Act.PROPOSE, share)


AGREE, DISAGREE, END = Action(Act.AGREE), Action(Act.DISAGREE), Action(Act.END)
DEAL = after(propose(1, 0, 2), AGREE)  # 8 to 8, the Nash point
FITS = (propose(1, 0, 2), propose(0, 2, 0))


# The table


def test_split_headline_and_main_act():
    everything = View(after(propose(1, 2, 2)))
    back = View(after(propose(1, 0, 1), propose(0, 2, 2)))
    # The book is worth nothing to seat_1.
    assert [initial_split(view) for view in (OPENING, OFFERED, back)] == [(1, 2, 2), (0, 2, 2), (1, 0, 1)]
    assert "1 hat" in headline(OFFERED) and "4 points" in headline(OFFERED)
    assert len({headline(view) for view in (OPENING, OFFERED, back, everything)}) == 4
    cases = ((OPENING, (1, 2, 2)), (OFFERED, (0, 2, 2)), (OFFERED, (0, 1, 0)), (everything, (0, 0, 0)))
    assert [main_act(*case) for case in cases] == [Act.PROPOSE, Act.PROPOSE, Act.AGREE, Act.PROPOSE]


def test_last_act_is_for_accepting():
    rules = Rules(max_turns=4)
    last = View(after(propose(1, 2, 2), propose(1, 2, 2), propose(1, 0, 1), rules=rules))
    assert initial_split(last) == (0, 2, 1)  # what they leave
    for split, ends in (((0, 2, 1), False), ((0, 2, 2), True)):
        assert main_act(last, split) is Act.AGREE
        for act in (Act.PROPOSE, Act.INSIST):
            assert bool(warning(Action(act, split), last)) == (act_choices(last, split)[act].detail == TOO_LATE) == ends


def test_view_before_a_turn_hides_the_partners_values():
    for seat in (0, 1):
        view = view_before_turn(State(SCENARIO), seat)
        assert (view.values, view.revealed) == (SCENARIO.utilities[seat], False)
        assert view.state.scenario.utilities[1] == (0, 0, 0)


def test_choices_of_acts():
    for view in (OPENING, OFFERED):
        legal = {action.act_type for action in legal_actions(view.state)}
        assert {choice.act for choice in act_choices(view, initial_split(view)) if choice.legal} == legal
    rejecting = View(after(propose(1, 1, 2), rules=Rules(disagree="rejects")))
    labels = [act_choices(view, (0, 1, 0))[Act.DISAGREE].label for view in (OFFERED, rejecting)]
    assert labels == ["Walk away", "Turn down"]
    assert "4 points" in act_choices(OFFERED, (0, 1, 0))[Act.AGREE].detail
    views = (OPENING, View(after(*FITS)), View(after(propose(1, 0, 2), propose(0, 2, 1))))
    ends = [act_choices(view, (0, 0, 0))[Act.END].detail for view in views]
    assert len(set(ends)) == 3 and ["no deal" in end for end in ends] == [True, False, True]


def test_talk_lines_are_of_the_persons_seat():
    lines = talk_lines(after(propose(1, 1, 2), Action(Act.INSIST, (0, 2, 0))), 1, (None, "gimme the hats lol"))
    assert [line.by_person for line in lines] == [False, True] and lines[1].text == "gimme the hats lol"
    assert "4 points" in lines[0].note and "8 points" in lines[1].note


# Where a game landed


def test_plane_of_scores():
    at = plane_of(DEAL, 0)
    pairs = {
        (worth((4, 1, 2), (a, b, c)), worth((0, 4, 1), rest((1, 2, 2), (a, b, c))))
        for a in range(2) for b in range(3) for c in range(3)
    }  # fmt: skip
    assert sorted((spot.own_score, spot.partner_score) for spot in at.spots) == sorted(pairs)
    assert [(s.own_score, s.partner_score) for s in at.frontier] == [(10, 0), (9, 4), (8, 8), (6, 9), (4, 10)]
    assert [(s.own_score, s.partner_score) for s in at.spots if s.nash] == [(8, 8)] == [at.landed]
    assert {(s.own_score, s.partner_score, s.best, s.nash) for s in at.spots} == {
        (s.partner_score, s.own_score, s.best, s.nash) for s in plane_of(DEAL, 1).spots
    }


WORTHLESS = Scenario((1, 0, 0), ((1, 0, 0), (1, 0, 0)))


def test_result_and_tally_are_of_the_persons_seat():
    record, lost = record_of(after(propose(1, 1, 2), AGREE), ("a", "human")), record_of(after(DISAGREE), ("human", "a"))
    for seat, points in ((0, ["9", "4"]), (1, ["4", "9"])):
        assert re.findall(r"<b>(\d+)</b>", result([(record, seat)], "a")) == points
    assert "1 deal: you 2.0, they 4.5" in result([(record, 1), (lost, 0)], "a")


# A game in the background


def sitting(tmp_path, partner="pushover", **given) -> Sitting:
    wanted = {"rules": Rules(), "seed": 3, "book": tmp_path / "deep" / "games.jsonl", **given}
    return Sitting(seat_occupant(partner), partner, open_source("lewis"), **wanted)


def settled(session: PlaySession) -> PlaySession:
    """The session once it is the person's turn, or the game is over."""
    until = time.monotonic() + PATIENCE
    while session.thinking and time.monotonic() < until:
        time.sleep(0.01)
    return session


def test_session_plays_and_records(tmp_path):
    table = TableSession(sitting(tmp_path, "tough", seat=0))
    # The first game of seed 3 is the one of `dond play`.
    assert (table.view.counts, table.view.values, table.hint) == ((1, 3, 1), (1, 1, 6), None)
    table.play(propose(1, 3, 1), "gimme everything lol")
    assert table.view is None
    table.proceed(table.next_turn())
    table.play(DISAGREE)
    assert table.is_over and table.view is None
    ((record, seat),) = table.played
    assert (seat, record.occupants, record.outcome.ending) == (0, ("human", "tough"), Ending.DISAGREE)
    assert record.words == ("gimme everything lol", None, None)
    with pytest.raises(IllegalAct):
        table.play(END)
    dealt = table.scenarios
    table.begin(1, swap=True)
    assert (table.seat, table.scenarios, table.hint) == (1, dealt, None) and not table.is_over


def test_finished_games_are_written(tmp_path):
    session = settled(PlaySession(sitting(tmp_path, "tough", seat=0), 0))
    session.play(DISAGREE, None, "")
    ((record, _),) = session.table.played
    assert (tmp_path / "deep" / "games.jsonl").read_text() == to_line(record) + "\n"
    assert (session.recorded, session.write_error, session.is_running) == (1, "", False)


def test_left_games_are_not_written(tmp_path):
    session = settled(PlaySession(sitting(tmp_path, seat=0), 0))
    with session.lock:  # the partner's answer waits for it
        session.play(propose(1, 1, 1), None, "")
        session.leave()
    for thread in threading.enumerate():
        if thread.name == "partner":
            thread.join()
    assert not session.table.is_over and not (tmp_path / "deep").exists()


def test_write_errors_keep_the_result(tmp_path):
    (tmp_path / "file").write_text("")
    session = settled(PlaySession(sitting(tmp_path, book=tmp_path / "file" / "games.jsonl", seat=0), 0))
    session.play(DISAGREE, None, "")
    assert session.table.played[0][0].outcome.ending is Ending.DISAGREE
    assert str(tmp_path / "file") in session.write_error and not session.recorded


def test_hints_reach_the_person(tmp_path):
    schedule = HintSchedule(ExpertHinter(seat_occupant("tough")))  # asks for all that it values, every time
    table = TableSession(sitting(tmp_path, hint_source=schedule, hints="expert", seat=0))
    table.proceed(table.next_turn())
    assert table.hint.action == propose(1, 3, 1) and table.hint.confidence == 1.0
    table.play(DISAGREE)
    assert table.hint is None and schedule.tally["asked"] == 1
    assert table.played[0][0].occupants[0] == "human(hints=expert)"
    assert decode_hint(np.zeros(HINT_WIDTH, dtype=np.float32), (1, 2, 3)) is None
    choice = GameChoice(hints="equilibrium", max_turns="2", seat="1", seed="3")
    last = TableSession(
        sitting_of(choice, Candidate("pushover", "", spec=Spec("pushover")), tmp_path / "games.jsonl", None)
    )
    last.proceed(last.next_turn())
    assert last.hint.action == AGREE and last.hint.confidence > 0.9  # it takes what is worth something
    assert has_table(Rules(4), pack([SCENARIO])) and has_table(Rules(4, "rejects"), pack([SCENARIO]))
    assert not has_table(Rules(11), pack([SCENARIO])) and not has_table(Rules(4), pack([WORTHLESS]))


@pytest.mark.parametrize("partner", ["micro", "expert", "announcer"])
@pytest.mark.parametrize("seat", [0, 1])
def test_session_equals_rollout(tmp_path, partner, seat):
    """The acts, messages and outcome of a session are those of the play loop, for random and learned partners too."""
    rules = Rules(6, message_length=40 if partner == "announcer" else 0)
    table, person = TableSession(sitting(tmp_path, partner, rules=rules, seat=seat)), seat_occupant("linear")
    while not table.is_over:
        table.proceed(table.next_turn())
        if table.view is not None:
            table.play(choose_action(person, table.view.state, seed=0, prior="lewis"))
    pair = (person, seat_occupant(partner)) if seat == 0 else (seat_occupant(partner), person)
    games = rollout(pair, table.scenarios, rules, seed=3, index=(0,))
    (expected,) = records_of(games, table.played[0][0].occupants, source="lewis, split train", seed=3)
    assert table.played[0][0] == expected


@pytest.mark.parametrize("seat", [0, 1])
def test_stranger_is_the_program_that_its_game_draws(tmp_path, seat):
    """The game with the named program is the one in which that program is drawn; another game has another one."""
    strangers = sitting(tmp_path, "generated")
    drawn = [strangers.of_game(number, seat) for number in range(4)]
    assert len({each.name for each in drawn}) == 4 and all(each.of_game(0, seat) == each for each in drawn)
    person, table = seat_occupant("linear"), TableSession(replace(strangers, seat=seat))
    for number, one in enumerate(drawn):
        if number:
            table.begin(number)
        while not table.is_over:
            table.proceed(table.next_turn())
            if table.view is not None:
                table.play(choose_action(person, table.view.state, seed=0, prior="lewis"))
        record, _ = table.played[-1]
        pair = (person, Generated()) if seat == 0 else (Generated(), person)
        dealt = strangers.source.block(3, number, 1)
        (expected,) = records_of(rollout(pair, dealt, seed=3, index=(number,)), record.occupants)
        assert record.actions == expected.actions and record.occupants[1 - seat] == one.name


def test_best_response_of_a_session(tmp_path):
    table = TableSession(sitting(tmp_path, seat=0))
    assert table.best_response().outcome.scores[0] == 10  # as the terminal says of this very game
    assert TableSession(sitting(tmp_path, "random")).best_response() is None


# Choosing


def test_built_in_candidates():
    names = [candidate.name for candidate in built_in()]
    assert names[: len(FEATURED)] == list(FEATURED)
    assert not {"human", "checkpoint", "best_response"} & set(names)
    assert all(candidate.sentence for candidate in built_in()) and set(HINT_MODES) == set(HINT_LABELS)
    for key in source_choices():
        if key.split("/")[0] in ("lewis", "uniform"):
            assert make_source(key, None).block(0, 0, 1).size == 1


def test_missing_published_scenarios(tmp_path):
    labels = source_choices(tmp_path)
    splits = {f"{source}/{split}" for source, splits in SPLITS.items() for split in splits}
    assert set(labels) == splits | {source for source in SOURCES if not check_split(source, None)}
    assert "(to be fetched)" in labels["self_play"] and "(to be fetched)" not in labels["lewis/train"]
    assert not set(labels.values()) & set(labels)  # no bare name
    with pytest.raises(DataError) as missing:
        make_source("dialogues/train", tmp_path)
    assert one_sentence(missing.value).endswith(f"--data-dir {tmp_path}.")


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (GameChoice(max_turns="0"), "1..100"),
        (GameChoice(seed="-1"), "seed"),
        (GameChoice(hints="equilibrium", max_turns="11"), "turns=11"),
        (GameChoice(source="self_play"), "dond data fetch"),
    ],
)
def test_choice_errors(tmp_path, choice, why):
    with pytest.raises(CHOICE_ERRORS, match=re.escape(why)):
        sitting_of(choice, Candidate("", "", spec=Spec("pushover")), tmp_path / "g.jsonl", tmp_path)


def test_typed_numbers_and_error_sentences():
    assert parse_whole_number("n", " 12 ", 1, 100) == 12
    for wrong in ("", "1.0", "²"):
        with pytest.raises(ValueError, match=r"1\.\.100"):
            parse_whole_number("n", wrong, 1, 100)
    assert one_sentence(ValueError("no file.\nFetch it.")) == "no file. Fetch it."
    with pytest.raises(OccupantNameError) as unknown:
        OccupantMenu([]).resolve("nobody")
    assert one_sentence(unknown.value).endswith("'nobody'."), "without the list of known names"


# Replay


def test_steps_of_a_record():
    record = record_of(DEAL, ("heuristic", "expert"), source="lewis, split train")
    walked = steps(record)
    assert [step.number for step in walked] == [0, 1, 2]
    assert [step.action for step in walked] == [*record.actions, None]
    assert walked[-1].state.outcome == record.outcome
    with pytest.raises(RecordError):
        steps(from_json(to_line(record).replace('"scores": [8, 8]', '"scores": [8, 7]')))


def test_policy_at_a_step():
    record = record_of(DEAL, ("random", "expert"), source="lewis")
    first, second, _ = steps(record)
    # 4 legal acts at first; of PROPOSE each of the 18 splits is equally likely.
    assert policy(seat_occupant("random"), first, "lewis")[0].probability == pytest.approx(1 / 4)
    greedy = policy(seat_occupant("expert"), second, "lewis")  # it plays its likeliest act; its odds are shown
    assert 0 < sum(bar.probability for bar in greedy) <= 1 + 1e-9 and len(greedy) > 1
    assert [bar.probability for bar in policy(seat_occupant("tough"), second, "lewis")] == [1.0]
    said = [bar for bar in policy(seat_occupant("pushover"), second, "lewis") if bar.chosen]
    assert [bar.action.act_type for bar in said] == [Act.AGREE]


def test_advice_and_best_response():
    first, second, _ = steps(record_of(DEAL, ("heuristic", "pushover"), source="lewis"))
    hint = hint_at(HintSchedule(ExpertHinter(seat_occupant("tough"))), first.state, Noise(0, (), 1), "lewis")
    everything = propose(1, 2, 2)
    assert hint.action == best_answer(seat_occupant("pushover"), first, "lewis") == everything  # it agrees to all
    for partner, step, prior in (("random", second, "lewis"), ("pushover", first, "uniform")):
        with pytest.raises((NotComputable, OutOfReach)):
            best_answer(seat_occupant(partner), step, prior)
    assert "as played" in render("replay", "best_text", propose(1, 0, 2), first)


def test_errors_of_foreign_policies():
    class Lost:
        traits = Traits()

        def act(self, turns):
            raise KeyError("an answer")

    first, _, _ = steps(record_of(DEAL, ("heuristic", "pushover"), source="lewis"))
    for evaluate in (policy, best_answer):
        assert isinstance(result_or_reason(lambda evaluate=evaluate: evaluate(Lost(), first, "lewis")), str)


def test_shares_on_the_table_are_those_of_the_latest_offer():
    shown = steps(record_of(DEAL, ("heuristic", "pushover"), source="lewis"))
    assert [shares_at(shown, number, ("a", "b"))[0] for number in (1, 2)] == [((1, 0, 2), (0, 2, 0))] * 2


@given(st.text() | st.text(min_size=81, max_size=300))
def test_display_names_are_short(name):
    record = record_of(DEAL, (name, "x" * 10_000))
    assert all(shown.isprintable() and len(shown) < 250 for shown in (title(record), *seat_names(record)))


class Believer:
    """Plays as ``heuristic`` with constant beliefs."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        return seat_occupant("heuristic").act(turns)

    def beliefs(self, turns):
        values = np.zeros((turns.size, 3, 11))
        values[:, :, 2], values[:, :, 7] = 0.75, 0.25
        return Guess(values, ("tough", "<b>linear", "random"), np.full((turns.size, 3), (0.2, 0.798, 0.002)))


def test_belief_bars_mark_the_truth():
    first, second, _ = steps(record_of(DEAL, ("heuristic", "tough"), source="lewis"))
    found = beliefs(Believer(), first, "lewis")
    assert found.values[0][2] == 0.75 and found.members[0][0] == "<b>linear"
    drawn = render("replay", "beliefs", first, "tough", found)
    assert drawn.count('class="true"') == 3 and "<b>linear" not in drawn
    for value in first.state.scenario.utilities[1]:
        assert (f"{value} points, as it is" if value == 2 else f"75%; its {value}: ") in drawn
    assert "tough, as" in drawn and "&lt;1%" in drawn and "80%" in drawn
    assert beliefs(seat_occupant("linear"), second, "lewis") is None
    assert render("replay", "beliefs", first, "tough", None) == ""


def test_files_of_records(tmp_path):
    book, other = tmp_path / "human" / "games.jsonl", tmp_path / "secret.jsonl"
    book.parent.mkdir()
    unknown = InexactGame(SCENARIO, ("a", "b"), (None,), None, "nothing was understood")
    lines = [*(to_line(record_of(DEAL, ("human", name))) for name in ("a", "b")), to_line(unknown)]
    other.write_text("".join(f"{line}\n" for line in lines) + "{}\n")
    book.write_text("".join(f"{line}\n" for line in lines))
    files = replay_files(book, book.parent)
    assert files == replay_files(tmp_path / "none", book.parent) == replay_files(book, tmp_path / "nowhere")
    assert files == {str(book): book}
    exact, inexact = read_records(book)
    assert ([game.occupants[1] for game in exact], inexact) == (["a", "b"], 1)
    assert game_of(files, str(book), 2).occupants == ("human", "b")
    for name, number in ((str(other), 1), (str(book), 0), (str(book), 3), ("", 1)):
        with pytest.raises(RecordError):
            game_of(files, name, number)
    with pytest.raises(RecordError, match=r"secret\.jsonl:4: "):
        read_records(other)
    assert is_person("human(hints=expert)") and not is_person("humanlike")


# Arena


def test_match_equals_single_games():
    """Another way to the same figures: the means of the games of either order, played one by one."""
    held, names = open_source("lewis", split="paper_test"), ("linear", "heuristic")
    first, second = map(seat_occupant, names)
    match = play_match((first, second), names, held, Rules(), scenarios=100, seed=5)
    dealt = held.block(5, 0, 100)
    opened = points_of_ten(rollout((first, second), dealt, seed=5).scores, dealt.pool_values)
    answered = points_of_ten(rollout((second, first), dealt, seed=5).scores, dealt.pool_values)
    assert match.opening[0].mean == pytest.approx(opened[:, 0].mean())
    assert match.answering[0].mean == pytest.approx(answered[:, 1].mean())
    assert match.figures[0].points.mean == pytest.approx((opened[:, 0].mean() + answered[:, 1].mean()) / 2)
    assert match.figures[1].points.mean == pytest.approx((opened[:, 1].mean() + answered[:, 0].mean()) / 2)
    assert match.ahead.mean == pytest.approx(match.figures[0].points.mean - match.figures[1].points.mean)
    deals = (opened.sum(axis=1) > 0).mean() + (answered.sum(axis=1) > 0).mean()
    assert match.figures[0].deals.mean == pytest.approx(deals / 2)
    assert sum(games for _, _, games in match.places) == match.games == 200
    assert min(sum(record.outcome.scores) for record in match.best) > 0
    assert "200 games" in render("arena", "figures", match)
    assert "nan" not in render("arena", "match", match, {})


# A league that is followed


def view_of(folder):
    with Follower(folder) as follower:
        return follower.view()


@pytest.fixture(scope="module")
def league(finished_league):
    return view_of(finished_league)


def panel(name, league):
    return render("league", name, league)


def test_following_equals_reading_at_once(finished_league, league, tmp_path):
    follower = None
    for rounds in (0, 1, 2, 4, 6):
        as_after(finished_league, rounds, tmp_path / "run")
        if follower is None:
            follower = Follower(tmp_path / "run")
        followed = follower.view()
        assert followed.rounds == min(rounds, followed.config.total_rounds)
        assert follower.view() is followed
    follower.close()
    assert repr(league.standings) == repr(followed.standings)  # nan is not itself
    assert repr(league.cells) == repr(followed.cells)
    with Ledger(finished_league / "ledger.sqlite") as ledger:
        assert list(followed.curves) == learning_curves(ledger, league.config.league.confidence)
        assert followed.rounds == ledger.next_round


def test_stopped_league_is_shown_as_stopped(finished_league, tmp_path):
    run = tmp_path / "run"
    as_after(finished_league, 2, run)
    with Follower(run) as follower:
        with RunDirectory(run):
            running = follower.view()
            assert running.is_running and "--resume" not in panel("summary", running)
        stopped = follower.view()
        assert not stopped.is_running and f"dond league --resume {run}" in panel("summary", stopped)


def test_follower_reads_during_writes(finished_league, tmp_path):
    as_after(finished_league, 2, tmp_path / "run")
    path = tmp_path / "run" / "ledger.sqlite"
    with Ledger(path) as writer, Follower(tmp_path / "run") as follower:
        before = writer.fingerprint()
        with writer._transaction():  # somebody is in the middle of a round
            writer._db.execute("UPDATE notes SET value = value")
            assert follower.view().rounds == 2
        assert writer.fingerprint() == before
        with pytest.raises(Exception, match="readonly"):
            follower._ledger._db.execute("DELETE FROM rounds")


def test_panels_are_escaped(league):
    for name in ("summary", "ladder", "heat_map", "curves", "lineage", "curriculum"):
        shown = panel(name, league)
        assert isinstance(shown, Markup)
        assert "<img" not in shown and "<script" not in shown
    assert "&lt;img src=x onerror=window.pwned=1&gt;" in panel("ladder", league)
    assert "main@1" in panel("lineage", league)
    first_round = league._replace(curves=(league.curves[0]._replace(round=1),))
    assert "after 1 round:" in panel("curves", first_round)
    rounds = [number for number, _ in league.decisions]
    assert 0 < len(rounds) <= NEWEST and rounds == sorted(rounds, reverse=True)


def test_links_of_ladder_and_matrix(finished_league, league):
    links = [str(link) for link in re.findall(r'href="([^"]+)"', panel("ladder", league))]
    menu = OccupantMenu([finished_league])
    asked = [parse_qs(urlsplit(unescape(link)).query) for link in links]
    assert [menu.candidates[menu.key_of(one["run"][0], one["member"][0])].name for one in asked] == [
        row.member for row in league.standings
    ]
    cell = parse_qs(urlsplit(unescape(re.findall(r'href="(/arena[^"]+)"', panel("heat_map", league))[0])).query)
    assert {*cell["one"], *cell["other"]} <= {row.member for row in league.standings}
    assert menu.key_of("elsewhere", "main") is None


def test_ladder_answers_and_missing_rank(league):
    assert not league.answers  # every member made every decision itself
    spoke, silent, *others = league.standings
    counted = replace(spoke.answers, decisions=40, fallbacks=4, causes=(0,) * len(spoke.answers.causes))
    nothing = silent.points._replace(mean=math.nan)
    rows = (spoke._replace(answers=counted), silent._replace(points=nothing, failed=6), *others)
    changed = league._replace(standings=rows)
    assert changed.answers[spoke.member].startswith("36 of 40")
    shown = panel("ladder", changed)
    assert changed.answers[spoke.member] in shown and rows[1].unranked_because in shown
    assert rows[1].unranked_because.endswith("(6)")


def test_summary_and_final_evaluation(finished_league, league, tmp_path):
    as_after(finished_league, 2, tmp_path / "0001")
    running = view_of(tmp_path / "0001")
    assert league.is_over and not any(stage.is_current for stage in league.stages)
    assert not running.is_over and any(stage.is_current for stage in running.stages)
    assert running.headline[0] in panel("summary", running)
    late = tmp_path / "late" / "0001"
    as_after(finished_league, 4, late)
    leagues = Leagues(tmp_path / "late", None)
    first = leagues.view(late)
    assert leagues.view(late) is first
    text = (finished_league / FINAL_FILE).read_text() if (finished_league / FINAL_FILE).is_file() else ""
    (late / FINAL_FILE).write_text(text or "{}")  # the evaluation comes after the last round
    assert leagues.view(late) is not first
    (late / FINAL_FILE).write_text("[" * 100_000)  # damaged, and its time has changed
    assert leagues.view(late).headline == first.headline


def test_members_that_are_programs_have_nicknames(league):
    program = Generated().play_program(8091744390845406).name
    named = league._replace(members=(replace(league.members[0], name=program), *league.members[1:]))
    assert named.labels[program] == nickname(program) != program


def test_stranger_plays_a_member(finished_league):
    records = [play_members(finished_league, ("main", STRANGER), seed) for seed in (1, 1, 2)]
    assert records[0] == records[1] and records[0].occupants[0] == "main"
    assert len({record.occupants[1] for record in records}) == 2 and all(
        seat_occupant(record.occupants[1]).program for record in records
    )


def test_members_have_current_weights(finished_league, tmp_path):
    menu = OccupantMenu([finished_league])
    members = {one.name: one for one in menu.candidates.values() if one.run == finished_league}
    assert {"main", "main@1", *HOSTILE} <= set(members)
    listed = [label for group in menu.groups.values() for label in group.values()]
    assert len(listed) == len(set(listed)) and sum(label.endswith("heuristic") for label in listed) == 1
    assert members["main"].sentence
    learner, name = make_partner(members["main"])
    assert name == "main"
    assert learner.traits.learned
    snapshot, _ = make_partner(members["main@1"])
    first = steps(record_of(DEAL, ("a", "b")))[0]
    assert policy(learner, first, "lewis") != policy(snapshot, first, "lewis")
    assert menu.resolve("main@1") == members["main@1"]
    assert menu.resolve("boulware(exponent=6)").run is None


def test_unreadable_runs(finished_league, tmp_path):
    with pytest.raises(LedgerError, match=r"ledger\.sqlite"):
        Follower(tmp_path)
    (tmp_path / "ledger.sqlite").write_text("not a database at all, only text that is long enough to be looked at")
    with pytest.raises(LedgerError, match="damaged"):
        Follower(tmp_path).view()
    with Follower(finished_league) as follower, pytest.raises(RunViewError, match="has no member"):
        follower.partner("nobody")


def test_leagues_by_latest_write(finished_league, tmp_path):
    leagues = Leagues(finished_league.parent, None)
    assert leagues.runs() == [finished_league]
    assert leagues.view(finished_league) is leagues.view(finished_league)
    for rounds, place in ((1, "quick/0001"), (2, "quick/0002"), (1, "0007")):
        as_after(finished_league, rounds, tmp_path / place)
        os.utime(tmp_path / place / "ledger.sqlite", (rounds, rounds * 10))
    named = tmp_path / "quick" / "0001"
    found = [str(each.relative_to(tmp_path)) for each in Leagues(tmp_path, named).runs()]
    assert found[:2] == ["quick/0001", "quick/0002"]
    assert sorted(found) == ["0007", "quick/0001", "quick/0002"]
    assert Leagues(tmp_path / "nowhere", None).runs() == []
