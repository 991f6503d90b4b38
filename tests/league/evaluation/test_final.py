"""The final evaluation: by hand, with who breaks down, of a real league, as tables and as files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dond.terminal.tables import print_sections
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import parse_spec
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Traits
from league.evaluation.evaluate import LAST
from league.evaluation.final import BOUND, BY_ODDS, EXACT, NONE, final_evaluation
from league.evaluation.matches import BOTH
from league.evaluation.of_run import NothingToEvaluate, evaluate_run
from league.figures.rows import read_figures
from league.ledger.ledger import Ledger
from league.ledger.run_directory import find_run
from league.results.pair import final_sections
from league.standings.references import reference_of
from league.tables.final import final_figures, worst_share, write_final_files
from partners.rosters import DEV, roster
from tests.command import dond, in_process
from tests.killing import run
from tests.league.evaluation.test_evaluate import BY_HAND, Agrees, Broken

ROOT = Path(__file__).resolve().parents[3]


class Remembers(Agrees):
    """The same, with a declared memory of more than the last act."""

    traits = Traits(deterministic=True)


@pytest.fixture(scope="module")
def by_hand():
    return final_evaluation(
        {"main": Agrees((1, 0, 0))},
        {"usual": Agrees()},
        BY_HAND,
        Rules(2),
        exploiters={"greedy": Agrees((1, 1, 1)), "shy": Agrees((0, 0, 0))},
        exact=True,
    )


def test_shares_of_the_exact_best_response_by_hand(by_hand):
    # As seat_0 it gets 6 and 8 where 10 could be had, as seat_1 2 and 1 as every partner would.
    (one,) = by_hand.members
    (met,) = one.matchups
    assert [mark.kind for mark in met.marks] == [EXACT, EXACT] and met.known is None
    assert [mark.points.mean() for mark in met.marks] == [10, 1.5]
    assert one.proximity.cells.value == pytest.approx(np.array([[0.7, 1.0]]))
    near = one.proximity
    assert [float(each.value) for each in (near.mean, near.exact, near.worst_tenth)] == pytest.approx([0.85] * 3)
    assert float(one.agreement.value) == pytest.approx(1)
    # Joint points of the member's games over the largest: (14, 17) of (15, 17) as seat_0, (6, 3) as seat_1.
    assert float(one.welfare.value) == pytest.approx((14 / 15 + 1 + 6 / 15 + 3 / 17) / 4)


def test_self_play_and_ultimatum_by_hand(by_hand):
    (one,) = by_hand.members
    first, second = (one.self_play.figures[seat].points.mean for seat in ("seat_0", "seat_1"))
    assert (first, second) == pytest.approx((7, 8.5))  # 6, 8 and 8, 9
    assert one.self_play.figures[BOTH].welfare.mean == pytest.approx((14 / 15 + 1) / 2)
    (last,) = (line for line in by_hand.points if line.name == LAST)
    assert last.figures["seat_0"].points.mean == pytest.approx(9.5)  # 10, 5 and 9, 8


def test_exploiter_gains_by_hand(by_hand):
    (one,) = by_hand.members
    assert [each.exploiter for each in one.exploiters] == ["greedy", "shy"]
    # Greedy opens with everything and gets 10, where the member gets 7 against itself; second to move it agrees to 8
    # and 9 as the member does. It leaves nothing of the 1.5 that the usual opponent leaves.
    greedy, shy = one.exploiters
    assert [each.mean for each in greedy.gain] == pytest.approx([3, 0])
    assert [each.mean for each in greedy.drop] == pytest.approx([0, 1.5])
    assert [each.mean for each in shy.gain] == pytest.approx([-7, 0])
    assert [each.mean for each in shy.drop] == pytest.approx([0, 1.5 - 10])
    assert one.exploitability is not None
    assert [each.gain for each in one.exploitability] == [pytest.approx((3, 3)), pytest.approx((0, 0))]
    assert all(each.response.exact for each in one.exploitability)
    assert one.split_gains is None  # no table knows the game


def test_uncertain_reference_has_no_share():
    found = final_evaluation(
        {"main": Agrees((1, 0, 0))},
        {"remembers": Remembers(), "gambles": "random"},
        BY_HAND,
        Rules(6),
        exploiters={"greedy": Agrees((1, 1, 1))},
        exact=True,
    )
    (one,) = found.members
    for met in one.matchups:
        assert [mark.kind for mark in met.marks] == [NONE, NONE]
        assert all(np.isnan(mark.points).all() for mark in met.marks)
        assert met.known is not None and {each.player for each in met.known}.isdisjoint({"main", "greedy"})
    remembers, gambles = (met.known for met in one.matchups)
    assert remembers[0].points == pytest.approx(10)  # a partner of the zoo asks for all
    assert any(each.player == BY_ODDS for each in gambles)
    assert np.isnan(one.proximity.cells.value).all() and np.isnan(one.proximity.mean.value)
    assert worst_share(final_figures(found), "main") is None


@pytest.mark.slow
def test_stored_references_need_their_rules():
    source = open_source("lewis", split="test")
    boulware, quantal = map(parse_spec, ("boulware(floor=0.6)", "mixed_thresholds(ask=0.3, high=0.6, low=0.5)"))
    assert reference_of(boulware).exact and not reference_of(quantal).exact
    found = final_evaluation({"main": "linear"}, {"a": boulware, "b": quantal}, source)
    first, second = found.members[0].matchups
    assert [mark.kind for mark in first.marks] == [EXACT, EXACT] and first.known is None
    assert [mark.kind for mark in second.marks] == [BOUND, BOUND]
    for met, seat in ((first, 0), (second, 1)):
        side = reference_of(boulware if met is first else quantal).seats[seat]
        most = side.values_over(seat, (1, 2))[1]
        assert met.marks[seat].points.mean() == pytest.approx(most)
        played = met.played.figures[f"seat_{seat}"].points.mean
        share = found.members[0].proximity.cells.value[0 if met is first else 1, seat]
        assert share == pytest.approx(played / most)
        assert met.known is None or met.known[seat].points <= most + 0.05  # chance in the games
    played = final_evaluation({"main": "linear"}, {"a": boulware}, source, Rules(4), sample=50)
    assert [mark.kind for mark in played.members[0].matchups[0].marks] == [EXACT, EXACT]  # computed for these rules


def computed_against(opponents, rules):
    """The evaluation of ``linear`` against opponents on 20 scenarios, and the responses that were computed for it."""
    progress = []
    found = final_evaluation(
        {"main": "linear"},
        {name: parse_spec(name) for name in opponents},
        open_source("lewis", split="test"),
        rules,
        sample=20,
        report=progress.append,
    )
    return found, [line for line in progress if line.startswith("a response to")]


def test_no_response_is_computed_where_references_are_stored():
    found, responses = computed_against(roster(DEV), Rules())
    assert responses == [] and found.notes == ()
    of_dev = {met.opponent: met for met in found.members[0].matchups}
    for name, met in of_dev.items():
        reference = reference_of(parse_spec(name))
        assert (met.known is None) == reference.exact
        for seat, side in enumerate(reference.seats):
            assert met.marks[seat].kind == (EXACT if side.exact else BOUND)
            assert met.known is None or min(side.low_in) <= met.known[seat].points <= met.marks[seat].points.mean()


def test_other_rules_compute_quick_responses():
    found, responses = computed_against(("boulware(floor=0.6)", "hybrid(middle=0.9)"), Rules(5))
    assert len(responses) == 1 and "hybrid" not in responses[0]
    kinds = [[mark.kind for mark in met.marks] for met in found.members[0].matchups]
    assert kinds == [[EXACT, EXACT], [NONE, NONE]]
    assert len(found.notes) == 1 and "hybrid(middle=0.9)" in found.notes[0]


def test_failing_player_is_noted():
    main = {"main": Agrees((1, 0, 0))}
    found = final_evaluation({**main, "broken": Broken()}, {"usual": Agrees()}, BY_HAND, Rules(2), exact=True)
    assert [one.member for one in found.members] == ["main"] and any("broken failed" in note for note in found.notes)
    found = final_evaluation(main, {"usual": Agrees(), "broken": Broken()}, BY_HAND, Rules(2), exact=True)
    assert [met.opponent for met in found.members[0].matchups] == ["usual"]
    assert len(found.notes) == 1 and found.notes[0].startswith("broken ") and "lost my notes" in found.notes[0]
    found = final_evaluation(main, {"usual": Agrees()}, BY_HAND, Rules(2), exploiters={"thief": Broken()}, exact=True)
    assert not found.members[0].exploiters and "thief" in found.notes[0]


class Paid(Broken):
    """Costs something per query."""

    traits = Traits(remote=True)


def test_costly_opponent_is_not_queried():
    found = final_evaluation(
        {"main": Agrees((1, 0, 0))}, {"usual": Agrees(), "paid": Paid()}, BY_HAND, Rules(2), exact=True
    )
    assert [met.opponent for met in found.members[0].matchups] == ["usual"]
    assert len(found.notes) == 1 and found.notes[0].startswith("paid ")


def test_revealed_values_are_seen_by_the_references_too():
    hidden, seen = (
        final_evaluation({"main": "heuristic"}, {"linear": "linear"}, BY_HAND, Rules(4), revealed=revealed)
        for revealed in (False, True)
    )
    marks = [found.members[0].matchups[0].marks for found in (hidden, seen)]
    assert {mark.kind for each in marks for mark in each} == {EXACT}
    means = [sum(mark.points.mean() for mark in each) for each in marks]
    assert means[1] >= means[0] - 1e-9
    assert seen.members[0].exploitability is None


# A real league.

SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4}
league: {seed: 3, rounds: 2, block_size: 16, evaluate: false}
members: [heuristic, pushover]
heldout: [tough, micro]
learners:
  - {name: main, decisions: 200, num_envs: 16, rollout: 2, hidden: [16], snapshot_every: 1,
     reward: partner_seeker}
  - {name: hunter, role: main_exploiter, decisions: 100, num_envs: 16, rollout: 2, hidden: [16], snapshot_every: 1,
     reset: 1.0}
logging: {output_dir: "FOLDER"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    (path / "settings.yaml").write_text(SETTINGS.replace("FOLDER", str(path)))
    played = run("--config", path / "settings.yaml")
    assert played.returncode == 0, played.stderr
    return path / "0001"


@pytest.fixture(scope="module")
def evaluated(folder):
    return evaluate_run(find_run(folder), sample=20)


def test_run_is_evaluated_on_heldout_members_and_scenarios(evaluated):
    (one,) = evaluated.members
    assert one.member == "main" and [met.opponent for met in one.matchups] == ["tough", "micro"]
    assert evaluated.source.label == "lewis, split test" and evaluated.scenarios.size == 20
    # An exploiter that has started over is measured by what it left behind, too.
    assert {each.exploiter for each in one.exploiters} == {"hunter", "hunter@1"}
    assert one.exploitability is not None and all(each.gain[0] > 0 for each in one.exploitability)
    assert [word in note for word, note in zip(("greedy", "partner_seeker"), evaluated.notes, strict=True)] == [
        True
    ] * 2


def test_tables_hold_every_figure(evaluated):
    console = Console(file=io.StringIO(), width=80)
    print_sections(console, final_sections(evaluated))
    text = console.file.getvalue()
    words = " ".join(text.split())
    for expected in ("worst tenth", "best known", "conceded", "weak", "agreement", "ultimatum", "hunter@1", "gain as"):
        assert expected in words
    (member,) = evaluated.members
    for met in member.matchups:
        points = met.played.figures[BOTH].points
        assert any(line.startswith(met.opponent) and f"{points.mean:.2f}" in line for line in text.splitlines())


def test_files_hold_the_evaluation(evaluated, tmp_path):
    write_final_files(tmp_path, evaluated)
    figures = read_figures(json.loads((tmp_path / "evaluation.json").read_text()))
    (one,) = evaluated.members
    assert figures.row("main", "", "proximity, mean").value == float(one.proximity.mean.value)
    assert figures.row("main", "tough", "reference's points", "seat_0").note == EXACT
    assert figures.row("main", "tough", "best known", "seat_0") is None
    unknown = figures.row("main", "micro", "reference's points", "seat_0")
    assert unknown.note == NONE and np.isnan(unknown.high)
    assert worst_share(figures, "main").against == "tough"
    (hunter,) = (exploiter for exploiter in one.exploiters if exploiter.exploiter == "hunter")
    assert figures.row("main", "hunter", "gain", "seat_1").value == hunter.gain[1].mean
    for seat in SEATS:  # conceded and weak are the whole gain
        gain, conceded, weak = (
            figures.row("main", "best response", name, seat) for name in ("gain", "gain, conceded", "gain, weak")
        )
        assert conceded.low + weak.high == pytest.approx(gain.high)
        assert conceded.high + weak.low == pytest.approx(gain.low)
    with (tmp_path / "evaluation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (share,) = (row for row in rows if row["figure"] == "proximity, worst tenth")
    assert float(share["value"]) == pytest.approx(float(one.proximity.worst_tenth.value), abs=1e-6)
    opponents = {row["against"] for row in rows if row["member"] == "main"}
    before = "best response, before training"
    assert opponents == {"", "tough", "micro", "main", "hunter", "hunter@1", "best response", before}


def test_command_evaluates_a_run(folder, tmp_path):
    done = in_process(
        "evaluate", "--run", folder, "--sample", 8, "--json", tmp_path / "e.json", "--csv", tmp_path / "e.csv"
    )
    assert done.returncode == 0, done.stderr
    assert "On lewis, split test: 8 scenarios" in done.stdout
    assert json.loads((tmp_path / "e.json").read_text())["members"] == ["main"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--run", "RUN", "--member", "linear", "--max-turns", "4"], "--member, --max-turns"),
        (["--member", "linear", "--against", "tough", "--sampling"], "--sampling is for --run"),
        (["--against", "tough"], "--member and --against"),
    ],
)
def test_options_of_run_and_pair_exclude_each_other(folder, options, words, capsys):
    assert dond("evaluate", *(folder if word == "RUN" else word for word in options)) in (1, 2)
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_league_without_mains_is_refused(tmp_path):
    (tmp_path / "settings.yaml").write_text(
        f"env: {{scenarios: lewis}}\nleague: {{rounds: 1, block_size: 4, evaluate: false}}\nmembers: [linear, tough]\n"
        f"logging: {{output_dir: '{tmp_path}'}}\n"
    )
    assert run("--config", tmp_path / "settings.yaml").returncode == 0
    with pytest.raises(NothingToEvaluate):
        evaluate_run(find_run(tmp_path))


def tiny_league(folder: Path, split: str = "train", **lists: list[str]):
    """The folder of a league of one learner that has hardly learned, with these ``members`` and ``heldout``."""
    settings = {
        "env": {"scenarios": "lewis", "split": split, "max_turns": 2},
        "league": {"rounds": 1, "block_size": 4, "evaluate": False},
        **lists,
        "learners": [{"name": "main", "decisions": 40, "num_envs": 8, "rollout": 1}],
        "logging": {"output_dir": str(folder)},
    }
    (folder / "settings.yaml").write_text(json.dumps(settings))
    assert run("--config", folder / "settings.yaml").returncode == 0
    return find_run(folder)


def test_known_opponents_are_noted_and_the_ledger_stays(tmp_path):
    members, heldout = ["heuristic", "mixture(of=['conceder', 'linear'])"], ["conceder", "nash_seeker"]
    run = tiny_league(tmp_path, "all", members=members, heldout=heldout)
    with Ledger(run.path / "ledger.sqlite") as ledger:
        before = ledger.fingerprint()
    sampled, trained_with, views = evaluate_run(run, sample=2, sampling=True).notes
    with Ledger(run.path / "ledger.sqlite") as ledger:
        assert ledger.fingerprint() == before
    assert "sampled" in sampled
    assert trained_with.startswith("main") and trained_with.endswith("conceder")
    assert views.startswith("main") and views.endswith("split all")


@pytest.mark.slow  # the roster dev has members whose best responses take long
def test_default_opponents_are_the_dev_roster(tmp_path):
    found = evaluate_run(tiny_league(tmp_path, members=["heuristic"]), sample=4)
    assert [met.opponent for met in found.members[0].matchups] == list(roster(DEV))
    assert DEV in found.notes[1]
