"""The supervised expert learns from the published dialogues, speaks as people do, and takes the seat of its name."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.game import Act
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from hints import ExpertHinter
from league.evaluation.matches import heldout_terms
from league.settings.read import ConfigError, load_config
from league.settings.training import TrainConfig
from league.training.clone import (
    accuracy,
    always,
    gain,
    likeliest,
    likeness,
    load_positions,
    majority,
    scores,
    train_clone,
)
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES, expert_path
from tests.command import train_command

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "configs" / "bc_config.yaml"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def positions(data_dir):
    """The settings of a small network, and what it is taught."""
    overrides = [f"env.data_dir={data_dir}", "training.hidden=[64]", "training.epochs=3", "training.lr=4e-3"]
    config = load_config(CONFIG, overrides, TrainConfig)
    return config, load_positions(config)


@pytest.mark.slow
def test_the_same_settings_and_data_teach_the_same_bits(positions):
    config, given = positions
    some = given._replace(train=given.train.rows(np.arange(300)), val=given.val.rows(np.arange(100)))
    one, other = (train_clone(config, some)[0].state_dict() for _ in (0, 1))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
def test_clone_beats_majority_baseline(positions):
    config, given = positions
    some = given._replace(train=given.train.rows(np.arange(0, given.train.size, 2)))
    network, epochs = train_clone(config, some)
    assert (given.train.size, given.val.size, given.test.size) == (10833, 1125, 1742)
    assert [epoch.epoch for epoch in epochs] == [1, 2, 3] and epochs[2].best
    told, unseen = likeness(network, given.test), given.test
    assert majority(given.train) is Act.PROPOSE
    assert always(Act.PROPOSE, unseen).replies.mean == pytest.approx(0.494, abs=5e-4)
    acts, oA = likeliest(network, unseen)
    most = np.full(unseen.size, Act.PROPOSE, dtype=np.int8)
    everywhere, replies = gain(acts, most, unseen)
    assert everywhere.low > 0.02 and replies.low > 0.03
    assert told.accuracy == accuracy(acts, oA, unseen)
    assert everywhere.mean == pytest.approx(told.accuracy.everywhere.mean - (unseen.act == Act.PROPOSE).mean())


def some_expert(path: Path, seed: int = 3) -> None:
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    save_checkpoint(path, tensors, {**network_note(network), "taught_by": HUMAN_DIALOGUES, "disagree": "rejects"})


# -- in a seat, without any data --------------------------------------------------------------------------------------


def test_missing_supervised_expert(cache):
    with pytest.raises(OccupantNameError, match=r"--algo bc --config configs/bc_config\.yaml .* fallback=heuristic"):
        seat_occupant("expert(kind=supervised)")
    with pytest.raises(OccupantNameError, match="must be one of ppo, supervised; got 'llm'"):
        seat_occupant("expert(kind=llm)")
    stand_in = seat_occupant("expert(kind=supervised, fallback=heuristic)")
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 20)
    games = rollout((stand_in, seat_occupant("heuristic")), scenarios, seed=1)
    assert (games.cause[:, ::2][games.act[:, ::2] >= 0] == Cause.MISSING).all()


def test_supervised_expert_plays_and_hints(cache):
    some_expert(expert_path(kind="supervised"))
    env = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis"), partner="expert(kind=supervised)")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            env.action_space.seed(seed)
            _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    hinter = ExpertHinter(seat_occupant("expert(kind=supervised)"))
    from dond_marl.envs.turn import turn_of
    from dond_marl.game import State

    hints = hinter.hint(turn_of(State(open_source("lewis").table.scenario(0)), prior=""))
    assert hints.available.all() and 0 < hints.confidence[0] <= 1
    assert seat_occupant("expert(kind=supervised)").traits == replace(seat_occupant("expert").traits)
    by_path = seat_occupant({"kind": "checkpoint", "path": str(expert_path(kind="supervised"))})
    assert type(by_path) is type(seat_occupant("expert(kind=supervised)"))  # plays alike wherever it is read from


def test_the_zoo_is_played_in_both_seats():
    terms = heldout_terms()
    some = terms._replace(scenarios=terms.scenarios.rows(np.arange(50)))
    found = scores(seat_occupant("pushover"), ["tough", "nice"], some)
    assert list(found.against) == ["tough", "nice"]
    assert found.points.n == 200 and all(each.n == 100 for each in found.against.values())
    assert found.points.mean == pytest.approx(np.mean([each.mean for each in found.against.values()]))
    assert found.against["nice"].mean > found.against["tough"].mean + 1


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("env.scenarios=lewis", "bc learns from the human dialogues"),
        ("env.reveal_partner_utilities=true", "people did not see their partner's values"),
        ("hints.mode=random", "have no hints"),
        ("training.balance=2", "a number in 0..1"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(override, words):
    with pytest.raises(ConfigError, match=words):
        load_config(CONFIG, [override], TrainConfig)


def test_without_the_data_it_says_how_to_get_it_and_makes_no_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert train_command(CONFIG, ["logging.output_dir=runs"], None) == 2
    told = capsys.readouterr().err
    assert "train.txt" in told and "data fetch" in told and "Traceback" not in told
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_command_teaches_an_expert_that_meets_its_bars(data_dir, tmp_path):
    """The bar of act accuracy is on replies: in an opening everybody proposes."""
    script = [sys.executable, ROOT / "scripts" / "train.py", "--algo", "bc", "--config", CONFIG]
    options = [f"env.data_dir={data_dir}", f"logging.output_dir={tmp_path / 'runs'}"]
    done = subprocess.run(
        [*script, *(part for option in options for part in ("--set", option))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(expert_path(kind="supervised")) in done.stdout
    run = tmp_path / "runs" / "0001"
    report = json.loads((run / "report.json").read_text())
    assert report["more_than_majority"][1]["mean"] >= 0.15 and report["more_than_majority"][0]["mean"] >= 0.1
    assert report["likeness"]["accuracy"]["everywhere"]["mean"] > report["heuristic"]["everywhere"]["mean"] + 0.03
    assert report["greedy"]["zoo"]["points"]["mean"] > 5.5 and report["greedy"]["shares"]["best response"]["mean"] > 0.7
    with (run / "progress.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12 and {"act", "oA", "best"} <= rows[0].keys()
    assert seat_occupant("expert(kind=supervised)").traits.learned
    resumed = subprocess.run(
        [sys.executable, ROOT / "scripts" / "train.py", "--resume", run], capture_output=True, text=True, check=False
    )
    assert resumed.returncode == 1 and "bc" in resumed.stderr
