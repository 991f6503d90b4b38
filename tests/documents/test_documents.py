"""Pages and configs: Python blocks run, named files, links and partners exist, configs load."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import dond_marl
import hints
from dond.study.settings import StudyConfig
from dond_marl.envs.aec import NegotiationEnv
from dond_marl.errors import RunFailure
from dond_marl.occupants import catalogue
from league.bench.results import has_results
from league.settings.read import Config, load_config
from league.settings.training import TrainConfig
from scripts.docs_site.notebooks import FOLDER, SOURCES, notebook, run_notebook
from scripts.docs_site.pages import DOCS, GENERATED, _load_packages, api_page, description, public_names
from tests.documents.pages import PAGES, ROOT, anchors, blocks, links, name_of, prose, shown_outputs

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
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    """Each in a namespace of its own, as if it were the only one on the page; it prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    extras = re.compile("sb3_contrib|optuna")  # see test_optuna_block_runs
    for number, block in enumerate(block for block in blocks(page, "python") if not extras.search(block)):
        path = tmp_path / f"block_{number}.py"
        path.write_text(block)
        capsys.readouterr()
        runpy.run_path(str(path), run_name="__main__")
        printed = capsys.readouterr().out
        assert shown_outputs(page).get(block, printed) == printed


@pytest.mark.slow
def test_optuna_block_runs(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in blocks(ROOT / "docs" / "LEARN.md", "python") if "optuna" in block)
    short = block.replace("100_000}", '600, "training.num_envs": 64, "env.max_turns": 2}').replace("n_trials=20", "3")
    (tmp_path / "block.py").write_text(short.replace("n_startup_trials=2", "0"))
    states = [trial.state.name for trial in runpy.run_path("block.py")["study"].trials]
    assert len(states) == 3 and states[0] == "COMPLETE" and set(states) <= {"COMPLETE", "PRUNED"}


def test_partners_page_names_every_partner():
    table = (ROOT / "docs" / "PARTNERS.md").read_text().split("\n## Families")[1].split("\n### ")[0]
    assert set(catalogue()) <= set(re.findall(r"`(\w+)`", table))


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
    assert nav == pages | {"CONTRIBUTING.md", "CHANGELOG.md", "LEADERBOARD.md", "SECURITY.md"}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_configs_load_and_train_on_the_train_split(path):
    if path.name == "study.yaml":  # no learner: people play scenarios that no occupant has seen
        assert load_config(path, (), StudyConfig).env.split == "test"
        return
    trains = "training:" in path.read_text() and "\nleague:" not in path.read_text()
    config = load_config(path, (), TrainConfig if trains else Config)
    assert config.env.scenarios != "lewis" or config.env.split == "train"


EVALUATION = "dond evaluate --member expert --against heuristic --sample 20"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suite", "names"),
    [
        ("imports", ["import dond_marl", "heavy modules", "dond --help", EVALUATION]),
        ("partners", ["generated partners"]),
        ("engine", ["batched engine, uniform-legal", "batched engine, 95 % PROPOSE"]),
    ],
)
def test_benchmark_writes_its_rows(suite, names, tmp_path):
    arguments = ["--only", suite, "--repeats", 1, "--seconds", 0.01, "--json", "rows.json"]
    done = run(ROOT / "scripts" / "benchmark.py", *arguments, cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr  # 1: a bar was missed, which is no test's business
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["what"] for row in rows] == names
    assert [row["ours"] > 0 for row in rows] == [name != "heavy modules" for name in names]


# -- The notebooks are their sources; and every one runs from top to bottom--------------------------------------


NEEDED = {"language_model": ("transformers",), "your_trainer": ("sb3_contrib", "supersuit")}


def test_every_notebook_is_its_source_with_outputs():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == SOURCES.keys() and len(SOURCES) == 5
    for name, path in SOURCES.items():
        text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
        assert text == notebook(path.read_text(encoding="utf-8"), text), "run python -m scripts.docs_site.notebooks"
        cells = json.loads(text)["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert len(code) >= 5 and sum(bool(cell["outputs"]) for cell in code) >= 3, f"run {name} with --run"
        assert not re.search(r"/(tmp|home|root|work|Users)/", text) and len(text) < 150_000
        assert cells[0]["source"][0].startswith("# ") and len({cell["id"] for cell in cells}) == len(cells)


def test_the_page_names_every_notebook_and_no_other():
    page = (ROOT / "docs" / "TUTORIAL.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| \[`(\w+)\.ipynb`\]", page, re.MULTILINE)) == SOURCES.keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the client of the kernel
@pytest.mark.parametrize("name", SOURCES)
def test_a_notebook_runs_from_top_to_bottom(name, tmp_path, monkeypatch):
    for library in ("nbclient", "ipykernel", *NEEDED.get(name, ())):
        if find_spec(library) is None:
            pytest.skip(f"{name} needs {library}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    cells = json.loads(run_notebook(name, tmp_path))["cells"]
    shown = [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]
    assert len(shown) >= 3 and len(json.dumps(shown)) < 400_000


# -- docs/API.md, docs/LEDGER.md, docs/SETTINGS.md: generated from the code; pages and examples use public names-


PACKAGES = ("dond", "dond_marl", "hints", "league", "partners")
NAMES = [(module, name) for _, module, name in public_names((DOCS / "API.md").read_text(encoding="utf-8"))]
EXAMPLES = sorted((ROOT / "scripts" / "examples").rglob("*.py"))


@pytest.mark.parametrize("name", GENERATED)
def test_page_is_up_to_date(name):
    file, generate = GENERATED[name]
    page = (DOCS / file).read_text(encoding="utf-8")
    assert generate(page) == page, "run python -m scripts.docs_site.pages"


@pytest.mark.parametrize("package", [dond_marl, hints], ids=lambda package: package.__name__)
def test_every_exported_name_is_listed(package):
    assert {(package.__name__, name) for name in package.__all__} <= set(NAMES)


def test_every_listed_name_is_documented_and_importable():
    assert len(NAMES) == len(set(NAMES)) > 80
    modules = _load_packages()
    for module, name in NAMES:
        assert len(description(modules, module, name)) > 9, f"{module}.{name} has no docstring"
        if not any(library in module for library in ("openspiel", "sb3")):  # not installed everywhere
            value = importlib.import_module(module)
            for part in name.split("."):
                value = getattr(value, part)


def imported_names(code: str) -> set[tuple[str, str]]:
    return {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES
        for alias in node.names
    }


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_and_examples_use_public_names_only(path):
    codes = [path.read_text(encoding="utf-8")] if path.suffix == ".py" else blocks(path, "python")
    missing = set().union(*map(imported_names, codes)) - set(NAMES) if codes else set()
    assert not missing, f"{path.name} uses {missing}: list it in docs/API.md, or use something else"


def test_listed_name_that_does_not_exist_is_an_error():
    with pytest.raises(RunFailure, match=r"dond_marl\.game\.gone"):
        api_page("## `dond_marl.game`\n\n| `gone` | was here |\n")


def test_packages_ship_type_information():
    for package in PACKAGES:
        assert (Path(importlib.import_module(package).__file__).parent / "py.typed").is_file()
