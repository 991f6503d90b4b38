"""Write the generated parts of docs/API.md, docs/LEDGER.md and docs/SETTINGS.md from the code.

The public API is the names on docs/API.md, under their modules: a name is added there by hand, its description comes
from its docstring. Any name that is not on the page may change without notice.

examples:
  python -m scripts.docs_site.pages
  python -m scripts.docs_site.pages --only api
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dond.cli.shell import Command, run
from dond_marl.errors import RunFailure
from league.ledger.schema import SCHEMA, SCHEMA_VERSION
from league.play.values import FACTS
from league.tables.export import TABLES
from scripts.docs_site.settings_page import settings_page

if TYPE_CHECKING:
    import griffe

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("dond_marl", "hints", "partners", "league", "dond")
HEADING = re.compile(r"^## `([\w.]+)`")
ROW = re.compile(r"^\| `([\w.]+)` \|")
BEGIN, END = "<!-- made by scripts/docs_site/pages.py: {} -->", "<!-- end -->"


def public_names(page: str) -> Iterator[tuple[int, str, str]]:
    """Every name on the API page, in order: its line number from 0, its module, the name."""
    module = ""
    for number, line in enumerate(page.splitlines()):
        if heading := HEADING.match(line):
            module = heading[1]
        elif row := ROW.match(line):
            yield number, module, row[1]


def api_page(page: str) -> str:
    """The API page with the description of every name, once, from the code; raises :class:`RunFailure`."""
    modules, lines, described = _load_packages(), page.splitlines(), dict[tuple[str, str], str]()
    for number, module, name in public_names(page):
        text = description(modules, module, name)
        first = described.setdefault((name, text), module)
        lines[number] = f"| `{name}` | {text if first == module else f'as in `{first}`'} |"
    return "\n".join(lines) + "\n"


@cache
def _load_packages() -> griffe.ModulesCollection:
    """The packages as griffe reads them from their sources: nothing is imported, no library has to be installed."""
    import griffe

    loader = griffe.GriffeLoader(search_paths=[str(ROOT)])
    for package in PACKAGES:
        loader.load(package)
    loader.resolve_aliases(implicit=True, external=False)
    return loader.modules_collection


def description(modules: griffe.ModulesCollection, module: str, name: str) -> str:
    """The first paragraph of a public name's docstring; raises :class:`RunFailure` if the name does not exist."""
    try:
        member = modules[f"{module}.{name}"]
    except KeyError:
        raise RunFailure(f"docs/API.md lists {module}.{name}, which does not exist: remove it or restore it") from None
    while member.is_alias or (member.is_attribute and str(member.value) in member.parent.members):
        member = (
            member.final_target if member.is_alias else member.parent.members[str(member.value)]
        )  # env = NegotiationEnv
    if member.is_attribute:
        return "a constant"
    text = (member.docstring.value if member.docstring else "").split("\n\n")[0]
    plain = re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(plain.replace("``", "`").split()).replace("|", "\\|")


def ledger_page(page: str) -> str:
    """The ledger page with the part between each pair of marks taken from the code; raises :class:`RunFailure`."""
    for name, lines in (("export", _exported_tables()), ("schema", _schema()), ("facts", _facts())):
        begin = BEGIN.format(name)
        before, _, tail = page.partition(begin)
        if not tail:
            raise RunFailure(f"LEDGER.md has no line {begin}: restore it, with {END} after its part")
        page = "\n".join([before + begin, *lines, END]) + tail.partition(END)[2]
    return page


def _exported_tables() -> Iterator[str]:
    for name, table in TABLES.items():
        yield f"\n### `{name}`\n\nA row is {table.row}.\n\n| column | type | what it is |\n|---|---|---|"
        yield from (f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in table.columns)
    yield ""


def _schema() -> Iterator[str]:
    """The tables of the SQLite file: columns, and the comment above each table in the schema."""
    yield f"\nSchema version {SCHEMA_VERSION}.\n\n| table | columns | what it holds |\n|---|---|---|"
    database = sqlite3.connect(":memory:")
    for statement in SCHEMA.split(";\n"):
        database.execute(statement)
        comments = re.findall(r"^-- (.*)", statement, re.MULTILINE)
        if created := re.search(r"CREATE TABLE (\w+)", statement):
            columns = database.execute(f"PRAGMA table_info({created[1]})").fetchall()
            listed = ", ".join(f"`{name}` {kind.lower()}" for _, name, kind, *_ in columns)
            yield f"| `{created[1]}` | {listed} | {' '.join(comments)} |"
    yield ""


def _facts() -> Iterator[str]:
    """The fields of one game in `matches.facts`."""
    yield "\n| field | NumPy type |\n|---|---|"
    for name in FACTS.names or ():
        kind, shape = FACTS[name].base.str, FACTS[name].shape
        yield f"| `{name}` | `{kind}`{f', {shape[0]}: by seat' if shape else ''} |"
    yield ""


GENERATED: dict[str, tuple[str, Callable[[str], str]]] = {
    "api": ("API.md", api_page),
    "ledger": ("LEDGER.md", ledger_page),
    "settings": ("SETTINGS.md", lambda _: settings_page()),
}


@click.command(cls=Command, help=__doc__)
@click.option(
    "--only", "pages", type=click.Choice([*GENERATED]), multiple=True, help="this page; may be repeated (all)"
)
def command(pages: tuple[str, ...]) -> None:
    """Write the pages."""
    for name in pages or GENERATED:
        file, generate = GENERATED[name]
        (DOCS / file).write_text(generate((DOCS / file).read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run(command, name="python -m scripts.docs_site.pages"))
