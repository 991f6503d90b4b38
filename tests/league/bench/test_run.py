"""A submission is measured by what it plays: equal to a plain count of its games."""

from __future__ import annotations

import json
import subprocess
from functools import partial

import numpy as np
import pytest
import torch

from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import OccupantNameError, expand_run_name, parse_spec, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import PARTS, open_source, view_parts
from dond_marl.solvers.labels import LABELS, ReadsAs
from dond_marl.statistics import points_of_ten
from league.bench.arms import MAIN, Arm
from league.bench.protocol import ALL, HEADLINE, beyond_field
from league.bench.results import seal_row
from league.bench.run import (
    OWN,
    check_committed,
    greedy_spec,
    measure,
    opponents_of,
    provenance,
    submission_of_run,
    submission_of_spec,
)
from league.bench.table import main_cells
from league.evaluation.exploitability import exploitability_by_seat
from league.evaluation.matches import UnreachedError
from league.ledger.ledger import ReadLedger
from league.standings.references import reference_of
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.provenance import NO_PAST, ProvenanceError, identity, provenance_of
from partners.rosters import DEV, DEV2, members_hash, roster
from tests.command import dond
from tests.league.absent import install_absent
from tests.third_party import install, on_the_path

torch.set_num_threads(1)
LEAGUE = """
env: {{scenarios: lewis, split: train}}
league: {{seed: 3, rounds: 2, block_size: 8, evaluate: false}}
members: [heuristic]
training: {{hidden: [8], rollout: 2, num_envs: 8, minibatch: 16, epochs: 1}}
learners: [{{name: main, decisions: 40, snapshot_every: 1}}]
logging: {{output_dir: "{folder}", tensorboard: false}}
"""


def network(path, **about):
    """An untrained checkpoint at ``path``."""
    made = PolicyNetwork(NetworkShape(hidden=(8,)), seed=1)
    tensors = {f"network.{name}": value for name, value in made.state_dict().items()}
    save_checkpoint(path, tensors, {**network_note(made), **about})
    return path


@pytest.fixture(scope="module")
def row():
    return measure(submission_of_spec("heuristic"), opponents_of(["linear", "stubborn"]))


play = partial(measure, exploitability=False)  # solving best responses takes seconds


def same(row):
    """A line but for the clock, and for the code: a commit may come between two lines."""
    return {key: value for key, value in row.items() if key not in ("code", "clock", "sha256")}


def plain_points(member: str, partner: str) -> np.ndarray:
    """Points of ten of the member in each seat of all scenarios, ``[2, N]``, from the play loop alone."""
    table = open_source("lewis", split="all").table
    pair = seat_occupant(member), seat_occupant(partner)
    first, second = rollout(pair, table, seed=0), rollout(pair[::-1], table, seed=0)
    return np.stack(
        [points_of_ten(first.scores, table.pool_values)[:, 0], points_of_ten(second.scores, table.pool_values)[:, 1]]
    )


@pytest.mark.slow
def test_exploitability_is_that_of_exact_best_responses(row):
    """A row of all scenarios has it, for deterministic policies without memory alone."""
    found, source = row["exploitability"], open_source("lewis")
    exact = exploitability_by_seat(seat_occupant("heuristic"), source, Rules())
    assert found["self_play"] == pytest.approx([each.self_play for each in exact])
    assert found["response"] == pytest.approx([each.response.low for each in exact])
    assert found["gain"] == pytest.approx([each.gain[0] for each in exact])
    assert found["nashconv"] == pytest.approx(sum(found["gain"]))
    for spec, options in (("nice", {"replicates": 2}), ("heuristic", {"sample": 60}), ("heuristic", {"beyond": True})):
        assert "exploitability" not in measure(submission_of_spec(spec), opponents_of(["linear"]), **options)


