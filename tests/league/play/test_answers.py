"""A seat that was not reached has no score of its own: its games do not count, and too many of them are refused."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import UNREACHED, Cause
from league.evaluation.evaluate import evaluate
from league.evaluation.matches import PlayError, Terms, UnreachedError, play, score
from league.ledger.ledger import Ledger
from league.play.match import play_match
from league.play.practice import practice_plan, practice_round
from league.play.values import CAUSES, SeatOrderResult
from league.rounds.planner import first_states, members_of, plan_round
from league.rounds.snapshots import judge
from league.settings.learners import Gate
from league.settings.read import Config, parse
from league.standings.crossplay import CrossPlay
from league.standings.history import History, history_of, points_by_seats
from league.standings.ladder import ladder_of
from partners.learning.practice import Opponent, OpponentUnreached, Practice, practice
from partners.network.network import NetworkShape, PolicyNetwork
from partners.scripted.heuristic import Heuristic
from tests.killing import run as run_league
from tests.league.absent import install_absent
from tests.league.play.backend_tasks import match, matches, seat
from tests.league.play.backend_tasks import practice as practice_task
from tests.third_party import on_the_path

LEWIS = open_source("lewis", split="train")
FEW, MANY = "absent(share=0.03)", "absent(share=0.5)"


@pytest.fixture
def absent(tmp_path, monkeypatch):
    with on_the_path(install_absent(tmp_path / "site"), monkeypatch):
        yield


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# -- one match -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cause", UNREACHED)
def test_a_match_in_which_a_member_is_out_of_reach_too_often_fails_by_its_fault(absent, blobs, cause):
    result = play_match(match(seat("tough"), seat(f"absent(share=0.5, cause={int(cause)})"), size=64), blobs)
    assert result.failed == f"absent(share=0.5, cause={int(cause)})"
    assert "5%" in result.cause
    assert len(result.legs) == 1  # nobody is asked for the games of the other seat


@pytest.mark.parametrize("cause", [Cause.UNPARSABLE, Cause.ILLEGAL, Cause.FORFEIT])
def test_answers_that_are_the_members_own_failure_count(absent, blobs, cause):
    result = play_match(match(seat("tough"), seat(f"absent(cause={int(cause)})"), size=16), blobs)
    assert result.failed is None and all(leg.valid_games is None for leg in result.legs)
    answers = result.legs[0].answers[1]
    assert answers.own_decisions == 0 and answers.fallbacks == answers.decisions > 0
    assert answers.causes[CAUSES.index(cause)] == answers.decisions


def test_a_few_games_out_of_reach_leave_the_match_and_do_not_count(absent, blobs):
    result = play_match(match(seat("tough"), seat(FEW), size=200), blobs)
    assert result.failed is None
    for leg in result.legs:
        side = leg.seats.index(FEW)
        assert leg.valid_games is not None and (~leg.valid_games).sum() == leg.answers[side].left_out > 0
        assert leg.answers[1 - side].left_out == 0
        assert ((leg.facts["fallbacks"][:, side] > 0) == ~leg.valid_games).all()


def test_the_bound_is_a_setting_of_the_league(absent, blobs):
    task = match(seat("tough"), seat(MANY), size=32)
    assert play_match(task, blobs).failed == MANY
    assert play_match(dataclasses.replace(task, unreached=1.0), blobs).failed is None


# -- folds -----------------------------------------------------------------------------------------------------------


def left_out(leg: SeatOrderResult, games: np.ndarray) -> SeatOrderResult:
    """The leg, seat_0 not reached in some of its games."""
    causes = np.zeros((len(leg.facts), 2, len(CAUSES)), dtype=np.int8)
    causes[games, 0, CAUSES.index(Cause.UNREACHABLE)] = 1
    return leg._replace(causes=causes)


def test_unreached_games_leave_the_ladder_as_if_not_played(blobs):
    scenarios = LEWIS.block(5, 48, 128)
    legs = [leg for task in matches(["heuristic", "tough", "linear"], size=128) for leg in play_match(task, blobs).legs]
    gone = np.flatnonzero(np.arange(128) % 40 == 7)
    kept = np.setdiff1d(np.arange(128), gone)
    names = ["heuristic", "tough", "linear"]
    silent, short = CrossPlay(names), CrossPlay(names)
    silent.add_round(scenarios, [left_out(leg, gone) for leg in legs], ())
    short.add_round(scenarios.rows(kept), [leg._replace(facts=leg.facts[kept]) for leg in legs], ())
    for one, other in zip(ladder_of(silent, 0.95), ladder_of(short, 0.95), strict=True):
        assert one.answers.left_out > 0
        assert repr(one._replace(answers=other.answers)) == repr(other)  # a figure that is not known is no equal of it
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(silent.payoffs(), short.payoffs(), strict=True))
    points = points_by_seats(scenarios, [left_out(legs[0], gone)])[legs[0].seats]
    assert np.isnan(points[gone]).all() and not np.isnan(points[kept]).any()


def test_gate_compares_counted_games():
    draw = np.random.default_rng(0)
    own, theirs, before = (draw.uniform(0, 10, (3, 2, 60)) for _ in range(3))
    groups, gone = np.arange(60), np.arange(60) % 20 == 3
    for kind in ("points", "win_rate"):
        missing = [np.where(gone, np.nan, points) for points in (own, theirs, before)]
        part = [points[:, :, ~gone] for points in (own, theirs, before)]
        assert judge(Gate(kind=kind), *missing, groups, 1) == judge(Gate(kind=kind), *part, groups[~gone], 1)


# -- practice --------------------------------------------------------------------------------------------------------


def test_practice_against_an_opponent_out_of_reach_is_refused_and_a_few_games_of_it_are_left_out(absent):
    network = PolicyNetwork(NetworkShape(4, 10, False, False, (8,)))
    plan = Practice(LEWIS, Rules(), decisions=300, games=100, seed=5)
    with pytest.raises(OpponentUnreached, match=r"could not be reached in \d+ of \d+ games of an update \(5% may be\)"):
        practice(network, [Opponent(seat_occupant(MANY), 1.0)], plan, update=0, games_before=0)
    _, few = practice(network, [Opponent(seat_occupant(FEW), 1.0)], plan, update=0, games_before=0)
    assert 0 <= few.deals <= 1 and few.games % 100 == 0


def test_a_learner_whose_opponent_is_out_of_reach_stays_as_it_was(absent, blobs):
    task = practice_task(blobs, ["absent(costly=False)"])
    result = practice_round(task, blobs)
    assert result.failed == "main" and result.state == task.state and result.content is None
    assert "5%" in result.cause
    patient = practice_round(dataclasses.replace(practice_task(blobs, [MANY]), unreached=0.9), blobs)
    assert patient.failed is None and patient.content is not None


def test_practice_and_matches_of_a_league_heed_the_share_of_its_settings(tmp_path):
    config = parse("league: {unreached: 0.25}\nlearners: [{name: main, decisions: 100, hidden: [8]}]\n", "c", Config)
    plan = plan_round(config, History(members_of(config), 0.5), first_states(config, tmp_path))
    assert {task.unreached for task in plan.tasks} == {0.25}
    (task,) = plan.training
    assert practice_plan(task.learner, task.env, LEWIS, 1, task.unreached).unreached == 0.25


# -- evaluation ------------------------------------------------------------------------------------------------------


def few_terms(size: int = 200) -> Terms:
    return Terms(LEWIS, LEWIS.block(0, 0, size), Rules())


def test_unreached_games_enter_no_figure(absent):
    evaluation = evaluate(FEW, "pushover", LEWIS, Rules(2), sample=200)
    kept = 400 - evaluation.answers[FEW].left_out
    assert kept < 400
    for line in evaluation.lines:
        assert line.figures["both seats"].points.n == kept
    result = score(seat_occupant(FEW), Heuristic(), few_terms())
    assert result.points.n == 400 - result.answers["the member"].left_out < 400
    with pytest.raises(UnreachedError):
        score(seat_occupant(MANY), Heuristic(), few_terms())


def test_final_evaluation_needs_players_that_are_always_reached(absent):
    far = seat_occupant(FEW)
    with pytest.raises(PlayError, match=r"absent.* failed as seat_0: UnreachedError"):
        play(few_terms(), "main", (Heuristic(), Heuristic()), FEW, far, complete=True)


# -- a league --------------------------------------------------------------------------------------------------------

SETTINGS = {
    "env": {"scenarios": "lewis", "split": "train"},
    "league": {"rounds": 2, "block_size": 32, "costly": 6},
    "members": ["heuristic", "tough", "linear", {"kind": "absent", "name": "dead"}],
}


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """A league with a member that is never reached, and the folder of its run."""
    folder = tmp_path_factory.mktemp("league")
    install_absent(folder / "site")
    (folder / "league.yaml").write_text(json.dumps({**SETTINGS, "logging": {"output_dir": str(folder / "runs")}}))
    with pytest.MonkeyPatch.context() as patch, on_the_path(folder / "site", patch):
        done = run_league("--config", folder / "league.yaml")
    assert done.returncode == 0, done.stderr
    (folder / "said.txt").write_text(done.stdout)
    return folder / "runs" / "0001"


def test_a_member_that_never_spoke_has_no_rank_no_rating_and_no_place_in_the_meta_game(played):
    ladder = rows_of(played / "ladder.csv")
    *ranked, dead = ladder
    assert [row["rank"] for row in ranked] == ["1", "2", "3"] and dead["member"] == "dead"
    assert dead["rank"] == "" and dead["points"] == "" and int(dead["failed_matches"]) > 0
    assert dead["failed_matches"] in dead["unranked_because"]
    assert dead["answered"] == "0" and dead["asked"] == dead["fallbacks"] == dead["unreachable"] != "0"
    assert all(row["fallbacks"] == "0" for row in ranked)
    ratings = [row["member"] for row in rows_of(played / "ratings.csv")]
    assert "dead" not in ratings and len(ratings) == 3
    assert "dead" not in json.loads((played / "meta_game.json").read_text())["members"]
    said = (played.parents[1] / "said.txt").read_text()
    assert "dead" in said and "32 of 32" in said


def test_a_failed_match_keeps_its_queries_and_a_resumed_league_is_equal(played, absent):
    with Ledger(played / "ledger.sqlite") as ledger:
        counted = [leg for number in range(2) for leg in ledger.legs(number)]
        lost = [leg for number in range(2) for leg in ledger.legs(number, failed=True)]
        assert lost and all("dead" in leg.seats for leg in lost) and not any("dead" in leg.seats for leg in counted)
        cross = history_of(ledger, ledger.config()).cross
        assert (
            cross.answers["dead"].fallbacks == sum(leg.answers[leg.seats.index("dead")].decisions for leg in lost) > 0
        )
        assert ladder_of(cross, 0.95)[-1].unranked_because
