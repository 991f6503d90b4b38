"""An evaluation is right by hand, agrees with itself, is written and drawn, and names a user's mistakes in a line."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import league.figures.measures
from dond.plane import draw, frontier
from dond.terminal.tables import print_sections
from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.game import SEATS, Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import ScenarioSource, open_source, pack
from dond_marl.seats import Traits, decide
from dond_marl.solvers.efficiency import efficiency_of
from dond_marl.solvers.solve import solve
from hints import HintSchedule, RandomHinter
from league.evaluation.evaluate import FAIR, HUMANS, LARGEST, LAST, NASH, evaluate, human_figures, ultimatum_seat
from league.evaluation.exploitability import (
    BEST,
    COMPARED,
    EQUILIBRIUM,
    EXPLOITABILITY,
    INFORMATION,
    INFORMED,
    SAFETY,
    SELF_PLAY,
    VALUE,
    equilibrium_rows,
)
from league.evaluation.matches import BOTH, VIEWS, PlayError, Terms
from league.figures.rows import Figures, figures_document, read_figures
from league.results.pair import pair_figures, pair_sections
from partners.equilibrium import table_for
from partners.rosters import TRAIN, roster
from tests.command import dond, in_process

T = 12.706204736174698  # Student's quantile of a two-sided 95 % interval with one degree of freedom: two scenarios

# One book, one hat, one ball. What the splits are worth (seat_0, seat_1), by what seat_0 gets:
#
#              nothing  book   hat    ball   book+hat  book+ball  hat+ball  all
#   A: 640|235  0,10    6,8    4,7    0,5     10,5       6,3        4,2     10,0
#   B: 811|118  0,10    8,9    1,9    1,2      9,8       9,1        2,1     10,0
#
#             largest sum  largest product  largest smaller  ultimatum of seat_0
#   A             15             50                6               10,5
#   B             17             72 (twice)        8 (twice)        9,8
TABLE = pack([Scenario((1, 1, 1), ((6, 4, 0), (2, 3, 5))), Scenario((1, 1, 1), ((8, 1, 1), (1, 1, 8)))])
BY_HAND = ScenarioSource("uniform", table=TABLE)


class Agrees:
    """Opens with an offer of its own, and agrees to every offer."""

    traits = Traits(deterministic=True, memoryless=True)

    def __init__(self, keeps=(0, 1, 1)):
        self.keeps = np.array(keeps)

    def act(self, turns):
        offered = turns.act_mask[:, Act.AGREE]
        return decide(np.where(offered, Act.AGREE, Act.PROPOSE), np.where(offered[:, None], 0, self.keeps))


class Forgetful(Agrees):
    """The same, without declared traits."""

    traits = Traits()


class Broken(Agrees):
    """Fails at its first act."""

    def act(self, turns):
        raise RuntimeError("lost my notes")


@pytest.fixture(scope="module")
def by_hand():
    return evaluate(Agrees((1, 0, 0)), Agrees(), BY_HAND, Rules(2), exact=True)


@pytest.fixture(scope="module")
def small():
    return evaluate("linear", "pushover", open_source("lewis", split="paper_test"), Rules(4), sample=60)


def means(figures, *names):
    return [getattr(figures, name).mean for name in names]


def test_two_scenarios_by_hand(by_hand):
    # As seat_0 it keeps the book: 6,8 and 8,9. As seat_1 it is left the book: 2 of 4,2 and 1 of 2,1.
    first, second, both = (by_hand.played.figures[view] for view in ("seat_0", "seat_1", BOTH))
    names = ("points", "left", "joint", "deals", "turns", "smaller", "gap")
    assert means(first, *names) == pytest.approx([7, 8.5, 15.5, 1, 2, 7, 1.5])
    assert means(second, *names) == pytest.approx([1.5, 3, 4.5, 1, 2, 1.5, 1.5])
    assert means(both, *names) == pytest.approx([4.25, 5.75, 10, 1, 2, 4.25, 1.5])
    assert means(first, "welfare", "nash", "egalitarian") == pytest.approx([(14 / 15 + 1) / 2, (48 / 50 + 1) / 2, 1])
    assert means(second, "welfare", "nash", "egalitarian") == pytest.approx(
        [(6 / 15 + 3 / 17) / 2, (8 / 50 + 2 / 72) / 2, (2 / 6 + 1 / 8) / 2]
    )
    shares = ("pareto", "envy_free", "hits_nash", "hits_max_min", "hits_utilitarian")
    assert means(first, *shares) == pytest.approx([1, 1, 0.5, 1, 0.5])
    assert means(second, *shares) == pytest.approx([0] * 5)
    assert (first.points.n, both.points.n, both.points_agreed.n) == (2, 4, 4)
    assert first.points.margin == pytest.approx(T)  # 6 and 8: a standard error of 1
    assert both.points.margin == pytest.approx(T * 0.25)  # (6 + 2) / 2 and (8 + 1) / 2


def test_best_response_and_paired_share_by_hand(by_hand):
    # As seat_0 it asks for everything; as seat_1 the book is all that it can have.
    assert by_hand.values is not None and all(value.exact for value in by_hand.values)
    assert [value.low for value in by_hand.values] == pytest.approx([10, 1.5])
    assert by_hand.best.name == BEST
    assert means(by_hand.best.figures[BOTH], "points", "deals") == pytest.approx([5.75, 1])
    shares = by_hand.shares[BEST]
    assert [shares[view].mean for view in VIEWS] == pytest.approx([4.25 / 5.75, 0.7, 1])
    assert shares["seat_0"].margin == pytest.approx(T * 0.1)  # 6 and 8 of 10: seven tenths, standard error a tenth
    assert shares["seat_1"].margin == pytest.approx(0, abs=1e-12)  # in every game the same: paired
    assert shares[BOTH].n == 4
    assert not by_hand.notes


def test_points_of_reference_by_hand(by_hand):
    of = {line.name: line.figures for line in by_hand.points}
    assert means(of[NASH]["seat_0"], "points", "left", "product", "nash") == pytest.approx([9.25, 6.75, 61, 1])
    assert means(of[NASH]["seat_1"], "points", "left") == pytest.approx([6.75, 9.25])
    assert means(of[FAIR]["seat_0"], "points", "left", "smaller", "egalitarian") == pytest.approx([7.25, 8.25, 7, 1])
    assert means(of[LARGEST][BOTH], "joint", "welfare", "hits_utilitarian") == pytest.approx([16, 1, 1])
    assert means(of[LAST]["seat_0"], "points", "left", "pareto") == pytest.approx([9.5, 6.5, 1])
    assert [ultimatum_seat(Rules(turns)) for turns in (1, 2, 9, 10)] == [None, 0, 1, 0]
    assert by_hand.shares[NASH][BOTH].mean == pytest.approx(4.25 / 8)


def test_frontier_by_hand():
    # In one seat or the other: the mean of both scenarios' best splits, from everything to nothing.
    corners = frontier(TABLE)
    assert [tuple(corner) for corner in corners] == [tuple(corner) for corner in corners[::-1, ::-1]]  # both seats
    assert corners.sum(axis=1).max() == pytest.approx(16)
    assert (np.diff(corners[:, 0]) > 0).all() and (np.diff(corners[:, 1]) < 0).all()
    slopes = np.diff(corners[:, 1]) / np.diff(corners[:, 0])
    assert (np.diff(slopes) < 1e-6).all()


def test_no_line_exceeds_the_frontier(small):
    of = {line.name: line.figures[BOTH] for line in small.lines}
    assert means(of[NASH], "nash", "pareto", "hits_nash") == pytest.approx([1, 1, 1])
    assert means(of[FAIR], "egalitarian", "pareto", "hits_max_min") == pytest.approx([1, 1, 1])
    assert means(of[LARGEST], "welfare", "pareto", "hits_utilitarian") == pytest.approx([1, 1, 1])
    assert of[LARGEST].joint.mean == pytest.approx(solve(small.terms.scenarios).joint.mean())
    for figures in of.values():
        assert figures.joint.mean <= of[LARGEST].joint.mean + 1e-9
        assert figures.product.mean <= of[NASH].product.mean + 1e-9
        assert figures.smaller.mean <= of[FAIR].smaller.mean + 1e-9
    corners = frontier(small.terms.scenarios)
    for figures in of.values():
        most = np.interp(figures.points.mean, *corners.T)
        assert figures.left.mean <= most + 0.01  # a chord of the polygon is a little inside


def test_best_response_has_share_one():
    evaluation = evaluate("best_response(to=pushover)", "pushover", open_source("lewis"), Rules(4), sample=30)
    assert evaluation.shares[BEST][BOTH] == pytest.approx((1, 60, 1, 1))


def test_games_depend_on_the_seed():
    def one(seed):
        return evaluate("random", Agrees(), BY_HAND, Rules(6), seed=seed).played.figures[BOTH]

    assert one(1) == one(1) != one(2)


class Sees(Agrees):
    """Notes on each of its turns whether it got hints, and whether it saw the other seat's values."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def act(self, turns):
        self.seen.append((bool(turns.hint_features.any()), bool(turns.partner_utilities.any())))
        return super().act(turns)