def test_adversary_needs_all_scenarios_and_adds_nothing_to_exact_gains():
    submission, opponents = submission_of_spec("heuristic"), opponents_of(["linear"])
    for options in ({"sample": 60}, {"beyond": True}):
        with pytest.raises(InputError):
            measure(submission, opponents, adversary=True, **options)
    found = measure(submission, opponents, adversary=True)
    assert "exploitability" in found and "adversary" not in found


def test_uncommitted_sources_are_refused(tmp_path):
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    source = tmp_path / "league" / "source.py"
    source.parent.mkdir()
    source.write_text("1\n")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    check_committed(False, tmp_path)
    source.write_text("2\n")
    check_committed(True, tmp_path)
    with pytest.raises(InputError, match="--allow-uncommitted"):
        check_committed(False, tmp_path)


def test_labels_are_scored_against_partners_that_read_them():
    read, policy = "heuristic(accept_ratio=0.7, insist_ratio=0.3)", "stubborn"
    found = play(submission_of_spec(policy), opponents_of([read, "linear"]), labels=True)
    part = np.stack([view_parts(open_source("lewis", split="all").table, seat) for seat in (0, 1)])

    def points(partner):
        return np.mean([own[among].mean() for own, among in zip(plain_points(policy, partner), part > 0, strict=True)])

    gains = [points(ReadsAs(seat_occupant(read), label)) - points(read) for label in LABELS]
    best = found["figures"]["best_labels"]
    assert list(best["by_partner"]) == [read] and best["by_partner"][read] == pytest.approx(gains, abs=1e-5)
    assert best["value"] == pytest.approx(max(gains) / 2, abs=1e-5) and max(gains) > 0.1
    pairs = [(seat_occupant(policy), seat_occupant(partner)) for partner in (read, "linear")]
    table = open_source("lewis", split="all").table
    own = [rollout(pair[::step], table, seed=0).act[:, seat::2] for pair in pairs for seat, step in ((0, 1), (1, -1))]
    insists, proposes = (sum((acts == label).sum() for acts in own) for label in (Act.INSIST, Act.PROPOSE))
    assert found["figures"]["insists"]["value"] == pytest.approx(insists / (insists + proposes), abs=1e-6)
    cells = main_cells(Arm(policy, (found,)))
    assert cells["best labels"].estimate.mean == pytest.approx(best["value"], abs=1e-6)
    before = {name: value for name, value in found["figures"].items() if name not in ("insists", "best_labels")}
    older = main_cells(Arm(policy, ({**found, "figures": before},)))
    assert older["best labels"] is older["INSIST"] is None and older["points"] == cells["points"]


def test_deterministic_figures_are_plain_means(row):
    table = open_source("lewis", split="all").table
    part = np.stack([view_parts(table, seat) for seat in (0, 1)])
    points = np.stack([plain_points("heuristic", partner) for partner in ("linear", "stubborn")])
    figures = row["figures"]

    def mean(among):
        return np.mean([[points[p, s][among[s]].mean() for s in (0, 1)] for p in (0, 1)])

    assert figures["points"]["value"] == pytest.approx(mean(part > 0), abs=1e-6)
    assert figures["points_by_part"][ALL]["value"] == pytest.approx(points.mean(), abs=1e-6)
    for number, name in enumerate(PARTS):
        assert figures["points_by_part"][name]["value"] == pytest.approx(mean(part == number), abs=1e-6)
    assert figures["points"]["low"] == figures["points"]["high"] == figures["points"]["value"]
    assert all(cell["replicates"] == 1 and not cell["margin"] for cell in row["cells"])
    assert figures["games"] == 2 * 2 * table.size


def test_cells_name_partner_seat_and_the_worst(row):
    by_cell = {(cell["partner"], cell["seat"]): cell["points"][HEADLINE] for cell in row["cells"]}
    assert by_cell.keys() == {(name, seat) for name in ("linear", "stubborn") for seat in (0, 1)}
    worst = row["figures"]["points_worst_cell"]
    assert worst["value"] == min(by_cell.values()) == by_cell[worst["partner"], worst["seat"]]
    for seat, points in enumerate(row["figures"]["points_by_seat"]):
        assert points["value"] == pytest.approx(
            np.mean([by_cell[name, seat] for name in ("linear", "stubborn")]), abs=1e-5
        )


