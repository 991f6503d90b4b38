"""Occupants named by the runs and files that hold their weights."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dond.web.occupants import OccupantMenu, make_partner
from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.occupants import OccupantNameError, Permission, expand_run_name, seat_occupant, short_names
from league.ledger.ledger import ReadLedger
from partners.network.checkpoint import load_checkpoint
from partners.scripted.time_based import Boulware
from tests.command import in_process

LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 2, block_size: 4, evaluate: false}
training: {hidden: [4], rollout: 4, num_envs: 8, minibatch: 32}
members: [heuristic, {kind: boulware, exponent: 3, name: late}]
learners: [{name: main, decisions: 32, snapshot_every: 1}]
"""
TRAINING = """
env: {partner: heuristic, max_turns: 4}
training: {algo: ppo, num_train_steps: 64, num_envs: 8, rollout: 4, hidden: [4]}
logging: {output_dir: runs/ppo}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a training, ``runs/ppo/0001``, and a league, ``runs/league/0001``."""
    folder = tmp_path_factory.mktemp("named")
    for command, text in (("league", LEAGUE), ("train", TRAINING)):
        (folder / f"{command}.yaml").write_text(text)
        done = in_process(command, "--config", f"{command}.yaml", "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize(
    "name", ["runs/ppo/0001", "runs/ppo", "ppo/0001", "ppo", "runs/ppo/0001/checkpoints/step_*.json"]
)
def test_training_names_its_newest_checkpoint(here, name):
    newest = sorted(Path("runs/ppo/0001/checkpoints").glob("step_*.json"))[-1]
    spec = expand_run_name(str(newest) if "*" in name else name)
    assert (spec.kind, spec.parameters) == ("checkpoint", {"path": str(newest)}) and expand_run_name(spec) == spec
    assert short_names([spec]) == {spec: "ppo/0001"}
    assert seat_occupant(spec).traits.learned


def test_league_member_is_named_by_its_run(here):
    assert expand_run_name("runs/league/0001:late") == "boulware(exponent=3)"
    snapshot = expand_run_name("league/0001:main@1").parameters["path"]
    with ReadLedger(Path("runs/league/0001/ledger.sqlite")) as ledger:
        blob = {member.name: member.blob for member in ledger.members()}["main@1"]
    assert load_checkpoint(Path(snapshot)).about["blob"] == blob


def test_learner_is_exported_under_the_digest_of_its_weights(here):
    spec = expand_run_name("runs/league:main")
    (short,) = short_names([spec]).values()
    with ReadLedger(Path("runs/league/0001/ledger.sqlite")) as ledger:
        blob = ledger.states()["main"].blob
    assert (
        short == f"league/0001:main-{blob[:8]}" and load_checkpoint(Path(spec.parameters["path"])).about["blob"] == blob
    )
    assert expand_run_name(short) == expand_run_name("runs/league/0001:main") == spec
    assert load_checkpoint(Path(spec.parameters["path"])).about["league_member"] == "main"


def test_earlier_weights_are_named_by_their_digest(here):
    with ReadLedger(Path("runs/league/0001/ledger.sqlite")) as ledger:
        blobs = [ledger.states(number)["main"].blob for number in (-1, 0, 1)]
    for blob in blobs:
        spec = expand_run_name(f"runs/league/0001:main-{blob[:8]}")
        about = load_checkpoint(Path(spec.parameters["path"])).about
        assert (about["blob"], about["league_member"]) == (blob, "main")
    assert len(set(blobs)) == 3


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("runs/league/0001", "runs/league/0001:main"),
        ("runs/league/0001:mian", "late"),
        ("runs/ppo/0001:main", "training"),
        ("runs/none", "'runs/none'"),
        ("ppp/0001", "did you mean runs/ppo/0001?"),
        ("runs/leage/0001:main", "did you mean runs/league/0001:main?"),
        ("runs/league/0001:../main", "late"),
    ],
)
def test_other_names_are_refused(here, name, named):
    with pytest.raises(OccupantNameError) as refused:
        expand_run_name(name)
    assert named in str(refused.value)