@pytest.mark.parametrize("revealed", [False, True])
def test_hints_reach_the_player_alone_and_values_are_seen_where_revealed(revealed):
    player, partner, hints = Sees(), Sees(), HintSchedule(RandomHinter())
    terms = Terms(BY_HAND, TABLE._replace(prior="uniform"), Rules(4), revealed=revealed)
    for seat in (0, 1):
        terms.play_seat(seat, player, partner, hints=hints)
    assert player.seen == [(True, revealed)] * 2 and partner.seen == [(False, revealed)] * 2


def test_intractable_partner_has_no_share():
    evaluation = evaluate(Agrees((1, 0, 0)), Forgetful(), BY_HAND, Rules(2), exact=True)
    assert evaluation.best is None and set(evaluation.shares) == {NASH}
    assert len(evaluation.notes) == 1
    assert evaluation.values is not None and not evaluation.values[0].exact
    assert evaluation.values[0].low == 10 == evaluation.values[0].high  # a partner of the zoo asks for everything
    assert f"{evaluation.values[1].low:.2f}..10.00" in printed(evaluation, 100)


def test_failing_partner_is_named():
    with pytest.raises(PlayError) as failed:
        evaluate(Agrees(), Broken(), BY_HAND)
    assert "Broken" in failed.value.player