def test_row_records_submission_and_benchmark(row):
    assert row["submission"]["name"] == "heuristic" and row["submission"]["identity"] == identity("heuristic")
    assert not row["submission"]["learned"] and row["submission"]["deterministic"]
    assert row["benchmark"]["roster"] == OWN and row["benchmark"]["networks"] == "greedy"
    assert row["benchmark"]["roster_sha256"] == members_hash(["linear", "stubborn"])
    assert {"version", "commit", "numpy", "torch", "python"} <= row["code"].keys()
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_line_is_independent_of_workers(row):
    again = measure(submission_of_spec("heuristic"), opponents_of(["stubborn", "linear"]), workers=2)
    assert same(again) == same(row) and seal_row(row)["sha256"] == row["sha256"]


def test_stochastic_games_are_replicated():
    short = play(submission_of_spec("nice"), opponents_of(["heuristic"]), replicates=2)
    long = play(submission_of_spec("nice"), opponents_of(["heuristic"]), replicates=6)
    assert {cell["replicates"] for cell in short["cells"]} == {2}
    wide, narrow = (each["figures"]["points"]["high"] - each["figures"]["points"]["low"] for each in (short, long))
    assert 0 < narrow < wide < 0.5
    assert abs(short["figures"]["points"]["value"] - long["figures"]["points"]["value"]) < 2 * (wide + narrow)


def test_noise_does_not_depend_on_other_partners():
    alone = play(submission_of_spec("heuristic"), opponents_of(["nice"]), replicates=2)
    among = play(submission_of_spec("heuristic"), opponents_of(["linear", "nice"]), replicates=2)
    assert alone["cells"] == [cell for cell in among["cells"] if cell["partner"] == "nice"]
    assert {cell["replicates"] for cell in alone["cells"]} == {2}  # one of both is random


def test_roster_is_played_whole():
    assert opponents_of([DEV]).partners == roster(DEV)
    with pytest.raises(InputError):
        opponents_of([DEV, "heuristic"])
    with pytest.raises(InputError):
        opponents_of([])
    with pytest.raises(OccupantNameError, match="'dev2'"):
        opponents_of(["dve2"])


def test_programs_of_people_are_played_on_their_own_scenarios_alone():
    with pytest.raises(InputError, match="leave --beyond out"):
        measure(submission_of_spec("linear"), opponents_of(["people_dev"]), beyond=True)


def test_a_folder_of_programs_names_its_programs(tmp_path):
    (tmp_path / "all.py").write_text(
        "class Agent:\n"
        "    def __init__(self, me, counts, values, max_rounds): self.counts = counts\n"
        "    def offer(self, o): return self.counts if o is None else None\n",
        encoding="utf-8",
    )
    row = measure(submission_of_spec("linear"), opponents_of([f"agents:{tmp_path}"]), sample=60)
    names = {cell["partner"] for cell in row["cells"]}
    assert len(names) == 1 and "sha256" in names.pop()
    assert [cell["points"]["all scenarios"] for cell in row["cells"]] == [10.0, 10.0]  # it agrees to any offer


def test_networks_are_greedy_wherever_they_are_named(tmp_path):
    path = str(network(tmp_path / "net.json"))
    assert submission_of_spec(expand_run_name(path)).player.member.spec == f"checkpoint(greedy=True, path={path!r})"
    expert = submission_of_spec("expert")
    assert (expert.player.member.spec, expert.name) == ("expert(greedy=True)", "expert")
    inside = greedy_spec(parse_spec({"kind": "mixture", "of": [f"checkpoint(path={path!r})", "heuristic"]}))
    assert inside.parameters["of"] == [f"checkpoint(greedy=True, path={path!r})", "heuristic"]
    with pytest.raises(InputError):
        submission_of_spec("expert(greedy=False)")


