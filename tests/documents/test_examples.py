"""The examples: short, they run with the versions that are here, and what they learned sits in the league."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.plug_in import (
    BEGIN,
    END,
    EXAMPLES,
    PAGE,
    run_example,
)
from tests.command import PROGRAM
from tests.documents.pages import blocks

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts" / "examples"
MODULES = {"open-spiel": "pyspiel"}  # a distribution and what is imported of it, where the names differ
HERE = [example for example in EXAMPLES if not example.apart]


def call(*command: object, cwd: Path, path: Path | None = None) -> str:
    places = os.pathsep.join(map(str, filter(None, (path, ROOT))))
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": places},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def need(module: str) -> None:
    if find_spec(module) is None:
        pytest.skip(f"no {module} here: pip install -e '.[examples]' brings it")


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_example_is_short_and_shadows_no_library(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= (60 if path.parent == FOLDER else 15)
    assert find_spec(path.stem) is None and path.stem not in ("tianshou", "ray", "pyspiel")


def test_page_lists_every_example_as_working():
    assert {example.path for example in EXAMPLES} == set(FOLDER.glob("*.py"))
    shown = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    for example in EXAMPLES:
        (line,) = (line for line in shown.splitlines() if f"/{example.name}.py)" in line)
        assert line.endswith("| yes |"), line


def test_page_shows_the_example_class():
    shown = (FOLDER / "sb3_partner" / "sb3_partner.py").read_text(encoding="utf-8").split("\n\n", 1)[1]
    assert shown.strip() in PAGE.read_text(encoding="utf-8")


def test_page_code_runs(tmp_path):
    first, memory, *others = sorted(blocks(PAGE, "python"), key=lambda block: ".learn(" not in block)
    assert "RecurrentPPO" in memory
    assert len(others) == 3 and first in blocks(ROOT / "README.md", "python")
    assert "Estimate(mean=" in call(sys.executable, "-c", "\n".join(others), cwd=tmp_path)


@pytest.mark.slow
def test_sb3_blocks_train_and_evaluate(tmp_path):
    need("sb3_contrib")
    for block in (block for block in blocks(PAGE, "python") if ".learn(" in block):
        block = re.sub(r"\.learn\([\d_]+", ".learn(2_048", block).replace('"heuristic")', '"heuristic", sample=20)')
        told = call(sys.executable, "-c", block, cwd=tmp_path)
        assert told.count("\nbest response, in these games") == told.count("In short") == block.count(".learn(")


@pytest.mark.slow
@pytest.mark.parametrize("example", HERE, ids=lambda example: example.name)
def test_example_runs_and_learns(example):
    need(MODULES.get(example.library, example.library.replace("-", "_")))
    row = run_example(example, 12_288)
    assert row.works, row.outcome
    if example.learns:
        before, after = (float(part.split(" ±")[0]) for part in row.outcome.split(" before, "))
        assert after > before + 0.3


@pytest.mark.slow
def test_sb3_policy_plays_in_a_league(tmp_path):
    """Train with sb3-contrib, save, install the fifteen-line package, evaluate it, and play a league with it."""
    need("sb3_contrib")
    site = tmp_path / "site"
    call(sys.executable, FOLDER / "sb3_maskable_ppo.py", "--steps", 8192, "--save", "model.zip", cwd=tmp_path)
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    need("hatchling")
    call(*pip, "--target", site, FOLDER / "sb3_partner", cwd=tmp_path)
    spec = "sb3(path='model.zip')"
    told = call(*PROGRAM, "catalogue", "sb3", cwd=tmp_path, path=site)
    assert "MaskablePPO" in told and "path" in told
    tiny = ("--scenarios", "lewis", "--sample", 50)
    command = (*PROGRAM, "evaluate", "--member", spec, "--against", "heuristic", *tiny)
    assert "best response" in call(*command, cwd=tmp_path, path=site)
    members = "members=[heuristic, {kind: sb3, path: model.zip}]"
    settings = ("--set", "league.rounds=1", "--set", "league.block_size=64", "--set", members)
    config = ("--config", ROOT / "configs" / "league_scripted.yaml")
    ladder = call(sys.executable, ROOT / "scripts" / "league.py", *config, *settings, cwd=tmp_path, path=site)
    assert "sb3(path='model.zip')" in ladder.split("cross-play")[0]
