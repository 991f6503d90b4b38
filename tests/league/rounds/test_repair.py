"""Repair: practice against exploiters that gain on a main, and verification afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.game import Scenario
from dond_marl.scenarios.sources import pack
from league.rounds.opponents import meetings_of
from league.rounds.planner import first_states, members_of
from league.rounds.repair import VERIFICATION, Repair, exactly_reachable, hunters_among, repair, repair_of
from league.settings.read import Config, ConfigError, parse
from league.standings.history import History
from league.standings.ratings import surely_reached
from league.standings.references import exact_responses
from league.tasks.seating import SEATING
from league.tasks.values import FACTS, Entrant, Member, Place, SeatOrderResult

NAN = float("nan")
LEARNERS = "- {name: main}\n  - {name: hunter, role: main_exploiter, exploits: main}\n  - {name: other}"


def settings(extra: str = "repair: 0.25", learners: str = LEARNERS) -> Config:
    return parse(f"league: {{{extra}}}\nmembers: [heuristic, tough]\nlearners:\n  {learners}")


def repaired(takes: list[float], lost: list[tuple[float, float]], share: float = 0.25, margin: float = 0.3) -> Repair:
    """Everybody is an exploiter, and 9 is reachable against each."""
    reachable = np.full((len(takes), 2), 9.0)
    hunters = np.ones(len(takes), dtype=bool)
    return repair(np.array(takes), reachable - np.array(lost), reachable, hunters, share, margin)


def test_repair_by_hand():
    """Beyond the margin 2 and 0 points are lost to the first, 1 and 1 to the second: squares 4 to 2."""
    made = repaired([1.0, 0.5, 2.0, -0.1], [(2.3, 0.0), (1.3, 1.3), (0.25, 0.2), (5.0, 5.0)])
    assert made.open.tolist() == [True, True, False, False]  # lost too little to the third; the last takes nothing
    whole = 0.25 * (1 - VERIFICATION)
    assert made.chances == pytest.approx([whole * 2 / 3, whole / 3, 0.0125, 0.0125])
    assert made.share == pytest.approx(0.25) and "2.30 / 0.00 lost" in made.reasons[0]
    assert "verification" in made.reasons[2] and "verification" in made.reasons[3]


def test_repair_verification_and_relapse():
    before, after, again = (repaired([1.0, -1.0], [(lost, 0.0), (0.0, 0.0)]) for lost in (1.0, 0.2, 0.9))
    assert before.chances[0] > 0.2 and after.chances[0] == pytest.approx(0.25 * VERIFICATION / 2)
    assert after.share == pytest.approx(0.25 * VERIFICATION) and not after.open.any()
    assert again.chances[0] == pytest.approx(before.chances[0])


def test_repair_without_verification():
    assert repaired([1.0, 1.0], [(2.0, 0.0), (0.0, 2.0)]).chances == pytest.approx([0.125, 0.125])


@pytest.mark.parametrize("takes, lost", [(NAN, 2.0), (1.0, NAN), (NAN, NAN)])
def test_unknown_losses_are_verified(takes, lost):
    made = repaired([takes], [(lost, lost)])
    assert not made.open.any() and made.chances == pytest.approx([0.25 * VERIFICATION])


def test_repair_is_against_exploiters_only():
    made = repair(np.ones(2), np.zeros((2, 2)), np.full((2, 2), 9.0), np.array([False, False]), 0.25, 0.3)
    assert made.share == 0 and made.reasons == ("", "")
    learners = (Member("main", None, "main"), Member("hunter", None, "main_exploiter"), Member("tough", "tough"))
    snapshots = (
        Member("hunter@2", None, "snapshot", parent="hunter"),
        Member("main@2", None, "snapshot", parent="main"),
    )
    assert hunters_among(learners + snapshots).tolist() == [False, True, False, True, False]


def played(history: History, points: dict[tuple[str, str], tuple[int, int]]) -> None:
    """A round on scenarios that are worth 10 to each seat, with the given points in each leg."""
    tables = [
        ((1, 1, 3), ((4, 3, 1), (1, 3, 2))),
        ((2, 1, 1), ((2, 3, 3), (1, 4, 4))),
        ((1, 2, 1), ((1, 4, 1), (2, 3, 2))),
    ]
    scenarios = pack([Scenario(*table) for table in tables])
    legs = []
    for seats, scores in points.items():
        facts = np.zeros(len(tables), dtype=FACTS)
        facts["scores"] = scores
        legs.append(SeatOrderResult(seats, facts))
    history.add_round(0, scenarios, legs, ())


def found_out(config: Config) -> History:
    """The hunter takes 9 as seat_0 where the main takes 6 from itself; the heuristic gets 4 in the main's place."""
    history = History(members_of(config), config.league.decay)
    both = {("main", "main"): (6, 6), ("hunter", "main"): (9, 1), ("main", "hunter"): (5, 5)}
    played(history, {**both, ("hunter", "heuristic"): (5, 4), ("heuristic", "hunter"): (5, 5)})
    return history


