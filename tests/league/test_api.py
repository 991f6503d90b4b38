"""The public Python API: every check that the commands make, and results as values and files."""

from __future__ import annotations

from html import escape

import numpy as np
import pytest

from dond_marl import Act, Decisions, PolicyPartner, Traits, Turns, decide
from dond_marl.errors import InputError
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.scenarios.data import DataError
from dond_marl.scenarios.sources import ScenarioError
from league import benchmark, evaluate_league, evaluate_pair, open_league, play_league, train
from league.api import DryRun, check_benchmark, check_pair
from league.ledger.run_directory import RunNotFound
from league.settings.read import ConfigError
from partners.learning.first_weights import FirstWeightsError
from partners.llm.client import SetupError
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.provenance import ProvenanceError, identity
from partners.rosters import roster
from tests.command import in_process

SMALL = {
    "members": ["heuristic", "tough"],
    "league.rounds": 1,
    "league.block_size": 8,
    "env.max_turns": 2,
    "league.evaluate": "false",
}
TEST_MEMBER = roster("dev2")[0]
TRAINING = {"training.num_train_steps": 200, "training.rollout": 1, "training.num_envs": 64}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def saved_policy(folder, **note) -> str:
    """A checkpoint of a small network with this provenance note, as an occupant."""
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=1)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    save_checkpoint(folder / "policy.json", tensors, {**network_note(network), **note})
    return f"checkpoint(path={str(folder / 'policy.json')!r})"


def past_with(*opponents: str) -> dict[str, object]:
    met = sorted(map(identity, opponents))
    return {"met": met, "met_through": [-1] * len(met), "descends_from": [], "met_unknown": []}


# --- Results --------------------------------------------------------------------------------------------------------


def test_league_is_the_commands_league(here):
    played = play_league("league_scripted.yaml", SMALL, seed=4, folder="mine")
    words = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    assert in_process("league", "--config", "league_scripted.yaml", "--seed", 4, *words, "--quiet").returncode == 0
    other = open_league("runs")
    assert played.folder.parent.name == "mine" and other.folder.parent.name == "league_scripted"
    for table in ("games", "acts", "payoffs"):
        data = played.frame(table)
        assert len(data) and data.equals(other.frame(table)) and data.attrs == {"left_out": []}
    assert len(played.frame("games")) == (2 + 2) * 8  # both orders of the pair, and each against itself
    assert [row.member for row in other.ladder] == [*played.points] == [*other.points]
    assert played.points["tough"] == next(row.points for row in played.ladder if row.member == "tough")
    assert "<td>2</td>" not in played._repr_html_() and played._repr_html_().count("<table>") == 1
    assert "heuristic" in str(other) and str(other).splitlines()[0] in str(played)
    with pytest.raises(InputError, match="'scores'"):
        played.frame("scores")


def test_one_file_of_scenarios_serves_league_training_and_evaluation(here):
    (here / "own.txt").write_text("1,2,2 4,1,2 0,4,1\n3,1,1 1,3,4 2,2,1\n")
    source = {"env.scenarios": "own.txt"}
    assert play_league("league_scripted.yaml", {**SMALL, **source}, seed=4).points
    pair = evaluate_pair("tough", scenarios="own.txt", max_turns=4)
    assert pair.evaluation.terms.scenarios.size == 2 and pair.evaluation.terms.source.label == "uniform, own.txt"
    assert 0 <= train(settings={"env.partner": "tough", "env.max_turns": 3, **TRAINING, **source}).points.mean <= 10


def test_training_leaves_a_policy_that_plays(here, capsys):
    trained = train(settings={"env.partner": "tough", "env.max_turns": 3, **TRAINING}, seed=5)
    assert capsys.readouterr().out == ""
    assert 0 <= trained.points.low <= trained.points.mean <= trained.points.high <= 10
    assert f"<td>{trained.points.mean:.2f} " in trained._repr_html_()
    log = trained.frame()
    assert log.decisions.iloc[-1] >= 200 and log["update"].tolist() == list(range(1, len(log) + 1))
    assert seat_occupant(trained.member).traits.learned
    pair = evaluate_pair(trained.member, "tough", sample=4, max_turns=3)
    figures = pair.frame()
    own = figures[(figures.line == pair.evaluation.played.name) & (figures.view == "both seats")]
    (points,) = own[own.figure == "points"]["mean"]
    assert points == pair.points.mean == pair.evaluation.played.figures["both seats"].points.mean


def test_callbacks_get_the_figures_and_may_end_the_run(here):
    rows: list[dict[str, float]] = []
    learner = {"name": "main", "decisions": 50, "snapshot_every": 0}
    league = {**SMALL, "learners": [learner], "heldout": [], "training.num_envs": 16, "league.rounds": 2}
    played = play_league("league_quick.yaml", league, on_round=rows.append)
    assert [row["round"] for row in rows] == [1, 2, 3]  # and the closing measurement
    assert rows[-1]["main/points"] == played.points["main"].mean

    class EnoughError(Exception): ...

    def stop(row):
        rows.append(row)
        if row["update"] == 2:
            raise EnoughError

    rows.clear()
    with pytest.raises(EnoughError):
        train(settings={"env.partner": "tough", "env.max_turns": 3, **TRAINING}, folder="mine", on_update=stop)
    assert [row["decisions"] for row in rows] == sorted(row["decisions"] for row in rows) and 0 <= rows[0][
        "points"
    ] <= 10
    assert (here / "mine" / "0001" / "progress.csv").read_text().count("\n") == 3


class Quitter:
    """Ends every game at once; it has no name and no repr."""

    traits = Traits(deterministic=True, memoryless=True)

    def act(self, turns: Turns) -> Decisions:
        return decide(np.full(turns.size, Act.END), np.zeros((turns.size, 3)))


