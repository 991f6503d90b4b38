"""Post-training: examples out of the games that paid most, a training that goes on, a seat for what comes of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dond_marl.errors import InputError
from experiments.post_training.examples import collect_examples, read_examples, write_examples
from experiments.post_training.settings import GamesSection, PostTrainingConfig
from partners.llm.prompt import SYSTEM, load_template
from partners.llm.reply import LegalReply, read_reply
from tests.command import dond
from tests.tiny_models import tiny_model

GAMES = {"players": ["linear", "tough"], "partners": ["heuristic", "nice"], "scenarios": 12, "keep": 0.25}
TEMPLATE = load_template(shipped="brief")


def collected(reward: str = "own", **changes):
    section = GamesSection.model_validate({**GAMES, "examples": 40, **changes}, strict=False)
    return collect_examples(section, reward, TEMPLATE, 5)


def test_examples_are_acts_of_the_best_games():
    everything, best = collected(keep=1.0), collected()
    assert (best.games, best.selected) == (2 * 2 * 2 * 12, 24)
    assert np.mean([each.points for each in best.examples]) > np.mean([each.points for each in everything.examples])
    for each in best.examples:
        read = read_reply(each.reply, each.legal)
        assert isinstance(read, LegalReply)
        assert read.action == each.action


def test_reward_selects_games():
    """A lead counts the partner's points against one's own."""
    lead = collected("spite(weight=1)")
    assert all(each.paid <= each.points for each in lead.examples)
    assert lead.examples != collected().examples


def test_examples_round_trip_as_chats(tmp_path):
    path, made = tmp_path / "examples.jsonl", collected().examples
    write_examples(path, made)
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert [message["role"] for message in (*row["prompt"], *row["completion"])] == ["system", "user", "assistant"]
    assert (row["prompt"][0]["content"], row["completion"][0]["content"]) == (SYSTEM, made[0].reply)
    assert read_examples(path) == made


def test_examples_only(tmp_path, capsys):
    words = ["experiment", "post-training", "--examples-only", "--set", f"output_dir={tmp_path}", "--set",
             "games.players=[linear]", "--set", "games.partners=[heuristic]"]  # fmt: skip
    assert dond(*words, "--set", "games.scenarios=4") == 0
    assert len(read_examples(tmp_path / "lead" / "examples.jsonl")) > 0
    assert dond(*words, "--set", "games.scenarios=5") == 2
    assert "another value of games" in capsys.readouterr().err
    assert dond(*words, "--set", "arms=[{name: gradient}]") == 2
    assert "name must differ from" in capsys.readouterr().err


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    pytest.importorskip("peft", reason="the extra lora brings it")
    return tiny_model(tmp_path_factory.mktemp("post_training") / "model", max_position_embeddings=1024)


def config_of(model, folder, **changes) -> PostTrainingConfig:
    given = {
        "model": str(model), "dtype": "float32", "output_dir": str(folder),
        "games": {**GAMES, "examples": 8, "max_turns": 4}, "adapter": {"rank": 2, "layers": 1},
        "cloning": {"batch": 4, "lr": 0.01}, "gradient": {"steps": 2, "states": 2, "scenarios": 2, "every": 1},
        "held_out": {"against": ["heuristic"], "scenarios": 2, "every": 1}, "arms": [{"name": "own"}],
    }  # fmt: skip
    return PostTrainingConfig.model_validate({**given, **changes}, strict=False)


@pytest.mark.filterwarnings("ignore")  # those libraries' own
def test_training_resumes_to_the_same_weights(model, tmp_path):
    """Marks at steps 1 and 2, then two of the gradient: in one go, and with the last of each done anew."""
    from experiments.figures import post_training_svg
    from experiments.post_training.experiment import run_experiment, write_rows
    from experiments.post_training.tables import post_training_section, read_rows
    from partners.llm.local.model import fingerprint

    config, messages = config_of(model, tmp_path / "run"), list[str]()
    rows = run_experiment(config, messages.append)
    marks = [("before", 0), ("own", 1), ("own", 2), ("gradient", 1), ("gradient", 2)]
    assert [(row["arm"], row["step"]) for row in rows] == marks
    assert all(row["training_seconds"] > 0 for row in rows[1:])
    assert [("raw" in row) for row in rows] == [True, False, True, False, True]
    assert all(row["legal"] == row["decisions"] > 0 for row in rows)
    last = tmp_path / "run" / "gradient" / "step_00002"
    weights = fingerprint(last / "adapter_model.safetensors")
    for mark in (last, tmp_path / "run" / "own" / "step_00002"):
        mark.rename(mark.with_name("aside_" + mark.name))
    assert run_experiment(config, messages.append)[-1]["partners"] == rows[-1]["partners"]
    assert fingerprint(last / "adapter_model.safetensors") == weights
    with pytest.raises(InputError, match="another value of cloning"):
        run_experiment(config_of(model, tmp_path / "run", cloning={"batch": 4, "lr": 0.02}), messages.append)
    with pytest.raises(InputError, match="against random are not known"):
        run_experiment(
            config_of(model, tmp_path / "other", gradient={"steps": 1, "partners": ["random"]}), messages.append
        )
    write_rows(tmp_path / "rows.jsonl", config, rows)
    again, stored = read_rows(tmp_path / "rows.jsonl")
    assert post_training_section(again, stored) == post_training_section(config, rows)
    (table,) = post_training_section(config, rows).blocks
    assert [(row.label.split(",")[0], row.cells[0]) for row in table.rows] == [(arm, str(step)) for arm, step in marks]
    assert "at the end own " in post_training_svg(config, rows)
