"""Pages and configs: Python blocks run, named files, links and partners exist, configs load."""

from __future__ import annotations

import inspect
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from dond.study.settings import StudyConfig
from dond_marl.envs.aec import NegotiationEnv
from dond_marl.occupants import catalogue
from league.bench.results import has_results
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig
from tests.documents.pages import PAGES, ROOT, anchors, blocks, links, name_of, prose

# PLUG_IN.md's are run by tests/documents/test_examples.py, and so is the block of README.md that needs sb3-contrib.
PYTHON = [page for page in PAGES if page.name != "PLUG_IN.md" and blocks(page, "python")]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page.name == "TUTORIAL.md")) for page in PYTHON],
    ids=[name_of(page) for page in PYTHON],
)
@pytest.mark.filterwarnings("default")
def test_python_blocks_run(page, tmp_path, monkeypatch):
    """Each in a namespace of its own, as if it were the only one on the page."""
    monkeypatch.chdir(tmp_path)
    for number, block in enumerate(block for block in blocks(page, "python") if "sb3_contrib" not in block):
        path = tmp_path / f"block_{number}.py"
        path.write_text(block)
        runpy.run_path(str(path))


def test_partners_page_lists_every_partner():
    table = (ROOT / "docs" / "PARTNERS.md").read_text().split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(catalogue())


def test_environment_page_lists_every_argument_with_its_default():
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", of_environment("## Arguments"), re.MULTILINE)
    signature = inspect.signature(NegotiationEnv).parameters
    assert rows == [(name, repr(parameter.default)) for name, parameter in signature.items()]


def test_environment_page_shows_the_spaces():
    from dond_marl import deal_or_no_dialog_v0
    from dond_marl.envs.views import view

    env = deal_or_no_dialog_v0.env()
    env.reset(seed=0)
    seen, said = env.observation_space("seat_0"), env.action_space("seat_0")
    assert re.findall(r"^\| `(\w+)`", of_environment("## Observation space"), re.MULTILINE) == list(
        env.observe("seat_0")
    )
    assert set(seen) == set(env.observe("seat_0"))
    assert re.findall(r"^\| `(\w+)`", of_environment("## Action space"), re.MULTILINE) == list(said)
    whole = " ".join(prose(ROOT / "docs" / "ENVIRONMENT.md").split())
    assert f"act_type={said['act_type']}" in whole and "oA=MultiDiscrete([5, 5, 5])" in whole
    assert said["oA"].nvec.tolist() == [5, 5, 5]
    for actions, told in (("flat", "MultiDiscrete([5, 5, 5, 5])"), ("discrete", "Discrete(253)")):
        space = view(deal_or_no_dialog_v0.env(), actions).action_space("seat_0")
        assert str(space).replace(" ", ", ") == told and f"`{told}`" in whole
    assert view(deal_or_no_dialog_v0.env()).observation_space("seat_0").shape == (15,) and "(15,), float32" in whole


def of_environment(heading: str) -> str:
    """A section of the environment's page."""
    return (ROOT / "docs" / "ENVIRONMENT.md").read_text().split(f"{heading}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "ARCHIVE.md"], ids=name_of)
def test_files_named_on_pages_exist(page):
    """Also in its blocks of code; what a recipe makes, a run, or the reader's own package does not count."""
    text = page.read_text().replace("configs/league_mine.yaml", "")
    folders = "scripts|configs|dond_marl|hints|partners|league|tests|docs"
    for path in re.findall(rf"(?<![\w/.-])(?:{folders})/[\w/.-]*\w(?![\w*])", text):
        assert (ROOT / path).exists() or has_results(ROOT / path) or "NAME" in path, f"{page.name}: {path}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_pictures_exist(page):
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor} is no heading there"


def test_navigation_lists_every_page():
    import tomllib

    def listed(entries: list[object]) -> set[str]:
        values = [value for entry in entries for value in entry.values()]
        return {v for v in values if isinstance(v, str)}.union(*(listed(v) for v in values if isinstance(v, list)))

    nav = listed(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"])
    pages = {page.name for page in PAGES if page.parent.name == "docs"}
    assert nav == pages | {"CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_configs_load_and_train_on_the_train_split(path):
    if path.name == "study.yaml":  # no learner: people play scenarios that no occupant has seen
        assert load_config(path, (), StudyConfig).env.split == "test"
        return
    trains = "training:" in path.read_text() and "\nleague:" not in path.read_text()
    config = load_config(path, (), TrainConfig if trains else Config)
    assert config.env.scenarios != "lewis" or config.env.split == "train"


@pytest.mark.parametrize(
    ("suite", "names"),
    [
        ("imports", ["import dond_marl", "heavy modules"]),
        ("partners", ["generated partners"]),
        pytest.param(
            "engine", ["batched engine, uniform-legal", "batched engine, 95 % PROPOSE"], marks=pytest.mark.slow
        ),
    ],
)
def test_benchmark_writes_its_rows(suite, names, tmp_path):
    arguments = ["--only", suite, "--repeats", 1, "--seconds", 0.01, "--json", "rows.json"]
    done = run(ROOT / "scripts" / "benchmark.py", *arguments, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr  # 1: a bar was missed, which is no test's business
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["what"] for row in rows] == names
    assert [row["ours"] > 0 for row in rows] == [name != "heavy modules" for name in names]
