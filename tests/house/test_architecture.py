"""The house: rooms whose imports only point down, no circles, no crowded folder; heavy libraries stay apart."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("dond_marl", "hints", "partners", "league")
SOURCES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
ALL = [*SOURCES, *sorted((ROOT / "scripts").rglob("*.py"))]
# The rooms of the league, lowest first; those of one line do not know each other.
ROOMS = (
    ("settings",),
    ("tasks",),
    ("backends", "ledger"),
    ("standings",),
    ("evaluation",),
    ("rounds", "training"),
    ("tables",),
    ("display",),
    ("bench",),
    ("report", "web"),
    ("experiments",),
    ("cli",),
)
MOST_ENTRIES = 16
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
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path, top_level_only: bool = False) -> set[str]:
    """The top-level packages that a file imports."""
    nodes = tree_of(path).body if top_level_only else import_lines(path)
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


@pytest.mark.parametrize("floor", FLOORS)
def test_imports_only_point_down(floor):
    above = set(FLOORS[FLOORS.index(floor) + 1 :]) | {"scripts", "tests"}
    files = [path for path in SOURCES if path.relative_to(ROOT).parts[0] == floor]
    assert files and {names(path): found for path in files if (found := imports(path) & above)} == {}


def test_the_rules_need_the_standard_library_only():
    assert imports(ROOT / "dond_marl" / "game.py") <= sys.stdlib_module_names


def test_the_ground_floor_stands_on_numpy_alone_outside_the_environments():
    for path in sorted((ROOT / "dond_marl").rglob("*.py")):
        allowed = {"dond_marl", "numpy", "__future__"} | sys.stdlib_module_names
        if "envs" in path.parts or path.name == "deal_or_no_dialog_v0.py":
            allowed |= {"gymnasium", "pettingzoo"}
        if "openspiel" in path.parts:  # a face of the game that nothing imports but those who play in OpenSpiel
            allowed |= {"pyspiel"}
        if "negmas" in path.parts:  # likewise in NegMAS
            allowed |= {"negmas"}
        assert imports(path, top_level_only=True) <= allowed, path
        later = {"PIL"} if path.name == "drawing.py" else {"scipy"}  # only inside a function, or for types
        assert imports(path) <= allowed | later, path


MODULES = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in SOURCES}


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


def circle(graph: dict[str, set[str]]) -> list[str] | None:
    """One way round a graph, if there is any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def test_no_files_import_each_other_in_a_circle(graph):
    assert circle(graph) is None


@pytest.mark.parametrize("folder", sorted({name.rpartition(".")[0] for name in MODULES} - {""}))
def test_rooms_and_files_of_one_folder_import_each_other_in_one_direction(folder, graph):
    siblings: dict[str, set[str]] = {}
    for name, targets in graph.items():
        if name.startswith(f"{folder}."):
            within = {target for target in targets if target.startswith(f"{folder}.")}
            room = name.removeprefix(f"{folder}.").split(".")[0]
            siblings.setdefault(room, set()).update(
                {target.removeprefix(f"{folder}.").split(".")[0] for target in within} - {room}
            )
    assert circle(siblings) is None


def test_the_rooms_of_the_league_import_only_rooms_below(graph):
    level = {room: number for number, rooms in enumerate(ROOMS) for room in rooms}
    rooms = {path.name for path in (ROOT / "league").iterdir() if (path / "__init__.py").is_file()}
    assert rooms == level.keys()
    upward = [
        (name, target)
        for name, targets in graph.items()
        for target in targets
        if name.count(".") > 1 or name.split(".")[-1] in level
        if name.startswith("league.") and target.startswith("league.")
        if (here := name.split(".")[1]) != (there := target.split(".")[1]) and level[there] >= level[here]
    ]
    assert upward == []


@pytest.mark.parametrize("folder", (*FLOORS, "scripts", "tests"))
def test_no_folder_holds_more_than_a_reader_takes_in_at_a_glance(folder):
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.split("\0")  # fmt: skip
    entries: dict[Path, set[str]] = {}
    for file in map(Path, filter(None, files)):
        for parent in file.parents:
            entries.setdefault(parent, set()).add(file.relative_to(parent).parts[0])
    crowded = {
        str(parent): len(names)
        for parent, names in ((parent, names - {"__init__.py", "py.typed"}) for parent, names in entries.items())
        if len(names) > MOST_ENTRIES and parent != Path()
    }
    assert crowded == {}


def test_a_room_says_in_one_line_what_it_is():
    for path in (path for path in SOURCES if path.name == "__init__.py"):
        sentence = (ast.get_docstring(tree_of(path)) or "").split("\n\n")[0]
        assert sentence.endswith(".") and "\n" not in sentence, path


def test_light_packages_load_no_heavy_library():
    code = "import sys, dond_marl, partners, hints, partners.catalogue; from dond_marl import SingleAgentView; "
    code += f"print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_draws_from_a_global_generator_but_the_benchmarks_peer():
    others = {
        ROOT / "dond_marl/envs/negmas/worker.py",  # gives negotiators of others, which draw from it, their own
        ROOT / "league/experiments/field/bargaining.py",  # gives OpenSpiel's search the seeded kind that it takes
        ROOT / "league/experiments/field/psro.py",  # seeds it for OpenSpiel's learners, which draw from it
    }
    for path in (path for path in ALL if path.name != "cleanrl_ppo.py" and path not in others):
        text = text_of(path)
        drawn = r"np\.random\.(?!Generator|SFC64|SeedSequence|default_rng|get_state|set_state)"
        assert not re.search(drawn, text), path
        assert not re.search(r"\brandom\.(random|randint|choice|shuffle|seed)\(", text), path


def test_a_partner_constructs_no_generator():
    learning = {
        "device/noise.py",
        "device/practice.py",
        "judges/reward_model.py",
        "learning/average_policy.py",
        "learning/learners.py",
        "network/network.py",
        "learning/practice.py",
        "llm/student/network.py",
        "rosters/draw.py",
    }  # they improve, make or draw a partner, they are none
    for path in sorted(set((ROOT / "partners").rglob("*.py")) - {ROOT / "partners" / name for name in learning}):
        made = r"default_rng|Generator|randomness(?! import NOISE_WIDTH, unfolded\n)"  # unfolding noise makes none
        assert not re.search(made, text_of(path)), path


def test_no_file_is_named_for_nothing():
    assert not {path.stem for path in ALL} & {"utils", "common", "base", "manager", "helpers"}


def test_scripts_are_doors_that_do_not_shadow_packages():
    for path in sorted((ROOT / "scripts").glob("*.py")):
        text = text_of(path)
        assert "sys.path[0] = str(ROOT)" in text, path
        assert len(text.splitlines()) <= 60, path
        assert path.stem == "league" or path.stem not in FLOORS, path


def test_the_repository_names_no_private_place():
    tracked = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT, check=False).stdout
    for name in filter(None, tracked.split("\0")):
        text = (ROOT / name).read_bytes().decode("utf-8", errors="ignore")
        assert not re.search(r"(^|[^\w.-])/(work|root)/", text), name
