"""Write into docs/API.md, beside every public name, what the code says that it is; a name is added there by hand.

The public API is the names on that page, under their modules: any other may change without notice.

examples:
  python -m scripts.docs_site.api_page
  python -m scripts.docs_site.api_page --check    # change nothing; exit code 1 if the page is not right
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dond_marl.errors import RunFailure
from league.cli.shell import Command, run
from scripts.docs_site.keeping import keep

PAGE = Path(__file__).resolve().parents[2] / "docs" / "API.md"
HEADING = re.compile(r"^## `([\w.]+)`")
ROW = re.compile(r"^\| `([\w.]+)` \|")


def listed(page: str) -> Iterator[tuple[int, str, str]]:
    """Every public name on the page, in its order: the place of its line from 0, its module, the name."""
    module = ""
    for place, line in enumerate(page.splitlines()):
        if heading := HEADING.match(line):
            module = heading[1]
        elif row := ROW.match(line):
            yield place, module, row[1]


def described(page: str) -> str:
    """The page with every row's sentence as the code says it; ``AttributeError`` for a name that is not there.

    The rows of a module stay as they are where something else that it needs is not installed.
    """
    lines = page.splitlines()
    for place, module, name in listed(page):
        try:
            lines[place] = f"| `{name}` | {sentence(module, name)} |"
        except ModuleNotFoundError as error:
            if error.name is None or module.startswith(error.name):
                raise
    return "\n".join(lines) + "\n"


def sentence(module: str, name: str) -> str:
    """What a public name is: the first paragraph of its docstring."""
    value: object = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    if not (inspect.ismodule(value) or inspect.isclass(value) or callable(value)):
        return f"a constant, `{type(value).__name__}`"
    text = (inspect.getdoc(value) or "").split("\n\n")[0]
    without = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(without.replace("``", "`").split()).replace("|", "\\|")


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only say whether the page is right")
def command(check: bool) -> None:
    """Write the page, or compare it with the code."""
    page = PAGE.read_text(encoding="utf-8")
    try:
        right = described(page)
    except (AttributeError, ModuleNotFoundError) as error:
        problem = f"{PAGE.name} names what is not there: {error}; take it off the page, or put it back"
        raise RunFailure(problem) from None
    keep(PAGE, right, check, f"{PAGE.name} is not what the code says: run python -m scripts.docs_site.api_page")


if __name__ == "__main__":
    sys.exit(run(command))