def seats_of(history: History) -> dict[str, Entrant]:
    return {member.name: Entrant(member) for member in history.members}


def test_repair_share_and_other_rules():
    config = settings()
    history = found_out(config)
    seats = seats_of(history)
    made = repair_of(config, config.learners[0], history, seats)
    assert made is not None and made.share == pytest.approx(0.25)
    place = made.members.index("hunter")
    assert made.open[place] and made.lost[place, 1] > 0.3 and made.chances[place] == pytest.approx(0.25)
    meetings = {m.opponent.name: m for m in meetings_of(config, config.learners[0], history, seats, made)}
    without = {m.opponent.name: m for m in meetings_of(config, config.learners[0], history, seats)}
    assert sum(meeting.probability for meeting in meetings.values()) == pytest.approx(1)
    assert meetings["heuristic"].probability == pytest.approx(0.75 * without["heuristic"].probability)
    assert meetings["hunter"].probability == pytest.approx(0.25 + 0.75 * without["hunter"].probability)
    assert meetings["hunter"].reason.startswith("25.0% repair:")
    decision = made.decision("main")
    assert (
        decision.taken
        and decision.reason.startswith("25.0%")
        and "hunter" in decision.reason
        and decision.kind == "repair"
    )


def test_reachable_points(tmp_path):
    config = parse(
        "env: {scenarios: lewis, split: train, max_turns: 4}\nmembers: [tough]\ntraining: {hidden: [8]}\n"
        "learners: [{name: forgetful}, {name: remembering, history: flat}]"
    )
    states, place = first_states(config, tmp_path), Place(tmp_path)
    seats = [Entrant(member, states[member.name].blob if member.live else None) for member in members_of(config)]
    forgetful, remembering, scripted = exactly_reachable(seats, config.env, place)
    partner = SEATING.partner(seats[0], place, greedy=True)
    assert forgetful.tolist() == list(exact_responses(partner, config.env.open_source(), config.env.rules()) or ())
    assert forgetful.min() > 0 and np.isnan(scripted).all() and np.isnan(remembering).all()


def test_repair_off():
    off, on = settings("repair: 0.0"), settings()
    assert repair_of(off, off.learners[0], found_out(off), seats_of(found_out(off))) is None
    assert repair_of(on, on.learners[1], found_out(on), seats_of(found_out(on))) is None


def test_exploits_one_main():
    config = settings()
    history = found_out(config)
    meetings = {
        meeting.opponent.name for meeting in meetings_of(config, config.learners[1], history, seats_of(history))
    }
    assert meetings == {"main"}


@pytest.mark.parametrize(
    "learners, words",
    [
        ("- {name: main, exploits: main}", "exploits: is for a main_exploiter"),
        ("- {name: hunter, role: main_exploiter, exploits: nobody}\n  - {name: main}", "no main is called"),
    ],
)
def test_invalid_exploits(learners, words):
    with pytest.raises(ConfigError, match=words):
        settings(learners=learners)


def test_surely_reached_is_not_selection_bias():
    config = settings()
    payoffs = found_out(config).cross.payoffs()
    names = [member.name for member in members_of(config)]
    hunter, reached = names.index("hunter"), surely_reached(payoffs)
    assert reached[1, hunter] == pytest.approx(4) and np.isnan(reached[:, names.index("other")]).all()
    wide = payoffs._replace(error=np.where(payoffs.games > 0, 4.0, np.nan))
    assert surely_reached(wide)[1, hunter] == pytest.approx(2)