@pytest.mark.parametrize("name", ["boulware(exponent=3)", "my_file.py:Third", "tuogh"])
def test_other_names_are_unchanged(here, name):
    assert expand_run_name(name) == name


@pytest.mark.parametrize("text", ["none/main", "a b", "x" * 5000 + "/y"])
def test_texts_that_are_no_names_are_refused(here, text):
    with pytest.raises(OccupantNameError):
        expand_run_name(text)


def test_specs_in_files_and_pages_name_no_runs(here):
    """What a stored file or a visitor names is looked up nowhere: only a user's own words are."""
    for spec in ("runs/league/0001:main", {"kind": "runs/ppo/0001"}, "mixture(of=['runs/ppo/0001', tough])"):
        with pytest.raises(OccupantNameError):
            seat_occupant(spec)
    with pytest.raises(OccupantNameError):
        OccupantMenu([], Permission(folders=(Path("runs"),))).candidate("", "runs/league/0001:late")


def test_settings_store_what_a_run_name_stands_for(here):
    newest = sorted(Path("runs/ppo/0001/checkpoints").glob("step_*.json"))[-1]
    done = in_process("train", "--config", "train.yaml", "--set", "env.partner=runs/ppo", "--quiet")
    assert done.returncode == 0, done.stderr
    assert str(newest) in Path("runs/ppo/0002/config.yaml").read_text()
    shutil.rmtree("runs/ppo/0002")
    text = LEAGUE.replace("[heuristic,", "[heuristic, ppo/0001, {kind: 'runs/league/0001:late', name: l2},")
    more = "heldout: ['runs/league/0001:main@1']\nlogging: {output_dir: runs/second}\n"
    Path("with_runs.yaml").write_text(text.replace("rounds: 2", "rounds: 1") + more)
    done = in_process("league", "--config", "with_runs.yaml", "--quiet")
    assert done.returncode == 0, done.stderr
    with ReadLedger(Path("runs/second/0001/ledger.sqlite")) as ledger:
        specs = {member.name: member.spec for member in ledger.members()}
    assert f"checkpoint(path='{newest}')" in specs.values() and specs["l2"] == "boulware(exponent=3)"


def test_python_takes_run_names(here):
    assert seat_occupant("ppo/0001", runs=True).traits.learned
    assert seat_occupant("league/0001:late", runs=True) == Boulware(exponent=3)
    env = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis", max_turns=4), partner="ppo")
    env.reset(seed=0)
    assert env.partner.traits.learned
    with pytest.raises(OccupantNameError, match="league/0001 has no member 'gone'; it has main, heuristic"):
        seat_occupant("runs/league/0001:gone", runs=True)
    with pytest.raises(OccupantNameError, match=r"runs=True"):
        seat_occupant("ppo/0001")
    with pytest.raises(OccupantNameError, match=r"no occupant is called 'zoo'"):
        seat_occupant("zoo", runs=True)
    assert DealVectorEnv(2, "ppo/0001", max_turns=4).partner.traits.learned


def test_commands_take_run_names(here):
    done = in_process("evaluate", "--member", "ppo/0001", "--against", "league/0001:late", "--sample", 2)
    assert done.returncode == 0 and "ppo/0001" in done.stdout, done.stderr
    reported = in_process("report", "--run", "league/0001", "--out", "report.html")
    assert reported.returncode == 0 and Path("report.html").is_file(), reported.stderr


def test_page_lists_trainings(here):
    spec = expand_run_name("runs/ppo/0001")
    menu = OccupantMenu([], Permission(folders=(Path("runs"), Path("runs"))))
    assert menu.groups["Trainings"] == {spec: "ppo/0001"}
    for typed in ("ppo/0001", "runs/ppo", "ppo"):
        partner, name = make_partner(menu.candidate("heuristic", typed))
        assert partner.traits.learned and name == spec


def test_page_takes_the_names_of_members(here):
    menu = OccupantMenu([Path("runs/league/0001")])
    for typed in ("runs/league/0001:late", "league/0001:late", "league:late"):
        candidate = menu.candidate("heuristic", typed)
        assert (candidate.name, candidate.spec) == ("late", "boulware(exponent=3)")
