"""Post-training: examples out of the games that paid most, a training that goes on, a seat for what comes of it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from dond_marl.errors import InputError
from experiments.language_models.post_training.examples import collect, read_examples, write_examples
from experiments.language_models.post_training.settings import GamesSection, PostTrainingConfig
from partners.llm.prompt import SYSTEM, load_template
from partners.llm.reply import LegalReply, read_reply
from tests.command import dond
from tests.tiny_models import tiny_model

GAMES = {"players": ["linear", "tough"], "partners": ["heuristic", "nice"], "scenarios": 12, "keep": 0.25}
TEMPLATE = load_template(shipped="brief")
SVG = "{http://www.w3.org/2000/svg}"


def collected(reward: str = "own", **changes):
    section = GamesSection.model_validate({**GAMES, "examples": 40, **changes}, strict=False)
    return collect(section, reward, TEMPLATE, 5)


def test_examples_are_acts_of_the_games_that_paid_most_and_can_be_replied():
    everything, best = collected(keep=1.0), collected()
    assert (best.games, best.kept) == (2 * 2 * 2 * 12, 24)
    assert np.mean([each.points for each in best.examples]) > np.mean([each.points for each in everything.examples])
    for each in best.examples:
        read = read_reply(each.reply, each.legal)
        assert isinstance(read, LegalReply)
        assert read.action == each.action


def test_what_is_paid_decides_which_games_are_kept():
    """A lead counts the partner's points against one's own."""
    lead = collected("spite(weight=1)")
    assert all(each.paid <= each.points for each in lead.examples)
    assert lead.examples != collected().examples


def test_examples_are_chats_that_other_trainers_take_and_that_are_read_back(tmp_path):
    path, made = tmp_path / "examples.jsonl", collected().examples
    write_examples(path, made)
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert [message["role"] for message in (*row["prompt"], *row["completion"])] == ["system", "user", "assistant"]
    assert (row["prompt"][0]["content"], row["completion"][0]["content"]) == (SYSTEM, made[0].reply)
    assert read_examples(path) == made


def test_the_command_writes_the_examples_alone_and_refuses_them_for_other_settings(tmp_path, capsys):
    words = ["experiment", "post-training", "--examples-only", "--set", f"output_dir={tmp_path}", "--set",
             "games.players=[linear]", "--set", "games.partners=[heuristic]"]  # fmt: skip
    assert dond(*words, "--set", "games.scenarios=4") == 0
    assert len(read_examples(tmp_path / "lead" / "examples.jsonl")) > 0
    assert dond(*words, "--set", "games.scenarios=5") == 2
    assert "another value of games" in capsys.readouterr().err
    assert dond(*words, "--set", "arms=[{name: gradient}]") == 2
    assert "another name than" in capsys.readouterr().err


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
def test_a_training_that_was_stopped_goes_on_and_comes_to_the_same(model, tmp_path):
    """Marks at steps 1 and 2, then two of the gradient: in one go, and with the last of each done anew."""
    from experiments.language_models.post_training.experiment import keep_rows, perform
    from experiments.language_models.post_training.figure import drawing
    from experiments.language_models.post_training.findings import markdown, read_rows
    from partners.llm.local.model import fingerprint

    config, told = config_of(model, tmp_path / "run"), list[str]()
    rows = perform(config, told.append)
    marks = [("before", 0), ("own", 1), ("own", 2), ("gradient", 1), ("gradient", 2)]
    assert [(row["arm"], row["step"]) for row in rows] == marks
    assert all(row["training_seconds"] > 0 for row in rows[1:])
    assert [("raw" in row) for row in rows] == [True, False, True, False, True]
    assert all(row["legal"] == row["decisions"] > 0 for row in rows)
    last = tmp_path / "run" / "gradient" / "step_00002"
    weights = fingerprint(last / "adapter_model.safetensors")
    for mark in (last, tmp_path / "run" / "own" / "step_00002"):
        mark.rename(mark.with_name("aside_" + mark.name))
    assert perform(config, told.append)[-1]["partners"] == rows[-1]["partners"]
    assert fingerprint(last / "adapter_model.safetensors") == weights
    with pytest.raises(InputError, match="another value of cloning"):
        perform(config_of(model, tmp_path / "run", cloning={"batch": 4, "lr": 0.02}), told.append)
    with pytest.raises(InputError, match="against random is not known"):
        perform(config_of(model, tmp_path / "other", gradient={"steps": 1, "partners": ["random"]}), told.append)
    keep_rows(tmp_path / "rows.jsonl", config, rows)
    again, kept = read_rows(tmp_path / "rows.jsonl")
    assert markdown(again, kept) == markdown(config, rows)
    assert "| `gradient` | 2 |" in markdown(config, rows)
    drawn = ElementTree.fromstring(drawing(config, rows))
    lines = [each.get("points").split() for each in drawn.iter(f"{SVG}polyline")]
    assert [len(line) for line in lines] == [3, 3], "before and two marks; where that ended and two marks"
    assert lines[1][0] == lines[0][-1], "the gradient goes on where cloning ended"
    assert len(list(drawn.iter(f"{SVG}circle"))) == len(rows) + 2, "a mark a row, and a key for each of two lines"
