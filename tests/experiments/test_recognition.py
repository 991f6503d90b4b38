"""What a member makes of whom it faces: an exact believer scores what is exact, and losses add up to what is lost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.space import Scenarios, lewis_space
from dond_marl.seats import Traits
from dond_marl.statistics import points_of_ten
from dond_marl.yardsticks.recognition import Guess, recognize
from experiments.mixture_response import mixture_response
from experiments.recognition import (
    APART,
    belief_scores,
    calibration,
    read_recognitions,
    recognition_row,
    recognition_section,
    regret_by_turn,
    store_recognition_row,
)
from experiments.results.opponents import RECOGNITION, regret_section
from league.bench.run import submission_of_spec
from partners.best_response import BestResponse
from tests.command import in_process as dond

FEW = ("heuristic", "tough", "linear(floor=0.35)", "naive_tit_for_tat", "pushover")
PARTNERS = tuple(seat_occupant(name) for name in FEW)


def one_pool(number=700):
    space = lewis_space()
    rows = np.flatnonzero((space.counts == space.counts[number]).all(axis=1))
    return Scenarios(*(array[rows] for array in space))


def every(table):
    return {"all": np.ones(table.size, dtype=bool)}


class Believer:
    """Plays as ``who`` and believes what is exact, or as sure as it is bent; it may lack members, or hold others."""

    traits = Traits(deterministic=True)

    def __init__(self, who, names=FEW, bent=1.0):
        self.who, self.names, self.bent = who, names, bent

    def act(self, turns):
        return self.who.act(turns)

    def beliefs(self, turns):
        exact = recognize(PARTNERS, turns)
        who, values = exact.identity**self.bent, exact.values**self.bent
        order = [FEW.index(name) for name in self.names if name in FEW]
        shown = np.zeros((turns.size, len(self.names)))
        shown[:, [place for place, name in enumerate(self.names) if name in FEW]] = who[:, order]
        return Guess(values / values.sum(axis=2, keepdims=True), self.names, shown)


@pytest.mark.parametrize("seat", [0, 1])
def test_exact_beliefs_have_exact_scores(seat):
    table, player = one_pool(), seat_occupant("heuristic")
    found = belief_scores(Believer(player, FEW[::-1]), FEW, PARTNERS, seat, table, Rules(), every(table))["all"]
    assert len(found) > 2 and found[0].games >= found[1].games > 0
    for each in found:
        assert each.brier == pytest.approx(each.brier_exact, abs=0.01)
        assert each.brier <= each.brier_prior + 1e-12
        assert each.right == pytest.approx(each.right_exact, abs=0.05)
        assert sum(each_bin.number for each_bin in each.calibration) == each.games * 33
        if each.right_apart is not None:
            assert each.apart > 0 and each.right_apart_exact >= APART
    assert found[-1].right > found[0].right
    bent = belief_scores(Believer(player, bent=0.2), FEW, PARTNERS, seat, table, Rules(), every(table))["all"]
    assert all(b.brier > e.brier for b, e in zip(bent[1:], found[1:], strict=True))
    assert [b.right for b in bent] == pytest.approx([e.right for e in found])
    others = belief_scores(Believer(player, ("boulware", "nice")), FEW, PARTNERS, seat, table, Rules(), every(table))[
        "all"
    ]
    assert all(each.right is None and each.brier is not None for each in others)
    one = belief_scores(Believer(player, ("boulware", "tough")), FEW, PARTNERS, seat, table, Rules(), every(table))[
        "all"
    ]
    assert 0 < one[0].right < 0.3
    more = belief_scores(Believer(player, ("boulware", *FEW)), FEW, PARTNERS, seat, table, Rules(), every(table))["all"]
    assert [each.right for each in more] == [each.right for each in bent]


def test_players_without_beliefs_have_exact_scores_only():
    found = belief_scores(seat_occupant("linear"), FEW, PARTNERS, 0, one_pool(), Rules(), every(one_pool()))["all"]
    assert found[0].own == 0 and found[0].right_exact == pytest.approx(0.2)
    assert all(each.right is None and each.brier is None and not each.calibration for each in found)
    assert found[0].brier_exact == pytest.approx(found[0].brier_prior, abs=1e-9)


def test_calibration_counts_forecasts():
    said = np.zeros((1, 3, 11))
    said[:, :, 0], said[:, :, 5] = 0.25, 0.75
    truth = np.zeros((1, 3, 11))
    truth[0, (0, 1, 2), (5, 5, 0)] = 1
    bins = calibration(said, truth)
    assert (bins[2].number, bins[2].forecast, bins[2].true) == (3, 0.25, pytest.approx(1 / 3))
    assert (bins[7].number, bins[7].forecast, bins[7].true) == (3, 0.75, pytest.approx(2 / 3))
    assert bins[0].number == 27 and bins[5].number == 0


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["heuristic", "boulware", "ultimatum"])
def test_regrets_add_up_to_the_gap(name, seat):
    """In games of six turns, one of the crowd drawn for each game; nothing is lost by the best reply itself."""
    table, rules, player = one_pool(), Rules(6), seat_occupant(name)
    crowd = (*FEW, "personas")
    partners = [*PARTNERS, seat_occupant("personas")]
    earned = []
    for partner in partners:
        minds = partner.personas() if hasattr(partner, "personas") else [(1.0, partner)]
        points = 0.0
        for chance, mind in minds:
            scores = rollout(
                (player, mind) if seat == 0 else (mind, player), table, rules, seed=0, prior="lewis"
            ).scores
            points += chance * float(points_of_ten(scores, table.pool_values)[:, seat].mean())
        earned.append(points)
    best = mixture_response(partners, seat, table, rules=rules).value.high
    lost = regret_by_turn(player, crowd, partners, seat, table, rules)
    assert sum(each.points for each in lost) == pytest.approx(best - np.mean(earned), abs=1e-9)
    assert all(each.exact and each.points >= -1e-9 for each in lost) and best - np.mean(earned) > 0.01
    assert [each.own for each in lost] == list(range(len(lost))) and lost[0].games <= 1 + 1e-9


def test_best_response_has_no_regret():
    table = one_pool()
    player = BestResponse(f"mixture(of=[{', '.join(FEW)}])")
    lost = regret_by_turn(player, FEW, PARTNERS, 1, table, Rules())
    assert len(lost) > 1 and all(abs(each.points) < 1e-9 for each in lost)


def test_empty_mixture_has_no_regrets():
    assert regret_by_turn(PARTNERS[0], (), (), 0, one_pool(), Rules()) == []


def test_command_stores_and_prints_a_row(tmp_path):
    path = tmp_path / "r.jsonl"
    command = (
        "experiment",
        "beliefs",
        "linear",
        "--of",
        "tough",
        "--of",
        "versatile",
        "--of",
        "micro",
        "--results",
        path,
    )
    done = dond(*command)
    assert done.returncode == 0, done.stderr
    row = json.loads(path.read_text())
    assert row["members"] == ["tough", "versatile"] and row["followed"] == ["tough"] and "micro" in row["left_out"]
    for side in row["seats"]:
        first = side["slices"]["all scenarios"][0]
        assert first["right"] is None and first["right_exact"] >= 0.5 and first["brier_prior"] > 0
        assert side["slices"]["held-out views"][0]["games"] < first["games"]
        assert sum(each["points"] for each in side["lost"]) > 0
    assert "Beliefs of linear about own list" in done.stdout and "micro (it gambles" in done.stdout
    none = {**row, "followed": [], "seats": [{**side, "lost": []} for side in row["seats"]]}
    assert (len(recognition_section(row).blocks), len(recognition_section(none).blocks)) == (4, 2)
    store_recognition_row(path, {**row, "processor_seconds": 0.0})
    assert [each["processor_seconds"] for each in read_recognitions(path)] == [0.0]
    path.write_text("{}\n")
    with pytest.raises(InputError):
        read_recognitions(path)


def test_unrecognizable_mixture_is_refused():
    with pytest.raises(InputError):
        recognition_row(submission_of_spec("linear"), "mine", ["micro"])


def test_regrets_of_seeds_are_averaged(tmp_path):
    """One seed's games end a turn sooner: on that turn it loses nothing."""

    def line(seed, *points):
        lost = [{"own": own, "asked": 1.0, "points": each, "exact": True} for own, each in enumerate(points)]
        return {
            "who": "w", "crowd": "c", "seed": seed, "members": ["tough"], "followed": ["tough"], "left_out": {},
            "seats": [{"slices": {"all scenarios": []}, "lost": lost}] * 2,
        }  # fmt: skip

    for row in (line(1, 0.1, 0.3), line(2, 0.2, 0.1, 0.4)):
        store_recognition_row(tmp_path / RECOGNITION, row)
    (table,) = regret_section(tmp_path).blocks
    assert [[row.label, *row.cells] for row in table.rows] == [
        ["w, c (2 seeds)", seat, "0.15", "0.20", "0.20", "-", "-", "0.55"] for seat in ("seat_0", "seat_1")
    ]
