"""Run folders: failed starts, search for runs, locks, and the names of their members."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dond.web.occupants import OccupantMenu, make_partner
from dond_marl import DealVectorEnv, SingleAgentView, deal_or_no_dialog_v0
from dond_marl.occupants import OccupantNameError, Permission, expand_run_name, seat_occupant, short_names
from league.ledger.ledger import Ledger, ReadLedger
from league.ledger.run_directory import (
    LEDGER,
    SETTINGS,
    RunDirectory,
    RunError,
    RunNotFound,
    find_run,
    has_begun,
    new_run,
    newest_run,
)
from partners.network.checkpoint import load_checkpoint
from partners.scripted.time_based import Boulware
from tests.command import dond, in_process, train_command

LEAGUE = "members: [tough, nice]\nleague: {rounds: 1, block_size: 4}\nlogging: {output_dir: FOLDER}\n"
TRAINING = """
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: 60}
logging: {output_dir: FOLDER, tensorboard: false}
"""


def settings(folder: Path, text: str, name: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("FOLDER", str(folder / "runs" / name)))
    return path


def trained(folder: Path, rows: int) -> Path:
    """A training's folder after ``rows`` updates."""
    folder.mkdir(parents=True)
    (folder / SETTINGS).write_text("{}")
    (folder / "progress.csv").write_text("update,decisions\n" + "1,2\n" * rows)
    return folder


def league_in(folder: Path) -> Path:
    """A league's folder with a ledger and the settings, as a league writes them."""
    folder.mkdir(parents=True)
    (folder / SETTINGS).write_text("{}")
    (folder / LEDGER).write_bytes(b"not empty")
    return folder


def test_failed_training_start_leaves_no_run(tmp_path, capsys):
    path, runs = settings(tmp_path, TRAINING, "fast"), tmp_path / "runs" / "fast"
    assert train_command(path) == 0
    assert train_command(path, ["training.device=cuda"]) == 1  # no such device is here
    assert [run.name for run in runs.iterdir()] == ["0001"]
    assert train_command(None, [], runs) == 0
    assert "CUDA" in capsys.readouterr().err


def test_failed_league_start_leaves_no_run(tmp_path, capsys):
    path = settings(tmp_path, LEAGUE, "league")
    refused = "learners=[{name: main, hidden: [8], init_from: /nowhere.json}]"
    assert dond("league", "--config", path, overrides=[refused]) == 2
    assert "/nowhere.json" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_newest_run_skips_runs_that_never_began(tmp_path):
    run, notices = trained(tmp_path / "0003", 2), list[str]()
    trained(tmp_path / "0004", 0)
    (tmp_path / "0005").mkdir()
    assert newest_run(tmp_path, SETTINGS, notices.append).path == run
    assert [notice.split()[0] for notice in notices] == [str(tmp_path / name) for name in ("0005", "0004")]
    assert find_run(tmp_path / "0004", SETTINGS).path == tmp_path / "0004"  # unless it is named


def test_missing_run_lists_other_runs(tmp_path):
    older, newer = trained(tmp_path / "runs" / "ppo" / "0001", 1), trained(tmp_path / "runs" / "fast" / "0001", 1)
    for moment, folder in enumerate((older, newer)):
        os.utime(folder / SETTINGS, (moment, moment))
    league_in(tmp_path / "runs" / "league" / "0001")
    with pytest.raises(RunNotFound, match=f"{newer}, {older}$"):
        find_run(tmp_path / "runs" / "train", SETTINGS)
    with pytest.raises(RunNotFound, match=f"{newer}, {older}$"):
        find_run(tmp_path / "runs" / "nowhere", SETTINGS)
    assert find_run(tmp_path / "runs", SETTINGS).path == newer  # the last one written to, of all folders
    with pytest.raises(RunNotFound):
        find_run(tmp_path / "elsewhere" / "train", SETTINGS)


def test_training_is_no_league(tmp_path):
    training = trained(tmp_path / "fast" / "0001", 1)
    league = league_in(tmp_path / "league" / "0001")
    for folder, mark, command in ((training, LEDGER, "evaluate"), (league, SETTINGS, "league")):
        for path in (folder, folder.parent):
            with pytest.raises(RunNotFound, match=f"dond {command}$"):
                find_run(path, mark)


def test_folder_is_deleted_only_without_results(tmp_path):
    def failing(*files: str) -> Path:
        with pytest.raises(RunError, match="no more"), new_run(tmp_path) as directory:
            for name in files:
                (directory.path / name).write_text("")
            raise RunError("no more")
        return directory.path

    assert not failing().exists() and not failing(SETTINGS).exists()
    with pytest.raises(KeyboardInterrupt), new_run(tmp_path) as directory:
        (directory.path / SETTINGS).write_text("")
        raise KeyboardInterrupt
    assert directory.path.exists()  # it says what to go on with
    with pytest.raises(RunError, match="no more"), find_run(directory.path, SETTINGS):
        raise RunError("no more")
    assert directory.path.exists()  # it was there before


def test_files_of_killed_writes_are_removed_under_the_lock(tmp_path):
    run, name = trained(tmp_path / "0001", 1), ".step_00000001.safetensors.new.0123456789abcdef.tmp"
    for folder in (run, run / "blobs", run / "checkpoints"):
        folder.mkdir(exist_ok=True)
        (folder / name).touch()
    with RunDirectory(run):
        assert not list(run.rglob("*.tmp"))


def test_league_stopped_before_its_start_is_written_leaves_no_folder(tmp_path):
    with pytest.raises(KeyboardInterrupt), new_run(tmp_path) as directory, Ledger(directory.ledger):
        assert not has_begun(directory.path, LEDGER)
        raise KeyboardInterrupt
    assert not directory.path.exists()


# -- Occupants named by the runs and files that hold their weights


NAMED_LEAGUE = """
env: {scenarios: lewis, split: train, max_turns: 3}
league: {seed: 3, rounds: 2, block_size: 4, evaluate: false}
training: {hidden: [4], rollout: 4, num_envs: 8, minibatch: 32}
members: [heuristic, {kind: boulware, exponent: 3, name: late}]
learners: [{name: main, decisions: 32, snapshot_every: 1}]
"""
NAMED_TRAINING = """
env: {partner: heuristic, max_turns: 4}
training: {algo: ppo, num_train_steps: 64, num_envs: 8, rollout: 4, hidden: [4]}
logging: {output_dir: runs/ppo}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a training, ``runs/ppo/0001``, and a league, ``runs/league/0001``."""
    folder = tmp_path_factory.mktemp("named")
    for command, text in (("league", NAMED_LEAGUE), ("train", NAMED_TRAINING)):
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
        ("ppp/0001", "did you mean runs/ppo/0001?"),
        ("runs/league/0001:../main", "late"),
    ],
)
def test_other_names_are_refused(here, name, named):
    with pytest.raises(OccupantNameError) as refused:
        expand_run_name(name)
    assert named in str(refused.value)


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
    text = NAMED_LEAGUE.replace("[heuristic,", "[heuristic, ppo/0001, {kind: 'runs/league/0001:late', name: l2},")
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


def test_page_lists_trainings(here):
    spec = expand_run_name("runs/ppo/0001")
    menu = OccupantMenu([], Permission(folders=(Path("runs"), Path("runs"))))
    assert menu.groups["Trainings"] == {spec: "ppo/0001"}
    for typed in ("ppo/0001", "runs/ppo", "ppo"):
        partner, name = make_partner(menu.candidate("heuristic", typed))
        assert partner.traits.learned and name == spec