def printed(evaluation, width, *, details=False):
    console = Console(width=width, file=io.StringIO(), highlight=False)
    print_sections(console, pair_sections(evaluation, stored_human_line(), details=details))
    return console.file.getvalue()


def test_evaluation_fits_the_screen(small):
    text = printed(small, 72, details=True)
    assert max(map(len, text.splitlines())) <= 72
    assert "…" not in text and all(name in text for name in ("humans", "utilitarian", "ultimatum"))
    points, short = small.played.figures[BOTH].points, printed(small, 72)
    assert all(f"{points.mean:.2f} ±{points.margin:.2f}" in shown for shown in (text, short)) and "77.9%" in text
    assert not any(name in short for name in ("humans", "utilitarian", "ultimatum"))


def test_human_figures_are_by_speaker():
    people, known = human_figures(stored_human_line()), stored_human_line().figures
    assert people[BOTH].points == known["score"] and people[BOTH].hits_max_min == known["max_min_of_deals"]
    assert people["seat_0"].points == people["seat_1"].left == known["first"]
    assert people["seat_1"].points_agreed == known["second_of_deals"]
    assert math.isnan(people[BOTH].welfare.mean)


def test_json_and_csv_hold_every_figure(small):
    written = pair_figures(small, stored_human_line())
    document = json.loads(json.dumps(figures_document(written), allow_nan=False))
    read = read_figures(document)
    assert figures_document(read) == document
    names = {"linear": small.played, **{line.name: line for line in small.lines[1:]}}
    assert {row.member for row in read.rows} == {*names, HUMANS}
    for name, line in names.items():
        for view in VIEWS:
            for figure, estimate in line.figures[view]._asdict().items():
                row = read.row(name, "pushover", figure, "" if view == BOTH else view)
                assert row.cell.estimate == pytest.approx(estimate, nan_ok=True)
    share = read.row("linear", "pushover", f"share of {BEST}")
    assert share.value == small.shares[BEST][BOTH].mean and share.unit == "share"
    assert read.row(BEST, "pushover", VALUE).note == "exact"
    splits = np.array(document["splits"]["seat_0"] + document["splits"]["seat_1"])
    played = small.played.figures[BOTH].points
    assert splits[:, 2].sum() == 120 and splits[:, 0] @ splits[:, 2] / 120 == pytest.approx(played.mean)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plane_is_drawn(small, tmp_path, ending):
    pytest.importorskip("matplotlib", reason="the optional extra 'plot'")
    path = tmp_path / f"plane.{ending}"
    draw(path, small, human_figures(stored_human_line()))
    content = path.read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG\r\n\x1a\n") and len(content) > 30_000
        assert int.from_bytes(content[16:20], "big") > 1000 and int.from_bytes(content[20:24], "big") > 600
    else:
        assert b"<svg" in content


