"""The final evaluation: by hand, with who breaks down, of a real league, as tables and as files."""

from __future__ import annotations

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
from league.evaluation.exploitability import BEST
from league.evaluation.final import (
    BEST_KNOWN,
    BOUND,
    BY_ODDS,
    DROP,
    EXACT,
    GAIN,
    NONE,
    REFERENCE,
    SHARE,
    final_evaluation,
)
from league.evaluation.of_run import NothingToEvaluate, evaluate_run
from league.figures.rows import figures_document, write_figures
from league.ledger.ledger import Ledger
from league.ledger.run_directory import find_run
from league.standings.references import reference_of
from league.tables.final import final_sections, read_final, worst_share
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


def values(figures, member, against, figure):
    """The values of a figure by seat; ``nan`` without one."""
    return [figures.estimate(member, against, figure, seat).mean for seat in SEATS]


def kinds(figures, opponent):
    return [figures.row(figures.terms["members"][0], opponent, REFERENCE, seat).note for seat in SEATS]


def test_shares_of_the_exact_best_response_by_hand(by_hand):
    # As seat_0 it gets 6 and 8 where 10 could be had, as seat_1 2 and 1 as every partner would.
    assert by_hand.opponents("main", SHARE) == ["usual"] and kinds(by_hand, "usual") == [EXACT, EXACT]
    assert by_hand.opponents("main", BEST_KNOWN) == []
    assert values(by_hand, "main", "usual", REFERENCE) == [10, 1.5]
    assert values(by_hand, "main", "usual", SHARE) == pytest.approx([0.7, 1.0])
    for summary in ("mean", "exact", "worst tenth"):
        assert by_hand.row("main", "", f"proximity, {summary}").value == pytest.approx(0.85)
    assert by_hand.row("main", "", "agreement").value == pytest.approx(1)
    # Joint points of the member's games over the largest: (14, 17) of (15, 17) as seat_0, (6, 3) as seat_1.
    assert by_hand.row("main", "", "welfare").value == pytest.approx((14 / 15 + 1 + 6 / 15 + 3 / 17) / 4)


def test_self_play_and_ultimatum_by_hand(by_hand):
    assert values(by_hand, "main", "main", "points") == pytest.approx((7, 8.5))  # 6, 8 and 8, 9
    assert by_hand.row("main", "main", "welfare").value == pytest.approx((14 / 15 + 1) / 2)
    assert by_hand.row(LAST, "", "points", "seat_0").value == pytest.approx(9.5)  # 10, 5 and 9, 8


def test_exploiter_gains_by_hand(by_hand):
    # Greedy opens with everything and gets 10, where the member gets 7 against itself; second to move it agrees to 8
    # and 9 as the member does. It leaves nothing of the 1.5 that the usual opponent leaves.
    assert by_hand.opponents("main", GAIN) == ["greedy", "shy", BEST]
    assert values(by_hand, "main", "greedy", GAIN) == pytest.approx([3, 0])
    assert values(by_hand, "main", "greedy", DROP) == pytest.approx([0, 1.5])
    assert values(by_hand, "main", "shy", GAIN) == pytest.approx([-7, 0])
    assert values(by_hand, "main", "shy", DROP) == pytest.approx([0, 1.5 - 10])
    assert values(by_hand, "main", BEST, GAIN) == pytest.approx([3, 0])
    assert {row.note for row in by_hand.select(against=BEST, figure=GAIN)} == {"exact"}
    assert not any(by_hand.select(figure=f"{GAIN}, weak"))  # no table knows the game


def test_uncertain_reference_has_no_share():
    found = final_evaluation(
        {"main": Agrees((1, 0, 0))},
        {"remembers": Remembers(), "gambles": "random"},
        BY_HAND,
        Rules(6),
        exploiters={"greedy": Agrees((1, 1, 1))},
        exact=True,
    )
    for opponent in ("remembers", "gambles"):
        assert kinds(found, opponent) == [NONE, NONE]
        assert np.isnan(values(found, "main", opponent, SHARE)).all()
        known = [found.row("main", opponent, BEST_KNOWN, seat) for seat in SEATS]
        assert {row.note for row in known}.isdisjoint({"main", "greedy"})
    assert values(found, "main", "remembers", BEST_KNOWN)[0] == pytest.approx(10)  # a partner of the zoo asks for all
    assert any(row.note == BY_ODDS for row in known)
    assert np.isnan(found.row("main", "", "proximity, mean").value) and worst_share(found, "main") is None


@pytest.mark.slow
def test_stored_references_need_their_rules():
    source = open_source("lewis", split="test")
    exact, bounded = map(parse_spec, ("boulware(floor=0.6)", "mixed_thresholds(ask=0.3, high=0.6, low=0.5)"))
    assert reference_of(exact).exact and not reference_of(bounded).exact
    found = final_evaluation({"main": "linear"}, {"a": exact, "b": bounded}, source)
    assert kinds(found, "a") == [EXACT, EXACT] and kinds(found, "b") == [BOUND, BOUND]
    assert found.row("main", "a", BEST_KNOWN, "seat_0") is None
    for name, spec, seat in (("a", exact, 0), ("b", bounded, 1)):
        most = reference_of(spec).seats[seat].values_over(seat, (1, 2))[1]
        assert found.row("main", name, REFERENCE, SEATS[seat]).high == pytest.approx(most)
        played = found.row("main", name, "points", SEATS[seat]).value
        assert found.row("main", name, SHARE, SEATS[seat]).value == pytest.approx(played / most)
    assert found.row("main", "b", BEST_KNOWN, "seat_1").value <= most + 0.05  # chance in the games
    played = final_evaluation({"main": "linear"}, {"a": exact}, source, Rules(4), sample=50)
    assert kinds(played, "a") == [EXACT, EXACT]  # computed for these rules


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
    assert responses == [] and found.terms["notes"] == []
    for name in roster(DEV):
        reference = reference_of(parse_spec(name))
        for seat, side in zip(SEATS, reference.seats, strict=True):
            mark, known = (found.row("main", name, figure, seat) for figure in (REFERENCE, BEST_KNOWN))
            assert mark.note == (EXACT if side.exact else BOUND) and (known is None) == reference.exact
            assert known is None or min(side.low_in) <= known.value <= mark.high


