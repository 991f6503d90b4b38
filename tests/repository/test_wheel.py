"""The project as a package: contents of the wheel, and commands without a repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from league.settings.layers import preset

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dond", "dond_marl", "hints", "league", "partners")
CONFIGS = sorted(path.name for path in (ROOT / "configs").glob("*.yaml"))
LEAGUES = [name for name in CONFIGS if "\nleague:" in (ROOT / "configs" / name).read_text()]
FROM_PEOPLE = "league_alphastar.yaml"  # begins with people's clone, which nobody may ship
COMMANDS = {  # of every other config
    "bc_config.yaml": "train",
    "ppo_config.yaml": "train",
    "ppo_fast.yaml": "train",
    "ppo_memory.yaml": "train",
    "ppo_mixture.yaml": "train",
    "ppo_taught.yaml": "train",
    "reinforce_config.yaml": "train",
    "study.yaml": "study serve",
}
# Runs several commands of `dond` in one process, which loads PyTorch once: exit code, output and errors of each.
DOND = """
import contextlib, io, json, sys
from dond.cli.main import main
ended = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def dond(bin_: Path, commands: list[str], cwd: Path) -> list[tuple[int, str, str]]:
    return json.loads(run(bin_ / "python", "-c", DOND, json.dumps([c.split() for c in commands]), cwd=cwd))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist, and the wheel made from it as ``pip`` would."""
    pytest.importorskip("build", reason="pip install -e '.[dev]' brings what builds the wheel")
    pytest.importorskip("hatchling", reason="pip install -e '.[dev]' brings what builds the wheel")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A virtual environment with the wheel and, through a path, everything that it needs; nothing of the repository."""
    place = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", place, cwd=place)
    site = Path(
        run(place / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    )
    (site / "what_it_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    words = ("--quiet", "--no-deps", "--no-index", "--no-compile", built[0])
    run(sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", *words, cwd=place)
    return place / "bin"


def test_contents_of_sdist_and_wheel(built):
    wheel, sdist = built
    assert wheel.stat().st_size <= 3_000_000
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in ("pyproject.toml", "tests/conftest.py", "configs/league.yaml", "scripts/league.py", "LICENSE"):
        assert needed in inside
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert not [name for name in inside if "__pycache__" in name or re.search(r"\b(tests|scripts|home)/", name)]
    for package in PACKAGES:
        assert f"{package}/py.typed" in inside
        modules = {str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py")}
        assert modules <= inside, modules - inside
    for path in (ROOT / "configs").iterdir():
        assert f"league/settings/presets/{path.name}" in inside
    data = (
        "partners/experts/ppo.json",
        "partners/llm/llm_prompt.txt",
        "partners/llm/llm_prompt_short.txt",
        "partners/llm/llm_prompt_brief.txt",
        "partners/llm/small_model/model.safetensors",
        "partners/llm/small_model/distilled.json",
        "partners/rosters/bank.yaml",
        "partners/rosters/rosters.yaml",
    )
    pages = {f"dond/web/static/{name}" for name in ("style.css", "pages.js", "table.js")}
    pages |= {"dond/web/templates/frame.html.j2", "dond/web/templates/table.html.j2"}
    assert {*data, *pages, "league/standings/references.json"} <= inside


def test_every_config_has_a_command():
    assert set(LEAGUES) | set(COMMANDS) == set(CONFIGS)


@pytest.mark.slow
def test_shipped_configs_run_without_a_repository(installed, tmp_path):
    for name, (code, out, err) in zip(
        LEAGUES, dond(installed, [f"league --config {name} --dry-run" for name in LEAGUES], tmp_path), strict=True
    ):
        if name == FROM_PEOPLE:
            assert code == 2 and "dond train --algo bc" in err, out + err
        else:
            assert code == 0 and "first round: " in out, name + out + err
    # The others have no dry run. One key that does not exist is all that is wrong with any of them.
    wrong = [f"{command} --config configs/{name} --set nothing=1" for name, command in COMMANDS.items()]
    for command, (code, out, err) in zip(wrong, dond(installed, wrong, tmp_path), strict=True):
        assert code == 2 and err.startswith("--set nothing=1: nothing: unknown key"), command + out + err
        assert err.count("\n") == 1, command + err
    assert not list(tmp_path.rglob("ledger.sqlite"))


@pytest.mark.slow
def test_installed_package_plays_the_quick_league(installed, tmp_path):
    where = run(installed / "python", "-c", "import league, dond_marl; print(league.__file__)", cwd=tmp_path)
    assert str(installed.parent) in where and str(ROOT) not in where
    text = run(installed / "dond", "league", "--config", "league_quick.yaml", cwd=tmp_path)
    assert "Ladder" in text and "expert" in text
    assert len(list((tmp_path / "runs").rglob("ladder.csv"))) == 1
    assert "boulware" in run(installed / "dond-marl", "catalogue", cwd=tmp_path)
    assert "deals" in run(installed / "dond", "data", "humans", cwd=tmp_path)
    words = ("evaluate", "--member", "linear", "--against", "heuristic")
    assert "best response" in run(installed / "python", "-m", "dond_marl", *words, cwd=tmp_path)


def test_install_page_lists_every_extra():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "INSTALL.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `\[(\w+)\]` \|", page, re.MULTILINE)) == set(extras)


def test_local_config_has_precedence_over_the_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = ROOT / "configs" / "league.yaml"
    assert preset(Path("league.yaml")) == preset(Path("configs/league.yaml")) == shipped
    for other in map(Path, ("mine.yaml", "elsewhere/league.yaml", "/configs/league.yaml")):
        assert preset(other) == other
    (tmp_path / "league.yaml").write_text("{}")
    assert preset(Path("league.yaml")) == Path("league.yaml")


@pytest.mark.slow
def test_pip_installs_from_a_bare_clone(tmp_path):
    """The commit that is checked out, built by pip without what lies about in the folder."""
    pytest.importorskip("hatchling", reason="pip install -e '.[dev]' brings what builds the wheel")
    clone, target = tmp_path / "dond-marl.git", tmp_path / "site"
    run("git", "clone", "--quiet", "--bare", ROOT, clone, cwd=tmp_path)
    commit = run("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    words = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", target)
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        *words,
        f"dond-marl @ git+file://localhost{clone}@{commit}",
        cwd=tmp_path,
    )
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import dond_marl; print(dond_marl.__file__)"
    assert run(sys.executable, "-I", "-c", code, cwd=tmp_path).startswith(str(target))
