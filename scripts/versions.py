"""Install the package afresh under each Python that it is for, and play a game there; say which Pythons were not tried.

A Python is tried where `python3.x` is on the path, or pyenv or uv has it. Of the others the package index is asked
whether all that the package and the extra need exists for them, by the markers of the Python that asks.

examples:
  python scripts/versions.py
  python scripts/versions.py --extra all --only 3.12
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

import click

from league.cli.shell import Command, run

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PINS = ("--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt"))
GAME = ("-m", "league", "play", "--partner", "heuristic", "--seed", "1", "--record", "games.jsonl")


def ended(*command: object, cwd: Path, typed: str = "") -> str:
    """Nothing if a command ended well, otherwise its last line."""
    words = [*map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, input=typed)  # noqa: S603  # ours
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip().splitlines()[-1]


def interpreter(version: str) -> str | None:
    """One of this version that starts, or ``None``."""
    finders = (("pyenv", "prefix", version), ("uv", "python", "find", "--no-python-downloads", version))
    places = [f"python{version}"]
    for words in finders:
        if shutil.which(words[0]):
            found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603  # ours
            places += [found, f"{found}/bin/python"] if found else []
    return next((each for each in places if shutil.which(each) and not ended(each, "--version", cwd=ROOT)), None)


def tried(python: str, wheel: str, folder: Path) -> str:
    """Install and play under an interpreter that is here: nothing, or what went wrong."""
    inside = folder / "bin" / "python"
    return (
        ended(python, "-m", "venv", folder, cwd=folder)
        or ended(inside, "-m", "pip", "install", *PINS, wheel, cwd=folder)
        or ended(inside, *GAME, cwd=folder, typed="e\n")
        or ("" if (folder / "games.jsonl").stat().st_size else "no game was finished")
    )


def resolved(version: str, wheel: str, folder: Path) -> str:
    """Whether an index has all that is needed for an interpreter that is not here: nothing, or what it lacks."""
    asked = ("--dry-run", "--target", folder, "--only-binary=:all:", "--python-version", version)
    return ended(sys.executable, "-m", "pip", "install", *PINS, *asked, wheel, cwd=folder)


@click.command(cls=Command, help=__doc__)
@click.option("--only", type=click.Choice(VERSIONS), multiple=True, help="try only this; may be repeated")
@click.option("--extra", metavar="NAME", help="install this extra too, such as all (none)")
def command(only: tuple[str, ...], extra: str | None) -> int:
    """Try every version; exit code 1 if one fails."""
    failed = False
    with tempfile.TemporaryDirectory() as place:
        if wrong := ended(sys.executable, "-m", "build", "--wheel", "--outdir", place, ROOT, cwd=Path(place)):
            raise click.ClickException(f"the wheel cannot be built ({wrong}): run `make check` once, it brings build")
        (built,) = Path(place).glob("*.whl")
        wheel = f"{built}[{extra}]" if extra else str(built)
        for version in only or VERSIONS:
            folder = Path(place, version)
            folder.mkdir()
            here = interpreter(version)
            wrong = tried(here, wheel, folder) if here else resolved(version, wheel, folder)
            failed = failed or bool(wrong)
            well = "installed, a game played" if here else "NOT RUN, no interpreter here; all that it needs exists"
            click.echo(f"{version}  {wrong or well}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(run(command, name=Path(__file__).name))
