"""Dependencies: the environment and the scripted partners need few; a missing library is named with its extra.

An environment is laid out as links to the distributions that ``pyproject.toml`` asks for, and those that they ask for:
nothing else can be imported there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dond.cli.main import COMMANDS
from dond_marl.errors import EXTRAS
from scripts.docs_site.extras import distributions

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
# Whose distribution is called otherwise, or that another one brings.
DISTRIBUTION = {
    "PIL": "pillow",
    "tensorboardX": "tensorboardx",
    "httpx": "groq",
    "huggingface_hub": "transformers",
    "pydantic_core": "pydantic",
    "tokenizers": "transformers",
    "yaml": "pyyaml",
}
OURS = 2  # distributions of our own choice beside the ecosystem's three
# Commands that answer --help at least with nothing more.
LIGHT = ("play", "catalogue", "data", "rosters", "serve", "study", "evaluate", "web")

# Plays a game with each occupant, then runs commands, and prints what came of both.
CODE = """
import contextlib, io, json, sys
from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond.cli.main import main
occupants, commands = json.loads(sys.argv[1])
seated, ended = {}, []
for name in occupants:
    try:
        env = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis", max_turns=4), partner=name)
        _, info = env.reset(seed=0)
        while not env.step(env.action_space.sample(info["action_mask"]))[2]:
            pass
        seated[name] = "played"
    except Exception as error:
        seated[name] = f"{type(error).__name__}: {error}"
for words in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps([seated, ended]))
"""


def lay_out(folder: Path, requirements: Iterable[str]) -> Path:
    """``folder`` with links to all that the requirements bring."""
    for name in distributions([*PROJECT["dependencies"], *requirements]):
        files = metadata.files(name) or []
        home = Path(str(metadata.distribution(name).locate_file("")))
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if (home / top).exists() and not (folder / top).exists():
                (folder / top).symlink_to(home / top)
    return folder


def tried(where: Path, cwd: Path, occupants: list[str], commands: list[str]) -> tuple[dict[str, str], list[list]]:
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": f"{where}{os.pathsep}{ROOT}"}
    words = json.dumps([occupants, [line.split() for line in commands]])
    command = [sys.executable, "-S", "-c", CODE, words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env, input="")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def scripted() -> list[str]:
    from partners.catalogue import scripted_names as names

    return [name for name in names() if name != "trembling"] + ["trembling(of=heuristic)"]


def test_required_dependencies_are_few_and_light():
    asked = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]}
    assert {"gymnasium", "numpy", "pettingzoo"} < asked and len(asked) == 3 + OURS
    assert not distributions(PROJECT["dependencies"]) & {"torch", "transformers", "scipy", "pydantic", "matplotlib"}


def test_extra_all_holds_the_specified_packages():
    fixed = {"pettingzoo", "supersuit", "torch", "numpy", "gymnasium", "groq", "transformers", "pyyaml", "pytest"}
    assert fixed <= distributions([*PROJECT["dependencies"], "dond-marl[all]"])


def test_extras_table_agrees_with_pyproject():
    for library, extra in EXTRAS.items():
        listed = {canonicalize_name(Requirement(each).name) for each in OPTIONAL[extra]}
        assert DISTRIBUTION.get(library, library) in listed, (library, extra)


def test_bare_install_plays_scripted_partners_and_names_missing_extras(tmp_path):
    light, home = tmp_path / "light", tmp_path / "home"
    light.mkdir(), home.mkdir()
    names, lacking = scripted(), ["expert", "checkpoint(path='x.json')", "llm", "mixture(of=zoo)"]
    evaluation = "evaluate --member linear --against heuristic --sample 5 --max-turns 2"
    doors = [*(f"{name} --help" for name in COMMANDS if name not in LIGHT), "rosters", "web", evaluation]
    works = ["play --partner heuristic --seed 1", "play --seed 1", "catalogue", "data humans", "--version"]
    seated, ended = tried(lay_out(light, []), home, [*names, *lacking], [*doors, *works])
    assert {seated[name] for name in names} == {"played"}, seated
    said = r"MissingLibrary: .* needs \w+, which is not installed: \S+ -m pip install -e '\S+\[\w+\]', or `make setup`"
    assert [name for name in lacking if not re.fullmatch(said, seated[name])] == [], seated
    for words, (code, out, err) in zip(doors, ended[: len(doors)], strict=True):
        sentence = re.fullmatch(r"`dond [a-z -]+` needs (\w+), .* pip install -e '\S+\[(\w+)\]', .*\n", err)
        assert code == 2 and out == "" and sentence, words + err
        library, extra = sentence.groups()
        assert DISTRIBUTION.get(library, library) in distributions([f"dond-marl[{extra}]"]), err
    for words, (code, _, err) in zip(works, ended[len(doors) :], strict=True):
        assert code == 0 and err == "", words + err


@pytest.mark.parametrize(
    ("extra", "commands"),
    [
        ("learn", ["train --help"]),
        pytest.param("ui", ["web --help"], marks=pytest.mark.slow),
        pytest.param("llm", ["llm-check --help"], marks=pytest.mark.slow),
        pytest.param(
            "league",
            [
                *(f"{name} --help" for name in COMMANDS if name not in ("web", "llm-check")),
                "evaluate --member linear --against heuristic --sample 5 --max-turns 2",
                "league --config league_scripted.yaml --set league.rounds=1 --set league.block_size=4",
                "report --run runs/league_scripted/0001",
            ],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_extra_installs_everything_its_commands_need(tmp_path, extra, commands):
    place, home = tmp_path / extra, tmp_path / "home"
    place.mkdir(), home.mkdir()
    expert = ["expert"] if extra == "learn" else []
    seated, ended = tried(lay_out(place, [f"dond-marl[{extra}]"]), home, expert, commands)
    assert set(seated.values()) <= {"played"}, seated
    for words, (code, _, err) in zip(commands, ended, strict=True):
        assert code == 0, words + err
