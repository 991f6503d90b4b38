"""Install the package afresh under each Python that it is for, and play a game there; say which Pythons were not tried.

A Python is tried where `python3.x` is on the path, or pyenv or uv has it. Of the others the package index is asked
whether all that the package and the extra need exists for them, by the markers of the Python that asks.

examples:
  python scripts/versions.py
  python scripts/versions.py --extra all --only 3.12
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

import click

from league.cli.shell import Command, run
from scripts.bench.versions import VERSIONS, ended, interpreter, resolved, tried


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