def test_checkpoint_identity_is_its_weights(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    lines = []
    for folder in (tmp_path, tmp_path / "elsewhere"):
        submission = submission_of_spec(expand_run_name(str(network(folder / "net.json"))), "net")
        lines.append(play(submission, opponents_of(["heuristic"])))
        assert lines[-1]["submission"]["learned"] and not lines[-1]["submission"]["met"].startswith("known")
        assert str(tmp_path) not in json.dumps(lines[-1])
    assert same(lines[0]) == same(lines[1])


def test_row_says_which_partners_it_trained_with_and_what_was_declared(tmp_path):
    past = NO_PAST.add_opponents([provenance_of("linear")])
    known = submission_of_spec(expand_run_name(str(network(tmp_path / "known.json", **past.note()))), "known")
    row = play(known, opponents_of(["linear", "stubborn"]), sample=60)
    assert row["submission"]["met_here"] == [identity("linear")]
    unknown = submission_of_spec(expand_run_name(str(network(tmp_path / "old.json"))), "old")
    opponents = opponents_of([roster(DEV2)[0]])
    with pytest.raises(ProvenanceError):
        play(unknown, opponents, sample=60)
    row = play(unknown._replace(declared="none"), opponents, sample=60)
    assert row["submission"]["declared"] == "none" and "declared: none" in row["submission"]["met"]


STRANGER = """
from partners.scripted.time_based import Linear

class Stranger(Linear):
    pass
"""


def test_plugin_partners_have_unknown_provenance(tmp_path, monkeypatch):
    names = "stranger = stranger:Stranger\nalias = partners.scripted.time_based:Linear"
    with on_the_path(install(tmp_path, "stranger", STRANGER, names), monkeypatch):
        member = roster(DEV2)[0]
        assert provenance_of("stranger").past.unknown == ("",) and provenance_of("alias").past == NO_PAST
        with pytest.raises(ProvenanceError):
            provenance(submission_of_spec("stranger"), [member])
        declared = provenance(submission_of_spec("stranger")._replace(declared="nobody"), [member])
        assert declared.startswith("declared: nobody")
        assert not provenance(submission_of_spec("stranger"), ["linear"]).startswith("known")


def test_unreached_games_are_left_out(tmp_path, monkeypatch):
    with on_the_path(install_absent(tmp_path), monkeypatch):
        few, many = (f"absent(costly=False, share={share})" for share in (0.03, 0.5))
        row = play(submission_of_spec(few), opponents_of(["linear"]), replicates=2)
        own = row["answers"]["the member"]
        assert own["games_left_out"] > 0 and own["causes"]["not reached"] > 0
        assert row["figures"]["points"]["n"] < row["figures"]["games"]
        with pytest.raises(UnreachedError):
            play(submission_of_spec(many), opponents_of(["linear"]), replicates=2)


def test_beyond_lewis():
    row = play(submission_of_spec("expert"), opponents_of(["linear"]), beyond=True)
    assert row["benchmark"]["scenarios"] == "beyond lewis" and row["benchmark"]["headline"] == ALL
    table = beyond_field().source.table
    items = table.counts.sum(axis=1)
    assert ((items < 5) | (items > 7)).all() and row["benchmark"]["number_of_scenarios"] == table.size
    points = row["figures"]["points"]
    assert points["low"] < points["value"] < points["high"]  # these are a sample of such scenarios
    assert not any("reference" in cell for cell in row["cells"]) and row["figures"]["points_by_part"] == {}
    row = play(submission_of_spec("heuristic"), opponents_of(["linear"]), beyond=True, sample=9)
    assert row["benchmark"]["number_of_scenarios"] == 9 and not row["benchmark"]["every_scenario"]
    assert row["benchmark"]["scenarios_sha256"] == beyond_field(9).source.digest()


def test_shares_of_stored_references():
    partners = [name for name in roster(DEV) if reference_of(name) is not None][:2]
    row = play(submission_of_spec("heuristic"), opponents_of(partners))
    head = []
    for cell in row["cells"]:
        side = reference_of(parse_spec(cell["partner"])).seats[cell["seat"]]
        assert cell["reference"][ALL] == pytest.approx(side.high, abs=1e-5)
        assert cell["reference_exact"] is side.exact
        _, high = side.values_over(cell["seat"], (1, 2))
        assert cell["reference"][HEADLINE] == pytest.approx(high, abs=1e-5)
        head.append(cell["points"][HEADLINE] / high)
        assert cell["points"][ALL] <= side.high + cell["margin"].get(ALL, 0) * 2 + 1e-6
    assert Arm("heuristic", (row,)).headline(MAIN["BR-Prox"]).mean == pytest.approx(np.mean(head), abs=1e-5)


def test_costly_players_need_a_sample(tmp_path, monkeypatch):
    with on_the_path(install_absent(tmp_path), monkeypatch):
        submission = submission_of_spec("absent(share=0.0)")
        with pytest.raises(InputError, match="--sample"):
            play(submission, opponents_of(["linear"]))
        row = play(submission, opponents_of(["linear"]), sample=60)
        assert row["benchmark"]["number_of_scenarios"] == 60 and not row["benchmark"]["every_scenario"]
        points = row["figures"]["points_by_part"][ALL]
        assert points["low"] < points["value"] < points["high"]


def test_league_member_and_snapshot(tmp_path):
    config = tmp_path / "league.yaml"
    config.write_text(LEAGUE.format(folder=tmp_path / "runs"))
    assert dond("league", "--config", config, "--quiet") == 0
    live = play(submission_of_run(tmp_path / "runs", None), opponents_of(["linear"]))
    assert live["submission"]["name"] == "main" and live["submission"]["settings_sha256"]
    assert live["submission"]["met"].startswith("known:")
    with ReadLedger(tmp_path / "runs" / "0001" / "ledger.sqlite") as ledger:
        (first, *_) = (member.name for member in ledger.members() if member.role == "snapshot")
    snapshot = play(submission_of_run(tmp_path / "runs", first), opponents_of(["linear"]))
    assert snapshot["submission"]["name"] == first
    assert snapshot["submission"]["identity"] != live["submission"]["identity"]  # it has learned since
    fixed = submission_of_run(tmp_path / "runs", "heuristic")
    assert fixed.player.member.spec == "heuristic"
    with pytest.raises(InputError):
        submission_of_run(tmp_path / "runs", "nobody")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--against", "dev"), "OCCUPANT"),
        (("expert", "--member", "main", "--against", "dev"), "--member is for --run"),
        (("expert(greedy=False)", "--against", "dev"), "likeliest act"),
        (("heuristic", "--against", "linear", "--sample", "2"), "take more"),
    ],
)
def test_mistakes_add_no_line(words, expected, capsys, tmp_path):
    assert dond("bench", *words, "--results", tmp_path / "bench.jsonl", "--allow-uncommitted") == 2
    errors = capsys.readouterr().err
    assert expected in errors and "Traceback" not in errors
    assert not (tmp_path / "bench.jsonl").exists()


def test_unwritable_or_damaged_file_stops_before_games(tmp_path, capsys):
    (tmp_path / "file").write_text("{}\n")
    for results, place in ((tmp_path, ":"), (tmp_path / "file" / "bench.jsonl", ":"), (tmp_path / "file", ", line 1")):
        assert dond("bench", "nobody_at_all", "--against", "linear", "--results", results) == 2
        assert f"{results}{place}" in capsys.readouterr().err


def test_command_adds_a_line(tmp_path, capsys):
    results = tmp_path / "bench.jsonl"
    words = ("bench", "nice", "--against", "linear", "--replicates", 2, "--name", "arm", "--results", results)
    for seed in (1, 2):
        assert dond(*words, "--seed", seed, "--allow-uncommitted") == 0
    shown = capsys.readouterr().out
    assert "arm has" in shown and f"added to: {results}" in shown
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["submission"]["seed"] for line in lines] == [1, 2]