def test_command_prints_tables_and_writes_files(tmp_path):
    games = ["--member", "boulware(exponent=2)", "--against", "pushover", "--max-turns", "4", "--sample", "40"]
    files = ["--json", "e.json", "--csv", "e.csv", "--confidence", "0.9"]
    done = in_process("evaluate", *games, *files, cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "90%" in done.stdout and "e.json" in done.stdout and (tmp_path / "e.csv").stat().st_size
    assert json.loads((tmp_path / "e.json").read_text())["rules"]["max_turns"] == 4


def evaluated(**changed) -> int:
    """The exit code."""
    options = {"member": "linear", "against": "pushover", "sample": 10, "max_turns": 4, **changed}
    return dond("evaluate", *(w for name, value in options.items() for w in (f"--{name.replace('_', '-')}", value)))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"member": "heuristc"}, "did you mean 'heuristic'?"),
        ({"split": "validation"}, "train, test, paper_test, all"),
        ({"scenarios": "self_play", "data_dir": Path("nowhere")}, "dond data fetch"),
        ({"confidence": math.nan}, "--confidence must be"),
        ({"json": Path("nowhere/e.json")}, "--json nowhere/e.json: no file can be written there"),
        ({"plot": Path("plane.jpg")}, ".png, .svg, .pdf"),
    ],
)
def test_mistake_is_one_line_before_games(changed, words, capsys):
    assert evaluated(**changed) == 2
    printed = capsys.readouterr()
    assert words in printed.err and printed.err.count("\n") == 1 and not printed.out


