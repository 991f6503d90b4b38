"""``dond-marl NAME ...``, also ``python -m league NAME ...``: the scripts, wherever the project is installed.

A wheel brings the folders ``scripts`` and ``configs`` of the repository as ``league/home``. ``dond-marl league --config
league.yaml`` is ``python scripts/league.py --config configs/league.yaml`` there, run in the current directory; a config
that does not exist in it is taken from those that came along.
"""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

USAGE_ERROR = 2
OF_THE_REPOSITORY = ("plug_in_matrix", "ship_expert", "ship_responses", "api_page")  # they rewrite its files


def home() -> Path:
    """Where ``scripts`` and ``configs`` lie: the checkout, or what the wheel brought."""
    here = Path(__file__).resolve().parent
    return here.parent if (here.parent / "scripts" / "league.py").is_file() else here / "home"


def doors() -> dict[str, Path]:
    """Every script by name."""
    found = sorted((home() / "scripts").glob("*.py"))
    return {path.stem: path for path in found if path.stem not in OF_THE_REPOSITORY}


def main(given: Sequence[str] | None = None) -> int:
    """Run the script named first with the arguments that follow; by itself, say what there is. The exit code."""
    name, *arguments = list(sys.argv[1:] if given is None else given) or ["--help"]
    known = doors()
    if name in ("-h", "--help"):
        print(_overview(known))  # the command talks to a person
        return 0
    if name == "--version":
        print(_version())  # likewise
        return 0
    door = known.get(name.replace("-", "_"))
    if door is None:
        print(f"dond-marl has no command {name!r}; it has {', '.join(known)}", file=sys.stderr)  # likewise
        return USAGE_ERROR
    sys.argv = [str(door), *with_shipped_configs(arguments)]
    runpy.run_path(str(door), run_name="__main__")  # it ends the program with a code of its own
    return 0


def with_shipped_configs(arguments: Sequence[str]) -> list[str]:
    """The arguments with the path of a shipped config where ``--config`` names one that is not in this directory."""
    found = list(arguments)
    for place, argument in enumerate(found):
        if place and found[place - 1] == "--config":
            found[place] = _shipped(argument)
        elif argument.startswith("--config="):
            found[place] = f"--config={_shipped(argument.removeprefix('--config='))}"
    return found


def _shipped(path: str) -> str:
    shipped = home() / "configs" / Path(path).name
    meant = path in (shipped.name, f"configs/{shipped.name}")
    return str(shipped) if meant and shipped.is_file() and not Path(path).exists() else path


def _overview(known: dict[str, Path]) -> str:
    width = max(map(len, known))
    lines = [f"  {name.replace('_', '-'):{width}}  {_sentence(path)}" for name, path in known.items()]
    configs = ", ".join(path.name for path in sorted((home() / "configs").glob("*.yaml")))
    return "\n".join(
        [
            "usage: dond-marl COMMAND ...   (each has --help)",
            "",
            *lines,
            "",
            "examples:",
            "  dond-marl league --config league.yaml",
            "  dond-marl play --partner expert",
            "",
            f"configs that came along, in {home() / 'configs'}:",
            f"  {configs}",
        ]
    )


def _sentence(door: Path) -> str:
    text = ast.get_docstring(ast.parse(door.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0] if text else ""


def _version() -> str:
    try:
        return version("dond-marl")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"
