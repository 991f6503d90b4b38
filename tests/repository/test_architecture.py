"""Architecture: layers that import downwards, no import cycles, light imports, no global generator, no private path."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dond_marl.errors import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dond_marl", "hints", "partners", "league", "dond")
SOURCES = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
EXPERIMENTS = sorted((ROOT / "experiments").rglob("*.py"))
ALL = [*SOURCES, *EXPERIMENTS, *sorted((ROOT / "scripts").rglob("*.py"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = ("torch", "transformers", "groq", "ray", "supersuit")


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


@cache
def import_lines(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Every import of a file, wherever it stands."""
    found, blocks = [], [tree_of(path)]
    while blocks:
        for node in ast.iter_child_nodes(blocks.pop()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found.append(node)
            elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):  # no expression holds one
                blocks.append(node)
    return found


def imports(path: Path, top_level_only: bool = False) -> set[str]:
    """The top-level packages that a file imports."""
    nodes = tree_of(path).body if top_level_only else import_lines(path)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import hides which layer it goes to"
            found.add((node.module or "").split(".")[0])
    return found


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_only_point_down(layer):
    above = set(LAYERS[LAYERS.index(layer) + 1 :]) | {"scripts", "experiments", "tests"}
    files = [path for path in SOURCES if path.relative_to(ROOT).parts[0] == layer]
    assert files and {names(path): found for path in files if (found := imports(path) & above)} == {}


ON_SCREEN = ("click", "rich", "starlette", "uvicorn", "jinja2", "matplotlib")


def test_only_dond_imports_libraries_of_screens_and_pages():
    files = [path for path in SOURCES if path.relative_to(ROOT).parts[0] != "dond"]
    assert files and {names(path): found for path in files if (found := imports(path) & set(ON_SCREEN))} == {}


# In no extra of ours: who plays there has it.
ELSEWHERE = {
    "inspect_ai",
    "kaggle_environments",
    "open_spiel",
    "openenv",
    "pyspiel",
    "stable_baselines3",
    "textarena",
    "verifiers",
}


def test_every_imported_library_is_declared():
    core = {Requirement(each).name for each in PROJECT["dependencies"]}
    known = {*sys.stdlib_module_names, *LAYERS, *core, *EXTRAS, *ELSEWHERE}
    assert {names(path): unknown for path in SOURCES if (unknown := imports(path) - known)} == {}


def test_rules_need_the_standard_library_only():
    assert imports(ROOT / "dond_marl" / "game.py") <= sys.stdlib_module_names


def test_dond_marl_needs_numpy_only_outside_the_environments():
    for path in sorted((ROOT / "dond_marl").rglob("*.py")):
        allowed = {"dond_marl", "numpy", "__future__"} | sys.stdlib_module_names
        if "envs" in path.parts or path.name in ("deal_or_no_dialog_v0.py", "__init__.py"):
            allowed |= {"gymnasium", "pettingzoo"}
        assert imports(path, top_level_only=True) <= allowed, path
        # Only inside a function, or for types:
        later = {"drawing.py": {"PIL"}, "own_files.py": {"pyarrow"}}.get(path.name, {"scipy"})
        assert imports(path) <= allowed | later, path


MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (*SOURCES, *EXPERIMENTS)
}