def test_plot_needs_matplotlib(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert evaluated(plot=tmp_path / "plane.png") == 2
    error = capsys.readouterr().err
    assert "needs matplotlib" in error and "pip install" in error and error.count("\n") == 1


def test_impossible_points_are_a_bug(monkeypatch, capsys):
    def doubled(games):
        return efficiency_of(games._replace(scores=games.scores * 2))

    monkeypatch.setattr(league.figures.measures, "efficiency_of", doubled)
    assert evaluated() == 1
    assert capsys.readouterr().err.startswith("a bug")


@pytest.mark.slow
@pytest.mark.parametrize(("turns", "values"), [(2, (5.448725, 6.423041)), (3, (7.308782, 6.319547))])
def test_probe_reports_gains(tmp_path, turns, values):
    """Exactly, for partners that forget; the printed gains are differences of the printed values."""
    file = tmp_path / "evaluation.json"
    options = ["--member", "stubborn", "--against", "boulware", "--sample", "20", "--probe", "--json", file]
    done = in_process("evaluate", *options, "--max-turns", turns)
    assert done.returncode == 0, done.stderr
    found = read_figures(json.loads(file.read_text()))

    def bounds(member: str, against: str, figure: str) -> list[tuple[float, float]]:
        rows = [found.row(member, against, figure, seat) for seat in SEATS]
        return [(row.low, row.high) for row in rows]

    hidden, response = bounds(BEST, "boulware", VALUE), bounds(BEST, "stubborn", VALUE)
    assert hidden == [pytest.approx((value, value)) for value in values]
    information = bounds(BEST, "boulware", INFORMATION)
    for informed, value, gain in zip(bounds(BEST, "boulware", INFORMED), hidden, information, strict=True):
        assert gain == pytest.approx([informed[0] - value[0]] * 2)
    # The second of two turns answers an offer: with it before its eyes, the partner's values add nothing.
    assert [gain[0] > 0 for gain in information] == [True, turns > 2]
    itself, exploitability = bounds("stubborn", "stubborn", SELF_PLAY), bounds("stubborn", BEST, EXPLOITABILITY)
    for value, alone, gain in zip(response, itself, exploitability, strict=True):
        assert gain == pytest.approx([value[0] - alone[0]] * 2) and gain[0] > 0
    (safety,) = found.select(member="stubborn", figure=SAFETY)
    assert safety.against in roster(TRAIN) and safety.against in done.stdout
    equilibrium = [low for low, _ in bounds(EQUILIBRIUM, EQUILIBRIUM, SELF_PLAY)]
    assert equilibrium == pytest.approx(list(table_for(Rules(turns)).values))
    compared = {field: bounds("stubborn", "", figure) for field, figure in COMPARED.items()}
    parts = [bounds("stubborn", BEST, f"{EXPLOITABILITY}, {part}") for part in ("conceded", "weak")]
    for seat, (low, high) in enumerate(bounds(BEST, EQUILIBRIUM, VALUE)):
        assert low <= high and (turns > 4 or low == high)
        alone = itself[seat][0]
        assert parts[0][seat] == pytest.approx((low - alone, high - alone))
        gain = exploitability[seat]
        assert parts[1][seat] == pytest.approx((gain[0] + alone - high, gain[1] + alone - low))
        # An equilibrium against the member gets no more than a best response, nor the member than one to it.
        assert compared["equilibrium"][seat][0] <= response[seat][1] + 1e-9
        assert compared["member"][seat][0] <= high + 1e-5
        assert compared["shortfall"][seat][0] >= -(high - equilibrium[seat]) - 1e-5
    assert "conceded" in done.stdout and "an equilibrium" in done.stdout


def compared_with_equilibrium(name, source, rules):
    """Less than an equilibrium by seat, more than one gets against itself by seat, and whether both are exact."""
    rows = Figures({}, tuple(equilibrium_rows(name, seat_occupant(name), source, rules)))
    found = [rows.row(name, "", COMPARED[field], seat) for field in ("shortfall", "advantage") for seat in SEATS]
    return [row.low for row in found if row is not None], {row.note for row in found if row is not None}


def test_no_comparison_without_a_table():
    for source, turns in (("lewis", 11), ("lewis", 1), ("uniform", 3)):
        assert compared_with_equilibrium("heuristic", open_source(source), Rules(turns)) == ([], set())


@pytest.mark.slow
def test_equilibrium_equals_itself():
    gains, notes = compared_with_equilibrium("equilibrium", open_source("lewis"), Rules(2))
    assert gains == pytest.approx([0] * 4, abs=1e-5) and notes == {"exact"}
    gains, notes = compared_with_equilibrium("nash_seeker", open_source("lewis"), Rules(2))
    assert gains[0] > 1 and notes == {"bounds"}  # it opens with a fair offer where it could make an ultimatum


@pytest.mark.slow
def test_probe_with_memory_gives_bounds(tmp_path):
    file = tmp_path / "evaluation.json"
    options = ["--member", "micro", "--against", "random", "--sample", "5", "--max-turns", "4", "--probe"]
    done = in_process("evaluate", *options, "--json", file)
    assert done.returncode == 0, done.stderr
    gains = list(read_figures(json.loads(file.read_text())).select(member="micro", figure=EXPLOITABILITY))
    assert len(gains) == 2
    for gain in gains:
        low, high = gain.low, gain.high
        assert 0 <= low < high
    assert f"{low:.2f}..{high:.2f}" in done.stdout
