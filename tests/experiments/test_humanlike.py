"""The table of strength and likeness to people: what is trained, what is measured, and what cannot be asked for."""

from __future__ import annotations

import json
from functools import partial

import pytest
import torch

from dond_marl.dialogues.positions import human_positions
from dond_marl.game import Act, Rules
from experiments.humanlike import HumanlikeError, check_settings, summarise_positions, variants
from league.evaluation.likeness import distance, likeness
from league.settings.read import load_config
from league.settings.training import TrainConfig
from partners.network.checkpoint import network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.occupants import HUMAN_DIALOGUES
from partners.rosters import TEST, roster
from tests.command import dond

torch.set_num_threads(1)
SETTINGS = """
env: {scenarios: lewis, split: train, partner: tough}
training: {init_from: "START", kl: 0.5, lr: 0.05, rollout: 10, num_envs: 4, hidden: [8], num_train_steps: 200}
logging: {output_dir: "FOLDER", tensorboard: false}
"""
command = partial(dond, "experiment", "humanlike")


def saved(path, seed: int = 3) -> PolicyNetwork:
    network = PolicyNetwork(NetworkShape(hidden=(8,)), seed=seed)
    with torch.no_grad():
        network.head.weight.mul_(100)
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    save_checkpoint(path, tensors, {**network_note(network), "taught_by": HUMAN_DIALOGUES, "disagree": "rejects"})
    return network


@pytest.fixture
def settings(tmp_path):
    saved(tmp_path / "start.json")
    path = tmp_path / "settings.yaml"
    text = SETTINGS.replace("START", str(tmp_path / "start.json")).replace("FOLDER", str(tmp_path / "runs"))
    path.write_text(text)
    return path


def test_command(settings, data_dir, tmp_path, capsys):
    words = (
        "--kl",
        0.5,
        "--kl",
        2.0,
        "--seeds",
        2,
        "--data-dir",
        data_dir,
        "--against",
        "tough",
        "--against",
        "pushover",
    )
    assert command("--config", settings, *words, "--json", tmp_path / "table.json") == 0
    shown = capsys.readouterr().out
    document = json.loads((tmp_path / "table.json").read_text())
    rows, table = document["policies"], {row["name"]: row for row in document["table"]}
    names = list(table)
    assert names == [
        "people",
        "PPO from scratch",
        "people, then PPO",
        "people, then PPO with a pull of 0.5",
        "people, then PPO with a pull of 2",
    ]
    assert all(name in shown for name in names) and "1,531 acts of people" in shown
    assert table["people"]["distance"]["mean"] == 0 and rows[0]["seed"] is None
    assert table[names[1]]["distance"]["mean"] > table[names[4]]["distance"]["mean"] > 0
    assert [row["seed"] for row in rows] == [None, 1, 2, 1, 2, 1, 2, 1, 2]
    assert len({row["likeness"]["act_nats"]["mean"] for row in rows}) == len(rows)  # the seeds are trained apart
    assert all(row["distance"]["n"] == row["seeds"] == 2 for row in document["table"][1:])  # intervals over seeds
    assert all((tmp_path / "runs" / f"{n:04d}" / "config.yaml").is_file() for n in range(1, 9))
    assert all(row["greedy"]["points"]["n"] == 4 * 1977 for row in rows)


def test_evaluation_set_and_majority(data_dir):
    """Where DISAGREE ends the game 211 of 1,742 positions are none of it, and PROPOSE is more frequent."""
    ends, rejects = (human_positions("test", Rules(10, kind), data_dir) for kind in ("ends", "rejects"))
    output, whole = summarise_positions(ends, rejects), summarise_positions(rejects, rejects)
    assert (output.positions, output.refusals, whole.positions, whole.refusals) == (1531, 211, 1742, 0)
    assert output.most_said == whole.most_said == "PROPOSE"
    assert output.majority.everywhere.mean == pytest.approx((ends.act == Act.PROPOSE).mean())
    assert output.majority.replies.mean > whole.majority.replies.mean == pytest.approx(0.494, abs=5e-4)
    assert output.replies == int(ends.replies.sum()) < output.positions


def test_distance_and_likeness(data_dir, tmp_path):
    positions = human_positions("val", Rules(10), data_dir)
    one, other = saved(tmp_path / "a.json", 1), saved(tmp_path / "b.json", 2)
    assert distance(one, one, positions).mean == pytest.approx(0, abs=1e-6)
    assert distance(one, other, positions).mean > 0.01 and distance(one, other, positions).n == positions.size
    output = likeness(one, positions)
    assert output.act_nats.n == positions.size and output.oA_nats.n == int((positions.act <= 1).sum())


def test_variants(settings):
    config = load_config(settings, [], TrainConfig)
    output = [(one.training.init_from, one.training.kl) for _, one in variants(config, [0.1, 0.3])]
    start = config.training.init_from
    assert output == [(None, 0), (start, 0), (start, 0.1), (start, 0.3)]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (["training.init_from=null", "training.kl=0"], "need training.init_from"),
        (["hints.mode=random"], "measured without hints"),
    ],
)
def test_invalid_settings_are_refused(settings, override, words):
    with pytest.raises(HumanlikeError, match=words):
        check_settings(load_config(settings, override, TrainConfig))


def test_invalid_options(settings, tmp_path, capsys):
    assert command("--config", settings, "--data-dir", tmp_path / "nothing") == 2
    assert command("--config", settings, "--kl", -1.0) == 2
    assert command("--config", settings, overrides=["training.init_from=none.json"]) == 2
    output = capsys.readouterr().err
    assert "no such data file" in output and "a KL penalty is a number above 0" in output


def test_unknown_provenance_excludes_the_test_roster(settings, tmp_path, capsys):
    assert command("--config", settings, "--against", roster(TEST)[0], "--data-dir", tmp_path / "nothing") == 2
    output = capsys.readouterr().err
    assert "the learner <- checkpoint" in output and "no such data file" not in output


def test_unwritable_file(tmp_path, capsys):
    assert dond("experiment", "humanlike", "--json", tmp_path / "no" / "such.json") == 2
    assert "no file can be written there" in capsys.readouterr().err