def test_other_rules_compute_quick_responses():
    found, responses = computed_against(("boulware(floor=0.6)", "hybrid(middle=0.9)"), Rules(5))
    assert len(responses) == 1 and "hybrid" not in responses[0]
    assert kinds(found, "boulware(floor=0.6)") == [EXACT, EXACT] and kinds(found, "hybrid(middle=0.9)") == [NONE, NONE]
    (note,) = found.terms["notes"]
    assert "hybrid(middle=0.9)" in note


def test_failing_player_is_noted():
    main = {"main": Agrees((1, 0, 0))}
    found = final_evaluation({**main, "broken": Broken()}, {"usual": Agrees()}, BY_HAND, Rules(2), exact=True)
    assert found.terms["members"] == ["main"] and any("broken failed" in note for note in found.terms["notes"])
    found = final_evaluation(main, {"usual": Agrees(), "broken": Broken()}, BY_HAND, Rules(2), exact=True)
    (note,) = found.terms["notes"]
    assert found.opponents("main", SHARE) == ["usual"] and note.startswith("broken ") and "lost my notes" in note
    found = final_evaluation(main, {"usual": Agrees()}, BY_HAND, Rules(2), exploiters={"thief": Broken()}, exact=True)
    assert found.opponents("main", GAIN) == [BEST] and "thief" in found.terms["notes"][0]


class Paid(Broken):
    """Costs something per query."""

    traits = Traits(remote=True)


def test_costly_opponent_is_not_queried():
    found = final_evaluation(
        {"main": Agrees((1, 0, 0))}, {"usual": Agrees(), "paid": Paid()}, BY_HAND, Rules(2), exact=True
    )
    (note,) = found.terms["notes"]
    assert found.opponents("main", SHARE) == ["usual"] and note.startswith("paid ")


def test_revealed_values_are_seen_by_the_references_too():
    hidden, seen = (
        final_evaluation({"main": "heuristic"}, {"linear": "linear"}, BY_HAND, Rules(4), revealed=revealed)
        for revealed in (False, True)
    )
    assert {*kinds(hidden, "linear"), *kinds(seen, "linear")} == {EXACT}
    means = [sum(values(found, "main", "linear", REFERENCE)) for found in (hidden, seen)]
    assert means[1] >= means[0] - 1e-9
    assert not any(seen.select(figure=GAIN))


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
    terms = evaluated.terms
    assert terms["members"] == ["main"] and evaluated.opponents("main", SHARE) == ["tough", "micro"]
    assert (terms["scenarios"]["source"], terms["scenarios"]["number"]) == ("lewis, split test", 20)
    # An exploiter that has started over is measured by what it left behind, too.
    before = "best response, before training"
    assert set(evaluated.opponents("main", GAIN)) == {"hunter", "hunter@1", BEST, before}
    assert all(row.low > 0 for row in evaluated.select(against=BEST, figure=GAIN))
    assert "greedy" in terms["notes"][0] and "partner_seeker" in terms["notes"][1]


def test_tables_hold_every_figure(evaluated):
    console = Console(file=io.StringIO(), width=80)
    print_sections(console, final_sections(evaluated))
    text = console.file.getvalue()
    words = " ".join(text.split())
    for expected in ("worst tenth", "best known", "conceded", "weak", "agreement", "ultimatum", "hunter@1", "gain as"):
        assert expected in words
    for opponent in ("tough", "micro"):
        points = evaluated.row("main", opponent, "points").value
        assert any(line.startswith(opponent) and f"{points:.2f}" in line for line in text.splitlines())


def test_file_holds_the_evaluation_and_parts_of_a_gain_are_the_whole(evaluated, tmp_path):
    write_figures(evaluated, tmp_path / "evaluation.json", None)
    assert figures_document(read_final((tmp_path / "evaluation.json").read_text())) == figures_document(evaluated)
    for seat in SEATS:
        gain, conceded, weak = (
            evaluated.row("main", BEST, name, seat) for name in ("gain", "gain, conceded", "gain, weak")
        )
        assert conceded.low + weak.high == pytest.approx(gain.high)
        assert conceded.high + weak.low == pytest.approx(gain.low)


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
    sampled, trained_with, views = evaluate_run(run, sample=2, sampling=True).terms["notes"]
    with Ledger(run.path / "ledger.sqlite") as ledger:
        assert ledger.fingerprint() == before
    assert "sampled" in sampled
    assert trained_with.startswith("main") and trained_with.endswith("conceder")
    assert views.startswith("main") and views.endswith("split all")


@pytest.mark.slow  # the roster dev has members whose best responses take long
def test_default_opponents_are_the_dev_roster(tmp_path):
    found = evaluate_run(tiny_league(tmp_path, members=["heuristic"]), sample=4)
    assert found.opponents("main", SHARE) == list(roster(DEV))
    assert DEV in found.terms["notes"][1]
