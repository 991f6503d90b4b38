"""One Python after another: the package installed afresh under it, and a game played."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PINS = ("--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt"))
GAME = ("-m", "league", "play", "--partner", "heuristic", "--seed", "1", "--record", "games.jsonl")


def ended(*command: object, cwd: Path, typed: str = "") -> str:
    """Nothing if a command ended well, otherwise its last line."""
    words = [*map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=cwd, input=typed)  # noqa: S603  # ours
    said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
    return "" if done.returncode == 0 else said[-1]


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
