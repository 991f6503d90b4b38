"""The objective experiment: prompts that differ in their goal alone, and tests that know what chance does."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from dond_marl.errors import InputError
from league.experiments.language_models.objectives.experiment import keep_rows, perform, read_rows
from league.experiments.language_models.objectives.findings import learner_bars, markdown
from league.experiments.language_models.objectives.models import told, with_prompt
from league.experiments.language_models.objectives.permutation import paired, unpaired
from league.experiments.language_models.objectives.settings import ModelsSection, ObjectivesConfig
from partners.llm.prompt import load_template
from tests.tiny_models import tiny_model

GOALS = [{"name": "own", "sentence": "Get many points."}, {"name": "win", "sentence": "Get more than the other."}]
LEARNERS = {
    "pays": [{"name": "own"}, {"name": "win", "reward": "spite(weight=1)"}], "seeds": 2, "decisions": 64,
    "training": {"num_envs": 32, "rollout": 1, "hidden": [8]},
}  # fmt: skip


def test_the_prompts_differ_in_the_goal_alone_and_the_null_one_in_nothing(tmp_path):
    section = ModelsSection.model_validate({"goals": GOALS, "twice": "own"}, strict=False)
    files = told(section, tmp_path)
    texts = {name: load_template(path).text for name, path in files.items()}
    assert files["null"].read_bytes() == files["own"].read_bytes()
    assert texts["win"].replace(GOALS[1]["sentence"], GOALS[0]["sentence"]) == texts["own"]
    assert "points alone" not in texts["own"]


def test_a_model_of_the_experiment_brings_no_prompt_of_its_own(tmp_path):
    for occupant in ("heuristic", "llm(provider=hf, prompt=short)"):
        with pytest.raises(InputError, match="without a prompt of its own"):
            with_prompt(occupant, tmp_path)
    given = {"output_dir": str(tmp_path), "models": {"occupants": ["heuristic"], "goals": GOALS}}
    with pytest.raises(InputError, match="without a prompt of its own"):
        perform(ObjectivesConfig.model_validate({**given, "learners": LEARNERS}, strict=False), lambda _: None)
    assert not list(tmp_path.iterdir())  # before any learner was trained


def test_permutation_tests_know_what_chance_does():
    """Of three against three apart, 2 of the 20 deals are as far apart: p is near 0.1; of equal ones it is 1."""
    low, high = np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0, 13.0])
    assert unpaired(low, high, 0) == pytest.approx(0.1, abs=0.015)
    assert unpaired(low, low, 0) == 1.0
    groups = np.array([0, 1, 2, 3])
    assert paired(np.zeros(4), np.ones(4), groups, 0) == pytest.approx(2 / 16, abs=0.015)  # all signs alike
    assert paired(np.ones((2, 4)), np.ones((2, 4)), groups, 0) == 1.0
    assert paired(np.zeros(4), np.ones(4), np.zeros(4, dtype=np.int64), 0) == 1.0  # one group: nothing to be swapped


def test_learners_are_kept_and_laid_out_by_what_they_were_paid(tmp_path):
    given = {
        "output_dir": str(tmp_path),
        "learners": LEARNERS,
    }
    config = ObjectivesConfig.model_validate(given, strict=False)
    rows = perform(config, lambda _: None)
    assert rows == perform(config, lambda _: None)
    keep_rows(tmp_path / "rows.jsonl", config, rows)
    again, kept = read_rows(tmp_path / "rows.jsonl")
    assert [(bar.objective, bar.n) for bar in learner_bars(again, kept)] == [("own", 2), ("win", 2)]
    assert "`spite(weight=1)`" in markdown(again, kept)


def test_games_of_a_model_are_not_those_of_another_that_takes_its_folder(tmp_path):
    model = tiny_model(tmp_path / "model")
    models = {"occupants": [f"llm(provider=hf, model={str(model)!r})"], "goals": GOALS[:1], "scenarios": 2}
    given = {"output_dir": str(tmp_path / "run"), "max_turns": 2, "models": models}
    config, kept = ObjectivesConfig.model_validate(given, strict=False), tmp_path / "run" / "models"
    (first,) = perform(config, lambda _: None)
    assert perform(config, lambda _: None) == [first] and len(list(kept.iterdir())) == 1
    shutil.rmtree(model)
    tiny_model(model, "gpt2")
    perform(config, lambda _: None)
    assert len(list(kept.iterdir())) == 2
