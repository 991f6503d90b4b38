"""The floors: imports only point down, and heavy libraries stay out of light ones."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("dond_marl", "hints", "partners", "league")
SOURCES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
ALL = [*SOURCES, *sorted((ROOT / "scripts").rglob("*.py"))]
GYMNASIUM_HOMES = {
    "env.py", "spaces.py", "action_forms.py", "single_agent.py", "views.py", "registration.py",
    "deal_or_no_dialog_v0.py", "parallel.py",
}  # fmt: skip
HEAVY = ("torch", "transformers", "groq", "ray", "supersuit")


def imports(path: Path, top_level_only: bool = False) -> set[str]:
    """The top-level packages that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides which floor it goes to"
            found.add((node.module or "").split(".")[0])
    return found


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_imports_only_point_down(path):
    floor = FLOORS.index(path.relative_to(ROOT).parts[0])
    above = set(FLOORS[floor + 1 :]) | {"scripts", "tests"}
    assert not imports(path) & above


def test_the_rules_need_the_standard_library_only():
    assert imports(ROOT / "dond_marl" / "game.py") <= sys.stdlib_module_names


@pytest.mark.parametrize("path", sorted((ROOT / "dond_marl").glob("*.py")), ids=names)
def test_the_ground_floor_stands_on_numpy_alone_outside_the_env_modules(path):
    allowed = {"dond_marl", "numpy", "__future__"} | sys.stdlib_module_names
    if path.name in GYMNASIUM_HOMES:
        allowed |= {"gymnasium", "pettingzoo"}
    if path.name == "openspiel_game.py":  # a face of the game that nothing imports but those who play in OpenSpiel
        allowed |= {"pyspiel"}
    assert imports(path, top_level_only=True) <= allowed
    assert imports(path) <= allowed | {"scipy"}  # scipy only inside a function


def test_light_packages_load_no_heavy_library():
    code = "import sys, dond_marl, partners, hints, partners.catalogue; from dond_marl import SingleAgentView; "
    code += f"print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", [path for path in ALL if path.name != "cleanrl_ppo.py"], ids=names)
def test_nothing_draws_from_a_global_generator_but_the_benchmarks_peer(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"np\.random\.(?!Generator|SFC64|SeedSequence|default_rng)", text)
    assert not re.search(r"\brandom\.(random|randint|choice|shuffle|seed)\(", text)


def test_a_partner_constructs_no_generator():
    learning = {
        "learners.py",
        "network.py",
        "practice.py",
        "llm/student.py",
    }  # they improve or make a partner, they are none
    for path in sorted(set((ROOT / "partners").rglob("*.py")) - {ROOT / "partners" / name for name in learning}):
        assert not re.search(r"default_rng|Generator|randomness", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("path", ALL, ids=names)
def test_files_hold_one_idea(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 320, f"{names(path)} has {lines} lines: split it by idea"
    assert path.stem not in ("utils", "common", "base", "manager", "helpers")


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").glob("*.py")), ids=names)
def test_scripts_are_doors_that_do_not_shadow_packages(path):
    text = path.read_text(encoding="utf-8")
    assert "sys.path[0] = str(ROOT)" in text
    assert len(text.splitlines()) <= 60
    assert path.stem == "league" or path.stem not in FLOORS


def test_the_repository_names_no_private_place():
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT, check=False).stdout
    for name in filter(None, tracked.split("\0")):
        text = (ROOT / name).read_bytes().decode("utf-8", errors="ignore")
        assert not re.search(r"(^|[^\w.-])/(work|root)/", text), name
