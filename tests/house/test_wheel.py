"""The project as a package: what a wheel holds, and that it runs where there is no repository."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from league.cli.doors import OF_THE_REPOSITORY, doors, main, with_shipped_configs

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dond_marl", "hints", "league", "partners")


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=cwd, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
    run(sys.executable, "-m", "venv", place, cwd=place)
    site = Path(
        run(place / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).strip()
    )
    (site / "what_it_needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    run(place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", built[0], cwd=place)
    return place / "bin"


@pytest.mark.slow
def test_the_sdist_holds_what_the_tests_need_and_the_wheel_every_module_config_and_script(built):
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for needed in ("pyproject.toml", "tests/conftest.py", "configs/league.yaml", "scripts/league.py", "LICENSE"):
        assert needed in inside
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    assert not [name for name in inside if "__pycache__" in name or name.startswith(("tests/", "scripts/"))]
    for package in PACKAGES:
        assert f"{package}/py.typed" in inside
        modules = {str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py")}
        assert modules <= inside, modules - inside
    for path in [*(ROOT / "configs").iterdir(), *(ROOT / "scripts").glob("*.py")]:
        assert f"league/home/{path.relative_to(ROOT)}" in inside
    assert "partners/experts/ppo.json" in inside and "partners/llm/llm_prompt.txt" in inside


@pytest.mark.slow
def test_the_installed_package_runs_from_another_directory(installed, tmp_path):
    where = run(
        installed / "python",
        "-c",
        "import league, dond_marl; print(league.__file__, dond_marl.__version__)",
        cwd=tmp_path,
    )
    assert str(installed.parent) in where and str(ROOT) not in where and "unknown" not in where
    tiny = ("--set", "league.rounds=1", "--set", "league.block_size=64", "--set", "members=[heuristic,expert,boulware]")
    told = run(installed / "dond-marl", "league", "--config", "league_scripted.yaml", *tiny, cwd=tmp_path)
    assert "ladder" in told and "expert" in told
    assert (tmp_path / "runs").is_dir()
    told = run(
        installed / "python", "-m", "league", "evaluate", "--member", "linear", "--against", "heuristic", cwd=tmp_path
    )
    assert "share of the best response" in told
    assert "boulware" in run(installed / "dond-marl", "catalogue", cwd=tmp_path)
    assert "deals" in run(installed / "dond-marl", "humans", cwd=tmp_path)
    for name in doors():
        assert "usage:" in run(installed / "dond-marl", name, "--help", cwd=tmp_path)


def test_the_page_names_every_extra_and_no_other():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "INSTALL.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `\[(\w+)\]` \|", page, re.MULTILINE)) == set(extras)


def test_every_script_is_a_command_unless_it_rewrites_the_repository(capsys):
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    assert set(doors()) == scripts - set(OF_THE_REPOSITORY) and set(OF_THE_REPOSITORY) <= scripts
    assert main([]) == 0
    told = capsys.readouterr().out
    assert all(f"  {name.replace('_', '-')} " in told for name in doors()) and "league.yaml" in told


def test_a_command_that_does_not_exist_is_told_which_do(capsys):
    assert main(["legaue"]) == 2
    assert "no command 'legaue'; it has benchmark, catalogue" in capsys.readouterr().err


def test_a_shipped_config_is_meant_only_where_there_is_none_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = str(ROOT / "configs" / "league.yaml")
    assert with_shipped_configs(["--config", "league.yaml"]) == ["--config", shipped]
    assert with_shipped_configs(["--config=configs/league.yaml", "--resume"]) == [f"--config={shipped}", "--resume"]
    for other in ("mine.yaml", "elsewhere/league.yaml", "/configs/league.yaml"):
        assert with_shipped_configs(["--config", other]) == ["--config", other]
    (tmp_path / "league.yaml").write_text("{}")
    assert with_shipped_configs(["--config", "league.yaml"]) == ["--config", "league.yaml"]
    assert with_shipped_configs(["league.yaml"]) == ["league.yaml"]