def modules_imported(path: Path) -> set[str]:
    """The modules of this project that a file imports: anywhere in it, for annotations too."""
    found = set()
    for node in import_lines(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {member if member in MODULES else node.module for member in members}
    return found & MODULES.keys()


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """The modules of this project, each with those that it imports."""
    return {name: modules_imported(path) - {name} for name, path in MODULES.items()}


def cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """The modules of one import cycle, or ``None``."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def test_no_import_cycles_between_modules(graph):
    assert cycle(graph) is None


@pytest.mark.parametrize("folder", sorted({name.rpartition(".")[0] for name in MODULES} - {""}))
def test_no_import_cycles_between_packages_of_a_folder(folder, graph):
    siblings: dict[str, set[str]] = {}
    for name, targets in graph.items():
        if name.startswith(f"{folder}."):
            within = {target for target in targets if target.startswith(f"{folder}.")}
            package = name.removeprefix(f"{folder}.").split(".")[0]
            siblings.setdefault(package, set()).update(
                {target.removeprefix(f"{folder}.").split(".")[0] for target in within} - {package}
            )
    assert cycle(siblings) is None


SETTINGS = ("pydantic", "yaml")  # libraries of settings, which a command without a config has no need of
NOT_IN_HELP = ("scipy", "matplotlib", "jinja2", "starlette")


STEPS = (  # from the lightest to the heaviest, in one process
    ("from dond.cli.main import main; main(['--help'])", (*HEAVY, *SETTINGS, *NOT_IN_HELP, "sqlite3")),
    ("import dond.cli.play", (*HEAVY, *SETTINGS, *NOT_IN_HELP, "sqlite3")),
    ("import dond_marl, partners, hints, partners.catalogue; from dond_marl import SingleAgentView", HEAVY),
    ("main(['catalogue'])", (*HEAVY, *SETTINGS, *NOT_IN_HELP)),
    ("import dond.cli.evaluate", (*HEAVY, *SETTINGS, *NOT_IN_HELP)),
    ("from league import train", ("torch", "pandas", "scipy")),
)


def test_heavy_libraries_are_loaded_where_they_are_used():
    steps = [f"{code}\nprint('loaded', [m for m in {unused} if m in sys.modules])" for code, unused in STEPS]
    code = "\n".join(["import sys", *steps])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = [line for line in done.stdout.splitlines() if line.startswith("loaded ")]
    assert dict(zip(STEPS, loaded, strict=True)) == dict.fromkeys(STEPS, "loaded []")


# These seed the global generators for code of other projects, which draws from them.
FOREIGN_CODE = {"agent_worker.py", "negmas_worker.py"}


def test_no_draw_from_a_global_generator():
    for path in (path for path in ALL if path.name not in FOREIGN_CODE):
        text = text_of(path)
        drawn = r"np\.random\.(?!Generator|MT19937|SFC64|SeedSequence|default_rng|get_state|set_state)"
        assert not re.search(drawn, text), path
        assert not re.search(r"\brandom\.(random|randint|choice|shuffle|seed)\(", text), path


@pytest.mark.parametrize("path", sorted((ROOT / "partners" / "scripted").rglob("*.py")), ids=lambda path: path.stem)
def test_scripted_partner_constructs_no_generator(path):
    made = r"default_rng|Generator|randomness import (?!NOISE_WIDTH, derive_uniforms\n)"  # noise only
    assert not re.search(made, text_of(path))


def test_scripts_import_from_the_repository_root():
    for path in sorted((ROOT / "scripts").glob("*.py")):
        assert "sys.path[0] = str(ROOT)" in text_of(path), path


def test_repository_names_no_private_path():
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT, check=False).stdout
    for name in filter(None, tracked.split("\0")):
        text = (ROOT / name).read_bytes().decode("utf-8", errors="ignore")
        assert not re.search(r"(^|[^\w.-])/(work|root)/", text), name


# -- The lock file, the constraints and the notes for contributors agree with the project------------------------


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pins(name: str) -> dict[str, str]:
    return {canonicalize_name(found[1]): found[2] for found in re.finditer(r"(?m)^([\w.-]+)==([\w.]+)", text(name))}


def test_lock_agrees_with_constraints_and_covers_every_requirement():
    locked, constraints = pins("requirements.lock"), pins("constraints.txt")
    assert {name: version for name, version in locked.items() if constraints.get(name, version) != version} == {}
    requirements, extras = list(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    for each in extras["all"]:
        own = re.search(r"^dond-marl\[(\w+)\]", each)
        requirements += extras[own[1]] if own else [each]
    names = {canonicalize_name(Requirement(each).name) for each in requirements} - {PROJECT["name"]}
    assert names <= locked.keys()
    assert "://" not in text("requirements.lock") and text("requirements.lock").count("--hash=sha256:") > len(locked)


@pytest.mark.parametrize(
    "name", ["AGENTS.md", "CONTRIBUTING.md", "llms.txt", "CODE_OF_CONDUCT.md", "docs/ARCHITECTURE.md"]
)
def test_files_and_make_targets_named_in_notes_exist(name):
    page = ROOT / name
    for target in re.findall(r"\]\(([^):#]+)\)", text(name)):
        assert (page.parent / target).is_file(), target
    assert set(re.findall(r"`make ([a-z-]+)", text(name))) <= set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
    named = re.findall(r"`((?:dond_marl|hints|partners|league|scripts|configs|tests|docs)/[\w/.]*)`", text(name))
    assert [path for path in named if not (ROOT / path).exists()] == []