def test_partner_objects_are_named():
    def accept(observations, masks):
        return np.zeros((len(observations), 4), np.int8)

    named = {
        "policy": evaluate_pair(PolicyPartner(accept), "tough", sample=2),
        "mine <1>": evaluate_pair(PolicyPartner(accept), "tough", sample=2, name="mine <1>"),
        "Quitter": evaluate_pair(Quitter(), "tough", sample=2),
    }
    for name, pair in named.items():
        assert pair.evaluation.member == name and f"<td>{escape(name)}</td>" in pair._repr_html_()


@pytest.mark.parametrize("pair", [("llm(provider=groq)", "tough"), ("tough", "llm(provider=groq)")])
def test_pair_without_a_key_is_refused_before_the_first_game(pair, monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(SetupError, match="GROQ_API_KEY"):
        check_pair(*pair)


def test_probe_and_diagnosis_are_optional():
    pair = evaluate_pair("heuristic", "tough", sample=4, max_turns=3)
    assert pair.probe is None and pair.diagnosis is None
    pair = evaluate_pair("heuristic", "tough", sample=4, max_turns=3, diagnose=True)
    assert pair.diagnosis is not None and pair.diagnosis.games == 8


@pytest.mark.parametrize("call", [train, play_league])
def test_dry_run_writes_nothing(call, here):
    settings = TRAINING if call is train else SMALL
    plan = call(settings=settings, dry_run=True)
    assert isinstance(plan, DryRun) and "decisions" in plan.text and not (here / "runs").exists()


def test_benchmark_appends_its_row(here):
    options = {"sample": 20, "results": "rows.jsonl", "allow_uncommitted": True}
    result = benchmark("tough", ["heuristic"], name="mine", seed=3, **options)
    assert result.row["submission"]["name"] == "mine" and result.row["submission"]["seed"] == 3
    assert (here / "rows.jsonl").read_text().count("\n") == 1


# --- Checks: the same as those of the commands, before anything is written --------------------------------------------


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"training.lrr": 1}, ConfigError),
        ({"env.partner": TEST_MEMBER}, ProvenanceError),
        ({"env.scenarios": "self_play", "env.data_dir": "nowhere"}, DataError),
        ({"training.init_from": "nowhere.json"}, FirstWeightsError),
        (["training.lr=1"], InputError),
    ],
)
def test_train_refuses(settings, error, here):
    with pytest.raises(error):
        train(settings=settings)
    assert not (here / "runs").exists()


def test_train_refuses_cloning(here):
    with pytest.raises(InputError, match="bc"):
        train("bc_config.yaml", {"env.data_dir": str(here)})


@pytest.mark.parametrize(
    ("settings", "options", "error"),
    [
        ({"league.round": 1}, {}, ConfigError),
        ({"members": ["heuristic", TEST_MEMBER]}, {}, ConfigError),
        ({"members": ["checkpoint(path='nowhere.json')"]}, {}, OccupantNameError),
        ({}, {"workers": 0}, InputError),
    ],
)
def test_play_league_refuses(settings, options, error, here):
    with pytest.raises(error):
        play_league("league_scripted.yaml", settings, **options)
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("pair", "options", "error"),
    [
        (("nobody", "tough"), {}, OccupantNameError),
        (("tough", "heuristic"), {"split": "vali"}, ScenarioError),
        (("equilibrium", "heuristic"), {"scenarios": "uniform"}, InputError),
        (("tough", "heuristic"), {"sample": 0}, InputError),
        (("tough", "heuristic"), {"confidence": 95}, InputError),
        (("tough", "heuristic"), {"seed": -1}, InputError),
    ],
)
def test_evaluate_pair_refuses(pair, options, error, here):
    with pytest.raises(error) as refused:
        evaluate_pair(*pair, **options)
    assert error is not InputError or all(str(value) in str(refused.value) for value in options.values())


@pytest.mark.parametrize("against", [TEST_MEMBER, f"mixture(of=[{TEST_MEMBER!r}, 'heuristic'])"])
def test_policy_that_trained_with_the_test_roster_is_not_measured_by_it(against, here):
    policy = saved_policy(here, **past_with(TEST_MEMBER))
    for call in (
        lambda: evaluate_pair(policy, against, sample=4),
        lambda: check_benchmark(policy, [against]),
        lambda: check_benchmark(str(here / "policy.json"), ["dev2"]),
    ):
        with pytest.raises(ProvenanceError):
            call()
    assert in_process("evaluate", "--member", policy, "--against", against).returncode == 2
    assert check_pair(policy, "heuristic", sample=4).sample == 4


def test_policy_of_unknown_provenance_is_not_measured_by_the_test_roster(here):
    policy = saved_policy(here)
    with pytest.raises(ProvenanceError):
        check_pair(policy, TEST_MEMBER)
    with pytest.raises(ProvenanceError):
        check_pair(seat_occupant(policy), TEST_MEMBER)
    assert check_benchmark(policy, ["dev2"], declare="heuristic only")[0].declared == "heuristic only"
    assert check_pair(seat_occupant("tough"), TEST_MEMBER).against == TEST_MEMBER


@pytest.mark.parametrize(
    ("member", "against", "options"),
    [
        (None, ["dev"], {}),
        ("nobody", ["dev"], {}),
        ("tough", [], {}),
        ("tough", ["dev", "heuristic"], {}),
    ],
)
def test_benchmark_refuses(member, against, options, here):
    with pytest.raises(InputError):
        benchmark(member, against, **options)
    assert not (here / "runs").exists()


@pytest.mark.parametrize("call", [open_league, evaluate_league])
def test_league_folder_must_exist(call, here):
    with pytest.raises(RunNotFound):
        call("nowhere")
