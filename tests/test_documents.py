"""What the documents say is so: their code runs, their names exist, every config loads, every script answers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dond_marl.occupants import catalogue
from league.config import Config, load_config
from league.distill_settings import DistillConfig
from league.hint_experiment import ExperimentConfig
from league.style_settings import StylesConfig
from league.train_settings import TrainConfig

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
BLOCKS = [
    pytest.param(block, id=f"{name}-{number}")
    for name in DOCUMENTS
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL))
]
OTHER_SETTINGS = {
    "distill.yaml": DistillConfig,
    "hint_experiment.yaml": ExperimentConfig,
    "styles.yaml": StylesConfig,
}
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd, timeout=120
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs_as_it_stands(block, tmp_path):
    (tmp_path / "block.py").write_text(block)
    done = run("-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); exec(open('block.py').read())", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_readme_names_every_partner_and_no_other():
    table = (ROOT / "README.md").read_text().split("### Who can sit in a seat")[1].split("## How fast")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(catalogue())


def test_every_file_that_the_documents_point_to_exists():
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        for path in re.findall(r"(?<!runs/)\b(?:scripts|configs|dond_marl|partners|league|tests)/[\w/.-]*\w", text):
            assert (ROOT / path).exists(), f"{name}: {path}"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_loads_is_short_and_learns_nothing_from_the_held_out_part(path):
    trains = "training:" in path.read_text() and not path.name.startswith("league")
    config = load_config(path, (), OTHER_SETTINGS.get(path.name, TrainConfig if trains else Config))
    assert len(path.read_text().splitlines()) <= 40
    if isinstance(config, DistillConfig):
        assert all(games.scenarios != "lewis" or games.split == "train" for games in config.games)
        return
    assert config.env.scenarios != "lewis" or config.env.split == "train"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_explains_itself_from_any_directory(path, tmp_path):
    done = run(path, "--help", cwd=tmp_path)
    assert done.returncode == 0 and "usage:" in done.stdout and "examples:" in done.stdout, done.stderr


def test_the_benchmark_runs_tiny_and_writes_its_rows(tmp_path):
    import json

    arguments = ["--only", "engine", "--only", "imports", "--repeats", 1, "--seconds", 0.01]
    done = run(ROOT / "scripts" / "benchmark.py", *arguments, "--json", "rows.json", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr  # 1: a bar was missed, which is no test's business
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["what"] for row in rows] == [
        "batched engine, uniform-legal",
        "batched engine, 95 % PROPOSE",
        "import dond_marl",
        "heavy modules",
    ]
    assert all(row["ours"] > 0 for row in rows[:3]) and rows[3]["ours"] == 0
