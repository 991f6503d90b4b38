"""Write into docs/LEDGER.md the tables of the ledger and of `dond export`, as the code has them.

examples:
  python -m scripts.docs_site.ledger_page
  python -m scripts.docs_site.ledger_page --check    # change nothing; exit code 1 if the page is not right
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dond_marl.errors import RunFailure
from league.cli.shell import Command, run
from league.ledger.schema import SCHEMA, SCHEMA_VERSION
from league.tables.exported import TABLES
from league.tasks.values import FACTS
from scripts.docs_site.keeping import keep

PAGE = Path(__file__).resolve().parents[2] / "docs" / "LEDGER.md"
BEGIN, END = "<!-- made by scripts/docs_site/ledger_page.py: {} -->", "<!-- end -->"


def described(page: str) -> str:
    """The page with each part between its marks as the code says it."""
    for name, lines in (("export", exported()), ("schema", stored()), ("facts", facts())):
        begin = BEGIN.format(name)
        before, _, rest = page.partition(begin)
        if not rest:
            raise RunFailure(f"{PAGE.name} has no line {begin}: put it back where the part belongs, {END} after it")
        page = "\n".join([before + begin, *lines, END]) + rest.partition(END)[2]
    return page


def exported() -> Iterator[str]:
    """A heading, a sentence and the columns of every table that is exported."""
    for name, table in TABLES.items():
        yield f"\n### `{name}`\n\nA row is {table.row}.\n\n| column | type | what it is |\n|---|---|---|"
        yield from (f"| `{column.name}` | {column.kind} | {column.meaning} |" for column in table.columns)
    yield ""


def stored() -> Iterator[str]:
    """The tables of the SQLite file: their columns, and the comment that stands before each in the schema."""
    yield f"\nSchema version {SCHEMA_VERSION}.\n\n| table | columns | what it holds |\n|---|---|---|"
    database = sqlite3.connect(":memory:")
    comments: list[str] = []
    for statement in SCHEMA.split(";\n"):
        database.execute(statement)
        comments = re.findall(r"^-- (.*)", statement, re.MULTILINE)
        if made := re.search(r"CREATE TABLE (\w+)", statement):
            columns = database.execute(f"PRAGMA table_info({made[1]})").fetchall()
            listed = ", ".join(f"`{name}` {kind.lower()}" for _, name, kind, *_ in columns)
            yield f"| `{made[1]}` | {listed} | {' '.join(comments)} |"
    yield ""


def facts() -> Iterator[str]:
    """The fields of one game as `matches.facts` holds it."""
    yield "\n| field | NumPy type |\n|---|---|"
    for name in FACTS.names or ():
        kind, shape = FACTS[name].base.str, FACTS[name].shape
        yield f"| `{name}` | `{kind}`{f', {shape[0]}: by seat' if shape else ''} |"
    yield ""


@click.command(cls=Command, help=__doc__)
@click.option("--check", is_flag=True, help="change nothing, only say whether the page is right")
def command(check: bool) -> None:
    """Write the page, or compare it with the code."""
    right = described(PAGE.read_text(encoding="utf-8"))
    keep(PAGE, right, check, f"{PAGE.name} is not what the code says: run python -m scripts.docs_site.ledger_page")


if __name__ == "__main__":
    sys.exit(run(command))
