"""The public API is the names on the page ``docs/API.md``: this reads them, and writes beside each what it is.

A name is on the page, under its module, or it may change without notice. The sentence is the docstring's first.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator

HEADING = re.compile(r"^## `([\w.]+)`")
ROW = re.compile(r"^\| `([\w.]+)` \|")


def listed(page: str) -> Iterator[tuple[str, str]]:
    """Every module and public name on the page, in its order."""
    module = ""
    for line in page.splitlines():
        if heading := HEADING.match(line):
            module = heading[1]
        elif row := ROW.match(line):
            yield module, row[1]


def described(page: str) -> str:
    """The page with every row's sentence as the code says it; ``AttributeError`` for a name that is not there."""
    lines, module = page.splitlines(), ""
    for place, line in enumerate(lines):
        if heading := HEADING.match(line):
            module = heading[1]
        elif row := ROW.match(line):
            lines[place] = f"| `{row[1]}` | {sentence(module, row[1])} |"
    return "\n".join(lines) + "\n"


def sentence(module: str, name: str) -> str:
    """What a public name is: the first paragraph of its docstring."""
    found: object = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not (inspect.ismodule(found) or inspect.isclass(found) or callable(found)):
        return f"a constant, `{type(found).__name__}`"
    text = (inspect.getdoc(found) or "").split("\n\n")[0]
    without = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(without.replace("``", "`").split()).replace("|", "\\|")
